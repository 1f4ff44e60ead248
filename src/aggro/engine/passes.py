"""The two loops over rows, one that learns and one that scores, and their one-row calls.

They serve every rule. Those of this package find their compiled code on disk; for a rule, or a step, from outside
it, the same functions are compiled in each process: see ``engine.jit.compile.afresh``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from aggro.engine.calibration import (
    BALANCED,
    add_block,
    add_pair,
    add_pairs,
    are_paired,
    divided,
    is_mistaken_raised,
    lead_of,
    size_of_lead,
    split_pairs,
)
from aggro.engine.drift import COUNTED, FILLED, LARGEST, LOSS, REFERENCE, SQUARES, WRONG, block_size, error_of
from aggro.engine.jit.compile import afresh, inline, is_outside, kernel, quick
from aggro.engine.jit.dicts import DOES_NOT_FIT, PyList_Size, read_dict, take_back
from aggro.engine.jit.intrinsics import leading_zeros
from aggro.engine.jit.jumps import jump
from aggro.engine.jit.pinned import content
from aggro.engine.prepared_rows import bring, ready_for
from aggro.engine.rows import HUGE, n_rows
from aggro.engine.rule import (
    LIVE,
    MARKS,
    MISTAKES,
    SEEN,
    UPDATES,
    columns,
    glance,
    judge,
    learn,
    look,
    nudge,
    peek,
    room,
    steady,
)
from aggro.engine.scaled_targets import count_target, predicted, scales_targets, target_unit, wanted

u8 = np.uint64
START, STOP = np.int64(0), np.int64(1)  # of one row; plain numbers would be types, and compile the pass once more


@inline
def mark(tally, seen, loss, mistakes):
    """At powers of two of rows, a line of the history."""
    if seen & (seen - 1) == 0:
        line = tally.history[u8(tally.rows[MARKS])]
        line[0] = seen
        line[1] = loss
        line[2] = tally.rows[MISTAKES] + mistakes
        tally.rows[MARKS] += 1


@inline
def to_mark(seen):
    """How many rows from here the next line of the history is."""
    return (np.int64(1) << np.int64(u8(64) - leading_zeros(u8(seen)))) - seen


@inline
def counted_pairs(state, params, y, scores, known, tended, paired, t, costs, mistake):
    """Count what the scores say of the t-th row, whose classes ``known`` were there before; whether it is a mistake.

    That is as the rule judged, unless costs move the decision.
    """
    tally = state.tally
    if known < 2:
        return mistake
    c, n_scores = np.int64(y), columns(state)
    spread = 1.0
    if several(params):
        spread = size_of_lead(tally, member_of(state, params), lead_of(scores, n_scores, known), tended)
    if known == 2 and c == 2:
        split_pairs(tally.pairs)
    if paired:
        if n_scores == 1:
            add_pair(tally.pairs, u8(1), divided(2.0 * scores[0], spread), u8(c == 1), t)
        else:
            add_pairs(tally.pairs, c, scores, known, t, spread)
    if costs.shape[0]:
        return c >= known or is_mistaken_raised(tally.curve, c, scores, n_scores, known, spread)
    return mistake


@inline
def several(params):
    """Whether several members learn, of which one predicts."""
    if hasattr(params, "span"):  # decided when it is compiled
        return params.span > 1
    else:
        return False


@inline
def member_of(state, params):
    """The one that predicts."""
    if hasattr(params, "span"):
        return state.choice[0]
    else:
        return np.int64(0)


@inline
def note(tally, counted, filled, wrong, squares, losses):
    """What was counted of the block that is not full."""
    tally.marks[COUNTED], tally.marks[FILLED] = np.int64(counted), filled
    tally.sums[WRONG], tally.sums[SQUARES], tally.sums[LOSS] = wrong, squares, losses


@kernel
def run(state, params, X, y, s, order, start, stop, costs, averaged, tend_at):
    """Predict, count and learn the rows ``start`` to ``stop``, in place.

    Row t is ``X[order[t]]`` (``X[t]`` if ``order`` is empty) with target ``y[t]`` and weight
    ``s[t]`` (1 if ``s`` is empty); a row of weight 0 is not there at all. For classifiers ``y`` is
    the class's number in order of first appearance, and ``costs`` are the weights of the classes, which move the
    decision (``engine.calibration``); if BALANCED stands there instead, rows too are weighed by the classes counted so
    far. With ``averaged``, what is counted are the losses and mistakes of the average, which
    predicts. Returns -1, or the first t whose row is not finite, before learning it.

    What is counted as a mistake is what would have been predicted wrongly: by the rule's judgement once two classes
    have been seen; before that the only class is predicted, and for the first row nothing. So the first row of a class
    is always one.

    Rows are read from ``Z``, which is X, or the one row that was scaled last: see ``engine.prepared_rows``.

    Scores with their labels are counted, and what was wrong, for what ``tend_at`` points to: that is called at the end
    of each block of rows (``engine.tending``). If it is -1, nothing of the kind is counted.

    The first loop is for ordinary rows of two classes that have been seen, or of none, in order and unweighted: most
    passes, where each instruction counts. So it ends with a block, or where the history has a line, and pairs are
    counted after it. What follows it takes one row of any kind, and hands back to it.
    """
    tally = state.tally
    rows = tally.rows
    seen, loss_sum = rows[SEEN], tally.loss[0]
    updates = mistakes = 0
    bad = np.int64(-1)
    classes = tally.classes.shape[0]
    balanced = costs.shape[0] == 1 and costs[0] == BALANCED
    simple = classes <= 2 and s.shape[0] == 0 and order.shape[0] == 0 and costs.shape[0] == 0 and steady(state, params)
    simple = simple and not scales_targets(state)
    plain = simple and (classes < 2 or rows[LIVE] == 2)
    Z, marks = ready_for(state, X, start, stop)
    counted = u8(start)  # rows up to here are among those of each class
    tended = tend_at >= 0
    total, filled = np.float64(tally.marks[COUNTED]), tally.marks[FILLED]  # rows counted, and those of this block
    size, reference = block_size(tally.marks[COUNTED], filled), tally.sums[REFERENCE]
    paired = tended and classes > 1 and are_paired(tally.marks[COUNTED], filled, costs)
    # Of this block; mistakes are not among its errors before they are noted. Sums are cut, so that none is re-ordered.
    mistakes_before, losses, errors, squares = 0, tally.sums[LOSS], tally.sums[WRONG], tally.sums[SQUARES]
    needed = u8(room(state))
    # Scores, and room for a rule's own coefficients; the same of the average; the leads of a block's rows.
    space = np.empty(needed + (needed if averaged else u8(0)) + u8(min(stop - start, LARGEST)))
    out, mean = space[:needed], space[needed : needed + needed]
    leads = space[needed + needed :] if averaged else space[needed:]
    t = u8(start)
    while t < u8(stop):
        begun, until, i = t, t + u8(1), t
        if plain:
            until = min(u8(stop), t + u8(size - filled)) if tended else u8(stop)
            until = min(until, t + u8(to_mark(seen)))
        else:
            if s.shape[0] and s[t] == 0.0:
                t += u8(1)
                continue
            i = u8(order[t]) if order.shape[0] else t
        k = i
        while t < until:
            k = bring(state, X, i, Z, marks, True)
            if not plain:
                break
            q = glance(state, params, Z, k, out)
            if q != q:
                break
            f, member = out[0], member_of(state, params)
            loss, mistake = judge(state, params, y[t], out)
            moved = nudge(state, params, Z, k, y[t], 1.0, out, q)
            if moved < 0:
                break
            updates += moved
            mistakes += mistake
            loss_sum = min(loss_sum + loss, HUGE)
            seen += 1
            rows[SEEN] = seen
            if tended:
                losses = min(losses + loss, HUGE)
                if classes == 1:
                    u = error_of(loss, reference)
                    errors = min(errors + u, HUGE)
                    squares = min(squares + u * u, HUGE)
                elif several(params):
                    spread = size_of_lead(tally, member, 2.0 * abs(f), True)
                    leads[t - begun] = divided(2.0 * f, spread)
                else:
                    leads[t - begun] = 2.0 * f
            t += u8(1)
            i = t
        if paired:
            add_block(tally.pairs, leads, y, begun, t, total)
        if tended:
            total += np.float64(t - begun)
        if t > begun:
            mark(tally, seen, loss_sum, mistakes)
        filled += np.int64(t - begun)
        if t < until:  # a row that takes the long way
            weight = s[t] if s.shape[0] else 1.0
            q = look(state, params, Z, k, out)
            if q != q:
                bad = np.int64(t)
                break
            known = np.int64(2)  # classes seen before this row, or enough of them
            if classes > 1 and not plain:
                c = np.int64(y[t])
                known = rows[LIVE]
                if c >= known:
                    rows[LIVE] = c + 1
                if balanced:
                    weight = min(weight * ((seen + 1) / (rows[LIVE] * (tally.classes[u8(c)] + 1.0))), HUGE)
            total += 1.0
            goal, unit = wanted(state, y[t]), target_unit(state)
            if averaged:
                peek(state, params, Z, k, mean)
            scores = mean if averaged else out
            loss, mistake = judge(state, params, goal, scores)
            if classes > 1:
                mistake = counted_pairs(state, params, y[t], scores, known, tended, paired, total, costs, mistake)
            loss = min(loss * unit, HUGE)
            count_target(state, y[t])
            updates += learn(state, params, Z, k, wanted(state, y[t]), weight, out, q)
            if classes > 1 and not plain:
                c = np.int64(y[t])
                tally.classes[u8(c)] += 1.0
                mistake = c >= known or (mistake and known > 1)
                plain = simple and rows[LIVE] == 2
                counted = t + u8(1)
            mistakes += mistake
            loss_sum = min(loss_sum + loss, HUGE)
            seen += 1
            rows[SEEN] = seen
            mark(tally, seen, loss_sum, mistakes)
            if tended:
                losses = min(losses + loss, HUGE)
            if classes == 1 and tended:
                u = error_of(loss, reference)
                errors = min(errors + u, HUGE)
                squares = min(squares + u * u, HUGE)
            filled += 1
            t += u8(1)
        if tended and filled >= size:
            wrong = np.float64(mistakes - mistakes_before) if classes > 1 else 0.0
            note(tally, total, filled, wrong + errors, wrong + squares, losses)
            jump(tend_at, np.int64(0), (tally, costs))
            mistakes_before, losses, errors, squares = mistakes, 0.0, 0.0, 0.0
            filled, reference = np.int64(0), tally.sums[REFERENCE]
            size = block_size(tally.marks[COUNTED], filled)
            paired = classes > 1 and are_paired(tally.marks[COUNTED], filled, costs)
    if classes == 2 and plain:  # nobody asked in between: the classes are counted in one sweep
        ones = 0.0
        for k in range(counted, t):
            ones += y[k]
        tally.classes[1] += ones
        tally.classes[0] += np.float64(t - counted) - ones
    if tended:
        wrong = np.float64(mistakes - mistakes_before) if classes > 1 else 0.0
        note(tally, total, filled, wrong + errors, wrong + squares, losses)
    rows[UPDATES] += updates
    rows[MISTAKES] += mistakes
    tally.loss[0] = loss_sum
    return bad


@kernel
def score(state, params, X, scores):
    """Write the predicting model's scores of every row; -1, or the first row that is not finite."""
    out = np.empty(room(state))
    models = u8(scores.shape[1])
    n = np.int64(n_rows(X))
    Z, marks = ready_for(state, X, np.int64(0), n)
    for i in range(u8(n)):
        q = peek(state, params, Z, bring(state, X, i, Z, marks, False), out)
        if q != q:
            return np.int64(i)
        for k in range(models):
            scores[i, k] = predicted(state, out[k])
    return np.int64(-1)


