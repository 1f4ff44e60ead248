"""A table of named columns of any type as a matrix of named numbers.

The rules, for one cell:

- a number is the feature «column» with that value; true and false are 1 and 0; dates and times are seconds
  since 1970;
- a category or a string v is the feature «column=v» with the value 1;
- a missing cell (null, or a number that is NaN) is the feature «column=missing» with the value 1, and
  «column» itself is absent, which is 0;
- a text column, if asked for, is a bag of words: «column~place» counts the words hashed to that place.

A chunk has the features that occur in it, in the order of the columns, and those of one column as they
appear. X is an array where all columns are numbers, else CSR.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from aggro.streams.memory import room
from aggro.streams.words import bag_of_words

__all__ = ["Roles", "encode"]

WORD_BITS = 18
LONG_LABEL = 64  # letters; an array of strings is as wide as the longest
LABEL_NAMES = ("label", "target", "y", "class")


class Roles(NamedTuple):
    """What the columns of a table are for; ``label`` None where there is none."""

    label: str | None
    weight: str | None
    text: tuple[str, ...]

    @classmethod
    def find(cls, columns: list[str], label: Any, weight: str | None, text: Any, title: str) -> Roles:
        """The roles as given, checked; the label by default the column of that name, or the last one."""
        texts = (text,) if isinstance(text, str) else tuple(text)
        if label is None or label is True:
            named = [name for wanted in LABEL_NAMES for name in columns if name.lower() == wanted]
            label = next(iter(named or (columns[-1:] if label is None else ())), None)
        for name in (*([label] if label else []), *([weight] if weight else []), *texts):
            if name not in columns:
                raise ValueError(
                    f"{title} has no column {name!r}. Its columns are {', '.join(map(repr, columns[:30]))}."
                )
        return cls(label or None, weight, texts)


NO_CODES = np.zeros(0, np.int32)


class Coded(NamedTuple):
    """A column with one feature a row: ``codes`` count from 0 among ``names``, ``values`` go with them.

    No codes are all 0.
    """

    codes: np.ndarray
    values: np.ndarray
    names: list[str]


def encode(table: Any, roles: Roles) -> tuple[Any, np.ndarray | None, np.ndarray | None, list[str]]:
    """(X, y, weight, names) of a pyarrow table or record batch."""
    label = weight = None
    numbers: dict[str, np.ndarray] = {}
    coded: dict[str, Coded] = {}
    texts = []
    for name in table.column_names:
        column = table.column(name)
        if name == roles.label:
            label = _labels(column)
        elif name == roles.weight:
            weight = _weights(column, name)
        elif name in roles.text:
            texts.append(_words(column, name))
        elif (values := _numbers(column, name)) is not None:
            numbers[name] = values
        else:
            coded[name] = _category_column(column, name)
    features = [name for name in table.column_names if name in numbers or name in coded]
    columns = [coded[name] if name in coded else Coded(NO_CODES, numbers[name], [name]) for name in features]
    matrix = _sparse if coded or texts else _dense
    X, total = matrix(columns, table.num_rows)
    # A sum is quicker than a mask, and NaN if any value is (or if infinities meet: then look closer).
    if np.isnan(total):
        columns = [_without_gaps(column) for column in columns]
        X, _ = matrix(columns, table.num_rows)
    names = [name for column in columns for name in column.names]
    for words, places in texts:
        from scipy.sparse import hstack

        X = hstack([X, words], format="csr")
        names += places
    return X, label, weight, names


def _numbers(column: Any, name: str) -> np.ndarray | None:
    """The column as floats, NaN where missing; None if it is not of numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if isinstance(column, pa.ChunkedArray) and column.num_chunks == 1:
        column = column.chunk(0)  # which need not be copied
    if kind == pa.float64():
        pass
    elif pa.types.is_temporal(kind) and not pa.types.is_time(kind) and not pa.types.is_duration(kind):
        column = pc.divide(pc.cast(pc.cast(column, pa.timestamp("us"), safe=False), pa.int64()).cast(pa.float64()), 1e6)
    elif pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    elif (
        pa.types.is_floating(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
    ):
        column = pc.cast(column, pa.float64(), safe=False)
    elif _is_text(kind):
        return None
    else:
        raise ValueError(f"Column {name!r} is of type {kind}. Expected numbers, true or false, dates or text; drop it.")
    return np.asarray(column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy())


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return any(
        is_kind(kind)
        for is_kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_integer)
    )


