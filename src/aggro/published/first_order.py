"""The perceptron, ALMA and ROMMA with the defaults of their papers."""

from __future__ import annotations

import math
from typing import Any

from aggro.estimators import first_order
from aggro.estimators.shell import store


class Perceptron(first_order.Perceptron):
    """Rosenblatt's perceptron as published.

    The last iterate predicts. Rows are learned as they come: not scaled, in order, once.

    The parameters are those of ``aggro.Perceptron``, whose documentation explains them.

    References
    ----------
    F. Rosenblatt. The perceptron. Psychological Review 65, 1958.
    """

    def __init__(
        self,
        *,
        scale: str | bool | None = None,
        features: str | None = None,
        n_components: int = 400,
        gamma: Any = "auto",
        fit_intercept: bool = True,
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


class ALMAClassifier(first_order.ALMAClassifier):
    """The approximate large margin algorithm (ALMA₂) as published.

    The last iterate predicts. Rows are learned as they come: not scaled, in order, once.

    The parameters are those of ``aggro.ALMAClassifier``, whose documentation explains them.

    References
    ----------
    C. Gentile. A new approximate maximal margin classification algorithm. JMLR 2, 2001.
    """

    def __init__(
        self,
        alpha: float = 0.9,
        *,
        B: float | None = None,
        C: float = math.sqrt(2.0),
        scale: str | bool | None = None,
        features: str | None = None,
        n_components: int = 400,
        gamma: Any = "auto",
        fit_intercept: bool = True,
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


class ROMMAClassifier(first_order.ROMMAClassifier):
    """The relaxed online maximum margin algorithm (ROMMA) as published.

    The last iterate predicts. Rows are learned as they come: not scaled, in order, once.

    The parameters are those of ``aggro.ROMMAClassifier``, whose documentation explains them.

    References
    ----------
    Y. Li, P. M. Long. The relaxed online maximum margin algorithm. Machine Learning 46, 2002.
    """

    def __init__(
        self,
        *,
        aggressive: bool = False,
        scale: str | bool | None = None,
        features: str | None = None,
        n_components: int = 400,
        gamma: Any = "auto",
        fit_intercept: bool = True,
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
