"""The literal slow twin of uniclass learning, one row at a time. Nothing is shared with the package."""

from __future__ import annotations

import numpy as np


class Radius:
    """A radius that follows the distance which a share ν of the rows exceeds."""

    def __init__(self, nu, number):
        self.value, self.nu, self.number = number(0), nu, number
        self.deviations, self.rates = [number(1)], [number(1)]

    def learn(self, d):
        if self.value == 0:
            self.value = d
            return
        self.deviations.append(min(self.number(1), abs(d / self.value - 1)))
        t = len(self.deviations) - 1
        self.rates.append(2 * sum(self.deviations) / (t + 1) / self.number(t) ** self.number(0.5))
        exponent = min(self.rates) * ((1 if d > self.value else 0) - self.nu)
        self.value *= exponent.exp() if hasattr(exponent, "exp") else np.exp(exponent)


class Uniclass:
    """A centre and a radius, in numbers of any kind: floats, or decimals of many digits.

    The centre that learns and the mean that may predict have each a radius of their own.
    """

    def __init__(self, *, step="pa1", C=0.1, epsilon="auto", nu=0.1, average=False, stretch=1.0, number=float):
        self.step, self.average, self.number = step, average, number
        self.C, self.nu, self.stretch = number(C), number(nu), number(stretch)
        self.given = None if epsilon == "auto" else number(epsilon)
        self.own, self.shown = Radius(self.nu, number), Radius(self.nu, number)
        self.w = self.total = None  # the iterate, and the sum of the iterates after each row
        self.seen = self.updates = self.outside = 0
        self.loss = number(0)

    def distance(self, x, point):
        return sum(((a - b) ** 2 for a, b in zip(x, point, strict=True)), self.number(0)) ** self.number(0.5)

    def predictor(self):
        return [v / self.seen for v in self.total] if self.average else self.w

    @property
    def radius(self):
        """That of what predicts."""
        return self.given or (self.shown if self.average else self.own).value

    def learn(self, x, s=1.0):
        if s == 0.0:
            return
        x = [self.number(float(v)) for v in x]
        if self.w is None:
            self.w, self.total = x, [self.number(0)] * len(x)
            self.updates += 1
        else:
            seen_from, d = self.distance(x, self.predictor()), self.distance(x, self.w)
            self.loss += max(self.number(0), seen_from - self.radius)
            self.outside += seen_from > self.radius
            radius = self.given or self.own.value
            if self.given is None:
                self.own.learn(d)
                self.shown.learn(seen_from)
            if radius > 0 and d > radius:
                self.move(x, d, radius, self.C * self.number(s))
        self.seen += 1
        self.total = [a + b for a, b in zip(self.total, self.w, strict=True)]

    def move(self, x, d, radius, C):
        loss = d - radius
        largest = C * (radius if self.given is None else 1)
        step = {"pa": loss, "pa1": min(largest, loss), "pa2": loss / (1 + 1 / (2 * C))}[self.step] * self.stretch
        self.w = [a + step * (b - a) / d for a, b in zip(self.w, x, strict=True)]
        self.updates += 1


class Measured:
    """A centre in a metric that is learned, robust or not. All rows are kept, and every matrix is written out.

    Columns are measured together while no more than ``few`` have varied, each by itself while no more than ``many``.
    """

    def __init__(self, *, C=0.03, nu=0.1, robust=True, average=False, epsilon=None, few=256, many=2**14):
        self.C, self.robust, self.average, self.epsilon = C, robust, average, epsilon
        self.few, self.many = few, many
        self.begin_radii = lambda: [Radius(nu, float), Radius(nu, float), Radius(0.9, float)]
        self.own, self.shown, self.inner = self.begin_radii()
        self.iterates, self.taken = [], []  # centres after each row; gaps and their weights
        self.known, self.metric, self.next, self.met = 0.0, None, 0, 0
        self.updates = self.outside = 0

    def predictor(self):
        return np.mean(self.iterates, axis=0) if self.average else self.iterates[-1]

    @property
    def radius(self):
        return self.epsilon or (self.shown if self.average else self.own).value

    def distance(self, x, centre):
        gaps = x - centre
        if self.met > self.many:
            return np.sqrt(gaps @ gaps)
        if self.metric is None:
            return 0.0
        deviations, inverse = self.metric
        varied = deviations > 0.0
        v = np.where(varied, gaps, 0.0) / np.where(varied, deviations, 1.0)
        square = v @ inverse @ v if self.met <= self.few else v @ v
        return np.sqrt(square + self.known * (gaps[~varied] != 0.0).sum())

    def learn(self, x, s=1.0):
        if not self.iterates:
            self.iterates.append(x)
            self.updates += 1
            return
        w, shown = self.iterates[-1], self.predictor()
        d, seen_from = self.distance(x, w), self.distance(x, shown)
        self.outside += seen_from > self.radius
        radius = edge = self.epsilon or self.own.value
        C, unit = self.C, 1.0
        if self.epsilon is None:
            if self.robust:
                edge = self.inner.value
                self.inner.learn(d)
                C = max(C, 2.0 / max(len(self.inner.deviations) - 1, 1))
            unit = edge
            self.own.learn(d)
            self.shown.learn(seen_from)
        if edge > 0.0 and d > edge:
            w = w + min(C * s * unit, d - edge) / d * (x - w)
            self.updates += 1
        if self.met <= self.many:
            self.take_in(x - self.iterates[-1], (radius / d) ** 2 if self.robust and 0.0 < radius < d else 1.0)
        self.iterates.append(w)

    def take_in(self, gaps, weight):
        self.taken.append((gaps, weight))
        self.met = max(self.met, *(np.flatnonzero(gaps) + 1), 0)
        rows = len(self.iterates) + 1
        if rows >= self.next:
            self.next = rows + rows // 4 + 1
            self.known = sum(omega for _, omega in self.taken)
            cov = sum(omega * np.outer(g, g) for g, omega in self.taken) / self.known
            deviations = np.sqrt(np.diag(cov))
            varied = (deviations > 0.0).sum()
            shrinkage = max(0.1, varied / (self.known + varied))
            divisor = np.where(deviations > 0.0, deviations, 1.0)
            R = (1.0 - shrinkage) * cov / np.outer(divisor, divisor)
            np.fill_diagonal(R, 1.0)
            self.metric = deviations, np.linalg.inv(R)
        if self.met > self.many:
            self.own, self.shown, self.inner = self.begin_radii()
