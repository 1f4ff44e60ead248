"""A literal slow twin of local online learning: rows kept, distances by NumPy, iterates summed up."""

from __future__ import annotations

import numpy as np
from helpers.moments import transformed


def tau(step, loss, q, C):
    return {"pa": loss / q, "pa1": min(C, loss / q), "pa2": loss / (q + 0.5 / C)}[step]


class Local:
    """Vectors are by class, in the order of appearance; there are two from the start."""

    def __init__(self, width, *, n_prototypes, C=1.0, step="pa1", lam=3.0, fit_intercept=True, normalize=True,
                 scale=True, average=True):  # fmt: skip
        self.K, self.C, self.step, self.share = n_prototypes, C, step, 1.0 / lam
        self.fit_intercept, self.normalize, self.scale, self.average = fit_intercept, normalize, scale, average
        self.width = width
        self.rows, self.classes = [], []
        self.known = []  # rows that are among the moments
        self.members = []  # the rows of each prototype
        self.w, self.u = [self.zeros(), self.zeros()], []  # u: by place, then by class
        self.w_sum, self.u_sum = [self.zeros(), self.zeros()], []
        self.updates = self.mistakes = 0
        self.losses = []

    def zeros(self):
        return np.zeros(self.width + 1)

    def seen(self, x):
        """The row as it is scored, and the deviations that distances are measured in."""
        if self.scale:
            known = np.array(self.known).reshape(-1, self.width)
            spread = known.std(axis=0) * (np.ptp(known, axis=0) > 0.0) if len(known) else np.zeros(self.width)
            unit = np.where(spread > 0.0, spread, np.inf)
            z = transformed("standard", known, np.array(x))[0]
        else:
            unit, z = np.ones(self.width), np.array(x)
        z = np.append(z, float(self.fit_intercept))
        norm = np.linalg.norm(z)
        return z / norm if self.normalize and norm > 0.0 else z, unit

    def nearest(self, x, unit):
        gaps = [np.sum(((x - np.mean(rows, axis=0)) / unit) ** 2) for rows in self.members]
        return (int(np.argmin(gaps)), min(gaps)) if gaps else (None, np.inf)

    def scores(self, x, mean):
        z, unit = self.seen(x)
        place, _ = self.nearest(x, unit)
        n = max(len(self.rows), 1)
        found = []
        for c in range(len(self.w)):
            w = self.w_sum[c] / n if mean else self.w[c]
            u = 0.0 if place is None else self.u_sum[place][c] / n if mean else self.u[place][c]
            found.append(float((w + u) @ z))
        return found

    def learn(self, x, label, s=1.0):
        new = label not in self.classes
        if new:
            self.classes.append(label)
        if len(self.classes) > len(self.w):
            for table in (self.w, self.w_sum, *self.u, *self.u_sum):
                table.append(self.zeros())
        c = self.classes.index(label)
        live = max(len(self.classes), 2)
        shown = self.scores(x, self.average and len(self.rows) > 0)
        rest = [k for k in range(live) if k != c]
        self.losses.append(max(0.0, 1.0 - (shown[c] - max(shown[k] for k in rest))))
        alone = len(self.classes) == 1
        self.mistakes += new or (not alone and max(shown[k] for k in rest) >= shown[c])
        far = transformed("standard", np.array(self.known), np.array(x))[1]
        if far:  # it is learned with itself counted
            self.known.append(np.array(x))
        own = self.scores(x, False)
        z, unit = self.seen(x)
        place, gap = self.nearest(x, unit)
        if len(self.members) < self.K and gap > 0.0:
            like, like_sum = (self.u[place], self.u_sum[place]) if place is not None else (self.w, self.w_sum)
            blank = place is None
            self.u.append([self.zeros() if blank else v.copy() for v in like])
            self.u_sum.append([self.zeros() if blank else v.copy() for v in like_sum])
            self.members.append([])
            place = len(self.members) - 1
        self.members[place].append(np.array(x))
        self.rows.append(np.array(x))
        if not far:
            self.known.append(np.array(x))
        r = max(rest, key=lambda k: (own[k], -k))
        loss, q = 1.0 - (own[c] - own[r]), (1.0 + self.share) * (z @ z)
        if loss > 0.0 and q > 0.0:
            step = tau(self.step, loss, q, self.C * s)
            for k, sign in ((c, 0.5), (r, -0.5)):
                self.u[place][k] = self.u[place][k] + sign * step * z
                self.w[k] = self.w[k] + sign * step * self.share * z
            self.updates += 1
        for table, sums in zip((self.w, *self.u), (self.w_sum, *self.u_sum), strict=True):
            for k, v in enumerate(table):
                sums[k] = sums[k] + v

    def decision(self, x):
        """By sorted class; for two the second against the first."""
        found = self.scores(x, self.average)
        order = sorted(range(len(self.classes)), key=lambda k: self.classes[k])
        return np.array([found[k] for k in order]) if len(order) > 2 else found[order[1]] - found[order[0]]
