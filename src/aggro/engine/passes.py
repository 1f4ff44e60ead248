"""The two loops over rows, one that learns and one that scores, and the entry points for a single row.

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
from aggro.engine.drift import COUNTED, FILLED, LARGEST, LOSS, REFERENCE, SQUARES, WATCHED, WRONG, block_size, error_of
from aggro.engine.jit.compile import afresh, exact, inline, is_outside, kernel, quick
from aggro.engine.jit.dicts import DOES_NOT_FIT, PyList_Size, read_dict, take_back
from aggro.engine.jit.intrinsics import leading_zeros
from aggro.engine.jit.jumps import jump
from aggro.engine.jit.pinned import content
from aggro.engine.limits import HUGE, LARGEST_VALUE
from aggro.engine.prepared_rows import ready_for, transform, transform_again
from aggro.engine.rows import n_rows
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
    """Add a line to the history if ``seen`` is a power of two: rows seen, sum of losses, mistakes."""
    if seen & (seen - 1) == 0:
        line = tally.history[u8(tally.rows[MARKS])]
        line[0] = seen
        line[1] = loss
        line[2] = tally.rows[MISTAKES] + mistakes
        tally.rows[MARKS] += 1


@inline
def to_mark(seen):
    """The number of rows from here to the next line of the history, the next power of two."""
    return (np.int64(1) << np.int64(u8(64) - leading_zeros(u8(seen)))) - seen


@inline
def counted_pairs(state, params, y, scores, known, tended, paired, t, costs, mistake):
    """Count the scores of the t-th row for the calibration of probabilities, and return whether the row is a mistake.

    ``known`` is the number of classes seen before the row. The mistake is the rule's own judgement, unless class costs
    move the decision.
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
    """Whether several candidates of a grid learn in parallel, of which one predicts."""
    if hasattr(params, "span"):  # decided when it is compiled
        return params.span > 1
    else:
        return False


@inline
def member_of(state, params):
    """The candidate that predicts; 0 for a learner without a grid."""
    if hasattr(params, "span"):
        return state.choice[0]
    else:
        return np.int64(0)


@exact
def with_square(squares, u):
    """A sum of squares with one more, cut; in the same bits in both loops of the pass."""
    return min(squares + u * u, HUGE)


@exact
def watched(params, loss):
    """The loss that is monitored for drift, the one that the step minimises: for least squares the squared loss."""
    if hasattr(params, "squared"):  # decided when it is compiled
        return min(loss * loss, HUGE) if params.squared else loss
    else:
        return loss


@inline
def note(tally, counted, filled, wrong, squares, losses, watching):
    """Store what was counted of the incomplete block of rows in the tally."""
    if tally.classes.shape[0] == 1:
        tally.sums[WATCHED] = watching
    tally.marks[COUNTED], tally.marks[FILLED] = np.int64(counted), filled
    tally.sums[WRONG], tally.sums[SQUARES], tally.sums[LOSS] = wrong, squares, losses


