"""River's own checks on every learner, and what they do not look at."""

from __future__ import annotations

import gc
import importlib
import sys
from types import FunctionType, ModuleType
from unittest import mock

import numpy as np
import pytest

pytest.importorskip("river")
pd = pytest.importorskip("pandas")

from helpers.peers import why_not_in_river  # noqa: E402
from river import checks, datasets, evaluate, metrics, preprocessing  # noqa: E402

import aggro  # noqa: E402
from aggro.interop import river  # noqa: E402
from aggro.learners.registry import LEARNERS  # noqa: E402
from aggro.learners.shared.one_row_code import CODE  # noqa: E402

MODELS = [getattr(river, entry.name) for entry in LEARNERS]
DETECTORS = [getattr(river, entry.name) for entry in LEARNERS if entry.task == "outlier"]
CLASSIFIERS = [getattr(river, entry.name) for entry in LEARNERS if entry.task == "classification"]


class Cards:
    """In the place of River's card payments, which it would have to download: 30 features, 2 % frauds."""

    def take(self, n):
        rng = np.random.default_rng(0)
        frauds = rng.random(n) < 0.02
        X = rng.standard_normal((n, 30)) * np.where(frauds, 2.0, 1.0)[:, None]
        return [
            ({f"V{j}": v for j, v in enumerate(x)}, int(fraud)) for x, fraud in zip(X.tolist(), frauds, strict=True)
        ]


def new(model):
    """A model of this kind, always the same."""
    return model(random_state=0) if model._random else model()


def all_checks():
    """Every check River has for each model; the one that takes seconds with one set of rows, not with each."""
    with mock.patch.object(datasets, "CreditCard", Cards):
        for model in MODELS:
            done = set()
            for n, check in enumerate(checks.yield_checks(new(model))):
                name = check.__name__
                if name == "check_bounded_memory_growth" and name in done:
                    continue
                done.add(name)
                why = why_not_in_river(model, name)
                marks = [] if why is None else [pytest.mark.skip(reason=why)]
                yield pytest.param(model, check, id=f"{model.__name__}-{n}-{name}", marks=marks)


@pytest.mark.parametrize(("model", "check"), list(all_checks()))
def test_river_check(model, check):
    assert not model()._unit_test_skips(), "no check of River's is skipped"
    gc.freeze()  # River looks for garbage: not among all that was compiled before
    check(new(model))


def test_who_walks_a_model_does_not_reach_compiled_code():
    """River weighs models by walking all that they refer to; Numba's objects lead through the whole process."""
    model = river.PAClassifier()
    for _ in range(3):
        model.learn_one({"a": 1.0, "b": 2.0}, True)
        model.predict_one({"a": 1.0, "b": 2.0})
        model.learn_one(np.ones(2), False)
    assert CODE
    code = set(map(id, CODE.values()))
    seen, pending = set(), [model]
    while pending:
        thing = pending.pop()
        if id(thing) in seen or isinstance(thing, (type, ModuleType, FunctionType)):
            continue
        assert id(thing) not in code
        seen.add(id(thing))
        pending += gc.get_referents(thing)


def rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 4)), columns=list("abcd"))
    return X, pd.Series((X["a"] + 0.3 * rng.standard_normal(n) > 0).map({True: "yes", False: "no"}))


def test_many_rows_are_the_same_model_as_one_by_one():
    X, y = rows()
    one, many = river.PAClassifier(), river.PAClassifier()
    for x, label in zip(X.to_dict("records"), y, strict=True):
        one.learn_one(x, label)
    many.learn_many(X[:25], y[:25])
    many.learn_many(X[25:], y[25:])
    np.testing.assert_array_equal(one.coef_, many.coef_)
    assert many.predict_many(X).tolist() == [one.predict_one(x) for x in X.to_dict("records")]


def test_the_same_model_as_the_scikit_learn_shell():
    X, y = rows()
    model = river.PAClassifier(step="pa2", C=0.1)
    model.learn_many(X, y)
    np.testing.assert_allclose(model.coef_, aggro.PAClassifier(step="pa2", C=0.1).partial_fit(X, y).coef_, rtol=1e-12)


def test_the_weight_scales_c():
    published = {"step": "pa1", "average": False, "scale": None}
    weighted, aggressive = (river.PARegressor(C=C, **published) for C in (1.0, 3.0))
    weighted.learn_one({"a": 1.0}, 100.0, w=3.0)
    aggressive.learn_one({"a": 1.0}, 100.0)
    assert weighted.predict_one({"a": 1.0}) == aggressive.predict_one({"a": 1.0}) == pytest.approx(6.0)


@pytest.mark.parametrize("model", MODELS)
def test_frames_with_nothing_learned_and_nothing_in_them(model):
    fresh = model()
    X = pd.DataFrame({"a": [1.0, 2.0]}, index=[7, 9])
    predicted = fresh.predict_many(X)
    assert predicted.index.tolist() == [7, 9]
    assert predicted.tolist() == [fresh.predict_one({"a": 1.0})] * 2
    fresh.learn_many(X[:0], *([] if model in DETECTORS else [pd.Series(dtype=float)]))
    assert fresh.predict_many(X[:0]).empty


