"""The input of a record learner, checked: one record, rows of a table, rows of features."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from aggro.encoding.cells import Ready
from aggro.encoding.encoder import Encoder
from aggro.streams.tables.roles import Column
from aggro.streams.tables.task import MOST_CLASSES, REGRESSION, task_of_labels


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
    """Check one record: a dict whose keys are text, or a single text."""
    if isinstance(x, str):
        return {"": x}
    if not isinstance(x, Mapping):
        raise TypeError(
            f"One record must be a dict or a text, got {type(x).__name__}. Pass many records to partial_fit or predict."
        )
    # The common case by one look at the types: a subclass of str is looked at one by one.
    if {*map(type, x)} != {str}:
        for name in x:
            if not isinstance(name, str):
                raise TypeError(f"The field names of a record must be strings, got {name!r}.")
    return x


def check_width(learner: Any, encoder: Encoder, X: Any) -> None:
    """Refuse an array of another width than those before it: its columns have no names to know them by."""
    known = [*encoder.columns]
    shape: Any = getattr(X, "shape", ())
    # A table with names may have columns in any number and order.
    if hasattr(X, "columns") or len(shape) != 2 or shape[1] == len(known):
        return
    # Columns that were numbered come from an array, whose width must stay.
    if known and known == [f"x{j}" for j in range(len(known))]:
        name = type(learner).__name__
        raise ValueError(f"X has {shape[1]} features, but {name} is expecting {len(known)} features as input.")


def of_fractions(y: Any) -> bool:
    """Whether any of the labels is a number with a fraction, which no class is."""
    if isinstance(y, float | np.floating):
        return bool(np.isfinite(y)) and not float(y).is_integer()
    kind = getattr(getattr(y, "dtype", None), "kind", None)
    # Kinds that cannot hold fractions need no look at their values.
    if isinstance(y, str | int | None) or (kind is not None and kind not in "fO"):
        return False
    try:
        labels = np.asarray(y)
        labels = labels.astype(np.float64) if labels.dtype.kind in "fO" and labels.ndim == 1 else np.zeros(0)
    except (TypeError, ValueError):  # words among them
        return False
    return bool((np.isfinite(labels) & (labels != np.trunc(labels))).any())


def warn_of_numbers(y: Any) -> None:
    """Warn if labels for a classifier are many different numbers, as prices and counts are."""
    kind = getattr(getattr(y, "dtype", None), "kind", None)
    # Only arrays of numbers are looked at: text is meant as classes.
    labels = np.asarray(y) if kind in ("i", "u", "f") else np.zeros(0)
    n = np.unique(labels).size
    if n > MOST_CLASSES and task_of_labels(labels.tolist()).name == REGRESSION:
        warnings.warn(
            f"y has {n:,} different numbers in {labels.size:,} rows, and each becomes a class. To predict numbers, put "
            "a regressor inside: RecordLearner(PARegressor()).",
            UserWarning,
            stacklevel=4,
        )


def names_of(given: Any) -> tuple[str, ...]:
    """Convert a name, or several, to a tuple."""
    return (given,) if isinstance(given, str) else tuple(given or ())


def described(columns: Mapping[str, Column]) -> str:
    """Describe columns and their roles in one line, for error messages."""
    if not columns:
        return "they are empty"
    return ", ".join(f"{name!r} is {column.role.value} ({column.why})" for name, column in [*columns.items()][:8])


def some_rows(columns: Any, rows: np.ndarray) -> Any:
    """Select rows of a table."""
    if isinstance(columns, Ready):
        return columns.some(rows)
    return {name: taken(column, rows) for name, column in columns.items()}


def taken(column: Any, rows: np.ndarray) -> Any:
    """Select rows of a column."""
    if hasattr(column, "to_pylist"):
        return column.take(rows)
    return column[rows] if isinstance(column, np.ndarray) else [column[i] for i in rows.tolist()]
