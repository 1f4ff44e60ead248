"""Several processes at work, which end when the one that began them ends, however that is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from threading import Thread


def end_with_parent() -> None:
    """In a child: wait, in a thread, for the parent to end, and end too; what was being done is given up."""
    parent = parent_process()

    def wait() -> None:
        # ``join`` returns when the parent has ended, in whatever way; no signal is needed for that.
        if parent is not None:
            parent.join()
            os._exit(1)

    Thread(target=wait, daemon=True, name="aggro-parent").start()


@contextmanager
def pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that begin anew: none has another's threads, locks or half-done work.

    An error, or Ctrl-C, does not wait for what they are doing.
    """
    # Children that were there before belong to somebody else, and are not ended here.
    others = set(active_children())
    processes = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=end_with_parent)
    try:
        yield processes
    except BaseException:
        processes.shutdown(wait=False, cancel_futures=True)
        for child in set(active_children()) - others:
            child.terminate()
        raise
    finally:
        processes.shutdown()
