"""Functions of eight numbers at once, beside NumPy's."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from aggro.engine.jit.intrinsics import PYTHON_TWINS
from aggro.engine.jit.lane_math import cosine, exponential, exponentials, root, sine, total
from aggro.engine.jit.lanes import LANES, load, store

u8 = np.uint64


@numba.njit
def of_all(values, out):
    for at in range(u8(0), u8(values.shape[0]), u8(LANES)):
        store(out, at, exponential(load(values, at)))


@numba.njit
def of_pairs(values, out):
    for at in range(u8(0), u8(values.shape[0]), u8(2 * LANES)):
        one, other = exponentials(load(values, at), load(values, at + u8(LANES)))
        store(out, at, one)
        store(out, at + u8(LANES), other)


@numba.njit
def of_eight(values, out):
    store(out, u8(0), root(load(values, u8(0))))
    return total(load(values, u8(0)))


def test_the_exponential_is_numpys():
    rng = np.random.default_rng(0)
    edges = [0.0, -0.0, 1.0, -708.0, 709.0, 1e-300, -1e-17, np.log(2.0) / 2]
    values = np.concatenate([edges, rng.uniform(-700.0, 700.0, 8000), rng.uniform(-1.0, 1.0, 8000)])
    out = np.empty_like(values)
    of_all(values, out)
    np.testing.assert_allclose(out, np.exp(values), rtol=1e-15)
    assert out[0] == out[1] == 1.0
    np.testing.assert_array_equal(PYTHON_TWINS["exponential"](values[:8]), np.exp(values[:8]))


def test_the_exponential_at_its_ends():
    values = np.array([-708.1, -1e300, -np.inf, 710.0, 1e300, np.inf, 0.0, 0.0])
    out = np.empty(8)
    of_all(values, out)
    assert out[:3].tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(out[3:6], np.exp(709.0), rtol=1e-15)
    np.testing.assert_allclose(PYTHON_TWINS["exponential"](values), out, rtol=1e-15)


def test_two_exponentials_are_those_of_each():
    values = np.concatenate([np.random.default_rng(1).uniform(-720.0, 715.0, 8000), np.linspace(-709.0, 1.0, 16)])
    out, by_pairs = np.empty_like(values), np.empty_like(values)
    of_all(values, out)
    of_pairs(values, by_pairs)
    np.testing.assert_array_equal(by_pairs, out)
    plain = np.concatenate(PYTHON_TWINS["exponentials"](values[:8], values[8:16]))
    np.testing.assert_allclose(plain, out[:16], rtol=1e-15)


def test_root_and_total():
    values = np.array([1.0, 2.0, 4.0, 8.0, 1e-300, 3.0, 1e16, 0.5])
    out = np.empty(8)
    assert of_eight(values, out) == PYTHON_TWINS["total"](values)
    np.testing.assert_array_equal(out, np.sqrt(values))


@numba.njit
def turned(values, sines, cosines):
    for at in range(u8(0), u8(values.shape[0]), u8(LANES)):
        store(sines, at, sine(load(values, at)))
        store(cosines, at, cosine(load(values, at)))


@pytest.mark.parametrize("size", [0.5, 2.0, 100.0, 1e6, 1e12, 2.0**50])
def test_sine_and_cosine_are_those_of_quarter_turns(size):
    values = np.random.default_rng(0).uniform(-size, size, 8000)
    sines, cosines = np.empty_like(values), np.empty_like(values)
    turned(values, sines, cosines)
    angles = np.fmod(values, 4.0) * (np.pi / 2.0)  # exact: whole turns are taken off before anything is rounded
    np.testing.assert_allclose(sines, np.sin(angles), rtol=0.0, atol=8e-16)
    np.testing.assert_allclose(cosines, np.cos(angles), rtol=0.0, atol=8e-16)
    np.testing.assert_allclose(PYTHON_TWINS["sine"](values[:8]), sines[:8], rtol=0.0, atol=8e-16)
    np.testing.assert_allclose(PYTHON_TWINS["cosine"](values[:8]), cosines[:8], rtol=0.0, atol=8e-16)


def test_whole_quarter_turns_are_exact_and_no_angle_is_too_large():
    values = np.array([0.0, 1.0, 2.0, 3.0, -1.0, -2.0, 1e300, -1e300])
    sines, cosines = np.empty(8), np.empty(8)
    turned(values, sines, cosines)
    assert sines.tolist() == [0.0, 1.0, 0.0, -1.0, -1.0, 0.0, 0.0, 0.0]
    assert cosines.tolist() == [1.0, 0.0, -1.0, 0.0, 0.0, -1.0, 1.0, 1.0]
