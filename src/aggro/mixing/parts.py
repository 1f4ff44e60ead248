"""A state taken apart into numbers that can be combined, and how each of them is.

========= ====================================================================================================
how       the value of the mixture of states 1 … n that all began as state 0
========= ====================================================================================================
MEAN      Σ ω_i v_i / Σ ω_i, with the weights ω of the partitions: weights, centres
SUM       v_0 + Σ (v_i − v_0): counts and sums of rows, of which those of the common start must count once
POOLED    (W_0 v_0 + Σ (W_i v_i − W_0 v_0)) / (W_0 + Σ (W_i − W_0)), with weights W of its own: means of rows
MOST      the largest
LEAST     the least
========= ====================================================================================================

A part says what its axes are: "f" of features and "c" of classes, which stand elsewhere in other states, and "." for
all others. What a state does not know, since it never met that feature or class, is left out of means. With "F" a
feature that was never met counts in them as the zero that it was: of a centre, or of a mean of rows.

A first axis "r" is of rows that a state keeps, as many as it happens to have. Rows are told apart by their ``keys``:
those with the same key are one, and where a state has no such row, its numbers are 0.

All sums are exact (``mixing.exact_sums``), so the order in which states are added changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from aggro.mixing.exact_sums import ExactSum, added


class How(Enum):
    """How values combine."""

    MEAN = "mean"
    SUM = "sum"
    POOLED = "pooled"
    MOST = "most"
    LEAST = "least"


class Part(NamedTuple):
    """Some numbers of a state. They may come as several terms of which they are the sum."""

    values: np.ndarray | tuple[np.ndarray, ...]
    axes: str
    how: How
    weight: float | np.ndarray = 1.0  # of POOLED, and of MEAN a factor; one number, or one for each value but of a row
    fill: float = 0.0  # of SUM, MOST and LEAST: what a state has where it knows nothing
    keys: tuple[bytes, ...] | None = None  # of an axis of rows: ascending, and each once


def mean(values: Any, axes: str, share: float | np.ndarray = 1.0, keys: tuple[bytes, ...] | None = None) -> Part:
    """Values that are averaged by the weights of the partitions, of each of which only a share may count."""
    return Part(values, axes, How.MEAN, share, 0.0, keys)


def total(values: Any, axes: str, fill: float = 0.0) -> Part:
    """Sums, of which the common start counts once."""
    return Part(values, axes, How.SUM, 1.0, fill)


def pooled(values: Any, axes: str, weight: float | np.ndarray, keys: tuple[bytes, ...] | None = None) -> Part:
    """Means with weights of their own, of which the common start counts once."""
    return Part(values, axes, How.POOLED, weight, 0.0, keys)


def most(values: Any, axes: str, fill: float = 0.0, keys: tuple[bytes, ...] | None = None) -> Part:
    """The largest of all."""
    return Part(values, axes, How.MOST, 1.0, fill, keys)


def least(values: Any, axes: str, fill: float = np.inf, keys: tuple[bytes, ...] | None = None) -> Part:
    """The least of all."""
    return Part(values, axes, How.LEAST, 1.0, fill, keys)


Parts = dict[str, Part]


class Sight(NamedTuple):
    """Where the features and classes of one state stand among those of all."""

    features: np.ndarray  # for each feature that it has met; -1 for one that is left out
    classes: np.ndarray  # for each class that it has seen
    n_features: int  # of all
    n_classes: int
    base: Any = None  # the state of the common start
    mixed: int = 1  # of the mixture: how many states,
    start: int = 0  # and how many features the common start had

    @property
    def flipped(self) -> bool:
        """Whether the one problem of two classes is the other way round here."""
        return self.n_classes <= 2 and self.classes.shape[0] > 0 and int(self.classes[0]) == 1


class Mix(NamedTuple):
    """How the states of a rule combine.

    ``take(state, params, sight)`` gives the state's parts, of features and classes in its own order: as many features
    as it has met (``sight.features``), and at least as many classes as it has seen. ``put(state, params, values,
    sight)`` fills a fresh state with the values of the mixture, whose ``sight`` is that of all; the tally is filled
    already. ``check(state, params)`` refuses states of the rule that do not combine, before they learn anything.
    """

    take: Callable[[Any, Any, Sight], Parts]
    put: Callable[[Any, Any, Mapping[str, Value], Sight], Any]
    check: Callable[[Any, Any], None] | None = None


class Value(NamedTuple):
    """The numbers of a part of the mixture, and what rounding took from them."""

    high: np.ndarray
    low: np.ndarray
    keys: tuple[bytes, ...] | None = None


class Summed(NamedTuple):
    """What was added up for a part so far."""

    how: How
    total: Any  # an ExactSum, or an array of the largest or the least
    weight: ExactSum | None = None
    keys: tuple[bytes, ...] | None = None


Sums = dict[str, Summed]


def summed(part: Part, sight: Sight, weight: float) -> Summed:
    """One state's part as a sum of one, at the places that it has among all."""
    terms = part.values if isinstance(part.values, tuple) else (part.values,)
    # No weights here: the largest and the least are the same however often a state counts.
    if part.how in (How.MOST, How.LEAST):
        found = _placed(np.asarray(terms[0], np.float64), part.axes, sight, part.fill)
        return Summed(part.how, found, None, part.keys)
    if part.how is How.SUM:
        # fill stands for what a state does not know, so it may come in with one term only.
        sums = [ExactSum.of(_placed(np.asarray(term, np.float64), part.axes, sight)) for term in terms[1:]]
        first = ExactSum.of(_placed(np.asarray(terms[0], np.float64), part.axes, sight, part.fill))
        return Summed(part.how, added(first, *sums), None, part.keys)
    # MEAN counts by the partition's weight, POOLED by its own; only the latter is taken off the start again.
    own: Any = weight * part.weight if part.how is How.MEAN else part.weight
    shape = np.shape(terms[0])
    if np.ndim(own):
        if part.keys is not None:
            # One weight serves all rows of a table, also those that other states have and this one does not.
            shape = (1, *shape[1:])  # a row that a state does not have counts as much as one that it has
        own = _placed(np.broadcast_to(np.asarray(own, np.float64), shape), part.axes, sight)
    # Σ ω v and Σ ω are kept apart, and divided only at the end: sums can be added in any order, quotients cannot.
    weighted = [ExactSum.of(_placed(np.asarray(term, np.float64), part.axes, sight), own) for term in terms]
    # The divisor counts a state only where it knows the feature or class.
    known = np.asarray(own) if np.ndim(own) else own * _known(shape, part.axes, sight)
    return Summed(part.how, added(*weighted) if len(weighted) > 1 else weighted[0], ExactSum.of(known), part.keys)


