"""Labels that come later: a row waits by its id, and its label is learned as if it had come at once."""

from __future__ import annotations

import copy
import math
import pickle
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from helpers.in_the_middle import at_every_line, is_taken

import aggro
from aggro import ActiveLearner, PAClassifier, PARegressor, PAUniclass, RecordLearner, published
from aggro.models import later_header
from aggro.models.codec import encode
from aggro.models.errors import Flaw

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = np.where(X[:, 0] > 0, "yes", "no")
RECORDS = [{"size": float(a), "kind": "ab"[b > 0], "tags": ["x", "y"][: 1 + (b > 0)]} for a, b, *_ in X.tolist()]


def test_the_same_model_as_with_labels_at_once():
    at_once, later = PAClassifier(), PAClassifier()
    for row, label in zip(X, Y.tolist(), strict=True):
        at_once.learn_one(row, label)
    for k, row in enumerate(X):
        later.predict_one(row, id=k)
    for k, label in enumerate(Y.tolist()):
        later.label(k, label)
    assert np.array_equal(later.decision_function(X), at_once.decision_function(X))
    assert later.later_.waiting == []
    assert later.later_.labelled == 60


@pytest.mark.parametrize("make", [PAClassifier, lambda: RecordLearner(PAClassifier())])
def test_the_error_is_that_of_the_answers_that_were_given(make):
    rows = RECORDS if isinstance(make(), RecordLearner) else X
    model = make()
    for k in range(10):
        model.learn_one(rows[k], str(Y[k]))
    given = [model.predict_one(rows[k], id=f"row {k}") for k in range(10, 40)]
    for k in range(10, 30):  # in any order, and some never
        model.label(f"row {39 - k + 10}", str(Y[39 - k + 10]))
    wrong = sum(given[k - 10] != Y[k] for k in range(20, 40))
    found = model.later_
    assert (found.labelled, found.mistakes, found.error) == (20, wrong, wrong / 20)
    assert found.waiting == [f"row {k}" for k in range(10, 20)]


def test_regressors_and_detectors():
    model = PARegressor().learn_one(X[0], 1.5)
    given = model.predict_one(X[1], id="a")
    model.label("a", 2.5)
    assert model.later_.error == pytest.approx(abs(given - 2.5))
    detector = PAUniclass().learn_one(X[0])
    answers = [detector.predict_one(row, id=k) for k, row in enumerate(X[1:5])]
    for k in range(4):
        detector.label(k, 1)
    assert detector.later_.mistakes == answers.count(-1)
    assert detector.n_seen_ == 5


def test_the_store_is_bounded():
    model = PAClassifier().learn_one(X[0], "no").keep_for_labels(most=3)
    for k in range(5):
        model.predict_one(X[k], id=k)
    assert (model.later_.waiting, model.later_.expired) == ([2, 3, 4], 2)
    with pytest.raises(KeyError, match=r"No row with the id 0 .* one of 2 rows that expired. 3 row"):
        model.label(0, "no")
    model.keep_for_labels(within=2)
    model.predict_one(X[6], id=6)
    assert model.later_.waiting == [4, 6]


def test_what_is_refused_changes_nothing():
    model = PAClassifier().learn_one(X[0], "no")
    model.predict_one(X[1], id="a")
    for call, error in (
        (lambda: model.predict_one(X[1], id="a"), ValueError),
        (lambda: model.predict_one(X[1], id=1.5), TypeError),
        (lambda: model.label("b", "no"), KeyError),
        (lambda: model.label("a", ["no"]), (TypeError, ValueError)),
        (lambda: model.keep_for_labels(most=0), ValueError),
    ):
        with pytest.raises(error):
            call()
    assert (model.later_.waiting, model.later_.labelled, model.n_seen_) == (["a"], 0, 1)


def test_a_row_that_its_owner_changes_is_learned_as_it_was():
    row, record = X[1].copy(), copy.deepcopy(RECORDS[1])
    model, records = PAClassifier().learn_one(X[0], "no"), RecordLearner().learn_one(RECORDS[0], "no")
    model.predict_one(row, id=1)
    records.predict_one(record, id=1)
    row[:] = 0.0
    record["tags"].clear()
    model.label(1, "yes")
    expected = PAClassifier().learn_one(X[0], "no").learn_one(X[1], "yes")
    assert np.array_equal(model.decision_function(X), expected.decision_function(X))
    records.label(1, "yes")
    expected = RecordLearner().learn_one(RECORDS[0], "no").learn_one(RECORDS[1], "yes")
    assert records.decision_one(RECORDS[2]) == expected.decision_one(RECORDS[2])


