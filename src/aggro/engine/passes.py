"""The two loops over rows, one that learns and one that scores, and the entry points for a single row.

They serve every rule. Those of this package find their compiled code on disk; for a rule, or a step, from outside
it, the same functions are compiled in each process: see ``engine.jit.compile.afresh``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from aggro.engine.jit.compile import afresh, inline, is_outside, kernel, quick
from aggro.engine.jit.dicts import DOES_NOT_FIT, PyList_Size, read_dict, take_back
from aggro.engine.jit.jumps import jump
from aggro.engine.jit.pinned import content
from aggro.engine.limits import HUGE, LARGEST_VALUE
from aggro.engine.monitor.calibration import BALANCED, is_mistaken_raised, lead_of, size_of_lead
from aggro.engine.monitor.drift import LARGEST_BLOCK
from aggro.engine.monitor.observer import Block, Observer, rows_left
from aggro.engine.prepare.targets import count_target, predicted, scales_targets, target_unit, wanted
from aggro.engine.prepare.transformed import ready_for, transform, transform_again
from aggro.engine.rows import n_rows
from aggro.engine.rule import (
    LIVE,
    SEEN,
    UPDATES,
    can_use_fast_path,
    columns,
    fast_score,
    fast_update,
    loss_of,
    score,
    score_averaged,
    update,
    workspace_size,
)

u8 = np.uint64
FIRST_ROW, AFTER_FIRST_ROW = (
    np.int64(0),
    np.int64(1),
)  # of one row; plain numbers would be types, and compile the pass once more


@inline
def has_candidates(params):
    """Whether several candidates of a grid learn in parallel, of which one predicts."""
    if hasattr(params, "span"):  # decided when it is compiled
        return params.span > 1
    else:
        return False


@inline
def candidate_of(state, params):
    """The candidate that predicts; 0 for a learner without a grid."""
    if hasattr(params, "span"):
        return state.choice[0]
    else:
        return np.int64(0)


@inline
def is_squared(params):
    """Whether the step minimises the square of the loss, which is then watched for drift."""
    if hasattr(params, "squared"):  # decided when it is compiled
        return bool(params.squared)
    else:
        return False


@inline
def weight_among_classes(tally, c, weight):
    """The weight of a row if all classes shall weigh the same, by the rows of each so far and this one."""
    seen, live = tally.rows[SEEN], tally.rows[LIVE]
    # n/(live · n_c), the "balanced" weight of scikit-learn, with this row already among the counted ones.
    return min(weight * ((seen + 1) / (live * (tally.classes[u8(c)] + 1.0))), HUGE)


@inline
def learn_ordinary_rows(state, params, X, Z, marks, y, t, end, i, are_ordinary, out, block, n, are_new):
    """The fast path: learn rows from the t-th on, which is row i of X, to ``end`` or a row that is not ordinary.

    Such a row ends the loop before anything of it is counted. The one lasting effect is that of ``transform``, which
    must run once a row. So this returns how far it came (t and n), the updates and mistakes, and which row of X was
    transformed last: i, where it lies in Z, and whether it is to be transformed again.
    """
    updates = mistakes = np.int64(0)
    k, again = i, False
    while t < end:
        # This counts the row in the statistics of the features.
        # So it must not run again if another path learns the row.
        k, again = transform(state, X, i, Z, marks, True)
        if again or not are_ordinary:
            break
        # NaN stands for every row that needs the general path: a value that is refused, or a norm too small for a step.
        q = fast_score(state, params, Z, k, out)
        if q != q:
            break
        # Score and loss are noted before the update: that is progressive validation. If the update declines the row,
        # the general path overwrites this line of the block, since n has not advanced.
        block.scores[n, 0], block.targets[n] = out[0], y[t]
        # Read now, because the update may let another candidate predict.
        candidate = candidate_of(state, params)
        loss, mistake = loss_of(state, params, y[t], out)
        # The update declines before it changes anything, so the general path starts from the same state.
        moved = fast_update(state, params, Z, k, y[t], 1.0, out, q)
        if moved < 0:
            break
        block.losses[n] = loss
        # Only now, because this counts the lead in the mean size of leads, and each row must be counted once.
        if has_candidates(params) and state.tally.classes.shape[0] > 1:
            block.units[n] = size_of_lead(state.tally, candidate, 2.0 * abs(block.scores[n, 0]), are_new)
        updates += moved
        mistakes += mistake
        state.tally.rows[SEEN] += 1
        n, t = n + u8(1), t + u8(1)
        i = t
    return t, n, updates, mistakes, i, k, again


@inline
def count_classes(tally, block, start, stop):
    """Count some rows of the block, which are of two classes, or of none."""
    if tally.classes.shape[0] > 1:
        # The targets are 0 or 1, so their sum is the count of class 1.
        ones = 0.0
        for i in range(start, stop):
            ones += block.targets[i]
        tally.classes[1] += ones
        tally.classes[0] += np.float64(stop - start) - ones


@inline
def judge_row(state, params, y, scores, known, costs, block, n, are_new):
    """Write a row into the block, as it was predicted before anything of it was learned; return whether wrongly."""
    for k in range(u8(block.scores.shape[1])):
        block.scores[n, k] = scores[k]
    block.targets[n] = y
    # The rule works in units of the scaled target. The loss goes back to the units that the user gave.
    loss, mistake = loss_of(state, params, wanted(state, y), scores)
    block.losses[n] = min(loss * target_unit(state), HUGE)
    tally, c, unit = state.tally, np.int64(y), 1.0
    if tally.classes.shape[0] > 1:
        # Leads are kept in units of their mean size, so that a change of candidate does not change their scale.
        if has_candidates(params) and known > 1:
            candidate, lead = candidate_of(state, params), lead_of(scores, columns(state), known)
            unit = size_of_lead(tally, candidate, lead, are_new)
            block.units[n] = unit
        if costs.shape[0] and known > 1:  # class weights move the decision
            mistake = c >= known or is_mistaken_raised(tally.curve, c, scores, columns(state), known, unit)
        # A new class is always a mistake, and while there is one class there is no other to predict.
        mistake = c >= known or (mistake and known > 1)
    return mistake


@kernel
def run(state, params, X, y, s, order, start, stop, costs, averaged, observer):
    """Score, judge and learn the rows ``start`` to ``stop``, in place.

    Row t is ``X[order[t]]`` (``X[t]`` if ``order`` is empty) with target ``y[t]`` and weight ``s[t]`` (1 if ``s`` is
    empty); rows of weight 0 are skipped. For classifiers ``y`` is the number of the class, in order of first
    appearance, and ``costs`` are the class weights, which move the decision (``engine.monitor.calibration``). If
    ``costs`` is BALANCED, rows are also weighted by the class counts so far. With ``averaged``, the average predicts.
    Returns -1, or the first t whose row is not finite; that row is not learned.

    The rule reads rows from ``Z``: X itself, or the one row that was transformed last (``engine.prepare.transformed``).
    Scores and losses of a few rows at a time are handed to the ``observer`` (``engine.monitor.observer``), which
    counts them.
    """
    # All arrays are allocated here, before the loop over rows.
    tally, rows, classes = state.tally, state.tally.rows, state.tally.classes.shape[0]
    Z, marks = ready_for(state, X, start, stop)
    needed = u8(workspace_size(state))
    space = np.empty(needed + (needed if averaged else u8(0)))
    out, mean = space[:needed], space[needed:]  # the scores of the last iterate, and of the average
    # ``rows_left`` never exceeds LARGEST_BLOCK, so no block holds more rows than this.
    most = u8(min(stop - start, LARGEST_BLOCK))
    units = np.empty(most if has_candidates(params) else u8(0))
    block = Block(np.empty((most, u8(columns(state)))), np.empty(most), np.empty(most), units)
    # The fast path is for rows in order, unweighted, of two classes that were both seen, or without classes.
    may_be_ordinary = classes <= 2 and s.shape[0] == 0 and order.shape[0] == 0 and costs.shape[0] == 0
    may_be_ordinary = may_be_ordinary and can_use_fast_path(state, params) and not scales_targets(state)
    bad, t = np.int64(-1), u8(start)
    while t < u8(stop) and bad < 0:
        # A block ends where the observer has something to do, and after a row of a new class.
        known = rows[LIVE] if classes > 1 else np.int64(0)
        are_ordinary = may_be_ordinary and (classes < 2 or known == 2)
        left, n, mistakes = u8(rows_left(tally)), u8(0), np.int64(0)
        while n < left and t < u8(stop):
            # A row of weight 0 is not scored, counted or learned, so it leaves no trace in any bit.
            weight = s[t] if s.shape[0] else 1.0
            if weight == 0.0:
                t += u8(1)
                continue
            # The fast path gets the rest of the block. It stops at the
            # first row that needs the general path, maybe at once.
            before, end, i = n, min(t + left - n, u8(stop)), u8(order[t]) if order.shape[0] else t
            t, n, moved, wrong, i, k, again = learn_ordinary_rows(
                state, params, X, Z, marks, y, t, end, i, are_ordinary, out, block, n, observer.are_new
            )
            # These counts concern the rows that the fast path took. It has already advanced t, n and the rows seen.
            rows[UPDATES] += moved
            mistakes += wrong
            count_classes(tally, block, before, n)
            # All rows up to the end of the block were ordinary: no row is left that was transformed and not learned.
            if t == end:
                break
            # Score a row of any kind. One that is not finite ends the pass before anything is counted.
            q = score(state, params, Z, k, out)
            if q != q:
                bad = np.int64(t)
                break
            # Its class is live from here on, since ``loss_of`` and ``update`` go over the live classes.
            if classes > 1:
                rows[LIVE] = max(rows[LIVE], np.int64(y[t]) + 1)
            # "balanced": the weight follows the class counts so far, which the stream supplies.
            if costs.shape[0] == 1 and costs[0] == BALANCED:
                weight = weight_among_classes(tally, np.int64(y[t]), weight)
            # Judge it before it is learned, by the model that predicts: this is progressive validation.
            if averaged:
                score_averaged(state, params, Z, k, mean)
            mistakes += judge_row(
                state, params, y[t], mean if averaged else out, known, costs, block, n, observer.are_new
            )
            # What is learned may be another row: this one with itself counted, or one that stands beside it.
            beside = u8(order[u8(y.shape[0]) + t]) if order.shape[0] > y.shape[0] else k
            if again or beside != k:
                if again:
                    transform_again(state, X, i, Z, marks)
                else:
                    k = beside
                q = score(state, params, Z, k, out)
            count_target(state, y[t])  # a target too is scaled with itself counted
            rows[UPDATES] += update(state, params, Z, k, wanted(state, y[t]), weight, out, q)
            rows[SEEN] += 1
            n, t = n + u8(1), t + u8(1)
            # A new class ends the block: the observer takes one number of known classes for all rows of a block.
            if classes > 1:
                tally.classes[u8(np.int64(block.targets[n - u8(1)]))] += 1.0
                if rows[LIVE] != known:
                    break
        # By address: the observer needs the tally alone, so it is compiled once, and not into the pass of every rule.
        if n > u8(0):
            facts = np.int64(n), known, mistakes, is_squared(params), observer.are_new
            jump(observer.at, np.int64(0), (tally, costs, block, *facts))
    return bad


@kernel
def score_rows(state, params, X, scores):
    """Score every row with the model that predicts; return -1, or the first row that is not finite."""
    out = np.empty(workspace_size(state))
    models = u8(scores.shape[1])
    n = np.int64(n_rows(X))
    Z, marks = ready_for(state, X, np.int64(0), n)
    for i in range(u8(n)):
        # Without counting: a prediction must not change what is known of the features.
        q = score_averaged(state, params, Z, transform(state, X, i, Z, marks, False)[0], out)
        if q != q:
            return np.int64(i)
        # Back from scaled units to those of the target.
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
    observer: Observer
    scores: np.ndarray  # (1, columns)


@quick
def learn_row(model, row, y, s, pass_at):
    """Learn one packed row with packed arguments; return 1, or 0 if the row is not finite."""
    one = content(model)
    (X,) = content(row)
    # Written through the writable twins of the read-only arrays that the pass gets: no array is made for a row.
    one.target[0] = y
    one.weight[0] = s
    weights = one.weights
    # No weights at all instead of a weight of 1: only then may the pass take its fast path.
    if s == 1.0:
        weights = weights[:0]
    rest = (one.targets, weights, one.order, FIRST_ROW, AFTER_FIRST_ROW, one.costs, one.averaged, one.observer)
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
    # Noted before unknown features are added, so that they can be taken back.
    n_names = PyList_Size(one.names)
    left_out = read_dict(x, one, -np.inf, LARGEST_VALUE, room)
    if left_out != 0:
        return np.int64(DOES_NOT_FIT)
    learned = jump(row_at, np.int64(0), (model, reader, y, s, pass_at))
    # The row was refused: names that only this row had must not widen the model.
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
        # Numba types an array that has both orders as C-contiguous, so F_ORDER matters only without C_ORDER.
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