# One row: the state and the pass's other arguments are pinned. ``pass_at`` is where the pass is for their types, and
# ``row_at`` is where ``learn_row`` or ``score_row`` is: what reads dicts is then the same for all states. A
# reader begins with its row, so that its address is that of a pinned row too.


class OneRowCall(NamedTuple):
    """All that a one-row call needs beside the row, to be pinned."""

    state: Any
    params: Any
    target: np.ndarray  # (1,) to write to
    weight: np.ndarray  # (1,)
    targets: np.ndarray  # the same two as the pass reads them, read-only
    weights: np.ndarray
    order: np.ndarray  # empty
    costs: np.ndarray
    averaged: bool
    tend_at: int
    scores: np.ndarray  # (1, columns)


@quick
def learn_row(model, row, y, s, pass_at):
    """Learn the one row of a pinned model and row: 1, or 0 if it is not finite."""
    one = content(model)
    (X,) = content(row)
    one.target[0] = y
    one.weight[0] = s
    weights = one.weights
    if s == 1.0:
        weights = weights[:0]
    rest = (one.targets, weights, one.order, START, STOP, one.costs, one.averaged, one.tend_at)
    return np.int64(jump(pass_at, np.int64(0), (one.state, one.params, X, *rest)) < 0)


@quick
def score_row(model, row, pass_at):
    """Score the one row of a pinned model and row into its buffer; the first score, NaN if it is not finite."""
    one = content(model)
    (X,) = content(row)
    if jump(pass_at, np.int64(0), (one.state, one.params, X, one.scores)) >= 0:
        return np.nan
    return one.scores[0, 0]


