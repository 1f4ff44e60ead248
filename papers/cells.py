"""Tables with published cells beside ours, and when a cell counts as matched.

A cell is matched if ours is at least as good as the published one, but for the larger of the published spread, our
spread and half a point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

POINT = 0.5  # of a per cent: what two runs of an experiment may differ by


@dataclass(frozen=True)
class Cell:
    """What was published, what was measured, each with its spread; None where there is none."""

    published: float | None = None
    ours: float | None = None
    published_spread: float | None = None
    our_spread: float | None = None
    higher: bool = False  # is better
    counts: bool = True  # times and spreads are shown and not counted
    slack: float = POINT
    digits: int = 2
    why: str = ""  # it is not there, or differs

    @property
    def is_counted(self) -> bool:
        """Whether it is one of the cells that can be matched."""
        return self.counts and self.published is not None and self.ours is not None

    @property
    def matched(self) -> bool:
        """At least as good as published."""
        if self.published is None or self.ours is None:
            return False
        worse = self.published - self.ours if self.higher else self.ours - self.published
        return worse <= max(self.slack, self.published_spread or 0.0, self.our_spread or 0.0) + 1e-12

    def __str__(self) -> str:
        if self.ours is None:
            return self.why or "–"
        spread = f" ± {self.our_spread:,.{self.digits}f}" if self.our_spread is not None else ""
        mark = (" ✓" if self.matched else " ✗") if self.is_counted else ""
        return f"{self.ours:,.{self.digits}f}{spread}{mark}"

    def published_text(self) -> str:
        """What the paper prints."""
        if self.published is None:
            return "–"
        spread = f" ± {self.published_spread:g}" if self.published_spread is not None else ""
        return f"{self.published:,g}{spread}"


@dataclass(frozen=True)
class Row:
    """Cells under the table's columns, and what stands before them."""

    names: tuple[str, ...]
    cells: tuple[Cell | str, ...]
    extra: bool = False  # not of the paper: nothing chosen, or a learner of ours


@dataclass(frozen=True)
class Table:
    """A table of a paper: its columns are of names, then of cells."""

    key: str  # for files: "pamo-table-1"
    title: str
    names: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    note: str = ""

    def counted(self) -> list[Cell]:
        """The cells that can be matched."""
        return [cell for row in self.rows for cell in row.cells if isinstance(cell, Cell) and cell.is_counted]


@dataclass(frozen=True)
class Picture:
    """A figure: drawn twice, for light and for dark grounds."""

    key: str
    title: str
    note: str
    draw: Callable[[dict[str, str]], Any] = field(compare=False)  # colours -> a matplotlib figure


def count(tables: Iterable[Table]) -> tuple[int, int]:
    """How many cells are matched, and how many there are."""
    cells = [cell for table in tables for cell in table.counted()]
    return sum(cell.matched for cell in cells), len(cells)


def mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation."""
    import numpy as np

    return float(np.mean(values)), float(np.std(values))


@dataclass(frozen=True)
class Best:
    """On one set: the best that was published, the best of ours with chosen settings, and the best with none chosen."""

    name: str  # the set
    measure: str  # what is measured: "test error, %"
    published: float
    published_by: str
    ours: float
    ours_by: str
    untuned: float
    untuned_by: str
    higher: bool = False

    @property
    def beats(self) -> bool:
        """Whether with nothing chosen it is better than the published best, whose settings were chosen."""
        return self.untuned > self.published if self.higher else self.untuned < self.published
