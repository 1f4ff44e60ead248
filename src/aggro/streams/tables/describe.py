"""How a table is read, collected over all of its rows in constant memory; and the same in words.

Of a column at most ``MOST_VALUES`` different values are counted; of those that come later it is only said that there
are more.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from aggro.streams.tables import written_numbers
from aggro.streams.tables.roles import ISO, Column, Role, as_date, as_number, is_missing

if TYPE_CHECKING:
    from aggro.streams.chunk import Chunk

MOST_VALUES = 10_000
COMMONEST = 5  # values that are named
FEW_CLASSES = 20  # a label of more different numbers is one of numbers


class Values:
    """Counts of different values, as many as there is room for."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.total, self.more = 0, False

    def add(self, value: str, count: int) -> None:
        self.total += count
        if value in self.counts or len(self.counts) < MOST_VALUES:
            self.counts[value] += count
        else:
            self.more = True

    def as_dict(self, most: int = COMMONEST) -> dict[str, Any]:
        return {"different": len(self.counts), "more": self.more, "commonest": dict(self.counts.most_common(most))}


class Numbers:
    """The range of numbers and their mean."""

    def __init__(self) -> None:
        self.n, self.least, self.most, self._sum = 0, math.inf, -math.inf, 0.0

    def add(self, number: float, count: int) -> None:
        self.n += count
        self.least, self.most = min(self.least, number), max(self.most, number)
        self._sum += number * count

    def add_all(self, numbers: Any) -> None:
        """An array of finite floats."""
        if len(numbers):
            self.n += len(numbers)
            self.least, self.most = min(self.least, float(numbers.min())), max(self.most, float(numbers.max()))
            self._sum += float(numbers.sum())

    def as_dict(self) -> dict[str, Any]:
        if not self.n:
            return {"min": None, "mean": None, "max": None}
        return {"min": self.least, "mean": self._sum / self.n, "max": self.most}


class Summary:
    """What the cells of one column are."""

    def __init__(self, column: Column, na: tuple[str, ...] = ()) -> None:
        self.column, self._na = column, na
        self.missing = 0
        self.values, self.strays = Values(), Values()
        self.numbers = Numbers()
        self.words = 0
        self.first: datetime | None = None
        self.last: datetime | None = None

    def add(self, column: Any) -> None:
        """More cells, as a pyarrow column or an array of labels."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not isinstance(column, pa.ChunkedArray):
            # Labels come as an array; what follows expects a column.
            column = pa.chunked_array([pa.array(column.tolist())])
        role, kind = self.column.role, column.type
        number = pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)
        # Floats need no counting of different values, only their range and mean.
        if role in (Role.NUMBER, Role.WEIGHT) and number:
            self._add_floats(pc.cast(column, pa.float64(), safe=False).to_numpy())
            return
        # Each different value is looked at once, with its count.
        for entry in pc.value_counts(column):
            self._add(entry["values"].as_py(), entry["counts"].as_py())

    def _add_floats(self, cells: Any) -> None:
        import numpy as np

        finite = np.isfinite(cells)
        missing = np.isnan(cells)
        self.missing += int(missing.sum())
        self.numbers.add_all(cells[finite])
        for cell in cells[~finite & ~missing].tolist():
            self.strays.add(str(cell), 1)

    def _add(self, cell: Any, count: int) -> None:
        if is_missing(cell, self._na):
            self.missing += count
            return
        role, text = self.column.role, _written(cell)
        if role in (Role.NUMBER, Role.WEIGHT):
            # The column's own pattern reads its numbers; what it cannot read is a stray.
            number = as_number(cell, self.column.pattern)
            self.strays.add(text, count) if number is None else self.numbers.add(number, count)
        elif role is Role.DATE:
            self._add_moment(cell, text, count)
        elif role is Role.TEXT:
            # Texts are hardly ever equal, so only their words are counted.
            self.values.total += count
            self.words += count * len(text.split())
        else:
            self.values.add(text, count)
            # A label of numbers may be classes or a target: both are collected, and as_dict chooses.
            if role is Role.LABEL and (number := as_number(cell, self.column.pattern)) is not None:
                self.numbers.add(number, count)

    def _add_moment(self, cell: Any, text: str, count: int) -> None:
        moment = as_date(text, self.column.pattern) if isinstance(cell, str) else cell
        # A day and a moment cannot be compared, so a day is its midnight.
        if isinstance(moment, date) and not isinstance(moment, datetime):
            moment = datetime(moment.year, moment.month, moment.day)
        if not isinstance(moment, datetime):
            self.strays.add(text, count)
            return
        # Moments with and without a zone cannot be compared, either.
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        self.first = moment if self.first is None else min(self.first, moment)
        self.last = moment if self.last is None else max(self.last, moment)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        column = self.column
        told: dict[str, Any] = {"name": column.name, "role": str(column.role), "why": column.why, "said": column.said}
        if column.pattern and column.pattern != ISO:
            told["pattern"] = column.pattern
        if column.role in (Role.ID, Role.IGNORE):
            return told
        told["missing"] = self.missing
        if column.role in (Role.NUMBER, Role.WEIGHT):
            told |= self.numbers.as_dict()
        elif column.role is Role.CATEGORY:
            told["values"] = self.values.as_dict()
        elif column.role is Role.TEXT:
            told["words_a_cell"] = self.words / max(1, self.values.total)
        elif column.role is Role.DATE:
            told["from"], told["to"] = (None if m is None else m.isoformat(" ") for m in (self.first, self.last))
        # A label of many different numbers is a target, and its range says more than its commonest values.
        elif self.numbers.n == self.values.total and (self.values.more or len(self.values.counts) > FEW_CLASSES):
            told |= self.numbers.as_dict()
        else:
            told["classes"] = self.values.as_dict(FEW_CLASSES)
        if self.strays.total:
            told["strays"] = {"cells": self.strays.total, **self.strays.as_dict()}
        return told


def _written(cell: Any) -> str:
    """A value as one would write it: 1 for 1.0."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53 else str(cell).strip()


