"""A check is a claim about learners that can be run: the modules ``checks_…``.

A check's first line says what it claims, and ``@check`` enters it in CHECKS, with what it needs of a learner. For which
settings it does not hold, and why, a learner says itself (``contract``), by the name of the check or of its claim.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from aggro.testing.variants import Variant


class Check(NamedTuple):
    """A claim about learners."""

    run: Callable[[Variant], None]
    needs: Callable[[Variant], bool]  # what it is about; not at all for others
    claim: str | None  # what several checks or tests are about

    def __str__(self) -> str:
        return self.run.__name__

    def why_not(self, variant: Variant) -> str | None:
        """Why it does not hold for these settings; None if it does."""
        return variant.why_not(str(self), *([self.claim] if self.claim else []))


CONTRACT_CHECKS: list[Check] = []
# Claims that not only a check is about. A learner for which one does not hold says so under this name.
WEIGHTS_SCALE_C = "a weight scales C"
ZEROS_TEACH_NOTHING = "a row of zeros teaches nothing"
ANY_ORDER = "the order of features does not matter"
BOUNDED = "memory does not grow with rows"
UNKNOWN_IS_ZERO = "an unknown feature is a zero"
MIXED = "models that learned apart can be one"
CLAIMS = (WEIGHTS_SCALE_C, ZEROS_TEACH_NOTHING, ANY_ORDER, BOUNDED, UNKNOWN_IS_ZERO, MIXED)


def check(
    needs: Callable[[Variant], bool] = lambda variant: True,
    claim: str | None = None,
) -> Callable[[Callable[[Variant], None]], Callable[[Variant], None]]:
    def entered(function: Callable[[Variant], None]) -> Callable[[Variant], None]:
        CONTRACT_CHECKS.append(Check(function, needs, claim))
        return function

    return entered


def csr(X: np.ndarray) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix(X)
