"""The features a model knows, by position and perhaps by name, and one row packed for the kernel.

Rows that come as dicts are packed in index order, whatever the order of their keys, so a row means
the same sum of the same products each time. A key order that comes again is remembered as a plan: a
getter that reads the dict in index order and a buffer that is filled with one call.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from aggro.engine.rows import CSR

__all__ = ["MAX_FEATURES", "Features", "frozen", "pair_row"]

MAX_FEATURES = 2**31 - 1  # indices are 32 bits wide
PLANS = 64
WORTH_A_PLAN = 4  # times a key order must come before it is remembered


def frozen(array: np.ndarray) -> np.ndarray:
    """A read-only view: to Numba a type of its own, so data always goes in as one."""
    view = array.view()
    view.flags.writeable = False
    return view


def sparse_row(indices: np.ndarray, values: np.ndarray) -> CSR:
    return CSR(frozen(np.array([0, indices.shape[0]])), frozen(indices), frozen(values), 0)


class Plan:
    """How to pack dicts with one certain key order."""

    __slots__ = ("fill", "known_to", "read", "row", "single")

    def __init__(self, keys: Sequence[Any], positions: np.ndarray, known_to: int | None) -> None:
        order = np.argsort(positions)
        values = np.zeros(len(keys))
        self.row = sparse_row(positions[order], values)
        self.fill = partial(struct.Struct(f"{len(keys)}d").pack_into, values, 0)
        self.read = itemgetter(*(keys[i] for i in order))
        self.single = len(keys) == 1
        self.known_to = known_to  # built while some keys were unknown and this many features known


class Features:
    """How many features there are, and what they are called."""

    def __init__(self, reserved: int | None = None) -> None:
        self.n = reserved or 0
        self.reserved = reserved
        self.names: list[Any] | None = None
        self.index: dict[Any, int] = {}
        self._plans: dict[tuple, Plan] = {}
        self._met: dict[tuple, int] = {}

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
        self.n = n
        if n_names is None:
            self.names, self.index = None, {}
        elif self.names is not None:
            for name in self.names[n_names:]:
                del self.index[name]
            del self.names[n_names:]

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
        self.index[name] = len(self.names)
        self.names.append(name)
        self.n = max(self.n, len(self.names))

    def pack(self, x: Mapping[Any, Any], grow: bool) -> CSR:
        """One dict as a sparse row, in index order."""
        keys = tuple(x)
        plan = self._plans.get(keys)
        if plan is not None and (plan.known_to is None or (plan.known_to == self.n and not grow)):
            try:
                plan.fill(plan.read(x)) if plan.single else plan.fill(*plan.read(x))
            except (struct.error, TypeError) as error:
                raise not_a_number(x) from error
            return plan.row
        return self._pack_slowly(x, keys, grow)

    def _pack_slowly(self, x: Mapping[Any, Any], keys: tuple, grow: bool) -> CSR:
        try:
            values = np.fromiter(x.values(), np.float64, len(keys))
        except (TypeError, ValueError) as error:
            raise not_a_number(x) from error
        positions = self.positions(keys, grow)
        known = positions >= 0
        if not known.all():
            positions, values = positions[known], values[known]
        count = self._met.get(keys, 0) + 1
        if len(self._met) > 4 * PLANS:
            self._met.clear()
        self._met[keys] = count
        if count >= WORTH_A_PLAN and positions.shape[0]:
            if len(self._plans) >= PLANS:
                self._plans.clear()
            known_keys = [key for key, is_known in zip(keys, known, strict=True) if is_known]
            self._plans[keys] = Plan(known_keys, positions.astype(np.uint32), None if known.all() else self.n)
        order = np.argsort(positions)
        return sparse_row(positions[order].astype(np.uint32), values[order])


def not_a_number(x: Mapping[Any, Any]) -> TypeError:
    """The error for a dict with a value that is no number; it names the feature."""
    for name, value in x.items():
        try:
            float(value)
        except (TypeError, ValueError):
            return TypeError(
                f"Feature {name!r} is {value!r}, which is not a number. "
                "Give categories as features of their own, such as {'colour=red': 1}."
            )
        if isinstance(value, str):
            return TypeError(f"Feature {name!r} is the text {value!r}. Give it as a number.")
    return TypeError("Every feature's value must be a number.")


def pair_row(indices: Any, values: Any) -> CSR:
    """One row from (indices, values): sorted, and repeated indices summed."""
    where = np.asarray(indices)
    what = np.asarray(values)
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
    return sparse_row(where.astype(np.uint32), what)
