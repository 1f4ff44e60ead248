"""Parameters that make no sense are refused by name; good ones count from the next row on."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.variants import PLAIN, each

from aggro.published import PAClassifier, PARegressor
from aggro.testing.variants import snapshot, stream

NAN, INF = float("nan"), float("inf")


@each(PLAIN)
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"step": "pa3"}, "Did you mean 'pa"),
        ({"step": "PA1"}, "'step'"),
        ({"step": 1}, "'step'"),
        ({"C": 0.0}, "'C'"),
        ({"C": -1}, "'C'"),
        ({"C": NAN}, "'C'"),
        ({"C": INF}, "'C'"),
        ({"C": "1"}, "'C'"),
        ({"C": 10**400}, "'C'"),
        ({"C": True}, "'C'"),
        ({"max_iter": 0}, "'max_iter'"),
        ({"max_iter": 1.5}, "'max_iter'"),
        ({"tol": -1e-3}, "'tol'"),
        ({"average": "yes"}, "'average'"),
        ({"fit_intercept": 1}, "'fit_intercept'"),
        ({"random_state": -1}, "'random_state'"),
        ({"n_features": 0}, "'n_features'"),
    ],
    ids=str,
)  # fmt: skip
def test_parameters_that_make_no_sense(variant, settings, said):
    if not variant.has(*settings):
        pytest.skip("the learner has no such parameter")
    X, y = stream(variant, n=10)
    for call in (lambda m: m.fit(X, y), lambda m: m.partial_fit(X, y), lambda m: m.learn_one(X[0], y[0])):
        with pytest.raises(ValueError, match=said) as caught:
            call(variant.new(**settings))
        assert variant.entry.name in str(caught.value)


@pytest.mark.parametrize(
    ("learner", "settings"),
    [
        (PAClassifier, {"margin": 0.0}),
        (PAClassifier, {"multi_class": "both"}),
        (PAClassifier, {"class_weight": "balance"}),
        (PARegressor, {"epsilon": -0.1}),
    ],
)
def test_parameters_of_one_learner_that_make_no_sense(learner, settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        learner(**settings).fit(np.eye(2), [0, 1])


@pytest.mark.parametrize("weight", [-1.0, NAN, INF, "heavy"])
def test_class_weights_that_make_no_sense(weight):
    model = PAClassifier(class_weight={0: weight})
    with pytest.raises((ValueError, TypeError)):
        model.fit(np.eye(2), [0, 1])


def test_a_parameter_set_to_nonsense_mid_stream():
    model = PARegressor().fit(np.eye(3), [1.0, 2.0, 3.0]).set_params(C=-1.0)
    before = snapshot(model)
    for call in (lambda: model.partial_fit(np.eye(3), [1, 2, 3]), lambda: model.learn_one(np.ones(3), 1.0)):
        with pytest.raises(ValueError, match="'C'"):
            call()
    assert snapshot(model) == before
    assert model.set_params(C=2.0).learn_one(np.ones(3), 1.0).n_seen_ == 4


@pytest.mark.parametrize("form", ["array", "pair", "dict"])
def test_a_parameter_set_mid_stream_counts_for_the_next_row(form):
    x = {"array": np.ones(2), "pair": ([0, 1], [1.0, 1.0]), "dict": {"a": 1.0, "b": 1.0}}[form]
    model = PARegressor(C=1e-3, fit_intercept=False)
    for _ in range(10):
        model.learn_one(x, 100.0)
    model.set_params(C=5.0)
    before = model.coef_[0]
    model.learn_one(x, 100.0)
    assert model.coef_[0] - before == pytest.approx(5.0)


@pytest.mark.parametrize("change", [{"multi_class": "ovr"}, {"multi_class": "joint"}, {"average": True}], ids=str)
def test_a_parameter_that_shapes_the_model_takes_effect_mid_stream_or_is_refused(change):
    X, y = np.random.default_rng(4).standard_normal((30, 3)), np.arange(30) % 2
    begins = {"multi_class": "joint"} if change == {"multi_class": "ovr"} else {}
    unchanged = PAClassifier(**begins).partial_fit(X, y).partial_fit(X, y)
    model = PAClassifier(**begins).partial_fit(X, y).set_params(**change)
    try:
        effective = not np.array_equal(model.partial_fit(X, y).coef_, unchanged.coef_)
    except ValueError as error:
        effective = next(iter(change)) in str(error)
    assert effective