def together(all_of_them: list[Summed]) -> Summed:
    """Sums of several states as one; their order does not matter."""
    if len(all_of_them) == 1:
        return all_of_them[0]
    all_of_them, keys = aligned(all_of_them)
    first, *others = all_of_them
    # max and min do not round, so plain arrays give the same bits in any order.
    if first.how in (How.MOST, How.LEAST):
        pick = np.maximum if first.how is How.MOST else np.minimum
        found = first.total
        for other in others:
            found = pick(found, other.total)
        return Summed(first.how, found, None, keys)
    weight = None
    if first.weight is not None:
        weights = [one.weight for one in all_of_them if one.weight is not None]
        shape = np.broadcast_shapes(*(one.shape for one in weights))
        # Weights may be one number for a whole axis in one state and differ along it in another.
        weight = added(*(_widened(one, shape) for one in weights))
    return Summed(first.how, added(*(one.total for one in all_of_them)), weight, keys)


def aligned(all_of_them: list[Summed]) -> tuple[list[Summed], tuple[bytes, ...] | None]:
    """Give all sums the same rows: one for each key that any of them has, in sorted order. Also return those keys.

    Sums without keys are returned unchanged, with None.
    """
    if all_of_them[0].keys is None:
        return all_of_them, None
    # Sorted, so that the order of rows does not depend on the order in which states are added.
    keys = tuple(sorted(set().union(*(one.keys or () for one in all_of_them))))
    place = {key: k for k, key in enumerate(keys)}
    return [_with_rows(one, keys, place) for one in all_of_them], keys


