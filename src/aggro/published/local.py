"""Local online learning with the defaults of its paper."""

from __future__ import annotations

from typing import Any

from aggro.estimators import local
from aggro.estimators.shell import store


class LOLClassifier(local.LOLClassifier):
    """Local online learning (LOL) as published.

    The last iterate predicts. Rows are learned as they come: not scaled, in order, once.

    The parameters are those of ``aggro.LOLClassifier``, whose documentation explains them.

    References
    ----------
    Z. Zhou, W.-S. Zheng, J.-F. Hu, Y. Xu, J. You. One-pass online learning: a local approach. Pattern Recognition 51,
    2016.
    """

    def __init__(
        self,
        n_prototypes: int = 64,
        *,
        C: float = 1.0,
        step: str = "pa1",
        lam: float = 3.0,
        fit_intercept: bool = True,
        normalize: bool = False,
        scale: str | bool | None = None,
        average: bool = False,
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


class ILOLClassifier(local.ILOLClassifier):
    """Independent local online learning (I-LOL) as published.

    The last iterate predicts. Rows are learned as they come: not scaled, in order, once.

    The parameters are those of ``aggro.ILOLClassifier``, whose documentation explains them.

    References
    ----------
    Z. Zhou, W.-S. Zheng, J.-F. Hu, Y. Xu, J. You. One-pass online learning: a local approach. Pattern Recognition 51,
    2016.
    """

    def __init__(
        self,
        n_prototypes: int = 64,
        *,
        C: float = 1.0,
        step: str = "pa1",
        fit_intercept: bool = True,
        normalize: bool = False,
        scale: str | bool | None = None,
        average: bool = False,
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
