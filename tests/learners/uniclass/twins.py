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
