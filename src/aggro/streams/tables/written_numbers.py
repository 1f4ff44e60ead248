"""Numbers as people write them: 3.543,22 and $1,234.50 and 29.3% and (12.00) and <0.5.

How a column writes its numbers is guessed once, from all cells that were looked at, and kept as a pattern: the number
1234.5 in that style. All readers of cells (CSV, JSON, frames, single records) then read by the same pattern.

=============  =======================================================================================
pattern        cells that it reads
=============  =======================================================================================
"" (none)      plain numbers, as programs write them
"1,234.5"      4,368 and $1,234.50
"1.234,5"      60.355,18
"1 234,5"      4 368,10 (a no-break space counts as a space)
"1'234.5"      4'368.10
"0,5", "0.5"   the same without a mark for thousands; if one comes later, it is a point or a comma
"<0.5"         any of these with < before it: some cells are bounds, such as <0.5, >100 or ≤3
"0.5 kg"       any of these with a unit behind: 73.6 kg and 73.6kg; all cells of the column have the same one
"0.5K"         any of these with K, M or B behind: 1.2K is 1,200, 5M is 5,000,000 and 950 is 950
=============  =======================================================================================

In every style a number may have a currency sign or code, a percent sign, a minus sign on either side, or parentheses,
by which accountants mean a minus. 29.3% is 29.3. A bound is read as its number, and the encoder adds a feature that
says on which side of it the true value is.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from functools import lru_cache
from typing import Any, NamedTuple

MOST_BOUNDS = 0.5  # of the numbers of a column
BOUNDS = "<"  # begins the pattern of a column in which some cells are bounds
BELOW, EXACTLY, ABOVE = -1, 0, 1  # on which side of a cell's number the true value is
DECIMALS, THOUSANDS = (".", ","), (",", ".", " ", "'")
SIZES = {"K": 1e3, "k": 1e3, "M": 1e6, "B": 1e9}  # letters behind numbers; 5 m are metres or minutes
UNITS = re.compile(r"(.*[0-9.)])\s*([A-Za-zµμ°²³/]{1,12})", re.DOTALL)
SAME_UNIT = 0.95  # of the cells
SIZED = 0.02  # of the cells, at least, have a letter for their size
BLANK_CHARACTERS = r" \t\u00a0\u2007\u202f"
CURRENCY_CODES = (
    "USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR|KRW|TRY|RUB|kr|zł|Kč|R\\$|US\\$"
)
UNIT_PATTERN = rf"(?:[$€£¥₹₩₽₺₫₪฿¢]|%|‰|(?:{CURRENCY_CODES})\b)"
PLAIN_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
AROUND = "".join(map(chr, range(33)))  # what may stand around the text of a cell
WRITTEN_NUMBER = re.compile(
    rf"(?P<open>\()?[{BLANK_CHARACTERS}]*(?P<bound><=?|>=?|≤|≥)?[{BLANK_CHARACTERS}]*(?P<first>[-+−])?[{BLANK_CHARACTERS}]*(?:{UNIT_PATTERN})?[{BLANK_CHARACTERS}]*"
    rf"(?P<second>[-+−])?(?P<digits>[.,]?[0-9](?:[0-9.,'’{BLANK_CHARACTERS}]*[0-9.,])?)(?P<power>[eE][+-]?[0-9]+)?[{BLANK_CHARACTERS}]*"
    rf"(?:{UNIT_PATTERN})?[{BLANK_CHARACTERS}]*(?P<close>\))?(?P<after>-)?"
)
SPACES = str.maketrans(dict.fromkeys("\t\u00a0\u2007\u202f", " ") | {"’": "'"})


class Style(NamedTuple):
    """The marks of a column's numbers."""

    decimal: str = "."
    thousands: str = ""
    bounds: bool = False
    unit: str = ""  # behind every number
    sizes: bool = False  # whether K, M and B behind a number stand for thousands, millions and billions

    @property
    def pattern(self) -> str:
        """The number 1234.5 in this style."""
        number = f"1{self.thousands}234{self.decimal}5" if self.thousands else f"0{self.decimal}5"
        return BOUNDS * self.bounds + number + (f" {self.unit}" if self.unit else "K" * self.sizes)

    def of_plain(self, text: str) -> tuple[str, float]:
        """A text without the unit, or the letter for a size, behind it; and what the number is to be multiplied by."""
        if self.unit and (found := UNITS.fullmatch(text)) and found[2].lower() == self.unit:
            return found[1], 1.0
        if self.sizes and text[-1:] in SIZES:
            return text[:-1], SIZES[text[-1]]
        return text, 1.0

    @classmethod
    @lru_cache(64)
    def of(cls, pattern: str) -> Style:
        """The style that a pattern stands for."""
        bounds, number = pattern.startswith(BOUNDS), pattern.removeprefix(BOUNDS)
        found = UNITS.fullmatch(number)
        number, behind = (found[1], found[2]) if found else (number, "")
        more = (bounds, "", True) if behind == "K" else (bounds, behind)
        if number in ("", "0.5"):
            return cls(".", "", *more)
        if len(number) == 3 and number[1] in DECIMALS:
            return cls(number[1], "", *more)
        if len(number) == 7 and number[5] in DECIMALS and number[1] in THOUSANDS and number[1] != number[5]:
            return cls(number[5], number[1], *more)
        raise ValueError(f"{pattern!r} is no pattern of numbers, such as '1.234,5'.")

    @property
    def digits(self) -> re.Pattern[str]:
        """What the digits of a number of this style look like, with their marks."""
        return _digits(self.decimal, self.thousands)

    @property
    def usual(self) -> str:
        """What most cells of this style look like, for pyarrow: no parentheses, bounds or powers."""
        digits = _digits(self.decimal, self.thousands).pattern
        unit = rf"(?: ?(?i:{re.escape(self.unit)}))?" if self.unit else ""
        return rf"^-?(?:[$€£¥] ?)?(?:{digits})(?: ?[$€£¥%])?{unit}$"