def _with_rows(one: Summed, keys: tuple[bytes, ...], place: Mapping[bytes, int]) -> Summed:
    if one.keys == keys:
        return one
    at = np.array([place[key] for key in one.keys or ()], np.int64)
    if isinstance(one.total, ExactSum):
        total = ExactSum.nothing((len(keys), *one.total.shape[1:]))
        # Other rows stay zero: a state without a row adds nothing to its sum.
        total.digits[:, at], total.top[at] = one.total.digits, one.total.top
        return one._replace(total=total, keys=keys)
    # The neutral element of max or min.
    nothing = -np.inf if one.how is How.MOST else np.inf
    found = np.full((len(keys), *one.total.shape[1:]), nothing)
    found[at] = one.total
    return one._replace(total=found, keys=keys)


def value_of(found: Summed, base: Summed, n: int) -> Value:
    """The value of n states that began as the base, together."""
    if found.how in (How.MOST, How.LEAST):
        return Value(found.total, np.zeros(np.shape(found.total)), found.keys)
    # A mean of whole states: the start is in each of them, and need not be taken off.
    if found.how is How.MEAN:
        assert found.weight is not None
        return _quotient(found.total, found.weight, found.keys)
    # Each of the n states contains the start, so it is subtracted n − 1 times: Σ v_i − (n − 1) v_0.
    (found, base), keys = aligned([found, base])
    counted = added(found.total, base.total.times(1 - n))
    if found.how is How.SUM:
        return Value(*counted.value(), keys)
    assert found.weight is not None
    assert base.weight is not None
    shape = np.broadcast_shapes(found.weight.shape, base.weight.shape)
    # The weights of POOLED contain the start n times as well.
    weight = added(_widened(found.weight, shape), _widened(base.weight.times(1 - n), shape))
    return _quotient(counted, weight, keys)


def _quotient(counted: ExactSum, weight: ExactSum, keys: tuple[bytes, ...] | None) -> Value:
    by = weight.value()[0]
    # Where nobody counts, 0/0 is avoided by dividing by 1; the result is set to 0 below.
    found = counted.over(np.broadcast_to(np.where(by > 0.0, by, 1.0), counted.shape))
    return Value(np.where(by > 0.0, found, 0.0), np.zeros(counted.shape), keys)


def _widened(one: ExactSum, shape: tuple[int, ...]) -> ExactSum:
    if one.shape == shape:
        return one
    return ExactSum(np.broadcast_to(one.digits, (one.digits.shape[0], *shape)), np.broadcast_to(one.top, shape))


def _places(axes: str, sight: Sight) -> tuple[list[np.ndarray | None], list[int | None]]:
    """For each axis where its entries go, and how long it becomes; None for those that stay."""
    where: dict[str, tuple[np.ndarray, int]] = {
        "f": (sight.features, sight.n_features),
        "F": (sight.features, sight.n_features),
        "c": (sight.classes, sight.n_classes),
    }
    found = [where.get(axis) for axis in axes]
    return [None if one is None else one[0] for one in found], [None if one is None else one[1] for one in found]


def _placed(values: np.ndarray, axes: str, sight: Sight, fill: float = 0.0) -> np.ndarray:
    """The values at their places among all; what is behind those that are met or seen is left out."""
    assert values.ndim == len(axes), (values.shape, axes)
    where, lengths = _places(axes, sight)
    if all(one is None for one in where):
        return values
    whole = np.full(
        [n if length is None else length for n, length in zip(values.shape, lengths, strict=True)], fill, np.float64
    )
    # np.ix_ needs the places along every axis; axes that stay are taken whole.
    own = [
        np.arange(n) if one is None else np.flatnonzero(one >= 0) for n, one in zip(values.shape, where, strict=True)
    ]
    to = [mine if one is None else one[mine] for mine, one in zip(own, where, strict=True)]
    whole[np.ix_(*to)] = values[np.ix_(*own)]
    return whole


def _known(shape: tuple[int, ...], axes: str, sight: Sight) -> np.ndarray:
    """1 where the state knows something, else 0; of one entry along axes of which it knows all."""
    where, lengths = _places(axes, sight)
    found = np.ones([1] * len(shape))
    for axis, (one, length) in enumerate(zip(where, lengths, strict=True)):
        # Along "F" an unknown feature counts as the zero that it was; along others it is left out.
        if axes[axis] != "F" and one is not None and length is not None and one.shape[0] < length:
            mask = np.zeros(length)
            mask[one[one >= 0]] = 1.0
            found = found * mask.reshape([-1 if k == axis else 1 for k in range(len(shape))])
    return found
