"""The small quadratic problems of a group of rows, solved to the last digits.

Learning n rows at once (``learners.linear.minibatch``) asks for coefficients β, one a row, that solve

    max  −½ βᵀ(G + diag ρ)β + βᵀr − Σ_k ε_k|β_k|     s.t.  lo ≤ β ≤ hi

where G_jk = x̃_j·x̃_k, or any kernel; the weights then move by Σ β_k x̃_k. With f_k the scores before the move:

================ ============ ========= ====== =======================
problem          r_k          ρ_k       ε_k    lo_k, hi_k
================ ============ ========= ====== =======================
classes, pa1     m y_k − f_k  0         0      between 0 and s_k C y_k
classes, pa2     m y_k − f_k  1/(2s_kC) 0      between 0 and ∞ y_k
numbers, pa1     y_k − f_k    0         ε      −s_k C, s_k C
numbers, pa2     y_k − f_k    1/(2s_kC) ε      −∞, ∞
================ ============ ========= ====== =======================

(β_k = y_k τ_k of the papers' τ; so G needs no signs.) ``box_qp`` solves these, ``ridge_solve`` the step ``ls``,
(G + diag ρ)β = r. The optimality conditions are, with g = r − (G + diag ρ)β,

    β_k < hi_k  ⇒  g_k ≤ +ε_k (−ε_k where β_k < 0)        β_k > lo_k  ⇒  g_k ≥ −ε_k (+ε_k where β_k > 0)

How. Coordinates are scaled so that the matrix has a diagonal of ones. Coordinate ascent finds out which of them stop at
a bound or at 0, and a Newton step on the others, cut where one of them would pass a bound, lands on the maximum of that
face. Both only ever go up, so no face comes twice, and there are finitely many. Where the matrix is singular on a face
(rows that come twice), the step follows a direction in which the problem is linear, until it meets a bound.

Limits. In units in which the diagonal and the largest r are 1, a bound beyond 1e12 is taken as 1e12: floats do not tell
more. It ends after ``QP_ROUNDS`` rounds at most; β is then feasible and at least as good as 0, and the residual that
is returned says how far the conditions are from being met. Coordinates without a diagonal (rows of zeros) get 0.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import part, python_too
from aggro.engine.limits import HUGE
from aggro.engine.solve.eigen import pseudo_solve

u8 = np.uint64

QP_ROUNDS = 60
QP_SWEEPS = 25  # of coordinate ascent in a round
TARGET_RESIDUAL = 1e-13  # of the residual, relative to the largest sum of terms in a condition
ENOUGH_RESIDUAL = 3e-12  # if no round makes it better
FLAT = 1e-13  # a pivot below this, of a matrix with ones on its diagonal, is 0
DISTINCT = 1e-7  # a smallest pivot above this is safe to divide by
LARGEST_MULTIPLIER = 1e12
QP_ROUNDING = 4e-15


@python_too
def qp_room(n):
    """How many numbers of work space n rows need."""
    return 2 * n * n + 12 * n


@part
def scaled(n, G, ridge, M, scale):
    """M = S(G + diag ρ)S with ones on the diagonal; S, or 0 for coordinates without a diagonal that is a number."""
    for k in range(n):
        # A coordinate whose diagonal is 0 or no float gets the scale 0: it stays out of the problem.
        diagonal = G[k, k] + ridge[k]
        scale[k] = 1.0 / np.sqrt(diagonal) if 1.0 / HUGE < diagonal < HUGE else 0.0
    for k in range(n):
        for j in range(n):
            M[k * n + j] = G[k, j] * scale[k] * scale[j]
        # Exactly 1, also where the scale is 0: coordinate ascent then need not divide.
        M[k * n + k] = 1.0


@part
def ascend(n, M, x, g, lo, hi, eps):
    """One sweep of coordinate ascent; whether a coordinate came to a bound or to 0, or left one."""
    changed = False
    for k in range(n):
        # The best x_k with all others fixed: the diagonal is 1, so it is x_k + g_k, shrunk by ε_k towards 0.
        best = x[k] + g[k]
        if best > eps[k]:
            best -= eps[k]
        elif best < -eps[k]:
            best += eps[k]
        else:
            best = 0.0
        # The problem is concave along x_k, so the best allowed value is the nearest one.
        best = min(max(best, lo[k]), hi[k])
        move = best - x[k]
        if move != 0.0:
            # Only a change of who stops where asks for another sweep; the Newton step finds the values themselves.
            changed |= stops(best, lo[k], hi[k], eps[k]) or stops(x[k], lo[k], hi[k], eps[k])
            x[k] = best
            # The gradient follows at the cost of one column.
            for j in range(n):
                g[j] -= move * M[k * n + j]
    return changed


@part
def stops(x, lo, hi, eps):
    """Whether a coordinate is where its derivative jumps."""
    return x <= lo or x >= hi or (x == 0.0 and eps > 0.0)


@part
def factor(n, M, free, count, L, left):
    """Cholesky with the largest pivot first, of the ``free`` coordinates, which are put in that order; the rank.

    Row k of L is that of coordinate k. ``left`` is room for n numbers.
    """
    # ``left`` is the diagonal of what is not factored yet; it begins as the diagonal of M, which is 1.
    for i in range(count):
        left[u8(free[i])] = 1.0
    for p in range(count):
        # The largest pivot next: where the matrix is singular, all pivots that are left are then small.
        at = p
        for i in range(p + u8(1), count):
            if left[u8(free[i])] > left[u8(free[at])]:
                at = i
        free[p], free[at] = free[at], free[p]
        k = u8(free[p])
        # The rest of the matrix is 0 but for rounding: its rank is p. Also true for a NaN.
        if not left[k] > FLAT:
            return p
        root = np.sqrt(left[k])
        L[k * n + p] = root
        # Column p of L, below the pivot.
        for i in range(p + u8(1), count):
            j = u8(free[i])
            v = M[j * n + k]
            for t in range(p):
                v -= L[j * n + t] * L[k * n + t]
            v /= root
            L[j * n + p] = v
            left[j] -= v * v
    return count


@part
def back(n, L, free, rank, d):
    """Solve L₁₁ᵀ d = d for the first ``rank`` of the free coordinates."""
    # From the last one back: each row of L₁₁ᵀ needs the solutions after it.
    for i in range(rank):
        p = rank - u8(1) - i
        k = u8(free[p])
        v = d[k]
        for t in range(p + u8(1), rank):
            v -= L[u8(free[t]) * n + p] * d[u8(free[t])]
        d[k] = v / L[k * n + p]


@part
def direction(n, M, free, count, slope, terms, L, left, d):
    """Where to go on a face, from the slopes of its coordinates: to its top, or along what is linear."""
    # Full rank has a Newton step; else a direction with slope and without curvature is looked for.
    rank = factor(n, M, free, count, L, left)
    steepest, worst = u8(0), 0.0
    for p in range(count):  # L d = slope; what is left over of the others is the slope along what is linear
        k = u8(free[p])
        v, size = slope[k], terms[k]
        for t in range(min(p, rank)):
            v -= L[k * n + t] * d[u8(free[t])]
            size += abs(L[k * n + t] * d[u8(free[t])])
        # Forward substitution, while what is left of the others shows whether the slope lies in the range of M.
        if p < rank:
            d[k] = v / L[k * n + p]
        else:
            d[k] = 0.0
            # Beyond rounding: the slope has a part along a null direction, in which the problem is linear.
            if abs(v) > max(abs(worst), QP_ROUNDING * size):
                steepest, worst = k, v
    # A null vector of M on this face: 1 for the steepest coordinate, the others such that M d = 0.
    if worst != 0.0:
        sign = 1.0 if worst > 0.0 else -1.0
        for p in range(rank):
            d[u8(free[p])] = -sign * L[steepest * n + p]
        d[steepest] = sign
    back(n, L, free, rank, d)


@part
def climb(n, M, r, x, g, lo, hi, eps, L, free, left, slope, d, terms):
    """To the maximum of the face that x is on, or of one that the way there ends on."""
    for _ in range(n):  # each time but the last, a coordinate comes to a bound
        # The face: all coordinates that are not at a bound, nor at 0 where |β| has its kink.
        count = u8(0)
        for k in range(n):
            if not stops(x[k], lo[k], hi[k], eps[k]):
                free[count] = k
                count += u8(1)
                # On the face |x| is linear, so ε only shifts the slope.
                slope[k] = g[k] - (eps[k] if x[k] > 0.0 else -eps[k])
        if count == u8(0):
            return
        direction(n, M, free, count, slope, terms, L, left, d)
        # Along d the objective is a parabola with this slope and curvature.
        rise, bend = 0.0, 0.0
        step = np.inf
        for i in range(count):
            k = u8(free[i])
            rise += slope[k] * d[k]
            for j in range(count):
                bend += d[k] * M[k * n + u8(free[j])] * d[u8(free[j])]
            # The first point on the way where a coordinate meets a bound or its kink.
            step = min(step, way(x[k], d[k], lo[k], hi[k], eps[k]))
        # Without curvature the climb goes on until something stops it.
        top = rise / bend if bend > 0.0 else np.inf
        if not (rise > 0.0 and min(step, top) < HUGE):
            return
        # Coordinates that arrive are set to the bound itself, so that rounding leaves none just beside it.
        for i in range(count):
            k = u8(free[i])
            if way(x[k], d[k], lo[k], hi[k], eps[k]) <= min(step, top):
                x[k] = jump(x[k], d[k], lo[k], hi[k], eps[k])
            else:
                x[k] += min(step, top) * d[k]
        gradient(n, M, r, x, g, terms)
        # The maximum of the face lies before any stop, so it is reached.
        if top < step:
            return


@part
def jump(x, d, lo, hi, eps):
    """Where the derivative jumps next on the way along d."""
    if eps > 0.0 and x * d < 0.0:
        return min(max(0.0, lo), hi)
    return hi if d > 0.0 else lo


@part
def way(x, d, lo, hi, eps):
    """How far it is to there, in steps of d."""
    return (jump(x, d, lo, hi, eps) - x) / d if d != 0.0 else np.inf


@part
def gradient(n, M, r, x, g, terms):
    """g = r − M x, and the sizes of the terms in each."""
    for k in range(n):
        total, size = 0.0, 0.0
        for j in range(n):
            v = M[k * n + j] * x[j]
            total += v
            size += abs(v)
        g[k] = r[k] - total
        terms[k] = size + abs(r[k])


@part
def violation(n, x, g, lo, hi, eps, terms):
    """The largest derivative in a direction that is free and goes up, relative to the terms that it is made of."""
    worst = 0.0
    for k in range(n):
        # May x_k still go up, and does that raise the objective? At 0 the kink costs ε.
        if x[k] < hi[k] and g[k] > (eps[k] if x[k] >= 0.0 else -eps[k]):
            worst = max(worst, (g[k] - (eps[k] if x[k] >= 0.0 else -eps[k])) / terms[k])
        # And the same for going down.
        if x[k] > lo[k] and g[k] < (eps[k] if x[k] > 0.0 else -eps[k]):
            worst = max(worst, ((eps[k] if x[k] > 0.0 else -eps[k]) - g[k]) / terms[k])
    return worst


@part
def box_qp(n, G, ridge, r, eps, lo, hi, beta, work):
    """Write the solution into ``beta``; the largest violation of the conditions, relative to their terms.

    All but ``n`` are float64 arrays, of which the first n entries (n rows and columns of G) are read; lo ≤ 0 ≤ hi.
    ``work`` has room for ``qp_room(n)`` numbers.
    """
    # Views of one work space: the solver allocates nothing.
    n = u8(n)
    square = n * n
    M, L = work[:square], work[square : u8(2) * square]
    rest = work[u8(2) * square :]
    scale, aim, x, g, low = rest[:n], rest[n:], rest[u8(2) * n :], rest[u8(3) * n :], rest[u8(4) * n :]
    high, bar, free, left = rest[u8(5) * n :], rest[u8(6) * n :], rest[u8(7) * n :], rest[u8(8) * n :]
    slope, d, terms = rest[u8(9) * n :], rest[u8(10) * n :], rest[u8(11) * n :]
    scaled(n, G, ridge, M, scale)
    # The largest aim becomes the unit, so that tolerances and the largest bound mean the same for every problem.
    unit = 0.0
    for k in range(n):
        aim[k] = min(max(r[k] * scale[k], -HUGE), HUGE)
        unit = max(unit, abs(aim[k]))
    unit = unit if unit > 0.0 else 1.0
    for k in range(n):  # in units in which the largest aim is 1
        aim[k] /= unit
        x[k], g[k], terms[k] = 0.0, aim[k], abs(aim[k])
        low[k], high[k], bar[k] = 0.0, 0.0, 0.0
        # Coordinates without a diagonal keep both bounds at 0, and so stay at 0.
        if scale[k] > 0.0:
            bar[k] = eps[k] * scale[k] / unit
            low[k] = max(lo[k] / scale[k] / unit, -LARGEST_MULTIPLIER)
            high[k] = min(hi[k] / scale[k] / unit, LARGEST_MULTIPLIER)
    worst = violation(n, x, g, low, high, bar, terms)
    last = np.inf
    for _ in range(QP_ROUNDS):
        # Good enough, or as good as it gets: the last round did not even halve it.
        if worst <= TARGET_RESIDUAL or (worst <= ENOUGH_RESIDUAL and worst > 0.5 * last):
            break
        # Cheap sweeps find the face, then one exact solve finds its maximum.
        for _ in range(QP_SWEEPS):
            if not ascend(n, M, x, g, low, high, bar):
                break
        climb(n, M, aim, x, g, low, high, bar, L, free, left, slope, d, terms)
        last = worst
        # Computed anew: the updates of the sweeps have rounded each time.
        gradient(n, M, aim, x, g, terms)
        worst = violation(n, x, g, low, high, bar, terms)
    # Back to the units of the caller.
    for k in range(n):
        beta[k] = min(max(x[k] * unit * scale[k], lo[k], -HUGE), hi[k], HUGE)
        if x[k] != 0.0 and (x[k] == high[k] < LARGEST_MULTIPLIER or x[k] == low[k] > -LARGEST_MULTIPLIER):
            beta[k] = min(hi[k], HUGE) if x[k] > 0.0 else max(lo[k], -HUGE)  # the bound itself, not rounded twice
    return worst


@part
def ridge_solve(n, G, ridge, r, beta, work):
    """Write the solution of (G + diag ρ)β = r into ``beta``; arguments as those of ``box_qp``.

    By Cholesky, or, where that would divide by next to nothing, by the pseudo-inverse: with H = R^{-½} G R^{-½} and
    R = diag ρ / max ρ, coordinates of R^{½}β along eigenvectors that H does not tell from null ones are 0. Those would
    not move the weights, since Σ β_k x̃_k is 0 along them.
    """
    n = u8(n)
    square = n * n
    M, L = work[:square], work[square : u8(2) * square]
    rest = work[u8(2) * square :]
    scale, aim, x, g = rest[:n], rest[n:], rest[u8(2) * n :], rest[u8(3) * n :]
    free, left, terms = rest[u8(4) * n :], rest[u8(5) * n :], rest[u8(6) * n :]
    # No bounds: a single system of equations, scaled like that of ``box_qp``.
    scaled(n, G, ridge, M, scale)
    count = u8(0)
    for k in range(n):
        aim[k] = min(max(r[k] * scale[k], -HUGE), HUGE)
        x[k] = 0.0
        beta[k] = 0.0
        if scale[k] > 0.0:
            free[count] = k
            count += u8(1)
    rank = factor(n, M, free, count, L, left)
    # Nearly singular: a division by the last pivot would return rounding errors as coefficients.
    if rank < count or (count > u8(0) and L[u8(free[count - u8(1)]) * n + count - u8(1)] ** 2 < DISTINCT):
        pseudo_solve(n, G, ridge, r, beta, M, L, scale, x)
        return
    for _ in range(2):  # once, and once more for the last digits
        # The residual; the second round solves for what rounding left of it (iterative refinement).
        gradient(n, M, aim, x, g, terms)
        for p in range(count):
            k = u8(free[p])
            for t in range(p):
                g[k] -= L[k * n + t] * g[u8(free[t])]
            g[k] /= L[k * n + p]
        back(n, L, free, count, g)
        for p in range(count):
            x[u8(free[p])] += g[u8(free[p])]
    for k in range(n):
        beta[k] = min(max(x[k] * scale[k], -HUGE), HUGE)
