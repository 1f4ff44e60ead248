"""Progressive validation: the same figures as predicting and learning by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor

from aggro.evaluate import compare, progressive
from aggro.published import PAClassifier, PARegressor
from aggro.streams import Chunk, twonorm


def numbers(n=300, chunk=64):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.standard_normal(n)
    return [Chunk(X[i : i + chunk], y[i : i + chunk]) for i in range(0, n, chunk)]


def one_by_one(model, stream, error):
    """The mean error, row by row in plain Python."""
    errors = []
    for chunk in stream:
        for x, y in zip(chunk.X, chunk.y, strict=True):
            errors.append(error(model, x, y))
            model.learn_one(x, y)
    return np.mean(errors)


def test_a_classifiers_curve_counts_each_row_before_it_is_learned():
    def mistake(model, x, y):
        return y != model.predict_one(x)

    curve = progressive(PAClassifier(), twonorm(500, chunk=64))
    assert curve.n_rows == 500
    assert curve.error == one_by_one(PAClassifier(), twonorm(500, chunk=64), mistake)
    assert {1, 2, 4, 8, 16, 32, 64} <= set(curve.rows.tolist())
    assert curve.seconds > 0.0


def test_a_regressors_curve_is_its_mean_loss():
    curve = progressive(PARegressor(epsilon=0.5), numbers())
    expected = one_by_one(
        PARegressor(epsilon=0.5), numbers(), lambda model, x, y: max(0.0, abs(y - model.predict_one(x)) - 0.5)
    )
    assert curve.error == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("chunk", [1, 7, 300])
def test_the_curve_does_not_depend_on_how_the_stream_is_cut(chunk):
    assert progressive(PARegressor(), numbers(chunk=chunk)).error == pytest.approx(
        progressive(PARegressor(), numbers(chunk=64)).error, rel=1e-12
    )


def test_an_estimator_that_learned_before_starts_a_new_curve():
    model = PAClassifier()
    for chunk in twonorm(1000):
        model.learn_chunk(chunk)
    curve = progressive(model, twonorm(300, seed=1))
    assert curve.n_rows == 300
    assert model.n_seen_ == 1300
    assert curve.error < 0.1


def test_an_averaged_learner_is_judged_by_its_average():
    def mistake(model, x, y):
        return y != model.predict_one(x)

    stream = list(twonorm(200, chunk=1))
    curve = progressive(PAClassifier(average=True), stream)
    assert curve.error == one_by_one(PAClassifier(average=True), stream, mistake)


def test_another_librarys_classifier_predicts_each_block_before_it_learns_it():
    def fresh():
        return SGDClassifier(learning_rate="constant", eta0=0.1, shuffle=False, random_state=0)

    stream = list(twonorm(48, chunk=8))
    curve = progressive(fresh(), stream)
    X, y = np.concatenate([chunk.X for chunk in stream]), np.concatenate([chunk.y for chunk in stream])
    model, mistakes = fresh(), 1
    model.partial_fit(X[:1], y[:1], classes=[-1, 1])
    for start, stop in [(1, 2), (2, 4), (4, 8), (8, 16), (16, 24), (24, 32), (32, 40), (40, 48)]:
        mistakes += np.count_nonzero(model.predict(X[start:stop]) != y[start:stop])
        model.partial_fit(X[start:stop], y[start:stop])
    assert curve.error == mistakes / 48


def test_a_peer_with_the_same_step_has_the_same_curve():
    ours = PARegressor(fit_intercept=False, epsilon=0.1)
    theirs = SGDRegressor(
        loss="epsilon_insensitive", learning_rate="pa1", eta0=1.0, penalty=None, fit_intercept=False, epsilon=0.1
    )
    curves = compare({"ours": ours, "theirs": theirs}, numbers(chunk=1))
    assert curves["ours"].error == pytest.approx(curves["theirs"].error)


def test_rows_of_weight_zero_are_not_there():
    stream = [chunk._replace(weight=(np.arange(64) % 2).astype(float)) for chunk in twonorm(128, chunk=64)]
    curves = compare({"counts": PAClassifier(), "is asked": PAClassifier(average=True)}, stream)
    assert [curve.n_rows for curve in curves.values()] == [64, 64]


def test_sparse_chunks():
    stream = [chunk._replace(X=csr_matrix(chunk.X)) for chunk in twonorm(500, chunk=100)]
    curves = compare({"ours": PAClassifier(), "theirs": SGDClassifier(random_state=0)}, stream)
    assert all(curve.error < 0.3 for curve in curves.values())


def test_columns_that_change_are_followed_by_name_or_refused():
    (chunk,) = twonorm(100, chunk=100)
    names = [f"x{j}" for j in range(20)]
    stream = [Chunk(chunk.X[:50, :10], chunk.y[:50], names=names[:10]), Chunk(chunk.X[50:], chunk.y[50:], names=names)]
    assert progressive(PAClassifier(), stream).n_rows == 100
    with pytest.raises(ValueError, match="columns change"):
        progressive(SGDClassifier(), stream)


def test_an_endless_stream_has_a_short_curve():
    curve = progressive(PAClassifier(), twonorm(20_000, d=2, chunk=5))
    assert curve.n_rows == 20_000
    assert curve.rows.shape[0] < 250
    assert (np.diff(curve.rows) > 0).all()


def test_nothing_in_the_stream():
    curve = progressive(PAClassifier(), [])
    assert curve.n_rows == 0
    assert np.isnan(curve.error)


def test_mistakes_of_the_caller():
    with pytest.raises(TypeError, match="LogisticRegression cannot learn a stream"):
        progressive(LogisticRegression(), twonorm(10))
    model = PAClassifier()
    with pytest.raises(ValueError, match="two names"):
        compare({"a": model, "b": model}, twonorm(10))
