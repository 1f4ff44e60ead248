"""The problems of the paper on one stream: what the theorems need to know of it, and nothing of a learner.

With x̃ the row (a constant 1 appended where there is an intercept), a vector w has on row t

=============== ================ ============== ===========================
problem         discrepancy δ_t  edge ε         direction v_t = −∇δ_t
=============== ================ ============== ===========================
classification  −y f             −m, the margin y x̃
regression      |y − f|          ε              sign(y − f) x̃
uniclass        ‖x − w‖          the radius     (x − w)/‖x − w‖
=============== ================ ============== ===========================

and the loss ℓ_t = [δ_t − ε]₊. Every δ_t is convex in w, and the theorems need no more than that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

DENSE_NUMBERS = 2**22  # numbers of a sparse matrix that are made dense at a time
TINIEST_FLOAT = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class Problem:
    """A stream and an edge ε. Vectors have ``size`` weights, and then the intercept where there is one."""

    X: Any  # (n, d): an array, or a scipy CSR matrix
    y: np.ndarray  # ±1, or numbers; of no meaning to uniclass
    edge: float
    size: int  # d, or more: weights beyond the columns of X are those of features that are 0 here
    bias: float = 0.0  # 1.0 with an intercept

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def length(self) -> int:
        """Numbers in a vector."""
        return self.size + int(self.bias)

    def scores(self, w: np.ndarray) -> np.ndarray:
        """f of every row."""
        f: np.ndarray = self.X @ w[: self.X.shape[1]]
        return f + w[-1] if self.bias else f

    def add_up(self, a: np.ndarray) -> np.ndarray:
        """Σ_t a_t x̃_t."""
        total = np.zeros(self.length)
        total[: self.X.shape[1]] = self.X.T @ a
        if self.bias:
            total[-1] = a.sum()
        return total

    def norms(self) -> np.ndarray:
        """‖v_t‖², the same for every w; infinity where it is no float."""
        return squares(self.X) + self.bias

    def largest(self) -> np.ndarray:
        """‖x̃_t‖∞."""
        top = abs(self.X).max(axis=1)
        dense = np.asarray(top.todense() if hasattr(top, "todense") else top, np.float64)
        return np.maximum(dense.ravel(), self.bias)

    def sizes(self, w: np.ndarray) -> np.ndarray:
        """The size of what is added and subtracted to find δ_t(w): its rounding is a small part of this."""
        # Σ|x_j w_j| bounds the terms of the score; rounding errors are a share of that.
        sums: np.ndarray = abs(self.X) @ abs(w[: self.X.shape[1]])
        return sums + (abs(w[-1]) if self.bias else 0.0) + abs(self.edge)

    def discrepancies(self, w: np.ndarray) -> np.ndarray:
        """δ_t(w)."""
        raise NotImplementedError

    def losses(self, w: np.ndarray) -> np.ndarray:
        """ℓ_t(w)."""
        return np.maximum(0.0, self.discrepancies(w) - self.edge)

    def pull(self, w: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Σ_t a_t v_t(w)."""
        raise NotImplementedError

    def along(self, w: np.ndarray, p: np.ndarray) -> np.ndarray:
        """v_t(w)·p of every row."""
        raise NotImplementedError

    def directions(self, w: np.ndarray, which: np.ndarray) -> np.ndarray:
        """v_t(w) of some rows, dense."""
        raise NotImplementedError

    def dense(self, which: np.ndarray) -> np.ndarray:
        """x̃_t of some rows."""
        rows = np.zeros((which.shape[0], self.length))
        chosen = self.X[which]
        rows[:, : self.X.shape[1]] = chosen.toarray() if hasattr(chosen, "toarray") else chosen
        if self.bias:
            rows[:, -1] = 1.0
        return rows


