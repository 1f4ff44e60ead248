"""The queue of classifiers, and settings of class means that are refused."""

from __future__ import annotations

import numpy as np
import pytest
from learners.means.twins import rows

from aggro import PAMeansClassifier
from aggro.testing.variants import assert_same_model, snapshot

pytestmark = pytest.mark.xdist_group("means")


def test_a_queue_of_one_is_no_queue_and_equal_weights_are_uniform():
    X, y = rows(300, classes=3)
    plain, one = PAMeansClassifier(gamma=0.1).fit(X, y), PAMeansClassifier(gamma=0.1, queue=1).fit(X, y)
    np.testing.assert_allclose(one.coef_, plain.coef_, rtol=1e-9, atol=1e-11)
    assert one.n_updates_ == plain.n_updates_
    uniform = PAMeansClassifier(gamma=0.1, queue=6).fit(X, y)
    equal = PAMeansClassifier(gamma=0.1, queue=6, queue_weights=lambda age: 3).fit(X, y)
    np.testing.assert_allclose(equal.coef_, uniform.coef_, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("size", [1.0, 1e8, 1e30])
def test_the_running_mean_does_not_drift(size):
    """Also when classifiers much longer than all others have gone through the queue."""
    X, y = rows(3000)
    X[500] /= size  # without an intercept, its exact step is of this size
    model = PAMeansClassifier(step="pam", gamma=3.0, queue=4, fit_intercept=False)
    model.partial_fit(X[:501], y[:501])
    assert np.abs(model.coef_).max() >= 0.1 * size
    model.partial_fit(X[501:], y[501:])
    state = model._model.state
    assert model.n_updates_ > 500
    assert np.abs(state.ring).max() < 10.0
    fresh = (state.ring[0].astype(np.longdouble) / 4).sum(axis=0)
    kept = state.total[0, 0].astype(np.longdouble) + state.total[0, 1]
    np.testing.assert_allclose(kept.astype(float), fresh.astype(float), rtol=1e-13, atol=1e-15)
    assert state.peaks[0] < 1e12  # after longer ones, the sum was computed anew


@pytest.mark.parametrize("classes", [2, 3])
def test_a_queue_is_the_same_however_the_stream_is_cut(classes):
    X, y = rows(90, classes=classes)
    y[:40] = y[:40] % 2  # the third class comes late: the shared problem is split there
    chosen = {"gamma": 0.1, "queue": 5, "queue_weights": lambda age: 1.0 / (1.0 + age), "average": True}
    whole, ones = PAMeansClassifier(**chosen).fit(X, y), PAMeansClassifier(**chosen)
    for x, label in zip(X, y, strict=True):
        ones.learn_one(x, label)
    assert_same_model(whole, ones)


# What is refused -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"gamma": -0.1}, "'gamma'"),
        ({"scale": 0.0}, "'scale'"),
        ({"prototype": "median"}, "'prototype'"),
        ({"queue": 0}, "'queue'"),
        ({"queue": 2.5}, "'queue'"),
        ({"queue_weights": "newest"}, "'queue_weights'"),
        ({"queue": 3, "queue_weights": lambda age: -age}, r"queue_weights\(0\) must be a finite number above 0"),
        ({"queue": 3, "queue_weights": lambda age: 1 - age}, r"queue_weights\(2\) must be a finite number and not neg"),
        ({"queue": 3, "queue_weights": lambda age: "much"}, r"queue_weights\(0\)"),
    ],
)  # fmt: skip
def test_settings_that_make_no_sense(wrong, said):
    with pytest.raises(ValueError, match=said):
        PAMeansClassifier(**wrong).fit(np.eye(2), [0, 1])


@pytest.mark.parametrize("queue", [None, 4])
@pytest.mark.parametrize("change", [{"queue": 5}, {"average": True}], ids=str)
def test_a_setting_that_the_state_cannot_follow(queue, change):
    X, y = rows(30)
    model = PAMeansClassifier(queue=queue).fit(X, y)
    before = snapshot(model)[1:]
    with pytest.raises(ValueError, match="all fit to start over"):
        model.set_params(**change).partial_fit(X, y)
    assert snapshot(model)[1:] == before
    model.set_params(queue=queue, average=False, gamma=0.3, prototype="sum").partial_fit(X, y)


def test_rows_are_not_presented_until_they_are_right():
    from aggro import fit_until

    with pytest.raises(ValueError, match=r"PAMeansClassifier .* Use fit with max_iter"):
        fit_until(PAMeansClassifier(), np.eye(2), [0, 1], loss=0.1)


def test_a_function_as_weights_is_not_saved(tmp_path):
    X, y = rows(30)
    model = PAMeansClassifier(queue=3, queue_weights=lambda age: 1.0).fit(X, y)
    with pytest.raises(ValueError, match="queue_weights"):
        model.save(tmp_path / "m.aggro")
