"""A rule whose rows are scaled before it reads them: ``scale`` of the learners.

The functions of the rule are the same. Its state has one part more, ``scaling``, and passes that find it scale every
row on the way (``engine.prepare.scaling``); the learner's settings say how in ``scale``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, get_type_hints

import numpy as np

from aggro.engine.prepare.scaling import (
    LARGEST_SCALED,
    NO_VARIANCE,
    RMS_MODE,
    SCALE_MODE,
    SCALED_ROWS,
    STANDARD_MODE,
    Scale,
    Scaling,
    new_scaling,
    of_features,
)
from aggro.engine.prepare.transformed import Alone, most_entries, scale_many
from aggro.engine.rows import CSR
from aggro.engine.rule import Rule, grown_into
from aggro.learners.base.params import Choice, Constraint, Either, Flag, Kind

NONE = Kind(None, "None")
SCALE_PARAMETER: Constraint = Either((Choice(("auto", "standard", "rms", "target")), Flag(), NONE))
SCALE_WORDS = {
    None: Scale.NONE,
    False: Scale.NONE,
    True: Scale.STANDARD,
    "auto": Scale.UNIT,
    "standard": Scale.STANDARD,
    "rms": Scale.RMS,
    "target": Scale.TARGET,
}


# Modes of learners without an intercept, where they are not DIVIDED.
DIVIDED_SCALES = {Scale.NONE: Scale.NONE, Scale.TARGET: Scale.TARGET_DIVIDED, Scale.UNIT: Scale.UNIT_DIVIDED}
LATER_SCALES = {Scale.UNIT: Scale.AUTO, Scale.UNIT_DIVIDED: Scale.DIVIDED}  # modes that others may become


def mode_of(scale: Any, centred: bool = True) -> int:
    """The number of the mode for the parameter ``scale``; without an intercept, features are not ``centred``."""
    mode = SCALE_WORDS[scale]
    return int(mode if centred else DIVIDED_SCALES.get(mode, Scale.DIVIDED))


def scales_features(scale: Any) -> bool:
    """Whether features are scaled, and not targets alone."""
    return bool(SCALE_WORDS[scale] not in (Scale.NONE, Scale.TARGET))


def is_of(mode: int, scale: Any) -> bool:
    """Whether a state of this mode is one that ``scale`` asks for, with or without an intercept."""
    begins = {Scale(mode_of(scale, centred)) for centred in (True, False)}
    return mode in begins | {LATER_SCALES.get(begin, begin) for begin in begins}


def scaled(rule: Rule, module: str) -> Rule:
    """Make the rule that learns from scaled rows. The caller's module must bind the new state class to its name."""
    # The fields keep their annotations, by which states from files are checked.
    hints = get_type_hints(rule.state, vars(sys.modules[rule.state.__module__]), include_extras=True)
    made: Any = NamedTuple(f"Scaled{rule.state.__name__}", [*hints.items(), ("scaling", Scaling)])  # type: ignore[misc]
    state: Callable[..., Any] = made
    # Pickle finds a class by its module and name.
    state.__module__ = module
    state.__doc__ = f"The same as {rule.state.__name__}, of scaled rows."

    def init(params: Any, width: int, models: int) -> Any:
        return state(*rule.init(params, width, models), new_scaling(params.scale, width, bool(params.to_number)))

    # The mode in the state counts, not that of the settings: ``auto`` may have left ``unit`` for good.
    def grow(old: Any, params: Any, width: int, models: int) -> Any:
        plain = rule.grow(without_scaling(rule, old), params, width, models)
        fresh = new_scaling(int(old.scaling.facts[SCALE_MODE]), width, old.scaling.target.shape[0] > 0)
        return state(*plain, grown_into(old.scaling, fresh))

    def hold(old: Any, X: Any) -> Any:
        # A row that the rule keeps is a scaled one, which may have more entries than the row given.
        assert rule.hold is not None
        return state(*rule.hold(without_scaling(rule, old), widest(old.scaling, X)), old.scaling)

    # Scaling works in double precision, so single-precision rows are converted first.
    return replace(rule, state=made, init=init, grow=grow, hold=hold if rule.hold else None, single=False)