def test_in_a_pipeline_with_rivers_own_evaluation():
    X, y = rows(300)
    model = preprocessing.StandardScaler() | river.PAClassifier()
    metric = evaluate.progressive_val_score(zip(X.to_dict("records"), y, strict=True), model, metrics.Accuracy())
    assert metric.get() > 0.8


@pytest.mark.parametrize("model", CLASSIFIERS)
def test_probabilities_are_a_dict_of_the_classes(model):
    X, y = rows(300)
    learner = model()
    assert learner.predict_proba_one({"a": 1.0}) == {}
    learner.learn_many(X, y)
    shares = learner.predict_proba_one(X.iloc[0].to_dict())
    assert set(shares) == set(y)
    assert sum(shares.values()) == pytest.approx(1.0)
    many = learner.predict_proba_many(X)
    assert many.iloc[0].to_dict() == pytest.approx(shares)
    assert many.index.equals(X.index)


@pytest.mark.parametrize("model", DETECTORS)
def test_a_detector_learns_without_targets_and_scores_anomalies_high(model):
    X, _ = rows()
    one, many = model(), model()
    for x in X.to_dict("records"):
        assert one.learn_one(x) is None
    many.learn_many(X[:25])
    many.learn_many(X[25:])
    usual, far = X.to_dict("records")[0], dict.fromkeys("abcd", 50.0)
    assert one.score_one(far) == many.score_one(far) > one.score_one(usual) > 0.0
    assert (one.predict_one(far), one.n_seen_) == (-1, 60)
    weighted = model()
    for x in X.to_dict("records"):
        weighted.learn_one(x, w=0.5)
    assert (weighted.score_one(far) != one.score_one(far)) == (one.step != "pa")  # which has no C


def test_without_river_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    monkeypatch.delitem(sys.modules, "aggro.interop.river")
    with pytest.raises(ImportError, match=r"pip install 'aggro\[river\]'"):
        importlib.import_module("aggro.interop.river")


FRAMES = {
    "pandas": lambda columns: pd.DataFrame(columns),
    "polars": lambda columns: pytest.importorskip("polars").DataFrame(columns),
    "pyarrow": lambda columns: pytest.importorskip("pyarrow").table(columns),
}
COLUMNS = {
    "pandas": lambda values: pd.Series(values),
    "polars": lambda values: pytest.importorskip("polars").Series(values),
    "pyarrow": lambda values: pytest.importorskip("pyarrow").chunked_array([values]),
}


def stocks(n, seed):
    """Columns of both kinds of numbers, and words to predict."""
    rng = np.random.default_rng(seed)
    columns = {"a": rng.standard_normal(n), "b": rng.integers(0, 9, n), "c": rng.random(n) < 0.5}
    return columns, np.where(columns["a"] > 0, "up", "down").tolist()


@pytest.mark.parametrize("learned", FRAMES)
@pytest.mark.parametrize("predicted", FRAMES)
def test_frames_of_every_library(learned, predicted):
    (columns, y), (others, _) = stocks(200, 0), stocks(50, 1)
    model, twin = river.PAClassifier(), river.PAClassifier()
    later = {name: columns[name] for name in ("c", "a")}  # columns may come, go and move
    for part in (columns, later):
        model.learn_many(FRAMES[learned](part), COLUMNS[learned](y))
        for i, label in enumerate(y):
            twin.learn_one({name: values[i].item() for name, values in part.items()}, label)
    found = model.predict_many(FRAMES[predicted](others))
    assert type(found) is type(COLUMNS[predicted](["x"]))
    rows = [{name: values[i].item() for name, values in others.items()} for i in range(50)]
    values = found.to_pylist() if predicted == "pyarrow" else found.to_list()
    assert values == [twin.predict_one(row) for row in rows]


@pytest.mark.parametrize("library", FRAMES)
def test_frames_of_every_library_and_numbers(library):
    columns, _ = stocks(100, 0)
    frame = FRAMES[library](columns)
    model = river.PARegressor()
    assert len(model.predict_many(frame)) == 100  # nothing is known yet
    model.learn_many(frame, COLUMNS[library](columns["a"] * 2))
    nothing = FRAMES[library]({name: values[:0] for name, values in columns.items()})
    model.learn_many(nothing, COLUMNS[library](columns["a"][:0]))
    assert len(model.predict_many(nothing)) == 0
    assert model.n_seen_ == 100
    found = np.asarray(model.predict_many(frame))
    np.testing.assert_allclose(found, model.predict_many(pd.DataFrame(columns)))
    detector = river.PAUniclass()
    detector.learn_many(frame)
    assert detector.n_seen_ == 100


def test_an_index_of_pandas_is_kept():
    frame = pd.DataFrame({"a": [1.0, -1.0]}, index=["x", "y"])
    model = river.PAClassifier()
    model.learn_many(frame, pd.Series(["up", "down"], index=["x", "y"]))
    assert model.predict_many(frame).to_dict() == {"x": "up", "y": "down"}


def test_a_table_with_words_or_gaps_is_refused():
    pa = pytest.importorskip("pyarrow")
    model = river.PAClassifier()
    for column in (["x", "y"], [1.0, None]):
        with pytest.raises((TypeError, ValueError)):
            model.learn_many(pa.table({"a": column, "b": [1.0, 2.0]}), pa.chunked_array([["up", "down"]]))
    assert not hasattr(model, "n_seen_") or model.n_seen_ == 0