def summaries(chunks: Iterable[Chunk], columns: Mapping[str, Column], na: tuple[str, ...] = ()) -> tuple[int, list]:
    """(how many rows there are, the columns as plain data) of a raw stream."""
    found = {name: Summary(column, na) for name, column in columns.items()}
    rows = 0
    # Label and weight are not in X: they come as arrays of the chunk.
    single = {column.role: name for name, column in columns.items() if column.role in (Role.LABEL, Role.WEIGHT)}
    for chunk in chunks:
        rows += chunk.n_rows
        for name in chunk.X.column_names:
            found[name].add(chunk.X.column(name))
        for role, cells in ((Role.LABEL, chunk.y), (Role.WEIGHT, chunk.weight)):
            if cells is not None and role in single:
                found[single[role]].add(cells)
    return rows, [summary.as_dict() for summary in found.values()]


def in_words(told: Mapping[str, Any]) -> str:
    """One column, as :meth:`Summary.as_dict` has it, in a line."""
    parts = []
    if "min" in told:
        if told["min"] is None:
            parts.append("no numbers")
        else:
            parts.append(f"{told['min']:.6g} to {told['max']:.6g}, mean {told['mean']:.6g}")
    if "words_a_cell" in told:
        parts.append(f"{told['words_a_cell']:.1f} words a cell")
    if "from" in told:
        parts.append(f"{_day(told['from'])} to {_day(told['to'])}" if told["from"] else "no dates")
    for what, name in (("values", "value"), ("classes", "class")):
        if what in told:
            parts.append(_counted(told[what], name))
    if told.get("missing"):
        parts.append(f"{told['missing']:,} missing")
    if "strays" in told:
        parts.append(f"{told['strays']['cells']:,} stray: {_named(told['strays'])}")
    # The reason is shown where it may surprise: for what is left out, for the label, and for what you said.
    if told["role"] in (Role.ID, Role.IGNORE, Role.LABEL) or told["said"]:
        parts.append(told["why"])
    elif told.get("pattern"):
        parts.append(told["why"] if told["role"] == Role.DATE else written_numbers.in_words(told["pattern"]))
    return "; ".join(parts)


def _day(moment: str) -> str:
    return moment.removesuffix(" 00:00:00")


def _counted(values: Mapping[str, Any], name: str) -> str:
    n = values["different"]
    several = name + ("es" if name.endswith("s") else "s") if n != 1 else name
    return f"{'more than ' * values['more']}{n:,} {several}: {_named(values)}"


def _named(values: Mapping[str, Any]) -> str:
    shown = ", ".join(f"{value} {count:,}" for value, count in values["commonest"].items())
    return shown + (" …" if values["different"] > len(values["commonest"]) else "")
