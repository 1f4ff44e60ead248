"""Drift as users see it: what the pass has detected (``engine.monitor.drift``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from aggro.engine.monitor.drift import (
    BLOCK_ERRORS,
    BLOCK_LOSS,
    BLOCK_ROWS,
    BLOCKS,
    CHANGES_KEPT,
    ERRORS,
    LOSSES,
    N_CHANGES,
    RECENT_ROWS,
    RING_PLACE,
    ROWS,
)
from aggro.engine.rule import Tally
from aggro.learners.base.inside import innermost, model_of

Method = TypeVar("Method", bound=Callable[..., Any])


def recent_sums(tally: Tally, most: int = RECENT_ROWS) -> tuple[float, float]:
    """How many the last rows are, of full blocks up to ``most`` rows and of the incomplete block, and their errors.

    An error is a mistake, or of learners without classes a loss.
    """
    numbers = tally.classes.shape[0] == 1
    rows, errors = float(tally.marks[BLOCK_ROWS]), float(tally.sums[BLOCK_LOSS if numbers else BLOCK_ERRORS])
    # From the newest block of the ring backwards: only consecutive blocks count, so the first that exceeds ``most``
    # ends the search.
    for back in range(1, BLOCKS + 1):
        block = tally.recent[(int(tally.marks[RING_PLACE]) - back) % BLOCKS]
        if rows + block[ROWS] > most:
            break
        rows += block[ROWS]
        errors += block[LOSSES if numbers else ERRORS]
    return rows, float(errors)


def recent_error(tally: Tally) -> float:
    """The mean error of the last rows: of full blocks, up to about a thousand rows, and of the incomplete block."""
    rows, errors = recent_sums(tally)
    return errors / rows if rows else float("nan")


def drifts_in(marks: np.ndarray) -> np.ndarray:
    """The rows at which the last changes were detected, in order."""
    drifts = int(marks[N_CHANGES])
    kept = min(drifts, CHANGES_KEPT)
    return np.array([marks[N_CHANGES + 1 + n % CHANGES_KEPT] for n in range(drifts - kept, drifts)], np.int64)


@contextmanager
def telling(learner: Any) -> Iterator[None]:
    """A context for a call that learns: afterwards, ``on_drift`` is called for each drift detected in it."""
    hook, model = learner.on_drift, model_of(learner)
    # The count of changes only grows while one model learns, so that the difference is what this call detected.
    before = int(model.state.tally.marks[N_CHANGES]) if model is not None else 0
    yield
    now = model_of(learner)
    if now is None:
        return
    if now is not model and not innermost(learner).__dict__["warm_start"]:
        before = 0  # it began anew
    tally = now.state.tally
    new = int(tally.marks[N_CHANGES]) - before
    # Only the last ``CHANGES_KEPT`` changes are stored; a call that detects more reports those.
    for row in drifts_in(tally.marks).tolist()[-new:] if new > 0 else ():
        hook(learner, row)


def tells(learn: Method) -> Method:
    """Decorate a method that learns: afterwards, ``on_drift`` is called for each drift detected in it."""

    @wraps(learn)
    def call(self: Any, *args: Any, **named: Any) -> Any:
        if self.on_drift is None:
            return learn(self, *args, **named)
        with telling(self):
            return learn(self, *args, **named)

    return cast(Method, call)
