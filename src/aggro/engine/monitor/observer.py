"""The observers of a pass: counters and history, calibration of probabilities, detection of drift.

The pass (``engine.passes``) knows none of them. It fills a :class:`Block` with what was said of the rows before they
were learned, and hands the block to ``observe``, by its address. That needs the tally alone, so it is compiled once,
for all rules.

A block never crosses a line of the history or the end of a block of rows as ``engine.monitor.drift`` cuts the stream
(``rows_left``). Neither depends on how the stream is chunked, and all sums are taken row by row: so whatever is counted
is bit-for-bit identical however the rows come.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from aggro.engine.jit.compile import exact_part, inline, kernel, part
from aggro.engine.jit.intrinsics import leading_zeros
from aggro.engine.jit.jumps import address_of
from aggro.engine.limits import HUGE
from aggro.engine.monitor.calibration import (
    EFFECTIVE,
    add_pair,
    add_pairs,
    are_paired,
    divided,
    fit_curves,
    is_due,
    split_pairs,
)
from aggro.engine.monitor.drift import (
    BLOCK_ERRORS,
    BLOCK_LOSS,
    BLOCK_ROWS,
    BLOCK_SQUARES,
    REFERENCE,
    ROWS_COUNTED,
    WATCHED,
    block_size,
    error_of,
    look_for_change,
)
from aggro.engine.rule import HISTORY_MARKS, LIVE, MISTAKES, SEEN, new_tally

u8 = np.uint64


class Observer(NamedTuple):
    """What the pass hands its blocks to."""

    at: int  # the address of ``observe``
    are_new: bool  # whether the rows are new to the model


class Block(NamedTuple):
    """What was said of a few consecutive rows before they were learned, by the model that predicts."""

    scores: np.ndarray  # (rows, columns)
    targets: np.ndarray  # (rows,) for classifiers the number of the class
    losses: np.ndarray  # (rows,)
    units: np.ndarray  # (rows,) of the scores, which candidates have of their own; empty for a learner without them


@inline
def rows_left(tally):
    """How many rows may still be learned before the observer is called: up to the history's next line at the most."""
    seen = tally.rows[SEEN]
    # The bit length of the rows seen gives the next power of two, where the history gets its next line.
    to_next_power_of_two = (np.int64(1) << np.int64(u8(64) - leading_zeros(u8(seen)))) - seen
    filled = tally.marks[BLOCK_ROWS]
    # The smaller of the two ends: the line of the history, and the end of the block that drift detection cuts.
    return min(to_next_power_of_two, block_size(tally.marks[ROWS_COUNTED], filled) - filled)


@exact_part
def count_rows(tally, block, n, mistakes, are_new):
    """Add ``n`` rows to the counters, and a line to the history if the rows seen are a power of two."""
    rows, total, of_block = tally.rows, tally.loss[0], tally.sums[BLOCK_LOSS]
    # Row by row into the running sums: the same additions in the same order, however the stream is cut into chunks.
    for i in range(u8(n)):
        total = min(total + block.losses[i], HUGE)
        of_block = min(of_block + block.losses[i], HUGE)
    tally.loss[0] = total
    # The loss of the block feeds drift detection, for which rows of later passes say nothing.
    if are_new:
        tally.sums[BLOCK_LOSS] = of_block
    rows[MISTAKES] += mistakes
    seen = rows[SEEN]
    # A power of two has a single bit. ``rows_left`` ends a block at every one, so none is passed over.
    if seen & (seen - 1) == 0:
        line = tally.history[u8(rows[HISTORY_MARKS])]
        line[0], line[1], line[2] = seen, total, rows[MISTAKES]
        rows[HISTORY_MARKS] += 1


@exact_part
def add_errors(tally, block, n, mistakes, squared):
    """Add the errors of ``n`` rows to the sums that drift is looked for in."""
    sums = tally.sums
    # Of classes an error is 0 or 1, which is its own square: both sums grow by the mistakes.
    if tally.classes.shape[0] > 1:
        sums[BLOCK_ERRORS] += np.float64(mistakes)
        sums[BLOCK_SQUARES] += np.float64(mistakes)
        return
    # A number, or an outlier: its error is its share of the losses of late (``engine.monitor.drift``), of the loss
    # that the step minimises.
    errors, squares, watched = sums[BLOCK_ERRORS], sums[BLOCK_SQUARES], sums[WATCHED]
    # All sums are cut at HUGE, so that neither a sum nor a square ever becomes infinite.
    for i in range(u8(n)):
        loss = block.losses[i]
        if squared:
            loss = min(loss * loss, HUGE)
        watched = min(watched + loss, HUGE)
        error = error_of(loss, sums[REFERENCE])
        errors = min(errors + error, HUGE)
        squares = min(squares + error * error, HUGE)
    sums[BLOCK_ERRORS], sums[BLOCK_SQUARES], sums[WATCHED] = errors, squares, watched


