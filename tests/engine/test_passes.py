"""The two loops over rows, by a rule that writes down what it is given; and by which types machine code is found."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.tiny_rule import TinyParams, learned, tiny

from aggro.engine import passes
from aggro.engine.monitor.calibration import BALANCED
from aggro.engine.monitor.observer import observer
from aggro.engine.passes import from_outside, layout_of, suited
from aggro.engine.rule import HISTORY_MARKS, LIVE, MISTAKES, SEEN, UPDATES
from aggro.learners.linear.vector import LINE, LineParams
from aggro.learners.model.features import frozen

NONE, NO_ORDER = frozen(np.empty(0)), frozen(np.empty(0, np.int64))
GENERAL, STEADY = TinyParams(False), TinyParams(True)
LAYOUT = layout_of(tiny(), GENERAL)
run, score_rows = suited(passes.run, LAYOUT), suited(passes.score_rows, LAYOUT)


def rows(*values):
    return frozen(np.array([[value] for value in values], float))


def targets(*values):
    return frozen(np.array(values, float))


def go(state, params, X, y, s=NONE, order=NO_ORDER, start=0, stop=None, costs=NONE, averaged=False):
    stop = y.shape[0] if stop is None else stop
    return run(state, params, X, y, s, order, start, stop, costs, averaged, observer(True))


@pytest.mark.parametrize("params", [GENERAL, STEADY])
def test_rows_are_learned_in_order_and_counted(params):
    state = tiny()
    assert go(state, params, rows(1, -2, 0), targets(2, 1, 5)) == -1
    ordinary = float(params.steady)
    assert learned(state) == [[1, 2, 1, ordinary], [-2, 1, 1, ordinary], [0, 5, 1, ordinary]]
    assert state.tally.rows[[SEEN, UPDATES, MISTAKES]].tolist() == [3, 2, 2]
    assert state.tally.loss[0] == 0.0 + 5.0 + 5.0
    assert state.tally.rows[HISTORY_MARKS] == 2
    assert state.tally.history[:2].tolist() == [[1, 0, 0], [2, 5, 1]]  # rows, sum of losses, mistakes


def test_a_range_an_order_and_weights():
    state = tiny()
    weights, order = targets(1, 0, 3, 4), frozen(np.array([3, 2, 1, 0]))
    assert go(state, GENERAL, rows(1, 2, 3, 4), targets(5, 6, 7, 8), weights, order, 1, 4) == -1
    assert learned(state) == [[2, 7, 3, 0], [1, 8, 4, 0]]  # target and weight belong to the place in the order
    assert state.tally.rows[SEEN] == 2  # a row of weight 0 is not there


@pytest.mark.parametrize("params", [GENERAL, STEADY])
def test_a_pass_stops_before_a_row_that_is_not_finite(params):
    state = tiny()
    assert go(state, params, rows(1, np.inf, 3), targets(1, 1, 1)) == 1
    assert state.tally.rows[SEEN] == len(learned(state)) == 1
    assert score_rows(state, params, rows(1, 2, np.nan), np.zeros((3, 1))) == 2


def test_rows_that_are_not_ordinary_are_taken_one_by_one_and_then_the_quick_loop_goes_on():
    state = tiny()
    assert go(state, STEADY, rows(1, 200, 2, 3, 4), targets(1, 1, 1, 77, 1)) == -1
    assert [(x, ordinary) for x, _, _, ordinary in learned(state)] == [(1, 1), (200, 0), (2, 1), (3, 0), (4, 1)]


def test_scores_and_counted_losses_are_those_of_the_model_that_predicts():
    scores = np.zeros((2, 1))
    state = tiny()
    assert score_rows(state, GENERAL, rows(1, -2), scores) == -1
    assert scores.tolist() == [[-1], [2]]
    go(state, GENERAL, rows(1), targets(1), averaged=True)
    assert state.tally.loss[0] == 2.0


def test_classes_are_counted_and_the_first_row_of_each_is_a_mistake():
    state = tiny(models=2)
    # By the scores alone, rows 1 and 3 are wrong; row 0 is the first of class 0, and row 2 that of class 1.
    go(state, STEADY, rows(-1, 1, 1, -1, 1), targets(0, 0, 1, 1, 1))
    assert state.tally.rows[LIVE] == 2
    assert state.tally.classes.tolist() == [2, 3]
    assert state.tally.rows[MISTAKES] == 3  # row 1 is not one: only one class was known, and predicted
    assert [ordinary for *_, ordinary in learned(state)] == [0, 0, 0, 1, 1]


def test_balanced_weights_are_by_the_classes_counted_so_far():
    state = tiny(models=2)
    go(state, GENERAL, rows(1, 1, 1), targets(0, 0, 1), costs=targets(BALANCED))
    # (rows with this one) / (classes with this one · rows of its class with this one)
    assert [s for _, _, s, _ in learned(state)] == [1 / (1 * 1), 2 / (1 * 2), 3 / (2 * 1)]


# Layouts ------------------------------------------------------------------------------------------------------


def test_a_layout_says_all_that_machine_code_relies_on():
    state = tiny()
    turned = np.asfortranarray(np.zeros((50, 4)))
    others = [
        state._replace(log=state.log.astype(np.float32)),
        state._replace(log=state.log[0]),
        state._replace(log=turned),
        state._replace(log=turned[::2]),
        state._replace(log=frozen(state.log)),
        state._replace(count=state.count.astype(np.int32)),
    ]
    assert len({LAYOUT, *(layout_of(other, GENERAL) for other in others), layout_of(state, (False,))}) == 8
    assert layout_of(tiny(models=2, rows=7), STEADY) == LAYOUT  # numbers and lengths do not matter


def test_what_comes_from_outside_is_compiled_afresh():
    params = LineParams(1, 0, 1.0, 0.1, 1.0, 0, 1.0)
    ours = layout_of(LINE.init(params, 2, 1), params)
    assert from_outside(LAYOUT)
    assert not from_outside(ours)
    assert suited(passes.run, ours) is passes.run
    assert run is not passes.run
    assert suited(passes.run, LAYOUT) is run
