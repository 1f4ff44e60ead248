"""The literal slow twins of learning in groups: the quadratic problems as the design states them, in plain loops.

Nothing here is shared with the package. Problems are solved by coordinate ascent that goes on until nothing changes,
or, for least squares, as a system of equations; see ``twins`` for what is counted.
"""

from __future__ import annotations

import numpy as np
from learners.linear import twins
from learners.linear.twins import ROUNDING, dot


def ascend(A, aim, eps, low, high):
    """max −½βᵀAβ + βᵀaim − ε|β|, low ≤ β ≤ high; coordinates without a diagonal are 0."""
    beta = np.zeros(len(aim))
    for _ in range(100_000):
        before = beta.copy()
        for k in range(len(aim)):
            if A[k, k] > 0.0:
                beta[k] = 0.0
                slope = aim[k] - A[k] @ beta
                best = np.sign(slope) * max(abs(slope) - eps, 0.0) / A[k, k]
                beta[k] = min(max(best, low[k]), high[k])
        if np.abs(beta - before).max() <= 1e-15 * np.abs(beta).max():
            return beta
    raise AssertionError("coordinate ascent does not come to an end")


class Together:
    """What both tasks add to their twins: a group of rows, and what becomes of it."""

    def __init__(self, width, *, batch_size, window="disjoint", **settings):
        super().__init__(width, **settings)
        self.size, self.sliding, self.group = batch_size, window == "sliding", []

    def take(self, v, target, C):
        """Put a row into the group, and learn the group if it is time; whether the weights moved."""
        self.group.append((v, target, C))
        if self.sliding:
            self.group = self.group[-self.size :]
        return (self.sliding or len(self.group) == self.size) and self.together()

    def together(self):
        moves = self.moves([v for v, _, _ in self.group])
        moved = False
        for k, beta in moves:
            for (v, _, _), b in zip(self.group, beta, strict=True):
                moved |= dot(v, v) > 0.0 and self.move(k, v, b)
        if not self.sliding:
            self.group = []
        return moved

    def flush(self):
        if self.sliding or not self.group:
            return
        before = [w.copy() for w in self.W]
        self.updates += self.together()
        for k, w in enumerate(self.W):  # the last row's iterate is the one after the flush
            self.sums[k] = self.sums[k] - before[k] + w

    def solve(self, A, aims, told, eps, signs):
        """β of one problem: rows go the way of their signs, or either way where that is 0."""
        C = np.array([C for _, _, C in self.group])
        r = aims - told
        if self.step == "ls":
            return np.linalg.solve(A + np.diag(1.0 / (2.0 * C)), r)
        for k in range(len(r)):
            if abs(abs(r[k]) - eps) <= ROUNDING * (abs(aims[k]) + abs(told[k])):
                r[k] = np.sign(r[k]) * eps
        if self.step == "pa2":
            A, C = A + np.diag(1.0 / (2.0 * C)), np.full(len(C), np.inf)
        return ascend(A, r, eps, np.where(signs > 0.0, 0.0, -C), np.where(signs < 0.0, 0.0, C))


def products(rows):
    return np.array([[dot(a, b) for b in rows] for a in rows])


class Regressor(Together, twins.Regressor):
    def learn(self, x, y, s=1.0):
        if s == 0.0:
            return
        v = self.row(x)
        loss = max(0.0, abs(y - self.scores(v)[0]) - self.edge)
        self.fade()
        self.count(loss, False, self.take(v, y, self.C * s))

    def moves(self, rows):
        aims = np.array([y for _, y, _ in self.group])
        told = np.array([dot(self.W[0], v) for v in rows])
        return [(0, self.solve(products(rows), aims, told, self.edge, np.zeros(len(rows))))]


class Classifier(Together, twins.Classifier):
    def learn(self, x, label, s=1.0):
        if isinstance(self.class_weight, dict):
            s *= self.class_weight.get(label, 1.0)
        if s == 0.0:
            return
        new = label not in self.classes
        if new:
            self.begin(label)
        c = self.classes.index(label)
        self.counts[c] += 1
        if self.class_weight == "balanced":
            s *= (self.seen + 1) / (len(self.classes) * self.counts[c])
        v = self.row(x)
        loss, mistake = self.judge(self.scores(v), c, new)
        self.fade()
        self.count(loss, mistake, self.take(v, c, self.C * s))

    def moves(self, rows):
        G = products(rows)
        labels = [c for _, c, _ in self.group]
        if self.joint:
            return self.moves_of_pairs(rows, G, labels)
        found = []
        for k, w in enumerate(self.W):
            own = 1 if len(self.W) == 1 else k  # one vector speaks for the second class
            signs = np.array([1.0 if c == own else -1.0 for c in labels])
            told = np.array([dot(w, v) for v in rows])
            found.append((k, self.solve(G, signs * self.edge, told, 0.0, signs)))
        return found

    def moves_of_pairs(self, rows, G, labels):
        """Each row's class against the best of the others: directions are rows of a matrix that has all vectors."""
        n, classes = len(rows), len(self.W)
        D = np.zeros((n, classes))
        told = np.zeros(n)
        for i, (v, c) in enumerate(zip(rows, labels, strict=True)):
            scores = [dot(w, v) for w in self.W]
            rivals = [k for k in range(classes) if k != c]
            if rivals:
                r = max(rivals, key=lambda k: (scores[k], -k))
                D[i, c], D[i, r] = 1.0, -1.0
                told[i] = scores[c] - scores[r]
        aims = np.where(D.any(axis=1), self.edge, 0.0)
        tau = self.solve(G * (D @ D.T), aims, told, 0.0, np.ones(n))
        return [(k, tau * D[:, k]) for k in range(classes)]
