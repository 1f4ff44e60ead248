"""Seeds of states that began as one: all must have the same, or what they drew by it does not go together.

They are whole numbers of up to 63 bits, more than a float holds, and so come in halves.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from aggro.mixing.parts import Parts, Value, least, most

HALF_BITS = 32


def take_seed(seed: int) -> Parts:
    """The parts of a seed."""
    halves = np.array([float(seed >> HALF_BITS), float(seed & (2**HALF_BITS - 1))])
    return {"seed.least": least(halves, "."), "seed.most": most(halves, ".", -np.inf)}


def put_seed(values: Mapping[str, Value], what: str) -> int:
    """The seed of all; ``what`` they are, and what they drew by it, is said if there are several."""
    halves = values["seed.least"].high
    # Least and most agree only if all seeds are the same.
    if not np.array_equal(halves, values["seed.most"].high):
        raise ValueError(
            f"{what} are the same. Give them a random_state, or let one model learn some rows, and begin with copies "
            "of it."
        )
    return (int(halves[0]) << HALF_BITS) + int(halves[1])