@kernel
def run(state, params, X, y, s, order, start, stop, costs, averaged, tend_at):
    """Predict, count and learn the rows ``start`` to ``stop``, in place.

    Row t is ``X[order[t]]`` (``X[t]`` if ``order`` is empty) with target ``y[t]`` and weight ``s[t]`` (1 if ``s`` is
    empty); rows of weight 0 are skipped. For classifiers ``y`` is the number of the class, in order of first
    appearance, and ``costs`` are the class weights, which move the decision (``engine.calibration``). If ``costs`` is
    BALANCED, rows are also weighted by the class counts so far. With ``averaged``, the losses and mistakes counted are
    those of the average, which predicts. Returns -1, or the first t whose row is not finite; that row is not learned.

    A mistake is a wrong prediction. Once two classes have been seen, the rule judges it; before that the only class is
    predicted, and for the first row nothing. So the first row of a class is always a mistake.

    The rule reads rows from ``Z``: X itself, or the one row that was transformed last (``engine.prepared_rows``).

    ``tend_at`` is the address of the function that is called at the end of each block of rows (``engine.tending``). It
    needs the scores and errors of the block, which are counted here. If it is -1, none are counted.

    There are two loops. The inner one is the fast path: ordinary rows in order, unweighted, of two classes that have
    both been seen, or of a learner without classes. Most passes spend their time there, so each instruction counts: the
    loop ends with a block of rows, or where the history has a line, and what can be counted for many rows at once is
    counted after it. The code that follows learns one row of any kind, then returns to the fast path.
    """
    # Counters that nobody reads meanwhile are local variables, which stay in registers and are written back at the end.
    # Rules read the rows seen, so those are written for every row.
    tally = state.tally
    rows = tally.rows
    seen, loss_sum = rows[SEEN], tally.loss[0]
    updates = mistakes = 0
    bad = np.int64(-1)
    classes = tally.classes.shape[0]
    balanced = costs.shape[0] == 1 and costs[0] == BALANCED
    # Whether the fast path may be used: ``simple`` says it for the whole pass, ``plain`` once both classes were seen.
    simple = classes <= 2 and s.shape[0] == 0 and order.shape[0] == 0 and costs.shape[0] == 0 and steady(state, params)
    simple = simple and not scales_targets(state)
    plain = simple and (classes < 2 or rows[LIVE] == 2)
    Z, marks = ready_for(state, X, start, stop)
    counted = u8(start)  # rows up to here are among those of each class
    # Blocks go on where the last pass left them, so that their borders do not depend on how the stream is chunked.
    tended = tend_at >= 0
    total, filled = np.float64(tally.marks[COUNTED]), tally.marks[FILLED]  # rows counted, and those of this block
    size, reference = block_size(tally.marks[COUNTED], filled), tally.sums[REFERENCE]
    paired = tended and classes > 1 and are_paired(tally.marks[COUNTED], filled, costs)
    # Of this block; mistakes are not among its errors before they are noted. Sums are cut, so that none is re-ordered.
    mistakes_before, losses, errors, squares = 0, tally.sums[LOSS], tally.sums[WRONG], tally.sums[SQUARES]
    watching = tally.sums[WATCHED]  # of learners without classes
    needed = u8(room(state))
    # Scores, and room for a rule's own coefficients; the same of the average; the leads of a block's rows.
    space = np.empty(needed + (needed if averaged else u8(0)) + u8(min(stop - start, LARGEST)))
    out, mean = space[:needed], space[needed : needed + needed]
    leads = space[needed + needed :] if averaged else space[needed:]
    t = u8(start)
    while t < u8(stop):
        # How far the fast path may go: to the end of the block or the next line of the history, since both need the
        # counters up to that very row. Without it, ``until`` is the next row.
        begun, until, i = t, t + u8(1), t
        if plain:
            until = min(u8(stop), t + u8(size - filled)) if tended else u8(stop)
            until = min(until, t + u8(to_mark(seen)))
        else:
            if s.shape[0] and s[t] == 0.0:
                t += u8(1)
                continue
            i = u8(order[t]) if order.shape[0] else t
        k, again = i, False
        # The fast path: one row per turn. Whatever is not ordinary breaks out before anything of the row is counted,
        # so that the code below finds it as it was. Its one lasting effect is ``transform``, which must run once a row.
        while t < until:
            k, again = transform(state, X, i, Z, marks, True)
            if again or not plain:
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
                    v = watched(params, loss)
                    watching = min(watching + v, HUGE)
                    u = error_of(v, reference)
                    errors = min(errors + u, HUGE)
                    squares = with_square(squares, u)
                elif several(params):
                    spread = size_of_lead(tally, member, 2.0 * abs(f), True)
                    leads[t - begun] = divided(2.0 * f, spread)
                else:
                    leads[t - begun] = 2.0 * f
            t += u8(1)
            i = t
        # What the fast path put off, for all of its rows at once.
        if paired:
            add_block(tally.pairs, leads, y, begun, t, total)
        if tended:
            total += np.float64(t - begun)
        if t > begun:
            mark(tally, seen, loss_sum, mistakes)
        filled += np.int64(t - begun)
        if t < until:  # a row that takes the long way
            # Score the row first: one that is not finite ends the pass before anything is counted.
            weight = s[t] if s.shape[0] else 1.0
            q = look(state, params, Z, k, out)
            if q != q:
                bad = np.int64(t)
                break
            # The row's class is live from here on, since ``judge`` and ``learn`` go over the live classes; ``known``
            # keeps how many there were.
            known = np.int64(2)  # classes seen before this row, or enough of them
            if classes > 1 and not plain:
                c = np.int64(y[t])
                known = rows[LIVE]
                if c >= known:
                    rows[LIVE] = c + 1
                if balanced:
                    weight = min(weight * ((seen + 1) / (rows[LIVE] * (tally.classes[u8(c)] + 1.0))), HUGE)
            # Judge the scores before anything is learned: progressive validation, with the model that predicts.
            total += 1.0
            goal, unit = wanted(state, y[t]), target_unit(state)
            if averaged:
                peek(state, params, Z, k, mean)
            scores = mean if averaged else out
            loss, mistake = judge(state, params, goal, scores)
            if classes > 1:
                mistake = counted_pairs(state, params, y[t], scores, known, tended, paired, total, costs, mistake)
            loss = min(loss * unit, HUGE)
            # ``learn`` needs the scores of the row that it learns, which may be another than the one judged.
            if again:  # it is learned as it is with itself counted
                transform_again(state, X, i, Z, marks)
                q = look(state, params, Z, k, out)
            elif order.shape[0] > y.shape[0]:  # or as a row that stands beside it
                row = u8(order[u8(y.shape[0]) + t])
                if row != k:
                    k = row
                    q = look(state, params, Z, k, out)
            # Learn: the target is scaled with itself counted, as the row is.
            count_target(state, y[t])
            updates += learn(state, params, Z, k, wanted(state, y[t]), weight, out, q)
            if classes > 1 and not plain:
                c = np.int64(y[t])
                tally.classes[u8(c)] += 1.0
                # A new class is always a mistake, and while there is one class there is no other to predict.
                mistake = c >= known or (mistake and known > 1)
                plain = simple and rows[LIVE] == 2
                counted = t + u8(1)
            # Count the row, in the same order of additions as the fast path: sums must not depend on the path.
            mistakes += mistake
            loss_sum = min(loss_sum + loss, HUGE)
            seen += 1
            rows[SEEN] = seen
            mark(tally, seen, loss_sum, mistakes)
            if tended:
                losses = min(losses + loss, HUGE)
            if classes == 1 and tended:
                v = watched(params, loss)
                watching = min(watching + v, HUGE)
                u = error_of(v, reference)
                errors = min(errors + u, HUGE)
                squares = with_square(squares, u)
            filled += 1
            t += u8(1)
        # The block is full: hand its counters over, and begin the next one. Its size and the reference for errors may
        # have changed.
        if tended and filled >= size:
            wrong = np.float64(mistakes - mistakes_before) if classes > 1 else 0.0
            note(tally, total, filled, wrong + errors, wrong + squares, losses, watching)
            jump(tend_at, np.int64(0), (tally, costs))
            mistakes_before, losses, errors, squares, watching = mistakes, 0.0, 0.0, 0.0, 0.0
            filled, reference = np.int64(0), tally.sums[REFERENCE]
            size = block_size(tally.marks[COUNTED], filled)
            paired = classes > 1 and are_paired(tally.marks[COUNTED], filled, costs)
    if classes == 2 and plain:  # nobody asked in between: the classes are counted in one sweep
        ones = 0.0
        for k in range(counted, t):
            ones += y[k]
        tally.classes[1] += ones
        tally.classes[0] += np.float64(t - counted) - ones
    # Keep the incomplete block for the next pass, and write the counters back.
    if tended:
        wrong = np.float64(mistakes - mistakes_before) if classes > 1 else 0.0
        note(tally, total, filled, wrong + errors, wrong + squares, losses, watching)
    rows[UPDATES] += updates
    rows[MISTAKES] += mistakes
    tally.loss[0] = loss_sum
    return bad


