"""Literal slow twins of perceptron, ALMA, ROMMA and the extreme learning machine: the formulas, row by row."""

from __future__ import annotations

import numpy as np
from helpers.moments import transformed
from learners.linear import twins


class FirstOrder(twins.Classifier):
    """One vector for two classes, one each for more, as the linear twin has them; C is what a weight scales."""

    def __init__(self, width, **settings):
        super().__init__(width, **{"C": 1.0, **settings})
        self.next = [1]  # the number of the next correction of each vector
        self.size = 1.0  # ‖x‖ of the row

    def begin(self, label):
        super().begin(label)
        if len(self.classes) == 3:
            self.next = [self.next[0], self.next[0], 1]
        elif len(self.classes) > 3:
            self.next.append(1)

    def scores(self, v):
        self.size = float(np.sqrt(twins.dot(v, v)))
        return super().scores(v)

    def edge_of(self, k):
        return 0.0

    def loss_of(self, k, margin):
        return max(0.0, self.edge_of(k) - margin)

    def compared(self, scores):
        """The scores as classes are told apart by them."""
        return scores

    def judge(self, scores, c, new):
        if len(scores) == 1:
            margin = scores[0] if c == 1 else -scores[0]
            return self.loss_of(0, margin), new or (len(self.classes) > 1 and margin <= 0.0)
        loss = sum(self.loss_of(k, f if k == c else -f) for k, f in enumerate(scores))
        shown = self.compared(scores)
        best = max(f for k, f in enumerate(shown) if k != c)
        self.ties += abs(best - shown[c]) <= 1e-9 * abs(shown[c]) and shown[c] != 0.0
        return loss, new or best >= shown[c]

    def correct(self, k, v, y, C):
        """Correct vector k if need be; whether it was."""
        raise NotImplementedError

    def learn_two(self, v, q, c, C):
        return self.correct(0, np.array(v), 1.0 if c == 1 else -1.0, C)

    def learn_rest(self, v, q, c, C):
        moved = [self.correct(k, np.array(v), 1.0 if k == c else -1.0, C) for k in range(len(self.W))]
        return any(moved)


class Perceptron(FirstOrder):
    def correct(self, k, v, y, C):
        if y * (self.W[k] @ v) > 0.0:
            return False
        self.W[k] = self.W[k] + C * y * v
        return True


class ALMA(FirstOrder):
    def __init__(self, width, *, alpha=0.9, B=None, C=2**0.5, **settings):
        super().__init__(width, C=C, **settings)
        self.alpha, self.B = alpha, 8**0.5 / alpha if B is None else B

    def edge_of(self, k):
        return (1.0 - self.alpha) * self.B / np.sqrt(self.next[k])

    def loss_of(self, k, margin):
        return max(0.0, self.edge_of(k) - (margin / self.size if self.size else 0.0))

    def correct(self, k, v, y, C):
        unit = v / np.linalg.norm(v)
        if y * (self.W[k] @ unit) > self.edge_of(k):
            return False
        w = self.W[k] + C / np.sqrt(self.next[k]) * y * unit
        self.W[k] = w / max(1.0, np.linalg.norm(w))
        self.next[k] += 1
        return True


class ROMMA(FirstOrder):
    def __init__(self, width, *, aggressive=False, **settings):
        super().__init__(width, **settings)
        self.aggressive = aggressive

    def edge_of(self, k):
        return 1.0

    def lengths(self):
        """What vectors are divided by to be compared: from three classes on, their norms."""
        if len(self.W) == 1:
            return [1.0]
        return [np.linalg.norm(w) or 1.0 for w in self.W]

    def compared(self, scores):
        return [f / length for f, length in zip(scores, self.lengths(), strict=True)]

    def shown(self):
        kept = self.W, self.sums
        lengths = self.lengths()
        self.W, self.sums = ([w / a for w, a in zip(part, lengths, strict=True)] for part in kept)
        found = super().shown()
        self.W, self.sums = kept
        return found

    def correct(self, k, v, y, C):
        w, x = self.W[k], v
        f, q, n = w @ x, x @ x, w @ w
        if not (y * f <= 0.0 or (self.aggressive and y * f < 1.0)):
            return False
        if q * n - f * f <= 1e-10 * q * n or q * n <= y * f:
            self.W[k] = y * x / q
        else:
            self.W[k] = ((q * n - y * f) * w + n * (y - f) * x) / (q * n - f * f)
        return True


# The extreme learning machine -----------------------------------------------------------------------------


def standardised(X, t):
    """Row t as it is learned, by the rows before it."""
    z, far = transformed("standard", X[:t], X[t])
    return transformed("standard", X[: t + 1], X[t])[0] if far else z


def hidden(z, A, b, activation, gamma):
    """The hidden values of a row; A is (features, units)."""
    if activation == "sigmoid":
        return 1.0 / (1.0 + np.exp(-(z @ A / np.sqrt(max(np.count_nonzero(z), 1)) + b)))
    return np.exp(-gamma * ((z[:, None] - A) ** 2).sum(axis=0) / len(z))


def ridge(H, Y, s, penalty):
    """β of ridge regression with weights, one column a class."""
    return np.linalg.solve(H.T @ (s[:, None] * H) + penalty * np.eye(H.shape[1]), H.T @ (s[:, None] * Y))
