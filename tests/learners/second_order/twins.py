"""Second-order learners row by row with whole matrices, as their papers write them, and the problems they solve."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np


def steps(method, m, v, phi=0.0, r=1.0, C=1.0):
    """μ moves by α y Σx, Σ⁻¹ by κ xx', Σ by −β Σx(Σx)', as the papers have them; None for a row that is passed over."""
    if method in ("arow", "number"):
        gap = 1.0 - m if method == "arow" else -m
        return (gap / (v + r), 1.0 / r, 1.0 / (v + r)) if gap > 0.0 or method == "number" else None
    if method == "variance":
        if m >= phi * v:
            return None
        root = math.sqrt((1 + 2 * phi * m) ** 2 - 8 * phi * (m - phi * v))
        alpha = (-(1 + 2 * phi * m) + root) / (4 * phi * v)
        return alpha, 2 * alpha * phi, 2 * alpha * phi / (1 + 2 * alpha * phi * v)
    if m >= phi * math.sqrt(v):
        return None
    psi, zeta = 1 + phi**2 / 2, 1 + phi**2
    if method == "scw2":
        n = v + 1 / (2 * C)
        gamma = phi * math.sqrt(phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2))
        alpha = max(0.0, (-(2 * m * n + phi**2 * m * v) + gamma) / (2 * (n**2 + n * v * phi**2)))
    else:
        alpha = max(0.0, (-m * psi + math.sqrt(m**2 * phi**4 / 4 + v * phi**2 * zeta)) / (v * zeta))
    if method == "scw1":
        alpha = min(C, alpha)
    # √u = (−αvφ + √(α²v²φ² + 4v))/2, written so that nothing is lost where the two are nearly the same
    root = 2 * v / (alpha * v * phi + math.sqrt(alpha**2 * v**2 * phi**2 + 4 * v))
    return alpha, alpha * phi / root, alpha * phi / (root + v * alpha * phi)


class Twin:
    """One belief, about the weights of rows that have the constant feature already."""

    def __init__(self, method, width, full=False, eta=0.8, r=1.0, C=1.0):
        self.method, self.full = method, full
        self.phi, self.r, self.C = NormalDist().inv_cdf(eta), r, C
        self.mean, self.covariance = np.zeros(width), np.eye(width)

    def learn(self, x, y, s=1.0):
        """A row with y = ±1, or with a number."""
        f, v = float(self.mean @ x), float(x @ self.covariance @ x)
        if self.method == "number":
            y, m = (1.0 if y >= f else -1.0), -abs(y - f)
        else:
            m = y * f
        if v == 0.0:
            return
        found = steps(self.method, m, v, self.phi, self.r / s, self.C * s)
        if found is None:
            return
        alpha, kappa, beta = found
        step = self.covariance @ x
        self.mean = self.mean + alpha * y * step
        if self.full:
            self.covariance = self.covariance - beta * np.outer(step, step)
        else:  # the diagonal of the inverse is kept
            self.covariance = np.diag(1.0 / (1.0 / np.diag(self.covariance) + kappa * x**2))

    def deviation(self, x):
        return math.sqrt(float(x @ self.covariance @ x))


def with_ones(X, intercept=True):
    return np.hstack([X, np.ones((len(X), 1))]) if intercept else np.asarray(X)


def learn_classes(method, X, codes, full=False, **settings):
    """One belief a class, against the rest, for classes as they appear; two share one until the third comes."""
    twins: list[Twin] = []
    for x, c in zip(X, codes, strict=True):
        if len(twins) == 0:
            twins = [Twin(method, X.shape[1], full, **settings)]
        if c >= 2 and len(twins) == 1:
            first = Twin(method, X.shape[1], full, **settings)
            first.mean, first.covariance = -twins[0].mean, twins[0].covariance.copy()
            twins = [first, twins[0]]
        while c >= 2 and len(twins) <= c:
            twins.append(Twin(method, X.shape[1], full, **settings))
        if len(twins) == 1:
            twins[0].learn(x, 2.0 * c - 1.0)
        else:
            for k, twin in enumerate(twins):
                twin.learn(x, 1.0 if k == c else -1.0)
    return twins


def divergence(mean, covariance, before, covariance_before):
    """D(N(mean, covariance)‖N(before, covariance_before))."""
    inverse = np.linalg.inv(covariance_before)
    gap = before - mean
    logs = np.linalg.slogdet(covariance_before)[1] - np.linalg.slogdet(covariance)[1]
    return 0.5 * (logs + np.trace(inverse @ covariance) + gap @ inverse @ gap - len(mean))


def cost(method, mean, covariance, x, y, phi=0.0, r=1.0, C=1.0):
    """What a row adds to the divergence in the problem of a soft method."""
    f, v = float(mean @ x), float(x @ covariance @ x)
    if method == "arow":
        return (max(0.0, 1.0 - y * f) ** 2 + v) / (2 * r)
    if method == "number":
        return ((y - f) ** 2 + v) / (2 * r)
    loss = max(0.0, phi * math.sqrt(v) - y * f)
    return C * (loss if method == "scw1" else loss**2)
