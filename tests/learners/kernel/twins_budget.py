"""Literal slow twins of the kernel learners with a budget: the papers' pseudo-code over an explicit kernel matrix.

Coefficients are (rows, scores); y is ±1, or the number of the class of several, one against the rest. ``scores`` gives
the scores of a row, and ``learn`` learns it.
"""

from __future__ import annotations

import numpy as np
from learners.kernel.twins import KernelTwin, bits
from scipy.optimize import brentq, minimize_scalar

RIDGE = 1e-5


def uniform(seed, counter):
    return (bits(seed, counter) >> 11) / 2**53


class BudgetTwin:
    """A list of rows, their coefficients, and a kernel."""

    def __init__(self, k, columns=1, *, budget=9, bias=0.0, seed=0, **settings):
        self.k = lambda x, z: k(x, z) + bias
        self.columns, self.budget, self.seed = columns, budget, seed
        self.rows, self.coef, self.born = [], np.zeros((0, columns)), []
        self.total = None  # the sum of the iterates, which a budget treats as it treats the last: see ``mean_scores``
        self.seen = self.updates = 0
        self.__dict__.update(settings)

    def values(self, x):
        return np.array([self.k(row, x) for row in self.rows])

    def gram(self):
        return np.array([[self.k(a, b) for b in self.rows] for a in self.rows])

    def scores(self, x):
        return self.values(x) @ self.coef if self.rows else np.zeros(self.columns)

    def signs(self, y):
        return np.array([float(y)]) if self.columns == 1 else np.where(np.arange(self.columns) == y, 1.0, -1.0)

    def add(self, x, coef):
        self.rows.append(x)
        self.coef = np.vstack([self.coef, coef])
        self.born.append(self.seen)

    def remove(self, r):
        """The last takes the place that is free."""
        self.rows[r], self.coef[r], self.born[r] = self.rows[-1], self.coef[-1], self.born[-1]
        self.rows.pop(), self.born.pop()
        self.coef = self.coef[:-1].copy()

    def replace(self, r, x, coef):
        self.rows[r], self.coef[r], self.born[r] = x, coef, self.seen

    def learn(self, x, y, weight=1.0):
        f = self.scores(x)
        self.updates += bool(self.step(x, self.signs(y), f, weight))
        self.seen += 1
        return f


class BPASTwin(BudgetTwin):
    """Every r is tried: the best coefficient of the new row by a search over the problem itself, then the least."""

    C = 1.0

    def objective(self, beta, r, c, sign, k_r, q, f, C):
        """½‖f′ − f‖² + C ℓ(f′) of one score, if r goes and the new row enters with β."""
        a, k_rr = self.coef[r, c], self.k(self.rows[r], self.rows[r])
        change = a * a * k_rr - 2 * a * beta * k_r + beta * beta * q
        return 0.5 * change + C * max(0.0, 1.0 - sign * (f - a * k_r + beta * q))

    def best(self, r, c, sign, k_r, q, f, C):
        far = abs(self.coef[r, c] * k_r / q) + C + 1.0
        found = minimize_scalar(
            self.objective, bounds=(-far, far), args=(r, c, sign, k_r, q, f, C), options={"xatol": 1e-12}
        )
        return found.x, found.fun

    def step(self, x, signs, f, weight):
        q, C = self.k(x, x), self.C * weight
        losses = np.maximum(1.0 - signs * f, 0.0)
        if not losses.any():
            return False
        taus = signs * np.minimum(C, losses / q)
        if len(self.rows) < self.budget:
            self.add(x, taus)
            return True
        k = self.values(x)
        ways = [[self.best(r, c, signs[c], k[r], q, f[c], C) for c in range(self.columns)] for r in range(self.budget)]
        r = int(np.argmin([sum(cost for _, cost in way) for way in ways]))
        self.searched = np.array([beta for beta, _ in ways[r]])
        self.replace(r, x, self.coef[r] * k[r] / q + taus)
        return True


class BOGDTwin(BudgetTwin):
    eta, lam, bound, sampling = 0.2, 0.01, 10.0, "uniform"

    def chances(self):
        """p_i: the chance of each to be let go of."""
        if self.sampling == "uniform":
            return np.full(self.budget, 1.0 / self.budget)
        n = np.abs(self.coef).sum(axis=1) * np.sqrt([self.k(x, x) for x in self.rows])
        # 1 − p_i = min(1, c n_i), with c so that the p_i sum to 1
        c = brentq(lambda c: np.minimum(c * n, 1.0).sum() - (self.budget - 1), 0.0, 1e6 / n.min(), xtol=1e-14)
        return 1.0 - np.minimum(c * n, 1.0)

    def step(self, x, signs, f, weight):
        learned = signs * f < 1.0
        if learned.any():
            if len(self.rows) == self.budget:
                p = self.chances()
                r = bits(self.seed, self.seen) % self.budget
                if self.sampling == "weighted":
                    r = int(np.flatnonzero(np.cumsum(p) > uniform(self.seed, self.seen))[0])
                others = np.arange(self.budget) != r
                self.coef[others] = (1.0 - self.eta * self.lam) * self.coef[others] / (1.0 - p[others, None])
                self.replace(r, x, self.eta * weight * signs * learned)
            else:
                self.coef *= 1.0 - self.eta * self.lam
                self.add(x, self.eta * weight * signs * learned)
            self.coef = np.sign(self.coef) * np.minimum(np.abs(self.coef), self.bound * self.eta)
        else:
            self.coef *= 1.0 - self.eta * self.lam
        return learned.any()


