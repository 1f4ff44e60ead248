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

from aggro.learners.base.contract import Contract
from aggro.learners.base.params import Constraint
from aggro.learners.base.tasks import Regressor
from aggro.learners.base.weights import NumberWeights
from aggro.learners.model.model import View
from aggro.learners.second_order.base import CLASS_PARAMETERS, POSITIVE_OR_AUTO, SECOND_ORDER, ClassBelief, SecondOrder
from aggro.learners.second_order.step import Method


class AROWClassifier(ClassBelief):
    """Classifier by adaptive regularisation of weights (AROW).

    The model is a normal distribution N(μ, Σ) over the weights. A row with the margin m = y μ·x < 1 changes both
    along Σx. With v = x'Σx,

        μ ← μ + (1 − m)/(v + r) yΣx,   Σ⁻¹ ← Σ⁻¹ + xx'/r

    A weight on the row divides r.

    Parameters
    ----------
    r : float or "auto", default="auto"
        Regularisation r: a larger value makes steps smaller, and lets them shrink more slowly. "auto" trains eight
        values from 0.03 to 100 (with ``features``, from 0.001 to 3) in parallel in one pass, and predicts with the
        one that has made the fewest mistakes so far.
    covariance : {"diagonal", "full"}, default="diagonal"
        Whether Σ is diagonal or a full matrix. Each row then costs the number of its non-zeros, or the square of the
        number of features.
    fit_intercept : bool, default=True
        Whether to learn an intercept. It is the weight of a constant feature 1.
    average : bool, default=False
        Whether to predict with the mean of all iterates instead of the last.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        Scale features with statistics of the rows seen so far, including the current row. "standard" subtracts the mean
        and divides by the standard deviation. "rms" divides by the root mean square of the non-zero values. "auto" uses
        "standard" for features that at least a quarter of the rows have, and "rms" for rarer ones. ``coef_`` is in the
        units of the original features.
    features : {"fourier", "nystroem"} or None, default=None
        Approximate an RBF kernel by mapping each row to ``n_components`` new features, for classes that no hyperplane
        separates. "fourier" uses random cosines and sines. "nystroem" uses kernel values with some rows of the stream.
        ``coef_`` then refers to the new features.
    n_components : int, default=400
        Number of new features if ``features`` is set. More features approximate the kernel better.
    gamma : float or "auto", default="auto"
        With ``features``, γ of the kernel exp(−γ‖x − x'‖²) of the scaled rows. "auto" derives it from the mean of ‖x‖²
        over the first 32 rows; with "fourier" it tries several values around that one.
    max_iter : int or "auto", default=1
        Number of passes over the data in ``fit``. "auto" goes on while another pass helps, and makes fewer passes over
        more rows.
    tol : float, default=None
        Stop when a pass lowers the best mean loss by less than this.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` visits the rows in random order. "auto" means yes.
    class_weight : dict or "balanced", default=None
        Weights of the classes. They divide r. Predictions take the class with the lowest expected cost. "balanced"
        derives the weights from the class counts so far.
    calibration : {"sigmoid", "isotonic"}, default="sigmoid"
        How ``predict_proba`` turns scores into probabilities. The calibration uses the score of each row before it was
        learned.
    warm_start : bool, default=False
        Whether ``fit`` continues from the current model instead of starting from scratch.
    random_state : int, RandomState or Generator, default=None
        Seed for shuffling the rows and for the random frequencies of ``features="fourier"``. With None, the frequencies
        are the same every time.
    n_features : int, default=None
        Number of features to reserve, so that arrays with fewer columns are accepted.
    verbose : int, default=0
        1 reports the progress of a long ``fit`` or ``partial_fit`` on stderr. Model files do not keep it.

    Attributes
    ----------
    coef_, intercept_ : array
        Weights (1, n_features) for two classes, otherwise (n_classes, n_features), and intercepts.
    classes_ : array
        The classes, sorted.
    r_ : float
        The value of r that makes the predictions. ``grid_`` lists all values.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that changed μ or Σ, and rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and number of mistakes, at each power of two of rows.

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
    _constraints: ClassVar[dict[str, Constraint]] = {"r": POSITIVE_OR_AUTO, **CLASS_PARAMETERS}
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
        """The r that makes the predictions: the best so far, if several are trained."""
        return self._predicting_value()


class AROWRegressor(SecondOrder, NumberWeights, Regressor):
    """Regression by adaptive regularisation of weights (AROW).

    The model is a normal distribution N(μ, Σ) over the weights. Every row changes both along Σx. With v = x'Σx,

        μ ← μ + (y − μ·x)/(v + r) Σx,   Σ⁻¹ ← Σ⁻¹ + xx'/r

    With ``covariance="full"``, μ is the solution of ridge regression over all rows so far, with the penalty r‖w‖². A
    weight on the row divides r.

    Parameters
    ----------
    r : float or "auto", default="auto"
        Regularisation r: a larger value makes steps smaller, and lets them shrink more slowly. "auto" trains eight
        values from 0.03 to 100 (with ``features``, from 0.001 to 3) in parallel in one pass, and predicts with the
        one that has the lowest squared error so far.
    covariance : {"diagonal", "full"}, default="diagonal"
        Whether Σ is diagonal or a full matrix. Each row then costs the number of its non-zeros, or the square of the
        number of features.
    fit_intercept : bool, default=True
        Whether to learn an intercept. It is the weight of a constant feature 1.
    average : bool, default=False
        Whether to predict with the mean of all iterates instead of the last.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        Scale features with statistics of the rows seen so far, including the current row. "standard" subtracts the
        mean and divides by the standard deviation. "rms" divides by the root mean square of the non-zero values.
        "auto" uses "standard" for features that at least a quarter of the rows have, and "rms" for rarer ones.
        Targets are scaled too, so r is in units of their variance. Predictions and ``coef_`` are in the original
        units.
    features : {"fourier", "nystroem"} or None, default=None
        Approximate an RBF kernel by mapping each row to ``n_components`` new features, for curved relations. "fourier"
        uses random cosines and sines. "nystroem" uses kernel values with some rows of the stream. ``coef_`` then refers
        to the new features.
    n_components : int, default=400
        Number of new features if ``features`` is set. More features approximate the kernel better.
    gamma : float or "auto", default="auto"
        With ``features``, γ of the kernel exp(−γ‖x − x'‖²) of the scaled rows. "auto" derives it from the mean of ‖x‖²
        over the first 32 rows; with "fourier" it tries several values around that one.
    max_iter : int or "auto", default=1
        Number of passes over the data in ``fit``. "auto" goes on while another pass helps, and makes fewer passes over
        more rows.
    tol : float, default=None
        Stop when a pass lowers the best mean loss by less than this.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` visits the rows in random order. "auto" means yes.
    warm_start : bool, default=False
        Whether ``fit`` continues from the current model instead of starting from scratch.
    random_state : int, RandomState or Generator, default=None
        Seed for shuffling the rows and for the random frequencies of ``features="fourier"``. With None, the frequencies
        are the same every time.
    n_features : int, default=None
        Number of features to reserve, so that arrays with fewer columns are accepted.
    verbose : int, default=0
        1 reports the progress of a long ``fit`` or ``partial_fit`` on stderr. Model files do not keep it.

    Attributes
    ----------
    coef_, intercept_ : array
        Weights (n_features,) and intercept (1,).
    r_ : float
        The value of r that makes the predictions. ``grid_`` lists all values.
    n_seen_, n_updates_ : int
        Rows seen, and rows that changed μ or Σ.
    history_ : structured array
        Progressive mean absolute error, at each power of two of rows.

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
        """The r that makes the predictions: the best so far, if several are trained."""
        return self._predicting_value()

    def _shown(self, view: View, deviations: np.ndarray) -> np.ndarray:
        return deviations[:, 0]
