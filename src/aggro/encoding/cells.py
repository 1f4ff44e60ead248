"""Cells in any form (Arrow columns, arrays, lists) as numbers, moments and strings.

A table of any kind becomes columns by name: an Arrow array, a NumPy array, or a list of Python's values. What is read
from a column depends on its role alone, and comes out the same for all three forms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from aggro.encoding.dates import FURTHEST_DATE, YEAR_ONE, from_number, in_reach, seconds_of, seconds_of_array
from aggro.encoding.numbers import LONGEST_NUMBER, read_numbers
from aggro.engine.frames import check_distinct, is_arrow_table, validated
from aggro.streams.parse.words64 import PADDING
from aggro.streams.tables import written_numbers
from aggro.streams.tables.roles import CELLS_LOOKED_AT, ISO, OR, Column, as_number, is_missing
from aggro.streams.tables.written_numbers import EXACTLY

LONGEST_SAMPLE = 200  # letters of a cell that a guess is made from
LONGEST_WRITTEN = 2**13  # bits of an integer that Python is asked to write in digits; it stops at 4,300 of those


class Numbers(NamedTuple):
    """A column as floats, NaN where missing, and how many cells were neither a number nor missing.

    ``sides`` says of bounds, such as <0.5, on which side of the number the true value is; None where there are none.
    """

    values: np.ndarray
    strays: int
    sides: np.ndarray | None = None


class Strings(NamedTuple):
    """A column of UTF-8 text: all letters, and the bounds of the cells among them."""

    letters: np.ndarray
    bounds: np.ndarray  # (rows + 1,)
    absent: np.ndarray  # (rows,): where there is no cell


Columns = dict[str, Any]

# Tables to columns ------------------------------------------------------------------------------------------------


def columns_of(X: Any) -> tuple[Columns, int]:
    """The columns of a table by name, and how many rows it has.

    A table is a list of records (dicts), a frame of pandas, polars or pyarrow, a list or column of texts, or an
    array of numbers.
    """
    # Read in another thread already.
    if isinstance(X, Ready):
        return X, X.shape[0]  # type: ignore[return-value]
    # The mistakes that people make get a message of their own, before the general one.
    if hasattr(X, "tocsr"):
        raise TypeError("A sparse matrix has no raw columns. Pass it to the learner inside, without RecordLearner.")
    if isinstance(X, Mapping):
        raise TypeError("Expected many records, got one. Pass a list of records, or use learn_one or predict_one.")
    if is_arrow_table(X):
        return _arrow_columns(X), int(X.num_rows)
    # A frame of pandas or polars: no type of theirs is imported to ask.
    if hasattr(X, "columns") and hasattr(X, "to_numpy") and hasattr(X, "shape") and len(X.shape) == 2:
        return _frame(X), int(X.shape[0])
    if isinstance(X, str | bytes):
        raise TypeError("Expected many texts, got one. Pass a list of texts, or use learn_one or predict_one.")
    if hasattr(X, "to_numpy"):  # one column of a frame
        X = validated(X)
        X = X.to_list() if hasattr(X, "to_list") else X.to_numpy()
    if hasattr(X, "__array__"):
        X = checked_array(np.asarray(X))
    # Arrays and lists of lists have no names; columns are called by their place.
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return {f"x{j}": X[:, j] if X.dtype.kind != "O" else X[:, j].tolist() for j in range(X.shape[1])}, len(X)
    # What is left is a list, or one dimension of objects: its rows decide what it is.
    rows = X.tolist() if isinstance(X, np.ndarray) else list(X)
    if not rows:
        return {}, 0
    if all(isinstance(row, Mapping) for row in rows):
        return records_as_columns(rows), len(rows)
    if all(isinstance(row, str) or row is None for row in rows):
        return {"": rows}, len(rows)
    if all(isinstance(row, Sequence) and not isinstance(row, str) for row in rows) and len({*map(len, rows)}) == 1:
        return {f"x{j}": [row[j] for row in rows] for j in range(len(rows[0]))}, len(rows)
    # The first row that differs from the first one is shown: it is most likely the mistake.
    odd = next((row for row in rows if not isinstance(row, type(rows[0]))), rows[0])
    raise TypeError(
        f"Rows must be records (dicts), texts, or a table; among these is one of type {type(odd).__name__}: "
        f"{repr(odd)[:60]}."
    )


def checked_array(X: np.ndarray) -> np.ndarray:
    """Refuse an array that is no table, in scikit-learn's words; one of texts or records may have one dimension."""
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: this array is of {X.dtype}.")
    if X.ndim == 2 and not X.shape[1]:
        raise ValueError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    if X.ndim > 2 or (X.ndim < 2 and X.dtype.kind in "fiubmM"):
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead. Reshape your data: array.reshape(-1, 1) makes a column, "
            "and array.reshape(1, -1) a row."
        )
    return X


