"""What the commands share: mistakes, text on its way to the screen, and progress on stderr.

Class labels, file names, features and what a server says come from anywhere. On a screen, control characters in them
could move the cursor, change its colours or turn text around, so they are made visible: ``\\x1b`` instead of an
escape. Everything printed goes through a :class:`Door`; what is drawn with rich, through :func:`console`, which
takes no text for markup. Text of the data that should stay on its line goes through :func:`shown`.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

# C0 but tab and newline, delete, C1, marks and overrides of direction, breaks of lines and paragraphs, the byte order
# mark, and halves of surrogate pairs, by which Python spells what is not UTF-8 in a file's name.
UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")

RESET = "\x1b[0m"  # back to the terminal's own colours
NAME_WIDTH, LEAST_TEXT = 10, 16  # letters for the name of a fact, and the fewest beside it
BAR_MARGIN = 34  # letters that stand beside a bar


class Mistake(Exception):
    """Something the user can put right; its text is the one line they see."""


class Stopped(Exception):
    """The user stopped it; the text says what was kept."""

    def __init__(self, text: str, signal: int) -> None:
        super().__init__(text)
        self.status = 128 + signal  # as shells count


@contextmanager
def kept(said: Callable[[], str]) -> Iterator[None]:
    """If the user stops what is inside, this is what they should know."""
    try:
        yield
    # The signal decides the exit status, as shells count it.
    except KeyboardInterrupt as interrupt:
        raise Stopped(f"Stopped. {said()}".strip(), getattr(interrupt, "signal", 2)) from None


# Text -------------------------------------------------------------------------------------------------


def visible(text: str) -> str:
    """Text without anything that a terminal would obey, but tabs and newlines."""
    return UNSEEN.sub(lambda found: repr(found[0])[1:-1], text)


def shown(value: Any) -> str:
    """A name, label or message from outside, on one line."""
    return visible(str(value)).replace("\n", "\\n").replace("\t", "\\t")


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON in which nothing is left that a terminal would obey; it means the same."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, default=str)
    return UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def listed(classes: list[Any]) -> str:
    """Classes in a line, not all of them if they are many."""
    first = ", ".join(map(shown, classes[:12]))
    return f"{first}, … ({len(classes):,} in all)" if len(classes) > 12 else first


def names_of(data: Sequence[str]) -> str:
    """What data are called: the last part of each path."""
    return ", ".join("stdin" if path == "-" else os.path.basename(path.rstrip("/")) or path for path in data)


def facts(lines: Mapping[str, str]) -> str:
    """A line for each name and what there is to say of it; more of them where stdout is narrow."""
    # No limit: a pipe or a file gets one line for each fact, which programs can split.
    limit = width_of(sys.stdout)
    if limit is None:
        return "\n".join(f"{name:<{NAME_WIDTH}} {shown(text)}" for name, text in lines.items())
    # Too narrow for two columns: the text goes below its name.
    beside = limit - NAME_WIDTH - 1 >= LEAST_TEXT
    found = []
    for name, text in lines.items():
        first, *more = wrapped(shown(text), limit - NAME_WIDTH - 1 if beside else limit - 2)
        if beside:
            found += [f"{name:<{NAME_WIDTH}} {first}".rstrip(), *(f"{'':<{NAME_WIDTH}} {line}" for line in more)]
        else:
            found += [name, *(f"  {line}" for line in (first, *more))]
    return "\n".join(found)


def width_of(stream: Any) -> int | None:
    """How many letters a line of a stream has room for: of a terminal, or as COLUMNS says; else there is no limit."""
    said = os.environ.get("COLUMNS", "")
    # COLUMNS wins over the terminal, as it does in other tools.
    if said.isdecimal() and int(said):
        return int(said)
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except (AttributeError, OSError, ValueError):
        return None


def fitted(text: str, stream: Any = None) -> str:
    """A sentence in lines that fit the stream, stdout if none is given; its words, such as paths, stay whole."""
    limit = width_of(sys.stdout if stream is None else stream)
    return text if limit is None else "\n".join(wrapped(text, limit, whole_words=True))


def wrapped(text: str, width: int, whole_words: bool = False) -> list[str]:
    """Text in lines of this width, broken between words; longer words are broken too, unless they stay whole."""
    from rich.cells import cell_len, chop_cells

    lines, room = [""], max(width, 1)
    for word in re.findall(r"\S+\s*", text):
        bare = word.rstrip()
        # Cells, not letters: some scripts take two cells for a letter.
        if lines[-1] and cell_len(lines[-1] + bare) > room:
            lines.append("")
        # A word longer than a line is cut; its last piece goes on as a word.
        if cell_len(bare) > room and not whole_words:
            *full, word = chop_cells(bare, room)
            lines[-1:] = [*full, ""]
            word += " "
        lines[-1] += word
    return [line.rstrip() for line in lines]


class Door:
    """A text stream on which all is visible. ``raw`` is the stream behind it."""

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    def write(self, text: str) -> int:
        """Write what can be seen; letters that the stream's encoding has not are spelled."""
        if text == RESET:  # of colorama, when a program ends that has it: it changes nothing
            return len(text)
        seen = visible(text)
        encoding = getattr(self.raw, "encoding", None)
        # Letters that the stream cannot encode are spelled, not refused: a message must never fail to print.
        if encoding:
            seen = seen.encode(encoding, "backslashreplace").decode(encoding)
        self.raw.write(seen)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


