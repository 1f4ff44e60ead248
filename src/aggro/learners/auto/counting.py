"""What a vote counts: rows, mistakes and losses, the pairs that calibrate it, and drift.

The counters are those of every learner (``engine.rule.Tally``). Rows are counted here a block at a time, from the
scores that they had before they were learned.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.calibration import FIRST, SIDE
from aggro.engine.drift import COUNTED, FILLED, LOSS, MOST, REFERENCE, SQUARES, WATCHED, WRONG
from aggro.engine.limits import HUGE
from aggro.engine.rule import LIVE, MARKS, MISTAKES, SEEN, UPDATES, Tally
from aggro.engine.tending import tend

LARGEST_BLOCK = 128
FIRST_ROWS, MANY_ROWS = 64, 2048  # where blocks become longer


def to_block_end(tally: Tally) -> int:
    """How many rows there are to the end of the block that is being filled: 8, 32 or 128 rows long."""
    counted, filled = int(tally.marks[COUNTED]), int(tally.marks[FILLED])
    begun = counted - filled
    size = 8 if begun < FIRST_ROWS else 32 if begun < MANY_ROWS else LARGEST_BLOCK
    return size - filled


def count_classes(tally: Tally, scores: np.ndarray, codes: np.ndarray, raised: np.ndarray) -> None:
    """Count the pairs, losses and mistakes of rows of these classes, whose scores are logarithms of shares.

    ``raised`` is what the costs of classes add to the scores.
    """
    n, losses, wrong = codes.shape[0], np.zeros(codes.shape[0]), np.zeros(codes.shape[0], bool)
    start = 0
    while start < n:
        known = int(tally.rows[LIVE])
        fresh = np.flatnonzero(codes[start:] >= known)
        stop = n if not fresh.shape[0] else start + int(fresh[0]) + 1  # with the first row of a new class, if any
        block = slice(start, stop)
        if known == 2 and int(codes[stop - 1]) == 2:  # a third class: the pairs of the second are, mirrored, the first's
            tally.pairs[0] = tally.pairs[1, ::-1, ::-1]
        if known > 1:
            times = tally.marks[COUNTED] + np.arange(start + 1, stop + 1)
            add_pairs(tally.pairs, scores[block, :known], codes[block], times**2.0)
            wrong[block] = (scores[block, :known] + raised[:known]).argmax(axis=1) != codes[block]
        wrong[stop - 1] |= codes[stop - 1] >= known
        losses[block] = -scores[np.arange(start, stop), codes[block]]
        tally.rows[LIVE] = max(known, int(codes[stop - 1]) + 1)
        start = stop
    tally.classes[: int(tally.rows[LIVE])] += np.bincount(codes, minlength=int(tally.rows[LIVE]))
    count(tally, losses, wrong, np.zeros(0))


def add_pairs(pairs: np.ndarray, scores: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> None:
    """Count the lead of each class in each row, in its bin: see ``engine.calibration``."""
    known = scores.shape[1]
    for k in (1,) if known == 2 else range(known):
        leads = scores[:, k] - np.delete(scores, k, axis=1).max(axis=1)
        np.add.at(pairs[k], (bins_of(leads), (codes == k).astype(np.int64)), weights)


def bins_of(leads: np.ndarray) -> np.ndarray:
    """The bin of each lead."""
    bits = np.ascontiguousarray(leads, np.float64).view(np.uint64)
    places = np.clip(((bits >> np.uint64(51)) & np.uint64(0xFFF)).astype(np.int64) - FIRST, 0, SIDE - 1)
    return np.where(np.signbit(leads), SIDE - 1 - places, SIDE + places)


def count_numbers(tally: Tally, predicted: np.ndarray, targets: np.ndarray) -> None:
    """Count the absolute errors of predicted numbers."""
    losses = np.minimum(np.abs(predicted - targets), HUGE)
    count(tally, losses, np.zeros(targets.shape[0], bool), losses)


def count(tally: Tally, losses: np.ndarray, wrong: np.ndarray, watched: np.ndarray) -> None:
    """Count rows of one block; ``watched`` are the losses that tell of drift, where there are no classes."""
    n, seen = losses.shape[0], int(tally.rows[SEEN])
    summed, mistakes = tally.loss[0] + np.cumsum(losses), tally.rows[MISTAKES] + np.cumsum(wrong)
    for k in range(n):
        if (seen + k + 1) & (seen + k) == 0:  # a power of two
            tally.history[tally.rows[MARKS]] = seen + k + 1, min(summed[k], HUGE), mistakes[k]
            tally.rows[MARKS] += 1
    tally.rows[SEEN] += n
    tally.rows[UPDATES] += n
    tally.rows[MISTAKES] = mistakes[-1]
    tally.loss[0] = min(summed[-1], HUGE)
    errors, sums = wrong.astype(float), tally.sums
    if watched.shape[0]:
        reference = float(sums[REFERENCE])
        errors = np.zeros(n)
        if reference > 0.0:
            errors = np.minimum(watched / (MOST * reference), 1.0)
        elif watched.any():
            errors = (watched > 0.0).astype(float)
        sums[WATCHED] = min(sums[WATCHED] + watched.sum(), HUGE)
    sums[LOSS] = min(sums[LOSS] + losses.sum(), HUGE)
    sums[WRONG] += errors.sum()
    sums[SQUARES] += (errors**2).sum()
    tally.marks[COUNTED] += n
    tally.marks[FILLED] += n


def end_block(tally: Tally, costs: np.ndarray) -> None:
    """Fit curves that are due, and look for drift, if a block of rows is full."""
    if to_block_end(tally) == 0:
        tend(tally, costs)
