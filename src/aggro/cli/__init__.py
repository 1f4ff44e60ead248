"""The command ``aggro``: one file for each of its commands; ``application.py`` lists them.

Little is imported here, so that Ctrl-C is answered in one line from the first moment on, also while the rest is
imported.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aggro.cli.application import app as app

__all__ = ["app", "main"]

EXIT_INTERRUPTED = 130  # as shells count: 128 and the signal
OF_THE_EXTRA = ("typer", "rich", "click")
NOT_BEGUN = b"aggro: Stopped before it began. Nothing was changed; run the same command again.\n"


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its status."""
    # Exit handlers run last in, first out: registered first, this one comes after all others.
    atexit.register(end_quietly)
    try:
        # Importing takes most of the time until a command starts, and has nothing to clean up.
        with ending_at_once():
            run = loaded()
        run(arguments)
    except KeyboardInterrupt:  # between two moments that have more to say
        print("aggro: Stopped.", file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)


def loaded() -> Any:
    """What runs a command; one line where the packages for it are missing."""
    try:
        from aggro.cli.application import run
    except ModuleNotFoundError as error:
        # Another missing module is a fault of the installation, and keeps its own message.
        if (error.name or "").partition(".")[0] not in OF_THE_EXTRA:
            raise
        sys.exit(f"aggro: The command needs {error.name}. Install it with: pip install 'aggro[cli]'")
    return run


@contextmanager
def ending_at_once() -> Iterator[None]:
    """Inside, where modules are imported, Ctrl-C ends the process: there is nothing yet to put in order."""
    # Python lets only the main thread set signal handlers.
    own = threading.current_thread() is threading.main_thread()
    # A handler that somebody else has set stays.
    if not own or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, end_at_once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def end_at_once(number: int, frame: Any) -> None:
    try:
        # os.write, because a buffered stream refuses a write inside of one that was interrupted.
        os.write(2, NOT_BEGUN)
    finally:
        # No exit handlers: modules may be half imported.
        os._exit(EXIT_INTERRUPTED)


def end_quietly() -> None:
    """While Python takes itself apart, Ctrl-C changes nothing: all is done and said, the status too."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def __getattr__(name: str) -> Any:
    if name == "app":
        from aggro.cli.application import app

        return app
    raise AttributeError(f"module 'aggro.cli' has no attribute {name!r}")