def records_as_columns(rows: Sequence[Mapping[Any, Any]]) -> Columns:
    """Convert records to columns: one for each field of any record, with None where a record lacks it."""
    # In the order of first appearance, so that features are numbered alike on every run.
    names: dict[Any, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
    # Names become parts of features, and files keep them as text.
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"The field names of a record must be strings, got {name!r}.")
    return {name: [row.get(name) for row in rows] for name in names}


def _arrow_columns(table: Any) -> Columns:
    check_distinct(table.column_names, "The table")
    return {
        name: _in_seconds(column) for name, column in zip(validated(table).column_names, table.columns, strict=True)
    }


def _in_seconds(column: Any) -> Any:
    """A column of durations as seconds; others as they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_duration(column.type):
        return column
    units = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
    return pc.divide(pc.cast(pc.cast(column, pa.int64()), pa.float64(), safe=False), units[column.type.unit])


def _frame(X: Any) -> Columns:
    if hasattr(X, "to_arrow"):  # polars
        try:
            return _arrow_columns(X.to_arrow())
        except ModuleNotFoundError as error:
            said = "A frame of polars is read by way of pyarrow. Install it with: pip install 'aggro[files]'"
            raise ImportError(said) from error
    # By place, not by name: names of other types could be alike as text.
    names = [str(name) for name in X.columns]
    check_distinct(names, "The table")
    X = validated(X)
    return {name: _series(X.iloc[:, j]) for j, name in enumerate(names)}


def _series(column: Any) -> Any:
    """A column of pandas: an array if it is of numbers or moments, else a list."""
    kind = getattr(column.dtype, "kind", "O")
    if kind == "m":  # how long something took, in seconds
        return np.asarray(column.dt.total_seconds().to_numpy(), np.float64)
    # The extension types of pandas have gaps that arrays cannot hold.
    if kind in "fiubM" and isinstance(column.dtype, np.dtype):
        return column.to_numpy()
    return column.tolist()


# Samples ----------------------------------------------------------------------------------------------------------


def sample_of(column: Any, most: int = CELLS_LOOKED_AT) -> list[Any]:
    """The first cells as plain values, which JSON can hold: what a guess is made from."""
    if hasattr(column, "to_pylist"):
        # Only as many cells are made Python objects as are looked at.
        column = column.slice(0, most)
        column = arrow_moments(column) if _is_moments(column) else column.to_pylist()
    cells = column[:most]
    if isinstance(cells, np.ndarray):
        cells = in_reach(cells).tolist() if cells.dtype.kind == "M" else cells.tolist()
    return [plain(cell) for cell in cells]


def _is_moments(column: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_date(column.type) or pa.types.is_timestamp(column.type))


def plain(cell: Any) -> Any:
    """One cell of a sample as JSON can hold it: None where missing, dates as ISO text, odd cells as their type's name.

    A number beyond all floats is infinity: neither can be learned from, and a column counts both as strays.
    """
    if isinstance(cell, str):
        return cell[:LONGEST_SAMPLE]
    if is_missing(cell):
        return None
    if isinstance(cell, np.generic) and not isinstance(cell, np.datetime64):
        cell = cell.item()  # as an array's tolist gives it
    # A truth value is a number to Python as well, so it is asked for first.
    if isinstance(cell, bool):
        return cell
    if isinstance(cell, float):
        return float(cell)
    if isinstance(cell, np.datetime64):
        cell = in_reach(np.array([cell]))[0].item()
    if hasattr(cell, "isoformat"):
        return cell.isoformat()
    if not hasattr(cell, "__float__") or hasattr(cell, "__len__"):
        return [type(cell).__name__]
    number = as_number(cell)
    if number is None:
        # Too large for a float: infinity stands for it, as in a column.
        return math.inf if isinstance(cell, Number) else [type(cell).__name__]
    return int(cell) if isinstance(cell, int) else number


# By role ----------------------------------------------------------------------------------------------------------


def as_numbers(column: Any, na: Iterable[str], pattern: str = "") -> Numbers:
    """Read a column of role number; ``pattern`` is how it writes numbers as text."""
    # The quick ways first; what they cannot read goes cell by cell, by the same rule.
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiub":
        return _finite(column.astype(np.float64))
    if hasattr(column, "to_pylist"):
        found = _arrow_numbers(column, na, pattern)
        if found is not None:
            return found
        column = column.to_pylist()
    cells = column.tolist() if isinstance(column, np.ndarray) else column
    # Plain Python numbers: no cell needs a look. Whole numbers beyond all floats raise, and are strays below.
    if {*map(type, cells)} <= {float, int, bool}:
        try:
            return _finite(np.array(cells, np.float64))
        except OverflowError:
            pass
    values, strays, sides = np.full(len(cells), np.nan), 0, np.zeros(len(cells), np.int8)
    for i, cell in enumerate(cells):
        if is_missing(cell, na):
            continue
        # A bound is its number here, with the side apart.
        number, sides[i] = number_in(cell, pattern)
        if number is None:
            strays += 1
        else:
            values[i] = number
    return Numbers(values, strays, sides if sides.any() else None)


def number_in(cell: Any, pattern: str) -> tuple[float | None, int]:
    """The number in one cell of a column with this pattern, None if there is none, and where the true value is."""
    if not isinstance(cell, str) or (not pattern and as_number(cell) is not None):
        return as_number(cell), EXACTLY
    return written_numbers.read(cell, pattern) or (None, EXACTLY)


def _finite(values: np.ndarray) -> Numbers:
    """Infinity is no number that can be learned from."""
    # Counted as strays, and then missing.
    strays = int(np.isinf(values).sum())
    if strays:
        values = np.where(np.isinf(values), np.nan, values)
    return Numbers(values, strays)


def _arrow_numbers(column: Any, na: Iterable[str], pattern: str) -> Numbers | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    of, kind = pa.types, column.type
    # A dictionary is written out here: what counts are its values.
    if of.is_dictionary(kind):
        column = pc.cast(column, kind.value_type)
        kind = column.type
    if of.is_null(kind):
        return Numbers(np.full(len(column), np.nan), 0)
    if of.is_decimal(kind):  # by way of text, which rounds as Python does
        column = pc.cast(pc.cast(column, pa.string()), pa.float64())
        kind = column.type
    if of.is_floating(kind) or of.is_integer(kind) or of.is_boolean(kind):
        if kind != pa.float64():
            # Not safe: integers beyond 2^53 are rounded, as floats of Python would be.
            column = pc.cast(column, pa.float64(), safe=False)
        array = column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy()
        # Arrow's buffers may start at any byte; compiled code needs aligned floats.
        return _finite(np.require(array, np.float64, ["A"]))
    if not (of.is_string(kind) or of.is_large_string(kind)):
        return None
    written = column
    if pattern:  # most cells, with the marks that programs have; the others stay as they are
        style = written_numbers.Style.of(pattern)
        column = pc.replace_substring(pc.utf8_trim_whitespace(column), "\u00a0", " ")
        # Cells of the usual look lose their marks; all others become «?», and are read from the original cell.
        usual = pc.match_substring_regex(column, style.usual)
        plain = pc.replace_substring_regex(column, f"[^-0-9{style.decimal}]", "")
        plain = pc.replace_substring(plain, style.decimal, ".")
        plain = pc.if_else(usual, plain, "?")
        column = plain
    strings = _arrow_strings(column)
    if strings is None:
        return None
    # Python needs the cells as they were written for those that the fast way leaves.
    original = _arrow_strings(written) if pattern else strings
    return None if original is None else numbers_in(strings, na, original, pattern)


def numbers_in(strings: Strings, na: Iterable[str], written: Strings | None = None, pattern: str = "") -> Numbers:
    """Read a column of strings as numbers; ``written`` has the original cells, if ``strings`` was changed."""
    original = strings if written is None else written
    letters, cell = strings.letters.view(), np.zeros(LONGEST_NUMBER + PADDING, np.uint8)
    letters.flags.writeable = False  # as Arrow's are: to compiled code another type
    values, other = np.empty(len(strings.absent)), np.empty(len(strings.absent), np.int64)
    n = read_numbers(letters, strings.bounds, strings.absent, cell, values, other)
    sides = np.zeros(len(values), np.int8)
    strays, doubtful = 0, other[:n].tolist()  # words, for «missing» or stray; and numbers that only Python reads
    numeric = [number for word in na if (number := as_number(word)) is not None]
    if numeric:  # a word for «missing» may be a number, such as -999
        doubtful += np.flatnonzero(np.isin(values, numeric)).tolist()
    # Few cells come here, so Python's speed does not matter.
    for i in doubtful:
        text = original.letters[original.bounds[i] : original.bounds[i + 1]].tobytes().decode("utf-8", "replace")
        gone = is_missing(text, na)
        number, sides[i] = (None, EXACTLY) if gone else number_in(text, pattern)
        values[i] = np.nan if number is None else number
        strays += number is None and not gone
    return Numbers(values, strays, sides if sides.any() else None)


def as_moments(column: Any, known: Column, na: Iterable[str]) -> Numbers:
    """Read a column of role date, as seconds since 1970."""
    found = _moments(column, known, na)
    far = np.abs(found.values) >= FURTHEST_DATE  # no date: so many seconds are something else
    return Numbers(np.where(far, np.nan, found.values), found.strays + int(far.sum()))


def _moments(column: Any, known: Column, na: Iterable[str]) -> Numbers:
    if isinstance(column, np.ndarray):
        if column.dtype.kind == "M":
            return Numbers(seconds_of_array(column), 0)
        column = column.tolist()
    if hasattr(column, "to_pylist"):
        found = _arrow_moments(column, known)
        if found is not None:
            return found
        column = column.to_pylist()
    pattern = known.pattern or ISO
    # Each different text is parsed once.
    seen: dict[str, float] = {}
    values, strays = np.full(len(column), np.nan), 0
    for i, cell in enumerate(column):
        if is_missing(cell, na):
            continue
        if isinstance(cell, str):  # dates repeat
            seconds = seen.get(cell)
            if seconds is None:
                seconds = seen[cell] = seconds_of(cell, pattern)
        else:
            seconds = seconds_of(cell, pattern)
        values[i] = seconds
        # Only NaN differs from itself: no moment was read.
        strays += seconds != seconds
    return Numbers(values, strays)


def _arrow_moments(column: Any, known: Column) -> Numbers | None:
    """Moments of Arrow's own kinds, and text where all of it is of one pattern; None for the long way."""
    import pyarrow as pa
    import pyarrow.compute as pc

    of, kind = pa.types, column.type
    if of.is_integer(kind) or of.is_floating(kind):
        # Numbers are seconds, or milliseconds if they are large, as in a list of Python's.
        numbers = as_numbers(column, ())
        return Numbers(np.array([from_number(number) for number in numbers.values.tolist()]), numbers.strays)
    if of.is_date(kind) or of.is_timestamp(kind):
        return Numbers(seconds_of_array(arrow_moments(column)), 0)
    # A column with several patterns goes text by text.
    if not (of.is_string(kind) or of.is_large_string(kind)) or OR in known.pattern:
        return None
    try:
        if known.pattern in ("", ISO):
            column = pc.cast(column, pa.timestamp("us"))
        else:
            text, column = column, pc.strptime(column, format=known.pattern, unit="us")
            again = pc.strftime(column, format=known.pattern)
            if not (
                pc.all(pc.equal(text, again)).as_py() or False
            ):  # Arrow takes the 31st of February, Python does not
                return None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    values = seconds_of_array(arrow_moments(column))
    # Python has no years before 1, so it decides what these cells are.
    return None if (values < YEAR_ONE).any() else Numbers(values, 0)


