"""Passive-aggressive classification and regression with kernels.

Each row asks for the smallest change, in the space of the kernel, that would have got it right:

    w_{t+1} = argmin ½‖w − w_t‖²   s.t.  loss(w; φ(x_t), y_t) = 0        (softened with C)

and the answer is w_t + τ y φ(x_t), the linear closed form with q = k(x, x) (+ 1 with an intercept). So f is a sum of
kernels over the rows that were learned from, f(x) = Σ α_i k(x_i, x) (+ b), and a row with τ ≠ 0 is kept as a support
vector. The rule is in ``learners.kernel.rule``, the support set in ``learners.kernel.support_set``, its scores in
``learners.kernel.scores``, and what makes room in a budget in ``learners.kernel.budget``.

References
----------
K. Crammer, O. Dekel, S. Shalev-Shwartz, Y. Singer. Online Passive-Aggressive Algorithms. NIPS 2003 (section 3).
A. Pérez-Suay, F. J. Ferri, M. Arevalillo-Herráez, J. V. Albert. An empirical study about online
learning with generalized passive-aggressive approaches (section 3.3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from aggro.learners.base.contract import Contract
from aggro.learners.base.one_row import Asked
from aggro.learners.base.params import POSITIVE, Constraint, Number
from aggro.learners.base.tasks import CALIBRATION, CLASS_WEIGHT, Classifier, Regressor
from aggro.learners.kernel.base import KernelLearner
from aggro.learners.kernel.settings import PREDICTION_PARAMETERS
from aggro.learners.kernel.support_set import CLASSES_TASK, NUMBER_TASK
from aggro.learners.kernel.target import unit_and_mean


class KernelClassifier(KernelLearner, Classifier):
    """A kernel learner of classes."""

    _task, _edge = CLASSES_TASK, "margin"
    contract = Contract(
        exempt={
            "check_class_weight_classifiers": "a class of large weight is predicted everywhere only by an intercept, "
            "which an RBF kernel has not"
        }
    )

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients that make the predictions: one row for two classes, otherwise one row per class."""
        view, coef = self._support()
        shown = self._by_class(view.labels, coef)
        return shown[None, :] if shown.ndim == 1 else shown.T

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts of the predicting model, one for each row of ``dual_coef_``."""
        return np.asarray(self._bias() * self.dual_coef_.sum(axis=1))


class KernelPAClassifier(KernelClassifier):
    """Passive-aggressive classifier with a kernel.

    A row with a loss becomes a support vector with the coefficient τ y. With q = k(x, x) (+ 1 with an intercept) and
    the loss ℓ = [m − y f]₊, the step τ is

    - ``step="pa"``: τ = ℓ/q; afterwards the row has the margin m;
    - ``step="pa1"``: τ = min(C, ℓ/q), at most C for one row;
    - ``step="pa2"``: τ = ℓ/(q + 1/(2C));
    - ``step="ls"``: τ = (m − y f)/(q + 1/(2C)), least squares without a hinge.

    A row without loss changes nothing. Several classes are learned one-vs-rest and share the support vectors.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: the largest coefficient of a row (``pa1``), or the inverse penalty on large coefficients
        (``pa2``, ``ls``). ``pa`` does not use it.
    kernel : {"rbf", "poly", "linear", "sigmoid", "cosine", "precomputed"} or a function, default="rbf"
        The kernel: exp(−γ‖x − z‖²), (γ x·z + c₀)^degree, x·z, tanh(γ x·z + c₀), or x·z/(‖x‖‖z‖). A function takes
        two matrices of rows and returns the kernel of each row of one with each row of the other. With
        "precomputed", pass rows of the kernel matrix: the t-th row learned has its kernel value with itself in
        column t (counted from 0, and again from 0 after the last column).
    gamma : float, list of floats or "auto", default="auto"
        γ of the rbf, poly and sigmoid kernels. With rbf you can give a list: aggro trains all values in parallel
        and predicts with the one that has made the fewest mistakes so far (``gamma_``). "auto" tries ¼, 1, 4 and 16
        times 2/D̄ for rbf, where D̄ is the mean squared distance among the first rows. It takes 1/‖x‖² of the first
        row for poly and sigmoid, in mini-batches, and with ``budget_policy="project"``.
    degree : int, default=3
        Degree of the poly kernel.
    coef0 : float, default=0.0
        Constant c₀ of the poly and sigmoid kernels.
    step : {"pa", "pa1", "pa2", "ls"}, default="pa1"
        How large the coefficient τ of a row is: one of the formulas above.
    margin : float, default=1.0
        Margin m below which a row has a loss and changes the model.
    batch_size : int, default=1
        Number of rows to learn at once, by solving their joint problem exactly. Not available for ``pa`` or with a
        budget. Rows of an incomplete mini-batch wait: ``fit`` learns them at its end, and ``flush`` learns them at any
        time.
    window : {"disjoint", "sliding"}, default="disjoint"
        How mini-batches are formed if ``batch_size`` is above 1. "disjoint": each row is in one mini-batch. "sliding":
        each row forms a mini-batch with the ``batch_size`` − 1 rows before it.
    budget : int, default=None
        Maximum number of support vectors. None means no limit.
    budget_policy : {"oldest", "random", "smallest", "project", "merge"}, default="merge"
        How to make room when the budget is full: remove the oldest support vector, a random one or the one with the
        smallest coefficient; project it onto the others; or merge two into one.
    fit_intercept : bool or "auto", default="auto"
        Whether to learn an intercept, by adding a constant 1 to the kernel. "auto" means yes for linear, poly and
        cosine.
    average : bool or "auto", default="auto"
        Whether to predict with the mean of all iterates instead of the last. "auto" weighs iterate t by t, and
        returns to the last iterate while that clearly makes fewer mistakes. The mean also loses the support vectors
        that a budget removes.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        Scale features with statistics of the rows seen so far, including the current row. "standard" subtracts the mean
        and divides by the standard deviation. "rms" divides by the root mean square of the non-zero values. "auto" uses
        "standard" for features that at least a quarter of the rows have, and "rms" for rarer ones. Support vectors keep
        the scale of the row at which they were learned. Not available with a "precomputed" kernel.
    max_iter : int or "auto", default="auto"
        Number of passes over the data in ``fit``. A row that is learned again becomes another support vector. "auto"
        makes up to three passes while they help, and a single pass over many rows.
    tol : float, default=None
        Stop when a pass lowers the best mean loss by less than this.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` visits the rows in random order. "auto" means yes.
    class_weight : dict or "balanced", default=None
        Weights of the classes. They scale C. Predictions take the class with the lowest expected cost. "balanced"
        derives the weights from the class counts so far.
    calibration : {"sigmoid", "isotonic"}, default="sigmoid"
        How ``predict_proba`` turns scores into probabilities. The calibration uses the score of each row before it was
        learned.
    warm_start : bool, default=False
        Whether ``fit`` continues from the current model instead of starting from scratch.
    random_state : int, RandomState or Generator, default=None
        Seed for shuffling the rows and for the budget policy "random".
    n_features : int, default=None
        Number of features to reserve, so that arrays with fewer columns are accepted.
    verbose : int, default=0
        1 reports the progress of a long ``fit`` or ``partial_fit`` on stderr. Model files do not keep it.

    Attributes
    ----------
    support_vectors_ : array or sparse matrix
        The support vectors (n_support, n_features), scaled as they were when they were learned.
    support_ : array
        Number of rows seen before each support vector. With a "precomputed" kernel, the columns of the support vectors.
    gamma_ : float
        The value of γ that makes the predictions.
    dual_coef_ : array
        Coefficients of the support vectors, (1, n_support) for two classes, otherwise (n_classes, n_support).
    intercept_ : array
        Intercepts, one for each row of ``dual_coef_``.
    classes_ : array
        The classes, sorted.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that were learned from, and rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and number of mistakes, at each power of two of rows.

    Examples
    --------
    >>> from aggro import KernelPAClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["same", "different", "different", "same"]
    >>> model = KernelPAClassifier(gamma=1.0, max_iter=10).fit(X, y)
    >>> model.predict(X).tolist()
    ['same', 'different', 'different', 'same']
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        **PREDICTION_PARAMETERS,
        "margin": POSITIVE,
        "class_weight": CLASS_WEIGHT,
        "calibration": CALIBRATION,
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        gamma: float | str | list[float] | tuple[float, ...] = "auto",
        degree: int = 3,
        coef0: float = 0.0,
        step: str = "pa1",
        margin: float = 1.0,
        batch_size: int = 1,
        window: str = "disjoint",
        budget: int | None = None,
        budget_policy: str = "merge",
        fit_intercept: bool | str = "auto",
        average: bool | str = "auto",
        scale: Any = "auto",
        max_iter: int | str = "auto",
        tol: float | None = None,
        shuffle: bool | str = "auto",
        class_weight: Any = None,
        calibration: str = "sigmoid",
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.step = step
        self.margin = margin
        self.batch_size = batch_size
        self.window = window
        self.budget = budget
        self.budget_policy = budget_policy
        self.fit_intercept = fit_intercept
        self.average = average
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.calibration = calibration
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features
        self.verbose = verbose


class KernelPARegressor(KernelLearner, Regressor):
    """Passive-aggressive regression with a kernel.

    A row with a loss becomes a support vector with the coefficient τ sign(y − f). With q = k(x, x) (+ 1 with an
    intercept) and the loss ℓ = [|y − f| − ε]₊, the step τ is

    - ``step="pa"``: τ = ℓ/q; afterwards the error is ε;
    - ``step="pa1"``: τ = min(C, ℓ/q), at most C for one row;
    - ``step="pa2"``: τ = ℓ/(q + 1/(2C));
    - ``step="ls"``: τ = |y − f|/(q + 1/(2C)), least squares without ε.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: the largest coefficient of a row (``pa1``), or the inverse penalty on large coefficients
        (``pa2``, ``ls``). ``pa`` does not use it.
    kernel : {"rbf", "poly", "linear", "sigmoid", "cosine", "precomputed"} or a function, default="rbf"
        The kernel: exp(−γ‖x − z‖²), (γ x·z + c₀)^degree, x·z, tanh(γ x·z + c₀), x·z/(‖x‖‖z‖), or rows of a precomputed
        kernel matrix. A function takes two matrices of rows and returns the kernel of each row of one with each row of
        the other.
    gamma : float, list of floats or "auto", default="auto"
        γ of the rbf, poly and sigmoid kernels. With rbf you can give a list: aggro trains all values in parallel
        and predicts with the one that has the lowest loss so far (``gamma_``), squared for ``pa2`` and ``ls``.
        "auto" tries ¼, 1, 4 and 16 times 2/D̄ for rbf, where D̄ is the mean squared distance among the first rows.
        It takes 1/‖x‖² of the first row for poly and sigmoid, in mini-batches, and with
        ``budget_policy="project"``.
    degree : int, default=3
        Degree of the poly kernel.
    coef0 : float, default=0.0
        Constant c₀ of the poly and sigmoid kernels.
    step : {"pa", "pa1", "pa2", "ls"}, default="pa1"
        How large the coefficient τ of a row is: one of the formulas above.
    epsilon : float, default=0.1
        Errors up to this size cause no update.
    batch_size : int, default=1
        Number of rows to learn at once, by solving their joint problem exactly. Not available for ``pa`` or with a
        budget. Rows of an incomplete mini-batch wait: ``fit`` learns them at its end, and ``flush`` learns them at any
        time.
    window : {"disjoint", "sliding"}, default="disjoint"
        How mini-batches are formed if ``batch_size`` is above 1. "disjoint": each row is in one mini-batch. "sliding":
        each row forms a mini-batch with the ``batch_size`` − 1 rows before it.
    budget : int, default=None
        Maximum number of support vectors. None means no limit.
    budget_policy : {"oldest", "random", "smallest", "project", "merge"}, default="merge"
        How to make room when the budget is full: remove the oldest support vector, a random one or the one with the
        smallest coefficient; project it onto the others; or merge two into one.
    fit_intercept : bool or "auto", default="auto"
        Whether to learn an intercept, by adding a constant 1 to the kernel. "auto" means yes for linear, poly and
        cosine.
    average : bool or "auto", default="auto"
        Whether to predict with the mean of all iterates instead of the last. "auto" weighs iterate t by t, and
        returns to the last iterate while that clearly has a lower loss. The mean also loses the support vectors
        that a budget removes.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        Scale features with statistics of the rows seen so far, including the current row. "standard" subtracts the
        mean and divides by the standard deviation. "rms" divides by the root mean square of the non-zero values.
        "auto" uses "standard" for features that at least a quarter of the rows have, and "rms" for rarer ones.
        Targets are scaled too, so C and ``epsilon`` are in standard deviations of the target. Predictions and
        coefficients are in the original units.
    max_iter : int or "auto", default="auto"
        Number of passes over the data in ``fit``. A row that is learned again becomes another support vector. "auto"
        makes up to three passes while they help, and a single pass over many rows.
    tol : float, default=None
        Stop when a pass lowers the best mean loss by less than this.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` visits the rows in random order. "auto" means yes.
    warm_start : bool, default=False
        Whether ``fit`` continues from the current model instead of starting from scratch.
    random_state : int, RandomState or Generator, default=None
        Seed for shuffling the rows and for the budget policy "random".
    n_features : int, default=None
        Number of features to reserve, so that arrays with fewer columns are accepted.
    verbose : int, default=0
        1 reports the progress of a long ``fit`` or ``partial_fit`` on stderr. Model files do not keep it.

    Attributes
    ----------
    support_vectors_ : array or sparse matrix
        The support vectors (n_support, n_features), scaled as they were when they were learned.
    support_ : array
        Number of rows seen before each support vector. With a "precomputed" kernel, the columns of the support vectors.
    gamma_ : float
        The value of γ that makes the predictions.
    dual_coef_, intercept_ : array
        Coefficients of the support vectors (1, n_support), and the intercept (1,).
    n_seen_, n_updates_ : int
        Rows seen, and rows that were learned from.
    history_ : structured array
        Progressive mean loss, at each power of two of rows.

    Examples
    --------
    >>> from aggro import KernelPARegressor
    >>> model = KernelPARegressor(gamma=10.0, step="pa", epsilon=0.01, max_iter=20, average=False, scale=None)
    >>> X = [[0.1 * i] for i in range(60)]
    >>> model = model.fit(X, [x[0] ** 2 for x in X])
    >>> round(model.predict_one([3.0]), 1)
    9.0
    """

    _task, _edge = NUMBER_TASK, "epsilon"
    _constraints: ClassVar[dict[str, Constraint]] = {**PREDICTION_PARAMETERS, "epsilon": Number(0.0)}

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        gamma: float | str | list[float] | tuple[float, ...] = "auto",
        degree: int = 3,
        coef0: float = 0.0,
        step: str = "pa1",
        epsilon: float = 0.1,
        batch_size: int = 1,
        window: str = "disjoint",
        budget: int | None = None,
        budget_policy: str = "merge",
        fit_intercept: bool | str = "auto",
        average: bool | str = "auto",
        scale: Any = "auto",
        max_iter: int | str = "auto",
        tol: float | None = None,
        shuffle: bool | str = "auto",
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.step = step
        self.epsilon = epsilon
        self.batch_size = batch_size
        self.window = window
        self.budget = budget
        self.budget_policy = budget_policy
        self.fit_intercept = fit_intercept
        self.average = average
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features
        self.verbose = verbose

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients of the support vectors that make the predictions, in units of the targets."""
        view, coef = self._support()
        return np.asarray(coef.T * unit_and_mean(view.state)[0])

    @property
    def intercept_(self) -> np.ndarray:
        """Intercept of the predicting model, in units of the targets."""
        view, coef = self._support()
        unit, mean = unit_and_mean(view.state)
        return np.asarray(mean + unit * self._bias() * coef.sum(axis=0))

    def _explain(self, asked: Asked) -> tuple[list[Any], np.ndarray, np.ndarray]:
        """In units of the targets, whose mean is part of the intercept."""
        numbers, parts, intercepts = super()._explain(asked)
        # The formula of a prediction is mean + unit · score.
        unit, mean = unit_and_mean(asked.view.state)
        return numbers, parts * unit, intercepts * unit + mean
