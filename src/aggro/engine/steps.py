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

A step of one's own (``engine.user_steps``) stands where a built-in step's number does, as a tuple of a type of its
own, by which Numba finds its function when it compiles the pass.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

from aggro.engine.jit.choice import chosen_by_type
from aggro.engine.jit.compile import inline


class Step(IntEnum):
    """The built-in steps. Integers, because Numba caches those and not functions."""

    PA = 0
    PA1 = 1
    PA2 = 2
    LS = 3
    OGD = 4


PA, PA1, PA2, LS, OGD = (int(step) for step in Step)
PASSIVE_AGGRESSIVE = (Step.PA, Step.PA1, Step.PA2, Step.LS)  # those that solve a problem


class OwnCode(NamedTuple):
    """What the settings hold for a step of one's own; each step has a subclass, a type to itself."""

    hinge: int


OWN_SIZES: dict[type | None, Any] = {}  # by that type: the compiled (step, loss, q, C, m) -> τ


@inline
def has_hinge(step):
    """Whether rows without loss are passed over."""
    if hasattr(step, "hinge"):
        return step.hinge != 0
    else:
        return step != LS


@inline
def built_in_size(step, loss, q, C, m):
    """τ of a step of this file."""
    if step == PA:
        return loss / q
    if step == PA1:
        return min(C * m, loss / q)
    if step == OGD:
        return C * m if loss > 0.0 else 0.0
    return loss / (q + 0.5 / (C * m * m))


# τ for a row that was divided by m (1.0 for a row as it is): (step, loss, q, C, m) -> τ
step_size = chosen_by_type("step_size", lambda kind: OWN_SIZES.get(kind, built_in_size))
