"""The gate of active learning: which rows are worth a label, decided inside the pass.

With f the score of the model that predicts (of several classes, the gap between the two best scores), a row is asked
about with the probability

==========  ===========================================
strategy    p
==========  ===========================================
margin      δ/(δ + |f|), as in Cesa-Bianchi, Gentile and Zaniboni (2006)
threshold   1 where |f| ≤ δ, else 0
random      δ, at most 1
==========  ===========================================

and with 1 before the first answer; a threshold asks until two classes are known. The random number is a function of
the seed and of how many rows came before, so that it does not matter how a stream is cut. With a target rate ρ, δ
follows the stream by

    log δ ← log δ + η (ρ − p)

whose rest is where the mean of p is ρ, whatever the scale of the scores; η is such that it settles within some tens of
labels. A row that was not asked about is passed over: only its score was computed.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from aggro.engine.jit.compile import inline, kernel, python_too, quick
from aggro.engine.jit.jumps import jump
from aggro.engine.jit.pinned import content
from aggro.engine.random import uniform
from aggro.engine.rule import LIVE, MISTAKES, peek, room

u8 = np.uint64
PASSED, ASKED, OPEN = range(3)  # rows that came, rows asked about, rows that came while the budget was not spent
DELTA, LAST, WEIGHT, WRONG = range(4)  # δ; p of the row asked about last; Σ 1/p of those answered, and of those wrong
FOLLOW = 0.2  # η
LEAST, MOST = 1e-100, 1e100  # of δ


class Strategy(IntEnum):
    """The strategies, as compiled code knows them."""

    MARGIN = 0
    THRESHOLD = 1
    RANDOM = 2


MARGIN, THRESHOLD, RANDOM = map(int, Strategy)


class Gate(NamedTuple):
    """Settings, and what has happened so far."""

    strategy: int
    budget: int  # the most rows to ask about, or -1
    target: float  # ρ, or 0
    seed: int
    counts: np.ndarray  # (3,) int64
    sums: np.ndarray  # (4,)

    def copy(self) -> Gate:
        """The same gate, which goes on by itself."""
        return self._replace(counts=self.counts.copy(), sums=self.sums.copy())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled gates come back with arrays of their own, whatever memory the pickle lends."""
        return own_gate, tuple(self)

    def restore(self, other: Any) -> None:
        """Go back to what another gate has seen."""
        self.counts[:], self.sums[:] = other.counts, other.sums


def own_gate(strategy: int, budget: int, target: float, seed: int, counts: Any, sums: Any) -> Gate:
    """A gate whose arrays are its own, and writable."""
    return Gate(strategy, budget, target, seed, all_counts(counts), np.array(sums))


def all_counts(counts: Any) -> np.ndarray:
    """The counts of a gate; version 0.1.0 did not count the rows that came while the budget was not spent."""
    return np.array([*counts, counts[PASSED]][:3], np.int64)


@inline
def gap_of(scores, columns, live):
    """|f|, or how far the best score is above the second."""
    if columns == 1 or live < 2:
        return abs(scores[0])
    best, second = -np.inf, -np.inf
    for c in range(u8(live)):
        f = scores[c]
        if f > best:
            best, second = f, best
        elif f > second:
            second = f
    return best - second


@inline
def asks(gate, live, gap):
    """Whether to ask about a row; it counts."""
    counts, sums = gate.counts, gate.sums
    number = counts[PASSED]
    counts[PASSED] = number + 1
    if gate.budget >= 0 and counts[ASKED] >= gate.budget:
        return False
    counts[OPEN] += 1
    delta, p = sums[DELTA], 1.0
    if live > 1 or (live == 1 and gate.strategy != THRESHOLD):  # which would never ask again after the first
        if gate.strategy == RANDOM:
            p = min(delta, 1.0) if gate.target == 0.0 else gate.target
        elif gate.strategy == THRESHOLD:
            p = 1.0 if gap <= delta else 0.0
        else:
            p = delta / (delta + gap)
        if gate.target > 0.0 and gate.strategy != RANDOM:
            sums[DELTA] = min(max(delta * np.exp(FOLLOW * (gate.target - p)), LEAST), MOST)
    if not uniform(gate.seed, number) < p:
        return False
    counts[ASKED] += 1
    sums[LAST] = p
    return True


@kernel
def attend(state, params, X, y, s, order, start, stop, balanced, averaged, gate, columns, known, pass_at):
    """Ask about the rows ``start`` to ``stop``, and learn those asked about by the pass at ``pass_at``.

    The arguments are those of the pass, and ``columns`` the number of scores. Returns -1, or the row where it stopped:
    one that is not finite, or one that was asked about and has a target of ``known`` or more; and whether it is that.
    """
    out = np.empty(room(state))
    rows = state.tally.rows
    for t in range(u8(start), u8(stop)):
        if s.shape[0] and s[t] == 0.0:
            continue
        i = u8(order[t]) if order.shape[0] else t
        q = peek(state, params, X, i, out)
        if q != q:
            return np.int64(t), False
        if asks(gate, rows[LIVE], gap_of(out, columns, rows[LIVE])):
            if y[t] >= known:
                return np.int64(t), True
            mistakes = rows[MISTAKES]
            row = np.int64(t)
            jump(pass_at, row, (state, params, X, y, s, order, row, row + 1, balanced, averaged))
            answered(gate, gate.sums[LAST], rows[MISTAKES] - mistakes)
    return np.int64(-1), False


@kernel
def first_asked(gate, scores, weights, live):
    """The first row to ask about, of rows with these scores; -1 if there is none. Those of weight 0 are not there."""
    for i in range(u8(scores.shape[0])):
        if weights.shape[0] and weights[i] == 0.0:
            continue
        if asks(gate, live, gap_of(scores[i], scores.shape[1], live)):
            return np.int64(i)
    return np.int64(-1)


@python_too
def answered(gate, p, wrong):
    """Count an answer about a row that was asked about with the probability p."""
    gate.sums[WEIGHT] += 1.0 / p
    gate.sums[WRONG] += wrong / p


@quick
def asks_about_scores(gate_and_scores, columns, live):
    """Whether to ask about one row: a pinned gate, with the scores of the row in a matrix beside it."""
    gate, scores = content(gate_and_scores)
    return asks(gate, live, gap_of(scores[0], columns, live))
