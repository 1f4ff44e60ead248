"""The gate of active learning: who is asked about, by formulas and numbers written out here."""

from __future__ import annotations

import math

import numpy as np
import pytest
from engine.test_random import splitmix64
from helpers.tiny_rule import TinyParams, learned, tiny

from aggro.engine import gate as module
from aggro.engine import passes
from aggro.engine.gate import (
    ASKED,
    GATE_DELTA,
    GATE_MISTAKES,
    GATE_WEIGHT,
    LAST_QUERY,
    OPEN,
    PASSED,
    Gate,
    Strategy,
    first_asked,
)
from aggro.engine.jit.jumps import address_of
from aggro.engine.monitor.observer import observer
from aggro.engine.passes import layout_of, suited
from aggro.learners.model.features import frozen

SEED = 5
NONE, NO_ORDER = frozen(np.empty(0)), frozen(np.empty(0, np.int64))


def new_gate(strategy, delta=1.0, budget=-1, target=0.0):
    return Gate(int(strategy), budget, target, SEED, np.zeros(3, np.int64), np.array([delta, 0.0, 0.0, 0.0, 0.0]))


def asked(gate, scores, live=2, weights=NONE):
    """All the rows that are asked about, of these scores."""
    scores = np.asarray(scores, float).reshape(len(scores), -1)
    found, begin = [], 0
    while (row := first_asked(gate, scores[begin:], weights[begin:], live)) >= 0:
        begin += row + 1
        found.append(begin - 1)
    return found


def expected(chances):
    """The rows whose random number is below their chance."""
    draws = [(z >> 11) / 2**53 for z in splitmix64(SEED, len(chances))]
    return [row for row, (draw, p) in enumerate(zip(draws, chances, strict=True)) if draw < p]


SCORES = np.concatenate([np.linspace(-3.0, 3.0, 40), np.linspace(2.0, -2.0, 60)])


def test_the_margin_strategy_asks_by_its_formula():
    gate = new_gate(Strategy.MARGIN, delta=0.7)
    chances = [0.7 / (0.7 + abs(f)) for f in SCORES]
    assert asked(gate, SCORES) == expected(chances)
    assert gate.counts.tolist() == [100, len(expected(chances)), 100]
    assert gate.sums[LAST_QUERY] == chances[expected(chances)[-1]]
    assert gate.sums[GATE_DELTA] == 0.7


def test_a_random_gate_looks_at_no_score():
    assert asked(new_gate(Strategy.RANDOM, delta=0.3), SCORES) == expected([0.3] * 100)


def test_a_threshold_asks_below_it_alone():
    scores = [0.5, -0.5, 0.51, -3.0, 0.0]
    assert asked(new_gate(Strategy.THRESHOLD, delta=0.5), scores) == [0, 1, 4]


def test_of_several_classes_the_gap_between_the_best_two_counts():
    scores = [[1.0, 0.2, 9.0], [3.0, 2.6, 0.0], [-5.0, -1.0, -5.3]]
    assert asked(new_gate(Strategy.THRESHOLD, delta=0.5), scores, live=3) == [1]
    assert asked(new_gate(Strategy.THRESHOLD, delta=0.9), scores, live=2) == [0, 1]  # the third class is not known yet


@pytest.mark.parametrize(("strategy", "live", "all_of_them"), [(0, 0, True), (1, 0, True), (1, 1, True), (0, 1, False)])
def test_as_long_as_little_is_known_all_are_asked_about(strategy, live, all_of_them):
    assert (len(asked(new_gate(strategy, delta=1e-9), SCORES, live)) == 100) == all_of_them


