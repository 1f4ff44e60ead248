"""What each column of a table is for, guessed from some of its rows by a stated rule.

The rule, for one column. Cells that are empty, NaN or a word for «not there» (``MISSING``, and those of ``na=``) do not
count; if there is no other cell, the column is ignored. Of the other cells:

1. true and false are numbers, dates and times are dates; lists and other things are ignored;
2. if 19 of 20 are numbers, or text that reads as a number, the column is a **number**; the others, stray words, are
   missing values. But whole numbers that count up or down by one are an **id**, and so is a column whose name says so
   (id, key, uuid, row, index; order_id, orderId, «order id») if 9 of 10 cells are different;
3. if 19 of 20 read as dates, all by one pattern, it is a **date**;
4. if the cells have three words or more on average, it is **text**;
5. if there are at least twenty and 9 of 10 are different, it is an **id**: what comes once teaches nothing;
6. else it is a **category**.

The **label** is the column called label, target, y or class; else the last one, or the first one if the last one
cannot be it and the first one can: text, dates, ids and columns of many different values are no labels. Ids are left
out of what is learned. Whatever was said of a column counts, not the rule.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np

LOOKED_AT = 1000
"""How many rows a guess is made from: the first ones. What comes after them in a sample is spread over the table."""

MISSING = frozenset({"", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None"})
LABEL_NAMES = ("label", "target", "y", "class")
ID_NAME = re.compile(r"(?i:id|ids|key|uuid|guid|row|index|unnamed: \d+|)|.*[ _.-](?i:id|uuid|guid|key)|.*[a-z]I[dD]")
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
MOSTLY, NEARLY_ALL = 0.9, 0.95
WORDS = 3.0  # running text has so many words in a cell, on average
ENOUGH = 20  # cells, to call a column an id by its values alone
MOST_CLASSES = 100  # of a column of numbers that nobody called a label

TIMES = ("", " %H:%M", " %H:%M:%S", "T%H:%M", "T%H:%M:%S")
DAYS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%Y.%m.%d")
ISO = "ISO 8601"
LOOKS_LIKE_A_DATE = re.compile(r"\s*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(\D.*)?")


class Role(StrEnum):
    """What a column is for."""

    NUMBER = "number"
    CATEGORY = "category"
    TEXT = "text"
    DATE = "date"
    ID = "id"  # left out
    IGNORE = "ignore"
    LABEL = "label"
    WEIGHT = "weight"


USED = (Role.NUMBER, Role.CATEGORY, Role.TEXT, Role.DATE)  # roles of columns that features are made of


class Column(NamedTuple):
    """A column and what it is for."""

    name: str
    role: Role
    why: str = ""  # the reason, in few words
    said: bool = False  # by the user
    pattern: str = ""  # how dates are written, for strptime, or ISO; "" if they are no text


class Said(NamedTuple):
    """What the user said about columns; the rest is guessed. ``label`` False is for none, True for a name only."""

    number: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    date: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    label: str | bool | None = None
    weight: str | None = None
    na: tuple[str, ...] = ()

    def roles(self) -> dict[str, Role]:
        """The role of each column that was named; one that was given two is refused."""
        found: dict[str, Role] = {}
        single = ((self.label,), Role.LABEL), ((self.weight,), Role.WEIGHT)
        several = tuple((getattr(self, role.value), role) for role in (*USED, Role.IGNORE))
        for names, role in (*several, *single):
            for name in names:
                if not isinstance(name, str):
                    continue
                if found.get(name, role) is not role:
                    raise ValueError(f"Column {name!r} was said to be both {found[name]} and {role}. Say one.")
                found[name] = role
        return found

    def check(self, columns: Sequence[str], title: str = "The table") -> None:
        """Refuse a table that lacks a column that was named."""
        for name in self.roles():
            if name not in columns:
                shown = ", ".join(map(repr, columns[:30])) + (" …" if len(columns) > 30 else "")
                raise ValueError(f"{title} has no column {name!r}. Its columns are {shown}.")


NOTHING_SAID = Said()


def settle(
    sample: Mapping[str, Sequence[Any]], said: Said = NOTHING_SAID, *, labels: str | None = None, title: str = ""
) -> dict[str, Column]:
    """The columns of a table by name, from some of its rows.

    ``labels`` is what the label must be: "classes", "numbers" or, where the table has none, None. A ``label`` that was
    said counts in any case.
    """
    names = list(sample)
    said.check(names, title or "The table")
    roles = said.roles()
    columns = {name: _column(name, sample[name], roles.get(name), said.na) for name in names}
    label = said.label
    if not isinstance(label, str) and label is not False and (labels is not None or label is True):
        chosen = _label(columns, sample, said, labels or "classes", named_only=label is True)
        if chosen is not None:
            columns[chosen.name] = chosen
    return columns


def _column(name: str, cells: Sequence[Any], said: Role | None, na: Iterable[str]) -> Column:
    if said is None:
        return guess(name, cells, na)
    pattern = ""
    if said is Role.DATE:
        pattern = date_pattern([cell for cell in cells if isinstance(cell, str) and not is_missing(cell, na)]) or ISO
    return Column(name, said, "as said", True, pattern)


def _label(
    columns: dict[str, Column], sample: Mapping[str, Sequence[Any]], said: Said, labels: str, named_only: bool
) -> Column | None:
    taken = said.roles()
    names = [name for name in columns if name not in taken]
    named = [name for wanted in LABEL_NAMES for name in names if name.lower() == wanted]
    if named:
        return Column(named[0], Role.LABEL, "by its name")
    if named_only or not names:
        return None
    first, last = names[0], names[-1]
    if labels == "classes" and not _can_be_label(columns[last], sample[last], said.na):
        if _can_be_label(columns[first], sample[first], said.na):
            return Column(first, Role.LABEL, f"the first column; the last one, {last!r}, is {_is(columns[last])}")
    return Column(last, Role.LABEL, "the last column")


def _is(column: Column) -> str:
    return {Role.TEXT: "text", Role.ID: "an id", Role.DATE: "a date", Role.IGNORE: "empty"}.get(
        column.role, "of many values"
    )


def _can_be_label(column: Column, cells: Sequence[Any], na: Iterable[str]) -> bool:
    if isinstance(cells, np.ndarray):
        cells = cells[~np.isnan(cells)].tolist()
    present = [cell for cell in cells if not is_missing(cell, na)]
    distinct = len({str(cell) for cell in present})
    if column.role is Role.CATEGORY:
        return len(present) < ENOUGH or distinct <= len(present) / 2
    if column.role is Role.NUMBER:
        numbers = [number for cell in present if (number := as_number(cell)) is not None]
        whole = all(number.is_integer() for number in numbers)
        return whole and (len(present) < ENOUGH or distinct <= min(MOST_CLASSES, len(present) / 2))
    return False


def guess(name: str, cells: Sequence[Any], na: Iterable[str] = ()) -> Column:
    """One column by the rule. An array of floats, NaN where there is nothing, is a quick way to say numbers."""
    if isinstance(cells, np.ndarray):
        return _of_floats(name, cells)
    present = [cell for cell in cells if not is_missing(cell, na)]
    if not present:
        return Column(name, Role.IGNORE, "empty")
    texts = [cell for cell in present if isinstance(cell, str)]
    odd = [cell for cell in present if not isinstance(cell, str | bool | int | float | date) and not _is_scalar(cell)]
    if odd:
        return Column(name, Role.IGNORE, f"holds {type(odd[0]).__name__} values")
    if any(isinstance(cell, date) for cell in present):
        return Column(name, Role.DATE, "dates")
    distinct = len({str(cell) for cell in present})
    numbers = [number for cell in present if (number := as_number(cell)) is not None]
    by_name = ID_NAME.fullmatch(name.strip()) is not None and distinct >= MOSTLY * len(present)
    if len(numbers) >= NEARLY_ALL * len(present):
        if all(isinstance(cell, bool) for cell in present):
            return Column(name, Role.NUMBER, "true or false")
        return _number(name, np.array(numbers), len(present), by_name)
    if not texts:
        return Column(name, Role.CATEGORY, "values of several kinds")
    if (pattern := date_pattern(texts)) is not None:
        return Column(name, Role.DATE, "dates" if pattern == ISO else f"dates like {pattern}", pattern=pattern)
    words = sum(len(text.split()) for text in texts) / len(texts)
    if words >= WORDS:
        return Column(name, Role.TEXT, f"{words:.0f} words a cell")
    if by_name or (len(present) >= ENOUGH and distinct >= MOSTLY * len(present)):
        return Column(name, Role.ID, "hardly a value comes twice")
    return Column(name, Role.CATEGORY, f"{distinct} value{'s' * (distinct > 1)}")


def _of_floats(name: str, cells: np.ndarray) -> Column:
    present = cells[~np.isnan(cells)]
    if not len(present):
        return Column(name, Role.IGNORE, "empty")
    numbers = present[np.isfinite(present)]
    if len(numbers) < NEARLY_ALL * len(present):
        return Column(name, Role.CATEGORY, "values of several kinds")
    by_name = ID_NAME.fullmatch(name.strip()) is not None and len(np.unique(present)) >= MOSTLY * len(present)
    return _number(name, numbers, len(present), by_name)


def _number(name: str, numbers: np.ndarray, present: int, by_name: bool) -> Column:
    if (numbers == np.trunc(numbers)).all():
        if by_name:
            return Column(name, Role.ID, "its name, and hardly a value comes twice")
        if len(numbers) >= ENOUGH and _counts(numbers):
            return Column(name, Role.ID, "counts the rows")
    strays = present - len(numbers)
    return Column(name, Role.NUMBER, f"{strays} of {present} cells are no numbers" if strays else "numbers")


def is_missing(cell: Any, na: Iterable[str] = ()) -> bool:
    """Is there nothing in this cell?"""
    if cell is None:
        return True
    if isinstance(cell, str):
        text = cell.strip()
        return text in MISSING or text in na
    try:
        return bool(cell != cell)  # NaN and NaT; pandas.NA refuses to be asked
    except (TypeError, ValueError):
        return type(cell).__name__ == "NAType"


def as_number(cell: Any) -> float | None:
    """The number in a cell, None if there is none; infinity is no number."""
    if isinstance(cell, str):
        return float(cell) if NUMBER.fullmatch(cell) and math.isfinite(float(cell)) else None
    if isinstance(cell, date):
        return None
    try:
        number = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _is_scalar(cell: Any) -> bool:
    """A number of NumPy, Decimal, a Fraction: what has a float in it and no length."""
    return hasattr(cell, "__float__") and not hasattr(cell, "__len__")


def _counts(numbers: np.ndarray) -> bool:
    """Does each of the first numbers follow the one before by one, up or down? Those after go on that way."""
    steps = np.diff(numbers)
    return abs(steps[0]) == 1 and bool((steps[: LOOKED_AT - 1] == steps[0]).all() and (steps * steps[0] > 0).all())


def date_pattern(texts: Sequence[str]) -> str | None:
    """The pattern by which nearly all of these texts are dates; None if there is none."""
    looked = texts[:LOOKED_AT]
    alike = [text for text in looked if LOOKS_LIKE_A_DATE.fullmatch(text)]
    if not looked or len(alike) < NEARLY_ALL * len(looked):
        return None
    for pattern in (ISO, *(day + time for day in DAYS for time in TIMES)):
        if sum(as_date(text, pattern) is not None for text in alike) >= NEARLY_ALL * len(looked):
            return pattern
    return None


def as_date(text: str, pattern: str) -> datetime | None:
    """The moment that a text names."""
    try:
        if pattern == ISO:
            return datetime.fromisoformat(text.strip())
        return datetime.strptime(text.strip(), pattern)
    except ValueError:
        return None
