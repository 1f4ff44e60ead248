"""The problems of ``engine.solve.box_qp`` in numbers of twice the digits, for groups whose matrix a float cannot hold.

Rows beside a large, nearly constant column (a date, a time) have products that differ in digits which a float does not
have: with x = (…, 1e8 + …) the entries of G are 1e16, and what tells the rows from each other is about 1. The solution
has coefficients of the size of C that cancel: Σβ_k x_k is a billionth of its terms. So G, β and all between them
are pairs of floats (``engine.solve.double_floats``). With u = 1e-32, the β found are the solution for G + E, |E| ≤ n u
|G|, and scores after the move are off by Eβ: at 1e8, with β about 1, by some 1e-16.

How: as in ``engine.solve.box_qp``. Scales are powers of two, so that they cost no digit. A step to the top of a face
is a Newton step, whose length is 1; so only steps that end at a bound have a length to compute.
"""

from __future__ import annotations

from math import frexp, ldexp

import numpy as np

from aggro.engine.jit.compile import allocating, exact, exact_part
from aggro.engine.solve.box_qp import HUGE, jump
from aggro.engine.solve.double_floats import less, over, pair, plus, root, times

u8 = np.uint64

ROUNDS = 200
SWEEPS = 5
TARGET = 1e-30  # of a violation, relative to the largest sum of terms in its condition
ENOUGH = 1e-13  # of a violation, relative to the largest r, if no round makes it better
FLAT = 1e-29  # a pivot below this, of a matrix whose diagonal is about 1, is 0
FAR = 1e30
ROUNDING = 1e-30


@exact
def power(value):
    """The power of two just below a positive number, as an exponent."""
    return frexp(value)[1] - 1


