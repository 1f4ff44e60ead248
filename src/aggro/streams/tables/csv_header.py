"""Has a CSV file a header? Guessed from its first rows, by the rule that ``csv_tables`` states."""

from __future__ import annotations

from collections.abc import Sequence

from aggro.streams.tables.roles import is_missing
from aggro.streams.tables.written_numbers import WRITTEN_NUMBER

LOOKED_BELOW = 200  # rows
LONGEST_HEADER = 64  # letters
SENTENCE = 5  # words
RUNNING_TEXT = 3.0  # words in a cell, on average
FEW_HEADER_ROWS = 20  # rows; among so few, a value that comes a second time is a repeated one

Rows = Sequence[Sequence[str]]


def has_header(top: Sequence[str], rows: Rows) -> bool:
    """Is the first line a header? ``rows`` are those below, as many fields in each."""
    # Blanks around a name do not make it another one.
    top = [field.strip() for field in top]
    # Names are not all numbers: such a line is a row.
    if all(is_missing(field) or WRITTEN_NUMBER.fullmatch(field) for field in top):
        return False
    # A header that is repeated below, as in joined files, says nothing about it.
    others = [row for row in rows if [field.strip() for field in row] != top]
    if rows and not others:
        return False  # the same row again and again
    below = [[row[k].strip() for row in others] for k in range(len(top))]
    # A word above a column of numbers is the surest sign.
    if any(_names_numbers(field, cells) for field, cells in zip(top, below, strict=True)):
        return True
    # Names rarely come twice; values do.
    named = [field for field in top if field]
    if len(set(named)) < len(named):
        return False
    # Years that count up are names, although they are numbers.
    count = _count([int(field) for field in top if field.isdecimal()])
    return not any(
        _is_a_cell(field, cells) for field, cells in zip(top, below, strict=True) if not (count and field.isdecimal())
    )


def _count(numbers: list[int]) -> bool:
    """Whole numbers that count up, as years and the columns' own numbers do, are names."""
    return len(numbers) > 1 and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _names_numbers(field: str, cells: Sequence[str]) -> bool:
    """A word above numbers."""
    present = [cell for cell in cells if not is_missing(cell)]
    if is_missing(field) or WRITTEN_NUMBER.fullmatch(field):
        return False
    return bool(present) and all(WRITTEN_NUMBER.fullmatch(cell) for cell in present)


def _is_a_cell(field: str, cells: Sequence[str]) -> bool:
    """A value like those below, and no name of theirs."""
    if not field or is_missing(field):
        return False
    if WRITTEN_NUMBER.fullmatch(field) and not field.isdecimal():
        return True  # 1990 may be a name, 5.1 hardly
    # In few rows a single repeat counts; in many, it may be chance.
    if cells.count(field) >= (1 if len(cells) < FEW_HEADER_ROWS else 2):
        return True
    if len(field) > LONGEST_HEADER or len(field.split()) >= SENTENCE:
        # A long question above short answers is a name all the same.
        return not cells or sum(len(cell.split()) for cell in cells) >= RUNNING_TEXT * len(cells)
    return False
