"""The features a model knows, by position and perhaps by name, and one row packed for the kernel.

Rows that come as dicts are packed in index order, whatever the order of their keys, so a row means
the same sum of the same products each time. Compiled code reads plain dicts itself; ``pack`` does it for all others,
and for what only Python can say.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from aggro.engine.jit.dicts import CAN_READ_DICTS, CELLS, ENTRY_COUNT, SAFE_TYPES, DictReader
from aggro.engine.jit.pinned import Pinned
from aggro.engine.limits import LARGEST_VALUE
from aggro.engine.rows import CSR
from aggro.learners.model.bad_values import bad_value

INFINITY = float("inf")
MAX_FEATURES = 2**31 - 1  # indices are 32 bits wide
LONGEST_INTEGER = 10**1000  # of a name or a label; Python does not read or write integers of 4,300 digits
PLAIN_NAMES = (str, int)  # kinds of names that no code of a user's compares


def frozen(values: np.ndarray) -> np.ndarray:
    """A read-only view: to Numba a type of its own, so data always goes in as one."""
    view = values.view()
    view.flags.writeable = False
    return view


def sparse_row(indptr: np.ndarray, indices: np.ndarray, values: np.ndarray) -> Pinned:
    """One sparse row, laid out for the kernel; only what ``indptr`` says of the arrays belongs to it."""
    return Pinned((CSR(frozen(indptr), frozen(indices), frozen(values), 0),), "sparse row")


def as_float(value: Any, what: str, limit: float = LARGEST_VALUE) -> float:
    """A finite number that a user gave, no farther from 0 than the limit."""
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    except (TypeError, ValueError) as error:
        raise type(error)(f"The {what} of a row must be a number, got {value!r}.") from error
    if not isfinite(number):
        raise ValueError(f"The {what} of a row must be finite, got {value!r}.")
    if abs(number) > limit:
        raise ValueError(f"The {what} of a row must be at most {limit:g} in size, got {value!r}. Scale it.")
    return number


class Ordered(NamedTuple):
    """The (indices, values) of one row from inside this library: indices ascend, and nobody else holds the arrays."""

    indices: np.ndarray
    values: np.ndarray


class Scratch:
    """A sparse row whose memory is used again for each row, for rows that compiled code does not read."""

    def __init__(self, room: int = 64) -> None:
        self.room = room
        self.indptr = np.zeros(2, np.int64)
        self.indices = np.zeros(room, np.uint32)
        self.values = np.zeros(room)
        self.bytes = self.values.data.cast("B")
        self.row = sparse_row(self.indptr, self.indices, self.values)

    def fill(self, positions: Sequence[int] | np.ndarray, values: memoryview | np.ndarray) -> Pinned:
        """Fill the row with these entries, ascending by position, and return it; values are doubles, or their bytes.

        No code of a user's runs in here: it could fill the same memory.
        """
        n = len(positions)
        # Twice the entries, so that longer and longer rows do not make new arrays each time.
        if n > self.room:
            self.__init__(2 * n)  # type: ignore[misc]
        if isinstance(positions, np.ndarray):
            self.values[:n] = values
            self.indices[:n] = positions
        else:
            # Packed by ``struct`` from Python's integers: quicker than to make an array of a few numbers.
            self.bytes[: 8 * n] = values  # type: ignore[assignment]
            struct.pack_into(f"{n}I", self.indices.data, 0, *positions)
        self.indptr[1] = n
        return self.row


class Reader:
    """The memory with which compiled code turns dicts of up to ``room`` entries into rows (``engine.jit.dicts``)."""

    __slots__ = ("index", "names", "pinned", "room")

    def __init__(self, names: list[Any], index: dict[Any, int], plain: bool, room: int) -> None:
        self.names, self.index = names, index  # kept alive: compiled code has their addresses
        self.room = room
        indptr, indices, values = np.zeros(2, np.int64), np.zeros(room, np.uint32), np.zeros(room)
        (row,) = sparse_row(indptr, indices, values).value
        positions, names_at, slots = (np.zeros(room, np.int64) for _ in range(3))
        cell = np.zeros(CELLS, np.int64)
        cell[ENTRY_COUNT] = -1
        keys, numbers, order = np.zeros(room, np.int64), np.zeros(room), np.zeros(room, np.uint64)
        work = keys, numbers, positions, names_at, slots, order, cell, SAFE_TYPES
        facts = id(names), id(index), int(plain)
        self.pinned = Pinned(DictReader(row, indptr, indices, values, *work, *facts), "dict reader")


class Features:
    """The features of a model: how many there are, and their names if they have any."""

    def __init__(self, reserved: int | None = None) -> None:
        self.reserved = reserved
        self.names: list[Any] | None = None
        self.n = reserved or 0
        self.index: dict[Any, int] = {}
        self.plain = True  # whether all names are of plain kinds
        self.reader: Reader | None = None  # of the names and the index that are there now
        self._scratch: Scratch | None = None  # made when a row comes alone

    @property
    def n(self) -> int:
        """How many features there are: never fewer than names, to which compiled code adds."""
        return self._n if self.names is None else max(self._n, len(self.names))

    @n.setter
    def n(self, n: int) -> None:
        self._n = n

    def copy(self) -> Features:
        other = Features(self.reserved)
        other.n = self.n
        other.names = None if self.names is None else list(self.names)
        other.index = dict(self.index)
        other.plain = self.plain
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {"n": self.n, "reserved": self.reserved, "names": self.names}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        # The index follows from the names: files hold no second copy of it.
        self.__init__(saved["reserved"])  # type: ignore[misc]
        self.n, self.names = saved["n"], saved["names"]
        self.index = {name: j for j, name in enumerate(self.names or ())}
        self.plain = are_plain(self.names or ())

    def name(self, names: Sequence[Any]) -> None:
        """Name the features, in order."""
        self.names = list(names)
        self.index = {name: j for j, name in enumerate(self.names)}
        self.plain = are_plain(self.names)
        self.reader = None

    def forget_from(self, n: int, n_names: int | None) -> None:
        """Remove the features from number n on, which a failed call had added."""
        # The common case of a call that failed: it had added nothing.
        if self.n == n and n_names == (None if self.names is None else len(self.names)):
            return
        # Compiled code holds the addresses of the list and the dict, which change below.
        self.reader = None
        if n_names is None:
            self.names, self.index = None, {}
        elif self.names is not None:
            for name in self.names[n_names:]:
                self.index.pop(name, None)
            del self.names[n_names:]
        self.n = n
        # Names that are not plain may be among those removed.
        self.plain = self.plain or are_plain(self.names or ())

    def reader_for(self, entries: int) -> Reader | None:
        """A reader of dicts with this many entries; None where Python has to read them."""
        if self.names is None or not CAN_READ_DICTS:
            return None
        # Twice the entries, so that slightly longer dicts find room.
        if self.reader is None or entries > self.reader.room:
            self.reader = Reader(self.names, self.index, self.plain, max(64, 2 * entries))
        return self.reader

    def positions(self, names: Sequence[Any], grow: bool) -> np.ndarray:
        """The positions of named features, -1 for unknown ones; with ``grow`` those are added."""
        # A model without names that has learned from arrays cannot tell which name belongs to which position.
        if self.names is None:
            if self.n and not self.reserved:
                raise ValueError(
                    "The model knows its features by position, not by name: it has learned from arrays or from "
                    "(indices, values). Give rows in that form, or learn from named rows from the start."
                )
            if grow:
                self.names = []
        index = self.index
        if grow:
            # Names that are known keep their positions; new ones follow in the order in which they come.
            self.add(name for name in names if name not in index)
        return np.fromiter((index.get(name, -1) for name in names), np.int64, len(names))

    def add(self, new: Iterable[Any]) -> None:
        """Add names that are not known yet."""
        names, index = self.names, self.index
        assert names is not None
        for name in new:
            n = len(names)
            if n >= (self.reserved or MAX_FEATURES):
                raise ValueError(
                    f"Feature {name!r} is one more than the {n} there is room for. "
                    + ("Raise n_features, or leave it None." if self.reserved else "")
                )
            # Names of text need no check: every model file can hold them.
            if type(name) is not str:
                check_name(name)
            # Other kinds of names run code of a user's to be compared, which compiled code cannot do.
            if type(name) not in PLAIN_NAMES:
                self.plain, self.reader = False, None
            names.append(name)  # first: what is not in the list could not be taken back
            index[name] = n

    def pack(self, x: Mapping[Any, Any], grow: bool, least: float = -INFINITY) -> Pinned:
        """Convert one dict to a sparse row in index order; features not known are added, or left out.

        What is left out is looked at all the same: a row that is refused when it is to be learned is refused when
        it is to be scored. Values must not be below ``least``; those of known features are the kernel's to look at.
        """
        keys, values = keys_and_values(x)
        # The common case, with all features known, takes one look into the dict for each.
        try:
            positions = [self.index[key] for key in keys]
        except KeyError:
            positions = self.positions(keys, grow).tolist()
        if -1 in positions:
            check_left_out(keys, values, positions, least)
            known = [k for k, position in enumerate(positions) if position >= 0]
            keys, values = tuple(keys[k] for k in known), tuple(values[k] for k in known)
            positions = [positions[k] for k in known]
        # A user-defined mapping may give a key twice, and one of its values would be lost below.
        if len(set(positions)) < len(positions):
            raise ValueError(f"Feature {repeated(keys, positions)!r} comes more than once in a row. Give it once.")
        # In index order, so that a row means the same sum of the same products whatever the order of its keys.
        ascending = sorted(positions)
        if ascending and ascending[-1] >= self.n:  # compiled code would believe it
            raise ValueError("A row has features whose == or hash changes its mind. Name features by text.")
        ordered = values
        if positions != ascending:
            by_position = dict(zip(positions, values, strict=True))
            positions, ordered = ascending, tuple(by_position[position] for position in ascending)
        # ``array`` refuses text and what is no number; the error then names the feature.
        try:
            numbers = array("d", ordered)
        except (TypeError, OverflowError) as error:
            raise not_a_number(zip(keys, values, strict=True)) from error
        return self._row(positions, memoryview(numbers).cast("B"))

    def _row(self, positions: Sequence[int] | np.ndarray, values: memoryview | np.ndarray) -> Pinned:
        """Write the entries into the scratch row, and return it; the next row will be in the same memory."""
        if self._scratch is None:
            self._scratch = Scratch()
        return self._scratch.fill(positions, values)

    def known(self, row: Ordered) -> Pinned | None:
        """Convert a row to the kernel's form if all its features are known; None otherwise."""
        where, what = row
        n = where.shape[0]
        # Rows from inside go by index: where features have names, or an index is new, the long way decides.
        if self.names is not None or (n and where[n - 1] >= self.n):
            return None
        return self._row(where, what)

    def pair(self, indices: Any, values: Any, grow: bool, least: float = -INFINITY) -> Pinned:
        """Convert (indices, values) to a row; indices that are not known are added, or left out, as in ``pack``."""
        where, what = checked_pair(indices, values)
        if where.shape[0]:
            top = int(where[-1])
            # Names, or ``n_features``, fix the number of features; else indices may grow it.
            limit = len(self.names) if self.names is not None else self.reserved
            if limit is not None and top >= limit:
                by = "names" if self.names is not None else "n_features"
                raise ValueError(f"Index {top} is outside the {limit} features that {by} allows.")
            if top >= self.n:
                if grow:
                    self.n = top + 1
                else:
                    known = where < self.n
                    # A bad value among the known ones is reported by the kernel first, as it would be in a row to
                    # learn.
                    if allowed(what[known], least).all():  # else the kernel finds those first
                        check_values(where[~known].tolist(), what[~known], least)
                    where, what = where[known], what[known]
        return self._row(where, what)


