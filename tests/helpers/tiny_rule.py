"""A rule that learns nothing and writes down what it is given: for tests of the loops around rules.

The score of a row (x, …) is 2x, and −x for the model that predicts. A row with x above 100 is not ordinary.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from aggro.engine.jit.compile import inline
from aggro.engine.rule import Rule, Tally, new_tally

__all__ = ["TINY", "Tiny", "TinyParams", "learned", "tiny"]

u8 = np.uint64


class Tiny(NamedTuple):
    tally: Tally
    log: np.ndarray  # (rows, 4): x, y and weight of each row learned, and whether it was taken as an ordinary one
    count: np.ndarray  # (1,) rows in the log


class TinyParams(NamedTuple):
    steady: bool  # whether ordinary rows are told apart


@inline
def square(X, i):
    return X[i, u8(0)] * X[i, u8(0)] if np.isfinite(X[i, u8(0)]) else np.nan


@inline
def score(state, params, X, i, out):
    out[u8(0)] = 2.0 * X[i, u8(0)]
    return square(X, i)


@inline
def score_averaged(state, params, X, i, out):
    out[u8(0)] = -X[i, u8(0)]
    return square(X, i)


@inline
def loss_of(state, params, y, out):
    return abs(y - out[u8(0)]), (out[u8(0)] > 0.0) != (y > 0.0)


@inline
def write(state, X, i, y, s, ordinary):
    k = u8(state.count[0])
    state.log[k, u8(0)] = X[i, u8(0)]
    state.log[k, u8(1)] = y
    state.log[k, u8(2)] = s
    state.log[k, u8(3)] = ordinary
    state.count[0] += 1


@inline
def update(state, params, X, i, y, s, out, q):
    write(state, X, i, y, s, 0.0)
    return q > 0.0


@inline
def can_use_fast_path(state, params):
    return params.steady


@inline
def fast_score(state, params, X, i, out):
    return score(state, params, X, i, out) if X[i, u8(0)] <= 100.0 else np.nan


@inline
def fast_update(state, params, X, i, y, s, out, q):
    if y == 77.0:  # a step that is not ordinary
        return -1
    write(state, X, i, y, s, 1.0)
    return 1 if q > 0.0 else 0


def tiny(models: int = 1, rows: int = 50) -> Tiny:
    return Tiny(new_tally(models), np.zeros((rows, 4)), np.zeros(1, np.int64))


def learned(state: Any) -> list[list[float]]:
    """The log as a list."""
    return state.log[: state.count[0]].tolist()


TINY = Rule(
    state=Tiny,
    init=lambda params, width, models: tiny(models),
    grow=lambda state, params, width, models: state,
    score=score,
    loss_of=loss_of,
    update=update,
    score_averaged=score_averaged,
    columns=lambda state: 1,
    can_use_fast_path=can_use_fast_path,
    fast_score=fast_score,
    fast_update=fast_update,
)
