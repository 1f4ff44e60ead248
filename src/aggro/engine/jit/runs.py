"""Runs of numbers in memory: w·x and ‖x‖² of a dense row, and w + a·x.

Left to itself, LLVM adds up such a run in vectors of the width that it likes, and takes what is left of them one by
one, each waiting for the last: of 22 columns six, which is a fifth of a pass (measured). Here a row is sixteens, and
what is left of them, an eight, a four, a two and a one, begins the sums. The order is written down, so that the sums
have the same bits on every machine that multiplies and adds in one step, whatever its vectors are.

With the JIT off they are the same sums, by NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from aggro.engine.jit.compile import INLINE

PARTIAL_SUMS = 16  # sums, each of every sixteenth number
REST_OF_SUMS = (
    (8, 0),
    (4, 8),
    (2, 12),
    (1, 14),
)  # how many numbers may be left, and the first of the sums that they begin
VECTOR_WIDTH = 4  # numbers in a vector: wider ones are no faster here, and slower where memory is not as they like it
u8 = np.uint64


def dot_norm_run(X, i, w):
    """w·x and ‖x‖² of row i."""
    f, q = np.zeros(PARTIAL_SUMS), np.zeros(PARTIAL_SUMS)
    x, columns = X[i].astype(np.float64), X.shape[1]
    whole = columns - columns % PARTIAL_SUMS
    # What sixteens leave comes first and begins the sums, in the order of the compiled code.
    for start, at, count in [*left_over(columns), *((k, 0, PARTIAL_SUMS) for k in range(0, whole, PARTIAL_SUMS))]:
        numbers, sums = slice(start, start + count), slice(at, at + count)
        f[sums] += x[numbers] * w[numbers]
        q[sums] += x[numbers] * x[numbers]
    return halves_on_halves(f), halves_on_halves(q)


def add_run(X, i, a, w):
    """w ← w + a·x for row i."""
    w[: X.shape[1]] += a * X[i].astype(np.float64)


def left_over(columns: int) -> Iterator[tuple[int, int, int]]:
    """Of the numbers that sixteens leave: where they begin, which sums they begin, and how many they are."""
    start = columns - columns % PARTIAL_SUMS
    for count, at in REST_OF_SUMS:
        if columns & count:
            yield start, at, count
            start += count


def halves_on_halves(sums: np.ndarray) -> Any:
    """The sum of sums."""
    while sums.shape[0] > 1:
        half = sums.shape[0] // 2
        sums = sums[:half] + sums[half:]
    return sums[0]


# As compiled code ---------------------------------------------------------------------------------------

DOUBLE_LLVM, INT64_LLVM, LANE = ir.DoubleType(), ir.IntType(64), ir.IntType(32)


def vector(count: int, of: Any = DOUBLE_LLVM) -> ir.Type:
    return ir.VectorType(of, count)


def lanes(builder: Any, one: Any, two: Any, order: list[int]) -> Any:
    """Lanes of two vectors, those of the second counted on."""
    return builder.shuffle_vector(one, two, ir.Constant(vector(len(order), LANE), order))


def madd(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """a·b + c in one step."""
    function = ir.FunctionType(a.type, [a.type] * 3)
    name = f"llvm.fmuladd.v{a.type.count}f64"
    return builder.call(cgutils.get_or_insert_function(builder.module, function, name), [a, b, c])


class Run:
    """A row and weights beside it, as code is written that goes over both."""

    def __init__(self, context: Any, builder: Any, kinds: Any, X: Any, i: Any, w: Any) -> None:
        self.builder = builder
        rows = context.make_array(kinds[0])(context, builder, X)
        self.number = ir.FloatType() if kinds[0].dtype == types.float32 else DOUBLE_LLVM
        self.columns = cgutils.unpack_tuple(builder, rows.shape)[1]
        # The columns rounded down to sixteens: −16 has the lowest four bits clear.
        self.whole = builder.and_(self.columns, INT64_LLVM(-PARTIAL_SUMS))
        self.x = builder.gep(rows.data, [builder.mul(i, self.columns)], inbounds=True)
        self.w = context.make_array(kinds[1])(context, builder, w).data

    def pieces(self) -> Iterator[tuple[list[tuple[Any, int]], int]]:
        """Code for what is left, then for the sixteens: vectors, each where it begins and how long; its first sum."""
        at = self.whole
        # The lowest four bits of the number of columns say which of the pieces there are.
        for count, first in REST_OF_SUMS:
            bit = self.builder.and_(self.columns, INT64_LLVM(count))
            with self.builder.if_then(self.builder.icmp_unsigned("!=", bit, INT64_LLVM(0))):
                yield self.fours(at, count), first
            at = self.builder.add(at, bit)
        with cgutils.for_range_slice(self.builder, INT64_LLVM(0), self.whole, INT64_LLVM(PARTIAL_SUMS), INT64_LLVM) as (
            at,
            _,
        ):
            yield self.fours(at, PARTIAL_SUMS), 0

    def fours(self, at: Any, count: int) -> list[tuple[Any, int]]:
        return [(self.builder.add(at, INT64_LLVM(k)), min(count, VECTOR_WIDTH)) for k in range(0, count, VECTOR_WIDTH)]

    def values(self, at: Any, count: int) -> Any:
        """Numbers of the row."""
        # Vectors may begin at any number, so no more is promised than that numbers are aligned.
        place = self.builder.bitcast(self.builder.gep(self.x, [at]), vector(count, self.number).as_pointer())
        found = self.builder.load(place, align=4 if self.number != DOUBLE_LLVM else 8)
        return found if self.number == DOUBLE_LLVM else self.builder.fpext(found, vector(count))

    def weights(self, at: Any, count: int) -> Any:
        """Where weights are."""
        return self.builder.bitcast(self.builder.gep(self.w, [at]), vector(count).as_pointer())


def _dot_norm(typingctx, X, i, w):
    def codegen(context, builder, signature, args):
        run = Run(context, builder, (signature.args[0], signature.args[2]), *args)
        zero = ir.Constant(vector(VECTOR_WIDTH), [0.0] * VECTOR_WIDTH)
        # Sixteen sums each for w·x and for ‖x‖², as four vectors of four.
        sums = [[cgutils.alloca_once_value(builder, zero) for _ in range(PARTIAL_SUMS // VECTOR_WIDTH)] for _ in "fq"]
        for fours, first in run.pieces():
            for k, (at, count) in enumerate(fours):
                x = run.values(at, count)
                w = builder.load(run.weights(at, count), align=8)
                # Both from one reading of the row.
                for of_four, other in zip(sums, (w, x), strict=True):
                    place = of_four[first // VECTOR_WIDTH + k]
                    # A sixteen adds to all sums; a smaller piece begins some of them, which are 0 until then.
                    if len(fours) == PARTIAL_SUMS // VECTOR_WIDTH:
                        total = madd(builder, x, other, builder.load(place))
                    else:
                        total = begun(builder, builder.fmul(x, other), first % VECTOR_WIDTH, builder.load(place))
                    builder.store(total, place)
        found = []
        for of_four in sums:
            # The order of ``halves_on_halves``: sums that are eight apart first, then those that are four apart.
            a, b, c, d = (builder.load(place) for place in of_four)
            found.append(summed(builder, builder.fadd(builder.fadd(a, c), builder.fadd(b, d))))
        return context.make_tuple(builder, signature.return_type, found)

    return types.UniTuple(types.float64, 2)(X, types.uint64, w), codegen


def begun(builder: Any, few: Any, first: int, four: Any) -> Any:
    """Four sums, of which those from ``first`` on begin."""
    count = few.type.count
    if count == VECTOR_WIDTH:
        return few
    # Few lanes become four, each at the place of its sum, and the other sums stay as they are.
    wide = lanes(builder, few, few, [min(max(k - first, 0), count - 1) for k in range(VECTOR_WIDTH)])
    return lanes(
        builder, four, wide, [VECTOR_WIDTH + k if first <= k < first + count else k for k in range(VECTOR_WIDTH)]
    )


def summed(builder: Any, four: Any) -> Any:
    """Emit code for the sum of four lanes, added in the order of ``halves_on_halves``: (s0 + s2) + (s1 + s3)."""
    two = builder.fadd(lanes(builder, four, four, [0, 1]), lanes(builder, four, four, [2, 3]))
    return builder.fadd(*(builder.extract_element(two, LANE(k)) for k in range(2)))


def _add(typingctx, X, i, a, w):
    def codegen(context, builder, signature, args):
        X, i, a, w = args
        run = Run(context, builder, (signature.args[0], signature.args[3]), X, i, w)
        for fours, _ in run.pieces():
            for at, count in fours:
                one = builder.insert_element(ir.Constant(vector(count), ir.Undefined), a, LANE(0))
                # The number a in every lane.
                every, place = lanes(builder, one, one, [0] * count), run.weights(at, count)
                moved = madd(builder, every, run.values(at, count), builder.load(place, align=8))
                builder.store(moved, place, align=8)
        return context.get_dummy_value()

    return types.void(X, types.uint64, types.float64, w), codegen


# The same for a sparse row: numbers with their places -------------------------------------------------------


def picked_dot_norm(indices, data, start, stop, w):
    """w·x and ‖x‖² of the entries from ``start`` to ``stop``: eights, then a four, then one by one."""
    f, q, single = np.zeros(2 * VECTOR_WIDTH), np.zeros(2 * VECTOR_WIDTH), np.zeros(2)
    fours = stop - (stop - start) % VECTOR_WIDTH
    for k in range(start, stop):
        x, weight = np.float64(data[k]), w[indices[k]]
        lane = (k - start) % (2 * VECTOR_WIDTH)
        if k < fours:
            f[lane] += x * weight
            q[lane] += x * x
        else:
            single += x * weight, x * x
    return halves_on_halves(f) + single[0], halves_on_halves(q) + single[1]


def _picked_dot_norm(typingctx, indices, data, start, stop, w):
    def codegen(context, builder, signature, args):
        kinds = signature.args
        # Plain addresses of the arrays: indices, values and weights.
        places, numbers, weights = (context.make_array(kinds[k])(context, builder, args[k]).data for k in (0, 1, 4))
        start, stop = args[2:4]
        single = kinds[1].dtype == types.float32
        number = ir.FloatType() if single else DOUBLE_LLVM
        zero = ir.Constant(vector(VECTOR_WIDTH), [0.0] * VECTOR_WIDTH)
        # Two sums of four lanes for each result take turns, since each waits for its last addition.
        sums = [[cgutils.alloca_once_value(builder, zero) for _ in range(2)] for _ in "fq"]
        ones = [cgutils.alloca_once_value(builder, DOUBLE_LLVM(0.0)) for _ in "fq"]

        def weight(at: Any) -> Any:
            place = builder.zext(builder.load(builder.gep(places, [at], inbounds=True)), INT64_LLVM)
            return builder.load(builder.gep(weights, [place], inbounds=True))

        def four(at: Any, k: int) -> None:
            """The entries from here on, for the k-th sums."""
            there = builder.bitcast(builder.gep(numbers, [at]), vector(VECTOR_WIDTH, number).as_pointer())
            x = builder.load(there, align=4 if single else 8)
            x = builder.fpext(x, vector(VECTOR_WIDTH)) if single else x
            # Weights stand apart: they are gathered one by one, which every machine can.
            w = ir.Constant(vector(VECTOR_WIDTH), ir.Undefined)
            for lane in range(VECTOR_WIDTH):
                w = builder.insert_element(w, weight(builder.add(at, INT64_LLVM(lane))), LANE(lane))
            for total, other in zip(sums, (w, x), strict=True):
                builder.store(madd(builder, x, other, builder.load(total[k])), total[k])

        # Whole eights, then one four if it is there, then what is left one by one.
        count = builder.sub(stop, start)
        eights = builder.add(start, builder.and_(count, INT64_LLVM(-2 * VECTOR_WIDTH)))
        fours = builder.add(start, builder.and_(count, INT64_LLVM(-VECTOR_WIDTH)))
        with cgutils.for_range_slice(builder, start, eights, INT64_LLVM(2 * VECTOR_WIDTH), INT64_LLVM) as (at, _):
            four(at, 0)
            four(builder.add(at, INT64_LLVM(VECTOR_WIDTH)), 1)
        with builder.if_then(builder.icmp_unsigned("!=", eights, fours)):
            four(eights, 0)
        with cgutils.for_range_slice(builder, fours, stop, INT64_LLVM(1), INT64_LLVM) as (at, _):
            x = builder.load(builder.gep(numbers, [at], inbounds=True))
            x = builder.fpext(x, DOUBLE_LLVM) if single else x
            for total, other in zip(ones, (weight(at), x), strict=True):
                # Fused, so that what comes one by one rounds as the vectors do.
                builder.store(builder.fma(x, other, builder.load(total)), total)
        found = []
        for (one, two), rest in zip(sums, ones, strict=True):
            # Vectors first, then the entries that came one by one.
            whole = summed(builder, builder.fadd(builder.load(one), builder.load(two)))
            found.append(builder.fadd(whole, builder.load(rest)))
        return context.make_tuple(builder, signature.return_type, found)

    return types.UniTuple(types.float64, 2)(indices, data, types.uint64, types.uint64, w), codegen


if not numba.config.DISABLE_JIT:
    _dot_norm_code, _add_code, _picked_code = intrinsic(_dot_norm), intrinsic(_add), intrinsic(_picked_dot_norm)
    CHECKED = bool(numba.config.BOUNDSCHECK)  # known when compiled
    OUTSIDE = "a row beyond the end of an array"

    @overload(dot_norm_run, jit_options=INLINE)
    def _dot_norm_compiled(X, i, w):
        def compiled(X, i, w):
            if CHECKED and (i >= X.shape[0] or X.shape[1] > w.shape[0]):
                raise IndexError(OUTSIDE)
            return _dot_norm_code(X, u8(i), w)

        return compiled

    @overload(add_run, jit_options=INLINE)
    def _add_compiled(X, i, a, w):
        def compiled(X, i, a, w):
            if CHECKED and (i >= X.shape[0] or X.shape[1] > w.shape[0]):
                raise IndexError(OUTSIDE)
            _add_code(X, u8(i), np.float64(a), w)

        return compiled

    @overload(picked_dot_norm, jit_options=INLINE)
    def _picked_compiled(indices, data, start, stop, w):
        def compiled(indices, data, start, stop, w):
            if CHECKED:
                if stop > indices.shape[0] or stop > data.shape[0]:
                    raise IndexError(OUTSIDE)
                for k in range(start, stop):
                    if indices[k] >= w.shape[0]:
                        raise IndexError(OUTSIDE)
            return _picked_code(indices, data, u8(start), u8(stop), w)

        return compiled
