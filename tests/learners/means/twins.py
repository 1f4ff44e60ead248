"""A literal slow twin of the learner with class means: dense vectors, sums of classes, a list of classifiers."""

from __future__ import annotations

import numpy as np
from learners.linear import twins


def rows(n=200, d=5, classes=2, seed=0):
    """Rows with some zeros and their classes, by noisy scores."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    scores = X @ rng.standard_normal((d, classes)) + 0.5 * rng.standard_normal((n, classes))
    y = scores.argmax(axis=1)
    y[:2] = 0, 1  # classes are kept in order of appearance
    return X, y


class Means(twins.Classifier):
    def __init__(
        self, width, *, gamma=1e-4, prototype="mean", scale=1.0, queue=None, queue_weights="uniform", **settings
    ):
        super().__init__(width, **{"step": "pam1", **settings})
        self.gamma, self.prototype, self.scale = gamma, prototype, scale
        self.queue, self.queue_weights = queue, queue_weights
        self.sum_of, self.rows_of = {}, {}  # by label
        self.counting = True
        self.queues = [[]]

    def learn(self, x, label, s=1.0):
        ignored = isinstance(self.class_weight, dict) and self.class_weight.get(label, 1.0) == 0.0
        if s == 0.0 or ignored:
            return
        if self.counting:
            self.sum_of[label] = self.sum_of.get(label, self.zeros()) + self.row(x)
            self.rows_of[label] = self.rows_of.get(label, 0) + 1
        super().learn(x, label, s)

    def begin(self, label):
        super().begin(label)
        if len(self.classes) == 3:
            self.queues = [[-w for w in self.queues[0]], self.queues[0], []]
        elif len(self.classes) > 3:
            self.queues.append([])

    def part(self, labels):
        """The mean of these classes' rows, or their sum."""
        total = sum((self.sum_of.get(label, self.zeros()) for label in labels), self.zeros())
        rows = sum(self.rows_of.get(label, 0) for label in labels)
        return total / max(rows, 1) if self.prototype == "mean" else total

    def start(self, k):
        """What the step of problem k starts from."""
        if self.queue is None:
            return self.W[k]
        self.queues[k] = [*self.queues[k], self.W[k]][-self.queue :]
        newest_first = self.queues[k][::-1]
        ages = [1.0 if self.queue_weights == "uniform" else self.queue_weights(age) for age in range(len(newest_first))]
        return sum(a * w for a, w in zip(ages, newest_first, strict=True)) / sum(ages)

    def solve(self, k, v, q, y, C, plus, minus):
        v = np.array(v)
        if 1.0 - y * (self.W[k] @ v) <= 0.0:
            return False
        w, m = self.start(k), self.scale * (self.part(plus) - self.part(minus))
        nu = 1.0 - y * (w @ v) + self.gamma * (1.0 - y * (m @ v))
        alpha = {"pam": nu / q, "pam1": min(C, nu / q), "pam2": nu / (q + (1.0 + self.gamma) / (2.0 * C))}[self.step]
        self.W[k] = (w + self.gamma * m + max(0.0, alpha) * y * v) / (1.0 + self.gamma)
        return True

    def learn_two(self, v, q, c, C):
        return self.solve(0, v, q, 1.0 if c == 1 else -1.0, C, self.classes[1:2], self.classes[:1])

    def learn_rest(self, v, q, c, C):
        moved = False
        for k, own in enumerate(self.classes):
            others = [label for label in self.classes if label != own]
            moved |= self.solve(k, v, q, 1.0 if k == c else -1.0, C, [own], others)
        return moved
