"""The literal slow twins of the multiplicative learners; see ``naive`` for what they share with the others."""

from __future__ import annotations

import numpy as np
from learners.linear.twins import Classifier, Regressor, dot, tau


class Simplex:
    """One vector of the multiplicative learners: log-weights of those features that are corners."""

    def __init__(self, width, signed, radius, corners=0):
        self.signed, self.radius = signed, radius
        self.logs = [0.0 if j < corners else None for j in range(width)]

    def turned(self):
        """The same with every weight of the other sign."""
        other = Simplex(len(self.logs), self.signed, self.radius)
        other.logs = [None if log is None else -log for log in self.logs]
        return other

    def weights(self):
        corners = [(j, 1.0, log) for j, log in enumerate(self.logs) if log is not None]
        if self.signed:
            corners += [(j, -1.0, -log) for j, _, log in corners]
        top = max((log for _, _, log in corners), default=0.0)
        Z = sum(np.exp(log - top) for _, _, log in corners)
        w = np.zeros(len(self.logs))
        for j, sign, log in corners:
            w[j] += self.radius * sign * np.exp(log - top) / Z
        return w

    def learn(self, v, pull, step, C, stretch=1.0):
        """One step; ``pull`` gives the direction and the gap for a score."""
        top = max(map(abs, v))
        if pull(dot(self.weights(), v))[1] <= 0.0 or top == 0.0:
            return False
        joined = False
        for j, x in enumerate(v):
            if x != 0.0 and self.logs[j] is None:
                self.logs[j], joined = 0.0, True
        sign, gap = pull(dot(self.weights(), v))
        if gap <= 0.0:
            return joined
        t = stretch * tau(step, gap, top**2 if self.signed else top**2 / 4.0, C)
        for j, x in enumerate(v):
            if x != 0.0:
                self.logs[j] += sign * t * x / self.radius
        return True


class Multiplicative:
    """What both multiplicative twins share; stands before the additive twin of the task."""

    def __init__(self, width, *, signed=True, radius=10.0, step="pa", n_features=None, **settings):
        self.signed, self.radius, self.n_features = signed, radius, n_features
        self.models = []
        super().__init__(width, step=step, **settings)

    def fresh(self):
        """A vector that has learned nothing; with ``n_features`` every corner is there, the intercept's too."""
        size = self.width + self.fit_intercept
        return Simplex(size, self.signed, self.radius, size if self.n_features else 0)

    def show(self):
        self.W = [model.weights() for model in self.models]
        self.sums = [0.0 for _ in self.models]

    def approach(self, k, v, pull, C):
        moved = self.models[k].learn(v, pull, self.step, C, self.stretch)
        self.show()
        return moved


class MultiplicativeRegressor(Multiplicative, Regressor):
    def __init__(self, width, **settings):
        super().__init__(width, **settings)
        self.models = [self.fresh()]
        self.show()

    def learn(self, x, y, s=1.0):
        if s == 0.0:
            return
        v = self.row(x)
        loss = max(0.0, abs(y - dot(self.W[0], v)) - self.edge)
        updated = self.approach(0, v, lambda f: (1.0 if y >= f else -1.0, abs(y - f) - self.edge), self.C * s)
        self.count(loss, False, updated)


class MultiplicativeClassifier(Multiplicative, Classifier):
    def begin(self, label):
        self.classes.append(label)
        self.counts.append(0)
        if self.signed and len(self.classes) == 3:
            self.models.insert(0, self.models[0].turned())
        if not self.signed or len(self.classes) != 2:
            self.models.append(self.fresh())
        self.show()

    def judge(self, scores, c, new):
        if self.signed and len(scores) == 1:
            return super().judge(scores, c, new)
        rivals = [f for k, f in enumerate(scores) if k != c]
        loss = max(0.0, self.edge - scores[c]) + sum(max(0.0, self.edge + f) for f in rivals)
        return loss, new or max(rivals, default=-np.inf) >= scores[c]

    def towards(self, y):
        return lambda f: (y, self.edge - y * f)

    def learn_two(self, v, q, c, C):
        if not self.signed:
            return self.learn_rest(v, q, c, C)
        return self.approach(0, v, self.towards(1.0 if c == 1 else -1.0), C)

    def learn_rest(self, v, q, c, C):
        return max([self.approach(k, v, self.towards(1.0 if k == c else -1.0), C) for k in range(len(self.models))])

    def shown(self):
        if self.signed or len(self.classes) > 2:
            return super().shown()
        order = sorted(range(len(self.classes)), key=lambda k: self.classes[k])
        last = self.W[order[-1]]
        return self.split([last - self.W[order[0]] if len(order) == 2 else last])


class MultiplicativeUniclass:
    """A centre in the log-weights of a simplex, and a radius that is given or learned."""

    def __init__(self, width, *, signed=True, radius=10.0, epsilon="auto", nu=0.1, step="pa", C=1.0, n_features=None):
        self.model = Simplex(width, signed, radius, width if n_features else 0)
        self.auto, self.epsilon, self.nu = epsilon == "auto", 0.0 if epsilon == "auto" else epsilon, nu
        self.step, self.C = step, C
        self.seen = self.updates = self.outside = 0
        self.deviations, self.rates = [1.0], [1.0]
        self.losses = []

    def gap(self, x):
        return np.linalg.norm(np.array(x) - self.model.weights()) - self.epsilon

    def learn(self, x, s=1.0):
        if s == 0.0:
            return
        gap, old = self.gap(x), self.epsilon
        if self.seen:  # before the first row everything is inside
            self.losses.append(max(0.0, gap))
            self.outside += gap > 0.0
        self.seen += 1
        if old > 0.0 and gap > 0.0:
            self.updates += self.approach(x, old if self.auto else 1.0, self.C * s)
        if self.auto and old == 0.0:
            self.epsilon = gap
        elif self.auto:
            self.deviations.append(min(1.0, abs(gap / old)))
            t = len(self.deviations) - 1
            self.rates.append(2.0 * sum(self.deviations) / (t + 1) / np.sqrt(t))
            self.epsilon *= np.exp(min(self.rates) * ((gap > 0.0) - self.nu))

    def approach(self, x, unit, C):
        model = self.model
        joined = [j for j, v in enumerate(x) if v != 0.0 and model.logs[j] is None]
        for j in joined:
            model.logs[j] = 0.0
        gap = self.gap(x) / unit
        if gap <= 0.0:
            return bool(joined)
        v = np.array(x) - model.weights()
        v /= np.linalg.norm(v)
        if self.step == "printed":
            t = gap / (8.0 * np.abs(v).max() ** 2)
        else:
            t = tau(self.step, gap, 1.0 if model.signed else 0.5, C)
        for j, log in enumerate(model.logs):
            if log is not None:
                model.logs[j] = log + unit * t * v[j] / model.radius
        return True
