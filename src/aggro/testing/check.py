"""A claim about learners, and the list of all: see ``streams`` and ``lessons``.

A check's first line says what it claims. ``@check`` enters it in CHECKS, with what it needs of a learner and for
which settings it does not hold, and why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from aggro.testing.variants import Variant

__all__ = ["CHECKS", "Check", "check", "csr"]


class Check(NamedTuple):
    """A claim about learners."""

    run: Callable[[Variant], None]
    needs: Callable[[Variant], bool]  # what it is about; not at all for others
    exempt: dict[tuple[str, Any], str]  # settings for which it does not hold, and why

    def __str__(self) -> str:
        return self.run.__name__

    def why_not(self, variant: Variant) -> str | None:
        """Why it does not hold for these settings; None if it does."""
        return variant.reason(self.exempt)


CHECKS: list[Check] = []


def check(
    needs: Callable[[Variant], bool] = lambda variant: True,
    exempt: dict[tuple[str, Any], str] | None = None,
) -> Callable[[Callable[[Variant], None]], Callable[[Variant], None]]:
    def entered(function: Callable[[Variant], None]) -> Callable[[Variant], None]:
        CHECKS.append(Check(function, needs, exempt or {}))
        return function

    return entered


def csr(X: np.ndarray) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix(X)