def are_plain(names: Iterable[Any]) -> bool:
    """Whether no code of a user's compares these names."""
    return {*map(type, names)} <= {*PLAIN_NAMES}


def check_name(name: Any) -> None:
    """Refuse a name that no model file could hold: what is learned can be saved."""
    if not can_be_saved(name):
        raise TypeError(
            f"A feature cannot be named by this {type(name).__name__}, which no model file could hold. Name features "
            "by text, numbers other than NaN, booleans, None, or tuples of those."
        )


def can_be_saved(name: Any) -> bool:
    """Whether a name comes back from a file as one that is equal to it."""
    if isinstance(name, tuple):
        return all(map(can_be_saved, name))
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, int):
        return abs(name) < LONGEST_INTEGER
    if isinstance(name, float):
        return name == name
    return name is None or isinstance(name, str | bytes)


def keys_and_values(x: Mapping[Any, Any]) -> tuple[tuple, tuple]:
    """A row's features and values at one moment: methods of theirs, which are called later, may change it."""
    if type(x) is dict:
        keys, values = tuple(x), tuple(x.values())
        if len(keys) == len(values):  # another thread may have come between
            return keys, values
    items = tuple(x.items())
    return tuple(key for key, _ in items), tuple(value for _, value in items)


def repeated(keys: tuple, positions: list[int]) -> Any:
    """The first feature whose position came before."""
    return next(keys[k] for k in range(len(keys)) if positions[k] in positions[:k])


