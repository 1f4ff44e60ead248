"""Vectors of eight: each operation against NumPy, compiled and not."""

from __future__ import annotations

import operator

import numba
import numpy as np
import pytest

from aggro.engine.jit import lanes
from aggro.engine.jit.intrinsics import PYTHON_TWINS
from aggro.engine.jit.lanes import LANES, load, madd, spread, store

HARD = np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 1e-310])
EASY = np.array([1.0, 2.0, 1.5, -4.0, 3.0, -np.inf, 0.5, 2e-310])


def compiled(function, arity):
    """The operation as compiled code runs it, from arrays of eight."""

    @numba.njit(error_model="numpy")
    def one(a, out):
        store(out, np.uint64(0), function(load(a, np.uint64(0))))

    @numba.njit(error_model="numpy")
    def two(a, b, out):
        store(out, np.uint64(0), function(load(a, np.uint64(0)), load(b, np.uint64(0))))

    def call(*arrays):
        out = np.zeros(LANES)
        (one if arity == 1 else two)(*arrays, out)
        return out

    return call


@pytest.mark.parametrize(
    ("function", "arity"),
    [
        (operator.add, 2),
        (operator.sub, 2),
        (operator.mul, 2),
        (operator.truediv, 2),
        (lanes.most, 2),
        (lanes.least, 2),
        (lanes.signed, 2),
        (lanes.size, 1),
        (lanes.not_positive, 1),
    ],
)
@pytest.mark.parametrize("flip", [False, True])
def test_an_operation_is_what_numpy_says(function, arity, flip):
    arrays = (HARD, EASY)[:: -1 if flip else 1][:arity]
    plain = PYTHON_TWINS.get(getattr(function, "__name__", ""), function)  # as it is with the JIT off
    with np.errstate(all="ignore"):
        expected = plain(*arrays)
    assert compiled(function, arity)(*arrays).tobytes() == np.asarray(expected, float).tobytes()


@pytest.mark.parametrize(
    ("values", "set_", "below"),
    [
        (np.zeros(LANES), False, True),
        (np.eye(LANES)[5], True, False),
        (np.full(LANES, np.nan), True, False),
        (np.where(np.arange(LANES) == 2, np.nan, 0.0), True, False),
        (np.full(LANES, -0.5), True, True),
    ],
)
def test_questions_about_all_lanes(values, set_, below):
    @numba.njit
    def asked(a):
        lane = load(a, np.uint64(0))
        return lanes.any_set(lane), lanes.all_below(lane, spread(1.0))

    assert asked(values) == (set_, below)
    assert (PYTHON_TWINS["any_set"](values), PYTHON_TWINS["all_below"](values, np.ones(LANES))) == (set_, below)


def test_a_matrix_times_a_row():
    rng = np.random.default_rng(0)
    W, x = rng.standard_normal((5, 2 * LANES)), rng.standard_normal(5)

    @numba.njit
    def scores(W, x, out):
        for block in range(np.uint64(0), np.uint64(W.shape[1]), np.uint64(LANES)):
            sums = spread(0.0)
            for j in range(np.uint64(x.shape[0])):
                sums = madd(spread(x[j]), load(W, j * np.uint64(W.shape[1]) + block), sums)
            store(out, block, sums)

    out = np.zeros(2 * LANES)
    scores(W, x, out)
    np.testing.assert_allclose(out, x @ W, rtol=1e-13)


def test_where_two_are_equal():
    @numba.njit
    def chosen(a, b, value, out):
        at = np.uint64(0)
        store(out, at, lanes.where_equal(load(a, at), load(b, at), load(value, at)))

    a, b = HARD.copy(), np.where(np.arange(LANES) % 2 == 0, HARD, EASY)
    out = np.zeros(LANES)
    chosen(a, b, EASY, out)
    assert out.tolist() == PYTHON_TWINS["where_equal"](a, b, EASY).tolist()
    assert 0 < np.count_nonzero(out) < LANES


def test_the_first_of_the_best():
    @numba.njit
    def asked(a, b, value, out):
        at = np.uint64(0)
        among = lanes.or_endless(load(a, at), load(b, at), load(value, at))
        store(out, at, among)
        least = lanes.lowest(among)
        return least, lanes.first_equal(among, spread(least)), lanes.first_equal(among, spread(-1.0))

    a, b, value = np.array([3.0, 1, 2, 1, 1, 5, 1, 3]), np.ones(LANES), np.array([0.0, 7, 1, 4, 4, 2, 9, 3])
    out = np.zeros(LANES)
    assert asked(a, b, value, out) == (4.0, 3, LANES)
    assert out.tolist() == PYTHON_TWINS["or_endless"](a, b, value).tolist()
    assert PYTHON_TWINS["lowest"](out) == 4.0
    assert [PYTHON_TWINS["first_equal"](out, spread_value) for spread_value in (4.0, -1.0)] == [3, LANES]
    for lane in range(LANES):
        assert asked(b, b, np.roll(value, lane), out) == (0.0, lane, LANES)
