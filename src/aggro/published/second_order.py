"""Second-order learners with the defaults of their papers."""

from __future__ import annotations

from typing import Any

from aggro.estimators import second_order
from aggro.estimators.shell import store


class CWClassifier(second_order.CWClassifier):
    """The confidence-weighted classifier (CW-stdev) as published.

    One η. The last iterate predicts. Rows are learned as they come: not scaled, in order, once.

    The parameters are those of ``aggro.CWClassifier``, whose documentation explains them.

    References
    ----------
    K. Crammer, M. Dredze, F. Pereira. Exact convex confidence-weighted learning. NIPS 2008.
    """

    def __init__(
        self,
        eta: Any = 0.9,
        *,
        form: str = "stdev",
        covariance: str = "diagonal",
        fit_intercept: bool = True,
        average: bool = False,
        scale: Any = None,
        features: str | None = None,
        n_components: int = 400,
        gamma: Any = "auto",
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


class AROWClassifier(second_order.AROWClassifier):
    """Adaptive regularisation of weights (AROW) as published.

    One r. The last iterate predicts. Rows are learned as they come: not scaled, in order, once.

    The parameters are those of ``aggro.AROWClassifier``, whose documentation explains them.

    References
    ----------
    K. Crammer, A. Kulesza, M. Dredze. Adaptive regularization of weight vectors. NIPS 2009.
    """

    def __init__(
        self,
        r: Any = 1.0,
        *,
        covariance: str = "diagonal",
        fit_intercept: bool = True,
        average: bool = False,
        scale: Any = None,
        features: str | None = None,
        n_components: int = 400,
        gamma: Any = "auto",
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


class AROWRegressor(second_order.AROWRegressor):
    """AROW regression as published.

    One r. The last iterate predicts. Rows are learned as they come: not scaled, in order, once.

    The parameters are those of ``aggro.AROWRegressor``, whose documentation explains them.

    References
    ----------
    N. Vaits, K. Crammer. Re-adapting the regularization of weights for non-stationary regression. ALT 2011.
    """

    def __init__(
        self,
        r: Any = 1.0,
        *,
        covariance: str = "diagonal",
        fit_intercept: bool = True,
        average: bool = False,
        scale: Any = None,
        features: str | None = None,
        n_components: int = 400,
        gamma: Any = "auto",
        max_iter: int | str = 1,
        tol: float | None = None,
        shuffle: bool | str = False,
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        store(self, locals())


class SCWClassifier(second_order.SCWClassifier):
    """The soft confidence-weighted classifier (SCW) as published.

    One C. The last iterate predicts. Rows are learned as they come: not scaled, in order, once.

    The parameters are those of ``aggro.SCWClassifier``, whose documentation explains them.

    References
    ----------
    J. Wang, P. Zhao, S. C. H. Hoi. Exact soft confidence-weighted learning. ICML 2012.
    """

    def __init__(
        self,
        C: Any = 1.0,
        *,
        eta: float = 0.75,
        variant: str = "scw1",
        covariance: str = "diagonal",
        fit_intercept: bool = True,
        average: bool = False,
        scale: Any = None,
        features: str | None = None,
        n_components: int = 400,
        gamma: Any = "auto",
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
