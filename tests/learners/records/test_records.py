"""Record learners: every learner behind raw records, calls that are refused, threads, copies."""

from __future__ import annotations

import copy
import os
import pickle
import random
import threading
from datetime import date, timedelta
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import aggro
from aggro import ActiveLearner, PAUniclass, RecordLearner
from aggro.learners.base.inside import task_of
from aggro.learners.registry import LEARNERS
from aggro.published import PAClassifier, PARegressor

PLANS, WORDS = ["basic", "pro", "team"], ["refund", "invoice", "thanks", "login", "error", "price", "upgrade", "cancel"]


def tickets(n=60, seed=0):
    """Records whose label is in the plan and a word, and whose number is in the age."""
    draw = random.Random(seed)
    rows, labels, numbers = [], [], []
    for i in range(n):
        plan, words = draw.choice(PLANS), draw.choices(WORDS, k=6)
        record = {
            "ticket": f"T{i * 7919}",
            "age": draw.choice([20, 35.5, 60, None]),
            "spent": draw.random() * 1000,
            "plan": plan,
            "note": " ".join(words),
            "since": date(2024, 1 + i % 12, 1 + i % 28),
        }
        rows.append(record)
        labels.append("leaves" if (plan == "basic") != ("refund" in words) else "stays")
        numbers.append(len(plan) + record["spent"] / 1000)
    return rows, labels, numbers


ROWS, LABELS, NUMBERS = tickets()
ROLES = {"ignore": "ticket", "number": ["age", "spent"], "category": "plan", "text": "note", "date": "since"}


def bytes_of(model, path):
    model.save(path)
    return path.read_bytes()


def learned(**more):
    return RecordLearner(PAClassifier(), **more).partial_fit(ROWS, LABELS)


# Ways to learn ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", LEARNERS, ids=lambda entry: entry.name)
def test_every_learner_of_the_registry(entry, tmp_path):
    def new():
        kind = getattr(aggro, entry.name)
        parameters = {"random_state": 0}
        return RecordLearner(kind(**parameters), **ROLES)

    y = {"classification": LABELS, "regression": NUMBERS, "outlier": None}[entry.task]
    targets = y or [None] * len(ROWS)
    assert task_of(new()) == entry.task
    many, single, pieces = new().partial_fit(ROWS, y), new(), new()
    for row, target in zip(ROWS, targets, strict=True):
        single.learn_one(row, target)
    for start in range(0, len(ROWS), 13):
        pieces.partial_fit(ROWS[start : start + 13], None if y is None else y[start : start + 13])
    for model in (many, single, pieces):
        if hasattr(model.estimator_, "flush"):
            model.estimator_.flush()
    assert single.feature_names_ == many.feature_names_ == pieces.feature_names_
    measured = "predict" if entry.task == "regression" else "decision_function"
    assert np.allclose(getattr(many, measured)(ROWS), getattr(single, measured)(ROWS))
    assert np.allclose(getattr(many, measured)(ROWS), getattr(pieces, measured)(ROWS))
    one = [single.predict_one(row) for row in ROWS]
    assert one == (pytest.approx(single.predict(ROWS)) if entry.task == "regression" else single.predict(ROWS).tolist())
    fitted = new().fit(ROWS, y)
    if entry.task == "classification":
        assert fitted.score(ROWS, LABELS) > 0.5
        assert set(fitted.classes_) == {"leaves", "stays"}
    path = tmp_path / "m.aggro"
    many.save(path)
    again = aggro.load(path)
    assert type(again) is RecordLearner
    assert type(again.estimator_) is getattr(aggro, entry.name)
    assert np.array_equal(again.predict(ROWS), many.predict(ROWS))
    many.partial_fit(ROWS, y)
    again.partial_fit(ROWS, y)
    assert bytes_of(again, tmp_path / "a") == bytes_of(many, tmp_path / "b")


def test_fit_is_partial_fit_from_scratch(tmp_path):
    model = learned().fit(ROWS[:40], LABELS[:40])
    other = RecordLearner(PAClassifier()).partial_fit(ROWS[:40], LABELS[:40])
    assert np.array_equal(model.coef_, other.coef_)
    assert model.feature_names_ == other.feature_names_


