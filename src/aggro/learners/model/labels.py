"""Labels of any kind in, class numbers out, in order of first appearance.

Numbering by appearance is what makes a model independent of how its stream is cut: a class that is
met later never renumbers the earlier ones. ``names`` gives the sorted order that users see.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from aggro.engine.jit.compile import inline, kernel

u8 = np.uint64
INT64_LABELS = 2**63
SEARCHED = 64  # up to here a linear search in a compiled loop beats hashing
PLAIN_LABELS = (str, bool, int, float)
AS_PLAIN: dict[type, Any] = {str: str.__str__, int: int.__int__, float: float.__float__}  # bool has no subclasses
EXACT_FLOATS = 2.0**53  # below this, floats are whole numbers one by one
TOO_LONG = 10**1000  # Python does not write integers of 4,300 digits, so a model file could not hold them
LONGEST_LABEL = 64  # of a label in an array; longer ones are compared as objects
MANY_TEXTS = 1000  # texts, for which a table pays


@kernel
def encode_two(values, known, codes):
    """Number labels of two known classes without a branch; False if there are others."""
    zero, one = known[0], known[1]
    others = False
    for i in range(values.shape[0]):
        # No branch: the loop may compare several labels with one instruction.
        codes[i] = np.float64(values[i] == one)
        others |= (values[i] != one) & (values[i] != zero)
    return not others


@kernel
def whole_and_exact(values):
    """Whether all floats are whole numbers below 2^53, where none stands for its neighbour too."""
    good = True
    for i in range(u8(values.shape[0])):
        good &= (abs(values[i]) < EXACT_FLOATS) & (np.trunc(values[i]) == values[i])
    return good


@inline
def same(a, i, b, k):
    """Whether label i of a is label k of b: a number, or a row of letters."""
    if a.ndim == 1:
        return a[i] == b[k]
    else:
        equal = True
        for j in range(a.shape[1]):
            equal &= a[i, j] == b[k, j]
        return equal


@kernel
def encode_known(values, weights, known, n_known, codes, firsts):
    """Number labels by a search among the known; returns how many are known then, or -1 if there is no room."""
    # Labels often come in runs, so the one before is compared first.
    last = 0
    untried = weights.shape[0] == 0
    for i in range(values.shape[0]):
        if values.ndim == 1:  # known when compiled
            # Two known classes are the common case: the rest of the array is tried without branches, once. If it holds
            # others, the search goes on from here.
            if n_known == 2 and untried:
                untried = False
                if encode_two(values[i:], known, codes[i:]):
                    return 2
        # A row of weight 0 is not there: its label is not learned, and its number does not matter.
        if weights.shape[0] and weights[i] == 0.0:
            codes[i] = 0.0
            continue
        if n_known == 0 or not same(values, i, known, last):
            last = 0
            while last < n_known and not same(values, i, known, last):
                last += 1
            if last == n_known:
                # No room for another label: the caller goes on with a dict.
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
        named = self.names.tolist()
        numbered = sorted((code, place) for place, code in enumerate(self.order.tolist()) if code >= 0)
        self.by_code = [named[place] for _, place in numbered]  # as predictions have them

    def __getstate__(self) -> tuple[list[Any], tuple[Any, ...]]:
        return [*self.codes], self.reserved  # a list: skops makes text of the keys of a dict

    def __setstate__(self, saved: tuple[list[Any], tuple[Any, ...]]) -> None:
        seen, reserved = saved
        self.__init__({label: code for code, label in enumerate(seen)}, reserved)  # type: ignore[misc]

    def reserving(self, classes: Any) -> Labels:
        """With names for classes that may not have been seen."""
        labels = plain_labels(np.asarray(classes))
        return Labels(self.codes, (*self.reserved, *labels))

    def adding(self, labels: list[Any]) -> Labels:
        """With these new classes, numbered in this order."""
        if not labels:
            return self
        # A copy: labels in use by readers never change.
        codes = dict(self.codes)
        for label in labels:
            codes[label] = len(codes)
        return Labels(codes, self.reserved)

    def with_label(self, label: Any) -> tuple[Labels, int]:
        """The labels with this one among them, and its number."""
        # An array of one element, so that lists and other sequences are refused as labels.
        one = np.asarray([label])
        if one.shape != (1,):
            raise ValueError(f"The label of a row must be a string, an integer or a boolean, got {label!r}.")
        (plain,) = plain_labels(one)
        labels = self if plain in self.codes else self.adding([plain])
        return labels, labels.codes[plain]

    def encode(self, y: np.ndarray, weights: np.ndarray) -> tuple[Labels, np.ndarray, np.ndarray]:
        """The labels with those of an array among them, its numbers, and where each number first appears.

        Rows of weight 0 are not there. The last array has one entry per known class, -1 for those known
        before.
        """
        result = None
        # From the quickest to the slowest way; one that does not apply returns None, and the last one takes everything.
        if y.dtype.kind in "iufb":
            result = self._encode_numbers(y, weights)
        elif y.shape[0] >= MANY_TEXTS and y.dtype.kind in "UO":
            result = self._encode_many(y, weights)
        elif y.dtype.kind == "U":
            result = self._encode_text(y, weights)
        codes, added, firsts = result if result is not None else self._encode_any(y, weights)
        # Numbers that were known before have no first row here: −1.
        return self.adding(added), codes, np.concatenate([np.full(len(self.codes), -1, np.int64), firsts])

    def _encode_numbers(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, list, np.ndarray] | None:
        plain = are_plain_floats(y)  # or else looked at in more than one reading, to say what is wrong
        if not plain and y.dtype.kind == "f" and not np.array_equal(y, np.trunc(y)):
            raise ValueError(
                "Unknown label type: continuous. Maybe you are trying to fit a classifier, which expects discrete "
                "classes on a regression target with continuous values."
            )
        if not plain:
            check_exact(y)
        seen = list(self.codes)
        # A linear search does not pay for many classes, and int64 holds no text and no larger numbers.
        if len(seen) >= SEARCHED or any(isinstance(label, str) or abs(label) >= INT64_LABELS for label in seen):
            return None
        if not plain and y.dtype.kind in "fu" and y.shape[0] and np.abs(y).max() >= INT64_LABELS:
            return None
        known = np.zeros(SEARCHED, np.int64)
        known[: len(seen)] = seen
        return self._search(y, np.ascontiguousarray(y, np.int64), known, weights)

    def _encode_many(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, list, np.ndarray] | None:
        """For many texts; a table of those that are known has to be made first."""
        from aggro.learners.model.text_labels import number_array, number_texts

        numbered = (number_array if y.dtype.kind == "U" else number_texts)(y, weights, self.codes)
        if numbered is None:
            return None
        return numbered.codes, numbered.added, np.array(numbered.firsts, np.int64)

    def _encode_text(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, list, np.ndarray] | None:
        seen = list(self.codes)
        if len(seen) >= SEARCHED or not all(isinstance(label, str) and label[-1:] != "\0" for label in seen):
            return None  # arrays do not keep a NUL at the end
        # As wide as the widest label, so that letters compare position by position.
        width = max([y.dtype.itemsize // 4, 1, *map(len, seen)])
        if width > LONGEST_LABEL:
            return None
        known = np.zeros(SEARCHED, f"<U{width}")
        known[: len(seen)] = seen
        # Letters as numbers: a label is a row of 32-bit words.
        letters = np.ascontiguousarray(y, f"<U{width}").view(np.uint32).reshape(-1, width)
        return self._search(y, letters, known.view(np.uint32).reshape(-1, width), weights)

    def _search(
        self, y: np.ndarray, values: np.ndarray, known: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, list, np.ndarray] | None:
        """Numbers, new labels and where they appear first; None if they are too many to be searched."""
        before = len(self.codes)
        codes, firsts = np.empty(y.shape[0]), np.full(SEARCHED, -1, np.int64)
        n_known = encode_known(values, weights, known, before, codes, firsts)
        if n_known < 0:
            return None
        firsts = firsts[before:n_known]
        return codes, plain_labels(y[firsts]), firsts

    def _encode_any(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, list, np.ndarray]:
        """For objects and for many classes; the interpreter's own loops, over what a dict has of each label."""
        labels, live = plain_labels(y), None
        if weights.shape[0] and not weights.all():
            # Labels of rows of weight 0 are not learned, so only live rows are numbered.
            live = np.flatnonzero(weights)
            labels = [labels[i] for i in live.tolist()]
        # A dict keeps the order of first appearance, which is that of the class numbers.
        added = [label for label in dict.fromkeys(labels) if label not in self.codes]
        firsts = np.empty(0, np.int64)
        if added:
            # Built from the end, so that the first place of each label is the one that stays.
            where = dict(zip(reversed(labels), range(len(labels) - 1, -1, -1), strict=True))
            firsts = np.array([where[label] for label in added], np.int64)
        table = {**self.codes, **{label: len(self.codes) + k for k, label in enumerate(added)}}
        codes = np.fromiter(map(table.__getitem__, labels), np.float64, len(labels))
        if live is not None:
            # Back to the places among all rows; the number of a row of weight 0 does not matter.
            whole = np.zeros(y.shape[0])
            whole[live] = codes
            codes, firsts = whole, live[firsts]
        return codes, added, firsts


