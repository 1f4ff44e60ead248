"""Pairs of scores and labels in bins, and the curves that are fitted to them, beside literal twins."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression

from aggro.engine.monitor.calibration import (
    BINS,
    EFFECTIVE,
    FOURTH_BLOCKS_FROM,
    MIDDLES,
    OFFSET,
    RAISED,
    SLOPE,
    isotonic,
)
from aggro.engine.monitor.observer import end_block
from aggro.engine.rule import new_tally
from aggro.learners.model.features import frozen
from aggro.published import PAClassifier

NONE = frozen(np.empty(0))


def twin_bin(d: float) -> int:
    """Two an octave, from 2⁻²⁰ to 2¹², for either sign."""
    if d == 0.0:
        return 63 if np.signbit(d) else 64
    octave = np.floor(np.log2(abs(d)))
    k = int(np.clip(2 * (octave + 20) + (abs(d) >= 1.5 * 2.0**octave), 0, 63))
    return 64 + k if d > 0.0 else 63 - k


def stream(classes: int, n: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4)) * 10.0 ** rng.integers(-3, 3, (n, 1))
    y = np.argmax(X @ rng.standard_normal((4, classes)) + rng.standard_normal((n, classes)), axis=1)
    y[:40] %= 2  # the third class comes late
    y[:2] = 0, 1  # and numbers are labels
    return X, y


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_pairs_are_those_of_scores_before_the_label(classes, average):
    X, y = stream(classes, 300)
    model, pairs = PAClassifier(average=average), np.zeros((8, BINS, 2))
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True), 1):
        known = len(model.classes_) if t > 1 else 0
        scores = np.atleast_1d(model.decision_one(x))
        if known == 2:
            scores = np.array([-scores[0], scores[0]])
        if known == 2 and label == 2:
            pairs[0] = pairs[1, ::-1, ::-1]
        for k in range(known if known > 1 else 0):
            lead = scores[k] - np.delete(scores, k).max()
            if k > 0 or known > 2 or label == 2:  # of two classes that of the second says all
                pairs[k, twin_bin(lead), int(label == k)] += t * t
        model.learn_one(x, label)
    kept = model._model.state.tally.pairs
    np.testing.assert_array_equal(kept, pairs[: len(kept)])


def tally_of(leads, hits):
    tally, n = new_tally(2), len(leads)
    for t, (d, hit) in enumerate(zip(leads, hits, strict=True), 1):
        tally.pairs[1, twin_bin(d), int(hit)] += t * t
    tally.rows[:] = n, 0, 0, 2, n.bit_length()
    tally.classes[:] = n - sum(hits), sum(hits)
    tally.marks[0] = n
    return tally


def some_pairs(n=512, seed=0, slope=1.3, height=-0.4):
    rng = np.random.default_rng(seed)
    leads = rng.standard_normal(n) * 2.0
    return leads, rng.random(n) < 1.0 / (1.0 + np.exp(-slope * leads - height))


def twin_curve(tally, n):
    """Platt's sigmoid for the bins, by a general minimiser."""
    others, own = tally.pairs[1].T * EFFECTIVE / n**2
    high, low = (own.sum() + 1) / (own.sum() + 2), 1 / (others.sum() + 2)

    def loss(at):
        z = at[0] * MIDDLES + at[1]
        return ((own + others) * np.logaddexp(0.0, z) - (own * high + others * low) * z).sum()

    return minimize(loss, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).x


