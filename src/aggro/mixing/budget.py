"""More support vectors than a budget allows, brought down to it.

A learner lets go of one row at a time, and learns on. Here most of the rows go at once, and what they stood for would
go with them. So the learner's policy only says which rows there are afterwards, and of all functions of these the one
is taken that is nearest to f = Σ_i α_i k̃(x_i, ·): with s those rows, K̃ the kernel of rows with rows, and Λ = 1e-5 of
the diagonal,

    β = (K̃_ss + Λ)⁻¹ K̃_si α

for each problem of each γ, and for their means alike.

================== ==================================================================================================
policy             the rows there are afterwards
================== ==================================================================================================
oldest             those that came last
random             any, by the seed
smallest, project  those with the largest ‖α_i φ(x_i)‖²
merge              rows between two, as in ``learners.kernel.budget``: each of the smallest, at most half of all at a
                   time, is merged with a partner of its own, that with which it loses least; and so on
================== ==================================================================================================

Learners with a method of their own have the policy that is nearest to it: Forgetron "oldest", BPA-S and Projectron
"smallest". BOGD draws its rows or has the largest; its coefficients are cut as ever. (Measured with "merge", a budget
of 100, 4 partitions and three classes: 10 % errors with the nearest function, 21 % with the coefficients of merging.)

A kernel that is no inner product (sigmoid) or not known here (a user's function) has no nearest function, and budgets
above ``MOST_SOLVED`` would take too long: there the part of what goes is lost. Of a centre, whose coefficients sum to
1, it is lost as well, and the others are scaled, as its learner does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, diags, vstack

from aggro.engine.kernel_functions import (
    COSINE_KERNEL,
    GIVEN_MATRIX,
    LARGEST_POWER,
    LINEAR_KERNEL,
    POLY_KERNEL,
    RBF_KERNEL,
    SIGMOID_KERNEL,
    kernel_matrix,
)
from aggro.learners.kernel.budget import MERGE, OLDEST, PROJECTION_RIDGE, RANDOM_ONE
from aggro.learners.kernel.support_set import OUTLIER_TASK, SPARSE_FROM

MOST_SOLVED = 4096  # rows that stay, up to which those that go are projected onto them
KERNEL_VALUES_AT_ONCE = 2**22  # kernel values at a time
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)


class Held(NamedTuple):
    """Support vectors as NumPy reads them."""

    rows: csr_matrix
    last: np.ndarray  # (rows, problems, members): coefficients of the last iterates,
    means: np.ndarray  # and of their means; the same where there is none
    born: np.ndarray  # (rows,)
    own: np.ndarray  # (rows,): k̃(x, x)

    def some(self, which: Any) -> Held:
        """Those of them."""
        return Held(self.rows[which], self.last[which], self.means[which], self.born[which], self.own[which])


class Space:
    """The space of a kernel: inner products k̃ of rows, with the γ of each member."""

    def __init__(self, params: Any, gamma: float, member: int) -> None:
        self.kind, self.bias, self.coef0, self.degree = params.kind, params.bias, params.coef0, int(params.degree)
        # Members multiply one γ; 0 stands for a kernel without γ, and any number does there.
        self.gammas = (gamma or 1.0) * params.members[0]
        self.member = member  # the one that predicts

    @property
    def projects(self) -> bool:
        """Whether functions can be projected."""
        return self.kind not in (GIVEN_MATRIX, SIGMOID_KERNEL)

    def products(self, m: int, X: csr_matrix, Z: csr_matrix) -> np.ndarray:
        """k̃ of every row of X with every row of Z."""
        few: list[Any] = [X, Z]
        # Dense products are faster while rows are short.
        if X.shape[1] <= SPARSE_FROM:
            few = [X.toarray(), Z.toarray()]
        return np.asarray(kernel_matrix(self.kind, self.gammas[m], self.coef0, self.degree, *few) + self.bias)

    def of(self, m: int, dot: Any, q: Any, norm: Any) -> np.ndarray:
        """k̃ from x·z, ‖x‖² and ‖z‖²."""
        with np.errstate(over="ignore"):
            if self.kind == RBF_KERNEL:
                # Rounding may make a squared distance negative; exp would then be above 1.
                k = np.exp(-self.gammas[m] * np.maximum(q + norm - 2.0 * dot, 0.0))
            elif self.kind == LINEAR_KERNEL:
                k = dot
            elif self.kind == COSINE_KERNEL:
                k = dot / np.maximum(np.sqrt(q) * np.sqrt(norm), 1e-300)
            else:
                base = self.gammas[m] * dot + self.coef0
                k = base**self.degree if self.kind == POLY_KERNEL else np.tanh(base)
        return np.asarray(np.clip(k, -LARGEST_POWER, LARGEST_POWER) + self.bias)

    def own(self, norms: np.ndarray) -> np.ndarray:
        """k̃(x, x), by the γ that predicts."""
        return self.of(self.member, norms, norms, norms)


def norms_of(rows: csr_matrix) -> np.ndarray:
    """‖x‖² of each row."""
    return np.asarray(rows.multiply(rows).sum(axis=1), np.float64).ravel()


def brought_down(held: Held, space: Space, params: Any) -> Held:
    """As many as the budget allows."""
    budget = int(params.budget)
    if not budget or held.born.shape[0] <= budget:
        return held
    # Which rows there are afterwards is the policy's choice; their coefficients follow below.
    if params.policy == MERGE:
        few = merged(held, space, budget)
    else:
        few = held.some(those_that_stay(held, params, budget))
    # The coefficients of a centre sum to 1.
    if params.task == OUTLIER_TASK:
        total = float(few.last.sum())
        return few._replace(last=few.last / total, means=few.last / total) if total > 0.0 else few
    return projected(held, space, few) if space.projects and budget <= MOST_SOLVED else few


def sizes_of(held: Held) -> np.ndarray:
    """‖α_i φ(x_i)‖², summed over problems and members."""
    return np.asarray((held.last**2).sum(axis=(1, 2)) * np.abs(held.own))


def those_that_stay(held: Held, params: Any, budget: int) -> np.ndarray:
    """The numbers of the rows that stay, ascending."""
    n = held.born.shape[0]
    if params.policy == OLDEST:
        return np.arange(n - budget, n)  # rows are in the order in which they came
    if params.policy == RANDOM_ONE:
        order = np.lexsort((norms_of(held.rows), held.born))  # which does not depend on that of the features
        # The seed draws from rows in an order of their own, so the choice does not depend on the partitions.
        return np.sort(order[np.random.default_rng(int(params.seed) % 2**63).permutation(n)[:budget]])
    # Stable: among equals the older rows stay.
    return np.sort(np.argsort(-sizes_of(held), kind="stable")[:budget])


def projected(held: Held, space: Space, onto: Held) -> Held:
    """The function of the rows that are held, projected onto others; these have a share of it already."""
    # Kernel values are computed in blocks of bounded size.
    step = max(1, KERNEL_VALUES_AT_ONCE // onto.born.shape[0])
    last, means = onto.last.copy(), onto.means.copy()
    for m in range(last.shape[2]):
        # Last iterates and means are solved for together: the matrix is the same.
        both = np.concatenate([held.last[:, :, m], held.means[:, :, m]], axis=1)
        K = space.products(m, onto.rows, onto.rows)
        # The rows that stay have their own coefficients; only what is missing from f is projected.
        part = -K @ np.concatenate([last[:, :, m], means[:, :, m]], axis=1)
        for a in range(0, both.shape[0], step):
            part += space.products(m, onto.rows, held.rows[a : a + step]) @ both[a : a + step]
        # Λ: without the ridge nearly equal rows would get huge opposite coefficients.
        K[np.diag_indices_from(K)] *= 1.0 + PROJECTION_RIDGE
        more = np.linalg.lstsq(K, part, rcond=None)[0] if _is_singular(K) else np.linalg.solve(K, part)
        # If the system could not be solved, the coefficients stay as they are.
        if np.isfinite(more).all():
            last[:, :, m] += more[:, : last.shape[1]]
            means[:, :, m] += more[:, last.shape[1] :]
    return onto._replace(last=last, means=means)


def _is_singular(K: np.ndarray) -> bool:
    """Whether a row of zeros is among those of a linear kernel: nothing can be divided by its norm."""
    return bool((np.diagonal(K) <= 0.0).any())


# Merging --------------------------------------------------------------------------------------------------------


class Pairs(NamedTuple):
    """What the loss of merging depends on, as in ``learners.kernel.merge``: arrays of pairs of rows."""

    norm_m: np.ndarray
    norm_n: np.ndarray
    dot: np.ndarray
    mm: np.ndarray
    mn: np.ndarray
    nn: np.ndarray


def merged(held: Held, space: Space, budget: int) -> Held:
    """Rows merged two by two, until there are no more than the budget allows."""
    while (n := held.born.shape[0]) > budget:
        order = np.argsort(sizes_of(held), kind="stable")
        # Each small row takes a partner of its own, so at most half can go at a time.
        few = min(n - budget, n // 2)
        small, others = order[:few], np.sort(order[few:])
        held = merged_once(held, space, small, others)
    return held


def merged_once(held: Held, space: Space, small: np.ndarray, others: np.ndarray) -> Held:
    """Each of the small ones goes, and another one becomes the row between both."""
    norms, flat = norms_of(held.rows), held.last.reshape(held.born.shape[0], -1)
    partners, near = partners_of(held, space, small, others, norms, flat)
    dot = np.asarray(held.rows[small].multiply(held.rows[partners]).sum(axis=1)).ravel()
    m, n = flat[small], flat[partners]
    pairs = Pairs(norms[small], norms[partners], dot, (m * m).sum(axis=1), (m * n).sum(axis=1), (n * n).sum(axis=1))
    # One h for all problems and members: the row between both is one row.
    h = best_mixtures(space, pairs, near)
    last, means = held.last.copy(), held.means.copy()
    found = np.ones(h.shape[0], bool)
    for k in range(last.shape[2]):
        with_m, with_n, square, _ = between(space, k, pairs, h)
        # A row of norm 0 cannot carry a coefficient; such pairs are not mixed.
        found &= square > 0.0
        square = np.where(square > 0.0, square, 1.0)
        for coef in (last, means):
            both = coef[small, :, k] * with_m[:, None] + coef[partners, :, k] * with_n[:, None]
            coef[partners, :, k] = both / square[:, None]
    # h = 0 leaves the partner as it is.
    keeps = np.where(found, h, 0.0)
    # Where nothing was found, the partner keeps its coefficients and the small row is lost.
    last[partners[~found]], means[partners[~found]] = held.last[partners[~found]], held.means[partners[~found]]
    new = diags(keeps) @ held.rows[small] + diags(1.0 - keeps) @ held.rows[partners]
    place = np.arange(held.born.shape[0])
    # New rows stand behind the old ones, and take the partners' places in the order of age.
    place[partners] = held.born.shape[0] + np.arange(partners.shape[0])  # behind the others
    rows = csr_matrix(vstack([held.rows, new], format="csr")[place[others]])
    rows.eliminate_zeros()
    rows.sort_indices()
    return Held(rows, last[others], means[others], held.born[others], space.own(norms_of(rows)))


def partners_of(
    held: Held, space: Space, small: np.ndarray, others: np.ndarray, norms: np.ndarray, flat: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """For each small row, from the smallest on, the free one that loses least; and with which of five h."""
    partners, near = np.zeros(small.shape[0], np.int64), np.zeros(small.shape[0])
    free = np.zeros(others.shape[0])  # infinite for those that have a partner
    theirs, nn = flat[others], (flat[others] ** 2).sum(axis=1)
    step = max(1, KERNEL_VALUES_AT_ONCE // (4 * others.shape[0]))
    for a in range(0, small.shape[0], step):
        mine = small[a : a + step]
        dot = held.rows[mine] @ held.rows[others].T
        mm = (flat[mine] ** 2).sum(axis=1)[:, None]
        pairs = Pairs(norms[mine][:, None], norms[others], dot.toarray(), mm, flat[mine] @ theirs.T, nn)
        k = space.of(space.member, pairs.dot, pairs.norm_m, pairs.norm_n)
        # ‖α_m φ(x_m) + α_n φ(x_n)‖², of which `kept` is what one row can express; the rest is the loss.
        both = mm * held.own[mine][:, None] + 2.0 * pairs.mn * k + nn * held.own[others]
        losses = np.array([both - kept(space, pairs, h) for h in QUARTERS])
        # Five values of h find the right valley; golden sections refine it later.
        which, least = losses.argmin(axis=0), losses.min(axis=0)
        # From the smallest on: later rows choose among the partners that are still free.
        for i in range(mine.shape[0]):
            j = int(np.argmin(least[i] + free))
            partners[a + i], near[a + i], free[j] = others[j], QUARTERS[which[i, j]], np.inf
    return partners, near


def between(space: Space, m: int, pairs: Pairs, h: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """k̃(x_m, z), k̃(x_n, z), k̃(z, z) and ‖z‖² for z = h x_m + (1 − h) x_n."""
    rest = 1.0 - h
    # x_m·z and x_n·z are linear in h, so z itself need not be made.
    dot_m, dot_n = h * pairs.norm_m + rest * pairs.dot, h * pairs.dot + rest * pairs.norm_n
    norm = np.maximum(h * dot_m + rest * dot_n, 0.0)
    with_m, with_n = space.of(m, dot_m, norm, pairs.norm_m), space.of(m, dot_n, norm, pairs.norm_n)
    return with_m, with_n, space.of(m, norm, norm, norm), norm


def kept(space: Space, pairs: Pairs, h: Any) -> np.ndarray:
    """What z keeps of both parts."""
    with_m, with_n, own, _ = between(space, space.member, pairs, h)
    # ⟨f, φ(z)⟩²/k̃(z, z): the square of the projection onto z.
    both = pairs.mm * with_m * with_m + 2.0 * pairs.mn * with_m * with_n + pairs.nn * with_n * with_n
    return np.where(own > 0.0, both / np.where(own > 0.0, own, 1.0), 0.0)


def best_mixtures(space: Space, pairs: Pairs, near: np.ndarray) -> np.ndarray:
    """The h that keep most, by golden sections around ``near``, as multiples of 1/1024."""
    low, high = np.maximum(near - 0.25, 0.0), np.minimum(near + 0.25, 1.0)
    # 0.618¹⁶ of a width of at most ½ is below 1/1024, to which h is rounded.
    for _ in range(16):
        width = (high - low) * GOLDEN
        left, right = high - width, low + width
        lower = kept(space, pairs, left) >= kept(space, pairs, right)
        high, low = np.where(lower, right, high), np.where(lower, low, left)
    # Multiples of 1/1024 are exact floats, so that mixed rows have the same bits everywhere.
    h = np.round(512.0 * (low + high)) / 1024.0
    # The search is local; the start wins where it was better.
    return np.where(kept(space, pairs, h) <= kept(space, pairs, near), near, h)
