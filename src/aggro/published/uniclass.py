"""Uniclass prediction with the defaults of its paper."""

from __future__ import annotations

from typing import Any

from aggro.estimators import uniclass
from aggro.estimators.shell import store


class PAUniclass(uniclass.PAUniclass):
    """Uniclass prediction as published: a ball that follows the rows.

    PA-I with one C; the radius is ``epsilon``. The last iterate predicts. Rows are learned as they come: not
    scaled, in order, once.

    The parameters are those of ``aggro.PAUniclass``, whose documentation explains them.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer. Online passive-aggressive algorithms. JMLR 7, 2006.
    """

    def __init__(
        self,
        C: float = 0.1,
        *,
        step: str = "pa1",
        epsilon: float | str = "auto",
        nu: float = 0.1,
        robust: bool = False,
        scale: str | bool | None = None,
        average: bool = False,
        max_iter: int | str = 1,
        tol: float | None = None,
        shuffle: bool | str = False,
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        store(self, locals())
