"""Functions of eight numbers at once: the exponential, sine and cosine, the square root, the sum of the lanes.

e^x = 2^n e^r with n = round(x/log 2) and |r| ≤ log(2)/2. The polynomial e^r ≈ 1 + r + r²q(r) has q of degree 9, which
interpolates at Chebyshev's points; e^0 is 1 exactly, and the error is below 1e-15 of the value. n is found by adding
1.5·2^52, which leaves it in the low bits of the sum, from where a shift brings it into the exponent. So there is
no call, no table and no conversion that some machines do not have for vectors. Compile callers to the letter.

Angles are in quarter turns, since whole ones of those can be taken off without rounding, however many they are: with
n = round(t) and f = t − n, |f| ≤ ½, both sine and cosine of f are polynomials in f² (f·s(f²) and 1 + f²·c(f²), of seven
numbers each, by Chebyshev's points too), of which the lowest bit of n takes the one or the other, and the next one the
sign. The error is below 3e-16; beyond 2^50 quarter turns, where a float has no fraction, angles count as 2^50.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from aggro.engine.jit.intrinsics import PYTHON_TWINS, emitted
from aggro.engine.jit.lanes import LANES, VECTOR, _of_llvm, lanes

LEAST_EXPONENT, MOST_EXPONENT = -708.0, 709.0  # beyond these, 0 and e^709
ROUND_BIAS = 1.5 * 2.0**52
LOG2_HIGH = float.fromhex("0x1.62e42fee00000p-1")  # the last bits are 0: a product with n is exact
LOG2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
Q = (
    0.5000000000000001,
    0.16666666666666669,
    0.04166666666662413,
    0.008333333333330062,
    0.0013888888917213717,
    0.00019841269863053618,
    2.4801521295954376e-05,
    2.7557268459997064e-06,
    2.7620088445409746e-07,
    2.510038549551032e-08,
)
SINE = (
    1.5707963267948966,
    -0.6459640975062443,
    0.07969262624604301,
    -0.004681754132340976,
    0.0001604411507421909,
    -3.59864335298231e-06,
    5.633933781537854e-08,
)
COSINE_SERIES = (
    1.0,
    -1.2337005501361697,
    0.2536695079010478,
    -0.020863480763340773,
    0.0009192602745468447,
    -2.5202039028029178e-05,
    4.710678405505227e-07,
    -6.329396344967424e-09,
)
ANGLES = 2.0**50
INT64_LANES = ir.VectorType(ir.IntType(64), LANES)
GUESS = np.int64(0x5FE6EB50C7B537A9)


# As it is with the JIT off, on arrays of eight ------------------------------------------------------------


def exponential(value):
    """e^x of each lane; 0 below −708, e^709 above 709."""
    return np.where(value < LEAST_EXPONENT, 0.0, np.exp(np.minimum(value, MOST_EXPONENT)))


def exponentials(one, other):
    """``exponential`` of both: that of sixteen numbers takes less than twice the time of eight."""
    return PYTHON_TWINS["exponential"](one), PYTHON_TWINS["exponential"](other)


def sine(value):
    """The sine of each lane, in quarter turns."""
    return np.sin(np.fmod(np.clip(value, -ANGLES, ANGLES), 4.0) * (np.pi / 2.0))


def cosine(value):
    """The cosine of each lane, in quarter turns."""
    return np.cos(np.fmod(np.clip(value, -ANGLES, ANGLES), 4.0) * (np.pi / 2.0))


def root(value):
    """The square root of each lane."""
    return np.sqrt(value)


def near_inverse_root(value):
    """1/√x of each lane to within four hundredths, by its bits: the first guess for Newton's steps."""
    return (GUESS - (np.asarray(value, np.float64).view(np.int64) >> 1)).view(np.float64)


def total(value):
    """The sum of the lanes, in pairs."""
    halves = value[:4] + value[4:]
    return np.float64((halves[0] + halves[2]) + (halves[1] + halves[3]))


# And then as compiled code ----------------------------------------------------------------------------------


def _constant(value: float) -> Any:
    return ir.Constant(VECTOR, [value] * LANES)


def _words(value: int) -> Any:
    return ir.Constant(INT64_LANES, [value] * LANES)


