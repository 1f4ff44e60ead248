"""What a record learner is given and hands on: one record, rows of a table, rows of features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from aggro.encoding.cells import Ready
from aggro.streams.tables.roles import Column


class Rows(NamedTuple):
    """Rows of features for the learner inside, in the form of a stream's chunk."""

    X: Any
    y: Any = None
    weight: Any = None
    names: None = None

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])


def as_record(x: Any) -> Mapping[str, Any]:
    """One record: a dict with text for names, or a text."""
    if isinstance(x, str):
        return {"": x}
    if not isinstance(x, Mapping):
        raise TypeError(
            f"One record must be a dict of named values, or a text; got {type(x).__name__}. Many go to partial_fit and "
            "predict."
        )
    if {*map(type, x)} != {str}:
        for name in x:
            if not isinstance(name, str):
                raise TypeError(f"The fields of a record must have names that are text, got {name!r}.")
    return x


def names_of(given: Any) -> tuple[str, ...]:
    """A name or several as a tuple."""
    return (given,) if isinstance(given, str) else tuple(given or ())


def described(columns: Mapping[str, Column]) -> str:
    """Columns and their roles, in one line."""
    if not columns:
        return "they are empty"
    return ", ".join(f"{name!r} is {column.role.value} ({column.why})" for name, column in [*columns.items()][:8])


def some_rows(columns: Any, rows: np.ndarray) -> Any:
    """These rows of a table."""
    if isinstance(columns, Ready):
        return columns.some(rows)
    return {name: taken(column, rows) for name, column in columns.items()}


def taken(column: Any, rows: np.ndarray) -> Any:
    """These rows of a column."""
    if hasattr(column, "to_pylist"):
        return column.take(rows)
    return column[rows] if isinstance(column, np.ndarray) else [column[i] for i in rows.tolist()]
