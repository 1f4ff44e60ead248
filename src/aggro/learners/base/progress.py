"""How a long ``fit`` goes, for people who wait: ``verbose=1``.

Nothing is said in the first second. Then there is a bar on a terminal, where rich is installed, and a line now and then
elsewhere, both on stderr; at the end, one line. A pass is cut into pieces of rows for it, which learn the same bits.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from time import monotonic
from types import TracebackType
from typing import Any, Self

from aggro.engine.rule import SEEN, Tally

PROGRESS_AFTER = 1.0  # seconds before the first word
FRAME = 0.1  # seconds between two pictures of the bar, and what a piece of rows is to take
LONGEST_SILENCE = 10.0  # seconds between two lines; they come at 1, 2, 4 and 8 seconds, and then so often
FIRST_PIECE = 1024  # rows of the first piece; it doubles, up to eightfold, until a piece takes its time


class Watch:
    """Looks on while one call learns ``rows`` rows, ``passes`` times at the most.

    It is told of each pass and of rows that were learned, and reads the tally; it never touches what is learned.
    """

    def __init__(self, name: str, rows: int, passes: int) -> None:
        self.name, self.rows, self.passes = name, rows, passes
        self.begun = monotonic()
        self._next = self.begun + PROGRESS_AFTER
        self._number, self._loss, self._seen = 0, 0.0, 0  # of the pass: its number, and what was counted before it
        self._clock, self._counted, self._learned = 0.0, 0, 0  # when rows were first counted, and how many
        self._size = FIRST_PIECE
        self._bar: Any = None
        self._tally: Tally | None = None  # the last that was seen

    @classmethod
    def of(cls, learner: Any, rows: int, passes: int = 1) -> Watch | None:
        """A watch over a learner that is to say how it goes; None for one that is not."""
        return cls(type(learner).__name__, rows, passes) if learner.__dict__.get("verbose") else None

    def begin(self, number: int, tally: Tally) -> None:
        """A pass begins, after this many others."""
        self._number, self._loss, self._seen = number, float(tally.loss[0]), int(tally.rows[SEEN])

    def pieces(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """The rows from ``start`` to ``stop`` in pieces that take a tenth of a second or so."""
        while start < stop:
            end, before = min(start + self._size, stop), monotonic()
            yield start, end
            # The size of a piece follows its time; it shrinks at most to a quarter and grows at most eightfold at once.
            took = max(monotonic() - before, 1e-9)
            share = min(max(FRAME / took, 0.25), 8.0)
            self._size = max(1, int(self._size * share))
            start = end

    def note(self, row: int, tally: Tally) -> None:
        """The rows of this pass before ``row`` are learned."""
        now = monotonic()
        self._learned, self._tally = self._number * self.rows + row, tally
        # The rate counts from the first piece on: compilation, which may come before it, is no part of it.
        if not self._clock:
            self._clock, self._counted = now, self._learned
        if now >= self._next:
            self._show(row, now)

    def _mean_loss(self) -> float:
        """The mean progressive loss of the rows of this pass."""
        if self._tally is None:
            return 0.0
        return (float(self._tally.loss[0]) - self._loss) / max(int(self._tally.rows[SEEN]) - self._seen, 1)

    def _show(self, row: int, now: float) -> None:
        spent = now - self._clock
        rate = f", {figure((self._learned - self._counted) / spent)} rows/s" if spent > 0.0 else ""
        which = f"pass {self._number + 1} of {self.passes}, " if self.passes > 1 else ""
        text = f"{which}{row:,} of {self.rows:,} rows, mean loss {self._mean_loss():.4g}{rate}"
        if self._bar is None:
            # Without a terminal or rich, lines are printed, with longer and longer silences in between.
            drawn = is_terminal(sys.stderr) and find_spec("rich") is not None
            self._bar = Bar(self.name) if drawn else Lines(self.name)
        self._bar.show(self._learned / max(self.rows * self.passes, 1), text)
        self._next = now + (FRAME if self._bar.moves else min(now - self.begun, LONGEST_SILENCE))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """The last word, if there was any: how long it took, or that it was broken off."""
        # A call that was quick enough said nothing, and says nothing at its end.
        if self._bar is None:
            return
        took = f"{monotonic() - self.begun:.1f} s"
        if error is not None:
            end = f"broken off after {took}; the model is as it was before the call."
        else:
            passes = f"{self._number + 1} passes over " if self.passes > 1 else ""
            end = f"{passes}{self.rows:,} rows in {took}, mean loss {self._mean_loss():.4g}."
        self._bar.close(f"{self.name}: {end}")


def figure(value: float) -> str:
    """A rate, short."""
    return f"{value / 1e6:.3g} million" if value >= 1e6 else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def is_terminal(file: Any) -> bool:
    return file is not None and hasattr(file, "isatty") and file.isatty()


class Lines:
    """Plain lines on stderr."""

    moves = False

    def __init__(self, name: str) -> None:
        self.name = name

    def show(self, share: float, text: str) -> None:
        self._say(f"{self.name}: {text}")

    def close(self, text: str) -> None:
        self._say(text)

    def _say(self, text: str) -> None:
        if sys.stderr is not None:
            print(text, file=sys.stderr, flush=True)


class Bar:
    """A bar on a terminal, which goes away at the end."""

    moves = True

    def __init__(self, name: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn(name), BarColumn(bar_width=24), TextColumn("{task.description}"), TimeElapsedColumn())
        self._screen = Console(stderr=True, markup=False, highlight=False)
        self._drawn = Progress(*columns, console=self._screen, transient=True, auto_refresh=False)
        self._line = self._drawn.add_task("", total=1.0)
        self._drawn.start()

    def show(self, share: float, text: str) -> None:
        self._drawn.update(self._line, completed=share, description=text, refresh=True)

    def close(self, text: str) -> None:
        self._drawn.stop()
        self._screen.print(text)