def _without_gaps(column: Coded) -> Coded:
    """A column of numbers, where any are missing with a second feature for that."""
    missing = np.isnan(column.values)
    if not missing.any():
        return column
    (name,) = column.names
    return Coded(missing.astype(np.int32), np.where(missing, 1.0, column.values), [name, f"{name}=missing"])


def _category_column(column: Any, name: str) -> Coded:
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    column = pc.dictionary_encode(column)
    names = [f"{name}={value}" for value in column.dictionary.to_pylist()]
    if not column.null_count:
        codes = column.indices.to_numpy().astype(np.int32, copy=False)
    else:
        codes = pc.fill_null(column.indices, len(names)).to_numpy().astype(np.int32)
        missing = f"{name}=missing"
        if missing in names:  # a category of that very name
            codes[codes == len(names)] = names.index(missing)
        else:
            names.append(missing)
    return Coded(codes, np.broadcast_to(1.0, codes.shape), names)


def _dense(columns: list[Coded], n: int) -> tuple[np.ndarray, float]:
    """The matrix and the sum of its values."""
    width = sum(len(column.names) for column in columns)
    X = room(n * width).reshape(n, width)
    j = 0
    for column in columns:
        if len(column.names) == 1:
            X[:, j] = column.values
        else:
            X[:, j : j + len(column.names)] = 0.0
            X[np.arange(n), j + column.codes] = column.values
        j += len(column.names)
    return X, X.sum()


def _sparse(columns: list[Coded], n: int) -> tuple[Any, float]:
    """The same; every cell has one feature, and those of a column stand together, so the indices ascend."""
    from scipy.sparse import csr_array

    k = len(columns)
    indices, data = room(n * k, np.int32).reshape(n, k), room(n * k).reshape(n, k)
    widths = np.cumsum([0, *(len(column.names) for column in columns)], dtype=np.int32)
    indices[:] = widths[:-1]
    for j, column in enumerate(columns):
        if len(column.codes):
            indices[:, j] += column.codes
        data[:, j] = column.values
    indptr = np.arange(n + 1, dtype=np.int32 if n * k < 2**31 else np.int64) * k
    return csr_array((data.ravel(), indices.ravel(), indptr), shape=(n, int(widths[-1]))), data.sum()


def _words(column: Any, name: str) -> tuple[Any, list[str]]:
    import pyarrow as pa
    import pyarrow.compute as pc
    from scipy.sparse import csr_array

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    column = pc.fill_null(pc.cast(column, pa.large_string()), "")
    _, offsets, letters = column.buffers()
    bounds = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    text = memoryview(letters)[bounds[0] : bounds[-1]] if letters is not None and len(column) else b""
    indptr, columns, places = bag_of_words(bytes(text), bounds - bounds[0], WORD_BITS)
    X = csr_array((np.ones(len(columns)), columns.view(np.int32), indptr), shape=(len(column), len(places)))
    X.sum_duplicates()
    return X, [f"{name}~{place}" for place in places.tolist()]


def _labels(column: Any) -> np.ndarray:
    """Numbers, or else strings; an array of objects where any are missing (None) or very long."""
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = _numbers(column, "label")
    if numbers is not None:
        return numbers
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    names = column.dictionary.to_pylist()
    as_objects = bool(column.null_count) or any(len(str(name)) > LONG_LABEL for name in names)
    codes = pc.fill_null(column.indices, len(names)).to_numpy(zero_copy_only=False)
    labels: np.ndarray = np.array([*names, None], object) if as_objects else np.array(names)
    return np.asarray(labels[codes])


def _weights(column: Any, name: str) -> np.ndarray:
    weights = _numbers(column, name)
    if weights is None or not (weights >= 0).all():
        raise ValueError(f"The weight column {name!r} must hold numbers that are not negative, without gaps.")
    return weights
