"""Convert scores to probabilities and decisions, with the calibration of the pass (``engine.monitor.calibration``)."""

from __future__ import annotations

import numpy as np

from aggro.engine.monitor.calibration import BINS, RAISED, isotonic, probabilities
from aggro.engine.monitor.drift import LEAD_SIZE, ROWS_COUNTED
from aggro.engine.rule import Tally
from aggro.learners.model.labels import Labels

SIGMOIDS = np.empty((0, BINS))


def by_number(tally: Tally, labels: Labels, scores: np.ndarray, calibration: str, weighed: bool) -> np.ndarray:
    """The probabilities of the classes that were seen, by their number; the only one has 1.

    Unless costs have moved the decision, the class that is predicted has at least as much as any other.
    """
    live = len(labels.codes)
    shares = np.ones((scores.shape[0], live))
    if live > 1:
        heights = heights_of(tally, live, calibration)
        # Leads are in units of their mean size where candidates compete: the curve was fitted in these units.
        probabilities(np.ascontiguousarray(scores / spread_of(tally)), tally.curve, heights, shares)
        # With class costs the decision of least cost need not be the most probable class.
        if not weighed:
            agree(shares, scores)
    return shares


def heights_of(tally: Tally, live: int, calibration: str) -> np.ndarray:
    """The heights of each class's bins (classes, bins), NaN for those without pairs; nothing for sigmoids."""
    # Before there is a curve there are too few pairs for isotonic heights, too.
    if calibration != "isotonic" or not tally.curve.any():
        return SIGMOIDS
    heights = np.empty((live, BINS))
    isotonic(tally.pairs[:live], int(tally.marks[ROWS_COUNTED]), heights)
    return heights


def agree(shares: np.ndarray, scores: np.ndarray) -> None:
    """Give the class with the highest score the highest probability, by a hair, where another one has it."""
    every = np.arange(scores.shape[0])
    best = (scores[:, 0] > 0.0).astype(np.intp) if scores.shape[1] == 1 else scores[:, : shares.shape[1]].argmax(axis=1)
    most = shares.max(axis=1)
    # Curves are fitted for each class on its own, so the order of probabilities may differ from that of scores.
    lower = shares[every, best] < most
    shares[every[lower], best[lower]] = most[lower] * (1.0 + 1e-8)
    shares[lower] /= shares[lower].sum(axis=1, keepdims=True)


def spread_of(tally: Tally) -> float:
    """The divisor of leads: 1, unless several candidates learn in parallel."""
    return float(tally.sums[LEAD_SIZE]) or 1.0


def raised(tally: Tally, scores: np.ndarray) -> np.ndarray:
    """The scores with the class costs added, so that the highest is that of the predicted class."""
    more = tally.curve[:, RAISED] * spread_of(tally)
    return np.asarray(scores + (more[1] if scores.shape[1] == 1 else more[: scores.shape[1]]))