@contextmanager
def doors() -> Iterator[None]:
    """Inside, stdout and stderr are doors; a stream that was closed before takes everything and shows nothing."""
    with ExitStack() as stack:
        # Both streams, since progress and errors show text from outside, too.
        for redirect, stream in ((redirect_stdout, sys.stdout), (redirect_stderr, sys.stderr)):
            # A process without stdout, such as a service, has None there.
            if stream is None:
                stream = stack.enter_context(open(os.devnull, "w"))
            stack.enter_context(redirect(Door(stream)))  # type: ignore[operator]
        yield


def console(stderr: bool = False) -> Any:
    """A console of rich's that takes text as it is, without markup, and makes it visible.

    ``limit`` is the width that lines must not exceed, or None.
    """
    from rich.console import Console
    from rich.text import Text

    class Plain(Console):
        @property
        def limit(self) -> int | None:
            return width_of(raw)

        def render_str(self, text: str, **options: Any) -> Text:  # type: ignore[override]
            return super().render_str(visible(text), **options)

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # whoever reads it has seen enough: not an end of rich's own

    stream = sys.stderr if stderr else sys.stdout
    # On a terminal rich writes its own colours, which a door would make visible; its text is made visible before.
    raw = stream.raw if isinstance(stream, Door) else stream
    made = Plain(file=raw, highlight=False, markup=False, emoji=False)
    if not made.is_terminal:  # there are no colours of its own to let through
        made.file = stream
    return made


# Progress ---------------------------------------------------------------------------------------------


class Progress(Protocol):
    """Says on stderr how far the work is."""

    def stage(self, name: str, items: Iterable[T], total: int, size: Any = None) -> Iterator[T]:
        """The items, as they are; ``size(item)`` of ``total`` is done when the next is asked for."""


@contextmanager
def progress() -> Iterator[Progress]:
    """A bar on a terminal, plain lines elsewhere."""
    # A log cannot take back what was drawn.
    if not sys.stderr.isatty():
        yield Lines()
        return
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskProgressColumn, TimeElapsedColumn

    screen = console(stderr=True)
    columns = (words(), bar(screen, 40), TaskProgressColumn(), TimeElapsedColumn())
    with RichProgress(*columns, console=screen, transient=True) as bars:
        yield Bars(bars)


def words() -> Any:
    """What is said beside a bar: on a narrow screen it goes on in the next line."""
    from rich.progress import TextColumn
    from rich.table import Column

    return TextColumn("{task.description}", markup=False, table_column=Column(overflow="fold"))


def bar(screen: Any, width: int) -> Any:
    """A bar of this width, or less, so that figures beside it have room."""
    from rich.progress import BarColumn

    return BarColumn(bar_width=max(4, min(width, screen.width - BAR_MARGIN)))


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
        task = self.bars.add_task(visible(name), total=total)
        # Advanced when the next item is asked for, for then the work on this one is done.
        for item in items:
            yield item
            self.bars.advance(task, 1 if size is None else size(item))


@contextmanager
def download_bar(name: str) -> Iterator[Callable[[int, int | None], None]]:
    """Reports bytes that have come, of all there are: a bar on a terminal, a line elsewhere."""
    if not sys.stderr.isatty():
        # One line, so that a log shows what the command waits for.
        print(f"Fetching {name} …", file=sys.stderr, flush=True)
        yield lambda done, total: None
        return
    from rich.progress import DownloadColumn, TransferSpeedColumn
    from rich.progress import Progress as RichProgress

    screen = console(stderr=True)
    columns = (words(), bar(screen, 40), DownloadColumn(), TransferSpeedColumn())
    with RichProgress(*columns, console=screen, transient=True) as bars:
        task = bars.add_task(visible(name), total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)