@pytest.mark.parametrize(
    ("make", "rows"),
    [
        (PAClassifier, X),
        (PAClassifier, [{"a": float(x[0]), "b": float(x[1])} for x in X]),
        (PAClassifier, [(np.array([0, 2]), x[:2]) for x in X]),
        (lambda: ActiveLearner(PAClassifier(), random_state=0), X),
        (lambda: RecordLearner(PAClassifier()), RECORDS),
    ],
)
def test_rows_that_wait_are_saved_with_the_model(make, rows, tmp_path):
    model = make()
    for k in range(5):
        model.learn_one(rows[k], str(Y[k]))
    for k in range(5, 9):
        model.predict_one(rows[k], id=k)
    model.label(6, str(Y[6]))
    model.save(tmp_path / "m.aggro")
    for other in (aggro.load(tmp_path / "m.aggro"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert other.later_ == model.later_
        other.label(5, str(Y[5])).label(8, str(Y[8]))
        assert other.later_.labelled == 3
        assert other.later_.waiting == [7]
    assert model.later_.waiting == [5, 7, 8]
    assert "later" not in PAClassifier().learn_one(X[0], "a").__dict__


CELLS = [
    None, True, np.bool_(True), 3, np.int64(3), 2**70, 10**400, 0.5, -0.0, math.nan, math.inf, np.float32(1.5),
    b"bytes", Decimal("1.50"), Decimal("NaN"), Fraction(1, 3), "text", np.str_("b"), "2024-02-03", date(2024, 2, 3),
    time(4), datetime(2024, 2, 3), datetime(2024, 2, 3, 4, tzinfo=UTC), np.datetime64("2024-02-03"),
    np.datetime64("NaT"), pd.NaT, pd.NA, pd.Timestamp("2024-02-03", tz="Europe/Berlin"), [1.0, math.nan], ["x", "y"],
    ("x", "y"), {"x", "y"}, np.array([1.0, 2.0]), {"a": {"b": [1, {"c": math.nan}]}}, {"when": date(2024, 2, 3)},
]  # fmt: skip


@pytest.mark.parametrize("column", ["number", "category", "date", "new"])
def test_records_of_any_cells_wait_in_a_file_and_are_learned_as_at_once(column, tmp_path):
    start = RecordLearner(published.PAClassifier())
    for k in range(12):
        record = {"number": k % 5 + 0.5, "category": "ab"[k % 2], "date": f"{k + 1:02}/01/2024"}
        start.learn_one(record, "no" if k % 3 else "yes")
    for cell in CELLS:
        record = {"number": 1.0, "category": "a", column: cell}
        at_once, later = copy.deepcopy(start).learn_one(record, "yes"), copy.deepcopy(start)
        later.predict_one(record, id=1)
        later.save(tmp_path / "m")
        later = aggro.load(tmp_path / "m").label(1, "yes")
        for model in (at_once, later):
            model.__dict__.pop("_later", None)
            model.save(tmp_path / str(model is later))
        assert (tmp_path / "True").read_bytes() == (tmp_path / "False").read_bytes(), cell


@pytest.mark.parametrize(
    "cell",
    [
        ["float", "1"],
        ("Decimal", "x"),
        ("Fraction", "1e999999999"),
        ("Fraction", "1/2/3"),
        ("date", "2024-99-01"),
        ("set", "1"),
        ("date", 1),
    ],
)
def test_cells_that_no_file_can_have(cell, tmp_path):
    model = RecordLearner(published.PAClassifier()).learn_one({"a": 1.0}, "no")
    model.predict_one({"a": 1.0}, id="q")
    part = later_header.later_of(model)
    part["rows"][0][1] = encode({"a": cell})
    if isinstance(cell, list):  # which is a list of words
        later_header.with_later(model, part).label("q", "no")
    else:
        with pytest.raises(Flaw, match="cannot have the cell"):
            later_header.with_later(model, part)


@pytest.mark.parametrize("y", ["usual", 0, None, math.nan, [1], 2.5])
def test_a_detector_takes_plus_and_minus_one_alone(y):
    model = PAUniclass().learn_one(X[0])
    model.predict_one(X[1], id=1)
    with pytest.raises(ValueError, match=r"must be \+1 \(usual\) or -1"):
        model.label(1, y)
    assert (model.later_.waiting, model.later_.labelled, model.n_seen_) == ([1], 0, 1)
    model.label(1, np.int64(1))
    assert (model.later_.waiting, model.later_.labelled, model.n_seen_) == ([], 1, 2)


def test_a_row_is_learned_by_one_of_two_who_bring_its_label(monkeypatch):
    model = published.PAClassifier().learn_one(X[0], "no")
    model.predict_one(X[1], id=1)
    learn, refused = model.learn_one, []

    def meanwhile(*given):
        with pytest.raises(ValueError, match="being learned"):
            model.label(1, "yes")
        refused.append(1)
        return learn(*given)

    monkeypatch.setitem(model.__dict__, "learn_one", meanwhile)
    model.label(1, "no")
    assert (len(refused), model.n_seen_, model.later_.labelled) == (1, 2, 1)


@pytest.mark.parametrize("what", ["predict_one", "label", "copy"])
def test_a_signal_handler_in_the_middle_is_refused_or_whole(what):
    """It must not wait for what this very thread holds."""
    model = published.PAClassifier().learn_one(X[0], "no").learn_one(X[1], "yes")
    model.predict_one(X[2], id="first")
    asked, labelled, turns = 1, 0, 0

    def use():
        nonlocal asked, labelled, turns
        turns += 1
        asked += is_taken(lambda: model.predict_one(X[3], id=turns))
        if turns in model.later_.waiting:
            labelled += is_taken(lambda: model.label(turns, "no"))

    call = {
        "predict_one": lambda: model.predict_one(X[3], id="last"),
        "label": lambda: model.label("first", "yes"),
        "copy": lambda: copy.deepcopy(model),
    }[what]
    at_every_line(call, use)
    asked, labelled = asked + (what == "predict_one"), labelled + (what == "label")
    assert 1 < asked - (what == "predict_one") < 1 + turns
    found = model.later_
    assert (found.labelled, len(found.waiting)) == (labelled, asked - labelled)
    assert model.n_seen_ == 2 + labelled