def _polynomial(b: Any, coefficients: tuple[float, ...], x: Any) -> Any:
    # Horner's rule.
    p = _constant(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        p = b.call(_of_llvm(b, "llvm.fmuladd", 3), [p, x, _constant(coefficient)])
    return p


def _turning(ahead: int) -> Any:
    """The sine of an angle that is so many quarter turns ahead.

    What sine and cosine of the same angle have in common is the same code twice, which LLVM finds and computes once.
    """

    def emit(b: Any, t: Any) -> Any:
        # Comparisons that a NaN fails: it becomes −2⁵⁰ here, like all that is below.
        inside = b.select(b.fcmp_ordered(">", t, _constant(-ANGLES)), t, _constant(-ANGLES))
        inside = b.select(b.fcmp_ordered("<", inside, _constant(ANGLES)), inside, _constant(ANGLES))
        # Adding 1.5·2⁵² rounds to a whole number, which then stands in the low bits of the sum.
        shifted = b.fadd(inside, _constant(ROUND_BIAS))
        f = b.fsub(inside, b.fsub(shifted, _constant(ROUND_BIAS)))
        square = b.fmul(f, f)
        # Both polynomials for all lanes, since lanes cannot branch; the quarter decides which one counts.
        s, c = b.fmul(_polynomial(b, SINE, square), f), _polynomial(b, COSINE_SERIES, square)
        n = b.bitcast(shifted, INT64_LANES)
        odd = b.icmp_unsigned("!=", b.and_(n, _words(1)), _words(0))
        turned = b.select(odd, s, c) if ahead else b.select(odd, c, s)
        # The second lowest bit of the number of quarter turns is moved to the place of the sign.
        sign = b.shl(b.and_(b.add(n, _words(1)) if ahead else n, _words(2)), _words(62))
        return b.bitcast(b.xor(b.bitcast(turned, INT64_LANES), sign), VECTOR)

    return emit


def _exponential(b: Any, x: Any) -> Any:
    """Of a vector of any length."""
    numbers = x.type
    words = ir.VectorType(ir.IntType(64), numbers.count)
    of_three = ir.FunctionType(numbers, [numbers] * 3)
    fused = cgutils.get_or_insert_function(b.module, of_three, f"llvm.fmuladd.v{numbers.count}f64")

    def madd(*args: Any) -> Any:
        return b.call(fused, args)

    def constant(value: float) -> Any:
        return ir.Constant(numbers, [value] * numbers.count)

    # Cut to where the result is a float; what is below is set to 0 at the end.
    inside = b.select(b.fcmp_ordered(">", x, constant(LEAST_EXPONENT)), x, constant(LEAST_EXPONENT))
    inside = b.select(b.fcmp_ordered("<", inside, constant(MOST_EXPONENT)), inside, constant(MOST_EXPONENT))
    # n = round(x/log 2), left in the low bits by adding 1.5·2⁵².
    shifted = madd(inside, constant(1.0 / math.log(2.0)), constant(ROUND_BIAS))
    n = b.fsub(shifted, constant(ROUND_BIAS))
    # log 2 in two parts: the product of n with the upper one is exact, so r loses no bits.
    r = madd(n, constant(-LOG2_LOW), madd(n, constant(-LOG2_HIGH), inside))
    p = constant(Q[-1])
    for coefficient in (*Q[-2::-1], 1.0, 1.0):
        p = madd(p, r, constant(coefficient))
    # Adding n to the bits of the exponent multiplies by 2ⁿ.
    exponent = b.shl(b.bitcast(shifted, words), ir.Constant(words, [52] * numbers.count))
    scaled = b.bitcast(b.add(b.bitcast(p, words), exponent), numbers)
    return b.select(b.fcmp_ordered("<", x, constant(LEAST_EXPONENT)), constant(0.0), scaled)


def _exponentials(b: Any, v: Any, w: Any) -> Any:
    """As one vector twice as long: so each step is taken for both, and each constant loaded once."""

    def lanes_of(first: int, count: int) -> Any:
        return ir.Constant(ir.VectorType(ir.IntType(32), count), list(range(first, first + count)))

    both = _exponential(b, b.shuffle_vector(v, w, lanes_of(0, 2 * LANES)))
    halves = (b.shuffle_vector(both, both, lanes_of(first, LANES)) for first in (0, LANES))
    pair = ir.Constant(ir.ArrayType(VECTOR, 2), ir.Undefined)
    for k, half in enumerate(halves):
        pair = b.insert_value(pair, half, k)
    return pair


def _near_inverse_root(b: Any, v: Any) -> Any:
    halved = b.ashr(b.bitcast(v, INT64_LANES), ir.Constant(INT64_LANES, [1] * LANES))
    return b.bitcast(b.sub(ir.Constant(INT64_LANES, [int(GUESS)] * LANES), halved), VECTOR)


def _total(b: Any, v: Any) -> Any:
    def lane(k: int) -> Any:
        return b.extract_element(v, ir.Constant(ir.IntType(32), k))

    halves = [b.fadd(lane(k), lane(k + 4)) for k in range(4)]
    return b.fadd(b.fadd(halves[0], halves[2]), b.fadd(halves[1], halves[3]))


one = (lanes,)
exponential = emitted(exponential, lanes, one, _exponential)
exponentials = emitted(exponentials, types.UniTuple(lanes, 2), (lanes, lanes), _exponentials)  # type: ignore[attr-defined]
sine = emitted(sine, lanes, one, _turning(0))
cosine = emitted(cosine, lanes, one, _turning(1))
root = emitted(root, lanes, one, lambda b, v: b.call(_of_llvm(b, "llvm.sqrt", 1), [v]))
near_inverse_root = emitted(near_inverse_root, lanes, one, _near_inverse_root)
total = emitted(total, types.float64, one, _total)
