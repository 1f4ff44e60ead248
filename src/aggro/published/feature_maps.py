"""Online gradient descent on approximate kernels, with the defaults of its paper."""

from __future__ import annotations

from typing import Any

from aggro.estimators import feature_maps
from aggro.estimators.shell import store


class FOGDClassifier(feature_maps.FOGDClassifier):
    """Fourier online gradient descent (FOGD) as published.

    800 features, which are the 4B frequencies of a budget of B = 100, one η and one γ. The last iterate predicts. Rows
    are learned as they come: not scaled, in order, once.

    The parameters are those of ``aggro.FOGDClassifier``, whose documentation explains them.

    References
    ----------
    J. Lu, S. C. H. Hoi, J. Wang, P. Zhao, Z.-Y. Liu. Large scale online kernel learning. JMLR 17, 2016.
    """

    def __init__(
        self,
        n_components: int = 800,
        *,
        gamma: float | str = 0.1,
        eta: Any = 0.8,
        margin: float = 1.0,
        fit_intercept: bool = False,
        average: bool | str = False,
        scale: Any = None,
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


class NOGDClassifier(feature_maps.NOGDClassifier):
    """Nyström online gradient descent (NOGD) as published.

    One η and one γ. The last iterate predicts. Rows are learned as they come: not scaled, in order, once.

    The parameters are those of ``aggro.NOGDClassifier``, whose documentation explains them.

    References
    ----------
    J. Lu, S. C. H. Hoi, J. Wang, P. Zhao, Z.-Y. Liu. Large scale online kernel learning. JMLR 17, 2016.
    """

    def __init__(
        self,
        n_components: int = 100,
        *,
        gamma: float | str = 0.1,
        eta: Any = 0.2,
        margin: float = 1.0,
        fit_intercept: bool = False,
        average: bool | str = False,
        scale: Any = None,
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
