"""Adaptive regularisation of weights, AROW, for classes and for numbers.

The closed forms of the steps are in ``learners.second_order.step``.

References
----------
K. Crammer, A. Kulesza, M. Dredze. Adaptive regularization of weight vectors. NIPS 2009.
N. Vaits, K. Crammer. Re-adapting the regularization of weights for non-stationary regression. ALT 2011 (AROW for
numbers).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from aggro.learners.second_order.base import CLASSES, POSITIVE_OR_AUTO, SECOND_ORDER, ClassBelief, SecondOrder
from aggro.learners.second_order.step import Method
from aggro.learners.shared.contract import Contract
from aggro.learners.shared.model import View
from aggro.learners.shared.params import Constraint
from aggro.learners.shared.tasks import Regressor
from aggro.learners.shared.weights import NumberWeights


class AROWClassifier(ClassBelief):
    """Classifier by adaptive regularisation of weights.

    The weights are believed to be N(μ, Σ). A row with the margin m = y μ·x < 1 moves the belief along Σx: with
    v = x'Σx,

        μ ← μ + (1 − m)/(v + r) yΣx,   Σ⁻¹ ← Σ⁻¹ + xx'/r

    A weight on the row divides r.

    Parameters
    ----------
    r : float or "auto", default="auto"
        How little one row says: the larger, the smaller are steps, and the longer they stay so. With "auto"
        eight values from 0.03 to 100 (with ``features``, from 0.001 to 3) learn side by side in one pass, and
        the one with the fewest progressive mistakes predicts.
    covariance : {"diagonal", "full"}, default="diagonal"
        Whether weights are believed to vary each by itself, or together. A row costs its non-zeros, or the square
        of the width.
    fit_intercept : bool, default=True
        Whether to learn an intercept, as a constant feature 1.
    average : bool, default=False
        Predict with the mean of all iterates instead of the last.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        Scale features on the way, by what was seen so far, the row itself counted. "standard": subtract
        the mean, divide by the standard deviation. "rms": divide by the root mean square of the values
        that are not 0. "auto": the first for features that at least a quarter of the rows have, the
        second for rare ones. ``coef_`` is in units of the features as they came.
    features : {"fourier", "nystroem"} or None, default=None
        Learn in a space of other features, where a linear model is a kernel model (RBF), for classes that
        no plane divides; made in the pass, row by row. "fourier": random cosines and sines. "nystroem":
        kernel values with rows of the stream. ``coef_`` is then of those features.
    n_components : int, default=400
        With ``features``, how many of them; the more, the nearer to the kernel.
    gamma : float or "auto", default="auto"
        With ``features``, γ of the kernel exp(−γ‖x − x'‖²) of scaled rows. "auto": by the mean of ‖x‖² over
        the first 32 rows, and for "fourier" several around it at once.
    max_iter : int or "auto", default=1
        Passes over the data in ``fit``. "auto": more as long as they help, fewer the more rows there are.
    tol : float, default=None
        Stop when a pass's mean loss is not better than the best by this much.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` goes over the rows in random order.
    class_weight : dict or "balanced", default=None
        Weights of the classes: they divide r, and the decision is that of least cost by the probabilities;
        "balanced" weighs by the classes counted so far.
    calibration : {"sigmoid", "isotonic"}, default="sigmoid"
        How ``predict_proba`` makes probabilities of scores, from those that rows had before they were learned.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the current model.
    random_state : int, RandomState or Generator, default=None
        Seeds the order of the rows with ``shuffle``, and the frequencies of ``features="fourier"``, which are
        always the same without it.
    n_features : int, default=None
        Reserves a width, so that arrays may be narrower.
    verbose : int, default=0
        1 says on stderr how a long ``fit`` or ``partial_fit`` goes. It is not kept in model files.

    Attributes
    ----------
    coef_, intercept_ : array
        Weights (1, n_features) for two classes, else (n_classes, n_features), and intercepts.
    classes_ : array
        The classes, sorted.
    r_ : float
        What predicts, of the values that learn side by side; ``grid_`` lists all.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that changed the belief, rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and mistakes at each power of two of rows.

    Examples
    --------
    >>> from aggro import AROWClassifier
    >>> model = AROWClassifier()
    >>> for x, y in [({"good": 1}, "+"), ({"bad": 1}, "-"), ({"good": 1, "day": 1}, "+")]:
    ...     model = model.learn_one(x, y)
    >>> model.predict_one({"bad": 1, "day": 1})
    '-'
    >>> model.decision_std_one({"day": 1}) < model.decision_std_one({"day": 2})
    True
    """

    _main = "r"
    _unit = -1
    _grid = tuple(10.0 ** (k / 2) for k in range(-3, 5))
    _constraints: ClassVar[dict[str, Constraint]] = {"r": POSITIVE_OR_AUTO, **CLASSES}
    contract = Contract(plain={"r": 1.0}, tried=({"r": "auto", "average": True},), apart=frozenset({"r"}))

    def __init__(
        self,
        r: Any = "auto",
        *,
        covariance: str = "diagonal",
        fit_intercept: bool = True,
        average: bool = False,
        scale: Any = "auto",
        features: str | None = None,
        n_components: int = 400,
        gamma: Any = "auto",
        max_iter: int | str = 1,
        tol: float | None = None,
        shuffle: bool | str = "auto",
        class_weight: Any = None,
        calibration: str = "sigmoid",
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.r = r
        self.covariance = covariance
        self.fit_intercept = fit_intercept
        self.average = average
        self.scale = scale
        self.features = features
        self.n_components = n_components
        self.gamma = gamma
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.calibration = calibration
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features
        self.verbose = verbose

    def _method(self) -> Method:
        return Method.AROW

    @property
    def r_(self) -> float:
        """The r that predicts: the one that has done best, where several learn."""
        return self._predicting_value()


class AROWRegressor(SecondOrder, NumberWeights, Regressor):
    """Regression by adaptive regularisation of weights.

    The weights are believed to be N(μ, Σ). Every row moves the belief along Σx: with v = x'Σx,

        μ ← μ + (y − μ·x)/(v + r) Σx,   Σ⁻¹ ← Σ⁻¹ + xx'/r

    With ``covariance="full"``, μ is the solution of ridge regression over all rows so far, with the penalty r‖w‖². A
    weight on the row divides r.

    Parameters
    ----------
    r : float or "auto", default="auto"
        How little one row says: the larger, the smaller are steps, and the longer they stay so. With "auto"
        eight values from 0.03 to 100 (with ``features``, from 0.001 to 3) learn side by side in one pass, and
        the one with the least progressive squared error predicts.
    covariance : {"diagonal", "full"}, default="diagonal"
        Whether weights are believed to vary each by itself, or together. A row costs its non-zeros, or the square
        of the width.
    fit_intercept : bool, default=True
        Whether to learn an intercept, as a constant feature 1.
    average : bool, default=False
        Predict with the mean of all iterates instead of the last.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        Scale features on the way, by what was seen so far, the row itself counted. "standard": subtract
        the mean, divide by the standard deviation. "rms": divide by the root mean square of the values
        that are not 0. "auto": the first for features that at least a quarter of the rows have, the
        second for rare ones. Targets are scaled too, so that r is in units of their
        variance; predictions and ``coef_`` is in units of the features as they came.
    features : {"fourier", "nystroem"} or None, default=None
        Learn in a space of other features, where a linear model is a kernel model (RBF), for curves;
        made in the pass, row by row. "fourier": random cosines and sines. "nystroem": kernel values with rows
        of the stream. ``coef_`` is then of those features.
    n_components : int, default=400
        With ``features``, how many of them; the more, the nearer to the kernel.
    gamma : float or "auto", default="auto"
        With ``features``, γ of the kernel exp(−γ‖x − x'‖²) of scaled rows. "auto": by the mean of ‖x‖² over
        the first 32 rows, and for "fourier" several around it at once.
    max_iter : int or "auto", default=1
        Passes over the data in ``fit``. "auto": more as long as they help, fewer the more rows there are.
    tol : float, default=None
        Stop when a pass's mean loss is not better than the best by this much.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` goes over the rows in random order.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the current model.
    random_state : int, RandomState or Generator, default=None
        Seeds the order of the rows with ``shuffle``, and the frequencies of ``features="fourier"``, which are
        always the same without it.
    n_features : int, default=None
        Reserves a width, so that arrays may be narrower.
    verbose : int, default=0
        1 says on stderr how a long ``fit`` or ``partial_fit`` goes. It is not kept in model files.

    Attributes
    ----------
    coef_, intercept_ : array
        Weights (n_features,) and intercept (1,).
    r_ : float
        What predicts, of the values that learn side by side; ``grid_`` lists all.
    n_seen_, n_updates_ : int
        Rows seen and rows that changed the belief.
    history_ : structured array
        Progressive mean absolute error at each power of two of rows.

    Examples
    --------
    >>> from aggro import AROWRegressor
    >>> model = AROWRegressor()
    >>> for x in (1.0, 2.0, 3.0, 4.0) * 50:
    ...     model = model.learn_one([x], 2 * x + 1)
    >>> round(model.predict_one([2.5]), 1)
    6.0
    """

    _main = "r"
    _unit = -1
    _grid = tuple(10.0 ** (k / 2) for k in range(-3, 5))
    _constraints: ClassVar[dict[str, Constraint]] = {"r": POSITIVE_OR_AUTO, **SECOND_ORDER}
    contract = Contract(plain={"r": 1.0}, tried=({"r": "auto", "average": True},), apart=frozenset({"r"}))

    def __init__(
        self,
        r: Any = "auto",
        *,
        covariance: str = "diagonal",
        fit_intercept: bool = True,
        average: bool = False,
        scale: Any = "auto",
        features: str | None = None,
        n_components: int = 400,
        gamma: Any = "auto",
        max_iter: int | str = 1,
        tol: float | None = None,
        shuffle: bool | str = "auto",
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.r = r
        self.covariance = covariance
        self.fit_intercept = fit_intercept
        self.average = average
        self.scale = scale
        self.features = features
        self.n_components = n_components
        self.gamma = gamma
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features
        self.verbose = verbose

    def _method(self) -> Method:
        return Method.NUMBER

    @property
    def r_(self) -> float:
        """The r that predicts: the one that has done best, where several learn."""
        return self._predicting_value()

    def _shown(self, view: View, deviations: np.ndarray) -> np.ndarray:
        return deviations[:, 0]
