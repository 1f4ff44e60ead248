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

from aggro.streams.io.buffers import room
from aggro.streams.parse.bag_of_words import bag_of_words
from aggro.streams.tables.task import DEFAULT_LABELS

WORD_BITS = 18
LONG_LABEL = 64  # letters; an array of strings is as wide as the longest
EXACT_CODES = 2.0**53  # up to here floats are whole numbers one by one


class Roles(NamedTuple):
    """What the columns of a table are for; ``label`` None where there is none."""

    label: str | None
    weight: str | None
    text: tuple[str, ...]

    @classmethod
    def find(cls, columns: list[str], label: Any, weight: str | None, text: Any, title: str) -> Roles:
        """The roles as given, checked; the label by default the column of that name, or the last one."""
        texts = (text,) if isinstance(text, str) else tuple(text)
        # A label named in DEFAULT_LABELS wins in the order of that list, not in that of the columns.
        if label is None or label is True:
            named = [name for wanted in DEFAULT_LABELS for name in columns if name.lower() == wanted]
            # With label=True only such a name counts; with None the last column is the label.
            label = next(iter(named or (columns[-1:] if label is None else ())), None)
        roles = cls(label or None, weight, texts)
        roles.check(columns, title)
        return roles

    def check(self, columns: list[str], title: str) -> None:
        """Refuse a table that lacks one of the columns."""
        for name in (*([self.label] if self.label else []), *([self.weight] if self.weight else []), *self.text):
            if name not in columns:
                raise ValueError(
                    f"{title} has no column {name!r}. Its columns are {', '.join(map(repr, columns[:30]))}."
                )


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
            label = labels_of(column)
        elif name == roles.weight:
            weight = weights_of(column, name)
        elif name in roles.text:
            texts.append(_words(column, name))
        elif (values := _numbers(column)) is not None:
            numbers[name] = values
        else:
            coded[name] = _category_column(column, name)
    features = [name for name in table.column_names if name in numbers or name in coded]
    columns = [coded[name] if name in coded else Coded(NO_CODES, numbers[name], [name]) for name in features]
    # One category makes most cells 0, so a sparse matrix; numbers alone fill a dense one.
    matrix = _sparse if coded or texts else _dense
    X, total = matrix(columns, table.num_rows)
    # A sum is quicker than a mask, and NaN if any value is (or if infinities meet: then look closer).
    if np.isnan(total):
        columns = [_without_gaps(column) for column in columns]
        X, _ = matrix(columns, table.num_rows)
    names = [name for column in columns for name in column.names]
    # Blocks of words stand behind the other columns.
    for words, places in texts:
        from scipy.sparse import hstack

        X = hstack([X, words], format="csr")
        names += places
    return X, label, weight, names


def plain_columns(schema: Any, nested: bool = False) -> list[str]:
    """The columns that can be read, with ``nested`` also those that can be flattened; the names of all are checked."""
    if not len(schema):
        raise ValueError("the table has no columns")
    # Features are matched by name, so two columns with one name could not be told apart.
    for name in schema.names:
        if schema.names.count(name) > 1:
            raise ValueError(f"there are two columns {name!r}. Give them different names")
    can_be_read = is_readable if nested else is_plain
    return [field.name for field in schema if can_be_read(field.type)]


def is_nested(kind: Any) -> bool:
    """Records, or lists of them or of anything?"""
    import pyarrow as pa

    of = pa.types
    return bool(of.is_struct(kind) or of.is_list(kind) or of.is_large_list(kind) or of.is_fixed_size_list(kind))


def is_readable(kind: Any) -> bool:
    """A plain kind, or records and lists of such?"""
    if not is_nested(kind):
        return is_plain(kind)
    import pyarrow as pa

    if pa.types.is_struct(kind):
        # One readable field is enough: the others are left out when the record is flattened.
        return any(is_readable(kind.field(k).type) for k in range(kind.num_fields))
    return is_readable(kind.value_type)


def is_plain(kind: Any) -> bool:
    """Numbers, true or false, dates or text?"""
    return _is_number(kind) or _is_text(kind)


