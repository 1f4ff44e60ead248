"""Maps of rows, literally: one row after another, with what NumPy has for it."""

from __future__ import annotations

import math

import numpy as np

from aggro.engine.prepare.feature_maps.nystroem import NEW_LANDMARK_RESIDUAL
from aggro.engine.prepare.feature_maps.parts import MULTIPLES, WARM

WORD = 2**64


def bits(seed, counter):
    """SplitMix64 (Steele, Lea and Flood, 2014)."""
    z = (seed + (counter + 1) * 0x9E3779B97F4A7C15) % WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % WORD
    return z ^ (z >> 31)


def uniform(seed, counter):
    return (bits(seed, counter) >> 11) / 2.0**53


def frequencies(seed, number, m, several):
    """Normal numbers of the feature that came after so many, of variance 1, or of those of several γ in turns."""
    own = bits(seed, number)
    drawn = [
        math.sqrt(-2.0 * math.log(1.0 - uniform(own, 2 * c))) * math.cos(2.0 * math.pi * uniform(own, 2 * c + 1))
        for c in range(m)
    ]
    return np.array(drawn) * np.sqrt(np.resize(MULTIPLES, m) if several else 1.0)


def known_parts(X, S=None):
    """Rows, or those rows scaled, without the features that they are the first to have; the first row has all."""
    first = next(iter(np.flatnonzero(X.any(axis=1))), 0)
    met = X[first] != 0.0
    rows = []
    for x, s in zip(X, X if S is None else S, strict=True):
        rows.append(np.where(met, s, 0.0))
        met |= x != 0.0
    return np.array(rows)


def numbers(X):
    """How many features came before each; those of one row in the order of their columns."""
    order = []
    for x in X:
        order += [j for j in np.flatnonzero(x) if j not in order]
    return [order.index(j) for j in range(X.shape[1])]


def gammas(X, given):
    """γ of each row: given, or 1 over the mean ‖x‖² so far, up to WARM rows."""
    if given is not None:
        return np.full(len(X), given)
    means = [np.mean(np.sum(X[: min(t + 1, WARM)] ** 2, axis=1)) for t in range(len(X))]
    return np.array([1.0 / mean if mean > 0.0 else 0.0 for mean in means])


def fourier(X, n_components, gamma=None, seed=0, S=None):
    """Random Fourier features of rows, or of those rows scaled, in order."""
    m = (n_components + 1) // 2
    table = np.array([frequencies(seed, number, m, gamma is None) for number in numbers(X)])
    X = known_parts(X, S)
    phases = X @ table * np.sqrt(2.0 * gammas(X, gamma))[:, None]
    return np.hstack([np.cos(phases), np.sin(phases)]) / math.sqrt(m)


def rbf(gamma, A, B):
    return np.exp(-gamma * np.sum((A[:, None] - B[None]) ** 2, axis=2))


def nystroem(X, n_components, gamma=None, wait=WARM, S=None):
    """Nyström features of rows, or of those rows scaled, in order, and the landmarks."""
    X = known_parts(X, S)
    Z, landmarks = np.zeros((len(X), n_components)), np.zeros((0, X.shape[1]))
    for t, (x, g) in enumerate(zip(X, gammas(X, gamma), strict=True)):
        n, z = len(landmarks), np.zeros(0)
        if n:
            L = np.linalg.cholesky(rbf(g, landmarks, landmarks))
            z = np.linalg.solve(L, rbf(g, landmarks, x[None])[:, 0])
        left = 1.0 - z @ z
        if t + 1 >= wait and n < n_components and left > NEW_LANDMARK_RESIDUAL and g > 0.0:
            landmarks, z = np.vstack([landmarks, x]), np.append(z, math.sqrt(left))
        Z[t, : len(z)] = z
    return Z, landmarks