@part
def add_leads(tally, block, n, known, paired):
    """Count the scores of ``n`` rows for the calibration of probabilities; ``known`` classes were seen before them."""
    # ``before`` and the index in the block make t, the number of the pair, whose weight is t².
    columns, before = u8(block.scores.shape[1]), np.float64(tally.marks[ROWS_COUNTED])
    # Blocks that are not sampled are skipped, except where a third class arrives: then the pairs must be split.
    if not paired and not (known == 2 and block.targets[u8(n - 1)] == 2.0):
        return
    for i in range(u8(n)):
        scores, c, t = block.scores[i], np.int64(block.targets[i]), before + np.float64(i + u8(1))
        unit = block.units[i] if block.units.shape[0] else 1.0
        if known == 2 and c == 2:  # the last row of its block
            split_pairs(tally.pairs)
        # One score f for two classes has the lead 2f; it needs no maximum over the other classes.
        if paired and columns == u8(1):
            add_pair(tally.pairs, u8(1), divided(2.0 * scores[0], unit), u8(c == 1), t)
        elif paired:
            add_pairs(tally.pairs, c, scores, known, t, unit)


@kernel
def end_block(tally, costs):
    """Conclude from a block of rows that is full: look for drift, and fit the curves if they are due."""
    marks, live = tally.marks, tally.rows[LIVE]
    # Before the mark is reset, which still says how many rows the block has. This also clears the sums of the block.
    look_for_change(tally, np.float64(marks[BLOCK_ROWS]), tally.rows[SEEN])
    marks[BLOCK_ROWS] = 0
    # A curve needs two classes to tell apart.
    if live > 1 and tally.pairs.shape[0] > 1 and is_due(marks[ROWS_COUNTED]):
        fit_curves(tally, marks[ROWS_COUNTED], costs, live)


@kernel
def observe(tally, costs, block, n, known, mistakes, squared, are_new):
    """Count the first ``n`` rows of a block; if they are new, calibrate probabilities and look for drift.

    They were scored when ``known`` classes had been seen, and ``mistakes`` of them were predicted wrongly. ``costs``
    are the class weights. With ``squared``, the step minimises the square of the loss. Rows that are seen again, or
    were chosen by their loss, are not new: nothing can be concluded from their scores.
    """
    # Counters and history take every row; what follows takes only rows that the model had not seen.
    count_rows(tally, block, n, mistakes, are_new)
    if not are_new:
        return np.int64(0)
    marks = tally.marks
    # The lead needs a second class that was known when the row was scored.
    if known > 1:
        add_leads(tally, block, n, known, are_paired(marks[ROWS_COUNTED], marks[BLOCK_ROWS], costs))
    add_errors(tally, block, n, mistakes, squared)
    # After the pairs: their numbers t continue from the rows counted before this block.
    marks[ROWS_COUNTED] += n
    marks[BLOCK_ROWS] += n
    if marks[BLOCK_ROWS] >= block_size(marks[ROWS_COUNTED], marks[BLOCK_ROWS]):
        end_block(tally, costs)
    return np.int64(0)


@kernel
def calibrate(tally, leads, codes, costs):
    """Fit the curves to the leads of held-out rows (rows, classes), in place of the pairs that the pass has counted.

    A lead is NaN where the class was not known to the model that scored the row. All pairs have the same weight, so
    that they count as many as they are, beside those of rows that come later.
    """
    # Held-out rows replace the pairs of the pass: after several passes the model is not the one that scored those.
    live, counted = tally.rows[LIVE], np.float64(tally.marks[ROWS_COUNTED])
    tally.pairs[:] = 0.0
    tally.curve[:] = 0.0
    # Of two classes only the second has a curve; that of the first is its mirror image.
    first = u8(0) if live > 2 else u8(1)
    for i in range(u8(leads.shape[0])):
        for k in range(first, u8(live)):
            # A NaN is not equal to itself: the class was unknown to the model that scored the row.
            if leads[i, k] == leads[i, k]:
                # t² = counted²/EFFECTIVE, and fitting multiplies weights
                # by EFFECTIVE/counted²: each pair counts exactly 1.
                add_pair(
                    tally.pairs, k, leads[i, k], u8(np.int64(codes[i]) == np.int64(k)), counted / np.sqrt(EFFECTIVE)
                )
    fit_curves(tally, tally.marks[ROWS_COUNTED], costs, live)


def no_costs() -> np.ndarray:
    """Costs of classes where there are none: as the pass takes them, read-only."""
    none = np.empty(0)
    none.flags.writeable = False
    return none


@cache
def observer(are_new: bool) -> Observer:
    """The observer of rows that are new, or of others."""
    # The values do not matter, only their types: they choose the compiled version whose address this is.
    n, block = np.int64(0), Block(np.empty((1, 1)), np.empty(1), np.empty(1), np.empty(1))
    return Observer(address_of(observe, new_tally(2), no_costs(), block, n, n, n, False, False), are_new)
