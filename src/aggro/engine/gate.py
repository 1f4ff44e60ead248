"""The gate of active learning: which rows are worth a label, decided inside the pass.

With f the score of the model that predicts (of several classes, the gap between the two best scores), a row is asked
about with the probability

==========  ===========================================
strategy    p
==========  ===========================================
sharp       δ²/(δ² + f²)
margin      δ/(δ + |f|), as in Cesa-Bianchi, Gentile and Zaniboni (2006)
threshold   1 where |f| ≤ δ, else 0
random      δ, at most 1
confidence  δ²/(δ² + g²), g = f in units of its deviation
==========  ===========================================

and with 1 before the first answer; a threshold asks until two classes are known. The random number is a function of
the seed and of how many rows came before, so that it does not matter how a stream is cut. A row that was not asked
about is passed over: only its score was computed. What δ is compared with is one number for a row, how sure the model
is of it (``gap_of``). Learners that know the variance of their scores write deviations behind them; "confidence" has
the score in units of it, of several classes the gap between the two best in units of √(v + v'), as in Dredze and
Crammer (2008). So it asks about rows with a small score, and about those of which little is known.

With a target rate ρ, δ follows the stream. Let S be the questions asked beyond ρ for each row that came, cut to ±20.
Then

    log δ ← log δ + η (ρ (1 − S/5) − p)        ρ (1 − S/5) cut to [ρ/4, 3ρ]

whose rest is where the mean of p is ρ and S is 0, whatever the scale of the scores. It begins where the first score
has p = ρ. Until δ has settled, and where the scores change their scale at once, there may be too many questions or too
few. So with a = 1 + √(ρt)/4, after t rows, p is divided by 1 + (S − a)² where S is above a, and is at least ρ (S + a)²
where S is below −a. What was asked before decides that, and never the row itself, so each answer still counts
1/p times for an estimate of all rows. For the same reason no p of "sharp" or "confidence" is below ρ/20 before it is
divided.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from aggro.engine.jit.compile import inline, kernel, python_too, quick
from aggro.engine.jit.jumps import jump
from aggro.engine.jit.pinned import content
from aggro.engine.prepare.transformed import ready_for, transform
from aggro.engine.random import uniform
from aggro.engine.rule import LIVE, MISTAKES, score_averaged, workspace_size

u8 = np.uint64
PASSED, ASKED, OPEN = range(3)  # rows that came, rows asked about, rows that came while the budget was not spent
# δ, 0 before the first score it can begin at; p of the row asked about last; Σ 1/p of those answered, and of those
# wrong; S
GATE_DELTA, LAST_QUERY, GATE_WEIGHT, GATE_MISTAKES, SURPLUS = range(5)
FOLLOW = 0.5  # η
QUERY_PATIENCE, LARGEST_SURPLUS = 5.0, 20.0  # questions: S that moves the aim by ρ, and the largest S
RAREST = 0.05  # of ρ: the least p of "sharp" and "confidence"
LEAST_DELTA, MOST_DELTA = 1e-100, 1e100  # of δ


class Strategy(IntEnum):
    """The strategies, as compiled code knows them."""

    MARGIN = 0
    THRESHOLD = 1
    RANDOM = 2
    SHARP = 3
    CONFIDENCE = 4


MARGIN, THRESHOLD, AT_RANDOM, SHARP, BY_CONFIDENCE = map(int, Strategy)


class Gate(NamedTuple):
    """Settings, and what has happened so far."""

    strategy: int
    budget: int  # the most rows to ask about, or -1
    target: float  # ρ, or 0
    seed: int
    counts: np.ndarray  # (3,) int64
    sums: np.ndarray  # (5,)

    def copy(self) -> Gate:
        """An independent copy of the gate: counting rows in one does not change the other."""
        return self._replace(counts=self.counts.copy(), sums=self.sums.copy())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled gates come back with arrays of their own, whatever memory the pickle lends."""
        return own_gate, tuple(self)

    def restore(self, other: Any) -> None:
        """Go back to what another gate has seen."""
        self.counts[:], self.sums[:] = other.counts, other.sums