def test_one_by_one_is_many_to_the_bit_given_the_roles():
    many = learned(**ROLES)
    single = RecordLearner(PAClassifier(), **ROLES)
    for row, label in zip(ROWS, LABELS, strict=True):
        single.learn_one(row, label)
    assert many.coef_.tobytes() == single.coef_.tobytes()
    assert many.history_.tobytes() == single.history_.tobytes()
    for name, array in many.encoder_.vocabulary.arrays().items():
        assert array.tobytes() == single.encoder_.vocabulary.arrays()[name].tobytes()


def test_chunks_of_a_stream_with_their_columns():
    columns = learned(**ROLES).columns_
    chunk = SimpleNamespace(X=ROWS, y=LABELS, weight=None, columns=columns)
    model = RecordLearner().learn_chunk(chunk)
    assert {name: column.role for name, column in model.columns_.items()} == {
        name: column.role for name, column in columns.items()
    }
    assert model.predict_chunk(chunk).tolist() == model.predict(ROWS).tolist()
    assert model.decision_chunk(chunk).tolist() == model.decision_function(ROWS).tolist()
    with pytest.raises(ValueError, match="Rows have been learned already"):
        model.settle(columns)
    refused = RecordLearner()
    with pytest.raises(ValueError, match="inconsistent"):
        refused.learn_chunk(SimpleNamespace(X=ROWS, y=LABELS[:3], weight=None, columns=columns))
    assert not refused.encoder_.columns  # as it was


def test_texts_alone():
    texts, labels = ["good film", "bad film", "good good", "so bad"], [1, 0, 1, 0]
    model = RecordLearner().fit(texts * 3, labels * 3)
    assert model.columns_[""].role == "text"
    assert RecordLearner().learn_one("ok", 1).columns_[""].role == "text"
    assert model.predict(["good", "bad"]).tolist() == [1, 0]
    assert model.predict_one("bad bad") == 0
    assert set(model.explain_one("good bad")) == {"good", "bad"}
    assert model.predict(np.array(["good", "bad"])).tolist() == [1, 0]


def test_explanations_are_in_the_records_terms():
    model = learned()
    found = model.explain_one({"plan": "basic", "note": "refund", "age": 20, "spent": 3, "since": date(2024, 1, 1)})
    assert {"plan=basic", "note:refund", "age", "since:month=January", "spent"} <= set(found)
    assert sum(found.values()) + found.intercept == pytest.approx(found.score)
    assert found.score == pytest.approx(
        model.decision_one({"plan": "basic", "note": "refund", "age": 20, "spent": 3, "since": date(2024, 1, 1)})
    )


def test_unknown_words_are_counted():
    model = learned()
    X, known, unknown = model.encoded([{"plan": "basic", "note": "refund never-seen"}, {"plan": "gold"}])
    assert (known, unknown) == (2, 3)
    assert X.shape == (2, len(model.feature_names_))


def test_strays_are_counted():
    model = RecordLearner(number="age").fit([{"age": 1}, {"age": "x"}, {"age": "?"}, {"age": "inf"}], [0, 1, 0, 1])
    assert model.strays_ == {"age": 2}


# Calls that are refused -------------------------------------------------------------------------------------------

