"""Linear passive-aggressive learners with the defaults of their paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aggro.estimators import linear
from aggro.estimators.shell import store

if TYPE_CHECKING:
    from aggro.engine.user_steps import OwnStep


class PAClassifier(linear.PAClassifier):
    """The passive-aggressive classifier as published.

    PA-I with one C. Several classes are learned one against the rest. The last iterate predicts. Rows are learned
    as they come: not scaled, in order, once.

    The parameters are those of ``aggro.PAClassifier``, whose documentation explains them.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer. Online passive-aggressive algorithms. JMLR 7, 2006.
    """

    def __init__(
        self,
        C: Any = 1.0,
        *,
        step: str | OwnStep = "pa1",
        margin: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        average: bool | str = False,
        half_life: float | str | None = None,
        batch_size: int = 1,
        window: str = "disjoint",
        scale: Any = None,
        features: str | None = None,
        n_components: int = 400,
        gamma: float | str = "auto",
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


class PARegressor(linear.PARegressor):
    """Passive-aggressive regression as published.

    PA-I with one C. The last iterate predicts. Rows are learned as they come: not scaled, in order, once.

    The parameters are those of ``aggro.PARegressor``, whose documentation explains them.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer. Online passive-aggressive algorithms. JMLR 7, 2006.
    """

    def __init__(
        self,
        C: Any = 1.0,
        *,
        step: str | OwnStep = "pa1",
        epsilon: float = 0.1,
        fit_intercept: bool = True,
        average: bool | str = False,
        half_life: float | str | None = None,
        batch_size: int = 1,
        window: str = "disjoint",
        scale: Any = None,
        features: str | None = None,
        n_components: int = 400,
        gamma: float | str = "auto",
        max_iter: int | str = 1,
        tol: float | None = None,
        shuffle: bool | str = False,
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        store(self, locals())
