"""Sums over rows are what NumPy gives, in the order that is written down, and nothing beside the row is read."""

from __future__ import annotations

import os
from fractions import Fraction

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggro.engine.jit.compile import from_python
from aggro.engine.jit.runs import add_run, dot_norm_run, halves_on_halves, left_over, picked_dot_norm

COMPILED = not numba.config.DISABLE_JIT
dot_norm, add = (from_python(f) for f in (dot_norm_run, add_run)) if COMPILED else (dot_norm_run, add_run)
picked = from_python(picked_dot_norm) if COMPILED else picked_dot_norm
CHECKED = os.environ.get("NUMBA_BOUNDSCHECK") == "1"
u8 = np.uint64


def rows(columns, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((3, columns)).astype(dtype), rng.standard_normal(columns)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("columns", [*range(1, 36), 123, 500])
def test_a_dense_row_has_the_sums_of_numpy(columns, dtype):
    X, w = rows(columns, dtype)
    f, q = dot_norm(X, u8(1), w)
    x = X[1].astype(np.float64)
    np.testing.assert_allclose([f, q], [x @ w, x @ x], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose([f, q], dot_norm_run(X, 1, w), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("columns", [*range(1, 36), 123])
def test_a_multiple_of_a_row_is_added_and_nothing_beside_it(columns, dtype):
    X, w = rows(columns, dtype)
    wide = np.concatenate([[7.0], w, [9.0] * 20])
    add(X, u8(2), 0.5, wide[1:])
    np.testing.assert_allclose(wide[1 : columns + 1], w + 0.5 * X[2].astype(np.float64), rtol=1e-14)
    assert wide[0] == 7.0
    assert (wide[columns + 1 :] == 9.0).all()


@pytest.mark.parametrize("columns", [1, 2, 3, 7, 8, 15, 16, 22, 31, 32, 33])
def test_nothing_beside_a_row_counts(columns):
    X, w = rows(columns)
    X[0], X[2] = np.nan, np.nan
    assert np.isfinite(dot_norm(X, u8(1), np.concatenate([w, [np.nan] * 16]))).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 70), st.integers(0, 2**32 - 1))
def test_the_order_is_the_one_that_is_written_down(columns, seed):
    """In numbers that are exact in all orders but one sum, each sum holds what it should."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 10, (1, columns)).astype(np.float64)
    w = rng.integers(-9, 10, columns).astype(np.float64)
    assert dot_norm(X, u8(0), w) == (X[0] @ w, X[0] @ X[0])
    covered = sorted((start, count) for start, _, count in left_over(columns))
    assert sum(count for _, count in covered) == columns % 16


@pytest.mark.skipif(not COMPILED, reason="of compiled code")
@pytest.mark.parametrize("columns", [5, 22, 40])
def test_the_bits_are_those_of_sums_of_sixteen_with_one_rounding_each(columns):
    X, w = rows(columns, seed=columns)
    sums = np.zeros(16)
    for start, at, count in left_over(columns):
        sums[at : at + count] = X[0, start : start + count] * w[start : start + count]
    for start in range(0, columns - columns % 16, 16):
        for k in range(16):
            exact = Fraction(X[0, start + k]) * Fraction(w[start + k]) + Fraction(sums[k])
            sums[k] = float(exact)  # a product and a sum, rounded once
    assert dot_norm(X, u8(0), w)[0] == halves_on_halves(sums)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("entries", [*range(20), 60])
def test_a_sparse_row_has_the_sums_of_numpy(entries, dtype):
    rng = np.random.default_rng(entries)
    places = rng.choice(100, entries, replace=False).astype(np.uint32)
    data, w = rng.standard_normal(entries).astype(dtype), rng.standard_normal(100)
    padded = np.concatenate([[0], places, [0] * 9]).astype(np.uint32)
    numbers = np.concatenate([[np.nan], data, [np.nan] * 9]).astype(dtype)
    f, q = picked(padded, numbers, u8(1), u8(entries + 1), w)
    x = data.astype(np.float64)
    np.testing.assert_allclose([f, q], [x @ w[places], x @ x], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose([f, q], picked_dot_norm(padded, numbers, 1, entries + 1, w), rtol=1e-13, atol=1e-13)


@pytest.mark.skipif(not CHECKED, reason="only under NUMBA_BOUNDSCHECK=1: without it this would read foreign memory")
def test_a_row_outside_an_array_is_an_error_where_bounds_are_checked():
    X, w = rows(5)
    places = np.array([1, 9], np.uint32)
    for call in (
        lambda: dot_norm(X, u8(3), w),
        lambda: dot_norm(X, u8(0), w[:4]),
        lambda: add(X, u8(0), 1.0, w[:4]),
        lambda: picked(places, np.ones(2), u8(0), u8(2), w),
        lambda: picked(places, np.ones(2), u8(0), u8(3), np.ones(20)),
    ):
        with pytest.raises(IndexError):
            call()