BAD = {
    "y is missing": lambda m: m.partial_fit(ROWS, None),
    "y of another length": lambda m: m.partial_fit(ROWS, LABELS[:-1]),
    "y is NaN": lambda m: m.learn_one({"plan": "new one"}, float("nan")),
    "y with NaN": lambda m: m.partial_fit(ROWS, np.full(len(ROWS), np.nan)),
    "y is a list": lambda m: m.learn_one(ROWS[0], ["a"]),
    "a number among texts": lambda m: m.learn_one({**ROWS[0], "fresh": "x"}, 1.5),
    "weights of another length": lambda m: m.partial_fit(ROWS, LABELS, sample_weight=[1.0]),
    "a negative weight": lambda m: m.partial_fit(ROWS, LABELS, sample_weight=[-1.0] * len(ROWS)),
    "weight NaN": lambda m: m.learn_one(ROWS[0], "stays", float("nan")),
    "all weights zero": lambda m: m.partial_fit(ROWS, LABELS, sample_weight=[0.0] * len(ROWS)),
    "one record for many": lambda m: m.partial_fit(ROWS[0], LABELS),
    "one text for many": lambda m: m.partial_fit("text", LABELS),
    "many records for one": lambda m: m.learn_one(ROWS, "stays"),
    "a field without a name": lambda m: m.learn_one({1: 2}, "stays"),
    "fields without a name": lambda m: m.partial_fit([{1: 2}], ["stays"]),
    "a sparse matrix": lambda m: m.partial_fit(csr_matrix(np.eye(2)), ["stays", "leaves"]),
    "no rows": lambda m: m.partial_fit([], []),
    "rows of two kinds": lambda m: m.partial_fit([{"a": 1}, "text"], ["stays", "leaves"]),
    "numbers": lambda m: m.partial_fit([1.0, 2.0], ["stays", "leaves"]),
    "classes twice": lambda m: m.partial_fit([{"plan": "x"}], ["stays"], classes=[["leaves"], ["stays"]]),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_refused_leaves_all_as_it_was(what, tmp_path):
    model = learned()
    before = bytes_of(model, tmp_path / "a")
    with pytest.raises((TypeError, ValueError), match=r".{20}"):
        BAD[what](model)
    assert bytes_of(model, tmp_path / "b") == before
    assert model.predict_one(ROWS[0]) == learned().predict_one(ROWS[0])


@pytest.mark.parametrize("what", BAD)
def test_a_first_call_that_is_refused_leaves_a_learner_that_is_not_fitted(what):
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    model = RecordLearner()
    if what == "a number among texts":
        return  # it is the first label, so it may be a number
    with pytest.raises((TypeError, ValueError)):
        BAD[what](model)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    with pytest.raises(NotFittedError):
        model.predict(ROWS)
    assert model.predict_one(ROWS[0]) is None
    assert "_encoder" not in model.__dict__ or not model.encoder_.columns


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("at", ["learn_one", "learn_chunk"])
def test_an_interruption_inside_takes_back_the_encoder(at, error, tmp_path, monkeypatch):
    model = learned()
    before = bytes_of(model, tmp_path / "a")

    def interrupted(*args, **kwargs):
        raise error

    row = {"plan": "new", "fresh": 1}
    call = (
        (lambda: model.learn_one(row, "stays")) if at == "learn_one" else (lambda: model.partial_fit([row], ["stays"]))
    )
    with monkeypatch.context() as patch:
        patch.setattr(type(model.estimator_), at, interrupted)
        with pytest.raises(error):
            call()
    assert bytes_of(model, tmp_path / "b") == before


def test_rows_of_weight_zero_are_not_there(tmp_path):
    model = learned()
    before = bytes_of(model, tmp_path / "a")
    model.learn_one({"plan": "new", "fresh": "x"}, "other", 0.0)
    assert bytes_of(model, tmp_path / "b") == before
    weights = [1.0, 0.0] * 30
    some = RecordLearner().partial_fit(ROWS, LABELS, sample_weight=weights)
    assert some.feature_names_ == RecordLearner().partial_fit(ROWS[::2], LABELS[::2]).feature_names_
    assert some.n_seen_ == 30
    mixed = RecordLearner().partial_fit([{"a": 1}, {"a": 2}, {"a": 3}], [1, 0, 2], sample_weight=[1, 1, 0])
    assert mixed.classes_.tolist() == [0, 1]


def test_two_columns_of_one_name():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="two columns named 'a'"):
        RecordLearner().fit(pandas.DataFrame([[1, 2]], columns=["a", "a"]), [1])


@pytest.mark.parametrize("call", ["predict_one", "decision_one", "explain_one"])
@pytest.mark.parametrize("x", [ROWS, None, 5, {1: 2}, [1, 2]], ids=str)
def test_one_row_calls_refuse_what_learn_one_refuses(call, x):
    model = learned()
    with pytest.raises(TypeError):
        model.learn_one(x, "stays")
    with pytest.raises(TypeError):
        getattr(model, call)(x)
    with pytest.raises(TypeError):
        getattr(RecordLearner(), call)(x)


