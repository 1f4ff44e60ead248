"""Nested values as flat columns: the one place where records, JSON Lines, frames and Parquet files are flattened.

=========================================  =========================================================================
value                                      what becomes of it
=========================================  =========================================================================
{"user": {"country": "de"}}                the column «user.country»
{"tags": ["new", "red"]}                   the column «tags», a bag: text in which each item is one word
{"embedding": [0.1, 0.2]}                  the columns «embedding.0» and «embedding.1», if all lists have one length
{"ids": [12, 7]}, {"ids": [5]}             a bag, as the lengths differ
{"items": [{"sku": "a"}, {"sku": "b"}]}    «items.sku», as of the list ["a", "b"]
=========================================  =========================================================================

A field that was a bag, or columns, stays so: ``known`` says what there is. Anything else, such as a list of lists of
words, is left as it is, and then no column that can be learned from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

BAG = "\x1f"  # begins the text of a bag; no part of a word, and not to be seen
GLUE = "ˍ"  # between the words of an item, of which one word is made: a modifier letter
LONG_ITEM = 3  # words; longer items are text, word by word
DEEPEST_NESTING = 64  # levels
MOST_PLACES = 4096  # numbers in a list that becomes columns

LISTS = (list, tuple, set, frozenset, np.ndarray)
NESTED_TYPES = frozenset({dict, *LISTS})
PLAIN_TYPES = frozenset({str, int, float, bool, type(None)})
TEXT_TYPES = frozenset({str, type(None)})
NUMERIC_TYPES = frozenset({int, float})


def is_nested(cell: Any) -> bool:
    """Is this a dict, a list or an array?"""
    return type(cell) in NESTED_TYPES or isinstance(cell, Mapping | list | tuple)


def flat_record(record: Mapping[str, Any], known: Mapping[str, Any]) -> Mapping[str, Any]:
    """One record, flattened; ``known`` are the columns that there are, by name, with their roles.

    The result is that of :func:`flat` for a table of this one row, without its lists of one cell.
    """
    # Most records are flat; they are returned as they are, without a copy.
    if PLAIN_TYPES.issuperset(map(type, record.values())) or not any(map(is_nested, record.values())):
        return record
    found: dict[str, Any] = {}
    for name, cell in record.items():
        # The exact types first: asking a cell whether it is a mapping takes far longer.
        if type(cell) in PLAIN_TYPES or not is_nested(cell):
            found[name] = cell
            continue
        inside: dict[str, Any] = {}
        _flatten_cell(inside, name, cell, known, 0)
        for child, value in inside.items():
            if child == name or child not in record:  # a field that is called «user.country» counts
                found[child] = value
    return found


def _flatten_cell(found: dict[str, Any], name: str, cell: Any, known: Mapping[str, Any], depth: int) -> None:
    """Put what is in one cell into ``found``, under flat names."""
    cell = _plain(cell)
    if depth > DEEPEST_NESTING or not is_nested(cell):
        found[name] = cell
    elif isinstance(cell, Mapping):
        for key, value in cell.items():
            # Most fields of records are plain, and need no further call.
            if type(value) in PLAIN_TYPES:
                found[f"{name}.{key}"] = value
            else:
                _flatten_cell(found, f"{name}.{key}", value, known, depth + 1)
    else:
        _flatten_list(found, name, cell, known, depth)


def _flatten_list(found: dict[str, Any], name: str, cell: list[Any], known: Mapping[str, Any], depth: int) -> None:
    """Put a list into ``found``: as columns, as a bag, or as the fields of the records in it."""
    # The types of all items decide, in one pass; the common shapes come first.
    kinds = {*map(type, cell)}
    if kinds <= TEXT_TYPES:
        found[name] = bag(cell)
    elif kinds <= NUMERIC_TYPES and _is_vector(name, [cell], known):
        # Bounded, since each place becomes a column.
        for place in range(min(len(cell), MOST_PLACES)):
            found[f"{name}.{place}"] = cell[place]
    elif any(isinstance(item, Mapping) for item in cell):
        # Keys in the order of their first appearance, so that columns have the same order on every run.
        for key in dict.fromkeys(key for item in cell if isinstance(item, Mapping) for key in item):
            inside = [item.get(key) for item in cell if isinstance(item, Mapping)]
            _flatten_cell(found, f"{name}.{key}", inside, known, depth + 1)
    else:  # kinds that are rare: numbers of NumPy, lists in lists
        found.update({child: cells[0] for child, cells in _lists(name, [cell], known, depth).items()})


def flat(columns: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of cells, flattened; those without nested cells are as they were."""
    found: dict[str, Any] = {}
    for name, column in columns.items():
        # A flat column is not touched, whatever it is.
        cells = _cells(column)
        if cells is None:
            found[name] = column
            continue
        for child, inside in _flatten(name, cells, known, 0).items():
            if child == name or child not in columns:  # a field that is called «user.country» counts
                found[child] = inside
    return found


