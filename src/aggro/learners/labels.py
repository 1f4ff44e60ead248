"""Labels of any kind in, class numbers out, in order of first appearance.

Numbering by appearance is what makes a model independent of how its stream is cut: a class that is
met later never renumbers the earlier ones. ``names`` gives the sorted order that users see.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from aggro.engine.compile import kernel

__all__ = ["Labels"]

SEARCHED = 64  # up to here a linear search in a compiled loop beats hashing


@kernel
def encode_two(values, known, codes):
    """Number labels of two known classes without a branch; False if there are others."""
    zero, one = known[0], known[1]
    others = False
    for i in range(values.shape[0]):
        codes[i] = np.float64(values[i] == one)
        others |= (values[i] != one) & (values[i] != zero)
    return not others


@kernel
def encode_integers(values, weights, known, n_known, codes, firsts):
    """Number integer labels by a search among the known; returns how many are known then, or -1."""
    last = 0
    for i in range(values.shape[0]):
        if n_known == 2 and weights.shape[0] == 0 and encode_two(values[i:], known, codes[i:]):
            return 2
        if weights.shape[0] and weights[i] == 0.0:
            codes[i] = 0.0
            continue
        if n_known == 0 or known[last] != values[i]:
            last = 0
            while last < n_known and known[last] != values[i]:
                last += 1
            if last == n_known:
                if n_known == known.shape[0]:
                    return -1
                known[n_known] = values[i]
                firsts[n_known] = i
                n_known += 1
        codes[i] = last
    return n_known


class Labels:
    """The classes a classifier knows: seen ones have a number, reserved ones only a name."""

    def __init__(self) -> None:
        self.codes: dict[Any, int] = {}
        self.reserved: list[Any] = []
        self._forget_views()

    def _forget_views(self) -> None:
        self._names: np.ndarray | None = None
        self._order: np.ndarray | None = None
        self._pair: tuple[Any, Any] | None = None

    def copy(self) -> Labels:
        other = Labels()
        other.codes = dict(self.codes)
        other.reserved = list(self.reserved)
        return other

    @property
    def names(self) -> np.ndarray:
        """All classes, seen and reserved, sorted."""
        if self._names is None:
            self._names = sorted_names([*self.codes, *self.reserved])
        return self._names

    def reserve(self, classes: Any) -> None:
        """Give names to classes that have not been seen."""
        for label in plain_labels(np.asarray(classes)):
            if label not in self.codes and label not in self.reserved:
                self.reserved.append(label)
        self._forget_views()
        _ = self.names  # labels of kinds that cannot be sorted together fail here, at the door

    def code(self, label: Any) -> int:
        """The number of a seen label, which a new label becomes here."""
        try:
            return self.codes[label]
        except KeyError:
            pass
        (plain,) = plain_labels(np.asarray([label]))
        if plain in self.codes:
            return self.codes[plain]
        self._add([plain])
        return self.codes[plain]

    def encode(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Numbers for an array of labels, and the row at which each number first appears.

        Rows of weight 0 are not there. The second array has one entry per known class, -1 for those
        known before.
        """
        before = len(self.codes)
        result = self._encode_numbers(y, weights) if y.dtype.kind in "iufb" else None
        codes, added, firsts = result if result is not None else self._encode_any(y, weights)
        self._add(added)
        return codes, np.concatenate([np.full(before, -1), firsts]).astype(np.int64)

    def _encode_numbers(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, list, np.ndarray] | None:
        if y.dtype.kind == "f" and not np.array_equal(y, np.trunc(y)):
            raise ValueError(
                "Unknown label type: continuous. Maybe you are trying to fit a classifier, which expects discrete "
                "classes on a regression target with continuous values."
            )
        seen = list(self.codes)
        if len(seen) >= SEARCHED or any(isinstance(label, str) for label in seen):
            return None
        known = np.zeros(SEARCHED, np.int64)
        known[: len(seen)] = seen
        firsts = np.full(SEARCHED, -1, np.int64)
        codes = np.empty(y.shape[0])
        values = np.ascontiguousarray(y, np.int64)
        n_known = encode_integers(values, weights, known, len(seen), codes, firsts)
        if n_known < 0:
            return None
        firsts = firsts[len(seen) : n_known]
        return codes, plain_labels(y[firsts]), firsts

    def _encode_any(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, list, np.ndarray]:
        codes = np.zeros(y.shape[0])
        table = dict(self.codes)
        firsts = []
        live = weights != 0.0 if weights.shape[0] else np.ones(y.shape[0], bool)
        for i, label in enumerate(plain_labels(y)):
            if live[i]:
                code = table.setdefault(label, len(table))
                if code == len(self.codes) + len(firsts):
                    firsts.append(i)
                codes[i] = code
        return codes, list(table)[len(self.codes) :], np.asarray(firsts, np.int64)

    def _add(self, labels: list[Any]) -> None:
        if not labels:
            return
        self._forget_views()
        names = sorted_names([*self.codes, *self.reserved, *labels])
        for label in labels:
            self.codes[label] = len(self.codes)
        self.reserved = [label for label in self.reserved if label not in self.codes]
        self._names = names

    def forget_from(self, n: int) -> None:
        """Take back the classes from number n on (a call that failed had added them)."""
        for label in list(self.codes)[n:]:
            del self.codes[label]
        self._forget_views()

    @property
    def order(self) -> np.ndarray:
        """For each class in sorted order its number, -1 for one that is only reserved."""
        if self._order is None:
            self._order = np.array([self.codes.get(label, -1) for label in plain_labels(self.names)], np.int64)
        return self._order

    @property
    def pair(self) -> tuple[Any, Any]:
        """What a rule with one score f predicts where f < 0, and where f > 0."""
        if self._pair is None:
            seen = list(self.codes)
            self._pair = (seen[0], seen[-1])
        return self._pair


def plain_labels(y: np.ndarray) -> list[Any]:
    """The labels as Python objects, refused where they are not labels."""
    if y.dtype.kind == "f" and not np.array_equal(y, np.trunc(y)):
        raise ValueError(f"Unknown label type: continuous. Labels must be strings, integers or booleans, got {y[:3]}.")
    if y.dtype.kind not in "iufbUSO":
        raise ValueError(f"Unknown label type: {y.dtype}. Labels must be strings, integers or booleans.")
    labels = y.tolist()
    if y.dtype.kind == "O" and not all(isinstance(v, str | int | float | bool) for v in labels):
        bad = next(v for v in labels if not isinstance(v, str | int | float | bool))
        raise ValueError(f"Unknown label type: {type(bad).__name__}. Labels must be strings, integers or booleans.")
    return labels


def sorted_names(labels: Iterable[Any]) -> np.ndarray:
    """Labels as one sorted array."""
    unique = list(dict.fromkeys(labels))
    if any(isinstance(v, str) for v in unique) and not all(isinstance(v, str) for v in unique):
        odd = next(v for v in unique if not isinstance(v, str))
        text = next(v for v in unique if isinstance(v, str))
        raise TypeError(
            f"Labels must all be strings or all be numbers, got {text!r} and {odd!r}: argument must be a string or a "
            "number of one kind. Convert y to one type."
        )
    return np.array(sorted(unique))