def test_rows_in_which_nothing_is_known():
    model = learned()
    with pytest.raises(
        ValueError, match=r"record has no field that the model has learned from. Expected 'age'.*got 'other'"
    ):
        model.predict_one({"other": 1})
    with pytest.raises(ValueError, match="got nothing"):
        model.predict_one({})
    with pytest.raises(ValueError, match="table has no column"):
        model.predict([{"other": 1}])
    with pytest.raises(ValueError, match="table has no column"):
        model.predict(["a text"])


def test_a_table_that_lacks_columns():
    model = learned()
    with pytest.warns(UserWarning, match=r"lacks 4 of the columns .* 'age', 'spent', 'note', 'since'") as caught:
        model.predict([{"plan": "pro"}])
    assert caught[0].filename == __file__


def test_nothing_to_learn_from():
    with pytest.raises(ValueError, match="None of the columns can be learned from: 'a' is ignore"):
        RecordLearner().fit([{"a": object()}, {"a": object()}], [0, 1])
    with pytest.raises(ValueError, match="None of the columns can be learned from: they are empty"):
        RecordLearner().fit([{"a": None}, {"a": ""}], [0, 1])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ngrams": 0}, "ngrams"),
        ({"words": "all"}, "words"),
        ({"scale": 1}, "scale"),
        ({"number": 3}, "a name, a list of names or None"),
        ({"max_features": 0}, "max_features"),
        ({"estimator": 5}, "must be a learner of aggro"),
        ({"number": "a", "text": ["a"]}, "both number and text"),
    ],
)
def test_parameters_that_cannot_be(parameters, message):
    for call in (lambda m: m.learn_one({"a": 1}, 1), lambda m: m.fit([{"a": 1}], [1])):
        with pytest.raises((TypeError, ValueError), match=message):
            call(RecordLearner(**parameters))


# An ActiveLearner inside ------------------------------------------------------------------------------------------


def test_an_active_learner_inside(tmp_path):
    model = RecordLearner(ActiveLearner(PAClassifier(), delta=1.0, random_state=0), **ROLES)
    rows, labels, _ = tickets(200, 3)
    asked = 0
    for row, label in zip(rows, labels, strict=True):
        if model.query_one(row):
            model.learn_one(row, label)
            asked += 1
    assert 0 < asked < 200
    assert model.n_queries_ == asked
    assert model.n_seen_ == 200
    while not model.ask("later", rows[0]):
        pass
    model.save(tmp_path / "m")
    again = aggro.load(tmp_path / "m")
    assert again.waiting_ == ["later"]
    for one in (model, again):
        one.answer("later", labels[0])
    assert again.predict(rows).tolist() == model.predict(rows).tolist()
    chunk = SimpleNamespace(X=rows, y=labels, weight=None)
    assert model.query_chunk(chunk) == again.query_chunk(chunk)
    whole = RecordLearner(ActiveLearner(PAClassifier(), delta=1.0, random_state=0), **ROLES).learn_chunk(chunk)
    assert whole.n_queries_ < 200
    assert not hasattr(RecordLearner(PAClassifier()), "query_one")


# Threads, forks, copies -------------------------------------------------------------------------------------------


def test_threads_take_turns():
    model = RecordLearner(PAClassifier(), **ROLES)
    model.learn_one(ROWS[0], LABELS[0])
    failed = []

    def work(k):
        try:
            rows, labels, _ = tickets(100, k)
            for row, label in zip(rows, labels, strict=True):
                model.learn_one(row, label)
                model.predict_one(row)
            model.partial_fit(rows, labels)
            model.predict(rows)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert model.n_seen_ == 801
    assert model.encoder_.counts.rows == 801


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_goes_on():
    model = learned()
    with model.turn():  # another thread's turn, at the moment of the fork
        child = os.fork()
        if not child:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    child = os.fork()
    if not child:
        try:
            model.learn_one(ROWS[0], LABELS[0])
            os._exit(0 if model.n_seen_ == 61 else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert model.n_seen_ == 60


def read_only(model):
    """Through a pickle whose arrays are buffers that cannot be written to."""
    buffers = []
    content = pickle.dumps(model, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(content, buffers=[memoryview(bytes(buffer.raw())) for buffer in buffers])


@pytest.mark.parametrize("twin_of", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m)), read_only])
def test_copies_go_on_alone(twin_of, tmp_path):
    model = learned()
    before = bytes_of(model, tmp_path / "before")
    twin = twin_of(model)
    rows, labels, _ = tickets(50, 9)
    twin.partial_fit([{**row, "fresh": i} for i, row in enumerate(rows)], labels)
    assert bytes_of(model, tmp_path / "after") == before
    model.partial_fit([{**row, "fresh": i} for i, row in enumerate(rows)], labels)
    assert bytes_of(twin, tmp_path / "a") == bytes_of(model, tmp_path / "b")


