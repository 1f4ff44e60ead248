"""The classifier with a max-out embedding, with the defaults of its paper."""

from __future__ import annotations

from typing import Any

from aggro.estimators import maxout
from aggro.estimators.shell import store


class PAMOClassifier(maxout.PAMOClassifier):
    """The passive-aggressive classifier with a max-out embedding (PAMO) as published.

    64 units of 2 pieces. The last iterate predicts. Rows are learned as they come: not scaled, in order, once.

    The parameters are those of ``aggro.PAMOClassifier``, whose documentation explains them.

    References
    ----------
    J. Jorge, R. Paredes. Passive-aggressive online learning with nonlinear embeddings. Pattern Recognition 79, 2018.
    """

    def __init__(
        self,
        n_units: int = 64,
        *,
        n_pieces: int = 2,
        C: float = 0.125,
        C_r: float = 0.125,
        alpha: float = 0.9,
        epsilon: float = 0.0,
        always: bool = False,
        select: str = "winner",
        scale: bool | str | None = True,
        fit_intercept: bool = True,
        average: bool | str = False,
        half_life: float | str | None = None,
        max_iter: int | str = 1,
        tol: float | None = None,
        shuffle: bool | str = False,
        class_weight: Any = None,
        calibration: str = "sigmoid",
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        store(self, locals())
