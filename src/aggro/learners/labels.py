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

WORD = 2**63
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
    untried = weights.shape[0] == 0
    for i in range(values.shape[0]):
        if n_known == 2 and untried:
            untried = False
            if encode_two(values[i:], known, codes[i:]):
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
    """The classes a classifier knows: seen ones have a number, reserved ones only a name.

    Never changed: what adds a class gives new ``Labels``, so a reader's view stays whole.
    """

    def __init__(self, codes: dict[Any, int] | None = None, reserved: tuple[Any, ...] = ()) -> None:
        self.codes: dict[Any, int] = codes or {}
        self.reserved = tuple(label for label in dict.fromkeys(reserved) if label not in self.codes)
        self.names = sorted_names([*self.codes, *self.reserved])  # all classes, sorted
        # For each class in sorted order its number, -1 for one that is only reserved.
        self.order = np.array([self.codes.get(label, -1) for label in plain_labels(self.names)], np.int64)
        seen = list(self.codes)
        self.pair = (seen[0], seen[-1]) if seen else None  # of a rule with one score f: where f < 0, f > 0

    def __getstate__(self) -> tuple[dict[Any, int], tuple[Any, ...]]:
        return self.codes, self.reserved

    def __setstate__(self, saved: tuple[dict[Any, int], tuple[Any, ...]]) -> None:
        self.__init__(*saved)  # type: ignore[misc]

    def reserving(self, classes: Any) -> Labels:
        """With names for classes that may not have been seen."""
        labels = plain_labels(np.asarray(classes))
        return Labels(self.codes, (*self.reserved, *labels))

    def adding(self, labels: list[Any]) -> Labels:
        """With these new classes, numbered in this order."""
        if not labels:
            return self
        codes = dict(self.codes)
        for label in labels:
            codes[label] = len(codes)
        return Labels(codes, self.reserved)

    def with_label(self, label: Any) -> tuple[Labels, int]:
        """The labels with this one among them, and its number."""
        (plain,) = plain_labels(np.asarray([label]))
        labels = self if plain in self.codes else self.adding([plain])
        return labels, labels.codes[plain]

    def encode(self, y: np.ndarray, weights: np.ndarray) -> tuple[Labels, np.ndarray, np.ndarray]:
        """The labels with those of an array among them, its numbers, and where each number first appears.

        Rows of weight 0 are not there. The last array has one entry per known class, -1 for those known
        before.
        """
        result = self._encode_numbers(y, weights) if y.dtype.kind in "iufb" else None
        codes, added, firsts = result if result is not None else self._encode_any(y, weights)
        return self.adding(added), codes, np.concatenate([np.full(len(self.codes), -1, np.int64), firsts])

    def _encode_numbers(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, list, np.ndarray] | None:
        if y.dtype.kind == "f" and not np.array_equal(y, np.trunc(y)):
            raise ValueError(
                "Unknown label type: continuous. Maybe you are trying to fit a classifier, which expects discrete "
                "classes on a regression target with continuous values."
            )
        seen = list(self.codes)
        if len(seen) >= SEARCHED or any(isinstance(label, str) or abs(label) >= WORD for label in seen):
            return None
        if y.dtype.kind in "fu" and y.shape[0] and np.abs(y).max() >= WORD:
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
        firsts: list[int] = []
        live = weights != 0.0 if weights.shape[0] else np.ones(y.shape[0], bool)
        for i, label in enumerate(plain_labels(y)):
            if live[i]:
                code = table.setdefault(label, len(table))
                if code == len(self.codes) + len(firsts):
                    firsts.append(i)
                codes[i] = code
        return codes, list(table)[len(self.codes) :], np.asarray(firsts, np.int64)


def plain_labels(y: np.ndarray) -> list[Any]:
    """The labels as Python objects, refused where they are not labels."""
    if y.dtype.kind == "f" and not np.array_equal(y, np.trunc(y)):
        raise ValueError(f"Unknown label type: continuous. Labels must be strings, integers or booleans, got {y[:3]}.")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("Input y contains infinity.")
    if y.dtype.kind not in "iufbUSO":
        raise ValueError(f"Unknown label type: {y.dtype}. Labels must be strings, integers or booleans.")
    labels: list[Any] = y.tolist()
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
