"""Batches of JSON as tables, which pyarrow parses several times faster than Python parses one message after the other.

A batch must never show in the model. So a table is only made where it is sure to hold what Python would have read:
every column is known and has its role for good, and each cell has the type that its role expects. Anything else, such
as a malformed message, a new field or a number among texts, gives None. Then the batch is read message by message.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from aggro.learners.base.inside import task_of
from aggro.streams.tables.roles import Role


class Batch(NamedTuple):
    """The labelled records of a batch."""

    table: Any  # of pyarrow
    labels: list[Any]
    unlabelled: int  # records that were left out


@cache
def arrow() -> tuple[Any, Any] | None:
    """pyarrow and its reader of JSON; None if it is not installed."""
    try:
        import pyarrow
        import pyarrow.json
    except ImportError:
        return None
    return pyarrow, pyarrow.json


def table_of(bodies: Sequence[Any], learner: Any, label: str) -> Batch | None:
    """The records of these messages as one table; None if they must be read one by one."""
    # A cheap look first: leading spaces or Redis fields would need Python's reader anyway.
    if not all(body.__class__ is bytes and body[:1] == b"{" and body[-1:] == b"}" for body in bodies):
        return None
    types = types_of(bodies[0], learner, label)
    if types is None:
        return None
    data = b"\n".join(bodies)
    if data.count(b"\n") != len(bodies) - 1:  # a message of two lines could be two records
        return None
    table = parsed(data, types)
    # A message may hold two objects on one line, which Arrow would read as two rows.
    if table is None or table.num_rows != len(bodies):
        return None
    if not all(is_plain(column) for column in table.columns):
        return None
    # The label is read with the columns, in one pass, and taken out here.
    labels = table.column(label).to_pylist()
    table = table.drop_columns([label])
    # A record without fields is malformed: it goes to the dead letters alone, so the batch is read one by one.
    if has_empty_rows(table):
        return None
    unlabelled = labels.count(None)
    # Unlabelled records are counted and not learned, as one by one.
    if unlabelled:
        there = [one is not None for one in labels]
        table, labels = table.filter(there), [one for one in labels if one is not None]
    return Batch(table, labels, unlabelled)


def types_of(first: bytes, learner: Any, label: str) -> dict[str, Any] | None:
    """The type that each field must have, as ``first`` has it, which is one of the messages; None if there is none."""
    found, encoder = arrow(), getattr(learner, "encoder_", None)
    # A label that is also a column, or roles that are not final, leave the types open.
    if found is None or encoder is None or encoder.sample or not encoder.columns or label in encoder.columns:
        return None
    number, whole, text, flag = (getattr(found[0], name)() for name in ("float64", "int64", "string", "bool_"))
    try:
        # One message shows how the producer writes each field; Arrow then refuses all that differ.
        like = json.loads(first)
    except (ValueError, RecursionError):
        return None
    types: dict[str, Any] = {}
    for name, column in encoder.columns.items():
        kind = type(like.get(name))
        # A number may be written as true or as "3": the schema must follow, or Arrow refuses the cell.
        if column.role is Role.NUMBER:
            types[name] = {bool: flag, str: text}.get(kind, number)
        else:
            # Whole numbers in a column of words stay whole: as floats they would be spelled with ".0".
            types[name] = whole if kind is int else text
    if task_of(learner) == "regression":
        return {**types, label: number}
    kinds = {type(one) for one in learner.classes_.tolist()}
    # Mixed classes, or true and false, would be changed by one type for the whole column.
    if kinds not in ({str}, {int}):
        return None
    return {**types, label: text if kinds == {str} else whole}


def parsed(data: bytes, types: dict[str, Any]) -> Any:
    """Lines of JSON as a table with these columns; None if they do not suit them, or are not what Python accepts."""
    found = arrow()
    assert found is not None
    arrow_itself, reader = found
    how = reader.ParseOptions(
        # An unexpected field is an error, since it could become a new column.
        explicit_schema=arrow_itself.schema(list(types.items())),
        newlines_in_values=False,
        unexpected_field_behavior="error",
    )
    try:
        if not data.isascii():
            data.decode()  # Arrow would take any bytes
        whole = reader.ReadOptions(use_threads=False, block_size=len(data) + 1)
        return reader.read_json(io.BytesIO(data), read_options=whole, parse_options=how)
    except (arrow_itself.ArrowInvalid, UnicodeDecodeError):
        return None


def is_plain(column: Any) -> bool:
    """Whether numbers are as Python reads them: Arrow takes NaN and Infinity too, and reads -0, which is 0, as -0.0."""
    if not column.type.equals(arrow()[0].float64()):  # type: ignore[index]
        return True
    values = column.drop_null().to_numpy()
    return bool(np.isfinite(values).all()) and not np.signbit(values[values == 0.0]).any()


def has_empty_rows(table: Any) -> bool:
    """Whether a row has no cell, as a record without fields would have none."""
    nulls = [column.is_null().to_numpy() for column in table.columns if column.null_count]
    return len(nulls) == table.num_columns and bool(np.logical_and.reduce(nulls).any())
