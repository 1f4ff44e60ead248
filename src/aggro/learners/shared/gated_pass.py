"""Passes that learn only the rows which a gate asks about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aggro.engine.gate import LAST, WEIGHT, WRONG, Gate, attend, first_asked
from aggro.engine.jit.jumps import address_of
from aggro.engine.jit.pinned import Pinned
from aggro.engine.passes import layout_of, run, suited
from aggro.engine.rule import LIVE, MISTAKES, RULES
from aggro.learners.shared import inputs
from aggro.learners.shared.features import frozen
from aggro.learners.shared.labels import Labels
from aggro.learners.shared.model import Model
from aggro.learners.shared.one_row import FIRST

if TYPE_CHECKING:
    from aggro.learners.shared.learner import Learner

__all__ = ["asks_about", "asks_about_first", "count_answer", "learn_asked"]

BLOCK, LARGEST = 64, 65536  # rows that are scored at once, twice as many each time


class Attending:
    """The pass with a gate before it; ``is_new`` says that it stopped at a class that is not known yet."""

    def __init__(self, gate: Gate, known: int) -> None:
        self.gate = gate
        self.known = known
        self.is_new = False

    def __call__(self, state: Any, params: Any, *rest: Any) -> int:
        """Ask about rows and learn them; the arguments are those of the pass."""
        layout = layout_of(state, params)
        columns = RULES[type(state)].columns(state)
        pass_at = address_of(suited(run, layout), state, params, *rest)
        arguments = (state, params, *rest, self.gate, columns, self.known, pass_at)
        row, self.is_new = suited(attend, layout)(*arguments)
        return int(row)


def learn_asked(
    learner: Learner,
    gate: Gate,
    model: Model,
    X: Any,
    y: np.ndarray,
    s: np.ndarray,
    order: np.ndarray,
    state: Any,
    labels: Labels,
) -> None:
    """One pass over rows that came through the doors, into ``state``, which then is the model's.

    A class is known from the first row on that was asked about. Until then its rows have a number above those of the
    known classes, and the pass stops where such a row is asked about.
    """
    given, before = s, model.params
    if order.shape[0]:
        y = y[order]
        s = s[order] if s.shape[0] else s
    after, codes, s, _ = learner._encode(labels, y, s)
    state = learner._own_state(model, state, after)
    order, s = frozen(order), frozen(s)
    params, start, stop = model.params, 0, y.shape[0]

    def learn(rows: Any, start: int, stop: int) -> int:
        nonlocal state, params
        rule = learner._rule_for(max(1, len(labels.codes)))
        state, params = learner._with_room(state, params, rule, model.width, len(labels.codes))
        if rule.hold is not None:
            state = rule.hold(state, X)
        flags = model.balanced, model.averaged and not rule.judges_mean
        state, row = learner._pass(model, rows, state, params, X, frozen(codes), s, order, start, stop, *flags)
        return row

    while start < stop:
        attending = Attending(gate, len(labels.codes))
        row = learn(attending, start, stop)
        if row < 0:
            break
        if not attending.is_new:
            first = inputs.first_bad_row(X, given, learner._least())
            raise inputs.bad_value(X, first, model.features.names, learner._least())
        codes = exchanged(codes, codes[row], len(labels.codes))
        labels, _ = labels.with_label(y[row])
        mistakes = int(state.tally.rows[MISTAKES])
        learn(plain, row, row + 1)
        count_answer(gate, float(gate.sums[LAST]), int(state.tally.rows[MISTAKES]) - mistakes)
        start = row + 1
    learner._end_pass(model, before, state, params, labels)


def plain(state: Any, params: Any, *rest: Any) -> int:
    """The pass, with no gate."""
    return int(suited(run, layout_of(state, params))(state, params, *rest))


def exchanged(codes: np.ndarray, a: float, b: float) -> np.ndarray:
    """The numbers of rows, where classes a and b have changed theirs."""
    codes = codes.copy()
    is_a, is_b = codes == a, codes == b
    codes[is_a], codes[is_b] = b, a
    return codes


def count_answer(gate: Gate, p: float, wrong: int) -> None:
    """Count an answer about a row that was asked about with the probability p."""
    gate.sums[WEIGHT] += 1.0 / p
    gate.sums[WRONG] += wrong / p


def asks_about(learner: Learner, gate: Gate, pinned_gate: Pinned, model: Model, x: Any) -> bool:
    """Whether to ask about one row. Needs the guard."""
    learner._prepare(model)
    row = learner._known_row(model, x) or learner._row(model, x, False)
    found = learner._ask_row(model, row, gate, pinned_gate)
    if found < 0:
        raise inputs.bad_value(row.value[0], 0, model.features.names, learner._least())
    return found > 0


def asks_about_first(learner: Learner, gate: Gate, chunk: Any, start: int, stop: int) -> int | None:
    """The first row of a chunk, from ``start`` on and before ``stop``, to ask about; None if there is none."""
    size, knows = BLOCK, "_model" in learner.__dict__
    every = inputs.as_weights(chunk.weight, chunk.n_rows)
    while start < stop:
        rows = slice(start, min(start + size, stop))
        scores, live = np.zeros((rows.stop - start, 1)), 0  # as long as nothing is known
        if knows:
            view, scores = learner._scores(chunk.X[rows], chunk.names, in_stream=True)
            live = int(view.state.tally.rows[LIVE])
        weights = every[rows] if every.shape[0] else every
        with learner._model.guard if knows else FIRST.lock:
            found = int(first_asked(gate, scores, weights, live))
        if found >= 0:
            return start + found
        start, size = start + size, min(2 * size, LARGEST)
    return None