def test_the_estimator_given_is_not_touched():
    inner = PAClassifier()
    RecordLearner(inner).fit(ROWS, LABELS)
    assert not hasattr(inner, "classes_")
    used = PAClassifier().fit(np.eye(2), [0, 1])
    assert set(RecordLearner(used).fit(ROWS, LABELS).classes_) == {"leaves", "stays"}


# scikit-learn -----------------------------------------------------------------------------------------------------


def test_scikit_learns_manners():
    from sklearn.base import clone, is_classifier, is_outlier_detector, is_regressor
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline

    pandas = pytest.importorskip("pandas")
    model = RecordLearner(PAClassifier(), ngrams=2)
    twin = clone(model)
    assert twin.get_params()["ngrams"] == 2
    assert twin.estimator is not model.estimator
    assert twin.set_params(estimator__C=0.5, words="presence").estimator.C == 0.5
    assert is_classifier(model)
    assert is_classifier(RecordLearner())
    assert is_regressor(RecordLearner(PARegressor()))
    assert is_outlier_detector(RecordLearner(PAUniclass()))
    assert "RecordLearner" in model._repr_html_()
    assert repr(RecordLearner(ngrams=2)) == "RecordLearner(ngrams=2)"
    frame = pandas.DataFrame(ROWS)
    for X in (ROWS, frame):
        assert len(cross_val_score(RecordLearner(), X, LABELS, cv=3)) == 3
    search = GridSearchCV(RecordLearner(PAClassifier()), {"estimator__C": [0.1, 1.0], "ngrams": [1, 2]}, cv=2)
    search.fit(frame, LABELS)
    assert set(search.best_params_) == {"estimator__C", "ngrams"}
    line = make_pipeline(RecordLearner()).fit(frame, LABELS)
    assert line.predict(frame).shape == (60,)
    scores = cross_val_score(RecordLearner(PARegressor()), ROWS, NUMBERS, cv=3)
    assert np.isfinite(scores).all()
    assert set(RecordLearner(PAUniclass()).fit(ROWS).predict(ROWS)) <= {1, -1}


def test_scikit_learns_voting():
    from sklearn.ensemble import VotingClassifier

    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS)
    vote = VotingClassifier([("a", RecordLearner()), ("b", RecordLearner(aggro.PAMeansClassifier()))]).fit(
        frame, LABELS
    )
    assert set(vote.predict(frame)) <= {"leaves", "stays"}


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_durations_are_seconds(kind):
    frames = pytest.importorskip({"pandas": "pandas", "polars": "polars", "pyarrow": "pyarrow"}[kind])
    seconds = [1.5, 90.0, None, 3600.0]
    times = [None if s is None else timedelta(seconds=s) for s in seconds]
    if kind == "pandas":
        X = frames.DataFrame({"took": frames.to_timedelta(seconds, unit="s")})
    else:
        X = frames.DataFrame({"took": times}) if kind == "polars" else frames.table({"took": times})
    learner = RecordLearner(PAClassifier(), scale=False).fit(X, ["a", "b", "a", "b"])
    assert learner.columns_["took"].role == "number"
    assert learner.encoded(X).X.toarray()[:, 0].tolist() == [1.5, 90.0, 0.0, 3600.0]


def test_many_different_numbers_for_a_classifier_are_warned_about():
    rows = [{"a": k % 7} for k in range(300)]
    with pytest.warns(UserWarning, match="y has 300 different numbers in 300 rows"):
        RecordLearner(PAClassifier()).fit(rows, np.arange(300) * 10.0)


def test_what_is_left_out_is_called_by_its_type():
    with pytest.warns(UserWarning, match="Column 'b' is left out: it holds bytes values"):
        RecordLearner(PAClassifier()).fit([{"a": 1, "b": b"x"}, {"a": 2, "b": b"y"}], [0, 1])
