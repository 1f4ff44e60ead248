"""Work that runs ahead of whoever wants the results, in threads, in order and in bounded memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import TypeVar

__all__ = ["ahead"]

Item = TypeVar("Item")
Result = TypeVar("Result")

PATIENCE = 1.0  # seconds to wait for a thread that may be waiting for input that never comes


def ahead(function: Callable[[Item], Result], items: Iterator[Item], workers: int = 1) -> Iterator[Result]:
    """``function`` of every item, in their order.

    One thread draws the items, ``workers`` more apply the function; at most ``workers + 2`` results wait.
    An error among the items or in the function is raised where its result would have come. When the
    consumer stops early, by an error of its own or by forgetting the iterator, the threads end and the
    iterator of items is closed.
    """
    ready: SimpleQueue[Future[Result] | None] = SimpleQueue()
    room = threading.Semaphore(workers + 2)
    stopped = threading.Event()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="aggro-parse")

    def feed() -> None:
        try:
            for item in items:
                room.acquire()
                if stopped.is_set():
                    break
                ready.put(pool.submit(function, item))
        except BaseException as error:
            failed: Future[Result] = Future()
            failed.set_exception(error)
            ready.put(failed)
        finally:
            ready.put(None)
            close = getattr(items, "close", None)
            if close is not None:
                close()

    feeder = threading.Thread(target=feed, name="aggro-read", daemon=True)
    feeder.start()
    try:
        while (future := ready.get()) is not None:
            room.release()
            result = future.result()
            del future
            yield result
            del result
    finally:
        stopped.set()
        room.release()
        feeder.join(PATIENCE)
        pool.shutdown(wait=False, cancel_futures=True)