@lru_cache(64)
def _digits(decimal: str, thousands: str) -> re.Pattern[str]:
    point, whole = re.escape(decimal), r"[0-9]+"
    if thousands:
        whole = rf"(?:[0-9]+|[1-9][0-9]{{0,2}}(?:{re.escape(thousands)}[0-9]{{3}})+)"
    return re.compile(rf"{whole}(?:{point}[0-9]*)?|{point}[0-9]+")


class Written(NamedTuple):
    """A number, and on which side of it the true value is."""

    value: float
    side: int


def read(text: str, pattern: str = "") -> Written | None:
    """The number that a text stands for in the style of a pattern; None if it is none."""
    style = Style.of(pattern)
    text, times = style.of_plain(text.strip())
    match = WRITTEN_NUMBER.fullmatch(text.strip())
    if match is None or bool(match["open"]) != bool(match["close"]):
        return None
    digits = match["digits"].translate(SPACES)
    if style.digits.fullmatch(digits) is None:
        if style.thousands:
            return None
        style = style._replace(thousands="," if style.decimal == "." else ".")  # the first number above 999, say
        if style.digits.fullmatch(digits) is None:
            return None
    if style.thousands:
        digits = digits.replace(style.thousands, "")
    value = float(digits.replace(style.decimal, ".") + (match["power"] or "")) * times
    minus = sum(match[part] in ("-", "−") for part in ("first", "second", "after")) + bool(match["open"])
    if minus > 1 or not math.isfinite(value):
        return None
    bound = match["bound"] or ""
    side = BELOW if bound[:1] in ("<", "≤") and bound else ABOVE if bound else EXACTLY
    return Written(-value if minus else value, side)


def as_number(cell: Any, pattern: str | None = None) -> float | None:
    """The number in a cell, None if there is none; infinity is no number.

    Text is read plainly, or with a ``pattern`` as its column writes numbers. The pattern "" is of a column of plain
    numbers: if a cell is none, it is tried with signs and marks.
    """
    if isinstance(cell, str):
        text = cell.strip(AROUND)
        if not pattern and PLAIN_NUMBER.fullmatch(text):
            return float(text) if math.isfinite(float(text)) else None
        found = None if pattern is None else read(text, pattern)
        return None if found is None else found.value
    if isinstance(cell, date):
        return None
    try:
        number = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


class Guess(NamedTuple):
    """How a column writes its numbers, how many of its cells are read so, and whether another style would do too."""

    pattern: str
    cells: int
    sure: bool


