"""What a vote counts: the rows, losses and mistakes of whichever candidate leads.

Each candidate counts, row by row, what it predicts before it learns. The vote counts what its leader, the candidate
with the largest weight, counted while it led. So the figures are exact, they cost nothing, and they do not depend on
how the stream is chunked.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggro.engine.limits import HUGE
from aggro.engine.monitor.calibration import SIDE
from aggro.engine.monitor.drift import CHANGES_KEPT, N_CHANGES
from aggro.engine.rule import HISTORY_MARKS, LIVE, MISTAKES, SEEN, UPDATES, Tally

STRETCH = 128  # rows; a stretch ends where their number is a multiple of it, or a power of two


class Counted(NamedTuple):
    """What a candidate has counted so far."""

    loss: float
    mistakes: int
    updates: int
    drifts: int


NOTHING_COUNTED = Counted(0.0, 0, 0, 0)


def begins_stretch(seen: int) -> bool:
    """Whether a stretch begins after so many rows."""
    return seen % STRETCH == 0 or seen & (seen - 1) == 0


def to_stretch_end(tally: Tally) -> int:
    """How many rows there are to the end of the stretch: up to there the weights stay."""
    seen = int(tally.rows[SEEN])
    return min(STRETCH - seen % STRETCH, (1 << seen.bit_length()) - seen)


def counted(tally: Tally) -> Counted:
    """What a candidate with this tally has counted."""
    rows = tally.rows
    return Counted(float(tally.loss[0]), int(rows[MISTAKES]), int(rows[UPDATES]), int(tally.marks[N_CHANGES]))


def add_rows(tally: Tally, begun: np.ndarray, rows: int, before: Counted, after: Counted) -> None:
    """Count rows, between which the leader went from one of these counts to the other.

    ``begun`` has the losses of the vote and of the leader when the stretch began: so their sum does not depend on where
    a stretch is cut.
    """
    tally.rows[SEEN] += rows
    tally.rows[MISTAKES] += max(after.mistakes - before.mistakes, 0)
    tally.rows[UPDATES] += min(max(after.updates - before.updates, 0), rows)
    tally.loss[0] = min(begun[0] + max(after.loss - begun[1], 0.0), HUGE)
    seen = int(tally.rows[SEEN])
    # A line of the history at each power of two.
    if seen & (seen - 1) == 0:
        tally.history[tally.rows[HISTORY_MARKS]] = seen, tally.loss[0], tally.rows[MISTAKES]
        tally.rows[HISTORY_MARKS] += 1


def add_drift(tally: Tally) -> None:
    """Note that the error of the leader was seen to rise."""
    tally.marks[N_CHANGES + 1 + tally.marks[N_CHANGES] % CHANGES_KEPT] = tally.rows[SEEN]
    tally.marks[N_CHANGES] += 1


def held_out_errors(tally: Tally, rows: int) -> float:
    """How many of these rows were predicted wrongly as ``fit`` held them out to calibrate: see ``base.held_out``.

    A row is right if the lead of its own class is positive. Leads are counted in bins, of two classes those of the
    second.
    """
    live, pairs = int(tally.rows[LIVE]), tally.pairs
    # Of two classes one has pairs of its own; those of the other are their mirror image.
    wrong = pairs[:live, :SIDE, 1].sum() + (pairs[1, SIDE:, 0].sum() if live == 2 else 0.0)
    total = pairs[:live, :, 1].sum() + (pairs[1, :, 0].sum() if live == 2 else 0.0)
    return rows * float(wrong / total) if total else 0.0


def add_classes(tally: Tally, codes: np.ndarray) -> None:
    """Count the rows of each class."""
    tally.rows[LIVE] = max(int(tally.rows[LIVE]), int(codes.max()) + 1)
    tally.classes[: int(tally.rows[LIVE])] += np.bincount(codes, minlength=int(tally.rows[LIVE]))