class BSGDTwin(BudgetTwin):
    lam, policy = 0.01, "merge"

    def step(self, x, signs, f, weight):
        t = self.seen + 1
        self.coef = self.coef * (1.0 - 1.0 / t)
        learned = signs * f < 1.0
        if not learned.any():
            return False
        self.add(x, weight * signs * learned / (self.lam * t))
        if len(self.rows) > self.budget:
            getattr(self, self.policy)()
        return True

    def smallest(self):
        """Among equals the oldest."""
        sizes = np.array([a @ a * self.k(x, x) for x, a in zip(self.rows, self.coef, strict=True)])
        return min(np.flatnonzero(sizes <= sizes.min() * (1.0 + 1e-9)), key=lambda i: self.born[i])

    def remove_smallest(self):
        self.remove(self.smallest())

    def project(self):
        """Leave out each of all in turn; the one with the least loss goes, and its part is shared by least squares."""
        K = self.gram()
        K += RIDGE * np.diag(np.diag(K))
        ways = []
        for r in [len(self.rows) - 1, *range(len(self.rows) - 1)]:
            others = [j for j in range(len(self.rows)) if j != r]
            along = np.linalg.solve(K[np.ix_(others, others)], K[others, r])
            ways.append((self.coef[r] @ self.coef[r] * (K[r, r] - along @ K[others, r]), r, others, along))
        _, r, others, along = min(ways, key=lambda way: way[0])
        self.coef[others] += np.outer(along, self.coef[r])
        self.remove(r)

    def merge(self):
        """The smallest, and the partner and point between them that lose least: as KernelPAClassifier merges."""
        plain = KernelTwin(self.k, budget=self.budget, policy="merge")
        plain.rows, plain.coef, plain.born = self.rows, list(self.coef), self.born
        plain.lag = [np.zeros(self.columns) for _ in self.rows]
        m = plain.merge()
        self.rows, self.coef = plain.rows, np.array(plain.coef)
        self.remove(m)


class RandomTwin(BudgetTwin):
    def step(self, x, signs, f, weight):
        wrong = signs * f <= 0.0
        if wrong.any():
            if len(self.rows) < self.budget:
                self.add(x, weight * signs * wrong)
            else:
                self.replace(bits(self.seed, self.seen) % self.budget, x, weight * signs * wrong)
        return wrong.any()


class ForgetronTwin(BudgetTwin):
    """Q and M are the sums on both sides; the largest φ is found by looking for it."""

    Q = M = 0.0

    def psi(self, phi, r):
        total = 0.0
        for c in range(self.columns):
            sigma, mu = abs(self.coef[r, c]), np.sign(self.coef[r, c]) * self.scores(self.rows[r])[c]
            total += (sigma * phi) ** 2 + 2.0 * sigma * phi * (1.0 - phi * mu)
        return total

    def step(self, x, signs, f, weight):
        wrong = signs * f <= 0.0
        if not wrong.any():
            return False
        self.add(x, weight * signs * wrong)
        self.M += wrong.sum() * weight * max(2.0 - weight, 0.0)
        if len(self.rows) > self.budget:
            r = int(np.argmin(self.born))

            def over(phi):
                return self.Q + self.psi(phi, r) - 15.0 / 32.0 * self.M

            phi = 1.0
            if over(1.0) > 0.0:
                grid = np.linspace(0.0, 1.0, 2001)
                last = max(g for g in grid if over(g) <= 0.0)
                phi = brentq(over, last, min(last + 1.0 / 2000.0, 1.0), xtol=1e-15)
            self.Q += self.psi(phi, r)
            self.coef = phi * self.coef
            self.remove(r)
        return True


class ProjectronTwin(BudgetTwin):
    eta, plus = 0.1, False

    def step(self, x, signs, f, weight):
        q, margins = self.k(x, x), signs * f
        wrong, near = margins <= 0.0, (margins > 0.0) & (margins < 1.0) & self.plus
        if not (wrong | near).any():
            return False
        k, d = self.values(x), np.zeros(0)
        if self.rows:
            K = self.gram()
            d = np.linalg.solve(K + RIDGE * np.diag(np.diag(K)), k)
        norm = k @ d if self.rows else 0.0
        delta = np.sqrt(q + RIDGE * q - norm)
        moved = False
        enters = wrong.any() and delta > self.eta and len(self.rows) < self.budget
        for c in range(self.columns):
            tau = 0.0
            if wrong[c] and not enters:
                tau = weight
            elif near[c] and 1.0 - margins[c] > delta / self.eta and norm > 0.0:
                loss = 1.0 - margins[c]
                tau = min(loss / norm, 2.0 * (loss - delta / self.eta) / norm, weight)
            if tau and self.rows:
                self.coef[:, c] += tau * signs[c] * d
                moved = True
        if enters:
            self.add(x, weight * signs * wrong)
        return moved or enters
