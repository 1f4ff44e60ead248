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
from aggro.interop import published, river  # noqa: E402
from aggro.learners.model.one_row_code import CODE_AT  # noqa: E402
from aggro.learners.registry import LEARNERS  # noqa: E402

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


AROUND = [river.ActiveLearner, river.RecordLearner, river.RecordRegressor]
PUBLISHED = [published.PAClassifier, published.PARegressor, published.PAUniclass]


def new(model):
    """A model of this kind, always the same."""
    return model(random_state=0) if getattr(model, "_random", model is river.ActiveLearner) else model()


def all_checks():
    """Every check River has for each model; the one that takes seconds with one set of rows, not with each."""
    with mock.patch.object(datasets, "CreditCard", Cards):
        for model in [*MODELS, *AROUND, *PUBLISHED]:
            done = set()
            for n, check in enumerate(checks.yield_checks(new(model))):
                name = check.__name__
                if name == "check_bounded_memory_growth" and name in done:
                    continue
                done.add(name)
                why = why_not_in_river(model, name)
                marks = [] if why is None else [pytest.mark.skip(reason=why)]
                home = "" if model.__module__ == river.__name__ else "published."
                yield pytest.param(model, check, id=f"{home}{model.__name__}-{n}-{name}", marks=marks)


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
    assert CODE_AT
    code = set(map(id, CODE_AT.values()))
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


def test_probabilities_come_in_the_frame_of_the_library():
    (columns, y) = stocks(200, 0)
    model = river.PAClassifier()
    for library, frame in FRAMES.items():
        assert model.predict_proba_many(frame(columns)).shape[1] == 0 or library != "pandas"
    model.learn_many(FRAMES["pandas"](columns), COLUMNS["pandas"](y))
    expected = model.predict_proba_many(FRAMES["pandas"](columns))
    for library in ("polars", "pyarrow"):
        found = model.predict_proba_many(FRAMES[library](columns))
        assert type(found) is type(FRAMES[library]({"x": [1.0]}))
        np.testing.assert_array_equal(found.to_pandas()[["down", "up"]].to_numpy(), expected.to_numpy())


def test_a_seed_is_rivers_name_of_random_state():
    X, y = rows(200)
    one, two, other = river.PAMOClassifier(seed=7), river.PAMOClassifier(random_state=7), river.PAMOClassifier(seed=8)
    for model in (one, two, other):
        model.learn_many(X, y)
    X = X.head(20)
    assert one.predict_proba_many(X).equals(two.predict_proba_many(X))
    assert not one.predict_proba_many(X).equals(other.predict_proba_many(X))
    assert one.clone({"seed": 9}).random_state == 9
    assert river.PAMOClassifier()._is_stochastic
    assert not one._is_stochastic


def test_weights_by_name():
    X, y = rows()
    model = river.PAClassifier()
    model.learn_many(X, y)
    assert list(model.weights) == list("abcd")
    x = X.iloc[0].to_dict()
    score = sum(model.weights[name] * value for name, value in x.items()) + model.intercept
    assert score == pytest.approx(model.decision_one(x))
    model.learn_one(x, "another")
    assert {*model.weights} == {"another", "no", "yes"} == {*model.intercept}


def test_raw_records_one_by_one_and_many():
    records = pd.DataFrame(
        {"plan": ["basic", "pro"] * 40, "note": ["a refund", "thanks"] * 40, "age": [7 * i % 50 for i in range(80)]}
    )
    y = pd.Series(["leaves", "stays"] * 40)
    one, many = river.RecordLearner(), river.RecordLearner()
    for record, label in zip(records.to_dict("records"), y, strict=True):
        assert one.learn_one(record, label) is None
    many.learn_many(records, y)
    assert one.predict_one({"plan": "basic"}) == many.predict_one({"plan": "basic"}) == "leaves"
    assert many.predict_many(records).tolist() == y.tolist()
    assert many.predict_proba_many(records).columns.tolist() == ["leaves", "stays"]
    assert "plan=basic" in many.weights
    number = river.RecordRegressor()
    number.learn_many(records, records["age"] * 2.0)
    assert number.predict_one({"plan": "pro", "age": 50}) - number.predict_one({"plan": "pro", "age": 10}) > 60.0


def test_published_models_have_the_papers_defaults():
    assert published.PAClassifier().C == 1.0
    assert not isinstance(published.PAClassifier(), type(aggro.published.PAClassifier()))
    X, y = rows()
    ours, theirs = published.PAClassifier(), aggro.published.PAClassifier()
    ours.learn_many(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.partial_fit(X, y).coef_)
    assert "PAClassifier" in dir(published)
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        getattr(published, "Nonsense")  # noqa: B009
