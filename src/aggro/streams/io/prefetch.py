"""Work that runs ahead of whoever wants the results, in threads, in order and in bounded memory."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Slot = SimpleQueue[tuple[Any, BaseException | None]]  # gets one entry: (result, None), or (None, error)

JOIN_SECONDS = 1.0  # seconds to wait for threads that may be waiting for input that never comes


def ahead(function: Callable[[Item], Result], items: Iterator[Item], workers: int = 1) -> Iterator[Result]:
    """``function`` of every item, in their order.

    Each worker is a thread that draws an item when it is its turn, and applies the function. At most
    ``workers + 2`` results are in the making or wait. An error among the items or in the function is raised
    where its result would have come. When the consumer stops early, by an error of its own or by forgetting the
    iterator, the threads end and the iterator of items is closed. A process that was forked meanwhile has no such
    threads, and cannot read on.
    """
    process = os.getpid()
    slots: SimpleQueue[Slot | None] = SimpleQueue()  # of the results, in order; None ends them
    room = threading.Semaphore(workers + 2)
    turn = threading.Lock()
    stopped = threading.Event()  # by the consumer
    ended = False  # there are no more items, or nobody wants them

    def draw() -> tuple[Item, Slot] | None:
        """The next item, and the slot for its result."""
        nonlocal ended
        # One thread at a time: a generator cannot be advanced by two, and slots must queue in the order of the items.
        with turn:
            if ended:
                return None
            # Waiting here, with the turn held, bounds what is in the making; the consumer gives the place back.
            room.acquire()
            slot: Slot = SimpleQueue()
            try:
                # A second look after the wait: the consumer may have stopped, and released a place to end the wait.
                if not stopped.is_set():
                    item = next(items)
                    # The slot queues before the work starts, so that results come in the order of the items.
                    slots.put(slot)
                    return item, slot
            except StopIteration:
                pass
            # An error of the iterator queues behind the results before it, and ends the drawing.
            except BaseException as error:
                slot.put((None, error))
                slots.put(slot)
            ended = True
            slots.put(None)
            # Closed while the turn is held: a generator that runs in another thread cannot be closed.
            close = getattr(items, "close", None)
            if close is not None:
                close()
            return None

    def work() -> None:
        while (drawn := draw()) is not None:
            item, slot = drawn
            try:
                slot.put((function(item), None))
            # Any error goes to the consumer: a thread that dies silently would leave it waiting for ever.
            except BaseException as error:
                slot.put((None, error))
            # Forgotten before the next draw, which may wait long; a chunk is large.
            del drawn, item, slot

    threads = [threading.Thread(target=work, name=f"aggro-read-{k}", daemon=True) for k in range(workers)]
    for thread in threads:
        thread.start()
    try:
        while True:
            # A forked child has none of the threads, and would wait for ever for a result.
            if os.getpid() != process:
                raise RuntimeError("This stream was opened before the process forked. Open it in the child.")
            slot = slots.get()
            if slot is None:
                return
            result, error = slot.get()
            # The place is free as soon as the consumer has the result, so the next item is drawn while it works.
            room.release()
            if error is not None:
                raise error
            del slot
            yield result
            # Nothing here may keep a chunk alive that the consumer has let go.
            del result
    finally:
        # In a forked child there are no threads to stop, and locks may be held by threads that do not exist.
        if os.getpid() == process:
            stopped.set()
            # Wakes a worker that waits for a place; it sees that all is stopped and ends the others.
            room.release()
            # Bounded, because a thread may wait for input that never comes. The threads are daemons.
            for thread in threads:
                thread.join(JOIN_SECONDS / workers)
