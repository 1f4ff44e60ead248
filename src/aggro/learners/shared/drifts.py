"""What the pass has seen of drift (``engine.drift``), as users see it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from aggro.engine.drift import BLOCKS, DRIFTS, ERRORS, FILLED, KEPT, LOSS, LOSSES, PLACE, RECENT, ROWS, WRONG
from aggro.engine.rule import Tally


def recent_error(tally: Tally) -> float:
    """The mean error of the last rows: of full blocks, up to about a thousand rows, and of the one that is not full."""
    numbers = tally.classes.shape[0] == 1
    rows, errors = float(tally.marks[FILLED]), float(tally.sums[LOSS if numbers else WRONG])
    for back in range(1, BLOCKS + 1):
        block = tally.recent[(int(tally.marks[PLACE]) - back) % BLOCKS]
        if rows + block[ROWS] > RECENT:
            break
        rows += block[ROWS]
        errors += block[LOSSES if numbers else ERRORS]
    return float(errors / rows) if rows else float("nan")


def drifts_in(marks: np.ndarray) -> np.ndarray:
    """The rows of the last changes, in order."""
    drifts = int(marks[DRIFTS])
    kept = min(drifts, KEPT)
    return np.array([marks[DRIFTS + 1 + n % KEPT] for n in range(drifts - kept, drifts)], np.int64)


@contextmanager
def telling(learner: Any) -> Iterator[None]:
    """A call that learns: afterwards ``on_drift`` hears of each change that was seen in it."""
    hook, model = learner.on_drift, learner.__dict__.get("_model")
    before = int(model.state.tally.marks[DRIFTS]) if model is not None else 0
    yield
    now = learner.__dict__["_model"]
    if now is not model and not learner.__dict__["warm_start"]:
        before = 0  # it began anew
    tally = now.state.tally
    new = int(tally.marks[DRIFTS]) - before
    for row in drifts_in(tally.marks).tolist()[-new:] if new > 0 else ():
        hook(learner, row)
