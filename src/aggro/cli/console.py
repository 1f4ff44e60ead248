"""What the commands share: mistakes, and progress on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

__all__ = ["Mistake", "Progress", "check_writable", "download_bar", "progress"]

T = TypeVar("T")


class Mistake(Exception):
    """Something the user can put right; its text is the one line they see."""


def check_writable(path: Path) -> None:
    """Refuse a path that cannot be written, before any work is done for it."""
    if path.is_dir():
        raise Mistake(f"{path} is a folder; give the name of a file.")
    if not path.parent.is_dir():
        raise Mistake(f"{path} cannot be written: there is no folder {path.parent}.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise Mistake(f"{path} cannot be written: permission denied.")


class Progress(Protocol):
    """Says on stderr how far the work is."""

    def stage(self, name: str, items: Iterable[T], total: int, size: Any = None) -> Iterator[T]:
        """The items, as they are; ``size(item)`` of ``total`` is done when the next is asked for."""


@contextmanager
def progress() -> Iterator[Progress]:
    """A bar on a terminal, plain lines elsewhere."""
    if not sys.stderr.isatty():
        yield Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with RichProgress(*columns, console=Console(stderr=True), transient=True) as bars:
        yield Bars(bars)


class Lines:
    """A line where a stage begins."""

    def stage(self, name: str, items: Iterable[T], total: int, size: Any = None) -> Iterator[T]:
        print(f"{name} …", file=sys.stderr, flush=True)
        yield from items


class Bars:
    """A bar for each stage."""

    def __init__(self, bars: Any) -> None:
        self.bars = bars

    def stage(self, name: str, items: Iterable[T], total: int, size: Any = None) -> Iterator[T]:
        task = self.bars.add_task(name, total=total)
        for item in items:
            yield item
            self.bars.advance(task, 1 if size is None else size(item))


@contextmanager
def download_bar(name: str) -> Iterator[Callable[[int, int | None], None]]:
    """Reports bytes that have come, of all there are: a bar on a terminal, a line elsewhere."""
    if not sys.stderr.isatty():
        print(f"Fetching {name} …", file=sys.stderr, flush=True)
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn
    from rich.progress import Progress as RichProgress

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with RichProgress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(name, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)