def guess_style(texts: Sequence[str], decimal: str | None = None, thousands: str | None = None) -> Guess:
    """The style in which most of these texts are numbers.

    ``decimal`` and ``thousands`` are marks that were said. Where two styles read as many cells, as «4,368» may be a
    number of thousands or one with three decimals, a mark that groups digits by three means thousands, unless it is a
    point; such a guess is not sure.
    """
    behind = behind_of(texts)
    plain = [behind.of_plain(text.strip())[0].strip() for text in texts]
    matches = [match for text in plain if (match := WRITTEN_NUMBER.fullmatch(text)) is not None]
    matches = [match for match in matches if bool(match["open"]) == bool(match["close"])]
    bounds = sum(match["bound"] is not None for match in matches)
    if bounds > MOST_BOUNDS * len(matches):  # such as <=50 and >50: names of classes
        matches = [match for match in matches if match["bound"] is None]
        bounds = 0
    cores = [match["digits"].translate(SPACES) for match in matches]
    marked = [core for core in cores if not core.isdecimal()]
    found = [
        (style, sum(style.digits.fullmatch(core) is not None for core in marked))
        for style in _candidates(decimal, thousands)
    ]
    best = max(count for _, count in found)
    alike = [style for style, count in found if count == best]
    used = [mark for mark in (*DECIMALS, *THOUSANDS) if any(mark in core for core in marked)]
    readings = {tuple(_value(core, style) for core in marked[:50]) for style in alike}
    style = alike[0]._replace(bounds=bounds > 0, unit=behind.unit, sizes=behind.sizes)
    if style.thousands and style.thousands not in used and thousands is None:
        style = style._replace(thousands="")
    return Guess(style.pattern, len(cores) - len(marked) + best, len(readings) < 2 or decimal is not None)


def behind_of(texts: Sequence[str]) -> Style:
    """What stands behind the numbers of these texts, as a style: one unit, letters for sizes, or nothing."""
    found = [
        match
        for text in texts
        if (match := UNITS.fullmatch(text.strip())) and WRITTEN_NUMBER.fullmatch(match[1].strip())
    ]
    letters = {match[2] for match in found}
    if not found or WRITTEN_NUMBER.fullmatch(found[0].string.strip()):  # a currency is no unit
        return Style()
    if letters <= {*SIZES} and letters != {"B"} and len(found) >= SIZED * len(texts):
        return Style(sizes=True)
    unit, count = Counter(match[2].lower() for match in found).most_common(1)[0]
    return Style(unit=unit) if count >= SAME_UNIT * len(texts) else Style()


def _value(core: str, style: Style) -> float | None:
    found = read(core, style.pattern) if style.digits.fullmatch(core) else None
    return None if found is None else found.value


def _candidates(decimal: str | None, thousands: str | None) -> list[Style]:
    """The styles to try, the likelier ones first."""
    every = [Style(".", ""), Style(".", ","), Style(",", "."), Style(".", "'"), Style(".", " ")]
    every += [Style(",", ""), Style(",", " "), Style(",", "'")]
    if decimal is not None:
        every = [style for style in every if style.decimal == decimal]
    if thousands is not None:
        decimals = [decimal] if decimal is not None else [mark for mark in DECIMALS if mark != thousands]
        every = [Style(mark, thousands) for mark in decimals]
    return every


def check_marks(decimal: str | None, thousands: str | None) -> None:
    """Refuse marks that no number has."""
    if decimal is not None and decimal not in DECIMALS:
        raise ValueError(f"decimal={decimal!r} is no decimal mark. Expected '.' or ','.")
    if thousands is not None and (thousands not in ("", *THOUSANDS) or thousands == (decimal or None)):
        raise ValueError(
            f"thousands={thousands!r} is no mark for thousands. Expected one of ',', '.', ' ', \"'\" and '' (none), "
            "and not the decimal mark."
        )


def in_words(pattern: str) -> str:
    """A pattern for people."""
    if not pattern:
        return ""
    style = Style.of(pattern)
    shown = f"written like {style._replace(bounds=False).pattern}"
    return shown + (", some are bounds such as <0.5" if style.bounds else "")


def has_bounds(patterns: Iterable[str]) -> bool:
    """Whether any of these patterns is of a column with bounds."""
    return any(pattern.startswith(BOUNDS) for pattern in patterns)


def has_unit(pattern: str) -> bool:
    """Whether the numbers of this pattern have a unit, or a letter for their size, behind them."""
    style = Style.of(pattern)
    return bool(style.unit) or style.sizes
