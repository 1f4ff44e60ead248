"""Raw tables: columns as they come, with the role of each, for whoever encodes them.

What a column is for is settled once, by the rule of ``roles``, from a sample: the first 1,000 rows; and where all
files can be read twice and have at most 16 MB of text together, up to 1,000 more, spread evenly over them. It does
not depend on chunks or threads. With ``columns=``, as a model knows them, nothing is guessed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from aggro.streams.io.lines import BOM
from aggro.streams.tables.encode import labels_of, weights_of
from aggro.streams.tables.roles import (
    CELLS_LOOKED_AT,
    MISSING_MARKS,
    USED_ROLES,
    Column,
    Role,
    Said,
    as_number,
    names_in,
    present_in,
    settle,
)
from aggro.streams.tables.task import CLASSIFICATION, task_of_labels
from aggro.streams.tables.text_tables import first_rows
from aggro.streams.tables.written_numbers import has_unit

if TYPE_CHECKING:
    from aggro.streams.reader import Stream

CHECKED_THROUGH = 2**24  # bytes of text that are looked through for a guess
NOT_KNOWN = "not known to the model"

Columns = Mapping[str, Column]


def said_of(options: Mapping[str, Any]) -> Said:
    """What the options of a stream say about its columns."""
    several: dict[str, Any] = {
        role: names_in(options[role]) for role in ("number", "category", "text", "date", "ignore", "na")
    }
    marks = {name: options[name] for name in ("decimal", "thousands", "dayfirst")}
    return Said(**several, **marks, label=options["label"], weight=options["weight"])


def settled_columns(
    stream: Stream, names: Sequence[str], sample: Mapping[str, Any], nameless: bool = False, inner: Collection[str] = ()
) -> dict[str, Column]:
    """The columns of a stream's table, from a sample of its rows or as they are known.

    ``nameless`` says that the names are not the table's own; ``inner`` are columns that were nested values, or the
    index of a frame.
    """
    options, title = stream.options, stream.sources[0].title
    known: Columns | None = options["columns"]
    # No model: the roles are guessed, or as you said.
    if known is None:
        said, labels = said_of(options), options["labels"]
        found = settle(sample, said, labels=labels, title=title, nameless=nameless, inner=inner)
        label_column = of_role(found, Role.LABEL)
        if label_column is not None:
            cells = present_in(sample[label_column], said.na)
            column = found[label_column]
            # The task is settled with the label, from the same sample.
            stream.settled.task = task_of_labels(cells, column.pattern)
            if stream.settled.task.name == CLASSIFICATION and labels != "numbers" and has_unit(column.pattern):
                found[label_column] = column._replace(pattern="")  # «5 stars» stays the name of a class
        return found
    # A model's columns count; only label and weight can be chosen anew.
    label, weight = options["label"], options["weight"]
    Said(label=label, weight=weight).check(names, title)
    # Columns that the model does not know are read by nobody.
    columns = {name: known.get(name) or Column(name, Role.IGNORE, NOT_KNOWN) for name in names}
    for chosen, role in ((label, Role.LABEL), (weight, Role.WEIGHT)):
        # The old label or weight gives way to the new one, or to none.
        if isinstance(chosen, str) or chosen is False:
            columns = {name: _unless(column, role) for name, column in columns.items()}
        if isinstance(chosen, str):
            # The pattern of the model's column stays: its numbers are written in the same style.
            pattern = known[chosen].pattern if chosen in known else ""
            columns[chosen] = Column(chosen, role, "set by you", True, pattern)
    return columns


def _unless(column: Column, role: Role) -> Column:
    return Column(column.name, Role.IGNORE, f"not the {role} this time") if column.role is role else column


def of_role(columns: Columns, role: Role) -> str | None:
    """The column of a role that one column has."""
    return next((column.name for column in columns.values() if column.role is role), None)


def wanted(columns: Columns) -> list[str]:
    """The columns that must be read."""
    return [column.name for column in columns.values() if column.role in (*USED_ROLES, Role.LABEL, Role.WEIGHT)]


def split(
    table: Any, columns: Columns, na: tuple[str, ...] = ()
) -> tuple[Any, np.ndarray | None, np.ndarray | None, None]:
    """(the columns that features are made of, labels, weights, no names) of a pyarrow table or record batch.

    Labels that are words come without blanks around them, and None for a word that means «not there».
    """
    import pyarrow as pa

    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    label, weight = of_role(columns, Role.LABEL), of_role(columns, Role.WEIGHT)
    there = table.column_names
    # The order of the table, so that features come in the order of the columns.
    used = [name for name in there if name in columns and columns[name].role in USED_ROLES]
    y = labels_of(_words_or_none(table.column(label), na)) if label in there else None
    # Labels in a style of their own arrive as words, and are read by the column's pattern.
    if y is not None and label is not None and (pattern := columns[label].pattern) and y.dtype.kind in "UO":
        y = _numbers_of_labels(y, pattern)
    weights = None
    if weight in there:
        found = table.column(weight)
        # Weights too may be written in a style, such as «1,5».
        if pattern := columns[str(weight)].pattern:
            found = pa.chunked_array([[as_number(cell, pattern) for cell in found.to_pylist()]], pa.float64())
        weights = weights_of(found, str(weight))
    return table.select(used), y, weights, None


def _words_or_none(column: Any, na: tuple[str, ...]) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        # Only words can have blanks around them or mean «not there».
        return column
    coded = pc.dictionary_encode(column.combine_chunks())  # labels come again and again: each is looked at once
    words = pc.utf8_trim_whitespace(coded.dictionary)
    gone = pc.is_in(words, pa.array([*MISSING_MARKS, *na], words.type))
    return pa.DictionaryArray.from_arrays(coded.indices, pc.if_else(gone, pa.scalar(None, words.type), words))


def _numbers_of_labels(y: np.ndarray, pattern: str) -> np.ndarray:
    """Labels that are numbers in a column's own style; as they are if one is none."""
    numbers = [np.nan if label is None else as_number(label, pattern) for label in y.tolist()]
    # All or none: a mix of numbers and words stays words, which are classes.
    return y if any(number is None for number in numbers) else np.array(numbers, np.float64)


