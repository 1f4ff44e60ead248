"""Mini-batches: how the problem of a group of rows is posed and solved, for linear and for kernel learners.

A group of n rows asks for the smallest move of the weights that gets all of them right. Its solution is Σβ_k x̃_k, with
β as in ``engine.solve.box_qp``, whose words are used here. A row should have the score ``aim``: a number within ε, or
±margin, where only one side of it is a loss. Its β is limited by C (pa1) or softened by 1/(2C) (pa2 and ls).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggro.engine.jit.compile import exact, inline, python_too
from aggro.engine.solve.box_qp import box_qp, qp_room, ridge_solve
from aggro.engine.steps import LS, PA1

BATCH_ROUNDING = 1e-12
u8 = np.uint64


class Posed(NamedTuple):
    """The problem of a group: views of a rule's work space, a number for each row."""

    G: np.ndarray  # (n, n): products of the rows
    ridge: np.ndarray
    edge: np.ndarray  # ε
    r: np.ndarray  # what the score of each row lacks
    lo: np.ndarray
    hi: np.ndarray
    beta: np.ndarray  # the solution
    work: np.ndarray  # what the solver needs


@python_too
def posed_room(n):
    """How many numbers of work space the problem of n rows needs."""
    return n * n + 6 * n + qp_room(n)


@inline
def posed_in(space, n):
    """The problem of n rows in this work space; for pieces alone, since kernels count the references to views."""
    lines, work = space[n * n : n * n + u8(6) * n].reshape((u8(6), n)), space[n * n + u8(6) * n :]
    G = space[: n * n].reshape((n, n))
    return Posed(G, lines[0], lines[1], lines[2], lines[3], lines[4], lines[5], work)


@exact
def wanted(is_number, y, edge, column, alone):
    """The score that a row should have, and the sign that its β must have, 0 for any.

    ``alone`` says that one vector serves two classes; else ``column`` is the class of the vector.
    """
    if is_number:
        return y, 0.0
    sign = 1.0 if (y == 1.0 if alone else u8(y) == column) else -1.0
    return sign * edge, sign


@exact
def limits(step, sign, C):
    """The ridge, the least and the largest β of a row; C is multiplied by the row's weight."""
    # Slack enters once (pa1) as a cap on β, or squared (pa2, ls) as a ridge.
    ridge = 0.0 if step == PA1 else 0.5 / C
    cap = C if step == PA1 else np.inf
    return ridge, -cap if sign <= 0.0 or step == LS else 0.0, cap if sign >= 0.0 or step == LS else 0.0


@exact
def at_margin(step, r, size, edge):
    """Whether a row is at its margin but for rounding, as a window's rows are; ``size`` is of its aim and score."""
    return step != LS and abs(abs(r) - edge) <= BATCH_ROUNDING * size


@exact
def ask(posed, k, step, r, size, edge, sign, C):
    """Row k lacks r of the score that it should have."""
    posed.edge[k] = edge
    posed.ridge[k], posed.lo[k], posed.hi[k] = limits(step, sign, C)
    # Set to the exact margin: rounding must not make a row that is right ask for a tiny step.
    if at_margin(step, r, size, edge):
        r = edge if r > 0.0 else -edge
    posed.r[k] = r


@inline
def solve(posed, n, step):
    """Find β."""
    # Without a hinge there are no bounds, so it is one system of equations.
    if step == LS:
        ridge_solve(n, posed.G, posed.ridge, posed.r, posed.beta, posed.work)
    else:
        box_qp(n, posed.G, posed.ridge, posed.r, posed.edge, posed.lo, posed.hi, posed.beta, posed.work)
