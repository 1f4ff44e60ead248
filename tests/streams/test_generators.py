"""Generated streams: the same rows however they are cut, and what their parameters promise."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from aggro import evaluate, streams
from aggro.published import PAClassifier

ALL = [streams.twonorm, streams.rotating_xor, streams.drifting, partial(streams.sparse_text, vocabulary=300)]


def whole(stream):
    chunks = list(stream)
    X = np.concatenate([c.X.toarray() if hasattr(c.X, "toarray") else c.X for c in chunks])
    return X, np.concatenate([c.y for c in chunks])


@pytest.mark.parametrize("make", ALL)
def test_rows_depend_on_seed_and_number_alone(make):
    X, y = whole(make(2500, chunk=2500, seed=3))
    assert len(y) == len(X) == 2500
    for n, chunk in ((2500, 7), (2500, 1024), (1500, 1025), (1, 1)):
        part, labels = whole(make(n, chunk=chunk, seed=3))
        assert part.tobytes() == X[:n].tobytes()
        assert labels.tobytes() == y[:n].tobytes()
    other, _ = whole(make(100, seed=4))
    assert not np.array_equal(other, X[:100])
    assert list(make(0)) == []


def test_xor_turns():
    X, y = whole(streams.rotating_xor(4000, every=1000, turn=90.0, spread=0.1))
    product = np.sign(X[:, 0] * X[:, 1])
    for start in range(0, 4000, 1000):  # a quarter turn swaps the classes
        here = slice(start, start + 1000)
        assert np.mean(product[here] == (1 if start % 2000 == 0 else -1) * y[here]) > 0.99
    assert abs(np.mean(y)) < 0.1
    assert np.abs(np.hypot(*X.T) - 1.0).mean() < 0.15
    assert evaluate.progressive(PAClassifier(), streams.rotating_xor(4000)).error > 0.35  # no line parts them


def test_xor_turns_counterclockwise_by_the_angle_that_was_said():
    X, y = whole(streams.rotating_xor(400, every=100, turn=10.0, spread=0.0))
    angle = np.degrees(np.arctan2(X[:, 1], X[:, 0])) % 90.0
    assert np.allclose(angle.reshape(4, 100).T, [45.0, 55.0, 65.0, 75.0])
    assert set(y.tolist()) == {-1, 1}


def test_the_concept_stands_still_turns_and_jumps():
    still = evaluate.progressive(PAClassifier(), streams.drifting(8000, turn=0.0)).error
    turning = evaluate.progressive(PAClassifier(), streams.drifting(8000, turn=1.0)).error
    jumping = evaluate.progressive(PAClassifier(), streams.drifting(8000, turn=0.0, jump=500)).error
    assert still < 0.05
    assert turning > still + 0.01
    assert jumping > still + 0.01
    with pytest.raises(ValueError, match="d must be at least 2"):
        next(streams.drifting(d=1))


def test_noise_is_the_share_of_flipped_labels():
    _, clean = whole(streams.drifting(10_000))
    X, noisy = whole(streams.drifting(10_000, noise=0.2))
    assert np.mean(clean != noisy) == pytest.approx(0.2, abs=0.02)
    assert X.shape == (10_000, 10)


def test_text_is_sparse_and_its_words_follow_zipf():
    (chunk,) = streams.sparse_text(5000, 2000, words=30.0, signal=0.2, classes=3, chunk=5000)
    X = chunk.X
    assert X.shape == (5000, 2000)
    assert X.has_canonical_format
    assert X.sum() / 5000 == pytest.approx(30.0, rel=0.03)
    assert sorted(set(chunk.y.tolist())) == [0, 1, 2]
    counts = np.asarray(X.sum(axis=0)).ravel()
    shared = counts[:1001]
    assert shared[0] / shared[9] == pytest.approx(10**1.1, rel=0.15)
    assert counts[1001:].sum() / counts.sum() == pytest.approx(0.2, abs=0.02)
    own = 333
    for label in range(3):  # nobody uses the words of another class
        words = slice(2000 - 3 * own + label * own, 2000 - 3 * own + (label + 1) * own)
        assert X[chunk.y != label][:, words].sum() == 0
    with pytest.raises(ValueError, match="none to spare"):
        next(streams.sparse_text(10, 2, classes=3))


def test_named_words_are_the_same_rows():
    plain, named = list(streams.sparse_text(2000, 500)), list(streams.sparse_text(2000, 500, named=True))
    for a, b in zip(plain, named, strict=True):
        columns = [int(name.removeprefix("word")) for name in b.names]
        assert np.array_equal(a.X[:, columns].toarray(), b.X.toarray())
        assert a.X.sum() == b.X.sum()
    assert evaluate.progressive(PAClassifier(), streams.sparse_text(5000, named=True)).error < 0.2
