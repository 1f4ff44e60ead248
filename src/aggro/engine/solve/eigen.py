"""Systems of equations that are singular, or nearly so, by eigenvectors."""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import part
from aggro.engine.limits import HUGE

u8 = np.uint64
JACOBI_SWEEPS = 25


@part
def pseudo_solve(n, G, ridge, r, beta, H, V, root, values):
    """Solve (G + diag ρ)β = r in what G tells from nothing; see ``engine.solve.box_qp.ridge_solve``.

    The eigenvectors V of H are found by Jacobi's rotations. ``root`` is 0 for coordinates to leave out.
    """
    # R^{-½} with R = diag ρ/max ρ: in these coordinates the ridge is the same number for all, so it only shifts
    # the eigenvalues of H.
    top = 0.0
    for k in range(n):
        if root[k] > 0.0:
            top = max(top, ridge[k])
    for k in range(n):
        root[k] = np.sqrt(top / ridge[k]) if root[k] > 0.0 and ridge[k] > 0.0 else 0.0
    for k in range(n):
        for j in range(n):
            # V begins as the identity and collects the rotations.
            H[k * n + j] = G[k, j] * root[k] * root[j]
            V[k * n + j] = 1.0 if k == j else 0.0
    for _ in range(JACOBI_SWEEPS):
        if not rotate(n, H, V):
            break
    # After the rotations the diagonal of H holds the eigenvalues.
    most = 0.0
    for p in range(n):
        most = max(most, H[p * n + p])
    for p in range(n):
        values[p] = 0.0
        # Smaller eigenvalues cannot be told from 0: their directions do not move the weights, and get 0.
        if H[p * n + p] > 4e-15 * n * most:
            for k in range(n):
                values[p] += V[k * n + p] * root[k] * r[k]
            # (H + max ρ)γ = R^{-½} r along this eigenvector.
            values[p] /= H[p * n + p] + top
    for k in range(n):
        total = 0.0
        for p in range(n):
            total += V[k * n + p] * values[p]
        beta[k] = min(max(total * root[k], -HUGE), HUGE)


@part
def rotate(n, H, V):
    """One round of Jacobi's rotations; whether there was anything to rotate."""
    rotated = False
    for p in range(n):
        for q in range(p + u8(1), n):
            off = H[p * n + q]
            # Too small to change the diagonal: there is nothing to rotate for this pair.
            if abs(off) <= 1e-17 * np.sqrt(abs(H[p * n + p] * H[q * n + q])) or off == 0.0:
                continue
            rotated = True
            # cot 2φ of the rotation that makes this entry 0; the smaller of both angles keeps the rounding small.
            half = (H[q * n + q] - H[p * n + p]) / (2.0 * off)
            t = 1.0 / (abs(half) + np.hypot(half, 1.0))
            t = t if half >= 0.0 else -t
            c = 1.0 / np.hypot(t, 1.0)
            s = t * c
            # H ← JᵀHJ, columns first and then rows; V ← VJ.
            for k in range(n):
                a, b = H[k * n + p], H[k * n + q]
                H[k * n + p], H[k * n + q] = c * a - s * b, s * a + c * b
            for k in range(n):
                a, b = H[p * n + k], H[q * n + k]
                H[p * n + k], H[q * n + k] = c * a - s * b, s * a + c * b
            for k in range(n):
                a, b = V[k * n + p], V[k * n + q]
                V[k * n + p], V[k * n + q] = c * a - s * b, s * a + c * b
            # Exactly 0, and not what rounding leaves.
            H[p * n + q] = H[q * n + p] = 0.0
    return rotated
