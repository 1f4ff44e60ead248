"""Several processes at work, which end when the one that began them ends, however that is."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from threading import Thread


def end_with_parent() -> None:
    """In a child: wait, in a thread, for the parent to end, and end too; what was being done is given up."""
    parent = parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    Thread(target=wait, daemon=True, name="aggro-parent").start()


def pool(workers: int) -> ProcessPoolExecutor:
    """Processes that begin anew: none has another's threads, locks or half-done work."""
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=end_with_parent)
