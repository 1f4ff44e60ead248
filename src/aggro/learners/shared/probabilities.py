"""From scores to probabilities and decisions, by what the pass has counted (``engine.calibration``)."""

from __future__ import annotations

import numpy as np

from aggro.engine.calibration import BINS, RAISED, isotonic, probabilities
from aggro.engine.drift import COUNTED, SPREAD
from aggro.engine.rule import Tally
from aggro.learners.shared.labels import Labels

SIGMOIDS = np.empty((0, BINS))


def by_number(tally: Tally, labels: Labels, scores: np.ndarray, calibration: str) -> np.ndarray:
    """The probabilities of the classes that were seen, by their number; the only one has 1."""
    live = len(labels.codes)
    shares = np.ones((scores.shape[0], live))
    if live > 1:
        heights = SIGMOIDS
        if calibration == "isotonic" and tally.curve.any():
            heights = np.empty((live, BINS))
            isotonic(tally.pairs[:live], int(tally.marks[COUNTED]), heights)
        probabilities(np.ascontiguousarray(scores / spread_of(tally)), tally.curve, heights, shares)
    return shares


def spread_of(tally: Tally) -> float:
    """What leads are divided by: 1, unless several settings learn side by side."""
    return float(tally.sums[SPREAD]) or 1.0


def raised(tally: Tally, scores: np.ndarray) -> np.ndarray:
    """The scores, raised by what the classes cost."""
    more = tally.curve[:, RAISED] * spread_of(tally)
    return np.asarray(scores + (more[1] if scores.shape[1] == 1 else more[: scores.shape[1]]))
