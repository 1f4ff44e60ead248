"""Work on the support vectors themselves, for budgets: the smallest, products of two, and two that become one."""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import exact, exact_part
from aggro.engine.jit.lanes import load, madd, spread, store
from aggro.engine.kernel_functions import kernel_value
from aggro.learners.kernel.scores import gamma_of
from aggro.learners.kernel.support_set import COUNT, GROUP, HEAP, NORM, SELF

__all__ = ["merge_smallest", "move_row", "products_with", "size_of_part", "smallest"]

u8 = np.uint64
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


@exact
def size_of_part(coef, i):
    """Σ_c α_ic²."""
    g, lane = i // u8(GROUP), i % u8(GROUP)
    total = 0.0
    for k in range(u8(coef.shape[1])):
        total += coef[g, k, lane] * coef[g, k, lane]
    return total


@exact_part
def smallest(state):
    """The support vector with the smallest part ‖α_i φ(x_i)‖²."""
    found = 0
    least = np.inf
    for i in range(u8(state.marks[COUNT])):
        size = size_of_part(state.coef, i) * abs(state.norms[i // u8(GROUP), u8(SELF), i % u8(GROUP)])
        if size < least:
            least = size
            found = np.int64(i)
    return found


@exact
def products_with(state, m, g, work):
    """x_m·x_i for the 32 support vectors of a group."""
    if state.dense.shape[1]:
        dense = state.dense
        a = spread(0.0)
        b = spread(0.0)
        c = spread(0.0)
        d = spread(0.0)
        width = u8(dense.shape[1])
        base = g * width * u8(GROUP)
        for j in range(width):
            x = spread(dense[m // u8(GROUP), j, m % u8(GROUP)])
            at = base + j * u8(GROUP)
            a = madd(x, load(dense, at), a)
            b = madd(x, load(dense, at + u8(8)), b)
            c = madd(x, load(dense, at + u8(16)), c)
            d = madd(x, load(dense, at + u8(24)), d)
        store(work, u8(0), a)
        store(work, u8(8), b)
        store(work, u8(16), c)
        store(work, u8(24), d)
        return
    for s in range(u8(GROUP)):
        i = g * u8(GROUP) + s
        work[s] = sparse_product(state, m, i) if i < u8(state.marks[COUNT]) else 0.0


@exact_part
def sparse_product(state, m, n):
    p, stop_p = u8(state.spans[m, 0]), u8(state.spans[m, 0] + state.spans[m, 1])
    r, stop_r = u8(state.spans[n, 0]), u8(state.spans[n, 0] + state.spans[n, 1])
    dot = 0.0
    while p < stop_p and r < stop_r:
        i, j = state.indices[p], state.indices[r]
        if i == j:
            dot += state.values[p] * state.values[r]
        p += u8(1) if i <= j else u8(0)
        r += u8(1) if j <= i else u8(0)
    return dot


@exact
def between(state, params, h, qm, qn, dot):
    """k̃(x_m, z), k̃(x_n, z), k̃(z, z) and ‖z‖² for z = h x_m + (1 − h) x_n."""
    o = 1.0 - h
    zm, zn = h * qm + o * dot, h * dot + o * qn
    zz = max(h * zm + o * zn, 0.0)
    gamma = gamma_of(state, params)
    km = kernel_value(params.kind, gamma, params.coef0, params.degree, zm, zz, qm) + params.bias
    kn = kernel_value(params.kind, gamma, params.coef0, params.degree, zn, zz, qn) + params.bias
    kz = kernel_value(params.kind, gamma, params.coef0, params.degree, zz, zz, zz) + params.bias
    return km, kn, kz, zz


@exact_part
def kept(state, params, h, qm, qn, dot, mm, mn, nn):
    """What a merged row keeps of both parts, ‖their projection onto φ(z)‖²; mm is Σ_c α_mc², mn is Σ_c α_mc α_nc."""
    km, kn, kz, _ = between(state, params, h, qm, qn, dot)
    return (mm * km * km + 2.0 * mn * km * kn + nn * kn * kn) / kz if kz > 0.0 else 0.0


@exact
def product_of_parts(coef, m, n):
    total = 0.0
    for k in range(u8(coef.shape[1])):
        total += coef[m // u8(GROUP), k, m % u8(GROUP)] * coef[n // u8(GROUP), k, n % u8(GROUP)]
    return total


@exact_part
def merge_smallest(state, params, work):
    """Merge the smallest support vector with the one that loses least; the place that it leaves."""
    count = u8(state.marks[COUNT])
    m = u8(smallest(state))
    if count < u8(2):
        return np.int64(m)
    gm, lm = m // u8(GROUP), m % u8(GROUP)
    qm = state.norms[gm, u8(NORM), lm]
    mm = size_of_part(state.coef, m)
    own = mm * state.norms[gm, u8(SELF), lm]
    gamma = gamma_of(state, params)
    best, best_loss, best_dot, best_h = m, np.inf, 0.0, 0.0
    for g in range((count + u8(GROUP - 1)) // u8(GROUP)):
        products_with(state, m, g, work)
        for s in range(u8(GROUP)):
            n = g * u8(GROUP) + s
            if n >= count or n == m:
                continue
            dot, qn = work[s], state.norms[g, u8(NORM), s]
            mn, nn = product_of_parts(state.coef, m, n), size_of_part(state.coef, n)
            k = kernel_value(params.kind, gamma, params.coef0, params.degree, dot, qm, qn) + params.bias
            both = own + 2.0 * mn * k + nn * state.norms[g, u8(SELF), s]
            for step in range(5):
                h = 0.25 * step
                loss = both - kept(state, params, h, qm, qn, dot, mm, mn, nn)
                if loss < best_loss:
                    best, best_loss, best_dot, best_h = n, loss, dot, h
    if best == m:
        return np.int64(m)
    n, dot = best, best_dot
    gn, ln = n // u8(GROUP), n % u8(GROUP)
    qn, mn, nn = state.norms[gn, u8(NORM), ln], product_of_parts(state.coef, m, n), size_of_part(state.coef, n)
    low, high = max(best_h - 0.25, 0.0), min(best_h + 0.25, 1.0)
    for _ in range(16):
        width = (high - low) * GOLDEN
        left, right = high - width, low + width
        at_left = kept(state, params, left, qm, qn, dot, mm, mn, nn)
        if at_left >= kept(state, params, right, qm, qn, dot, mm, mn, nn):
            high = right
        else:
            low = left
    h = np.round(512.0 * (low + high)) / 1024.0
    if kept(state, params, h, qm, qn, dot, mm, mn, nn) <= kept(state, params, best_h, qm, qn, dot, mm, mn, nn):
        h = best_h
    km, kn, kz, zz = between(state, params, h, qm, qn, dot)
    if not kz > 0.0:
        return np.int64(m)
    for k in range(u8(state.coef.shape[1])):
        state.coef[gn, k, ln] = (state.coef[gm, k, lm] * km + state.coef[gn, k, ln] * kn) / kz
    state.norms[gn, u8(SELF), ln] = kz
    state.norms[gn, u8(NORM), ln] = zz
    mix(state, m, n, h)
    return np.int64(m)


@exact_part
def mix(state, m, n, h):
    """x_n ← h x_m + (1 − h) x_n; sparse rows are written to the end of the heap."""
    o = 1.0 - h
    if state.dense.shape[1]:
        gm, lm, gn, ln = m // u8(GROUP), m % u8(GROUP), n // u8(GROUP), n % u8(GROUP)
        for j in range(u8(state.dense.shape[1])):
            state.dense[gn, j, ln] = h * state.dense[gm, j, lm] + o * state.dense[gn, j, ln]
        return
    p, stop_p = u8(state.spans[m, 0]), u8(state.spans[m, 0] + state.spans[m, 1])
    r, stop_r = u8(state.spans[n, 0]), u8(state.spans[n, 0] + state.spans[n, 1])
    used = u8(state.marks[HEAP])
    state.spans[n, 0] = np.int64(used)
    while p < stop_p or r < stop_r:
        i = state.indices[p] if p < stop_p else np.int64(2**62)
        j = state.indices[r] if r < stop_r else np.int64(2**62)
        value = 0.0
        if i <= j:
            value += h * state.values[p]
            p += u8(1)
        if j <= i:
            value += o * state.values[r]
            r += u8(1)
        state.indices[used] = min(i, j)
        state.values[used] = value
        used += u8(1)
    state.spans[n, 1] = np.int64(used) - state.spans[n, 0]
    state.marks[HEAP] = np.int64(used)


@exact_part
def move_row(state, source, to):
    """A support vector at another place; its own is free."""
    gs, ls, g, lane = source // u8(GROUP), source % u8(GROUP), to // u8(GROUP), to % u8(GROUP)
    for j in range(u8(state.dense.shape[1])):
        state.dense[g, j, lane] = state.dense[gs, j, ls]
        state.dense[gs, j, ls] = 0.0
    for k in range(u8(2)):
        state.norms[g, k, lane] = state.norms[gs, k, ls]
        state.norms[gs, k, ls] = 0.0
    for k in range(u8(state.coef.shape[1])):
        state.coef[g, k, lane] = state.coef[gs, k, ls]
        state.coef[gs, k, ls] = 0.0
        if state.late.shape[0]:
            state.late[g, k, lane] = state.late[gs, k, ls]
            state.late[gs, k, ls] = 0.0
    state.born[to], state.column[to] = state.born[source], state.column[source]
    state.born[source], state.column[source] = 0, 0
    if state.spans.shape[0]:
        state.spans[to, 0], state.spans[to, 1] = state.spans[source, 0], state.spans[source, 1]
        state.spans[source, 0], state.spans[source, 1] = 0, 0
