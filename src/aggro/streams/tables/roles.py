"""What each column of a table is for, guessed from some of its rows by a stated rule.

The rule, for one column. Cells that are empty, NaN or a word for «not there» (``MISSING_MARKS``, and those of
``na=``) do not count; if there is no other cell, the column is ignored. Of the other cells:

1. true and false are numbers, dates and times are dates, lists are **text**, a word for each item (``flatten``); what
   is none of these, nor text, is ignored;
2. if 19 of 20 are numbers, or text that reads as a number, the column is a **number**; the others, stray words, are
   missing values. Half of them are enough if there are more than twenty different numbers, and the others are at most
   five different words, such as «unknown»; that goes for dates, too. Decimal and thousands marks, currency and percent
   signs, parentheses for a minus, bounds such as <0.5 and a unit behind are parts of numbers (``written_numbers``). But
   digits of one length of which some begin with a zero are codes, and a **category**. And whole numbers that count up
   or down by one are an **id**, and so is a column whose name says so (id, key, uuid, row, index; order_id, orderId,
   «order id») if 9 of 10 cells are different;
3. if 19 of 20 read as dates, by one pattern or by several, it is a **date**;
4. if 19 of 20 are web or e-mail addresses, or the cells have three words or more on average, it is **text**;
5. if there are at least twenty and 9 of 10 are different, it is an **id**: what comes once teaches nothing;
6. else it is a **category**.

The **label** is the column called label, target, y or class; else the last one, or the first one if the last one
cannot be it and the first one can: text, dates and ids are no labels. Empty columns without a name do not count, nor
those that pandas keeps its index in. Which task the label makes is decided in ``task``. Ids are left out of what is
learned. Whatever was said of a column counts, not the rule.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from aggro.streams.tables import written_numbers
from aggro.streams.tables.flatten import BAG
from aggro.streams.tables.task import DEFAULT_LABELS, can_be_label
from aggro.streams.tables.written_numbers import AROUND
from aggro.streams.tables.written_numbers import as_number as as_number  # readers and encoders find it here

CELLS_LOOKED_AT = 1000
"""How many rows a guess is made from: the first ones. What comes after them in a sample is spread over the table."""

MISSING_MARKS = frozenset({"", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None"})
NO_NAME = re.compile(r"(?i:unnamed: \d+|)")
ID_NAME = re.compile(
    r"(?i:id|ids|key|uuid|guid|row|index|__index_level_\d+__|unnamed: \d+|)|.*[ _.-](?i:id|uuid|guid|key)|.*[a-z]I[dD]"
)
MOST_CELLS, NEARLY_ALL_CELLS = 0.9, 0.95
WORDS_OF_TEXT = 3.0  # running text has so many words in a cell, on average
EMPTY = "empty"  # why a column is ignored in which there is nothing
ENOUGH_FOR_ID = 20  # cells, to call a column an id by its values alone
HALF = 0.5  # of the cells, at least, are numbers where the others are few words
MANY_NUMBERS = 20  # different ones, at least one more, where half of the cells are words
FEW_WORDS = 5  # different ones among numbers or dates, such as «unknown» and «n.a.»
CODE = re.compile(r"[0-9]{5,}")  # what a code with leading zeros looks like; 0830 and 01 may be times and months

TIMES = ("", " %H:%M", " %H:%M:%S", "T%H:%M", "T%H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
MONTH_FIRST, DAY_FIRST = ("%m/%d/%Y", "%m/%d/%y", "%m-%d-%Y"), ("%d/%m/%Y", "%d/%m/%y", "%d-%m-%Y")
DAYS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%Y.%m.%d", "%m-%d-%Y"),
    *("%d.%m.%y", "%m/%d/%y", "%d/%m/%y"),
    *("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%d-%b-%Y", "%d-%b-%y", "%d. %B %Y"),
)
ISO = "ISO 8601"
OR = " | "  # between the patterns of a column whose dates are written in several ways
MOST_PATTERNS = 8
LOOKS_LIKE_A_DATE = re.compile(
    r"\s*(\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}[-. ]+[A-Za-z]{3,9}[-. ]+\d{2,4}|[A-Za-z]{3,9} \d{1,2},? \d{4})(\D.*)?"
)
NO_DATE = re.compile(r"\s*0{1,4}([-/.]0{1,4}){2}([ T]00:00(:00)?)?\s*")  # 0000-00-00, as databases write «none»
ADDRESS_PATTERN = re.compile(
    r"\s*([a-z][a-z0-9+.-]{1,10}://\S+|www\.\S+\.\S+|[^\s@]+@[^\s@]+\.[^\s@]+)\s*", re.IGNORECASE
)


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


USED_ROLES = (Role.NUMBER, Role.CATEGORY, Role.TEXT, Role.DATE)  # roles of columns that features are made of


class Column(NamedTuple):
    """A column and what it is for."""

    name: str
    role: Role
    why: str = ""  # the reason, in few words
    said: bool = False  # by the user
    pattern: str = (
        ""  # how dates are written, for strptime, or ISO, "" if they are no text; how numbers are, "" plainly
    )


def names_in(said: str | Iterable[str]) -> tuple[str, ...]:
    """One name or several, as they may be given."""
    return (said,) if isinstance(said, str) else tuple(said)


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
    decimal: str | None = None  # the mark before the decimals, in all columns
    thousands: str | None = None  # the mark between thousands
    dayfirst: bool | None = None  # whether 03/04/2024 is the third of April

    def roles(self) -> dict[str, Role]:
        """The role of each column that was named; one that was given two is refused."""
        found: dict[str, Role] = {}
        # Label and weight come last, so that a clash names the other role first.
        single = ((self.label,), Role.LABEL), ((self.weight,), Role.WEIGHT)
        several = tuple((getattr(self, role.value), role) for role in (*USED_ROLES, Role.IGNORE))
        for names, role in (*several, *single):
            for name in names:
                if not isinstance(name, str):
                    continue
                # The same role twice is no clash.
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
    sample: Mapping[str, Sequence[Any]],
    said: Said = NOTHING_SAID,
    *,
    labels: str | None = None,
    title: str = "",
    nameless: bool = False,
    inner: Collection[str] = (),
) -> dict[str, Column]:
    """The columns of a table by name, from some of its rows.

    ``labels`` is what the label must be: "classes", "numbers", "either" or, where the table has none, None. A ``label``
    that was said counts in any case. ``nameless`` says that the table has no names of its own for its columns, and
    ``inner`` are columns that were nested values, or an index: they are labels only if that is said.
    """
    names = list(sample)
    # Misspelled names are an error before anything is guessed.
    said.check(names, title or "The table")
    written_numbers.check_marks(said.decimal, said.thousands)
    roles = said.roles()
    columns = {name: _column(name, sample[name], roles.get(name), said) for name in names}
    # Only after all columns are known: some of them can be read only in the light of the others.
    _share_marks(columns, sample, roles, said)
    label = said.label
    # A label that was named is in the roles already; otherwise one is chosen, if one is wanted.
    if not isinstance(label, str) and label is not False and (labels is not None or label is True):
        chosen = _label(columns, sample, said, labels or "classes", label is True, nameless, inner)
        if chosen is not None:
            columns[chosen.name] = chosen
    return columns


def _share_marks(
    columns: dict[str, Column], sample: Mapping[str, Sequence[Any]], roles: Mapping[str, Role], said: Said
) -> None:
    """Let columns that could be read in two ways, such as one of 4,368 and 2,125, follow the others of their table."""
    # Marks that were said hold for all columns.
    if said.decimal is not None or said.thousands is not None:
        return
    # Columns in which only one style fits; they show how the table writes numbers.
    sure = [c.pattern for c in columns.values() if c.role is Role.NUMBER and c.pattern and _is_sure(sample[c.name])]
    marks = [written_numbers.Style.of(pattern).decimal for pattern in sure]
    # Only a majority of decimal commas changes the reading, because a point is the default.
    if "," not in marks or marks.count(",") <= marks.count("."):
        return
    for name, column in columns.items():
        is_text = not isinstance(sample[name], np.ndarray) and any(isinstance(cell, str) for cell in sample[name])
        if column.role is Role.NUMBER and is_text and written_numbers.Style.of(column.pattern).decimal == ".":
            # Read again with a decimal comma; kept only if no more cells are strays than before.
            found = _column(name, sample[name], roles.get(name), said._replace(decimal=","))
            if found.role is Role.NUMBER and _strays(found) <= _strays(column):
                columns[name] = found


def _strays(column: Column) -> int:
    """How many cells of a column of numbers are none, as its reason says."""
    first = column.why.partition(" ")[0]
    return int(first) if first.isdecimal() else 0


def _is_sure(cells: Sequence[Any]) -> bool:
    return written_numbers.guess_style([cell for cell in cells if isinstance(cell, str)]).sure


def _column(name: str, cells: Sequence[Any], role: Role | None, said: Said) -> Column:
    if role is None:
        return guess(name, cells, said.na, said)
    # An array of floats has no texts, so no pattern is needed.
    texts = [] if isinstance(cells, np.ndarray) else cells
    texts = [cell for cell in texts if isinstance(cell, str) and not is_missing(cell, said.na)]
    pattern = ""
    if role is Role.DATE:
        # The user said that it is a date: without a pattern that fits, ISO is tried on every cell.
        pattern = date_pattern(texts, said.dayfirst) or ISO
    if role in (Role.NUMBER, Role.LABEL, Role.WEIGHT) and texts and any(as_number(text) is None for text in texts):
        pattern = _number_pattern(texts, said)
        read = sum(as_number(text, pattern or None) is not None for text in texts)
        # A label of which most cells are no numbers is words, whatever a few cells look like.
        if role is Role.LABEL and read < NEARLY_ALL_CELLS * len(texts):
            pattern = ""
    return Column(name, role, "set by you", True, pattern)


def _label(
    columns: dict[str, Column],
    sample: Mapping[str, Sequence[Any]],
    said: Said,
    labels: str,
    named_only: bool,
    nameless: bool,
    inner: Collection[str],
) -> Column | None:
    taken = said.roles()
    # What was said, nested or blank is never chosen.
    names = [
        name for name in columns if name not in taken and name not in inner and not _is_blank(columns[name], nameless)
    ]
    # In the order of DEFAULT_LABELS, so «label» wins over «y» wherever they stand.
    named = [name for wanted in DEFAULT_LABELS for name in names if name.lower() == wanted]

    def chosen(name: str, why: str) -> Column:
        column = columns[name]
        return Column(name, Role.LABEL, why, False, column.pattern if column.role is Role.NUMBER else "")

    def possible(name: str, labels: str) -> bool:
        column = columns[name]
        return can_be_label(column.role.value, present_in(sample[name], said.na), labels, column.pattern)

    if named:
        return chosen(named[0], "by its name")
    if named_only or not names:
        # With label=True only a name counts.
        return None
    first, last = names[0], names[-1]
    # Any column of numbers may be the target of a regression, so the last one is taken.
    if labels == "numbers":
        return chosen(last, "the last column")
    # Files without names often begin with the class; else a last column of numbers is what there is to predict.
    wanted = "classes" if nameless else labels
    if not possible(last, wanted) and possible(first, "classes" if possible(last, labels) else labels):
        return chosen(first, f"the first column; the last one, {last!r}, is {_is(columns[last])}")
    return chosen(last, "the last column")


def _is_blank(column: Column, nameless: bool) -> bool:
    """Whether there is nothing in a column, not even a name: lines that end with a delimiter make one."""
    return column.role is Role.IGNORE and column.why == EMPTY and (nameless or bool(NO_NAME.fullmatch(column.name)))


def _is(column: Column) -> str:
    return {Role.TEXT: "text", Role.ID: "an id", Role.DATE: "a date", Role.IGNORE: "empty"}.get(
        column.role, "of many values"
    )


def present_in(cells: Sequence[Any], na: Iterable[str] = ()) -> list[Any]:
    """The cells that are not missing."""
    if isinstance(cells, np.ndarray):
        return list(cells[~np.isnan(cells)].tolist())
    return [cell for cell in cells if not is_missing(cell, na)]


def guess(name: str, cells: Sequence[Any], na: Iterable[str] = (), said: Said = NOTHING_SAID) -> Column:
    """One column by the rule. An array of floats, NaN where there is nothing, is a quick way to say numbers.

    Of ``said`` the marks of numbers and the order of dates count.
    """
    # Floats need no texts to be parsed.
    if isinstance(cells, np.ndarray):
        return _of_floats(name, cells)
    # Missing cells have no say in the shares below.
    present = [cell for cell in cells if not is_missing(cell, na)]
    if not present:
        return Column(name, Role.IGNORE, EMPTY)
    texts = [cell for cell in present if isinstance(cell, str)]
    # Values that are neither text nor numbers nor dates have no encoding.
    odd = [cell for cell in present if not isinstance(cell, str | bool | int | float | date) and not _is_scalar(cell)]
    if odd:
        return Column(name, Role.IGNORE, f"holds {_kind_of(odd[0])} values")
    if any(isinstance(cell, date) for cell in present):
        return Column(name, Role.DATE, "dates")
    distinct = len({str(cell) for cell in present})
    # Bags are known by the letter that begins them, whatever words they hold.
    if sum(text.startswith(BAG) for text in texts) >= MOST_CELLS * len(present):
        return Column(name, Role.TEXT, "lists, as bags of their items")
    # The style of the numbers first: everything below counts the cells that it reads.
    pattern = _number_pattern(texts, said)
    read = [as_number(cell, pattern or None) for cell in present]
    numbers = [number for number in read if number is not None]
    words = {str(cell).strip() for cell, number in zip(present, read, strict=True) if number is None}
    # A name such as «id» is believed only if the values differ.
    by_name = ID_NAME.fullmatch(name.strip()) is not None and distinct >= MOST_CELLS * len(present)
    # Many numbers and few words: the words are marks for missing values, though there may be many cells of them.
    few_words = len(words) <= FEW_WORDS and len({*numbers}) > MANY_NUMBERS and len(numbers) >= HALF * len(present)
    # Before numbers: codes with leading zeros read as numbers, but are not.
    if len(texts) == len(present) and are_codes(texts):
        if by_name or (len(present) >= ENOUGH_FOR_ID and distinct >= MOST_CELLS * len(present)):
            return Column(name, Role.ID, "codes, and hardly one comes twice")
        return Column(name, Role.CATEGORY, f"codes with leading zeros, {distinct} values")
    # The rules in their order: what is a number is no date, and so on.
    if len(numbers) >= NEARLY_ALL_CELLS * len(present) or few_words:
        if all(isinstance(cell, bool) for cell in present):
            return Column(name, Role.NUMBER, "true or false")
        return _number(name, np.array(numbers), len(present), by_name, pattern, sorted(words))
    # What is left of mixed kinds without any text has only its values to tell.
    if not texts:
        return Column(name, Role.CATEGORY, "values of several kinds")
    if (dates := date_pattern(texts, said.dayfirst)) is not None:
        return Column(name, Role.DATE, "dates" if dates == ISO else f"dates like {dates}", pattern=dates)
    if sum(ADDRESS_PATTERN.fullmatch(text) is not None for text in texts) >= NEARLY_ALL_CELLS * len(present):
        return Column(name, Role.TEXT, "addresses, by their parts")
    # The mean length tells running text from names and codes.
    length = sum(len(text.split()) for text in texts) / len(texts)
    if length >= WORDS_OF_TEXT:
        return Column(name, Role.TEXT, f"{length:.0f} words a cell")
    # Texts that hardly repeat are ids: what comes once teaches nothing. Running text was asked for before.
    if by_name or (len(present) >= ENOUGH_FOR_ID and distinct >= MOST_CELLS * len(present)):
        return Column(name, Role.ID, "nearly all values differ")
    return Column(name, Role.CATEGORY, f"{distinct} value{'s' * (distinct > 1)}")


def _kind_of(cell: Any) -> str:
    """The type of an odd cell; a sample has the name of the type in a list instead of the cell."""
    if isinstance(cell, list) and len(cell) == 1 and isinstance(cell[0], str):
        return cell[0]
    return type(cell).__name__


def _of_floats(name: str, cells: np.ndarray) -> Column:
    present = cells[~np.isnan(cells)]
    if not len(present):
        return Column(name, Role.IGNORE, EMPTY)
    # Infinities are strays.
    numbers = present[np.isfinite(present)]
    if len(numbers) < NEARLY_ALL_CELLS * len(present):
        return Column(name, Role.CATEGORY, "values of several kinds")
    by_name = ID_NAME.fullmatch(name.strip()) is not None and len(np.unique(present)) >= MOST_CELLS * len(present)
    return _number(name, numbers, len(present), by_name)


def _number_pattern(texts: Sequence[str], said: Said) -> str:
    """How these texts write numbers, "" if plainly."""
    # Without marks that were said, the plain style wins unless another reads more cells.
    if said.decimal is None and said.thousands is None:
        plain = sum(as_number(text) is not None for text in texts)
        if plain == len(texts):
            return ""
        found = written_numbers.guess_style(texts)
        return found.pattern if found.cells > plain else ""
    if not texts:
        return ""
    # With marks that were said, the style is theirs, even if few cells show them.
    found = written_numbers.guess_style(texts, said.decimal, said.thousands)
    return "" if found.pattern == "0.5" else found.pattern


def are_codes(texts: Sequence[str]) -> bool:
    """Whether all of these are digits, equally many, and some begin with a zero: a code, such as a postcode."""
    cells = {text.strip() for text in texts}
    # Numbers have many lengths; codes have one.
    if len({*map(len, cells)}) != 1 or not any(cell.startswith("0") for cell in cells):
        return False
    return len(cells) > 1 and all(CODE.fullmatch(cell) for cell in cells)


def _number(
    name: str, numbers: np.ndarray, present: int, by_name: bool, pattern: str = "", words: Sequence[str] = ()
) -> Column:
    # Only whole numbers can be ids.
    if (numbers == np.trunc(numbers)).all():
        if by_name:
            return Column(name, Role.ID, "its name, and nearly all values differ")
        if len(numbers) >= ENOUGH_FOR_ID and _counts(numbers):
            return Column(name, Role.ID, "counts the rows")
    strays = present - len(numbers)
    # The stray words are named if they are few, so that the user can see what counts as missing.
    few = f": {', '.join(word[:20] for word in words)}" if len(words) <= FEW_WORDS and strays > 1 else ""
    why = f"{strays} of {present} cells are no numbers{few}" if strays else "numbers"
    if pattern:
        how = written_numbers.in_words(pattern)
        why = f"{why}, {how}" if strays else how
    return Column(name, Role.NUMBER, why, pattern=pattern)


def is_missing(cell: Any, na: Iterable[str] = ()) -> bool:
    """Is there nothing in this cell?"""
    if cell is None:
        return True
    if isinstance(cell, str):
        text = cell.strip(AROUND)
        return text in MISSING_MARKS or text in na
    if isinstance(cell, Decimal):
        return cell.is_nan()  # a signaling NaN refuses to be compared
    try:
        return bool(cell != cell)  # NaN and NaT; pandas.NA refuses to be asked
    except (TypeError, ValueError):
        return type(cell).__name__ == "NAType"


def _is_scalar(cell: Any) -> bool:
    """A number of NumPy, Decimal, a Fraction: what has a float in it and no length."""
    return hasattr(cell, "__float__") and not hasattr(cell, "__len__")


def _counts(numbers: np.ndarray) -> bool:
    """Does each of the first numbers follow the one before by one, up or down? Those after go on that way."""
    # The first step says whether the numbers go up or down; later rows of the sample may leave some out.
    steps = np.diff(numbers)
    return abs(steps[0]) == 1 and bool(
        (steps[: CELLS_LOOKED_AT - 1] == steps[0]).all() and (steps * steps[0] > 0).all()
    )


def date_pattern(texts: Sequence[str], dayfirst: bool | None = None) -> str | None:
    """The pattern by which nearly all of these texts are dates, or several with « | » between; None if there is none.

    The pattern that reads most of them comes first. Of 03/04/2024 the month is first, unless other cells of the column
    show that it is the day, or ``dayfirst`` says so.
    """
    # Dates of zeros are how databases write «none», so they do not count against a pattern.
    looked = [text for text in texts[:CELLS_LOOKED_AT] if not NO_DATE.fullmatch(text)]
    left = [text for text in looked if LOOKS_LIKE_A_DATE.fullmatch(text)]
    words = {text.strip() for text in looked if not LOOKS_LIKE_A_DATE.fullmatch(text)}
    # A few words, such as «unknown», among many dates are marks for missing values.
    if len(words) <= FEW_WORDS and len({*left}) > MANY_NUMBERS and len(left) >= HALF * len(looked):
        looked = left
    enough = NEARLY_ALL_CELLS * len(looked)
    # A cheap look at the shape first: parsing all patterns over columns that are no dates would take far longer.
    if not looked or len(left) < enough:
        return None
    days = [day for day in DAYS if dayfirst is None or day not in (MONTH_FIRST if dayfirst else DAY_FIRST)]
    # ISO first, then days with times in a fixed order: of patterns that read equally many, the first wins.
    patterns = [ISO, *(day + time for day in days for time in TIMES)]
    chosen: list[str] = []
    found = 0
    # The pattern that reads most, then the one that reads most of the rest, until nearly all are read.
    while left and found < enough and len(chosen) < MOST_PATTERNS:
        best, best_read = "", 0
        for pattern in patterns:
            read = sum(as_date(text, pattern) is not None for text in left)
            if read > best_read:
                best, best_read = pattern, read
            # All read: no other pattern can do better.
            if read == len(left):
                break
        # A pattern for very few cells would be chance, so the search ends.
        if best_read < max(1, (1 - NEARLY_ALL_CELLS) * len(looked) / 2):
            break
        chosen.append(best)
        found += best_read
        left = [text for text in left if as_date(text, best) is None]
    return OR.join(chosen) if found >= enough else None


def as_date(text: str, pattern: str) -> datetime | None:
    """The moment that a text names, by a pattern or the first of several that reads it."""
    for one in _patterns(pattern):
        try:
            return datetime.fromisoformat(text.strip()) if one == ISO else datetime.strptime(text.strip(), one)
        except ValueError:
            continue
    return None


@lru_cache(64)
def _patterns(pattern: str) -> tuple[str, ...]:
    return tuple(pattern.split(OR))