def arrow_moments(column: Any) -> np.ndarray:
    """Dates and times of Arrow as NumPy's; those with a zone as what UTC's clocks show."""
    import pyarrow as pa

    found = column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy()
    return np.asarray(found)


def as_strings(column: Any) -> Strings:
    """Read a column of role category or text."""
    if hasattr(column, "to_pylist"):
        found = _arrow_strings(column)
        if found is not None:
            return found
        column = column.to_pylist()
    if isinstance(column, np.ndarray) and column.dtype.kind == "M":
        # NumPy gives moments of nanoseconds as integers, those of microseconds as datetimes.
        column = column.astype("datetime64[us]")
    cells = column.tolist() if isinstance(column, np.ndarray) else column
    # All letters in one array, with the bounds of the cells: that is what compiled code reads.
    texts = [spelled(cell).encode("utf-8", "replace") for cell in cells]
    bounds = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([*map(len, texts)], out=bounds[1:])
    return Strings(np.frombuffer(b"".join(texts), np.uint8), bounds, np.zeros(len(texts), bool))


def spelled(cell: Any) -> str:
    """A cell as text: 3, 3.0 and Decimal("3.00") alike, truth values small, nothing for a missing one."""
    if isinstance(cell, str):
        return cell
    if is_missing(cell):
        return ""
    if isinstance(cell, np.datetime64):
        # Nanoseconds would come as an integer.
        cell = cell.astype("datetime64[us]")
    if isinstance(cell, np.generic):  # as an array's tolist gives it
        cell = cell.item()
    # True is an integer to Python, so truth values come first.
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, Decimal) and cell.is_finite():
        # Decimal("1e999999999") would have a digit for each power of ten.
        return f"{cell.normalize():f}" if abs(cell.adjusted()) < LONGEST_WRITTEN else str(cell)
    if isinstance(cell, datetime):
        return datetime.isoformat(cell)  # to the microsecond
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, int) and cell.bit_length() > LONGEST_WRITTEN:
        return hex(cell)
    return str(cell)


