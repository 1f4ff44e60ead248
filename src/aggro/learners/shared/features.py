"""The features a model knows, by position and perhaps by name, and one row packed for the kernel.

Rows that come as dicts are packed in index order, whatever the order of their keys, so a row means
the same sum of the same products each time. A key order that comes again is remembered as a plan, by
which compiled code reads such dicts itself.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from aggro.engine.jit.dicts import CAN_READ_DICTS, SAFE
from aggro.engine.jit.pinned import Pinned
from aggro.engine.rows import CSR

MAX_FEATURES = 2**31 - 1  # indices are 32 bits wide
PLANS = 64
WORTH_A_PLAN = 4  # times a key order must come before it is remembered


def frozen(values: np.ndarray) -> np.ndarray:
    """A read-only view: to Numba a type of its own, so data always goes in as one."""
    view = values.view()
    view.flags.writeable = False
    return view


def sparse_row(indptr: np.ndarray, indices: np.ndarray, values: np.ndarray) -> Pinned:
    """One sparse row, laid out for the kernel; only what ``indptr`` says of the arrays belongs to it."""
    return Pinned((CSR(frozen(indptr), frozen(indices), frozen(values), 0),), "sparse row")


def as_float(value: Any, what: str) -> float:
    """A finite number that a user gave."""
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    except (TypeError, ValueError) as error:
        raise type(error)(f"The {what} of a row must be a number, got {value!r}.") from error
    if not isfinite(number):
        raise ValueError(f"The {what} of a row must be finite, got {value!r}.")
    return number


class Ordered(NamedTuple):
    """(indices, values) of one row from inside this library: arrays that ascend, and that no one else has."""

    indices: np.ndarray
    values: np.ndarray


class Scratch:
    """A sparse row that is filled anew each time, for rows that have no plan."""

    def __init__(self, room: int = 64) -> None:
        self.room = room
        self.indptr = np.zeros(2, np.int64)
        self.indices = np.zeros(room, np.uint32)
        self.values = np.zeros(room)
        self.bytes = self.values.data.cast("B")
        self.row = sparse_row(self.indptr, self.indices, self.values)

    def fill(self, positions: Sequence[int] | np.ndarray, values: memoryview | np.ndarray) -> Pinned:
        """The row with these entries, ascending by position; values are doubles, perhaps as bytes.

        No code of a user's runs in here: it could fill the same memory.
        """
        n = len(positions)
        if n > self.room:
            self.__init__(2 * n)  # type: ignore[misc]
        if isinstance(positions, np.ndarray):
            self.values[:n] = values
            self.indices[:n] = positions
        else:
            self.bytes[: 8 * n] = values  # type: ignore[assignment]
            struct.pack_into(f"{n}I", self.indices.data, 0, *positions)
        self.indptr[1] = n
        return self.row


class Plan:
    """How compiled code reads dicts with one certain order of keys: see ``engine.jit.dicts``."""

    __slots__ = ("keys", "reader", "size")

    def __init__(self, keys: tuple, positions: np.ndarray) -> None:
        order = np.argsort(positions)
        values = np.zeros(len(keys))
        self.keys = keys  # kept alive: their addresses are in the reader
        self.size = len(keys)
        (row,) = sparse_row(np.array([0, len(keys)]), positions[order], values).value
        addresses = np.array([id(key) for key in keys], np.int64)
        self.reader = Pinned((row, addresses, np.argsort(order), values, np.zeros(3, np.int64), SAFE), "dict reader")


class Features:
    """How many features there are, and what they are called."""

    def __init__(self, reserved: int | None = None) -> None:
        self.n = reserved or 0
        self.reserved = reserved
        self.names: list[Any] | None = None
        self.index: dict[Any, int] = {}
        self.plan: Plan | None = None  # for the key order that came last
        self._plans: dict[tuple, Plan] = {}
        self._met: dict[tuple, int] = {}
        self._scratch: Scratch | None = None  # made when a row comes alone

    def copy(self) -> Features:
        other = Features(self.reserved)
        other.n = self.n
        other.names = None if self.names is None else list(self.names)
        other.index = dict(self.index)
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {"n": self.n, "reserved": self.reserved, "names": self.names}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__init__(saved["reserved"])  # type: ignore[misc]
        self.n, self.names = saved["n"], saved["names"]
        self.index = {name: j for j, name in enumerate(self.names or ())}

    def name(self, names: Sequence[Any]) -> None:
        """Features come with names from now on."""
        self.names = list(names)
        self.index = {name: j for j, name in enumerate(self.names)}
        self.n = max(self.n, len(self.names))

    def forget_from(self, n: int, n_names: int | None) -> None:
        """Take back the features from number n on (a call that failed had added them)."""
        if self.n == n and n_names == (None if self.names is None else len(self.names)):
            return
        self.n = n
        self.forget_plans()
        if n_names is None:
            self.names, self.index = None, {}
        elif self.names is not None:
            for name in self.names[n_names:]:
                self.index.pop(name, None)
            del self.names[n_names:]

    def forget_plans(self) -> None:
        """Read the next dicts the slow way."""
        self.plan = None
        self._plans.clear()
        self._met.clear()

    def positions(self, names: Sequence[Any], grow: bool) -> np.ndarray:
        """Where named features stand, -1 for unknown ones; with ``grow`` those are added."""
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
            for name in names:
                if name not in index:
                    self._append(name)
        return np.fromiter((index.get(name, -1) for name in names), np.int64, len(names))

    def _append(self, name: Any) -> None:
        assert self.names is not None
        if len(self.names) >= (self.reserved or MAX_FEATURES):
            raise ValueError(
                f"Feature {name!r} is one more than the {len(self.names)} there is room for. "
                + ("Raise n_features, or leave it None." if self.reserved else "")
            )
        self.names.append(name)  # first: what is not in the list could not be taken back
        self.index[name] = len(self.names) - 1
        self.n = max(self.n, len(self.names))

    def pack(self, x: Mapping[Any, Any], grow: bool) -> Pinned:
        """One dict as a sparse row in index order; features not known are added, or left out."""
        keys, values = keys_and_values(x)
        try:
            positions = [self.index[key] for key in keys]
        except KeyError:
            positions = self.positions(keys, grow).tolist()
        if -1 in positions:
            known = [k for k, position in enumerate(positions) if position >= 0]
            keys, values = tuple(keys[k] for k in known), tuple(values[k] for k in known)
            positions = [positions[k] for k in known]
        elif positions:
            self._remember(keys, positions)
        if len(set(positions)) < len(positions):
            raise ValueError(f"Feature {repeated(keys, positions)!r} comes more than once in a row. Give it once.")
        ascending = sorted(positions)
        if ascending and ascending[-1] >= self.n:  # compiled code would believe it
            raise ValueError("A row has features whose == or hash changes its mind. Name features by text.")
        ordered = values
        if positions != ascending:
            by_position = dict(zip(positions, values, strict=True))
            positions, ordered = ascending, tuple(by_position[position] for position in ascending)
        try:
            numbers = array("d", ordered)
        except (TypeError, OverflowError) as error:
            raise not_a_number(zip(keys, values, strict=True)) from error
        return self._row(positions, memoryview(numbers).cast("B"))

    def _row(self, positions: Sequence[int] | np.ndarray, values: memoryview | np.ndarray) -> Pinned:
        """The row with these entries, in memory that the next row will be in, too."""
        if self._scratch is None:
            self._scratch = Scratch()
        return self._scratch.fill(positions, values)

    def _remember(self, keys: tuple, positions: list[int]) -> None:
        self.plan = self._plans.get(keys)
        if self.plan is None:
            if len(self._met) > 4 * PLANS:
                self._met.clear()
            count = self._met[keys] = self._met.get(keys, 0) + 1
            if count >= WORTH_A_PLAN and CAN_READ_DICTS:
                if len(self._plans) >= PLANS:
                    self._plans.clear()
                self.plan = self._plans[keys] = Plan(keys, np.array(positions, np.uint32))

    def known(self, row: Ordered) -> Pinned | None:
        """A row in order, if it has known features alone."""
        where, what = row
        n = where.shape[0]
        if self.names is not None or (n and where[n - 1] >= self.n):
            return None
        return self._row(where, what)

    def pair(self, indices: Any, values: Any, grow: bool) -> Pinned:
        """One row from (indices, values); indices that are not known are added, or left out."""
        where, what = checked_pair(indices, values)
        if where.shape[0]:
            top = int(where[-1])
            limit = len(self.names) if self.names is not None else self.reserved
            if limit is not None and top >= limit:
                known = "names" if self.names is not None else "n_features"
                raise ValueError(f"Index {top} is outside the {limit} features that {known} allows.")
            if top >= self.n:
                if grow:
                    self.n = top + 1
                else:
                    where, what = where[where < self.n], what[where < self.n]
        return self._row(where, what)


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


def not_a_number(features: Iterable[tuple[Any, Any]]) -> Exception:
    """The error for a dict with a value that is no number; it names the feature."""
    for name, value in features:
        try:
            float(value)
        except OverflowError:
            return ValueError(f"Feature {name!r} is larger than any float. Scale it.")
        except (TypeError, ValueError):
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
    if where.shape[0] and (where.min() < 0 or where.max() >= MAX_FEATURES):
        bad = where[(where < 0) | (where >= MAX_FEATURES)][0]
        raise ValueError(f"Index {bad} of a row is outside 0 … {MAX_FEATURES - 1}.")
    what = what.astype(np.float64)
    if where.shape[0] > 1 and not (where[1:] > where[:-1]).all():
        where, group = np.unique(where, return_inverse=True)
        what = np.bincount(group, weights=what, minlength=where.shape[0])
    return where, what
