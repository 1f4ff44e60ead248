"""What is done around every command: its files are checked and held, and it can be stopped."""

from __future__ import annotations

import inspect
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import typer

from aggro.cli.help import Command
from aggro.cli.outputs import checked, saying_what_is_left, uses_of

PROGRESS_DELAY = 0.01  # seconds


class Unread(Exception):
    """Whoever reads stdout, such as head, has seen enough."""


class App(typer.Typer):
    """Commands, each of them guarded."""

    def command(  # type: ignore[override]
        self, *arguments: Any, **options: Any
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Enter a command."""
        return entering(super().command(*arguments, **{"cls": Command, **options}))

    def callback(  # type: ignore[override]
        self, *arguments: Any, **options: Any
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Enter what is done before a command, or instead of one."""
        return entering(super().callback(*arguments, **options))


def entering(enter: Callable[[Callable[..., Any]], Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def entered(command: Callable[..., Any]) -> Callable[..., Any]:
        # The command is entered with its guard; its name stays with the plain function.
        enter(guarded(command))
        return command

    return entered


def guarded(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command, begun only if it writes over nothing that it should not."""
    uses = uses_of(command)

    @wraps(command)
    def run(*arguments: Any, **values: Any) -> Any:
        try:
            # The order matters: the files are checked inside of the handlers, and what is left is said last.
            with saying_what_is_left(uses, values), signals(), checked(uses, values):
                return command(*arguments, **values)
        except BrokenPipeError as error:  # Typer has a way of its own with it
            raise Unread from error

    # Typer reads the parameters from here, with annotations that are types and no longer text.
    run.__signature__ = inspect.signature(command, eval_str=True)  # type: ignore[attr-defined]
    return run


class Signalled(KeyboardInterrupt):
    """A signal that means the same as Ctrl-C."""

    def __init__(self, signal: int) -> None:
        super().__init__()
        self.signal = signal


@contextmanager
def signals() -> Iterator[None]:
    """Inside, a request to end is like Ctrl-C, unless something else was made of it before, as nohup does."""

    def come(number: int, frame: Any) -> None:
        raise Signalled(number)

    def dropped(report: Any) -> None:
        """Python drops what is raised where something is taken away; a request to end comes again a moment later."""
        if not issubclass(report.exc_type, KeyboardInterrupt):
            hook(report)
            return
        number = getattr(report.exc_value, "signal", signal.SIGINT)
        # Sent again from a thread: the exception was lost inside of a finaliser.
        timer = threading.Timer(PROGRESS_DELAY, os.kill, (os.getpid(), number))
        timer.daemon = True
        timer.start()

    hook, sys.unraisablehook = sys.unraisablehook, dropped
    before = {}
    # Only the main thread may set handlers.
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            # A signal that is ignored, as under nohup, stays ignored.
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, come)
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)
