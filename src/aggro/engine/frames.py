"""Data frames of any library: the names of their columns, and whether Arrow's memory holds what it says.

Arrow finds a text by two offsets, and a category by an index. A file or a message may hold any numbers there, and
pyarrow reads it without a look at them, so they are checked here before anything follows them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np


def column_names(X: Any) -> list[str] | None:
    """The column names of a frame of any library; None for anything else, or for names that are not text."""
    names = _names(X)
    # No names, or none that are text: the columns are known by their places.
    if not names or not any(isinstance(name, str) for name in names):
        return None
    if not all(isinstance(name, str) for name in names):
        kinds = sorted({type(name).__qualname__ for name in names})
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your input has "
            f"{kinds} as feature name / column name types. If you want feature names to be stored and validated, you "
            "must convert them all to strings, by using X.columns = X.columns.astype(str) for example."
        )
    check_distinct(names, "X")
    return names


def _names(X: Any) -> list[Any] | None:
    if isinstance(X, np.ndarray | list | tuple):
        return None
    if is_arrow_table(X):
        return list(X.column_names)
    if hasattr(X, "columns") and (hasattr(X, "to_numpy") or hasattr(X, "__array__")):
        return list(X.columns)
    return None


def check_distinct(names: Sequence[Any], what: str) -> None:
    """Refuse two columns of one name: nobody could say which of them a feature is."""
    if len(set(names)) < len(names):
        seen: set[Any] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"{what} has two columns named {twice!r}. Give each column a name of its own.")


def is_arrow_table(X: Any) -> bool:
    """Whether this is a Table or a RecordBatch of pyarrow."""
    return _is_of(X, "pyarrow", "Table", "RecordBatch")


def validated(X: Any) -> Any:
    """Check the Arrow memory of a table, frame or column, and return it unchanged; ``ValueError`` if it is damaged."""
    if isinstance(X, np.ndarray | list):
        return X
    for name, part in _arrow_parts(X):
        try:
            # The full check follows every offset and index; the short one looks at lengths alone.
            part.validate(full=True)
        except ValueError as error:  # pyarrow's own are of this kind
            where = "The Arrow data" if name is None else f"Column {name!r}"
            raise ValueError(f"{where} cannot be read, its memory is damaged: {error}") from error
    return X


def _arrow_parts(X: Any) -> Iterator[tuple[Any, Any]]:
    """What of a table, a frame or a column is in Arrow's memory, and the name of its column."""
    if is_arrow_table(X):
        yield from zip(X.column_names, X.columns, strict=True)
    elif _is_of(X, "pyarrow", "Array", "ChunkedArray"):
        yield None, X
    elif _is_of(X, "pandas", "DataFrame"):
        for j, dtype in enumerate(X.dtypes):
            # Columns of NumPy types have no memory of Arrow.
            if not isinstance(dtype, np.dtype):
                for part in _arrow_of_array(X.iloc[:, j].array):
                    yield X.columns[j], part
    elif _is_of(X, "pandas", "Series", "Index"):
        for part in _arrow_of_array(X.array):
            yield None, part


def _arrow_of_array(array: Any) -> Iterator[Any]:
    """What an array of pandas has in Arrow's memory: its values, or its categories."""
    categories = getattr(array.dtype, "categories", None)
    # Of a categorical column the categories may be in Arrow's memory; the codes are NumPy's.
    if categories is not None:
        yield from _arrow_of_array(categories.array)
    elif hasattr(array.dtype, "pyarrow_dtype") or getattr(array.dtype, "storage", "") == "pyarrow":
        yield array.__arrow_array__()


def _is_of(X: Any, library: str, *kinds: str) -> bool:
    """Whether this is of one of these kinds of a library, which is not imported for the question."""
    # A library that was never imported cannot have made this object.
    module = sys.modules.get(library)
    return isinstance(X, tuple(getattr(module, kind) for kind in kinds if hasattr(module, kind)))
