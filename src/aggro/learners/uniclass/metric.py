"""The metric in which distances from a centre are measured: columns of any units, correlated or not.

**Problem.** A ball is round, and what is usual seldom is: columns differ in their units, and go together. With a metric
G, d² = (x − w)ᵀG(x − w), a row outside asks for

    min ½(w′ − w)ᵀG(w′ − w)   such that   (x − w′)ᵀG(x − w′) ≤ ε²,

and whatever G is, the answer is on the line from w to x: w + η(x − w) with η = τ/d, as with G = I. So only d needs G.

**Solution.** G is the inverse of how rows have been spread around the centre, in N rows of weights ω_t,

    S = Σ ω_t (x_t − w_t)(x_t − w_t)ᵀ,   N = Σ ω_t,   w_t the centre before row t.

These are gaps from the centre as it was, so that a centre that drifts does not look like a wide cloud. With the
deviations σ_j = √(S_jj/N) and the correlations R_jk = S_jk/(N σ_j σ_k), either each column is measured by itself,

    d² = Σ ((x_j − w_j)/σ_j)²,

or all of them together, d² = ‖L⁻¹v‖², v_j = (x_j − w_j)/σ_j, where LLᵀ = (1 − λ)R + λI. The shrinkage λ = max(1/10,
p/(N + p)), with p the columns that have varied, keeps L⁻¹ in bounds. A column that has never varied and now does is off
by √N: as far as one row of N + 1 can be off in a column that it is counted in.

Robust, ω_t = (ε/d)² for a row outside, so that no row adds more than one on the edge; else ω_t = 1.

σ and L are found anew when the number of rows has grown by a quarter, at numbers of rows that depend on nothing else,
and stay the same in between. So the model does not depend on how a stream is cut. Inverting costs p³ operations, a
row p².

The functions work on gaps x − w written out over the whole width, sparse rows too. They are in the work space of the
pass, ``out``, from the place ``at`` on.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from aggro.engine.fields import Each, Numbers, Whole
from aggro.engine.jit.compile import exact_part, inline
from aggro.engine.limits import HUGE, TINY_SCALE
from aggro.engine.rows import entry, stored
from aggro.engine.rule import SEEN
from aggro.learners.maths.average import lag_share
from aggro.learners.maths.distance import point

AS_THEY_ARE, STANDARDISED, WHITENED, AUTO_METRIC = range(4)  # what ``scale`` is in compiled code
FEW_COLUMNS = 256  # columns up to which "auto" measures them together,
MANY_COLUMNS = 2**14  # and each by itself; beyond, rows are sparse and cost their entries
MOST_TOGETHER = 2**10  # columns that "whiten" measures together
LEAST_SHRINKAGE = 0.1

# The sums: N; N when σ and L were found; the row after which they are found anew; where columns begin that were always
# as the centre.
METRIC_WEIGHT, METRIC_KNOWN, METRIC_NEXT, METRIC_MET = range(4)
Sums = Annotated[
    np.ndarray,
    Each(Numbers(0.0), Numbers(0.0), Whole(0), Whole(0, lambda state: state.w.shape[0])),
]
# Of each column: S_jj, and 1/σ_j (0 if it has not varied).
Columns = Annotated[np.ndarray, Numbers(0.0)]

u8 = np.uint64


def together(scale: int, width: int) -> int:
    """Columns, of so many, that there is room for to be measured together."""
    return min(width, {WHITENED: MOST_TOGETHER, AUTO_METRIC: FEW_COLUMNS}.get(scale, 0))


def alone(scale: int, width: int) -> int:
    """Columns, of so many, that there is room for to be measured each by itself."""
    return {AS_THEY_ARE: 0, AUTO_METRIC: min(width, MANY_COLUMNS)}.get(scale, width)


@inline
def is_measured(state):
    """Whether there is a metric: "auto" has none where columns are too many."""
    return state.columns.shape[1] > 0 and state.sums[METRIC_MET] <= state.columns.shape[1]


@inline
def are_together(state):
    """Whether the columns are measured together."""
    return state.sums[METRIC_MET] <= state.scatter.shape[0]


@exact_part
def write_gaps(state, X, i, p, r, out, at):
    """x − c over the whole width, for the centre c = p·w + r·u."""
    # −c everywhere first: a sparse row is dense once the centre is subtracted.
    for j in range(u8(state.w.shape[0])):
        out[at + j] = -point(state.w, state.u, p, r, j)
    first, last = stored(X, i)
    for k in range(first, last):
        j, x = entry(X, i, k)
        out[at + j] += x


@exact_part
def length(state, out, at, room):
    """The distance of a row from the centre, from its gaps, cut at HUGE; from ``room`` on there is some."""
    scales, known = state.columns[1], state.sums[METRIC_KNOWN]
    width, met = u8(state.columns.shape[1]), u8(state.sums[METRIC_MET])
    total = 0.0
    # v = gaps in deviations, then L⁻¹v; what is kept is L⁻¹ transposed, so its rows are read in order.
    if are_together(state):
        L = state.whitener
        for j in range(met):
            out[room + j] = 0.0
        for k in range(met):
            v = out[at + k] * scales[k]
            if v != 0.0:
                for j in range(k, met):
                    out[room + j] += L[k, j] * v
        for j in range(met):
            total += out[room + j] * out[room + j]
    else:
        for k in range(met):
            v = out[at + k] * scales[k]
            total += v * v
    # A column that has never varied adds N to d²: a deviation of √N.
    for k in range(width):
        if scales[k] == 0.0 and out[at + k] != 0.0:
            total += known
    for k in range(width, u8(state.w.shape[0])):  # columns beyond those that there is room for
        if out[at + k] != 0.0:
            total += known
    # Cut, so that a distance is a float.
    return np.sqrt(total) if total < HUGE else HUGE


@exact_part
def take_in(state, out, at, weight):
    """S ← S + ω g gᵀ."""
    sums, columns = state.sums, state.columns
    # ``top`` is behind the last column that differs: columns beyond have always been as the centre, and need no loop.
    top = u8(0)
    for j in range(u8(columns.shape[1])):
        if out[at + j] != 0.0:
            columns[0, j] += weight * out[at + j] * out[at + j]
            top = j + u8(1)
    sums[METRIC_MET] = max(sums[METRIC_MET], np.float64(top))
    # Columns beyond the room still count as met, so that the state knows that they are too many.
    for j in range(u8(columns.shape[1]), u8(state.w.shape[0])):
        if out[at + j] != 0.0:
            sums[METRIC_MET] = np.float64(j + u8(1))
    sums[METRIC_WEIGHT] += weight
    # Above the diagonal alone: S is symmetric.
    if are_together(state):
        for j in range(u8(sums[METRIC_MET])):
            g = weight * out[at + j]
            if g != 0.0:
                for k in range(j, u8(sums[METRIC_MET])):
                    state.scatter[j, k] += g * out[at + k]


@exact_part
def find_anew(state):
    """σ, and the inverse of L, if the number of rows is one at which they are found."""
    sums, columns = state.sums, state.columns
    rows = state.tally.rows[SEEN] + 1
    # At numbers of rows that grow by a quarter, whatever way the stream is cut.
    if rows < sums[METRIC_NEXT] or not sums[METRIC_WEIGHT] > 0.0:
        return
    sums[METRIC_NEXT] = np.float64(rows + rows // 4 + 1)
    sums[METRIC_KNOWN] = sums[METRIC_WEIGHT]
    varied = 0.0
    for j in range(u8(columns.shape[1])):
        deviation = np.sqrt(columns[0, j] / sums[METRIC_WEIGHT])
        # A column that has not varied has no deviation: 0 marks it.
        columns[1, j] = 1.0 / deviation if deviation > TINY_SCALE else 0.0
        varied += deviation > TINY_SCALE
    if are_together(state):
        # Shrunk towards the identity, so that L⁻¹ stays in bounds where columns are many and rows are few.
        shrinkage = max(LEAST_SHRINKAGE, varied / (sums[METRIC_WEIGHT] + varied))
        invert(state, (1.0 - shrinkage) / sums[METRIC_WEIGHT], u8(sums[METRIC_MET]))


@exact_part
def invert(state, share, n):
    """The transpose of L⁻¹, with LLᵀ = I + what is off the diagonal of ``share``·S, in deviations.

    First the transpose of L, row by row (Cholesky), then L⁻¹ by substitution, a column at a time: a row here. All inner
    loops go along rows. Columns that have not varied are those of the unit matrix.
    """
    L, scales = state.whitener, state.columns[1]
    for j in range(n):
        for k in range(j, n):
            # Correlations, cut at ±1: rounding must not make one larger.
            L[j, k] = min(max(share * (state.scatter[j, k] * scales[j]) * scales[k], -1.0), 1.0)
        L[j, j] = 1.0
    # Cholesky, in place: row j of Lᵀ is divided by its pivot and subtracted from the rows below.
    for j in range(n):
        # The shrinkage bounds pivots from below; half of it leaves room for rounding.
        pivot = np.sqrt(max(L[j, j], 0.5 * LEAST_SHRINKAGE))
        for k in range(j, n):
            L[j, k] /= pivot
        L[j, j] = pivot
        for i in range(j + u8(1), n):
            a = L[j, i]
            if a != 0.0:
                for k in range(i, n):
                    L[i, k] -= a * L[j, k]
    for j in range(n):
        # Row j of what is kept: e_j, from which row after row of Lᵀ is taken. It is written over row j of Lᵀ, which
        # only it itself reads: so first of all that row, divided by its pivot.
        first = 1.0 / L[j, j]
        for k in range(j + u8(1), n):
            L[j, k] *= -first
        L[j, j] = first
        for i in range(j + u8(1), n):
            L[j, i] /= L[i, i]
            a = L[j, i]
            if a != 0.0:
                for k in range(i + u8(1), n):
                    L[j, k] -= a * L[i, k]


@exact_part
def move_by_gaps(state, out, at, eta):
    """centre ← centre + ηg: columns that do not differ stay as they are, to the bit."""
    # The lag takes the same move, as often as it counts.
    g = eta * lag_share(state)
    for j in range(u8(state.w.shape[0])):
        state.w[j] += eta * out[at + j]
        if state.u.shape[0]:
            state.u[j] += g * out[at + j]


def is_scaled(state: Any) -> bool:
    """``is_measured``, for Python."""
    return bool(state.columns.shape[1]) and bool(state.sums[METRIC_MET] <= state.columns.shape[1])


def metric_of(state: Any, n: int) -> tuple[np.ndarray, np.ndarray | None, float]:
    """Of n columns: 1/σ, L⁻¹ transposed if they are measured together, and what a column adds that had not varied."""
    width, met = min(n, state.columns.shape[1]), int(state.sums[METRIC_MET])
    scales = np.zeros(n)
    scales[:width] = state.columns[1, :width]
    whitener = None
    # Columns that were met fit the matrix: they are measured together.
    if met <= state.scatter.shape[0]:
        whitener = np.eye(n)
        whitener[:met, :met] = np.triu(state.whitener[:met, :met])
    return scales, whitener, float(state.sums[METRIC_KNOWN])


def parts_of_length(
    state: Any, values: np.ndarray, indices: np.ndarray, centre: np.ndarray, radius: float
) -> tuple[np.ndarray, np.ndarray]:
    """−(x_j − w_j)g_j/d of each feature of a row, with g = G(x − w), and what is left of ε − d."""
    gaps = -centre
    gaps[indices] += values
    width, met, few = state.columns.shape[1], int(state.sums[METRIC_MET]), state.scatter.shape[0]
    scales = np.zeros(gaps.shape[0])
    scales[:width] = state.columns[1]
    squares = np.zeros(gaps.shape[0])
    with np.errstate(over="ignore", invalid="ignore"):
        # v·(Gv), with G = L⁻ᵀL⁻¹, gives each column its part of d².
        turned = v = gaps[:met] * scales[:met]
        if met <= few:
            L = np.triu(state.whitener[:met, :met])
            turned = L @ (v @ L)
        squares[:met] = v * turned
    # As in ``length``: a column that has never varied adds N.
    squares[(scales == 0.0) & (gaps != 0.0)] = state.sums[METRIC_KNOWN]
    total = squares.sum()
    d = np.sqrt(total) if total < HUGE else HUGE
    if d == HUGE:  # it was cut: the features share it by their gaps
        squares = np.abs(gaps) / np.abs(gaps).max()
        total = squares.sum()
    # Parts of −d in proportion to the parts of d².
    parts = -squares * (d / total) if total else squares
    return parts[indices][:, None], np.array([radius + parts.sum() - parts[indices].sum()])
