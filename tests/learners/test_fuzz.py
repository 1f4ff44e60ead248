"""Garbage at every door: only ValueError and TypeError come back, and the model is as it was."""

from __future__ import annotations

import warnings

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_matrix

from aggro.published import PAClassifier, PARegressor
from aggro.testing.variants import arrays, snapshot

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.just(10**400), st.floats(), st.complex_numbers(),
    st.text(max_size=3), st.binary(max_size=3), st.dates(), st.just(object()), st.just(np.float32(1.5)),
)  # fmt: skip
any_array = hnp.arrays(
    st.one_of(
        hnp.floating_dtypes(), hnp.integer_dtypes(), hnp.boolean_dtypes(), hnp.complex_number_dtypes(),
        hnp.datetime64_dtypes(), hnp.unicode_string_dtypes(max_len=3), st.just(np.dtype(object)),
        hnp.array_dtypes(max_size=2),
    ),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)  # fmt: skip
nested = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4), max_leaves=12)
indices = st.lists(
    st.one_of(st.integers(-3, 300), st.sampled_from([2**31 - 1, 2**31, 2**63, -(2**31)]), st.floats()), max_size=4
)
one_row = st.one_of(
    nested, any_array, st.dictionaries(st.one_of(st.text(max_size=2), st.integers(), st.none()), scalars, max_size=4),
    st.tuples(indices, st.lists(scalars, max_size=4)), st.tuples(any_array, any_array),
)  # fmt: skip


@st.composite
def sparse(draw):
    """A CSR matrix whose parts need not fit each other."""
    matrix = csr_matrix((draw(st.integers(0, 4)), draw(st.integers(0, 4))))
    small = st.integers(-2, 5)
    matrix.indptr = np.array(draw(st.lists(small, max_size=6)), draw(st.sampled_from([np.int32, np.int64])))
    matrix.indices = np.array(draw(st.lists(small, max_size=6)), draw(st.sampled_from([np.int32, np.int64])))
    matrix.data = np.array(draw(st.lists(st.floats(width=32), max_size=6)))
    return matrix


many_rows = st.one_of(nested, any_array, sparse())
MODELS = {
    "classes by position": lambda: PAClassifier().fit(np.eye(3), ["a", "b", "c"]),
    "classes by name": lambda: PAClassifier(average=True).learn_one({"x": 1.0}, 1).learn_one({"y": 1.0}, 0),
    "numbers by position": lambda: PARegressor().fit(np.eye(3), [1.0, 2.0, 3.0]),
    "numbers by name": lambda: PARegressor(average=True).learn_one({"x": 1.0}, 1.0),
}
ANY_MODEL = pytest.mark.parametrize("name", MODELS)


def knock(name, call, fresh=False):
    """Call; if it is refused, then with the right kind of error and without a trace."""
    model = MODELS[name]()
    if fresh:
        model = type(model)()
    before = snapshot(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            call(model)
        except (ValueError, TypeError):
            assert snapshot(model) == before
            return
    for array in arrays(model._model.state):
        assert np.isfinite(array).all()


@ANY_MODEL
@settings(max_examples=60)
@given(one_row, scalars, st.booleans())
def test_learn_one(name, x, y, fresh):
    knock(name, lambda model: model.learn_one(x, y), fresh)


@ANY_MODEL
@settings(max_examples=60)
@given(one_row)
def test_predict_one(name, x):
    knock(name, lambda model: model.predict_one(x))


@ANY_MODEL
@settings(max_examples=60)
@given(many_rows, st.one_of(nested, any_array), st.one_of(st.none(), nested, any_array), st.booleans())
def test_partial_fit(name, X, y, weights, fresh):
    knock(name, lambda model: model.partial_fit(X, y, sample_weight=weights), fresh)


@ANY_MODEL
@settings(max_examples=60)
@given(many_rows, st.integers(0, 4))
def test_rows_with_fitting_targets(name, X, n):
    targets = {"classes by position": ["a"] * n, "classes by name": [1] * n}.get(name, [1.0] * n)
    knock(name, lambda model: model.partial_fit(X, targets))
    knock(name, lambda model: model.predict(X))


@ANY_MODEL
@settings(max_examples=60)
@given(st.one_of(nested, any_array), st.one_of(nested, any_array))
def test_targets_and_weights_with_fitting_rows(name, y, weights):
    rows = np.ones((3, 3))
    knock(name, lambda model: model.partial_fit(rows, y), fresh=True)
    knock(name, lambda model: model.partial_fit(rows, [0, 1, 0], sample_weight=weights), fresh=True)
    knock(name, lambda model: model.learn_one(rows[0], 1, weight=weights), fresh=True)