def unpacked(y: Any) -> Any:
    """Labels in an array, where that can be had sooner than NumPy and pandas give it: the labels of theirs."""
    # A list of texts is numbered in compiled code and comes back as letters, which compare sooner than objects.
    if type(y) is list and len(y) >= MANY_TEXTS and type(y[0]) is str:
        texts = np.array(y, object)
        numbered = NO_LABELS._encode_many(texts, np.empty(0)) if texts.ndim == 1 else None
        if numbered is not None:
            return np.array(numbered[1])[numbered[0].astype(np.intp)]
    dtype = getattr(y, "dtype", None)
    if hasattr(y, "factorize") and not isinstance(dtype, np.dtype) and getattr(dtype, "kind", "") == "O":
        # Columns in pyarrow's memory are numbered without making a Python object of each label.
        if len(y) >= MANY_TEXTS and hasattr(getattr(y, "array", y), "__arrow_array__"):
            from aggro.learners.model.text_labels import texts_of

            in_letters = texts_of(getattr(y, "array", y).__arrow_array__())
            if in_letters is not None:
                return in_letters
        codes, names = y.factorize()  # columns of categories, or of texts in pyarrow's memory
        if codes.shape[0] and codes.min() >= 0:  # none is missing
            return np.asarray(names)[codes]
    return y