@kernel
def score(state, params, X, scores):
    """Score every row with the model that predicts; return -1, or the first row that is not finite."""
    out = np.empty(room(state))
    models = u8(scores.shape[1])
    n = np.int64(n_rows(X))
    Z, marks = ready_for(state, X, np.int64(0), n)
    for i in range(u8(n)):
        q = peek(state, params, Z, transform(state, X, i, Z, marks, False)[0], out)
        if q != q:
            return np.int64(i)
        for k in range(models):
            scores[i, k] = predicted(state, out[k])
    return np.int64(-1)


# One row: the state and the pass's other arguments are pinned. ``pass_at`` is where the pass is for their types, and
# ``row_at`` is where ``learn_row`` or ``score_row`` is: what reads dicts is then the same for all states. A
# reader begins with its row, so that its address is that of a pinned row too.


class OneRowCall(NamedTuple):
    """The arguments of a one-row call, all but the row, to be packed once for a model (``engine.jit.pinned``)."""

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
    """Learn one packed row with packed arguments; return 1, or 0 if the row is not finite."""
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
    """Score one packed row into the buffer ``scores``; return the first score, NaN if the row is not finite."""
    one = content(model)
    (X,) = content(row)
    if jump(pass_at, np.int64(0), (one.state, one.params, X, one.scores)) >= 0:
        return np.nan
    return one.scores[0, 0]


