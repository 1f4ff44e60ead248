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
        self.lag = []  # of the plain average, which a budget treats as it treats the coefficients
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
            self.lag.append(moves * self.seen)
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
            if self.policy != "project":
                self.lag[r] = moves * self.seen

    def smallest(self):
        """Among equals the oldest."""
        sizes = np.array([a @ a * self.k(x, x) for x, a in zip(self.rows, self.coef, strict=True)])
        return min(np.flatnonzero(sizes <= sizes.min() * (1.0 + 1e-9)), key=lambda i: self.born[i])

    def project(self, x, moves):
        """Try to leave out each of all; the least-squares projection says what each costs."""
        rows, coef = [*self.rows, x], np.array([*self.coef, moves])
        lag = np.array([*self.lag, moves * self.seen])
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
        lag[others] += np.outer(along, lag[r])
        for j in range(len(self.rows)):
            self.coef[j], self.lag[j] = moved[j].copy(), lag[j].copy()
        if r < len(self.rows):
            self.lag[r] = lag[-1].copy()
        moves[:] = moved[-1]
        return None if r == len(rows) - 1 else r

    def kept(self, h, m, n):
        z = h * self.rows[m] + (1 - h) * self.rows[n]
        part = self.coef[m] * self.k(self.rows[m], z) + self.coef[n] * self.k(self.rows[n], z)
        return z, part / self.k(z, z), part @ part / self.k(z, z)

    def merge(self):
        m = self.smallest()
        ways = [(*self.best_of_two(m, n), n) for n in range(len(self.rows)) if n != m]
        if ways:
            _, h, n = min(ways)
            z = h * self.rows[m] + (1 - h) * self.rows[n]
            with_m, with_n = self.k(self.rows[m], z), self.k(self.rows[n], z)
            self.lag[n] = (self.lag[m] * with_m + self.lag[n] * with_n) / self.k(z, z)
            self.rows[n], self.coef[n], _ = self.kept(h, m, n)
        return m

    def best_of_two(self, m, n):
        """What is lost where these two are merged at their best h, a multiple of 1/1024, and that h."""
        a, b = self.coef[m], self.coef[n]
        mm, nn = self.k(self.rows[m], self.rows[m]), self.k(self.rows[n], self.rows[n])
        both = a @ a * mm + 2 * a @ b * self.k(self.rows[m], self.rows[n]) + b @ b * nn
        middle = max((0.0, 0.25, 0.5, 0.75, 1.0), key=lambda h: self.kept(h, m, n)[2])
        bounds = max(middle - 0.25, 0.0), min(middle + 0.25, 1.0)
        found = minimize_scalar(lambda h: -self.kept(h, m, n)[2], bounds=bounds, options={"xatol": 1e-9})
        h = max(round(1024 * found.x) / 1024, middle, key=lambda h: self.kept(h, m, n)[2])
        return both - self.kept(h, m, n)[2], h


