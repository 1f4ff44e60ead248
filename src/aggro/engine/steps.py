"""How far to move: the step sizes of passive-aggressive learning.

For a row with loss ℓ and direction v, ‖v‖² = q, the new weights are w + τv, the solution of

====== ========================================== ==========================
step   problem                                    τ
====== ========================================== ==========================
pa     min ½‖w − w_t‖²  s.t. loss = 0             ℓ / q
pa1    min ½‖w − w_t‖² + C ξ,  loss ≤ ξ, ξ ≥ 0    min(C, ℓ / q)
pa2    min ½‖w − w_t‖² + C ξ²,  loss ≤ ξ          ℓ / (q + 1/(2C))
ls     min ½‖w − w_t‖² + C r²,  residual = r      r_t / (q + 1/(2C)), signed
====== ========================================== ==========================

A weight s on the row scales C and nothing else. When the row was divided by m (see ``rows``), ℓ and
q are those of the divided row and the same solution reads with C·m for pa1 and C·m² for pa2 and ls.
"""

from __future__ import annotations

from enum import IntEnum

from aggro.engine.compile import inline

__all__ = ["Step", "step_size"]


class Step(IntEnum):
    """The built-in steps. Integers, because Numba caches those and not functions."""

    PA = 0
    PA1 = 1
    PA2 = 2
    LS = 3


PA, PA1, LS = int(Step.PA), int(Step.PA1), int(Step.LS)


@inline
def step_size(step, loss, q, C, m):
    """τ for a row that was divided by m (1.0 for a row as it is)."""
    if step == PA:
        return loss / q
    if step == PA1:
        return min(C * m, loss / q)
    return loss / (q + 0.5 / (C * m * m))