def are_plain_floats(y: np.ndarray) -> bool:
    """Whether labels are floats that nothing is to be said against; False where that cannot be said soon."""
    if y.dtype != np.float64 or y.ndim != 1 or not (y.flags.c_contiguous and y.flags.aligned):
        return False
    # Read-only, as compiled code takes all data.
    view = y.view()
    view.flags.writeable = False
    return bool(whole_and_exact(view))


def all_same(y: np.ndarray) -> bool:
    """Whether all labels are the first one; most arrays tell soon."""
    # Windows that double: arrays that differ early cost little, and others are compared in large pieces.
    start, size = 0, 64
    while start < y.shape[0]:
        if not (y[start : start + size] == y[0]).all():
            return False
        start, size = start + size, 2 * size
    return True


def plain_labels(y: np.ndarray) -> list[Any]:
    """The labels as Python objects, refused where they are not labels."""
    # Floats are accepted as labels only if they are whole numbers.
    if y.dtype.kind == "f" and not np.array_equal(y, np.trunc(y)):
        raise ValueError(f"Unknown label type: continuous. Labels must be strings, integers or booleans, got {y[:3]}.")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("Input y contains infinity.")
    check_exact(y)
    if y.dtype.kind not in "iufbUSO":
        raise ValueError(f"Unknown label type: {y.dtype}. Labels must be strings, integers or booleans.")
    labels: list[Any] = y.tolist()
    if y.dtype.kind == "O":
        # Kinds instead of labels are checked: there are few, whatever the number of rows.
        kinds = dict.fromkeys(map(type, labels))
        for kind in kinds:
            if not issubclass(kind, PLAIN_LABELS):
                raise ValueError(f"Unknown label type: {kind.__name__}. Labels must be strings, integers or booleans.")
            if issubclass(kind, float):
                check_exact(np.array([label for label in labels if isinstance(label, float)]))
            if issubclass(kind, int) and any(isinstance(label, int) and abs(label) >= TOO_LONG for label in labels):
                raise ValueError("A label is an integer of more than 1,000 digits. Give such labels as text.")
        # A subclass may compare by code of its own, so its labels become objects of the plain kind.
        if not kinds.keys() <= set(PLAIN_LABELS):
            labels = list(map(plain_label, labels))
    return labels


def plain_label(label: Any) -> Any:
    """A label of one of the plain types: subclasses may say now this, now that of whether they are equal."""
    kind = next(kind for kind in PLAIN_LABELS if issubclass(type(label), kind))
    return label if type(label) is kind else AS_PLAIN[kind](label)


def check_exact(y: np.ndarray) -> None:
    """Refuse floats so large that two different labels may have been rounded to one."""
    if y.dtype.kind == "f" and (np.abs(y) >= EXACT_FLOATS).any():
        shown = y[np.abs(y) >= EXACT_FLOATS][0]
        raise ValueError(
            f"The label {shown:.0f} is a float of 2^53 or more, where different labels become one float. "
            "Give such labels as integers or strings."
        )


def sorted_names(labels: Iterable[Any]) -> np.ndarray:
    """Labels as one sorted array."""
    # Text and numbers have no common order, so ``sorted`` would fail without saying which labels differ.
    unique = list(dict.fromkeys(labels))
    if any(isinstance(v, str) for v in unique) and not all(isinstance(v, str) for v in unique):
        odd = next(v for v in unique if not isinstance(v, str))
        text = next(v for v in unique if isinstance(v, str))
        raise TypeError(
            f"Labels must all be strings or all be numbers, got {text!r} and {odd!r}: argument must be a string or a "
            "number of one kind. Convert y to one type."
        )
    names = sorted(unique)
    array = np.array(names)
    if array.dtype.kind == "f" and any(abs(v) >= EXACT_FLOATS for v in names):  # integers among floats, or of two kinds
        array = np.array([int(v) for v in names])
        if array.dtype.kind == "f":
            array = np.array([int(v) for v in names], object)
    return array


NO_LABELS = Labels()