class BankTwin:
    """Several γ side by side, as the literal text of ``learners.kernel.members`` and ``learners.kernel.mean`` has it.

    Coefficients are (rows, scores) for each member, all rows and all iterates are kept, and a kernel value is computed
    whenever it is needed.
    """

    def __init__(self, X, columns, *, gamma=None, multiples=(0.25, 1.0, 4.0, 16.0), step="pa1", C=1.0, edge=1.0,
                 average="auto", regression=False):  # fmt: skip
        self.X, self.columns, self.gamma, self.multiples = X, columns, gamma, multiples
        self.step, self.C, self.edge, self.average, self.regression = step, C, edge, average, regression
        self.found = gamma is None
        self.coef = [np.zeros((len(X), columns)) for _ in multiples]
        self.summed = [np.zeros((len(X), columns)) for _ in multiples]  # iterates, weighted by t or not
        self.losses, self.mistakes, self.apart = (np.zeros(len(multiples)) for _ in range(3))
        self.left = set()
        self.recent = [0.0, 0.0]
        self.choice = self.seen = self.total = 0

    def values(self, m, x):
        gamma = self.gamma if self.gamma is not None else 1.0 / (x @ x) if x.any() else 1.0
        return np.exp(-gamma * self.multiples[m] * ((self.X - x) ** 2).sum(axis=1))

    def last(self, m, x):
        return self.values(m, x) @ self.coef[m]

    def mean(self, m, x):
        return self.values(m, x) @ self.summed[m] / self.total if self.total else self.last(m, x)

    def by_mean(self):
        if self.average != "auto":
            return bool(self.average)
        return not self.recent[0] > 2 * np.sqrt(self.recent[1])

    def scores(self, x):
        return (self.mean if self.by_mean() else self.last)(self.choice, x)

    def cost(self, f, y, live):
        if self.regression:
            gap = abs(y - f[0])
            return (gap * gap if self.step in ("pa2", "ls") else max(gap - self.edge, 0.0)), False
        if live <= 2:
            margin = (2 * y - 1) * f[-1 if self.columns == 1 else 1]
            return max(self.edge - margin, 0.0), margin <= 0
        signs = np.where(np.arange(live) == y, 1.0, -1.0)
        others = np.delete(f[:live], y)
        return np.maximum(self.edge - signs * f[:live], 0.0).sum(), f[y] <= others.max()

    def learn(self, t, y, live=2):
        """Row t of X; classes are numbered as they come, and ``live`` of them are known with this row."""
        x, inside = self.X[t], [m for m in range(len(self.multiples)) if m not in self.left]
        lasts, means = {m: self.last(m, x) for m in inside}, {m: self.mean(m, x) for m in inside}
        shown = means if self.by_mean() else lasts
        costs = {m: self.cost(shown[m], y, live) for m in inside}
        of_mean, of_last = (self.cost(scores[self.choice], y, live) for scores in (means, lasts))
        d = float(of_mean[0]) - float(of_last[0]) if self.regression else float(of_mean[1]) - float(of_last[1])
        self.recent = [old * 0.5 ** (1 / 256) + new for old, new in zip(self.recent, (d, d * d), strict=True)]
        for m in inside:
            more = np.subtract(costs[m], costs[self.choice], dtype=float)[0 if self.regression else 1]
            self.apart[m] += more**2
            self.losses[m], self.mistakes[m] = self.losses[m] + costs[m][0], self.mistakes[m] + costs[m][1]
        best = min(inside, key=lambda m: (self.mistakes[m], self.losses[m], m != self.choice, m))
        self.choice = best
        if self.gamma is None and x.any():
            self.gamma = 1.0 / (x @ x)
        for m in inside:
            f = lasts[m]
            if self.regression:
                signs, gaps = np.where(y >= f, 1.0, -1.0), np.abs(y - f) - (0.0 if self.step == "ls" else self.edge)
            else:
                signs = (
                    np.array([2.0 * y - 1]) if self.columns == 1 else np.where(np.arange(self.columns) == y, 1.0, -1)
                )
                gaps = self.edge - signs * f
            gaps = gaps if self.step == "ls" else np.maximum(gaps, 0.0)
            self.coef[m][t] = signs * [step_size(self.step, gap, 1.0, self.C) for gap in gaps]
            self.coef[m][t, max(live, 2) :] = 0.0
        self.seen += 1
        weight = self.seen if self.average == "auto" else 1
        self.total += weight
        for m in inside:
            self.summed[m] += weight * self.coef[m]
        if self.seen & (self.seen - 1) == 0:
            self.power_of_two()

    def power_of_two(self):
        if self.found and 2 <= self.seen <= 64:
            S = self.X[self.support()]
            far = ((S[:, None] - S) ** 2).sum(axis=2)[np.triu_indices(len(S), 1)]
            if far.any():
                self.gamma = 2.0 / far.mean()
        for m in range(len(self.multiples)):
            counts = self.losses if self.regression else self.mistakes
            if self.seen >= 256 and counts[m] - counts[self.choice] > 3 * np.sqrt(self.apart[m]):
                self.left.add(m)
                self.coef[m][:] = self.summed[m][:] = 0.0

    def support(self):
        """The rows that any member holds."""
        return np.flatnonzero(np.any([(a != 0).any(axis=1) for a in self.coef], axis=0))
