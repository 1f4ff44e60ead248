"""The step towards a prototype: what all learners with class means share.

A row (x, y = ±1) asks for weights that are near to those before, near to a prototype m̃, and right about the row:

    min ½‖w − w_t‖² + (γ/2)‖w − m̃‖² + Cξ   s.t.  y w·x ≥ 1 − ξ,  ξ ≥ 0                       (``pam1``)

with ξ = 0 for ``pam`` and Cξ² for ``pam2``. With ν = (1 − y w_t·x) + γ(1 − y m̃·x) and q = ‖x‖² the solution is

    w = (w_t + γm̃ + αyx)/(1 + γ),   α = [ν/q]₊,  [min(C, ν/q)]₊  or  [ν/(q + (1 + γ)/(2C))]₊.

The prototype is the difference of the two classes' means (or of their sums), times a scale, of all rows so far, this
one among them. Only a row with loss, y w_t·x < 1, makes a step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggro.engine.jit.compile import inline
from aggro.engine.steps import PA, PA1


class MeansParams(NamedTuple):
    """The numbers of a learner with class means."""

    step: int  # of engine.steps: pa for pam, pa1 for pam1, pa2 for pam2
    C: float
    gamma: float
    scale: float
    mean: int  # whether the prototype is made of means, or of sums
    bias: float  # 1.0 with an intercept, else 0.0
    average: int
    counting: int  # whether rows are summed; not in later passes over the same rows
    queue: int  # how many classifiers are kept, 0 for no queue
    ages: np.ndarray  # what each counts, the newest first; size 0 if all count the same


@inline
def share(params, n):
    """What the prototype takes of the sum of a class of n rows."""
    return params.scale / max(n, 1.0) if params.mean else params.scale


@inline
def pull(params, left, proto, sign, q, s):
    """α for a row: ``left`` is its loss, ``proto`` its product with the prototype."""
    nu = left + params.gamma * (1.0 - sign * proto)
    if not nu > 0.0:
        return 0.0
    C = params.C * s
    if params.step == PA:
        return nu / q
    if params.step == PA1:
        return min(C, nu / q)
    return nu / (q + (1.0 + params.gamma) * 0.5 / C)