@exact_part
def scaled(n, G, ridge, M, scale):
    """M = S(G + diag ρ)S with a diagonal between 1 and 4; S, powers of two, or 0 where there is no such number."""
    for k in range(n):
        diagonal = G[k, k, 0] + ridge[k]
        scale[k] = ldexp(1.0, -(power(diagonal) // 2)) if 1.0 / HUGE < diagonal < HUGE else 0.0
    for k in range(n):
        for j in range(n):
            for part in range(2):
                M[k, j, part] = G[k, j, part] * scale[k] * scale[j]
        put(M[k], k, plus(at(M[k], k), pair(ridge[k] * scale[k] * scale[k])) if scale[k] > 0.0 else pair(1.0))


@exact
def at(a, k):
    """The pair number k."""
    return a[k, 0], a[k, 1]


@exact
def put(a, k, value):
    """Write the pair number k."""
    a[k, 0], a[k, 1] = value


@exact
def above(a, bound):
    """Whether a pair is above a float."""
    return a[0] > bound or (a[0] == bound and a[1] > 0.0)


@exact
def below(a, bound):
    """Whether a pair is below a float."""
    return a[0] < bound or (a[0] == bound and a[1] < 0.0)


@exact
def inside(a, lo, hi):
    """A pair, or the bound that it is beyond."""
    return pair(hi) if not below(a, hi) else pair(lo) if not above(a, lo) else a


@exact
def stops(x, lo, hi, eps):
    """Whether a coordinate is where its derivative jumps."""
    return not above(x, lo) or not below(x, hi) or (x[0] == 0.0 and eps > 0.0)


@exact_part
def gradient(n, M, r, x, g, terms):
    """g = r − M x, and the sizes of the terms in each."""
    for k in range(n):
        total, size = at(r, k), abs(r[k, 0])
        for j in range(n):
            v = times(at(M[k], j), at(x, j))
            total = less(total, v)
            size += abs(v[0])
        put(g, k, total)
        terms[k] = size


@exact_part
def ascend(n, M, x, g, lo, hi, eps):
    """One sweep of coordinate ascent; whether a coordinate came to a bound or to 0, or left one."""
    changed = False
    for k in range(n):
        own = at(M[k], k)
        best = plus(times(at(x, k), own), at(g, k))
        if above(best, eps[k]):
            best = over(less(best, pair(eps[k])), own)
        elif below(best, -eps[k]):
            best = over(plus(best, pair(eps[k])), own)
        else:
            best = pair(0.0)
        best = inside(best, lo[k], hi[k])
        move = less(best, at(x, k))
        if move[0] != 0.0:
            changed |= stops(best, lo[k], hi[k], eps[k]) or stops(at(x, k), lo[k], hi[k], eps[k])
            put(x, k, best)
            for j in range(n):
                put(g, j, less(at(g, j), times(move, at(M[k], j))))
    return changed


@exact_part
def factor(M, free, count, L, left):
    """Cholesky with the largest pivot first, of the ``free`` coordinates, which are put in that order; the rank."""
    for i in range(count):
        put(left, u8(free[i]), at(M[u8(free[i])], u8(free[i])))
    for p in range(count):
        best = p
        for i in range(p + u8(1), count):
            if left[u8(free[i]), 0] > left[u8(free[best]), 0]:
                best = i
        free[p], free[best] = free[best], free[p]
        k = u8(free[p])
        if not left[k, 0] > FLAT:
            return p
        pivot = root(at(left, k))
        put(L[k], p, pivot)
        for i in range(p + u8(1), count):
            j = u8(free[i])
            v = at(M[j], k)
            for t in range(p):
                v = less(v, times(at(L[j], t), at(L[k], t)))
            v = over(v, pivot)
            put(L[j], p, v)
            put(left, j, less(at(left, j), times(v, v)))
    return count


@exact_part
def back(L, free, rank, d):
    """Solve L₁₁ᵀ d = d for the first ``rank`` of the free coordinates."""
    for i in range(rank):
        p = rank - u8(1) - i
        k = u8(free[p])
        v = at(d, k)
        for t in range(p + u8(1), rank):
            v = less(v, times(at(L[u8(free[t])], p), at(d, u8(free[t]))))
        put(d, k, over(v, at(L[k], p)))


@exact_part
def direction(M, free, count, slope, terms, L, left, d):
    """Where to go on a face: to its top, or along what is linear; whether it is the first."""
    rank = factor(M, free, count, L, left)
    steepest, worst = u8(0), 0.0
    for p in range(count):
        k = u8(free[p])
        v, size = at(slope, k), terms[k]
        for t in range(min(p, rank)):
            term = times(at(L[k], t), at(d, u8(free[t])))
            v = less(v, term)
            size += abs(term[0])
        if p < rank:
            put(d, k, over(v, at(L[k], p)))
        else:
            put(d, k, pair(0.0))
            if abs(v[0]) > max(abs(worst), ROUNDING * size):
                steepest, worst = k, v[0]
    if worst != 0.0:
        sign = 1.0 if worst > 0.0 else -1.0
        for p in range(rank):
            put(d, u8(free[p]), (-sign * L[steepest, p, 0], -sign * L[steepest, p, 1]))
        put(d, steepest, pair(sign))
    back(L, free, rank, d)
    return worst == 0.0


@exact_part
def climb(n, M, r, x, g, lo, hi, eps, L, free, left, slope, d, terms):
    """To the maximum of the face that x is on, or of one that the way there ends on."""
    for _ in range(n):  # each time but the last, a coordinate comes to a bound
        count = u8(0)
        for k in range(n):
            if not stops(at(x, k), lo[k], hi[k], eps[k]):
                free[count] = k
                count += u8(1)
                put(slope, k, less(at(g, k), pair(eps[k] if x[k, 0] > 0.0 else -eps[k])))
        if count == u8(0):
            return
        whole = direction(M, free, count, slope, terms, L, left, d)
        step = pair(1.0 if whole else FAR * FAR)
        first, end = np.int64(-1), 0.0
        for i in range(count):
            k = u8(free[i])
            if d[k, 0] != 0.0:
                stop = jump(x[k, 0], d[k, 0], lo[k], hi[k], eps[k])
                way = over(less(pair(stop), at(x, k)), at(d, k))
                if less(way, step)[0] <= 0.0:
                    step, first, end = way, np.int64(k), stop
        if first < 0 and not whole:
            return
        for i in range(count):
            k = u8(free[i])
            put(x, k, inside(plus(at(x, k), times(step, at(d, k))), lo[k], hi[k]))
        if first >= 0:
            put(x, u8(first), pair(end))
        gradient(n, M, r, x, g, terms)
        if first < 0:
            return


@exact_part
def violation(n, x, g, lo, hi, eps, terms, share):
    """The largest derivative in a direction that is free and goes up; relative to its terms if ``share``."""
    worst = 0.0
    for k in range(n):
        up = less(at(g, k), pair(eps[k] if x[k, 0] >= 0.0 else -eps[k]))[0] if below(at(x, k), hi[k]) else 0.0
        down = less(pair(eps[k] if x[k, 0] > 0.0 else -eps[k]), at(g, k))[0] if above(at(x, k), lo[k]) else 0.0
        most = max(up, down)
        if most > 0.0:
            worst = max(worst, most / terms[k] if share else most)
    return worst


@allocating
def fine_box_qp(n, G, ridge, r, eps, lo, hi, beta):
    """Write the solution into ``beta``; the largest violation of the conditions, relative to the largest r.

    As ``engine.solve.box_qp.box_qp``, with pairs on the last axis of G (n, n, 2), r and beta (n, 2).
    """
    n = u8(n)
    M, L = np.empty((n, n, 2)), np.empty((n, n, 2))
    aim, x, g, left, slope, d = np.zeros((6, n, 2))
    scale, low, high, bar, free, terms = np.zeros((6, n))
    scaled(n, G, ridge, M, scale)
    most = 0.0
    for k in range(n):
        most = max(most, abs(r[k, 0]) * scale[k])
    unit = ldexp(1.0, power(most)) if 0.0 < most < HUGE else 1.0
    for k in range(n):
        put(aim, k, (r[k, 0] * scale[k] / unit, r[k, 1] * scale[k] / unit))
        if scale[k] > 0.0:
            bar[k] = eps[k] * scale[k] / unit
            low[k] = max(lo[k] / scale[k] / unit, -FAR)
            high[k] = min(hi[k] / scale[k] / unit, FAR)
    gradient(n, M, aim, x, g, terms)
    worst = violation(n, x, g, low, high, bar, terms, False)
    last = np.inf
    for _ in range(ROUNDS):
        if violation(n, x, g, low, high, bar, terms, True) <= TARGET or (worst <= ENOUGH and worst > 0.5 * last):
            break
        for _ in range(SWEEPS):
            if not ascend(n, M, x, g, low, high, bar):
                break
        climb(n, M, aim, x, g, low, high, bar, L, free, left, slope, d, terms)
        last = worst
        gradient(n, M, aim, x, g, terms)
        worst = violation(n, x, g, low, high, bar, terms, False)
    for k in range(n):
        put(beta, k, (x[k, 0] * unit * scale[k], x[k, 1] * unit * scale[k]))
        if x[k, 0] != 0.0 and not (above(at(x, k), low[k]) and below(at(x, k), high[k])) and abs(x[k, 0]) < FAR:
            put(beta, k, pair(hi[k] if x[k, 0] > 0.0 else lo[k]))  # the bound itself, not rounded twice
    return worst


@allocating
def fine_ridge_solve(n, G, ridge, r, beta):
    """Write the solution of (G + diag ρ)β = r into ``beta``; whether there is one, and not many."""
    n = u8(n)
    M, L = np.empty((n, n, 2)), np.empty((n, n, 2))
    aim, x, g, left = np.zeros((4, n, 2))
    scale, free, terms = np.zeros((3, n))
    scaled(n, G, ridge, M, scale)
    count = u8(0)
    for k in range(n):
        put(aim, k, (r[k, 0] * scale[k], r[k, 1] * scale[k]))
        if scale[k] > 0.0:
            free[count] = k
            count += u8(1)
    if factor(M, free, count, L, left) < count:
        return False
    for _ in range(2):  # once, and once more for the last digits
        gradient(n, M, aim, x, g, terms)
        for p in range(count):
            k = u8(free[p])
            v = at(g, k)
            for t in range(p):
                v = less(v, times(at(L[k], t), at(g, u8(free[t]))))
            put(g, k, over(v, at(L[k], p)))
        back(L, free, count, g)
        for p in range(count):
            put(x, u8(free[p]), plus(at(x, u8(free[p])), at(g, u8(free[p]))))
    for k in range(n):
        put(beta, k, (x[k, 0] * scale[k], x[k, 1] * scale[k]))
    return True
