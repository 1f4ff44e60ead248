"""What the pass does at the end of a block of rows: curves are fitted when they are due, and drift is looked for.

It is large code that needs the tally alone, so it is compiled once, for all rules, and called by its address.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from aggro.engine.calibration import EFFECTIVE, add_pair, fit_curves, is_due
from aggro.engine.drift import COUNTED, FILLED, look_for_change
from aggro.engine.jit.compile import kernel
from aggro.engine.jit.jumps import address_of
from aggro.engine.rule import LIVE, SEEN, new_tally

u8 = np.uint64
UNTENDED = -1  # in the place of the address: nothing is counted, since rows are seen again or are chosen by their loss


@kernel
def tend(tally, costs):
    """The end of a block, whose sums are in the tally."""
    marks = tally.marks
    look_for_change(tally, np.float64(marks[FILLED]), tally.rows[SEEN])
    marks[FILLED] = 0
    live = tally.rows[LIVE]
    if live > 1 and tally.pairs.shape[0] > 1 and is_due(marks[COUNTED]):
        fit_curves(tally, marks[COUNTED], costs, live)
    return np.int64(0)


@kernel
def calibrate(tally, leads, codes, costs):
    """Fit the curves to the leads of held-out rows (rows, classes), in place of the pairs that the pass has counted.

    A lead is NaN where the class was not known to the model that scored the row. All pairs have the same weight, so
    that they count as many as they are, beside those of rows that come later.
    """
    live, counted = tally.rows[LIVE], np.float64(tally.marks[COUNTED])
    tally.pairs[:] = 0.0
    tally.curve[:] = 0.0
    first = u8(0) if live > 2 else u8(1)
    for i in range(u8(leads.shape[0])):
        for k in range(first, u8(live)):
            if leads[i, k] == leads[i, k]:
                add_pair(
                    tally.pairs, k, leads[i, k], u8(np.int64(codes[i]) == np.int64(k)), counted / np.sqrt(EFFECTIVE)
                )
    fit_curves(tally, tally.marks[COUNTED], costs, live)


def no_costs() -> np.ndarray:
    """Costs of classes where there are none: as the pass takes them, read-only."""
    none = np.empty(0)
    none.flags.writeable = False
    return none


@cache
def tend_address() -> int:
    """Where ``tend`` is."""
    return address_of(tend, new_tally(2), no_costs())