@pytest.mark.parametrize("seed", range(20))
def test_the_curve_has_the_least_loss_whatever_came_before(seed):
    """Also after rows whose scores told the classes apart, which leave a curve with a huge slope."""
    rng, tally, n = np.random.default_rng(seed), new_tally(2), 64
    tally.rows[:] = n, 0, 0, 2, n.bit_length()
    tally.marks[0] = n
    for _ in range(6):
        rows, scale, slope = (
            int(rng.integers(8, 200)),
            10.0 ** rng.uniform(-6, 3),
            rng.choice([-1.0, 0.0, 1.0, 4.0, 1e9]),
        )
        leads = rng.standard_normal(rows) * scale
        odds = np.clip(slope * leads / scale + rng.standard_normal(), -700, 700)
        for d, hit in zip(leads, rng.random(rows) < 1.0 / (1.0 + np.exp(-odds)), strict=True):
            tally.pairs[1, twin_bin(d), int(hit)] += n * n / EFFECTIVE  # each pair counts as one
        if rng.random() < 0.3:
            tally.curve[1, SLOPE] *= 1e4
        end_block(tally, NONE)
        a, b, _ = tally.curve[1]
        others, own = tally.pairs[1].T * EFFECTIVE / n**2
        high, low = (own.sum() + 1) / (own.sum() + 2), 1 / (others.sum() + 2)
        unit = np.abs(MIDDLES[own + others > 0.0]).max()

        def loss(at, others=others, own=own, high=high, low=low, unit=unit):
            z = at[0] * MIDDLES / unit + at[1]
            return ((own + others) * np.logaddexp(0.0, z) - (own * high + others * low) * z).sum() / (
                own + others
            ).sum()

        best = min(
            minimize(loss, start, method="L-BFGS-B", bounds=[(0.0, None), (None, None)], tol=1e-14).fun
            for start in ([0.0, 0.0], [a * unit, b])
        )
        assert a >= 0.0
        assert loss([a * unit, b]) <= best + 1e-6


@pytest.mark.parametrize("separable", [False, True])
def test_a_sigmoid_is_the_one_of_least_log_loss(separable):
    leads, hits = some_pairs()
    if separable:
        hits = leads > 0.0
    tally = tally_of(leads, hits)
    end_block(tally, NONE)
    np.testing.assert_allclose(tally.curve[1, [SLOPE, OFFSET]], twin_curve(tally, len(leads)), rtol=0.02, atol=0.02)
    assert tally.curve[1, RAISED] == 0.0


def test_scores_that_say_the_opposite_have_a_flat_curve():
    leads, hits = some_pairs()
    tally = tally_of(-leads, hits)
    end_block(tally, NONE)
    assert tally.curve[1, SLOPE] == 0.0
    assert tally.curve[1, OFFSET] < 0.0  # the second class is the rarer one


def test_costs_move_the_decision_to_where_they_are_equal():
    tally = tally_of(*some_pairs())
    end_block(tally, frozen(np.array([1.0, 5.0])))
    a, b, raised = tally.curve[1]
    d = -2.0 * raised  # f + δ = 0 with d = 2f
    p = 1.0 / (1.0 + np.exp(-a * d - b))
    assert 5.0 * p == pytest.approx(1.0 * (1.0 - p))
    assert tally.curve[0, RAISED] == pytest.approx(-raised)
    end_block(tally, frozen(np.array([3.0, 3.0])))
    assert not tally.curve[:, RAISED].any()


def test_isotonic_heights_are_those_of_pooled_bins():
    leads, hits = some_pairs()
    tally, heights = tally_of(leads, hits), np.empty((2, BINS))
    isotonic(tally.pairs, len(leads), heights)
    others, own = tally.pairs[1].T * EFFECTIVE / len(leads) ** 2
    there = own + others > 0.0
    own, others, middles = own[there], others[there], MIDDLES[there]
    shares = IsotonicRegression().fit(middles, own / (own + others), own + others).predict(middles)
    pools = np.unique(shares.round(12), return_inverse=True)[1]
    n, s = np.bincount(pools, own + others), np.bincount(pools, own)
    np.testing.assert_allclose(heights[1][there], ((s + 0.5) / (n + 1.0))[pools])
    assert np.isnan(heights[1][~there]).all()


def test_every_other_block_is_enough_after_many_rows():
    X, y = stream(2, FOURTH_BLOCKS_FROM + 256)
    cuts = FOURTH_BLOCKS_FROM, FOURTH_BLOCKS_FROM + 128, FOURTH_BLOCKS_FROM + 256
    pairs = [PAClassifier().partial_fit(X[:n], y[:n])._model.state.tally.pairs.sum() for n in cuts]
    assert pairs[0] < pairs[1] == pairs[2]
    weighed = PAClassifier(class_weight="balanced").partial_fit(X, y)._model.state.tally
    assert weighed.pairs.sum() == (np.arange(FOURTH_BLOCKS_FROM + 257.0) ** 2)[weighed_from(y) :].sum()


def weighed_from(y) -> int:
    """The first row, from 1 on, before which two classes were known."""
    return int(np.argmax(y != y[0])) + 2
