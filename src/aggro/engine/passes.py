"""The two loops over rows: one that learns, one that scores. They serve every rule."""

from __future__ import annotations

import numpy as np

from aggro.engine.compile import kernel
from aggro.engine.rows import n_rows
from aggro.engine.rule import LIVE, MARKS, MISTAKES, SEEN, UPDATES, judge, learn, look, peek

__all__ = ["run", "score"]

u8 = np.uint64


@kernel
def run(state, params, X, y, s, order, start, stop, balanced):
    """Predict, count and learn the rows ``start`` to ``stop``, in place.

    Row t is ``X[order[t]]`` (``X[t]`` if ``order`` is empty) with target ``y[t]`` and weight
    ``s[t]`` (1 if ``s`` is empty); a row of weight 0 is not there at all. For classifiers ``y`` is
    the class's number in order of first appearance, and ``balanced`` weighs rows by the classes
    counted so far. Returns -1, or the first t whose row is not finite, before learning it.
    """
    tally = state.tally
    rows = tally.rows
    out = np.empty(2 * tally.classes.shape[0])  # scores, and room for a rule's own coefficients
    for t in range(u8(start), u8(stop)):
        weight = s[t] if s.shape[0] else 1.0
        if weight == 0.0:
            continue
        i = u8(order[t]) if order.shape[0] else t
        q = look(state, params, X, i, out)
        if q != q:
            return np.int64(t)
        if tally.classes.shape[0] > 1:
            c = u8(y[t])
            tally.classes[c] += 1.0
            rows[LIVE] = max(rows[LIVE], np.int64(c) + 1)
            if balanced:
                weight *= (rows[SEEN] + 1) / (rows[LIVE] * tally.classes[c])
        loss, mistake = judge(state, params, y[t], out)
        rows[UPDATES] += learn(state, params, X, i, y[t], weight, out, q)
        rows[SEEN] += 1
        rows[MISTAKES] += mistake
        tally.loss[0] += loss
        if rows[SEEN] & (rows[SEEN] - 1) == 0:
            mark = tally.history[u8(rows[MARKS])]
            mark[0] = rows[SEEN]
            mark[1] = tally.loss[0]
            mark[2] = rows[MISTAKES]
            rows[MARKS] += 1
    return np.int64(-1)


@kernel
def score(state, params, X, scores):
    """Write the predicting model's scores of every row; -1, or the first row that is not finite."""
    out = np.empty(2 * state.tally.classes.shape[0])
    models = u8(scores.shape[1])
    for i in range(u8(n_rows(X))):
        q = peek(state, params, X, i, out)
        if q != q:
            return np.int64(i)
        for k in range(models):
            scores[i, k] = out[k]
    return np.int64(-1)