def _arrow_strings(column: Any) -> Strings | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    of = pa.types
    if isinstance(column, pa.ChunkedArray):
        # One chunk is taken without a copy.
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if of.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    if not (of.is_string(column.type) or of.is_large_string(column.type)):
        if of.is_string_view(column.type):
            column = pc.cast(column, pa.large_string())
        else:
            return None
    n = len(column)
    if not n:
        return Strings(np.zeros(0, np.uint8), np.zeros(1, np.int64), np.zeros(0, bool))
    _, offsets, letters = column.buffers()
    width = np.int64 if of.is_large_string(column.type) else np.int32
    # A slice of a column shares the buffers of the whole, so bounds start anywhere.
    bounds = np.frombuffer(offsets, width)[column.offset : column.offset + n + 1].astype(np.int64)
    absent = np.zeros(n, bool)
    if column.null_count:
        absent = column.is_null().to_numpy(zero_copy_only=False)
    # Only the letters of this slice; its bounds then count from 0.
    text = np.frombuffer(letters, np.uint8)[bounds[0] : bounds[-1]] if letters is not None else np.zeros(0, np.uint8)
    return Strings(text, bounds - bounds[0], absent)


def no_strings(n: int) -> Strings:
    """A column of n missing strings."""
    return Strings(np.zeros(0, np.uint8), np.zeros(n + 1, np.int64), np.ones(n, bool))


