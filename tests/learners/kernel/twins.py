"""A literal slow twin of the kernel learners: lists of rows and coefficients, every kernel value computed anew."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar


def bits(seed, counter):
    """64 random bits for a seed and a counter: SplitMix64."""
    z, mask = seed + (counter + 1) * 0x9E3779B97F4A7C15, 2**64 - 1
    z = ((z & mask) ^ ((z & mask) >> 30)) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
    return z ^ (z >> 31)


def kernel(name, gamma=1.0, coef0=0.0, degree=3):
    """k(x, z) of two rows."""
    return {
        "linear": lambda x, z: x @ z,
        "poly": lambda x, z: (gamma * (x @ z) + coef0) ** degree,
        "rbf": lambda x, z: np.exp(-gamma * ((x - z) @ (x - z))),
        "sigmoid": lambda x, z: np.tanh(gamma * (x @ z) + coef0),
        "cosine": lambda x, z: x @ z / (np.linalg.norm(x) * np.linalg.norm(z)) if x.any() and z.any() else 0.0,
    }[name]


def step_size(step, loss, q, C):
    return {"pa": loss / q, "pa1": min(C, loss / q)}.get(step, loss / (q + 1 / (2 * C)))


class KernelTwin:
    """Scores f_c(x) = Σ α_ic k̃(x_i, x); ``problems`` turns a target into (sign, gap before the hinge) of each score."""

    def __init__(self, k, *, step="pa1", C=1.0, edge=1.0, bias=0.0, budget=None, policy=None, seed=0, regression=False):
        self.k = lambda x, z: k(x, z) + bias
        self.step, self.C, self.edge, self.regression = step, C, edge, regression
        self.budget, self.policy, self.seed = budget, policy, seed
        self.rows, self.coef, self.born = [], [], []
        self.iterates = []  # of the average: (rows, coefficients) after each row
        self.seen = self.updates = self.mistakes = 0
        self.known = set()  # classes

    def scores(self, x, columns=1):
        f = np.zeros(columns)
        for row, a in zip(self.rows, self.coef, strict=True):
            f += a * self.k(row, x)
        return f

    def mean_scores(self, x, columns=1):
        """The mean of the scores of all iterates."""
        total = np.zeros(columns)
        for rows, coef in self.iterates:
            for row, a in zip(rows, coef, strict=True):
                total += a * self.k(row, x)
        return total / max(len(self.iterates), 1)

    def learn(self, x, y, weight=1.0, columns=1):
        """y is a number, or ±1, or the number of the class of several."""
        f, q = self.scores(x, columns), self.k(x, x)
        if self.regression:
            signs = np.where(y >= f, 1.0, -1.0)
            gaps = np.abs(y - f) - (0.0 if self.step == "ls" else self.edge)
        else:
            signs = np.array([y]) if columns == 1 else np.where(np.arange(columns) == y, 1.0, -1.0)
            gaps = self.edge - signs * f
            wrong = (y * f[0] <= 0) if columns == 1 else (np.delete(f, y) >= f[y]).any()
            self.mistakes += y not in self.known or (len(self.known) > 1 and wrong)
            self.known.add(y)
        if self.step != "ls":
            gaps = np.maximum(gaps, 0.0)
        moves = np.zeros(columns)
        if q > 0:
            moves = signs * [step_size(self.step, gap, q, self.C * weight) for gap in gaps]
        if moves.any():
            self.updates += 1
            self.insert(x, moves)
        self.seen += 1
        self.iterates.append((list(self.rows), [a.copy() for a in self.coef]))
        return f

    def insert(self, x, moves):
        if self.budget is None or len(self.rows) < self.budget:
            self.rows.append(x), self.coef.append(moves), self.born.append(self.seen)
            return
        r = {
            "oldest": lambda: int(np.argmin(self.born)),
            "random": lambda: bits(self.seed, self.seen) % self.budget,
            "smallest": self.smallest,
            "merge": self.merge,
            "project": lambda: self.project(x, moves),
        }[self.policy]()
        if r is not None:
            self.rows[r], self.coef[r], self.born[r] = x, moves, self.seen

    def smallest(self):
        return int(np.argmin([a @ a * self.k(x, x) for x, a in zip(self.rows, self.coef, strict=True)]))

    def project(self, x, moves):
        """Try to leave out each of all; the least-squares projection says what each costs."""
        rows, coef = [*self.rows, x], np.array([*self.coef, moves])
        K = np.array([[self.k(a, b) for b in rows] for a in rows])
        K += 1e-5 * np.diag(np.diag(K))
        costs, ways = [], []
        for r in [len(rows) - 1, *range(len(rows) - 1)]:
            others = [j for j in range(len(rows)) if j != r]
            along = np.linalg.solve(K[np.ix_(others, others)], K[others, r])
            costs.append(coef[r] @ coef[r] * (K[r, r] - along @ K[others, r]))
            ways.append((r, others, along))
        r, others, along = ways[int(np.argmin(costs))]
        moved = coef.copy()
        moved[others] += np.outer(along, coef[r])
        for j in range(len(self.rows)):
            self.coef[j] = moved[j].copy()
        moves[:] = moved[-1]
        return None if r == len(rows) - 1 else r

    def kept(self, h, m, n):
        z = h * self.rows[m] + (1 - h) * self.rows[n]
        part = self.coef[m] * self.k(self.rows[m], z) + self.coef[n] * self.k(self.rows[n], z)
        return z, part / self.k(z, z), part @ part / self.k(z, z)

    def merge(self):
        m = self.smallest()
        best = None
        for n in range(len(self.rows)):
            if n != m:
                a, b = self.coef[m], self.coef[n]
                mm, nn = self.k(self.rows[m], self.rows[m]), self.k(self.rows[n], self.rows[n])
                both = a @ a * mm + 2 * a @ b * self.k(self.rows[m], self.rows[n]) + b @ b * nn
                for h in (0.0, 0.25, 0.5, 0.75, 1.0):
                    loss = both - self.kept(h, m, n)[2]
                    if best is None or loss < best[0]:
                        best = loss, n, h
        if best is not None:
            _, n, middle = best
            bounds = max(middle - 0.25, 0.0), min(middle + 0.25, 1.0)
            found = minimize_scalar(lambda h: -self.kept(h, m, n)[2], bounds=bounds, options={"xatol": 1e-9})
            h = max(round(1024 * found.x) / 1024, middle, key=lambda h: self.kept(h, m, n)[2])
            self.rows[n], self.coef[n], _ = self.kept(h, m, n)
        return m
