"""Hinges: where the knots are, what a bent row is, and what they are good for."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from aggro import AutoClassifier, AutoRegressor, PAClassifier, PARegressor
from aggro.learners.auto.hinges import QUINTILE_ROWS, WIDEST_ROW, Hinges

rng = np.random.default_rng(0)
X = np.column_stack([rng.standard_normal(300), rng.integers(0, 2, 300), 5.0 + rng.random(300), np.zeros(300)])


def settled(rows=X):
    hinges = Hinges()
    hinges.see(rows[: hinges.wanted()])
    assert hinges.settled
    return hinges


def test_knots_are_the_quintiles_of_the_first_rows():
    """Of columns with more than two values; the others have none."""
    hinges = settled()
    expected = [np.quantile(X[:QUINTILE_ROWS, j], [0.2, 0.4, 0.6, 0.8]) for j in (0, 2)]
    assert hinges.columns.tolist() == [0] * 4 + [2] * 4
    np.testing.assert_array_equal(hinges.knots, np.concatenate(expected))


def test_a_bent_row_is_the_row_and_what_is_beyond_each_knot():
    hinges = settled()
    bent = hinges.bend(X[:5])
    for row, found in zip(X[:5], bent, strict=True):
        beyond = [max(0.0, row[j] - q) for j, q in zip(hinges.columns, hinges.knots, strict=True)]
        assert found.tolist() == [*row, *beyond]
    assert hinges.bend(csr_matrix(X[:5])).toarray().tolist() == bent.tolist()


def test_columns_that_come_later_stand_behind_the_hinges():
    hinges = settled()
    later = np.hstack([X[:3], [[7.0], [8.0], [9.0]]])
    bent = hinges.bend(csr_matrix(later)).toarray()
    assert bent.shape == (3, 4 + 8 + 1)
    assert bent[:, -1].tolist() == [7.0, 8.0, 9.0]
    assert [hinges.column_of(j) for j in (0, 3, 4, 8, 11, 12)] == [0, 3, 0, 2, 2, 4]
    narrow = hinges.bend(csr_matrix(X[:3, :2])).toarray()
    assert narrow[:, :4].tolist() == np.hstack([X[:3, :2], np.zeros((3, 2))]).tolist()


def test_until_there_are_enough_rows_and_in_wide_rows_nothing_is_bent():
    hinges = Hinges()
    hinges.see(X[:60])
    assert hinges.wanted() == QUINTILE_ROWS - 60
    assert hinges.bend(X) is X
    wide = Hinges()
    wide.see(csr_matrix((5, WIDEST_ROW + 1)))
    assert wide.settled
    assert wide.wanted() == 0
    assert wide.bend(X) is X


def test_the_first_rows_are_the_same_however_they_come():
    many, few = settled(), Hinges()
    for k in range(QUINTILE_ROWS):
        few.see(csr_matrix(X[k : k + 1]) if k % 2 else X[k : k + 1])
    np.testing.assert_array_equal(many.knots, few.knots)
    np.testing.assert_array_equal(many.columns, few.columns)


def test_hinges_bend_what_is_linear():
    x = np.random.default_rng(1).uniform(-2, 2, (3000, 1))
    labels = np.abs(x[:, 0]) > 1.0
    bent = AutoClassifier([PAClassifier()]).partial_fit(x[:2000], labels[:2000])
    straight = AutoClassifier([PAClassifier()], hinges=False).partial_fit(x[:2000], labels[:2000])
    assert (bent.predict(x[2000:]) != labels[2000:]).mean() < 0.1 < (straight.predict(x[2000:]) != labels[2000:]).mean()
    number = AutoRegressor([PARegressor()]).fit(x[:2000], np.abs(x[:2000, 0]))
    assert np.abs(number.predict(x[2000:]) - np.abs(x[2000:, 0])).mean() < 0.1


def test_explanations_are_by_column():
    x = np.random.default_rng(1).uniform(-2, 2, (2000, 2))
    model = AutoClassifier([PAClassifier()])
    for row, label in zip(x, np.where(np.abs(x[:, 0]) > 1.0, "far", "near"), strict=True):
        model.learn_one({"where": row[0], "noise": row[1]}, str(label))
    explained = model.explain_one({"where": 0.0, "noise": 0.5}, "near")
    assert explained.label == "near"
    assert set(explained) <= {"where", "noise"}
    assert abs(sum(explained.values()) + explained.intercept - explained.score) < 1e-9
    assert model.predict_one({"where": 0.0, "noise": 0.5}) == "near"