class Classification(Problem):
    """Two classes, y = ±1."""

    def discrepancies(self, w: np.ndarray) -> np.ndarray:
        negated: np.ndarray = -self.y * self.scores(w)
        return negated

    def pull(self, w: np.ndarray, a: np.ndarray) -> np.ndarray:
        return self.add_up(a * self.y)

    def along(self, w: np.ndarray, p: np.ndarray) -> np.ndarray:
        products: np.ndarray = self.y * self.scores(p)
        return products

    def directions(self, w: np.ndarray, which: np.ndarray) -> np.ndarray:
        rows: np.ndarray = self.y[which, None] * self.dense(which)
        return rows


class Regression(Problem):
    """Numbers to predict."""

    def discrepancies(self, w: np.ndarray) -> np.ndarray:
        distances: np.ndarray = np.abs(self.y - self.scores(w))
        return distances

    def sizes(self, w: np.ndarray) -> np.ndarray:
        sums: np.ndarray = super().sizes(w) + np.abs(self.y)
        return sums

    def pull(self, w: np.ndarray, a: np.ndarray) -> np.ndarray:
        return self.add_up(a * self.signs(w))

    def along(self, w: np.ndarray, p: np.ndarray) -> np.ndarray:
        products: np.ndarray = self.signs(w) * self.scores(p)
        return products

    def directions(self, w: np.ndarray, which: np.ndarray) -> np.ndarray:
        rows: np.ndarray = self.signs(w)[which, None] * self.dense(which)
        return rows

    def signs(self, w: np.ndarray) -> np.ndarray:
        return np.where(self.y >= self.scores(w), 1.0, -1.0)


class Uniclass(Problem):
    """One class: w is a centre that all rows should be near."""

    def norms(self) -> np.ndarray:
        return np.ones(self.n_rows)

    def sizes(self, w: np.ndarray) -> np.ndarray:
        lengths: np.ndarray = np.sqrt(squares(self.X)) + np.linalg.norm(w)
        return lengths + abs(self.edge)

    def discrepancies(self, w: np.ndarray) -> np.ndarray:
        # Weights beyond the columns of X belong to features that are 0 in all rows: their part is ‖w_rest‖.
        near = np.concatenate([np.linalg.norm(block - w[: block.shape[1]], axis=1) for block in self.blocks()])
        far: np.ndarray = np.hypot(near, np.linalg.norm(w[self.X.shape[1] :]))
        return far

    def pull(self, w: np.ndarray, a: np.ndarray) -> np.ndarray:
        # v = (x − w)/‖x − w‖; a row at the centre itself has no direction, and the floor avoids 0/0.
        shares = a / np.maximum(self.discrepancies(w), TINIEST_FLOAT)
        return self.add_up(shares) - float(shares.sum()) * w

    def along(self, w: np.ndarray, p: np.ndarray) -> np.ndarray:
        products: np.ndarray = (self.scores(p) - w @ p) / np.maximum(self.discrepancies(w), TINIEST_FLOAT)
        return products

    def directions(self, w: np.ndarray, which: np.ndarray) -> np.ndarray:
        away: np.ndarray = self.dense(which) - w
        away /= np.maximum(np.linalg.norm(away, axis=1, keepdims=True), TINIEST_FLOAT)
        return away

    def blocks(self) -> Iterator[np.ndarray]:
        """The rows, dense, some at a time: differences of sparse rows and a dense centre are dense."""
        if not hasattr(self.X, "toarray"):
            yield self.X
            return
        # So many rows at a time that their dense form has a bounded size.
        step = max(1, DENSE_NUMBERS // self.X.shape[1])
        for start in range(0, self.n_rows, step):
            yield self.X[start : start + step].toarray()


def squares(X: Any) -> np.ndarray:
    """‖x_t‖² of every row."""
    with np.errstate(over="ignore", under="ignore"):
        sums = X.power(2).sum(axis=1) if hasattr(X, "power") else np.einsum("ij,ij->i", X, X)
    return np.asarray(sums, np.float64).ravel()
