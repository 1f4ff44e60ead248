"""Functions of eight numbers at once: the exponential, the square root, a guess at its inverse, the sum of the lanes.

e^x = 2^n e^r with n = round(x/log 2) and |r| ≤ log(2)/2. The polynomial e^r ≈ 1 + r + r²q(r) has q of degree 9, which
interpolates at Chebyshev's points; e^0 is 1 exactly, and the error is below 1e-15 of the value. n is found by adding
1.5·2^52, which leaves it in the low bits of the sum, from where a shift brings it into the exponent. So there is
no call, no table and no conversion that some machines do not have for vectors. Compile callers to the letter.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types

from aggro.engine.jit.intrinsics import emitted
from aggro.engine.jit.lanes import LANES, VECTOR, _of_llvm, lanes

LEAST, MOST = -708.0, 709.0  # beyond these, 0 and e^709
MAGIC = 1.5 * 2.0**52
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
WORDS = ir.VectorType(ir.IntType(64), LANES)
GUESS = np.int64(0x5FE6EB50C7B537A9)


# As it is with the JIT off, on arrays of eight ------------------------------------------------------------


def exponential(value):
    """e^x of each lane; 0 below −708, e^709 above 709."""
    return np.where(value < LEAST, 0.0, np.exp(np.minimum(value, MOST)))


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


def _exponential(b: Any, x: Any) -> Any:
    def madd(*args: Any) -> Any:
        return b.call(_of_llvm(b, "llvm.fmuladd", 3), args)

    inside = b.select(b.fcmp_ordered(">", x, _constant(LEAST)), x, _constant(LEAST))
    inside = b.select(b.fcmp_ordered("<", inside, _constant(MOST)), inside, _constant(MOST))
    shifted = madd(inside, _constant(1.0 / math.log(2.0)), _constant(MAGIC))
    n = b.fsub(shifted, _constant(MAGIC))
    r = madd(n, _constant(-LOG2_LOW), madd(n, _constant(-LOG2_HIGH), inside))
    p = _constant(Q[-1])
    for coefficient in (*Q[-2::-1], 1.0, 1.0):
        p = madd(p, r, _constant(coefficient))
    exponent = b.shl(b.bitcast(shifted, WORDS), ir.Constant(WORDS, [52] * LANES))
    scaled = b.bitcast(b.add(b.bitcast(p, WORDS), exponent), VECTOR)
    return b.select(b.fcmp_ordered("<", x, _constant(LEAST)), _constant(0.0), scaled)


def _near_inverse_root(b: Any, v: Any) -> Any:
    halved = b.ashr(b.bitcast(v, WORDS), ir.Constant(WORDS, [1] * LANES))
    return b.bitcast(b.sub(ir.Constant(WORDS, [int(GUESS)] * LANES), halved), VECTOR)


def _total(b: Any, v: Any) -> Any:
    def lane(k: int) -> Any:
        return b.extract_element(v, ir.Constant(ir.IntType(32), k))

    halves = [b.fadd(lane(k), lane(k + 4)) for k in range(4)]
    return b.fadd(b.fadd(halves[0], halves[2]), b.fadd(halves[1], halves[3]))


one = (lanes,)
exponential = emitted(exponential, lanes, one, _exponential)
root = emitted(root, lanes, one, lambda b, v: b.call(_of_llvm(b, "llvm.sqrt", 1), [v]))
near_inverse_root = emitted(near_inverse_root, lanes, one, _near_inverse_root)
total = emitted(total, types.float64, one, _total)