@pytest.mark.parametrize("strategy", [Strategy.MARGIN, Strategy.SHARP])
def test_a_target_rate_moves_delta(strategy):
    """As the text of the module has it, row by row."""
    rate, gate, delta, surplus, found = 0.1, new_gate(strategy, delta=2.0, target=0.1), 2.0, 0.0, []
    draws = [(z >> 11) / 2**53 for z in splitmix64(SEED, len(SCORES))]
    for t, (f, draw) in enumerate(zip(SCORES, draws, strict=True)):
        p = delta / (delta + abs(f)) if strategy == Strategy.MARGIN else max(delta**2 / (delta**2 + f**2), rate / 20)
        beyond = max(abs(surplus) - 1.0 - math.sqrt(rate * (t + 1)) / 4.0, 0.0)
        p = p / (1.0 + beyond**2) if surplus > 0 else max(p, min(rate * beyond**2, 1.0))
        delta *= math.exp(0.5 * (rate * min(max(1.0 - surplus / 5.0, 0.25), 3.0) - p))
        surplus = max(surplus - rate, -20.0)
        if draw < p:
            found.append(t)
            surplus = min(surplus + 1.0, 20.0)
    assert asked(gate, SCORES) == found
    assert gate.sums[GATE_DELTA] == pytest.approx(delta, rel=1e-12)


def test_a_spent_budget_is_the_end_and_rows_go_on_counting():
    gate = new_gate(Strategy.RANDOM, delta=1.0, budget=3)
    assert asked(gate, SCORES) == [0, 1, 2]
    assert gate.counts[[PASSED, ASKED, OPEN]].tolist() == [100, 3, 3]


def test_rows_of_weight_zero_are_not_there():
    gate = new_gate(Strategy.RANDOM, delta=1.0)
    assert asked(gate, [1.0, 1.0, 1.0], weights=np.array([1.0, 0.0, 2.0])) == [0, 2]
    assert gate.counts[PASSED] == 2


def test_how_a_stream_is_cut_does_not_matter():
    whole, cut = new_gate(Strategy.MARGIN, target=0.2), new_gate(Strategy.MARGIN, target=0.2)
    parts = [at + row for at in range(0, 100, 7) for row in asked(cut, SCORES[at : at + 7])]
    assert parts == asked(whole, SCORES)
    assert cut.sums.tobytes() == whole.sums.tobytes()


# Within the pass ----------------------------------------------------------------------------------------------


def attend(state, gate, values, y, known):
    params, X, y = TinyParams(False), frozen(np.array(values, float)[:, None]), frozen(np.array(y, float))
    layout = layout_of(state, params)
    arguments = (state, params, X, y, NONE, NO_ORDER, 0, len(y), NONE, False, observer(False))
    pass_at = address_of(suited(passes.run, layout), *arguments)
    return suited(module.attend, layout)(*arguments, gate, 1, known, pass_at)


def test_rows_asked_about_are_learned_and_no_others():
    state, gate = tiny(models=2), new_gate(Strategy.THRESHOLD, delta=2.0)
    state.tally.rows[:] = 2, 0, 0, 2, 2  # two classes have been seen
    assert tuple(attend(state, gate, [1, 5, -2, 3], [1, 1, 1, 1], known=2)) == (-1, False)
    assert [(x, y) for x, y, *_ in learned(state)] == [(1, 1), (-2, 1)]
    assert gate.sums[[GATE_WEIGHT, GATE_MISTAKES]].tolist() == [
        2.0,
        1.0,
    ]  # by the scores that learn, 2x, the second was wrong


def test_it_stops_at_a_class_that_is_not_known_and_at_a_row_that_is_not_finite():
    for values, y, end in (([1, 1, 1], [0, 1, 0], (1, True)), ([1, np.nan, 1], [0, 0, 0], (1, False))):
        state, gate = tiny(models=2), new_gate(Strategy.RANDOM, delta=1.0)
        assert tuple(attend(state, gate, values, y, known=1)) == end
        assert len(learned(state)) == 1
        assert gate.counts[ASKED] == 1 + end[1]


def test_a_gate_goes_back_to_what_another_has_seen():
    gate = new_gate(Strategy.RANDOM, delta=0.5)
    before = gate.copy()
    first = asked(gate, SCORES)
    gate.restore(before)
    assert gate.counts[PASSED] == before.counts[PASSED] == 0
    assert asked(gate, SCORES) == first
