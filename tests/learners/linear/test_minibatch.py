"""Rows learned in groups: against the literal twins, however a stream is cut, spelled, saved or flushed."""

from __future__ import annotations

import copy
import pickle

import hypothesis.strategies as st
import numpy as np
import pytest
from helpers import forge
from helpers.linear_streams import LABELS, assert_equal_to_twin, settings_of_classes, streams
from hypothesis import given, settings
from learners.linear import twins_minibatch
from scipy.sparse import csr_matrix, random_array

import aggro
from aggro.learners.linear.vector import Line
from aggro.models import ModelFileError
from aggro.published import PAClassifier, PARegressor
from aggro.testing.variants import arrays, as_dicts, as_pairs, assert_same_model, learn_rows, snapshot
from aggro.theory import unrealizable_bound

pytestmark = pytest.mark.xdist_group("minibatch")

settings_of_groups = st.fixed_dictionaries(
    {
        "C": st.sampled_from([0.05, 1.0, 30.0]),
        "step": st.sampled_from(["pa1", "pa2", "ls"]),
        "fit_intercept": st.booleans(),
        "average": st.booleans(),
        "half_life": st.sampled_from([None, None, 3.0, 200.0]),
        "batch_size": st.integers(2, 6),
        "window": st.sampled_from(["disjoint", "sliding"]),
    }
)


