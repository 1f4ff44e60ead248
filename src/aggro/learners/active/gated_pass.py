"""Passes that learn only the rows which a gate asks about."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from aggro.engine.gate import BY_CONFIDENCE, LAST_QUERY, Gate, answered, asks_about_scores, attend, first_asked
from aggro.engine.jit.compile import direct
from aggro.engine.jit.jumps import address_of
from aggro.engine.jit.pinned import Pinned
from aggro.engine.passes import layout_of, run, suited
from aggro.engine.rule import LIVE, MISTAKES, SEEN
from aggro.learners.active.replay import Kept, Row, row_at
from aggro.learners.base import inputs
from aggro.learners.base.columns import columns_of, no_more
from aggro.learners.base.learner import Learner
from aggro.learners.base.one_row import FIRST_TURN
from aggro.learners.base.routes import Stretch
from aggro.learners.model.labels import Labels
from aggro.learners.model.model import NO_ORDER, NO_WEIGHTS, Model

FIRST_SCORED, LARGEST_SCORED = 64, 65536  # rows that are scored at once, twice as many each time


class AskedRows:
    """The route of a pass with a gate before it: only the rows that the gate asks about are learned.

    A class is known from the first row on that was asked about. Until then its rows have a number above those of the
    known classes, and the loop stops where such a row is asked about; that row is a stretch of its own. While answered
    rows are kept (``active.replay``), the loop stops at each of them.
    """

    def __init__(self, gate: Gate, kept: Kept | None = None) -> None:
        self.gate = gate
        self.kept = kept or Kept(0)
        self.rows: Any = None  # as they were given
        self.order, self.weights = NO_ORDER, NO_WEIGHTS
        self.at_once = not self.kept.on
        self.own = 0  # classes whose rows the loop learns itself
        self.stopped = False  # at a row that was asked about
        self.row = -1  # where
        self.answer: tuple[Row, int, float] | None = None  # what was learned just now, to be kept
        self.labels: Labels

    def begin(self, rows: Any, order: np.ndarray, weights: np.ndarray) -> None:
        """Hear the rows, their order and their weights."""
        self.rows, self.order, self.weights = rows, order, weights

    def stretches(
        self, learner: Learner, labels: Labels, after: Labels, y: np.ndarray, targets: np.ndarray, firsts: np.ndarray
    ) -> Iterator[Stretch]:
        """What to learn next, as ``EveryRow.stretches`` says it."""
        start, stop = 0, y.shape[0]
        # Each answer of a new class changes the labels, so the loop stops there and begins again.
        while start < stop:
            known = len(labels.codes)
            # While answers are kept, the loop stops at every one of them.
            self.own, self.stopped, self.labels = 0 if self.kept.on else known, False, labels
            rule = learner._rule_for(max(1, known))
            yield Stretch(self.learn_asked, rule, targets, start, stop, labels)
            # The loop went through to the end: no row is left.
            if not self.stopped:
                return
            row = self.row
            # The class becomes the next number, whatever number the whole call gave it; the class that had this number
            # takes the other one in the rows to come.
            if targets[row] >= known:
                targets = exchanged(targets, targets[row], known)
                labels, _ = labels.with_label(y[row])
                self.labels = labels
            # The row that was asked about is a stretch of its own, learned by the ordinary loop.
            yield Stretch(self.learn_answer, learner._rule_for(len(labels.codes)), targets, row, row + 1, labels)
            start = row + 1

    def stops_at(self, row: int) -> bool:
        """Whether the loop stopped at this row to ask about it; else the row is not finite."""
        self.row = row
        return self.stopped

    def onward(self, learner: Learner, model: Model, state: Any, params: Any) -> tuple[Any, Any]:
        """After an answer was learned that is kept, the state made anew where it is time for that."""
        if self.answer is None:
            return state, params
        self.kept.add(*self.answer, int(state.tally.rows[SEEN]))
        self.answer = None
        # Rebuilt after the answer is learned and counted, so that the counters have it.
        if self.kept.due:
            names = list(self.labels.codes)
            fresh = self.kept.made_anew(learner, model, model.width, names, self.gate.seed)
            self.kept.follows(state, fresh.state)
            state, params = fresh.state, fresh.params
        return state, params

    def learn_asked(self, state: Any, params: Any, *rest: Any) -> int:
        """Ask about rows and learn them; the arguments are those of the ordinary loop."""
        # The gate divides scores by their deviations, which the rule writes only if asked.
        if self.gate.strategy == BY_CONFIDENCE:
            params = params._replace(sure=1)
        layout = layout_of(state, params)
        columns = columns_of(state)
        # The loop goes through the gate row by row and jumps back to the ordinary pass for each answer.
        run_at = address_of(suited(run, layout), state, params, *rest)
        arguments = (state, params, *rest, self.gate, columns, self.own, run_at)
        row, self.stopped = suited(attend, layout)(*arguments)
        return int(row)

    def learn_answer(self, state: Any, params: Any, *rest: Any) -> int:
        """Learn the one row that was asked about last."""
        self.stopped = False
        if self.kept.on:
            _, y, _, _, start, *_ = rest  # rows may be scaled by now: kept are those that were given
            kept = row_at(self.rows, int(self.order[self.row]) if self.order.shape[0] else self.row)
            self.answer = kept, int(y[start]), float(self.weights[self.row]) if self.weights.shape[0] else 1.0
        # The mistake of this row is what the pass counted while it learned it.
        mistakes = int(state.tally.rows[MISTAKES])
        bad = int(suited(run, layout_of(state, params))(state, params, *rest))
        answered(self.gate, float(self.gate.sums[LAST_QUERY]), int(state.tally.rows[MISTAKES]) - mistakes)
        return bad


def exchanged(codes: np.ndarray, a: float, b: float) -> np.ndarray:
    """The numbers of rows, where classes a and b have changed theirs."""
    codes = codes.copy()
    is_a, is_b = codes == a, codes == b
    codes[is_a], codes[is_b] = b, a
    return codes


@cache
def decider() -> Any:
    """The machine code that says whether to ask about one row: see ``asks_about_scores``."""
    gate = Gate(0, -1, 0.0, 0, np.zeros(3, np.int64), np.zeros(5))
    return direct(asks_about_scores, Pinned((gate, np.zeros((1, 1))), Gate), 0, 0)


def asks_about_first(learner: Learner, gate: Gate, chunk: Any, start: int, stop: int) -> int | None:
    """The first row of a chunk, from ``start`` on and before ``stop``, to ask about; None if there is none."""
    # Few rows first, since a question often comes soon; then twice as many each time.
    size, knows = FIRST_SCORED, "_model" in learner.__dict__
    every = inputs.as_weights(chunk.weight, chunk.n_rows)
    while start < stop:
        rows = slice(start, min(start + size, stop))
        sure = gate.strategy == BY_CONFIDENCE
        scores, live = np.zeros((rows.stop - start, 2 if sure else 1)), 0  # as long as nothing is known
        if knows:
            # Strategies by confidence need room for deviations behind the scores.
            more = columns_of if sure else no_more
            with learner._scored(chunk.X[rows], chunk.names, in_stream=True, more=more) as (view, scores):
                live = int(view.state.tally.rows[LIVE])
        weights = every[rows] if every.shape[0] else every
        # The gate is counted up under the lock: two threads must not pass the same row.
        with learner._model.guard if knows else FIRST_TURN.lock:
            found = int(first_asked(gate, scores, weights, live))
        if found >= 0:
            return start + found
        start, size = start + size, min(2 * size, LARGEST_SCORED)
    return None