class Texts(NamedTuple):
    """Several columns of strings in one writable array of letters, with padding at its end."""

    letters: np.ndarray
    starts: np.ndarray  # (columns, rows)
    ends: np.ndarray
    absent: np.ndarray  # (columns, rows)


def joined(columns: Sequence[Strings], n: int) -> Texts:
    """Join several columns of strings, each with n rows."""
    # Padding at the end, for the hash reads eight bytes at a time.
    letters = np.empty(sum(len(column.letters) for column in columns) + PADDING, np.uint8)
    starts, ends = np.empty((len(columns), n), np.int64), np.empty((len(columns), n), np.int64)
    absent = np.empty((len(columns), n), bool)
    # Each column's bounds move behind the letters of those before.
    at = 0
    for j, column in enumerate(columns):
        letters[at : at + len(column.letters)] = column.letters
        np.add(column.bounds[:-1], at, out=starts[j])
        np.add(column.bounds[1:], at, out=ends[j])
        absent[j] = column.absent
        at += len(column.letters)
    # Zeros, so that padding never depends on what the memory held.
    letters[at:] = 0
    return Texts(letters, starts, ends, absent)


class Ready:
    """The cells of a table, read by an encoder's layout: all the work that does not depend on the order of rows.

    So the threads that read a file can do it. It stands for the table, with columns ``names``.
    """

    def __init__(
        self,
        layout: Any,
        names: frozenset[str],
        numbers: np.ndarray,
        parts: np.ndarray,
        texts: Texts,
        strays: Mapping[str, int],
    ) -> None:
        self.layout, self.names = layout, names
        self.numbers, self.parts, self.texts, self.strays = numbers, parts, texts, strays

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.numbers.shape[0], len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def some(self, rows: Any) -> Ready:
        """Select rows, by a slice or by their numbers. The first selection takes the strays along, which count once."""
        # The letters are shared: only the places of the cells are selected.
        letters, *cells = self.texts
        texts = Texts(letters, *(np.ascontiguousarray(array[:, rows]) for array in cells))
        # Strays are of the whole table, so they go with one part only.
        strays, self.strays = self.strays, {}
        numbers, parts = (np.ascontiguousarray(array[rows]) for array in (self.numbers, self.parts))
        return Ready(self.layout, self.names, numbers, parts, texts, strays)
