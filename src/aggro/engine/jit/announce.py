"""Says, once in a process, why a first call takes so long: code is compiled for this machine.

One line on stderr, when compiling has taken a second. ``AGGRO_QUIET=1`` silences it. A command that draws on the
terminal says it in its own way: see :func:`through`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread, local
from typing import Any

ANNOUNCE_AFTER = 1.0  # seconds before the word
AT_EACH_START = "at each start"  # is code compiled where no folder can store it
LOOK_AGAIN_AFTER = 0.25  # seconds until it is looked again, if code may still be found on disk

Say = Callable[[str], Any]


class Here(local):
    """In this thread: whether something is being compiled, which may ask for more."""

    busy = False


HERE = Here()
ANNOUNCED: list[str] = []  # once in a process
SPEAKERS: list[Say] = []  # the last one says it


def on_stderr(text: str) -> None:
    if sys.stderr is not None:
        print(f"aggro: {text}", file=sys.stderr, flush=True)


@contextmanager
def through(say: Say) -> Iterator[None]:
    """Let the line be said in another way, meanwhile."""
    SPEAKERS.append(say)
    try:
        yield
    finally:
        SPEAKERS.remove(say)


@contextmanager
def announced(what: Callable[[], str], compiles: Callable[[], bool]) -> Iterator[None]:
    """While this lasts for longer than a second, and ``compiles()``, say ``what()``."""
    # Compiling asks for more compiling: only the outermost call watches, and only once in a process.
    if HERE.busy or ANNOUNCED or os.environ.get("AGGRO_QUIET", "") not in ("", "0"):
        yield
        return
    done = Event()

    # A thread, since this one is busy compiling.
    def watch() -> None:
        wait = ANNOUNCE_AFTER
        while not done.wait(wait):
            wait = LOOK_AGAIN_AFTER
            # Looked at only after a second: finding out costs time, and most code is there by then.
            if compiles() and not ANNOUNCED:
                ANNOUNCED.append(what())
                (SPEAKERS[-1] if SPEAKERS else on_stderr)(ANNOUNCED[0])
            if ANNOUNCED:
                return

    HERE.busy = True
    watcher = Thread(target=watch, daemon=True, name="aggro-announce")
    watcher.start()
    try:
        yield
    # Wait for the thread, so that no line appears after the call has returned.
    finally:
        HERE.busy = False
        done.set()
        watcher.join()
