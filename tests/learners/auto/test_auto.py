"""Voting learners as users have them: any candidates, any rows, files, and what is refused."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from helpers.peers import meant_to_fail
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import aggro
from aggro import (
    ActiveLearner,
    AROWClassifier,
    AROWRegressor,
    AutoClassifier,
    AutoRegressor,
    KernelPAClassifier,
    PAClassifier,
    PAMOClassifier,
    PARegressor,
    RecordLearner,
)
from aggro.learners.registry import VOTES
from aggro.models import ModelFileError
from aggro.streams import Chunk
from aggro.testing.check import CONTRACT_CHECKS
from aggro.testing.variants import Variant

rng = np.random.default_rng(0)
X = rng.standard_normal((400, 5))
LABELS = np.where(X[:, 0] * X[:, 1] + X[:, 2] > 0.0, "yes", "no")
NUMBERS = X[:, 0] + np.abs(X[:, 1])
CHEAP = {"AutoClassifier": [PAClassifier(), AROWClassifier()], "AutoRegressor": [PARegressor(), AROWRegressor()]}
VARIANTS = [Variant(entry, {"estimators": CHEAP[entry.name], "max_iter": 1, "shuffle": False}) for entry in VOTES]


def classifier(**more):
    return AutoClassifier([PAClassifier(), AROWClassifier()], **more)


# The contract of all learners ---------------------------------------------------------------------------------


@pytest.mark.parametrize("check", CONTRACT_CHECKS, ids=str)
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.entry.name)
def test_contract(variant, check):
    if not check.needs(variant) or (why := check.why_not(variant)):
        pytest.skip(why if check.needs(variant) else "not about it")
    check.run(variant)


@parametrize_with_checks(
    [AutoClassifier([PAClassifier()]), AutoRegressor([PARegressor()])], expected_failed_checks=meant_to_fail
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# Candidates ---------------------------------------------------------------------------------------------------


def test_nothing_needs_to_be_chosen():
    """With the candidates that there are by default, everything at once: a table, in one pass and in ``fit``."""
    for model in (AutoClassifier().partial_fit(X[:300], LABELS[:300]), AutoClassifier().fit(X[:300], LABELS[:300])):
        assert (model.predict(X[300:]) != LABELS[300:]).mean() < 0.3
        assert [one.learner.partition("(")[0] for one in model.candidates_] == [
            *("PAClassifier", "PAClassifier", "PAMOClassifier", "KernelPAClassifier")
        ]
        assert all(one.microseconds > 0.0 for one in model.candidates_)
    number = AutoRegressor().fit(X[:300], NUMBERS[:300])
    assert np.abs(number.predict(X[300:]) - NUMBERS[300:]).mean() < 0.2 * NUMBERS.std()


def test_what_is_given_is_copied_and_left_alone():
    inner = PAClassifier(C=0.5)
    AutoClassifier([inner]).partial_fit(X, LABELS)
    assert not hasattr(inner, "n_seen_")
    assert inner.C == 0.5


def test_a_vote_of_one_is_that_one():
    vote, alone = AutoClassifier([PAMOClassifier(random_state=3)]), PAMOClassifier(random_state=3)
    vote.partial_fit(X, LABELS), alone.partial_fit(X, LABELS)
    assert vote.predict(X).tolist() == alone.predict(X).tolist()
    np.testing.assert_allclose(vote.predict_proba(X), alone.predict_proba(X), atol=1e-3)
    assert vote.n_mistakes_ == alone.n_mistakes_
    assert vote.history_["mistakes"].tolist() == alone.history_["mistakes"].tolist()


def test_it_is_the_same_each_time():
    one, other = (AutoClassifier([PAMOClassifier()]).fit(X, LABELS).predict_proba(X) for _ in range(2))
    assert one.tobytes() == other.tobytes()
    third = AutoClassifier([PAMOClassifier()], random_state=1).fit(X, LABELS).predict_proba(X)
    assert third.tobytes() != one.tobytes()


def test_sparse_wide_rows_are_for_linear_candidates():
    n, width = 60, 50_000
    made = np.random.default_rng(0)
    columns = made.integers(0, width, (n, 30))
    labels = made.integers(0, 2, n)
    columns[:, 0] = labels
    rows = csr_matrix((np.ones(n * 30), (np.repeat(np.arange(n), 30), columns.ravel())), shape=(n, width))
    model = AutoClassifier().learn_chunk(Chunk(rows, labels))
    assert [one.stands for one in model.candidates_] == ["votes", "aside", "aside", "aside"]
    assert [one.weight for one in model.candidates_] == [1.0, 0.0, 0.0, 0.0]
    single = AutoClassifier()
    for k in range(n):
        single.learn_one((rows[k].indices, rows[k].data), labels[k])
    assert single.decision_chunk(Chunk(rows)).tobytes() == model.decision_chunk(Chunk(rows)).tobytes()
    alone = AutoClassifier([KernelPAClassifier()]).learn_chunk(Chunk(rows[:, :3000], labels))
    assert [one.stands for one in alone.candidates_] == ["votes"]  # there is no other


def test_classes_and_features_come_at_any_time():
    model = classifier()
    model.learn_one({"a": 1.0}, "first").learn_one({"b": 1.0}, "second").learn_one({"a": -1.0, "c": 2.0}, "third")
    for _ in range(5):
        model.learn_one({"a": 1.0}, "first").learn_one({"b": 1.0}, "second").learn_one({"c": 2.0}, "third")
    assert [model.predict_one(x) for x in ({"a": 1.0}, {"b": 1.0}, {"c": 2.0})] == ["first", "second", "third"]
    assert model.classes_.tolist() == ["first", "second", "third"]
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert set(model.predict_proba_one({"a": 1.0})) == {"first", "second", "third"}
    assert model.predict_one({"unknown": 1.0}) in model.classes_


def test_class_weights_move_the_decision():
    plain = classifier().partial_fit(X, LABELS)
    for weighed in ({"yes": 20.0}, {"yes": 1.0, "no": 0.05}):
        moved = classifier(class_weight=weighed).partial_fit(X, LABELS)
        assert (moved.predict(X) == "yes").mean() > (plain.predict(X) == "yes").mean() + 0.1
    rare = np.where(X[:, 0] > 1.3, "rare", "usual")
    balanced, unbalanced = (classifier(class_weight=w).partial_fit(X, rare) for w in ("balanced", None))
    assert (balanced.predict(X) == "rare").sum() > (unbalanced.predict(X) == "rare").sum()


def test_fit_makes_as_many_passes_as_each_candidate_by_itself():
    model = classifier(hinges=False).fit(X, LABELS)
    alone = PAClassifier().fit(X, LABELS)
    first, _ = model._model.candidates
    assert first.learner.n_iter_ == alone.n_iter_ > 1
    assert model.n_seen_ == len(X)
    rows, wrong, _ = first.held_out  # its weight is by the rows that it held out, as its probabilities are
    assert rows == len(X)
    assert abs(wrong / rows - np.mean(held_out_mistakes())) < 0.1
    one_pass = classifier(max_iter=1, shuffle=False).fit(X, LABELS)
    assert one_pass.decision_function(X).tobytes() == classifier().partial_fit(X, LABELS).decision_function(X).tobytes()


def held_out_mistakes():
    """Whether a learner of each half of the rows is wrong about the other half."""
    half = np.arange(len(X)) % 2 == 0
    return np.concatenate([PAClassifier().fit(X[a], LABELS[a]).predict(X[~a]) != LABELS[~a] for a in (half, ~half)])


# Around it ----------------------------------------------------------------------------------------------------


def test_raw_records():
    model = RecordLearner(classifier())
    for row, label in zip(X.tolist(), LABELS, strict=True):
        model.learn_one({"a": row[0], "b": row[1], "c": row[2], "kind": "even" if row[3] > 0 else "odd"}, label)
    assert model.predict_one({"c": 3.0, "kind": "odd"}) == "yes"
    assert model.estimator_.scale is None  # the encoder scales
    assert {candidate.learner.scale for candidate in model.estimator_._model.candidates} == {None}
    assert set(model.explain_one({"c": 3.0, "kind": "odd"})) <= set(model.feature_names_)
    bent = RecordLearner(AutoClassifier([PAClassifier(), KernelPAClassifier()])).fit(
        [{"a": x} for x in X[:, 0]], LABELS
    )
    assert set(bent.explain_one({"a": 1.0})) == {"a"}  # a kernel explains by rows, so it is not asked
    number = RecordLearner(AutoRegressor([PARegressor()])).fit([{"a": x} for x in X[:, 0]], 100.0 * X[:, 0])
    assert abs(number.predict([{"a": 1.0}])[0] - 100.0) < 20.0


def test_copies_go_on_alike(tmp_path):
    model = AutoClassifier([PAClassifier(), PAMOClassifier()]).partial_fit(X[:250], LABELS[:250])
    model.save(tmp_path / "m.aggro")
    copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model)), aggro.load(tmp_path / "m.aggro")]
    model.partial_fit(X[250:], LABELS[250:])
    for other in copies:
        other.partial_fit(X[250:], LABELS[250:])
        assert other.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
        assert other.n_mistakes_ == model.n_mistakes_
    assert type(copies[2]) is AutoClassifier
    assert [repr(one) for one in copies[2].estimators] == ["PAClassifier()", "PAMOClassifier()"]


def test_a_file_is_the_same_each_time_and_before_anything_is_bent(tmp_path):
    fitted = classifier().fit(X, LABELS)
    fitted.save(tmp_path / "m.aggro")
    assert aggro.load(tmp_path / "m.aggro").candidates_[0].weight == fitted.candidates_[0].weight
    for cut in (1, 30, 99, 100, 250):
        model = AutoRegressor([PARegressor()]).partial_fit(X[:cut], NUMBERS[:cut])
        model.save(tmp_path / "m.aggro")
        before = (tmp_path / "m.aggro").read_bytes()
        loaded = aggro.load(tmp_path / "m.aggro")
        loaded.save(tmp_path / "m.aggro")
        assert (tmp_path / "m.aggro").read_bytes() == before
        rest = X[cut:], NUMBERS[cut:]
        assert loaded.partial_fit(*rest).predict(X).tobytes() == model.partial_fit(*rest).predict(X).tobytes()


def test_a_file_whose_candidates_do_not_fit_is_refused(tmp_path):
    from aggro.models.container import opened, write
    from aggro.models.header import Header

    path = tmp_path / "m.aggro"
    AutoClassifier([PAClassifier()]).partial_fit(X, LABELS).save(path)
    with opened(path) as container:
        header, arrays = Header.parse(container.text), {name: container.read(name) for name in container.specs}

    def tampered(change, **changed):
        part = copy.deepcopy(header.candidates)
        change(part)
        with path.open("wb") as file:
            write(file, header.__class__(**{**header.__dict__, "candidates": part}).text(), {**arrays, **changed})

    changes = [
        (lambda part: part["learners"].pop(), {}),
        (lambda part: part["hinges"][1].update(width=-1), {}),
        (lambda part: part["hinges"].reverse(), {}),
        (lambda part: part["learners"][0].update(learner="PARegressor", classes=[]), {}),
        (lambda part: part["learners"][0].update(classes=[0, 7]), {}),
        (lambda part: part.pop("estimators"), {}),
        (lambda part: part["held_out"].__setitem__(0, [5, 6.0, 5]), {}),
        (lambda part: part["estimators"][0].reverse(), {}),
        (lambda part: None, {"candidates.1.hinges.columns": arrays["candidates.1.hinges.columns"] + 1000}),
        (lambda part: None, {"candidates.1.hinges.knots": arrays["candidates.1.hinges.knots"] * np.nan}),
        (lambda part: None, {"standing": np.array([0, 3])}),
        (lambda part: None, {"facts": np.array([5, 2000, 2, 0])}),
    ]
    for change, changed in changes:
        tampered(change, **changed)
        with pytest.raises(ModelFileError):
            aggro.load(path)
    tampered(lambda part: None)
    assert aggro.load(path).n_seen_ == len(X)


def test_cloning():
    model = classifier(hinges=False).fit(X, LABELS)
    fresh = clone(model)
    assert not hasattr(fresh, "n_seen_")
    assert fresh.fit(X, LABELS).predict_proba(X).tobytes() == model.predict_proba(X).tobytes()


def test_drift_is_told():
    told = []
    model = classifier()
    model.on_drift = lambda learner, row: told.append(row)
    flipped = np.where(np.arange(6000) < 3000, 1.0, -1.0)
    rows = np.random.default_rng(0).standard_normal((6000, 3))
    for part in np.array_split(np.arange(6000), 40):
        model.partial_fit(rows[part], rows[part, 0] * flipped[part] > 0.0)
    assert told
    assert told == model.drift_rows_.tolist()
    assert 3000 < told[0] < 3600


# What is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: AutoClassifier([]), "must be a list of learners"),
        (lambda: AutoClassifier(PAClassifier()), "must be a list of learners"),
        (lambda: AutoClassifier([ActiveLearner()]), "must be a list of learners"),
        (lambda: AutoClassifier([PARegressor()]), "must be for classification"),
        (lambda: AutoRegressor([PAClassifier()]), "must be for regression"),
        (lambda: AutoClassifier([AutoClassifier()]), "cannot be a vote itself"),
        (lambda: AutoClassifier([KernelPAClassifier(kernel="precomputed")]), "precomputed"),
        (lambda: AutoClassifier([PAClassifier(class_weight={"a": 2.0})]), "set class_weight of AutoClassifier"),
        (lambda: AutoClassifier([PAClassifier(C=-1.0)]), "'C' parameter of PAClassifier"),
        (lambda: AutoClassifier(scale="rms"), "'scale' parameter"),
        (lambda: AutoClassifier(max_iter=0), "'max_iter' parameter"),
    ],
)
def test_parameters_that_cannot_be(make, says):
    model = make()
    target = NUMBERS if isinstance(model, AutoRegressor) else LABELS
    with pytest.raises(ValueError, match=says):
        model.fit(X, target)
    assert not hasattr(model, "n_seen_")


def test_other_candidates_need_a_new_start():
    model = classifier().partial_fit(X, LABELS)
    model.estimators = [PAClassifier()]
    with pytest.raises(ValueError, match="has learned with 3 candidates"):
        model.partial_fit(X, LABELS)
    assert len(model.fit(X, LABELS).candidates_) == 2


def test_rows_that_are_refused_teach_no_candidate():
    model = classifier().partial_fit(X[:150], LABELS[:150])
    before = pickle.dumps(model)
    bad = X[150:].copy()
    bad[200, 1] = np.nan
    for call in (lambda: model.partial_fit(bad, LABELS[150:]), lambda: model.learn_one(bad[200], "yes")):
        with pytest.raises(ValueError, match="NaN"):
            call()
        assert pickle.dumps(model) == before


def test_an_interrupted_call_teaches_no_candidate(monkeypatch):
    model = classifier().partial_fit(X[:150], LABELS[:150])
    before = pickle.dumps(model)
    from aggro.learners.second_order import AROWClassifier as Second

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Second, "learn_chunk", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[150:], LABELS[150:])
    assert pickle.dumps(model) == before


def test_kernels_alone_do_not_explain_by_columns():
    model = AutoClassifier([KernelPAClassifier()]).partial_fit(X, LABELS)
    with pytest.raises(ValueError, match="explains its scores by columns"):
        model.explain_one(X[0])


def test_one_graph_for_several_learners_is_refused():
    pytest.importorskip("onnx")
    with pytest.raises(ValueError, match="cannot be exported as one model"):
        aggro.export.onnx(classifier().partial_fit(X, LABELS))


def test_votes_are_not_merged():
    base = classifier()
    learned = [copy.deepcopy(base).partial_fit(X[part], LABELS[part]) for part in (slice(0, 200), slice(200, 400))]
    with pytest.raises(ValueError, match="cannot be merged"):
        aggro.distributed.merge(base, learned)