def _cells(column: Any) -> list[Any] | None:
    """The cells of a column in which some are nested; None for other columns."""
    if hasattr(column, "to_pylist"):
        import pyarrow as pa

        return column.to_pylist() if pa.types.is_nested(column.type) else None
    if isinstance(column, np.ndarray) and column.dtype == object:
        column = column.tolist()
    if not isinstance(column, list):
        return None
    kinds = {*map(type, column)}
    if PLAIN_TYPES.issuperset(kinds):  # nearly all columns; asking each cell whether it is a mapping takes far longer
        return None
    return column if not NESTED_TYPES.isdisjoint(kinds) or any(map(is_nested, column)) else None


def _flatten(name: str, cells: list[Any], known: Mapping[str, Any], depth: int) -> dict[str, list[Any]]:
    """One column as flat ones."""
    cells = [_plain(cell) for cell in cells]
    if depth > DEEPEST_NESTING or not any(map(is_nested, cells)):
        return {name: cells}
    found: dict[str, list[Any]] = {}
    # A column may mix records with other cells: the records become columns, the rest keeps the name.
    keys = dict.fromkeys(key for cell in cells if isinstance(cell, Mapping) for key in cell)
    for key in keys:
        inside = [cell.get(key) if isinstance(cell, Mapping) else None for cell in cells]
        found |= _flatten(f"{name}.{key}", inside, known, depth + 1)
    rest = [None if isinstance(cell, Mapping) else cell for cell in cells]
    if any(isinstance(cell, list) for cell in rest):
        found |= _lists(name, rest, known, depth)
    elif any(cell is not None for cell in rest):
        found[name] = rest
    return found


def _plain(cell: Any) -> Any:
    """Arrays, tuples and sets as lists."""
    if isinstance(cell, np.ndarray):
        return cell.ravel().tolist() if cell.ndim else cell.item()
    if isinstance(cell, set | frozenset):
        # Sets have no order of their own, and strings hash differently in each run.
        return sorted(cell, key=str)
    return list(cell) if isinstance(cell, tuple) else cell


def _lists(name: str, cells: list[Any], known: Mapping[str, Any], depth: int) -> dict[str, list[Any]]:
    """A column of lists as flat ones; cells that are no lists count as a list of one."""
    # A single value among lists counts as a list of one, so that the column has one kind.
    lists = [cell if isinstance(cell, list) else [] if cell is None else [cell] for cell in cells]
    items = [_plain(item) for cell in lists for item in cell if item is not None]
    # Records in lists: each field becomes a list of its own, and is flattened in turn.
    if any(isinstance(item, Mapping) for item in items):
        keys = dict.fromkeys(key for item in items if isinstance(item, Mapping) for key in item)
        found: dict[str, list[Any]] = {}
        for key in keys:
            inside = [[item.get(key) for item in cell if isinstance(item, Mapping)] for cell in lists]
            found |= _flatten(f"{name}.{key}", inside, known, depth + 1)
        return found
    # Lists of lists have no rule, and are left as they are.
    if any(isinstance(item, list) for item in items):
        return {name: cells}
    # True and false are integers to Python, but no measurements here.
    if all(isinstance(item, int | float | np.number) and not isinstance(item, bool) for item in items) and items:
        if _is_vector(name, lists, known):
            places = range(min(max(map(len, lists)), MOST_PLACES))
            # A list that is shorter than the others has missing values at its end.
            return {f"{name}.{k}": [cell[k] if k < len(cell) else None for cell in lists] for k in places}
    return {name: [None if cell is None else bag(items) for cell, items in zip(cells, lists, strict=True)]}


def _is_vector(name: str, lists: Sequence[Sequence[Any]], known: Mapping[str, Any]) -> bool:
    """Whether lists of numbers become columns: if they did before, or are new and of one length."""
    # What is known decides: a bag does not turn into columns because one chunk has lists of one length.
    if f"{name}.0" in known or name in known:
        return f"{name}.0" in known
    lengths = {len(cell) for cell in lists if len(cell)}
    return len(lengths) == 1 and max(lengths) <= MOST_PLACES


def bag(items: Iterable[Any]) -> str:
    """The items of a list as text, each of them one word."""
    return BAG + " ".join(word(item) for item in items if item is not None)


def word(item: Any) -> str:
    """An item of a list as one word; a long text as its words."""
    if isinstance(item, str):
        return _word_of(item)
    return _word_of(str(int(item)) if isinstance(item, float) and item.is_integer() else str(item))


@lru_cache(4096)
def _word_of(text: str) -> str:
    if text.isalnum():
        return text
    words = "".join(letter if letter.isalnum() or ord(letter) > 127 else " " for letter in text).split()
    # Few words are joined to one, as «new york»; many are a text, and stay words.
    return " ".join(words) if len(words) > LONG_ITEM else GLUE.join(words)