def check_left_out(keys: tuple, values: tuple, positions: list[int], least: float) -> None:
    """Refuse a row for the features that are not known, at -1 among the positions, as if it were to be learned."""
    try:
        numbers = np.frombuffer(array("d", values))
    except (TypeError, OverflowError) as error:
        raise not_a_number(zip(keys, values, strict=True)) from error
    left_out = np.array(positions) < 0
    names = [key for key, out in zip(keys, left_out.tolist(), strict=True) if out]
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise ValueError(f"Feature {twice!r} comes more than once in a row. Give it once.")
    if allowed(numbers[~left_out], least).all():  # else the kernel finds those first
        check_values(names, numbers[left_out], least)


def allowed(values: np.ndarray, least: float) -> np.ndarray:
    """A mask of the values that are within the limit, and not below ``least``."""
    return np.asarray((np.abs(values) <= LARGEST_VALUE) & (values >= least))


def check_values(names: Sequence[Any], values: np.ndarray, least: float) -> None:
    """Refuse invalid values of one row that no kernel will check; ``names`` are those of their features."""
    if not allowed(values, least).all():
        raise bad_value(frozen(values[None, :]), 0, list(names), least)


def not_a_number(features: Iterable[tuple[Any, Any]]) -> Exception:
    """The error for a dict with a value that is no number; it names the feature."""
    for name, value in features:
        try:
            float(value)
        except OverflowError:
            return ValueError(f"Feature {name!r} is larger than any float. Scale it.")
        except (TypeError, ValueError):
            if type(value).__name__ == "NAType":  # pandas.NA, which float() refuses
                return ValueError(f"Input X contains NaN: feature {name!r} is {value!r}. Leave it out, or impute it.")
            return TypeError(
                f"Feature {name!r} is {value!r}, which is not a number. "
                "Give categories as features of their own, such as {'colour=red': 1}."
            )
        if isinstance(value, str):
            return TypeError(f"Feature {name!r} is the text {value!r}. Give it as a number.")
    return TypeError("Every feature's value must be a number.")