@quick
def learn_dict(model, reader, x, y, s, room, pass_at, row_at):
    """Learn the dict at address x: 1, or 0 if a value is not finite, or -1 if only Python can do it.

    Features that are not known are added, up to ``room`` names; they are there afterwards if the row was learned.
    """
    one = content(reader)
    n_names = PyList_Size(one.names)
    left_out = read_dict(x, one, -np.inf, room)
    if left_out != 0:
        return np.int64(DOES_NOT_FIT)
    learned = jump(row_at, np.int64(0), (model, reader, y, s, pass_at))
    if learned == 0:
        take_back(one, n_names)
    return learned


@quick
def score_dict(model, reader, x, least, pass_at, row_at):
    """Score the dict at address x; NaN if a value is not finite, infinity if only Python can read it."""
    if read_dict(x, content(reader), least, 0) < 0:
        return np.inf
    return jump(row_at, 0.0, (model, reader, pass_at))


Layout = tuple[Any, ...]
C_ORDER, F_ORDER, ALIGNED, WRITEABLE = 0x1, 0x2, 0x100, 0x400  # NumPy's numbers for the flags of an array


def layout_of(state: Any, params: Any) -> Layout:
    """All that machine code relies on: types, and of each array its kind of numbers, sides, order and writability."""
    return (*kinds_of(state), *kinds_of(params))


def kinds_of(part: Any) -> Iterator[Any]:
    """What Numba makes a type of: a part, and what that is made of."""
    if isinstance(part, np.ndarray):
        flags = part.flags.num
        order = C_ORDER if flags & C_ORDER else F_ORDER
        yield part.dtype, part.ndim, flags & (order | ALIGNED | WRITEABLE)
        return
    yield type(part)
    if isinstance(part, tuple):
        for one in part:
            yield from kinds_of(one)


@cache
def from_outside(layout: Layout) -> bool:
    """Whether a state or its settings are of types from outside this package."""
    return any(isinstance(kind, type) and issubclass(kind, tuple) and is_outside(kind) for kind in layout)


def suited(entry_point: Any, layout: Layout) -> Any:
    """The entry point to call with a state and settings of these types."""
    return afresh(entry_point) if from_outside(layout) else entry_point
