"""Every learner of the library can be combined, and goes over partitions several times."""

import numpy as np
import pytest

import aggro
from aggro.distributed.executors import Here
from aggro.distributed.sources import Source, chunk_of_block
from aggro.distributed.training import Run
from aggro.learners.registry import LEARNERS
from aggro.learners.shared.inside import begin_pass
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