@given(streams(), settings_of_groups, st.sampled_from([0.0, 0.1, 1.0]), st.booleans(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_regressor_is_its_twin(stream, chosen, epsilon, is_sparse, flushed):
    X, _, y, weights = stream
    twin = twins_minibatch.Regressor(X.shape[1], epsilon=epsilon, **chosen)
    for row in zip(X, y, weights, strict=True):
        twin.learn(*row)
    model = PARegressor(epsilon=epsilon, **chosen)
    model.partial_fit(csr_matrix(X) if is_sparse else X, y, sample_weight=weights)
    if flushed:
        twin.flush(), model.flush()
    assert_equal_to_twin(model, twin)


@given(streams(), settings_of_groups, settings_of_classes, st.booleans(), st.booleans())
@settings(max_examples=120, deadline=None)
def test_classifier_is_its_twin(stream, chosen, chosen_too, is_sparse, flushed):
    X, codes, _, weights = stream
    labels = LABELS[codes]
    twin = twins_minibatch.Classifier(X.shape[1], **chosen, **chosen_too)
    for x, label, weight in zip(X, labels.tolist(), weights, strict=True):
        twin.learn(x, label, weight)
    model = PAClassifier(**chosen, **chosen_too)
    model.partial_fit(csr_matrix(X) if is_sparse else X, labels, sample_weight=weights)
    if flushed:
        twin.flush(), model.flush()
    assert_equal_to_twin(model, twin)


# What a group does ---------------------------------------------------------------------------------------


def some(n=23, d=5, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, LABELS[(X @ rng.standard_normal((d, classes))).argmax(axis=1)], X @ rng.standard_normal(d)


@pytest.mark.parametrize("step", ["pa1", "pa2", "ls"])
def test_equal_rows_count_as_one_of_their_common_weight(step):
    """The matrix of such a group is singular."""
    x, weights = np.array([[0.5, -2.0, 1.0]]), np.array([0.3, 1.0, 0.2, 2.5])
    for C in (0.01, 1.0, 1e6):
        group = PAClassifier(C, step=step, batch_size=4).partial_fit(np.repeat(x, 4, axis=0), [1] * 4, [0, 1], weights)
        row = PAClassifier(C, step=step).partial_fit(x, [1], [0, 1], weights.sum(keepdims=True))
        np.testing.assert_allclose(group.coef_, row.coef_, rtol=1e-9)
        np.testing.assert_allclose(group.intercept_, row.intercept_, rtol=1e-9)


def test_a_group_is_right_about_all_its_rows_at_once():
    X, _, target = some(n=4, d=6)
    model = PARegressor(1e6, epsilon=0.0, batch_size=4).partial_fit(X, target)
    np.testing.assert_allclose(model.predict(X), target, rtol=1e-9, atol=1e-9)
    assert model.n_updates_ == 1
    one_by_one = PARegressor(1e6, epsilon=0.0).partial_fit(X, target)
    assert np.abs(one_by_one.predict(X) - target).max() > 0.01


def test_one_row_a_group_is_the_plain_learner():
    X, y, _ = some()
    model = PAClassifier(batch_size=1, window="sliding").fit(X, y > "l")
    assert type(model._model.state) is Line
    before = snapshot(model)
    assert model.flush() is model
    assert snapshot(model) == before
    assert snapshot(PAClassifier().fit(X, y > "l"))[1:] == before[1:]


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
@pytest.mark.parametrize("scale", [1e-45, 1e45])
@pytest.mark.parametrize("step", ["pa1", "pa2", "ls"])
def test_rows_of_any_size(step, scale, form):
    """(c x, C/c²) asks for w/c: the scores stay."""
    X, y, _ = some()
    params = {"step": step, "fit_intercept": False, "batch_size": 4}
    plain = PAClassifier(0.1, **params).fit(X, y)
    far = PAClassifier(0.1 / scale / scale, **params).fit(form(X * scale), y)
    np.testing.assert_allclose(far.decision_function(form(X * scale)), plain.decision_function(X), rtol=1e-7, atol=1e-9)


def test_a_class_that_comes_late_learns_from_the_rows_that_waited_with_it():
    X = np.eye(3)
    model = PAClassifier(batch_size=3, fit_intercept=False).partial_fit(X, ["a", "b", "c"])
    np.testing.assert_allclose(model.coef_, 2 * np.eye(3) - 1, rtol=1e-12)


# Waiting -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("average", [False, True])
def test_fit_ends_with_a_flush_and_others_do_not(average):
    X, y, _ = some()  # 23 rows: three are left over
    params = {"batch_size": 5, "average": average}
    waiting = PAClassifier(**params).partial_fit(X, y)
    assert waiting._model.state.group.facts[0] == 3
    assert np.array_equal(waiting.coef_, PAClassifier(**params).partial_fit(X[:20], y[:20]).coef_) is not average
    assert waiting.n_seen_ == 23
    before = waiting.coef_
    view = waiting.predict(X)
    assert_same_model(waiting.flush(), PAClassifier(**params).fit(X, y))
    assert not np.array_equal(waiting.coef_, before)
    assert view.shape == (23,)
    after = snapshot(waiting)
    assert snapshot(waiting.flush()) == after  # nothing waits any more
    assert PAClassifier(batch_size=5).flush().__dict__.get("_model") is None


def test_a_window_has_nothing_to_flush():
    X, _, y = some()
    model = PARegressor(batch_size=5, window="sliding").partial_fit(X, y)
    before = snapshot(model)
    assert snapshot(model.flush()) == before
    assert_same_model(model, PARegressor(batch_size=5, window="sliding").fit(X, y))


@pytest.mark.parametrize("window", ["disjoint", "sliding"])
@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
def test_however_a_stream_is_cut_copied_or_saved_within_a_group(window, multi_class, tmp_path):
    X, y, _ = some(n=40)
    new = {"batch_size": 7, "window": window, "multi_class": multi_class, "step": "pa2"}
    whole = PAClassifier(**new).partial_fit(X, y)
    for cut in (1, 5, 7, 18):
        model = learn_rows(PAClassifier(**new), X[:cut], y[:cut])
        model.save(tmp_path / "m.aggro")
        ways = [model, copy.deepcopy(model), pickle.loads(pickle.dumps(model)), aggro.load(tmp_path / "m.aggro")]
        for way in ways:
            way.partial_fit(X[cut:30], y[cut:30]).partial_fit(X[30:], y[30:])
            assert_same_model(way, whole)
            assert_same_model(copy.deepcopy(way).flush(), copy.deepcopy(whole).flush())


def test_wide_rows_wait_as_they_are():
    rows = random_array((50, 1_000_000), density=5e-6, random_state=0, format="csr")
    model = PARegressor(batch_size=32).partial_fit(rows, np.arange(50.0))
    group = model._model.state.group
    assert sum(array.nbytes for array in arrays(group)) < 40_000
    assert group.facts[0] == 18
    assert np.isfinite(model.flush().coef_).all()


def test_longer_rows_find_room_wherever_they_come_from():
    """Also those whose form was met in a prediction before: there is a short way for them."""
    X, _, y = some(n=60, d=30)
    X[:10, 3:] = 0.0
    expected = PARegressor(batch_size=4).partial_fit(X, y).predict(X)
    named, by_index, dense = (PARegressor(batch_size=4) for _ in range(3))
    learn_rows(named, as_dicts(X[:10]), y[:10])
    learn_rows(by_index, as_pairs(X[:10]), y[:10])
    dense.partial_fit(csr_matrix(X[:10]), y[:10])
    long = dict.fromkeys([f"f{j}" for j in range(30)], 1.0)
    for _ in range(12):
        named.predict_one(long), by_index.predict_one(as_pairs(X[10:11])[0]), dense.predict_one(X[10])
    learn_rows(named, as_dicts(X[10:]), y[10:])
    learn_rows(by_index, as_pairs(X[10:]), y[10:])
    learn_rows(dense, X[10:], y[10:])
    for model in (by_index, dense):
        np.testing.assert_allclose(model.predict(X), expected, rtol=1e-9)
    np.testing.assert_allclose([named.predict_one(x) for x in as_dicts(X)], expected, rtol=1e-9)


# What is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"batch_size": 0}, "'batch_size' parameter of PAClassifier must be an int in the range"),
        ({"batch_size": -3}, "'batch_size'"),
        ({"batch_size": 2.5}, "'batch_size'"),
        ({"batch_size": True}, "'batch_size'"),
        ({"batch_size": 10**9}, "'batch_size'"),
        ({"window": "slidin"}, "Did you mean 'sliding'"),
        ({"batch_size": 2, "step": "pa"}, "rows may contradict each other"),
        ({"batch_size": 2, "step": "auto"}, "one step and one C"),
        ({"batch_size": 2, "step": aggro.step(lambda loss, q, C: loss / q, name="whole")}, "one step and one C"),
        ({"batch_size": 2, "C": [0.1, 1.0]}, "Give C as a number"),
    ],
)
def test_settings_that_make_no_sense(params, said):
    for learn in (lambda m: m.fit(np.eye(2), [0, 1]), lambda m: m.learn_one([1.0], 0)):
        model = PAClassifier(**params)
        with pytest.raises(ValueError, match=said):
            learn(model)
        assert "_model" not in model.__dict__


@pytest.mark.parametrize(
    "change", [{"batch_size": 3}, {"batch_size": 1}, {"window": "sliding"}, {"multi_class": "joint"}]
)
def test_a_group_cannot_change_its_kind(change):
    X, y, _ = some()
    model = PAClassifier(batch_size=4).partial_fit(X, y)
    before = snapshot(model)[1:]
    model.set_params(**change)
    for call in (model.flush, lambda: model.partial_fit(X, y), lambda: model.predict(X)):
        with pytest.raises(ValueError, match="all fit to start over"):
            call()
    assert snapshot(model)[1:] == before
    model.set_params(batch_size=4, window="disjoint", multi_class="ovr")
    assert_same_model(model.flush(), PAClassifier(batch_size=4).fit(X, y))


def test_one_row_at_a_time_is_what_theory_and_conversion_are_about():
    X, y, _ = some(classes=2)
    model = PAClassifier(step="pa2", batch_size=4)
    with pytest.raises(ValueError, match="batch_size"):
        aggro.fit_until(model, X, y, loss=0.1)
    with pytest.raises(ValueError, match="batch_size"):
        unrealizable_bound(model, X, y, np.zeros(6))


@pytest.mark.parametrize(
    ("array", "place", "value"),
    [
        ("group.facts", 0, 4),
        ("group.facts", 0, -1),
        ("group.facts", 1, 0),
        ("group.facts", 2, 1),
        ("group.lengths", 0, 99),
        ("group.lengths", 1, -1),
        ("group.indices", (0, 1), 1000),
        ("group.indices", (1, 0), 2),
        ("group.targets", 0, 5.0),
        ("group.targets", 1, 0.5),
        ("group.weights", 1, 0.0),
        ("group.units", 0, -1.0),
        ("group.gram", (0, 0), np.inf),
    ],
)
def test_a_file_with_a_group_that_cannot_be(array, place, value, tmp_path):
    path = tmp_path / "m.aggro"
    X, y, _ = some(n=6)  # two rows wait
    PAClassifier(batch_size=4).partial_fit(X, y).save(path)

    def change(found):
        found[place] = value

    path.write_bytes(forge.with_array(path.read_bytes(), array, change))
    with pytest.raises(ModelFileError):
        aggro.load(path)
