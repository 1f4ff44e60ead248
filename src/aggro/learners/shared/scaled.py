"""A rule whose rows are scaled before it reads them: ``scale`` of the learners.

The functions of the rule are the same. Its state has one part more, ``scaling``, and passes that find it scale every
row on the way (``engine.scaling``); the learner's settings say how in ``scale``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, get_type_hints

import numpy as np

from aggro.engine.prepared_rows import Alone, most_entries, scale_sparse
from aggro.engine.rows import CSR
from aggro.engine.rule import Rule, grown_into
from aggro.engine.scaling import FAR, MODE, RMS, STANDARD, STILL, Scale, Scaling, new_scaling
from aggro.learners.shared.params import Choice, Constraint, Either, Flag, Kind

NONE = Kind(None, "None")
SCALE: Constraint = Either((Choice(("auto", "standard", "rms")), Flag(), NONE))
WORDS = {None: Scale.NONE, False: Scale.NONE, True: Scale.STANDARD}


def mode_of(scale: Any) -> int:
    """The parameter ``scale`` as a number."""
    return int(Scale[scale.upper()] if isinstance(scale, str) else WORDS[scale])


def scaled(rule: Rule, module: str) -> Rule:
    """The rule of scaled rows. Its state is to be found in this module, under its name."""
    hints = get_type_hints(rule.state, vars(sys.modules[rule.state.__module__]), include_extras=True)
    made: Any = NamedTuple(f"Scaled{rule.state.__name__}", [*hints.items(), ("scaling", Scaling)])  # type: ignore[misc]
    state: Callable[..., Any] = made
    state.__module__ = module
    state.__doc__ = f"The same as {rule.state.__name__}, of scaled rows."

    def init(params: Any, width: int, models: int) -> Any:
        return state(*rule.init(params, width, models), new_scaling(params.scale, width, bool(params.to_number)))

    def grow(old: Any, params: Any, width: int, models: int) -> Any:
        plain = rule.grow(without_scaling(rule, old), params, width, models)
        fresh = new_scaling(int(old.scaling.facts[0]), width, old.scaling.target.shape[0] > 0)
        return state(*plain, grown_into(old.scaling, fresh))

    def hold(old: Any, X: Any) -> Any:
        assert rule.hold is not None
        return state(*rule.hold(without_scaling(rule, old), widest(old.scaling, X)), old.scaling)

    return replace(rule, state=made, init=init, grow=grow, hold=hold if rule.hold else None, single=False)


def without_scaling(rule: Rule, state: Any) -> Any:
    """The state of the rule itself."""
    return rule.state(*state[:-1])


def widest(scaling: Scaling, X: Any) -> Any:
    """Rows as long as those of X may be when they are scaled."""
    if not isinstance(X, CSR):
        return np.empty((0, scaling.moments.shape[1]))
    n = X.indptr.shape[0] - 1
    entries = most_entries(Alone(scaling), X) // max(n, 1)
    return X._replace(indptr=np.arange(n + 1) * entries)


def scaled_row(state: Any, indices: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One row's features and values as they are scored: those given first, in order, then those that it lacks."""
    if state.scaling.facts[MODE] == Scale.NONE:
        return indices, np.clip(values, -FAR, FAR)
    alone = Alone(state.scaling)
    order = np.argsort(indices, kind="stable")
    ends, width = np.array([0, indices.shape[0]]), state.scaling.moments.shape[1]
    row = CSR(ends, indices[order].astype(np.uint32), values[order].astype(np.float64), width)
    room = int(most_entries(alone, row))
    found, numbers, stop = np.zeros(room, np.uint32), np.zeros(room), np.zeros(2, np.int64)
    scale_sparse(alone, row, stop, found, numbers, False)
    dense = dict(zip(found[: stop[1]].tolist(), numbers[: stop[1]].tolist(), strict=True))
    given = [dense.pop(j, 0.0) for j in indices.tolist()]
    return np.array([*indices.tolist(), *dense], np.int64), np.array([*given, *dense.values()])


def unit_of(scaling: Scaling) -> float:
    """What a score of 1 is in units of the target: ``engine.scaled_targets.target_unit`` in Python."""
    n, _, squares = scaling.target
    v = squares / max(n, 1.0)
    return float(np.sqrt(v)) if v > STILL else 1.0


def divisors(scaling: Scaling, which: Any) -> tuple[np.ndarray, np.ndarray]:
    """What is subtracted from each of these features, and what it is divided by; infinite if it is never learned."""
    n, mean, squares = scaling.moments[:, which]
    t = max(int(scaling.facts[1]), 1)
    mode = int(scaling.facts[0])
    lacking = 1.0 - n / t
    centre = mean * (1.0 - lacking)
    spread = np.sqrt((squares + mean * mean * n * lacking) / t)
    root = np.sqrt((squares + mean * mean * n) / np.maximum(n, 1.0))
    centred = np.full(n.shape, mode == STANDARD) if mode in (STANDARD, RMS) else 4.0 * n >= t
    divided = np.where(centred, spread, root)
    return np.where(centred, centre, 0.0), np.where(divided > 0.0, divided, np.inf)
