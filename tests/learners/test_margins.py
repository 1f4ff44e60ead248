"""The losses that rules share, against their formulas."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from aggro.engine.jit.compile import from_python
from aggro.engine.rule import LIVE, Tally, new_tally
from aggro.learners.maths import margins

EDGE = 0.7
rival = from_python(margins.runner_up)
one_vs_rest = from_python(margins.loss_of_one_vs_rest)
joint = from_python(margins.loss_of_joint)


class Counted(NamedTuple):
    tally: Tally


def seen(*rows: float) -> Counted:
    """A state that has seen so many rows of each class, and has room for more."""
    state = Counted(new_tally(8))
    state.tally.rows[LIVE] = len(rows)
    state.tally.classes[: len(rows)] = rows
    return state


@pytest.mark.parametrize("live", [1, 2, 5])
@pytest.mark.parametrize("span", [1, 3])
def test_the_rival_is_the_best_of_the_others(live, span):
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores = rng.integers(-3, 4, 5 * span).astype(float)
        start, c = int(rng.integers(span)), int(rng.integers(live))
        others = [k for k in range(live) if k != c]
        expected = max(others, key=lambda k: scores[start + k * span]) if others else -1
        found = rival(live, c, scores, np.uint64(start), np.uint64(span))
        assert found == expected
        if span == 1:
            assert rival(live, c, scores) == expected


@pytest.mark.parametrize("judge", [one_vs_rest, joint])
def test_classes_are_judged_by_their_formulas(judge):
    rng = np.random.default_rng(1)
    for _ in range(200):
        live = int(rng.integers(1, 6))
        scores = np.append(rng.integers(-3, 4, live) / 2.0, np.full(8 - live, 9.0))  # what is not seen yet has no say
        rows = rng.integers(0, 2, live).astype(float)
        y = int(rng.integers(live))
        loss, mistake = judge(seen(*rows), EDGE, float(y), scores)
        others = np.delete(scores[:live], y)
        if judge is joint:
            expected = max(0.0, EDGE - (scores[y] - others.max())) if others.size else 0.0
        else:
            expected = max(0.0, EDGE - scores[y]) + np.maximum(0.0, EDGE + others).sum()
        assert loss == pytest.approx(expected, abs=1e-12)
        assert mistake == (rows[y] == 0.0 or bool((others >= scores[y]).any()))


@pytest.mark.parametrize(
    ("judge", "asked", "expected"),
    [
        (margins.loss_of_number, (EDGE, 2.0, 1.0), (1.0 - EDGE, False)),
        (margins.loss_of_number, (EDGE, 2.0, 2.5), (0.0, False)),
        (margins.loss_of_two_classes, (EDGE, 0.0, -0.2), (EDGE - 0.2, False)),
        (margins.loss_of_two_classes, (EDGE, 1.0, -0.2), (EDGE + 0.2, True)),
        (margins.loss_of_two_classes, (EDGE, 1.0, 0.0), (EDGE, True)),
    ],
)
def test_one_score_is_judged_by_its_formula(judge, asked, expected):
    assert from_python(judge)(*asked) == pytest.approx(expected)


@pytest.mark.parametrize(("d", "expected"), [(2.0, (0.5, True)), (1.5, (0.0, False)), (1.0, (0.0, False))])
def test_a_row_outside_costs_its_distance_from_the_ball(d, expected):
    found = from_python(margins.loss_of_outlier)(seen(1.0), 0, 0.0, np.array([-d, -1.5]))
    assert found == pytest.approx(expected)
