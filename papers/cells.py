"""Tables with published cells beside ours, and what is said of each cell.

A cell is **reproduced** if ours differs from the published one, to either side, by no more than the published spread or
half a point, whichever is larger. Our own spread is no excuse. Beyond that it is **better** or **worse**. Cells are
counted by how they were obtained (``Way``), and never over several ways.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

POINT = 0.5  # of a per cent: what two runs of an experiment may differ by


class Way(StrEnum):
    """How a cell was obtained."""

    STATED = "as stated"  # in the paper, with parameters that training rows chose
    CODE = "as the authors' code does"  # what their programs do, or those that they say they used
    FITTED = "with the published figure in view"  # a setting or a reading that the published cells chose
    BOUND = "bound of a theorem"  # no measurement was published: the sum may not exceed the bound


class Verdict(StrEnum):
    """What is said of a cell."""

    REPRODUCED = "reproduced"
    BETTER = "better"
    WORSE = "worse"


MARKS = {Verdict.REPRODUCED: "✓", Verdict.BETTER: "▲", Verdict.WORSE: "✗"}
Counts = dict[Way, Counter[Verdict]]


@dataclass(frozen=True)
class Cell:
    """What was published, what was measured, each with its spread; None where there is none."""

    published: float | None = None
    ours: float | None = None
    published_spread: float | None = None
    our_spread: float | None = None
    higher: bool = False  # is better
    way: Way | None = Way.STATED  # None: shown and not counted, as times and spreads are
    slack: float = POINT
    digits: int = 2
    why: str = ""  # it is not there, or differs

    @property
    def is_counted(self) -> bool:
        """Whether there is a verdict on it."""
        return self.way is not None and self.published is not None and self.ours is not None

    @property
    def verdict(self) -> Verdict | None:
        """What is said of it, if anything."""
        if self.way is None or self.published is None or self.ours is None:
            return None
        worse = self.published - self.ours if self.higher else self.ours - self.published
        if self.way is Way.BOUND:
            return Verdict.REPRODUCED if worse <= 1e-12 else Verdict.WORSE
        if abs(worse) <= max(self.slack, self.published_spread or 0.0) + 1e-12:
            return Verdict.REPRODUCED
        return Verdict.WORSE if worse > 0.0 else Verdict.BETTER

    def __str__(self) -> str:
        if self.ours is None:
            return self.why or "–"
        spread = f" ± {self.our_spread:,.{self.digits}f}" if self.our_spread is not None else ""
        mark = "" if self.verdict is None else f" {MARKS[self.verdict]}"
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
        """The cells with a verdict."""
        return [cell for row in self.rows for cell in row.cells if isinstance(cell, Cell) and cell.is_counted]


@dataclass(frozen=True)
class Picture:
    """A figure: drawn twice, for light and for dark grounds."""

    key: str
    title: str
    note: str
    draw: Callable[[dict[str, str]], Any] = field(compare=False)  # colours -> a matplotlib figure


def count(tables: Iterable[Table]) -> Counts:
    """How many cells there are of each verdict, for each way in which cells were obtained."""
    found: Counts = {way: Counter() for way in Way}
    for table in tables:
        for cell in table.counted():
            assert cell.way is not None
            assert cell.verdict is not None
            found[cell.way][cell.verdict] += 1
    return found


def together(several: Iterable[Counts]) -> Counts:
    """The sum of several counts."""
    found: Counts = {way: Counter() for way in Way}
    for counts in several:
        for way, of in counts.items():
            found[way] += of
    return found


def sentences(counts: Counts) -> list[str]:
    """A count in words: the cells as stated first, the other ways beside them, a sentence each."""
    said = []
    for way in Way:
        of, cells = counts[way], counts[way].total()
        if not cells:
            continue
        if way is Way.BOUND:
            said.append(f"{of[Verdict.REPRODUCED]} of {cells} bounds of theorems hold.")
            continue
        others = f"{of[Verdict.BETTER]} better, {of[Verdict.WORSE]} worse"
        said.append(f"{way.capitalize()}: {of[Verdict.REPRODUCED]} of {cells} cells reproduced, {others}.")
    return said


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
    data: str = ""  # the data set, where a line is one of several experiments on it, or has another name for it

    @property
    def beats(self) -> bool:
        """Whether with nothing chosen it is better than the published best, whose settings were chosen."""
        return self.untuned > self.published if self.higher else self.untuned < self.published


def beaten_sets(lines: Iterable[Best]) -> tuple[int, int]:
    """On how many data sets nothing chosen is better than the published best in every line, and of how many."""
    sets: dict[str, bool] = {}
    for line in lines:
        name = line.data or line.name
        sets[name] = sets.get(name, True) and line.beats
    return sum(sets.values()), len(sets)
