"""How far to move: the step sizes of passive-aggressive learning.

For a row with loss ℓ and direction v, ‖v‖² = q, the new weights are w + τv, the solution of

====== ========================================== ==========================
step   problem                                    τ
====== ========================================== ==========================
pa     min ½‖w − w_t‖²  s.t. loss = 0             ℓ / q
pa1    min ½‖w − w_t‖² + C ξ,  loss ≤ ξ, ξ ≥ 0    min(C, ℓ / q)
pa2    min ½‖w − w_t‖² + C ξ²,  loss ≤ ξ          ℓ / (q + 1/(2C))
ls     min ½‖w − w_t‖² + C r²,  residual = r      r_t / (q + 1/(2C)), signed
ogd    no problem of its own: a step of C down    C where ℓ > 0
       the slope of the loss
====== ========================================== ==========================

A weight s on the row scales C and nothing else. For a row that was divided by m, ℓ and q are those of the divided row,
and the same solution reads with C·m for pa1 and ogd and C·m² for pa2 and ls: multiplicative learners divide rows.

A user's step (``engine.user_steps``) has a number of its own, and the settings hold the address of its compiled
function beside it. So all steps share the kernels of the pass.
"""

from __future__ import annotations

from enum import IntEnum

from aggro.engine.jit.compile import inline
from aggro.engine.jit.functions import call_function


class Step(IntEnum):
    """The built-in steps. Integers, because Numba caches those and not functions."""

    PA = 0
    PA1 = 1
    PA2 = 2
    LS = 3
    OGD = 4


PA, PA1, PA2, LS, OGD = (int(step) for step in Step)
PASSIVE_AGGRESSIVE = (Step.PA, Step.PA1, Step.PA2, Step.LS)  # those that solve a problem


OWN_HINGED, OWN_SIGNED = 5, 6  # users' steps, with a hinge and without: see ``engine.user_steps``


@inline
def has_hinge(step):
    """Whether rows without loss are passed over."""
    return step != LS and step != OWN_SIGNED


@inline
def is_own(step):
    """Whether this is the number of a user's step."""
    return step >= OWN_HINGED


@inline
def step_size(step, loss, q, C, m):
    """τ of a built-in step for a row that was divided by m; 1.0 for a row as it is."""
    if step == PA:
        return loss / q
    if step == PA1:
        return min(C * m, loss / q)
    if step == OGD:
        return C * m if loss > 0.0 else 0.0
    return loss / (q + 0.5 / (C * m * m))


@inline
def own_step_size(address, loss, q, C):
    """τ of a user's step, by the address of its function, for a row as it is."""
    return call_function(address, loss, q, C, 1.0)