def checked_pair(indices: Any, values: Any) -> tuple[np.ndarray, np.ndarray]:
    """Indices and values of one row: sorted, and repeated indices summed."""
    where = np.array(indices)  # copies: another thread may change what was checked
    what = np.array(values)
    if where.ndim != 1 or where.shape != what.shape:
        raise ValueError(
            f"A row given as (indices, values) needs two 1-D sequences of one length, got shapes {where.shape} "
            f"and {what.shape}."
        )
    if where.shape[0] and where.dtype.kind not in "iu":
        raise TypeError(f"The indices of a row must be integers, got {where.dtype}.")
    if what.dtype.kind not in "iufb":
        raise TypeError(f"The values of a row must be real numbers, got {what.dtype}.")
    # Checked as integers of any width: 32 bits are all that the kernel's indices hold.
    if where.shape[0] and (where.min() < 0 or where.max() >= MAX_FEATURES):
        bad = where[(where < 0) | (where >= MAX_FEATURES)][0]
        raise ValueError(f"Index {bad} of a row is outside 0 … {MAX_FEATURES - 1}.")
    what = what.astype(np.float64)
    if where.shape[0] > 1 and not (where[1:] > where[:-1]).all():
        # Repeated indices are summed, as sparse matrices do.
        where, group = np.unique(where, return_inverse=True)
        what = np.bincount(group, weights=what, minlength=where.shape[0])
    return where, what