def check_columns(schema: Any) -> None:
    """Refuse a table whose columns cannot be encoded, before any of it is read."""
    plain_columns(schema)
    for field in schema:
        if not is_plain(field.type):
            raise ValueError(
                f"column {field.name!r} is of type {field.type}. "
                "Expected numbers, true or false, dates or text; drop it"
            )


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    of = pa.types
    plain = (of.is_integer, of.is_floating, of.is_boolean, of.is_decimal, of.is_null)
    return any(is_kind(kind) for is_kind in (*plain, of.is_date, of.is_timestamp))


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        # A dictionary of integers is a category, not a number.
        return _is_text(kind.value_type) or pa.types.is_integer(kind.value_type)
    return any(is_kind(kind) for is_kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def lengths(column: Any) -> np.ndarray | None:
    """How many bytes the text of each row takes; None for a column without text. The column must be valid."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        entries = lengths(column.dictionary)
        if entries is None:
            return None
        # A missing code points to an entry of length 0 that is put behind the dictionary.
        codes = pc.fill_null(column.indices, len(entries)).to_numpy(zero_copy_only=False)
        return np.asarray(np.append(entries, 0)[codes])
    if not _is_text(column.type):
        return None
    if pa.types.is_string_view(column.type):  # sixteen bytes a row, of which the first four are the length
        views = np.frombuffer(column.buffers()[1], np.int32)[4 * column.offset : 4 * (column.offset + len(column)) : 4]
        return views.astype(np.int64)
    found = pc.fill_null(pc.binary_length(column), 0).to_numpy(zero_copy_only=False)
    return np.asarray(found, np.int64)


PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6}


def _numbers(column: Any) -> np.ndarray | None:
    """The column as floats, NaN where missing; None if it is not of numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if isinstance(column, pa.ChunkedArray) and column.num_chunks == 1:
        column = column.chunk(0)  # which need not be copied
    if kind == pa.float64():
        pass
    elif pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    elif pa.types.is_date32(kind):
        # Days since 1970.
        column = pc.multiply(pc.cast(pc.cast(column, pa.int32()), pa.float64()), 86400.0)
    elif pa.types.is_date64(kind) or pa.types.is_timestamp(kind):
        unit = "ms" if pa.types.is_date64(kind) else kind.unit
        # Microseconds since 1970 are below 2^53, so exact as floats; nanoseconds are not.
        if unit == "ns":
            unit, column = "us", pc.cast(column, pa.timestamp("us"), safe=False)
        column = pc.divide(pc.cast(pc.cast(column, pa.int64()), pa.float64(), safe=False), PER_SECOND[unit])
    elif pa.types.is_integer(kind) and column.null_count == 0:
        return _array(column).astype(np.float64)  # as below, without what a call of pyarrow's costs
    elif _is_number(kind):
        column = pc.cast(column, pa.float64(), safe=False)
    else:
        return None
    array = _array(column)
    return array if array.flags.aligned else array.copy()  # a buffer may start at any byte


def _array(column: Any) -> np.ndarray:
    """A column of pyarrow's in an array, without a copy where that can be."""
    import pyarrow as pa

    return np.asarray(column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy())


def _without_gaps(column: Coded) -> Coded:
    """A column of numbers, where any are missing with a second feature for that."""
    # The matrix has no NaN: a gap becomes the feature «missing», and the value itself is absent.
    missing = np.isnan(column.values)
    if not missing.any():
        return column
    (name,) = column.names
    return Coded(missing.astype(np.int32), np.where(missing, 1.0, column.values), [name, f"{name}=missing"])


def _coded(column: Any) -> tuple[np.ndarray, list[Any]]:
    """The column as codes among values that it holds, in the order in which they appear; -1 where missing.

    A dictionary is not written out, for its entries may be long and often repeated, nor believed to hold each value
    once, in order, and no null.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not pa.types.is_dictionary(column.type):
        codes, values = _first_seen(column)
        return codes, values.to_pylist()
    # First the codes that occur, then the values they mean: entries may be equal, or used by no row.
    codes, used = _first_seen(column.indices)
    meant, values = _first_seen(pc.take(column.dictionary, used))
    # A missing code is −1 and picks the last entry, which is −1 again.
    return np.append(meant, np.int32(-1))[codes], values.to_pylist()


def _first_seen(array: Any) -> tuple[np.ndarray, Any]:
    """Codes, -1 where missing, and what they stand for."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # pyarrow does not encode string views.
    if pa.types.is_string_view(array.type):
        array = pc.cast(array, pa.large_string())
    coded = pc.dictionary_encode(array)
    codes = pc.fill_null(coded.indices, -1) if coded.null_count else coded.indices
    return codes.to_numpy(zero_copy_only=False).astype(np.int32, copy=False), coded.dictionary


def _category_column(column: Any, name: str) -> Coded:
    codes, values = _coded(column)
    # Names are in the order of first appearance, which does not depend on the dictionary in the file.
    names = [f"{name}={value}" for value in values]
    if codes.size and codes.min() < 0:
        missing = f"{name}=missing"
        if missing not in names:  # else there is a category of that very name
            names.append(missing)
        codes = np.where(codes < 0, np.int32(names.index(missing)), codes)
    # All values are 1: one number, seen as an array of that length.
    return Coded(codes, np.broadcast_to(1.0, codes.shape), names)


def _dense(columns: list[Coded], n: int) -> tuple[np.ndarray, float]:
    """The matrix and the sum of its values."""
    width = sum(len(column.names) for column in columns)
    # Memory that is used again holds anything, so every cell is written below.
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
    """The columns as a sparse matrix, and the sum of its values.

    Every cell has one feature, and those of a column stand together, so the indices ascend.
    """
    from scipy.sparse import csr_array

    k = len(columns)
    # Each row has exactly one entry in each column, so the arrays are rectangles and no counting is needed.
    indices, data = room(n * k, np.int32).reshape(n, k), room(n * k).reshape(n, k)
    widths = np.cumsum([0, *(len(column.names) for column in columns)], dtype=np.int32)
    indices[:] = widths[:-1]
    for j, column in enumerate(columns):
        if len(column.codes):
            indices[:, j] += column.codes
        data[:, j] = column.values
    # 32 bits where they suffice, as the indices have.
    indptr = np.arange(n + 1, dtype=np.int32 if n * k < 2**31 else np.int64) * k
    return csr_array((data.ravel(), indices.ravel(), indptr), shape=(n, int(widths[-1]))), data.sum()


def _words(column: Any, name: str) -> tuple[Any, list[str]]:
    import pyarrow as pa
    import pyarrow.compute as pc
    from scipy.sparse import csr_array

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    # A missing text is an empty bag of words.
    column = pc.fill_null(pc.cast(column, pa.large_string()), "")
    _, offsets, letters = column.buffers()
    # A slice of a column shares the buffers of the whole, so the offsets are counted from its first text.
    bounds = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    text = memoryview(letters)[bounds[0] : bounds[-1]] if letters is not None and len(column) else b""
    indptr, columns, places = bag_of_words(bytes(text), bounds - bounds[0], WORD_BITS)
    X = csr_array((np.ones(len(columns)), columns.view(np.int32), indptr), shape=(len(column), len(places)))
    # A word that comes twice in a cell is one entry, with its count.
    X.sum_duplicates()
    return X, [f"{name}~{place}" for place in places.tolist()]


def labels_of(column: Any) -> np.ndarray:
    """Numbers, or else strings; an array of objects where any are missing (None) or very long.

    Numbers are floats, except for integers that floats would round: two of those could become one.
    """
    numbers = _numbers(column)
    if numbers is not None:
        # Above 2^53 two integers could become one float, and two classes one.
        exact = _exact(column) if (np.abs(numbers) >= EXACT_CODES).any() else None
        return numbers if exact is None else exact
    codes, names = _coded(column)
    as_objects = bool(codes.size and codes.min() < 0) or any(len(str(name)) > LONG_LABEL for name in names)
    # None stands last, where the code −1 of a missing label finds it.
    labels: np.ndarray = np.array([*names, None], object) if as_objects else np.array(names)
    return np.asarray(labels[codes])


def _exact(column: Any) -> np.ndarray | None:
    """Integers of 64 bits as they are, None among them where missing; None if they are not such."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for kind in (pa.int64(), pa.uint64()):
        if pa.types.is_integer(column.type) or pa.types.is_decimal(column.type):
            try:
                whole = pc.cast(column, kind)
            except pa.ArrowInvalid:
                continue
            if whole.null_count:
                return np.array(whole.to_pylist(), object)
            return np.asarray(whole.to_numpy())
    return None


def weights_of(column: Any, name: str) -> np.ndarray:
    weights = _numbers(column)
    # NaN is not ≥ 0, so gaps are refused as well.
    good = weights >= 0 if weights is not None else np.zeros(1, bool)
    if weights is None or not good.all():
        # The first bad weight is shown, because the error is about the data.
        shown = column[int(np.argmin(good))]
        raise ValueError(
            f"The weight column {name!r} must hold numbers that are not negative, without gaps, and holds {shown}"
        )
    return weights
