"""Every learner of the library can be combined, and goes over partitions several times."""

import copy

import numpy as np
import pytest

import aggro
from aggro.distributed.executors import Here
from aggro.distributed.sources import Source, chunk_of_block
from aggro.distributed.training import Run
from aggro.learners.base.inside import begin_pass
from aggro.learners.registry import LEARNERS
from aggro.mixing import merge
from aggro.mixing.mixture import says_how
from aggro.testing.variants import snapshot

KINDS = [entry.name for entry in LEARNERS]


def made(name):
    kind = getattr(aggro, name)
    return kind(random_state=0) if "random_state" in kind().get_params() else kind()


def rows(entry, n=1500):
    rng = np.random.default_rng(0)
    X = np.abs(rng.standard_normal((n, 4)))
    y = X @ [1.0, -1.0, 0.5, 0.0]
    return X, y if entry.task != "classification" else (y > 0.3).astype(int)


@pytest.mark.parametrize("entry", LEARNERS, ids=KINDS)
def test_it_says_how(entry):
    assert says_how(made(entry.name))


@pytest.mark.parametrize("entry", LEARNERS, ids=KINDS)
def test_two_passes_over_one_partition_are_those_of_one_piece(entry):
    X, y = rows(entry)
    learner, here = made(entry.name), made(entry.name)
    Run({"": learner}, [Source("", "", chunk_of_block, (X, y))], 2, "rows", Here()).learn()
    for number in range(2):
        begin_pass(here, number)
        here.partial_fit(X, y)
    if hasattr(here, "flush"):
        here.flush()
    assert snapshot(learner) == snapshot(here)


@pytest.mark.parametrize("entry", LEARNERS, ids=KINDS)
def test_two_passes_over_two_partitions(entry):
    X, y = rows(entry)
    learner = made(entry.name)
    sources = [Source(str(k), str(k), chunk_of_block, (X[k::2], y[k::2])) for k in range(2)]
    Run({"": learner}, sources, 2, "rows", Here()).learn()
    assert learner.n_seen_ == 2 * len(y)
    assert np.isfinite(np.asarray(learner.predict(X[:50]), float)).all()


# What did not begin as the base --------------------------------------------------------------------------------------


def learned(learner, first=0, n=60):
    X, y = rows(LEARNERS[0])
    return learner.partial_fit(X[first : first + n], y[first : first + n])


def begun():
    return learned(aggro.PAClassifier())


@pytest.mark.parametrize(
    ("make", "learners", "words"),
    [
        (aggro.PAClassifier, lambda base: base, "a list of learners, got PAClassifier"),
        (aggro.PAClassifier, lambda base: [3], "Learner 1 is 3, but the base is a PAClassifier"),
        (aggro.PAClassifier, lambda base: [learned(aggro.AROWClassifier())], "Learner 1 is AROWClassifier"),
        (
            aggro.PAClassifier,
            lambda base: [base, learned(aggro.PAClassifier(average=False))],
            "Learner 2 has average=False, but",
        ),
        (
            aggro.PAClassifier,
            lambda base: [learned(aggro.PAClassifier(C=1.0))],
            "has C=1.0, but the base has C='auto'",
        ),
        (
            lambda: aggro.OSELMClassifier(9),
            lambda base: [learned(aggro.OSELMClassifier(8))],
            "=8, but the base has n_hidden=9",
        ),
        (
            lambda: learned(aggro.PAClassifier()),
            lambda base: [learned(aggro.PAClassifier(), n=50)],
            "lacks rows of the base",
        ),
        (lambda: learned(aggro.PAClassifier()), lambda base: [other_classes()], "lacks classes of the base"),
        (lambda: learned(aggro.PAClassifier()), lambda base: [fewer_columns()], "lacks features of the base"),
        (
            aggro.RecordLearner,
            lambda base: [of_records(aggro.AROWClassifier())],
            "contains a AROWClassifier, but the base contains a PAClassifier",
        ),
    ],
)
def test_what_did_not_begin_as_the_base_is_refused(make, learners, words):
    base = make()
    with pytest.raises((TypeError, ValueError), match=words):
        merge(base, learners(base))


def other_classes():
    X, y = rows(LEARNERS[0])
    return aggro.PAClassifier().partial_fit(X[:70], y[:70] + 1)


def fewer_columns():
    X, y = rows(LEARNERS[0])
    return aggro.PAClassifier().partial_fit(X[:70, :2], y[:70])


def of_records(inner):
    return aggro.RecordLearner(inner).learn_one({"a": 1.0}, "x").learn_one({"a": -1.0}, "y")


def test_numbers_that_steer_and_budgets_may_differ():
    base = aggro.PAClassifier(step="pa1", C=0.1)
    found = merge(base, [learned(copy.deepcopy(base)), learned(copy.deepcopy(base).set_params(C=0.2), 60)])
    assert found.n_seen_ == 120


@pytest.mark.parametrize("kind", [aggro.FOGDClassifier, aggro.OSELMClassifier])
def test_what_was_drawn_by_other_seeds_is_not_averaged(kind):
    base = kind(random_state=1)
    with pytest.raises(ValueError, match=r"are the same\. Give them a random_state"):
        merge(base, [learned(kind(random_state=k), 60 * k) for k in (1, 2)])
    mixed = merge(base, [learned(copy.deepcopy(base), 60 * k) for k in (1, 2)])
    assert mixed.n_seen_ == 120


def test_a_long_seed_stays_what_it_was():
    from aggro.engine.prepare.feature_maps.parts import MAP_SEED
    from aggro.learners.base.inside import model_of

    seed = 2**61 + 2**32 + 1  # more than a float holds
    base = aggro.FOGDClassifier(random_state=seed)
    mixed = merge(base, [learned(copy.deepcopy(base), 60 * k) for k in (0, 1)])
    assert int(model_of(mixed).state.map.facts[MAP_SEED]) == seed


def test_a_block_that_the_start_had_begun_does_not_count_more_rows_than_there_are(tmp_path):
    """Each copy finishes the block of its monitors that the start had begun; the mixture can be saved all the same."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 3))
    y = np.where(X[:, 0] > 0, "a", "b")
    base = aggro.PAClassifier(random_state=0).partial_fit(X[:45], y[:45])
    copies = [copy.deepcopy(base).partial_fit(X[k : k + 19], y[k : k + 19]) for k in range(100, 900, 19)]
    mixed = merge(base, copies)
    mixed.save(tmp_path / "mixed.aggro")
    assert mixed.n_seen_ == 45 + 19 * len(copies)
