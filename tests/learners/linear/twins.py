"""The literal slow twins: the formulas of the design, one row at a time, in plain loops.

Nothing here is shared with the package. The intercept is one more feature that is always 1, an average
is a sum of all iterates divided by their number (and where it predicts, it is what losses and mistakes
are counted for), and a class has a vector of its own from the row on
at which it first appears (two classes share one, which a third splits into −w, w and 0).

``stretch`` multiplies every step. It is 1 in a right learner; the tests of the theorems use it to
show that a wrong step breaks them.
"""

from __future__ import annotations

import numpy as np

ROUNDING = 1e-12


def dot(a, b):
    total = 0.0
    for p, r in zip(a, b, strict=True):
        total += p * r
    return total


def tau(step, gap, q, C):
    """The step size for a signed gap (loss before the hinge) and ‖v‖² = q > 0; a step may be such a function itself."""
    if callable(step):
        return step(gap, q, C)
    if step == "ls":
        return gap / (q + 1.0 / (2.0 * C))
    loss = max(0.0, gap)
    if step == "pa":
        return loss / q
    if step == "pa1":
        return min(C, loss / q)
    if step == "ogd":
        return C if loss > 0.0 else 0.0
    return loss / (q + 1.0 / (2.0 * C))


class Twin:
    """What both tasks count and keep."""

    def __init__(
        self,
        width,
        *,
        step="pa1",
        C=1.0,
        edge,
        fit_intercept=True,
        average=False,
        late=False,
        half_life=None,
        stretch=1.0,
    ):
        self.width, self.step, self.C, self.edge = width, step, C, edge
        self.keep = 1.0 if half_life is None else 0.5 ** (1.0 / half_life)
        self.fit_intercept, self.average, self.stretch = fit_intercept, average, stretch
        self.late = late  # whether the iterate after row t counts t times in an average
        self.seen = self.updates = self.mistakes = 0
        self.ties = 0  # rows whose verdict hangs on rounding
        self.loss = 0.0
        self.history = []
        self.W = []  # iterates, by order of appearance
        self.sums = []  # sums of the iterates after each row; with a half-life, the older ones count less
        self.rows = 0.0  # the weights in those sums

    def row(self, x):
        return [*map(float, x), 1.0] if self.fit_intercept else [*map(float, x)]

    def zeros(self):
        return np.zeros(self.width + self.fit_intercept)

    def move(self, k, v, a):
        self.W[k] = self.W[k] + self.stretch * a * np.array(v)
        return a != 0.0

    def count(self, loss, mistake, updated):
        self.seen += 1
        self.loss += loss
        self.mistakes += mistake
        self.updates += updated
        times = float(self.seen) if self.late else 1.0
        self.rows = self.keep * self.rows + times
        for k, w in enumerate(self.W):
            self.sums[k] = self.keep * self.sums[k] + times * w
        if bin(self.seen).count("1") == 1:
            self.history.append((self.seen, self.loss / self.seen, self.mistakes))

    def predictor(self):
        """The vectors that predict: the last iterates, or their means."""
        return [total / max(1.0, self.rows) for total in self.sums] if self.average else self.W

    def fade(self):
        """What predicted is faded before it learns, unless it is an average that forgets."""
        if not self.average:
            self.W = [self.keep * w for w in self.W]

    def scores(self, v):
        """What was predicted for this row, before it is learned."""
        return [dot(w, v) for w in self.predictor()]

    def split(self, vectors):
        """Vectors as (coef, intercept)."""
        table = np.array(vectors)
        return (table[:, :-1], table[:, -1]) if self.fit_intercept else (table, np.zeros(len(table)))


