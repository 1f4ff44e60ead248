"""A literal slow twin of PAMO: pieces u[i][j] as vectors, every iterate kept, everything computed anew."""

from __future__ import annotations

import numpy as np
from helpers.moments import transformed

MASK = 2**64 - 1


def bits(seed, counter):
    """64 random bits for a seed and a counter: SplitMix64."""
    z = (seed + (counter + 1) * 0x9E3779B97F4A7C15) & MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def uniform(seed, counter):
    return (bits(seed, counter) >> 11) / 2.0**53


def starting_pieces(seed, i, k, numbers):
    """k vectors of unit i over the features with these numbers (0 is the constant), orthonormal as far as they go."""
    made = []
    n = max(len(numbers), 1)
    for j in range(k):
        v = np.array([2.0 * uniform(bits(seed, 1 + i), b * 65536 + j) - 1.0 for b in numbers])
        for _ in range(2):
            for other in made[j - j % n : j]:
                v = v - (v @ other) * other
            v = v / np.linalg.norm(v) if len(v) else v
        made.append(v)
    return made


class PAMOTwin:
    """Rows are arrays of one width, classes numbers by order of appearance."""

    def __init__(
        self,
        width,
        h,
        k,
        *,
        C=0.125,
        C_r=0.125,
        alpha=0.9,
        epsilon=0.0,
        always=False,
        select="winner",
        scale=True,
        bias=1.0,
        average=False,
        half_life=None,
        seed=0,
        many=256,
    ):
        self.width, self.h, self.k = width, h, k
        self.C, self.C_r, self.alpha, self.epsilon = C, C_r, alpha, epsilon
        self.always, self.select, self.scale, self.bias, self.average = always, select, scale, bias, average
        self.seed, self.many, self.half_life = seed, many, half_life
        self.marks, self.next = (0, 0), 1  # rows after which marks were set, and the next is due
        self.wrong = {"last": 0.0, "mean": 0.0}  # recently
        self.begun_anew = 0
        self.u = np.zeros((h, k, 1 + width))  # the constant is entry 0
        self.w = np.zeros((2, h))
        self.met = []  # features in the order of appearance
        self.known = []  # rows that are among the moments
        self.iterates = []
        self.live = 0
        self.seen = self.updates = self.mistakes = 0
        self.loss = 0.0

    # Rows -----------------------------------------------------------------------------------------------

    def entries(self, x):
        v = np.zeros(self.width)
        if not self.scale:
            v = np.array(x, float)
        else:
            v = transformed(self.mode(), self.known, np.asarray(x, float))[0]
        v = np.concatenate([[self.bias], v])
        return v / np.linalg.norm(v) if v.any() else v

    def mode(self):
        return "standard" if self.scale is True else self.scale

    def meet(self, x):
        """Start the pieces anew over all features met."""
        new = [j for j in range(self.width) if x[j] != 0 and j not in self.met]
        if not new and self.seen:
            return
        before = list(self.met)
        self.met += new
        constant = [0] if self.bias else []

        def start(i, features):
            full = np.zeros((self.k, 1 + self.width))
            numbers = constant + [1 + b for b in range(len(features))]
            places = constant + [1 + j for j in features]
            full[:, places] = starting_pieces(self.seed, i, self.k, numbers)
            return full

        for i in range(self.h):
            if len(before) > self.many:
                size = np.sqrt(3.0 / (len(self.met) + self.bias))
                for j in new:
                    for piece in range(self.k):
                        b = 1 + self.met.index(j)
                        number = 2.0 * uniform(bits(self.seed, 1 + i), b * 65536 + piece) - 1.0
                        self.u[i, piece, 1 + j] += size * number
            else:
                self.u[i] += start(i, self.met) - (start(i, before) if self.seen else 0.0)
        if not self.seen:
            self.w[1] = [0.1 * (uniform(bits(self.seed, 0), i) - 0.5) for i in range(self.h)]
            self.w[0] = -self.w[1]

    # Scores ---------------------------------------------------------------------------------------------

    def embedding(self, x, u):
        p = u @ self.entries(x)
        z = p.max(axis=1)
        return z / np.linalg.norm(z) if z.any() else z

    def predicting(self):
        """The mean of the iterates since the last-but-one mark, or the last."""
        chosen = self.average == "auto" and self.wrong["mean"] > self.wrong["last"]
        if not self.average or not self.seen or chosen:
            return self.u, self.w
        return self.mean()

    def mean(self):
        start = self.marks[0]
        u = np.mean([u for u, _ in self.iterates[start:]], axis=0)
        w = np.mean([np.pad(w, ((0, len(self.w) - len(w)), (0, 0))) for _, w in self.iterates[start:]], axis=0)
        return u, w

    def count_recent(self, x, c):
        """A mistake counts 255/256 of what it did a row before."""
        for name, (u, w) in (("last", (self.u, self.w)), ("mean", self.mean())):
            f = w @ self.embedding(x, u)
            self.wrong[name] *= 1.0 - 1.0 / 256.0
            self.wrong[name] += f[c] <= f[self.rival(c, f)]

    def set_marks(self):
        """A mark is due, or the mean has made so many more mistakes that it must be behind."""
        last, mean = self.wrong["last"], self.wrong["mean"]
        if self.half_life == "auto" and mean - last > 2.0 * np.sqrt(mean + last + 1.0):
            self.wrong["mean"] = last + 2.0
            self.begun_anew += 1
        elif self.seen < self.next:
            return
        grown = 2 * (self.seen - self.marks[1]) if self.marks[1] else 1
        self.next = self.seen + (min(grown, self.half_life) if isinstance(self.half_life, int) else grown)
        self.marks = self.marks[1], self.seen

    def scores(self, x):
        u, w = self.predicting()
        return w @ self.embedding(x, u)

    def rival(self, c, f):
        if self.live <= 2:
            return 1 - c
        return max((k for k in range(self.live) if k != c), key=lambda k: f[k])

    # Learning -------------------------------------------------------------------------------------------

    def learn(self, x, c, weight=1.0):
        if c >= len(self.w):
            self.w = np.pad(self.w, ((0, c + 1 - len(self.w)), (0, 0)))
        f = self.scores(x)
        new = c >= self.live
        self.live = max(self.live, c + 1)
        r = self.rival(c, f)
        self.mistakes += new or (self.live > 1 and f[c] <= f[r])
        self.loss += max(0.0, 1.0 - (f[c] - f[r]))

        if self.seen and self.average:
            self.count_recent(x, c)
        far = bool(self.scale) and transformed(self.mode(), self.known, np.asarray(x, float))[1]
        if far:  # it is learned with itself counted
            self.known.append(np.array(x, float))
        self.meet(x)
        before = self.u.copy(), self.w.copy()
        row = self.entries(x)
        p = self.u @ row
        z = self.embedding(x, self.u)
        f = self.w @ z
        r = self.rival(c, f)
        loss = max(0.0, 1.0 - (f[c] - f[r]))
        if loss > 0.0:
            tau = min(self.C * weight, (1.0 - self.alpha) * loss)
            self.w[c] += 0.5 * tau * z
            self.w[r] -= 0.5 * tau * z
        if loss > 0.0 or self.always:
            w = self.w[c] - self.w[r]
            target = z
            left = max(0.0, 1.0 - w @ z)
            if loss > 0.0 and w.any():
                target = z + left / (w @ w) * w
            for i in range(self.h):
                j = p[i].argmax() if self.select == "winner" else np.abs(target[i] - p[i]).argmin()
                e = target[i] - p[i, j]
                self.u[i, j] += np.sign(e) * min(self.C_r * weight, max(abs(e) - self.epsilon, 0.0)) * row
        self.updates += (self.u != before[0]).any() or (self.w != before[1]).any()
        self.seen += 1
        if not far:
            self.known.append(np.array(x, float))
        self.iterates.append((self.u.copy(), self.w.copy()))
        self.set_marks()