def own_gate(strategy: int, budget: int, target: float, seed: int, counts: Any, sums: Any) -> Gate:
    """A gate whose arrays are its own, and writable."""
    return Gate(strategy, budget, target, seed, all_counts(counts), all_sums(sums))


def all_counts(counts: Any) -> np.ndarray:
    """The counts of a gate; version 0.1.0 did not count the rows that came while the budget was not spent."""
    return np.array([*counts, counts[PASSED]][:3], np.int64)


def all_sums(sums: Any) -> np.ndarray:
    """The sums of a gate; until version 0.3.0 there was no S."""
    return np.array([*sums, 0.0][:5], np.float64)


@inline
def gap_of(scores, columns, live, sure):
    """|f|, or how far the best score is above the second; if ``sure``, in units of the deviations behind the scores."""
    # Before a second class came there is no gap between classes: how far the score is from 0 counts.
    if columns == 1 or live < 2:
        gap, v = abs(scores[0]), scores[u8(columns)] ** 2 if sure else 1.0
    else:
        best, second = -np.inf, -np.inf
        first, next_best = u8(0), u8(0)
        for c in range(u8(live)):
            f = scores[c]
            if f > best:
                best, second = f, best
                first, next_best = c, first
            elif f > second:
                second = f
                next_best = c
        gap, v = best - second, 1.0
        # The variance of a difference, with the two scores taken as independent.
        if sure:
            v = scores[u8(columns) + first] ** 2 + scores[u8(columns) + next_best] ** 2
    if not sure:
        return gap
    # Without variance a gap above 0 is as sure as can be, and a gap of 0 not at all.
    return min(gap / np.sqrt(v), MOST_DELTA) if v > 0.0 else (MOST_DELTA if gap > 0.0 else 0.0)


@inline
def chance(strategy, delta, gap):
    """p of a row, by the table above."""
    if strategy == AT_RANDOM:
        return min(delta, 1.0)
    if strategy == THRESHOLD:
        return 1.0 if gap <= delta else 0.0
    if strategy == MARGIN:
        return delta / (delta + gap)
    share = gap / delta
    return 1.0 / (1.0 + share * share)


@inline
def first_delta(strategy, target, gap):
    """The δ with which a row of this gap is asked about with the probability ρ, or that is near for a threshold."""
    if strategy == THRESHOLD:
        return target * gap
    # p = ρ solved for δ.
    odds = target / max(1.0 - target, 1e-9)
    return gap * (odds if strategy == MARGIN else np.sqrt(odds))


@inline
def steered(gate, gap):
    """p of a row with a target rate; δ follows."""
    sums, target, surplus = gate.sums, gate.target, gate.sums[SURPLUS]
    # Too many questions so far lower the aim, too few raise it, within [ρ/4, 3ρ].
    wanted = target * min(max(1.0 - surplus / QUERY_PATIENCE, 0.25), 3.0)
    # How far |S| is beyond a = 1 + √(ρt)/4; up to there nothing is corrected.
    beyond = abs(surplus) - 1.0 - 0.25 * np.sqrt(target * gate.counts[OPEN])
    more = beyond * beyond if beyond > 0.0 else 0.0
    throttle = 1.0 + more if surplus > 0.0 else 1.0
    # At random there is no δ to follow: p is the aim itself.
    if gate.strategy == AT_RANDOM:
        return min(wanted / throttle, 1.0)
    # The first score that is not 0 sets the scale of δ.
    if sums[GATE_DELTA] == 0.0:
        begin = first_delta(gate.strategy, target, gap)
        if not begin > LEAST_DELTA:
            return wanted / throttle  # there is no scale yet
        sums[GATE_DELTA] = min(begin, MOST_DELTA)
    p = chance(gate.strategy, sums[GATE_DELTA], gap)
    # These strategies must not make a row nearly impossible: an answer counts 1/p times.
    if gate.strategy >= SHARP:
        p = max(p, RAREST * target)
    p = p / throttle if surplus > 0.0 else max(p, min(more * target, 1.0))
    # On a logarithmic scale, since the scale of the scores is not known.
    sums[GATE_DELTA] = min(max(sums[GATE_DELTA] * np.exp(FOLLOW * (wanted - p)), LEAST_DELTA), MOST_DELTA)
    return p