class Regressor(Twin):
    def __init__(self, width, *, epsilon=0.1, **settings):
        super().__init__(width, edge=epsilon, **settings)
        self.W, self.sums = [self.zeros()], [self.zeros()]

    def learn(self, x, y, s=1.0):
        if s == 0.0:
            return
        v = self.row(x)
        q = dot(v, v)
        loss = max(0.0, abs(y - self.scores(v)[0]) - self.edge)
        self.fade()
        residual = y - dot(self.W[0], v)
        updated = False
        if q > 0.0:
            gap = abs(residual) if self.step == "ls" else abs(residual) - self.edge
            sign = 1.0 if residual >= 0.0 else -1.0
            updated = self.move(0, v, sign * tau(self.step, gap, q, self.C * s))
        self.count(loss, False, updated)

    def shown(self):
        """(coef_, intercept_)."""
        coef, intercept = self.split(self.predictor())
        return coef[0], intercept


class Classifier(Twin):
    def __init__(self, width, *, margin=1.0, multi_class="ovr", class_weight=None, **settings):
        super().__init__(width, edge=margin, **settings)
        self.joint = multi_class == "joint"
        self.class_weight = class_weight
        self.classes = []  # by order of appearance
        self.counts = []

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
        learn = self.learn_joint if self.joint else self.learn_rest if len(self.W) > 1 else self.learn_two
        self.count(loss, mistake, dot(v, v) > 0.0 and learn(v, dot(v, v), c, self.C * s))

    def begin(self, label):
        self.classes.append(label)
        self.counts.append(0)
        if self.joint or len(self.classes) > 3:
            self.W.append(self.zeros())
            self.sums.append(self.zeros())
        elif len(self.classes) == 1:
            self.W, self.sums = [self.zeros()], [self.zeros()]
        elif len(self.classes) == 3:
            self.W = [-self.W[0], self.W[0], self.zeros()]
            self.sums = [-self.sums[0], self.sums[0], self.zeros()]

    def judge(self, scores, c, new):
        """(loss, mistake): a tie is a mistake, and so is a class that was never seen; a class alone is predicted."""
        if not self.joint and len(scores) == 1:
            margin = scores[0] if c == 1 else -scores[0]
            return max(0.0, self.edge - margin), new or (len(self.classes) > 1 and margin <= 0.0)
        rivals = [f for k, f in enumerate(scores) if k != c]
        best = max(rivals, default=-np.inf)
        mistake = new or best >= scores[c]
        self.ties += abs(best - scores[c]) <= ROUNDING * abs(scores[c]) and scores[c] != 0.0
        if self.joint:
            return max(0.0, self.edge - (scores[c] - max(rivals))) if rivals else 0.0, mistake
        return max(0.0, self.edge - scores[c]) + sum(max(0.0, self.edge + f) for f in rivals), mistake

    def learn_two(self, v, q, c, C):
        """One vector: the first class is −1, the second +1."""
        y = 1.0 if c == 1 else -1.0
        return self.move(0, v, y * tau(self.step, self.edge - y * dot(self.W[0], v), q, C))

    def learn_rest(self, v, q, c, C):
        """A problem for each class: its own rows are +1, all others −1."""
        updated = False
        for k, w in enumerate(self.W):
            y = 1.0 if k == c else -1.0
            updated |= self.move(k, v, y * tau(self.step, self.edge - y * dot(w, v), q, C))
        return updated

    def learn_joint(self, v, q, c, C):
        """The best wrong class against the true one; the direction has squared norm 2q."""
        scores = [dot(w, v) for w in self.W]
        rivals = [k for k in range(len(scores)) if k != c]
        if not rivals:
            return False
        r = max(rivals, key=lambda k: (scores[k], -k))  # the first of equals
        step = tau(self.step, self.edge - (scores[c] - scores[r]), 2.0 * q, C)
        self.move(r, v, -step)
        return self.move(c, v, step)

    def shown(self):
        """(coef_, intercept_) by sorted class; for at most two classes the last one against the other."""
        vectors = self.predictor()
        order = sorted(range(len(self.classes)), key=lambda k: self.classes[k])
        if len(order) > 2:
            vectors = [vectors[k] for k in order]
        elif self.joint:
            vectors = [vectors[order[1]] - vectors[order[0]] if len(order) == 2 else vectors[0]]
        elif order[-1] == 0:
            vectors = [-vectors[0]]
        return self.split(vectors)