def looked_at(n: int, all_of_it: bool) -> np.ndarray:
    """Which of the first n rows a guess is made from; where they are all, some of them are spread over the rest."""
    first = np.arange(min(n, CELLS_LOOKED_AT))
    if not all_of_it or n <= CELLS_LOOKED_AT:
        return first
    # The rows beyond the first ones are spread evenly, because files are often sorted.
    return np.concatenate([first, np.unique(np.linspace(CELLS_LOOKED_AT, n - 1, CELLS_LOOKED_AT).astype(np.int64))])


def sample_texts(stream: Stream, end_of: Callable[[bytes], int], longest: int) -> tuple[list[tuple[int, bytes]], bool]:
    """Texts to guess from, each with the number of its file; and whether they are all there is.

    ``end_of(text)`` is where the last whole row of a text ends, 0 if it has none.
    """
    texts, left = [], CHECKED_THROUGH
    # Texts together up to a bound, and only from files that can be read a second time.
    again = all(source.can_be_read_again() for source in stream.sources)
    small = again and sum(os.path.getsize(name) for name in stream.files) <= CHECKED_THROUGH  # packed or not
    for number, source in enumerate(stream.sources if small else ()):
        # One byte more than is left shows whether the file goes on; packed files can unpack to any size.
        text = source.sample(left + 1)
        left -= len(text)
        if left < 0:
            break
        if text.strip():
            texts.append((number, text.removeprefix(BOM)))
    # All rows are there, so some can be taken from the end.
    if small and left >= 0:
        return texts, True
    source = stream.sources[0]
    text = first_rows(source, end_of, longest)
    # Long rows: a megabyte has too few of them for a guess.
    if again and text.count(b"\n") < CELLS_LOOKED_AT:
        text = first_rows(source, end_of, longest, CHECKED_THROUGH)
    return [(0, text)], False


def cells_of(column: Any, as_written: bool = False) -> Any:
    """The cells of a pyarrow column as the rule takes them: an array of floats where all are numbers, else a list.

    Text that reads as numbers is left ``as_written`` where its marks may mean something else.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy(), np.float64)
    # Digits with leading zeros are codes, and as floats they would lose the zeros.
    as_written = as_written or (pa.types.is_string(kind) and _begins_with_zero(column))
    if pa.types.is_string(kind) and not as_written and (numbers := as_floats(column)) is not None:
        found = np.asarray(numbers.to_numpy())
        if not np.isinf(found).any():  # infinity is no number to the rule
            return found
    # Python's datetime holds microseconds at most.
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        column = pc.cast(column, pa.timestamp("us", kind.tz), safe=False)
    return column.to_pylist()


def _begins_with_zero(column: Any) -> bool:
    """Whether a cell has a zero before other digits, as codes do."""
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring_regex(column, r"^\s*0[0-9]{4}")).as_py())


def as_floats(column: Any) -> Any:
    """A column of strings as floats; None if one of them is no number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        # Blanks around a number are no part of it; pyarrow's cast does not ignore them.
        return pc.cast(pc.utf8_trim_whitespace(column), pa.float64())
    except pa.ArrowInvalid:
        return None