@inline
def asks(gate, live, gap):
    """Whether to ask about a row; it counts."""
    counts, sums = gate.counts, gate.sums
    # Every row counts, asked about or not: its number is the counter of the random number.
    number = counts[PASSED]
    counts[PASSED] = number + 1
    if gate.budget >= 0 and counts[ASKED] >= gate.budget:
        return False
    counts[OPEN] += 1
    p = 1.0
    # Before the first answer every row is asked about.
    if gate.target > 0.0:
        if live > 0:
            p = steered(gate, gap)
        # S falls by ρ with every row and rises by 1 with every question.
        sums[SURPLUS] = max(sums[SURPLUS] - gate.target, -LARGEST_SURPLUS)
    elif live > 1 or (live == 1 and gate.strategy != THRESHOLD):  # which would never ask again after the first
        p = chance(gate.strategy, sums[GATE_DELTA], gap)
    if not uniform(gate.seed, number) < p:
        return False
    sums[SURPLUS] = min(sums[SURPLUS] + 1.0, LARGEST_SURPLUS)
    counts[ASKED] += 1
    sums[LAST_QUERY] = p
    return True


@kernel
def attend(state, params, X, y, s, order, start, stop, costs, averaged, observer, gate, columns, known, pass_at):
    """Ask about the rows ``start`` to ``stop``, and learn those asked about by the pass at ``pass_at``.

    The arguments are those of the pass, and ``columns`` the number of scores. Returns -1, or the row where it stopped:
    one that is not finite, or one that was asked about and has a target of ``known`` or more; and whether it is that.
    """
    out = np.empty(workspace_size(state))
    rows = state.tally.rows
    Z, marks = ready_for(state, X, start, stop)
    for t in range(u8(start), u8(stop)):
        if s.shape[0] and s[t] == 0.0:
            continue
        i = u8(order[t]) if order.shape[0] else t
        # Scaled without counting: a row that is passed over leaves no trace.
        q = score_averaged(state, params, Z, transform(state, X, i, Z, marks, False)[0], out)
        if q != q:
            return np.int64(t), False
        if asks(gate, rows[LIVE], gap_of(out, columns, rows[LIVE], gate.strategy == BY_CONFIDENCE)):
            # A class that is not known here: the caller makes room for it, and the row comes again.
            if y[t] >= known:
                return np.int64(t), True
            mistakes = rows[MISTAKES]
            row = np.int64(t)
            # A pass of one row. The pass is compiled already, and is not linked into this loop once more.
            jump(pass_at, row, (state, params, X, y, s, order, row, row + 1, costs, averaged, observer))
            answered(gate, gate.sums[LAST_QUERY], rows[MISTAKES] - mistakes)
    return np.int64(-1), False


@kernel
def first_asked(gate, scores, weights, live):
    """The first row to ask about, of rows with these scores; -1 if there is none. Those of weight 0 are not there."""
    sure = gate.strategy == BY_CONFIDENCE
    # Where scores come with deviations, the second half of the columns holds these.
    columns = scores.shape[1] // 2 if sure else scores.shape[1]
    for i in range(u8(scores.shape[0])):
        if weights.shape[0] and weights[i] == 0.0:
            continue
        if asks(gate, live, gap_of(scores[i], columns, live, sure)):
            return np.int64(i)
    return np.int64(-1)


@python_too
def answered(gate, p, wrong):
    """Count an answer about a row that was asked about with the probability p."""
    gate.sums[GATE_WEIGHT] += 1.0 / p
    gate.sums[GATE_MISTAKES] += wrong / p


@quick
def asks_about_scores(gate_and_scores, columns, live):
    """Whether to ask about one row: a pinned gate, with the scores of the row in a matrix beside it."""
    gate, scores = content(gate_and_scores)
    return asks(gate, live, gap_of(scores[0], columns, live, gate.strategy == BY_CONFIDENCE))
