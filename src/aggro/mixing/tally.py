"""Counters of a mixture: every row counts once, wherever it was learned.

Rows, updates, mistakes, losses, the classes' rows and the pairs for probabilities are sums. The history is that of
partitions that go side by side: when each has learned j rows, all have learned Σ_i min(j, n_i), and in between it goes
in a straight line. What is recent is the mean of what is recent in each. Curves for probabilities are averaged, and are
fitted anew from the pairs of all when more rows have come.

Whether the error has risen was looked for in each partition by itself. Such changes have no place in a common order of
rows: the mixture has those that the common start had, and a new window.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aggro.engine.monitor.drift import (
    BLOCK_ROWS,
    BLOCKS,
    CHANGES_KEPT,
    LEAD_SIZE,
    N_CHANGES,
    REFERENCE,
    RING_PLACE,
    ROWS_COUNTED,
    SELECTED,
    WATCHED,
)
from aggro.engine.rule import HISTORY_MARKS, LIVE, MISTAKES, SEEN, UPDATES, Tally
from aggro.mixing.parts import Parts, Sight, Value, mean, most, total

HISTORY_LINES = 64


def take_tally(tally: Tally, sight: Sight, began: int) -> Parts:
    """The parts of a tally whose state had seen ``began`` rows at the common start."""
    rows, marks, sums = tally.rows, tally.marks, tally.sums
    classes, pairs, curve = tally.classes, tally.pairs, tally.curve
    has_classes = classes.shape[0] > 1
    if sight.flipped and pairs.shape[0]:  # the lead of the second class is that of the first, the other way round
        pairs, curve = pairs.copy(), curve.copy()
        pairs[0], pairs[1] = pairs[1, ::-1, ::-1], 0.0  # only that of the second is counted
        curve[0], curve[1] = curve[1] * (1.0, -1.0, -1.0), curve[0]
    # Rolled so that the oldest block stands first in each: blocks of the same age are averaged.
    ring = np.roll(tally.recent, -int(marks[RING_PLACE]), axis=0) if tally.recent.size else tally.recent
    return {
        "tally.counts": total(np.array([rows[SEEN], rows[UPDATES], rows[MISTAKES]], np.float64), "."),
        # 1e300 caps sums that overflowed: exact sums take finite numbers only.
        "tally.loss": total(np.minimum(tally.loss, 1e300), "."),
        "tally.history": total(_beside(tally, began), ".."),
        "tally.classes": total(classes, "c" if has_classes else "."),
        "tally.pairs": total(np.minimum(pairs, 1e300), "c.." if has_classes else "..."),
        "tally.curve": mean(curve, "c." if has_classes else ".."),
        "tally.blocks": total(np.array([float(marks[ROWS_COUNTED] - marks[BLOCK_ROWS])]), "."),
        "tally.recent": mean(np.minimum(ring, 1e300), ".."),
        "tally.spread": mean(np.minimum(sums[[LEAD_SIZE, REFERENCE]], 1e300), "."),
        "tally.chosen": most(np.array([float(marks[SELECTED])]), "."),
    }


def _beside(tally: Tally, began: int) -> np.ndarray:
    """Rows, losses and mistakes since the start, when 1, 2, 4, … rows had been seen, or all, if these were fewer."""
    marks = int(tally.rows[HISTORY_MARKS])
    end = np.array([tally.rows[SEEN], min(float(tally.loss[0]), 1e300), tally.rows[MISTAKES]], np.float64)
    lines = np.tile(end, (HISTORY_LINES, 1))
    # A partition that has ended earlier stays at its last line.
    lines[:marks] = np.minimum(tally.history[:marks], 1e300)
    powers = 2.0 ** np.arange(HISTORY_LINES)
    lines[powers < began] = 0.0  # before the start: of no use
    return lines


def put_tally(tally: Tally, values: Mapping[str, Value], base: Tally, live: int) -> None:
    """Fill a fresh tally of so many classes; ``base`` is that of the common start."""
    seen, updates, mistakes = np.rint(values["tally.counts"].high).astype(np.int64)
    rows = np.array([seen, updates, min(mistakes, seen), live, int(seen).bit_length()], np.int64)
    # A sum that is capped or rounded must not say more mistakes than rows; history has a line for each power of two.
    tally.rows[[SEEN, UPDATES, MISTAKES, LIVE, HISTORY_MARKS]] = rows
    tally.loss[:] = values["tally.loss"].high
    history = _history(values["tally.history"].high, base, rows, float(tally.loss[0]))
    tally.history[: history.shape[0]] = history
    _fill(tally.classes, np.rint(values["tally.classes"].high))
    _fill(tally.pairs, np.maximum(values["tally.pairs"].high, 0.0))
    _fill(tally.curve, values["tally.curve"].high)
    ring = np.maximum(values["tally.recent"].high, 0.0)
    tally.recent[: ring.shape[0]] = ring[:BLOCKS]
    tally.sums[[LEAD_SIZE, REFERENCE]] = np.maximum(values["tally.spread"].high, 0.0)
    if base.classes.shape[0] == 1:
        tally.sums[WATCHED] = 0.0  # of blocks that were not full, and are left out
    # A block that the start had begun is finished in every copy, and so may count several times.
    tally.marks[ROWS_COUNTED] = min(max(0, int(values["tally.blocks"].high[0])), int(seen))
    tally.marks[SELECTED] = int(values["tally.chosen"].high[0])
    if base.marks.size:
        tally.marks[N_CHANGES : N_CHANGES + 1 + CHANGES_KEPT] = base.marks[N_CHANGES : N_CHANGES + 1 + CHANGES_KEPT]


def _fill(array: np.ndarray, values: np.ndarray) -> None:
    array[tuple(slice(0, n) for n in np.minimum(values.shape, array.shape))] = values[
        tuple(slice(0, n) for n in np.minimum(values.shape, array.shape))
    ]


def _history(beside: np.ndarray, base: Tally, rows: Any, loss: float) -> np.ndarray:
    """The lines at powers of two of all rows: those of the start, and then between those of partitions side by side."""
    seen, marks, known = int(rows[SEEN]), int(rows[HISTORY_MARKS]), int(base.rows[HISTORY_MARKS])
    lines = np.zeros((marks, 3))
    lines[:, 0] = 2.0 ** np.arange(marks)
    # Up to the start there was one model, so its own lines hold.
    lines[:known] = base.history[:known]
    # Corners of the broken line: the start, all partitions at 1, 2, 4, … rows each, and the end.
    points = np.vstack(
        [
            [base.rows[SEEN], min(float(base.loss[0]), 1e300), base.rows[MISTAKES]],
            beside[2.0 ** np.arange(HISTORY_LINES) > base.rows[SEEN]],
            [seen, loss, rows[MISTAKES]],
        ]
    )
    # Counters never fall; accumulate mends what rounding or capping has bent.
    points = np.maximum.accumulate(points, axis=0)
    for column in (1, 2):
        lines[known:, column] = np.interp(lines[known:, 0], points[:, 0], points[:, column])
    # Mistakes are whole, and never more than rows.
    lines[:, 2] = np.minimum(np.floor(lines[:, 2]), lines[:, 0])
    return lines