def without_scaling(rule: Rule, state: Any) -> Any:
    """The part of a scaled state that belongs to the rule itself."""
    return rule.state(*state[:-1])


def widest(scaling: Scaling, X: Any) -> Any:
    """Rows as long as those of X may become when they are scaled, for ``hold`` to make room by."""
    if not isinstance(X, CSR):
        return np.empty((0, scaling.moments.shape[1]))
    n = X.indptr.shape[0] - 1
    # The bound is the same for every row, so rows of equal length stand for those of X.
    entries = most_entries(Alone(scaling), X) // max(n, 1)
    return X._replace(indptr=np.arange(n + 1) * entries)


def scaled_row(state: Any, indices: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scale one row as it is scored: features and values, first those given, in order, then those that it lacks."""
    if of_features(state.scaling.facts[SCALE_MODE]) == Scale.NONE:
        # Features are not scaled: values are cut where the compiled loop cuts them.
        return indices, np.clip(values, -LARGEST_SCALED, LARGEST_SCALED)
    alone = Alone(state.scaling)
    # The compiled loop reads entries in ascending order; the caller's order is restored below.
    order = np.argsort(indices, kind="stable")
    ends, width = np.array([0, indices.shape[0]]), state.scaling.moments.shape[1]
    row = CSR(ends, indices[order].astype(np.uint32), values[order].astype(np.float64), width)
    room = int(most_entries(alone, row))
    # Centred features are not 0 where the row lacks them, so the scaled row may be longer.
    Z = CSR(np.zeros(2, np.int64), np.zeros(room, np.uint32), np.zeros(room), width)
    scale_many(alone, row, Z, np.zeros(0, np.int64), False)
    # What remains in ``dense`` after the given features are taken out are those that the row lacks.
    dense = dict(zip(Z.indices[: Z.indptr[1]].tolist(), Z.data[: Z.indptr[1]].tolist(), strict=True))
    given = [dense.pop(j, 0.0) for j in indices.tolist()]
    return np.array([*indices.tolist(), *dense], np.int64), np.array([*given, *dense.values()])


def unit_of(target: np.ndarray) -> float:
    """The unit of scores in units of the target, as ``engine.prepare.targets.unit_among`` computes it, in Python."""
    n, _, squares = target
    v = squares / max(n, 1.0)
    return float(np.sqrt(v)) if v > NO_VARIANCE else 1.0


def divisors(scaling: Scaling, which: Any) -> tuple[np.ndarray, np.ndarray]:
    """The centre that is subtracted from each feature, and its divisor; infinite if the feature is never learned."""
    n, mean, squares = scaling.moments[:, which]
    mode = of_features(int(scaling.facts[SCALE_MODE]))
    if mode == Scale.NONE:
        return np.zeros(n.shape), np.ones(n.shape)
    t = max(int(scaling.facts[SCALED_ROWS]), 1)
    # A share of t − n rows had the value 0: m = a·n/t.
    lacking = 1.0 - n / t
    centre = mean * (1.0 - lacking)
    # v = (c + a²·n·(t − n)/t)/t over all rows, and s = (c + a²·n)/n over the values that are not 0.
    variance = (squares + mean * mean * n * lacking) / t
    power = (squares + mean * mean * n) / np.maximum(n, 1.0)
    # Auto centres what at least a quarter of the rows have; the rest keeps its zeros and is divided by √s.
    centred = np.full(n.shape, mode == STANDARD_MODE) if mode in (STANDARD_MODE, RMS_MODE) else 4.0 * n >= t
    divided = np.where(centred, variance, power)
    # An infinite divisor makes the weight of a feature that has not varied 0.
    return np.where(centred, centre, 0.0), np.where(divided > NO_VARIANCE, np.sqrt(divided), np.inf)