@quick
def learn_dict(model, reader, x, y, s, room, pass_at, row_at):
    """Learn the dict at address x; return 1, 0 if a value is not finite, or -1 if only Python can learn it.

    Unknown features are added, up to ``room`` names; if the row is not learned they are taken back.
    """
    one = content(reader)
    n_names = PyList_Size(one.names)
    left_out = read_dict(x, one, -np.inf, LARGEST_VALUE, room)
    if left_out != 0:
        return np.int64(DOES_NOT_FIT)
    learned = jump(row_at, np.int64(0), (model, reader, y, s, pass_at))
    if learned == 0:
        take_back(one, n_names)
    return learned


@quick
def score_dict(model, reader, x, least, pass_at, row_at):
    """Score the dict at address x; return NaN if a value is not finite, infinity if only Python can read the dict."""
    if read_dict(x, content(reader), least, LARGEST_VALUE, 0) < 0:
        return np.inf
    return jump(row_at, 0.0, (model, reader, pass_at))


Layout = tuple[Any, ...]
C_ORDER, F_ORDER, ALIGNED, WRITEABLE = 0x1, 0x2, 0x100, 0x400  # NumPy's numbers for the flags of an array


def layout_of(state: Any, params: Any) -> Layout:
    """The layout that compiled code depends on: types, and each array's dtype, dimensions, order and flags."""
    return (*kinds_of(state), *kinds_of(params))


def kinds_of(part: Any) -> Iterator[Any]:
    """Iterate over what Numba derives a type from: the kind of a part, then those of the parts inside it."""
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
    """Whether any type in the layout of a state and its settings is defined outside this package."""
    return any(isinstance(kind, type) and issubclass(kind, tuple) and is_outside(kind) for kind in layout)


def suited(entry_point: Any, layout: Layout) -> Any:
    """The entry point to call for a layout: recompiled in this process if a type is from outside this package."""
    return afresh(entry_point) if from_outside(layout) else entry_point
