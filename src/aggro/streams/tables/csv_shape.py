"""Where a CSV file begins and what separates its fields, guessed from its first lines.

The delimiter is the one of comma, tab, semicolon and bar that gives most lines the same number of fields, two or more.
Of several that do so for nearly all of at least five lines, a comma comes last: it may stand in decimals. Among fewer
lines, and where none does better, the first line has most of it.

Title lines are what stands above the header and is no row: at most twenty lines that have one field with something in
it, or at most a third of the fields of the table, while the lines below have all of them.
"""

from __future__ import annotations

import csv
from collections import Counter
from contextlib import suppress
from itertools import islice

DELIMITERS = (",", "\t", ";", "|")
LINES_LOOKED_AT = 50  # lines
MOST_TITLES = 20
CONSISTENT = 0.9  # of the lines
ENOUGH_LINES = 5
ENOUGH_BELOW = 3  # rows below title lines, to call them so
TITLE_FIELDS = 1 / 3  # of the fields of the table, at most, in a title line


def guess_delimiter(lines: list[str]) -> str:
    """What separates the fields of these lines."""
    # Blank lines have no fields, and would count against every delimiter.
    filled = [line for line in lines if line.strip()][:LINES_LOOKED_AT]
    first = filled[0] if filled else ""
    # The delimiter by the first line alone; of equals, the earlier one in DELIMITERS.
    usual = max(DELIMITERS, key=lambda letter: (first.count(letter), -DELIMITERS.index(letter)))
    shares = {letter: consistency(filled, letter) for letter in DELIMITERS}
    good = [letter for letter, share in shares.items() if share >= CONSISTENT]
    # Few lines agree by chance, so they cannot overrule the first line.
    if len(filled) >= ENOUGH_LINES and good:
        # A comma may stand in decimals or in text, so any other delimiter that fits comes before it.
        others = [letter for letter in good if letter != ","]
        best = max(others or good, key=lambda letter: (shares[letter], first.count(letter)))
        return usual if usual in others else best
    return usual


def consistency(lines: list[str], delimiter: str) -> float:
    """The share of lines that have the commonest number of fields, if that is two or more; titles do not count."""
    widths = [len(row) for row in rows_of(lines, delimiter)]
    if not widths:
        return 0.0
    # Title lines have one field; the table starts at the first line with more.
    begins = next((k for k, width in enumerate(widths[:MOST_TITLES]) if width > 1), 0)
    width, count = Counter(widths[begins:]).most_common(1)[0]
    return count / len(widths[begins:]) if width > 1 else 0.0


def guess_titles(lines: list[str], delimiter: str) -> int:
    """How many lines stand above the header, or above the first row; empty ones among them count."""
    looked = lines[: LINES_LOOKED_AT + MOST_TITLES]
    # Each line by itself: an odd quote in a title must not swallow the lines below.
    split = [next(iter(rows_of([line], delimiter)), []) for line in looked]
    filled = [[field.strip() for field in row] for row in split]
    widths = Counter(len(row) for row in filled if any(row))
    if not widths:
        return 0
    width, rows = widths.most_common(1)[0]
    if width < 2 or rows < ENOUGH_BELOW:
        return 0
    titles = 0
    for k, row in enumerate(filled[:MOST_TITLES]):
        # A blank line among titles counts with them, and does not end them.
        there = [field for field in row if field]
        if not there:
            continue
        # Few fields: a row with gaps mostly has its value elsewhere, or all its delimiters.
        few = (len(there) == 1 and bool(row[0]) and width > 2) or (
            len(there) <= TITLE_FIELDS * width and len(row) < width
        )
        # «sep=;» is a line for Excel, and stands above the header like a title.
        alone = len(row) == 1 or there[0].lower().startswith("sep=")
        if not (alone or few):
            break
        titles = k + 1
    # No break: all lines look like titles, so none of them is one.
    else:
        return 0
    return titles if titles and len(filled) > titles else 0


def rows_of(lines: list[str], delimiter: str) -> list[list[str]]:
    """The fields of lines; what is no CSV ends them."""
    reader = csv.reader(lines, delimiter=delimiter) if delimiter != "\t" else csv.reader(lines, "excel-tab")
    rows: list[list[str]] = []
    with suppress(csv.Error):
        rows += list(islice(reader, LINES_LOOKED_AT + MOST_TITLES))
    return rows


def looks_like_a_table(head: bytes) -> bool:
    """Whether several lines have the same number of fields: what tells a table from lines of text."""
    lines = head.decode("utf-8", "replace").splitlines()
    # The last line may be cut off by the end of the head.
    lines = [line for line in (lines[:-1] if len(lines) > 1 else lines) if line.strip()]
    return len(lines) > 1 and any(consistency(lines[:LINES_LOOKED_AT], one) >= CONSISTENT for one in DELIMITERS)


def unique_names(names: list[str]) -> tuple[list[str], list[str]]:
    """The names, those that came before with a number behind them; and these."""
    taken, found, changed = {*names}, [], []
    seen: set[str] = set()
    for name in names:
        new, k = name, 0
        # A new name must not be one that another column has by itself.
        while new in seen or (k and new in taken):
            k += 1
            new = f"{name}.{k}"
        if new != name:
            changed.append(new)
        seen.add(new)
        found.append(new)
    return found, changed
