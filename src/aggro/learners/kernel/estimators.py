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

from aggro.learners.kernel.base import KernelLearner
from aggro.learners.kernel.settings import POSITIVE, PREDICTING
from aggro.learners.kernel.support_set import CLASSES, NUMBER
from aggro.learners.kernel.target import unit_and_mean
from aggro.learners.shared.contract import Contract
from aggro.learners.shared.one_row import Asked
from aggro.learners.shared.params import Constraint, Number
from aggro.learners.shared.tasks import CALIBRATION, CLASS_WEIGHT, Classifier, Regressor


class KernelClassifier(KernelLearner, Classifier):
    """A kernel learner of classes."""

    _task, _edge = CLASSES, "margin"
    contract = Contract(
        exempt={
            "check_class_weight_classifiers": "a class of large weight is predicted everywhere only by an intercept, "
            "which an RBF kernel has not"
        }
    )

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients of the predicting model: one row for two classes, else one a class."""
        view, coef = self._support()
        shown = self._by_class(view.labels, coef)
        return shown[None, :] if shown.ndim == 1 else shown.T

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts of the predicting model, one for each row of ``dual_coef_``."""
        return np.asarray(self._bias() * self.dual_coef_.sum(axis=1))


class KernelPAClassifier(KernelClassifier):
    """Passive-aggressive classifier with a kernel.

    For each row, with q = k(x, x) (+ 1 with an intercept) and ℓ = [m − y f]₊, the row becomes a support vector with
    the coefficient τ y, where τ is that of :class:`PAClassifier`:

    - ``step="pa"``: τ = ℓ/q, the row is right after the step;
    - ``step="pa1"``: τ = min(C, ℓ/q), at most C a row;
    - ``step="pa2"``: τ = ℓ/(q + 1/(2C));
    - ``step="ls"``: τ = (m − y f)/(q + 1/(2C)), least squares, no hinge.

    A row with ℓ = 0 changes nothing. Several classes are learned one against the rest and share the support vectors.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: the largest coefficient of a row (``pa1``), or how little is forgiven (``pa2``, ``ls``).
        ``pa`` has no C.
    kernel : {"rbf", "poly", "linear", "sigmoid", "cosine", "precomputed"} or a function, default="rbf"
        exp(−γ‖x − z‖²), (γ x·z + c₀)^degree, x·z, tanh(γ x·z + c₀), or x·z/(‖x‖‖z‖). A function takes two matrices of
        rows and gives the kernel of each row with each. With "precomputed" the rows are those of the kernel matrix, and
        the t-th row that is learned has its own value in column t (from 0, and again from 0 after the last).
    gamma : float, list of floats or "auto", default="auto"
        γ of rbf, poly and sigmoid. With rbf, the γ of a list learn side by side, and the one with the fewest mistakes
        so far predicts (see ``gamma_``). "auto" is such a list, ¼, 1, 4 and 16 times 2/D̄, where D̄ is the mean squared
        distance among the first rows; for poly and sigmoid, in mini-batches, and with ``budget_policy="project"`` it is
        1/‖x‖² of the first row.
    degree : int, default=3
        The power of poly.
    coef0 : float, default=0.0
        c₀ of poly and sigmoid.
    step : {"pa", "pa1", "pa2", "ls"}, default="pa1"
        The step, as above.
    margin : float, default=1.0
        The margin m that a row must have to be passed over.
    batch_size : int, default=1
        How many rows are learned at once, by the exact solution of their common problem; not for ``pa``, nor with a
        budget. Rows of an incomplete group wait: ``fit`` learns them at its end, elsewhere ``flush`` does.
    window : {"disjoint", "sliding"}, default="disjoint"
        With ``batch_size`` above 1, each row is in one group, or a group is the last ``batch_size`` rows, at every
        row.
    budget : int, default=None
        The largest number of support vectors; None for as many as there are.
    budget_policy : {"oldest", "random", "smallest", "project", "merge"}, default="merge"
        What makes room where the budget is full: see the page on budgets.
    fit_intercept : bool or "auto", default="auto"
        Whether to learn an intercept, as a constant 1 in the kernel; "auto" for linear, poly and cosine.
    average : bool or "auto", default="auto"
        Predict with the mean of all iterates instead of the last. "auto" weighs iterate t by t, and goes back to the
        last as long as that has clearly made fewer mistakes lately. What a budget lets go of is lost to the mean, too.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        Scale features on the way, by what was seen so far, the row itself counted; support vectors stay as they were
        learned. "standard": subtract the mean, divide by the standard deviation. "rms": divide by the root mean square
        of the values that are not 0. "auto": the first for features that at least a quarter of the rows have, the
        second for rare ones. Not with "precomputed", which has no features.
    max_iter : int or "auto", default="auto"
        Passes over the data in ``fit``; a row that is learned again becomes another support vector. "auto": up to
        three as long as they help, one over many rows.
    tol : float, default=None
        Stop when a pass's mean loss is not better than the best by this much.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` goes over the rows in random order. "auto": unless a half-life is given.
    class_weight : dict or "balanced", default=None
        Weights of the classes: they scale C, and the decision is that of least cost by the probabilities;
        "balanced" weighs by the classes counted so far.
    calibration : {"sigmoid", "isotonic"}, default="sigmoid"
        How ``predict_proba`` makes probabilities of scores, from those that rows had before they were learned.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the current model.
    random_state : int, RandomState or Generator, default=None
        Seeds the order of the rows with ``shuffle``, and what the policy "random" removes.
    n_features : int, default=None
        Reserves a width, so that arrays may be narrower.
    verbose : int, default=0
        1 says on stderr how a long ``fit`` or ``partial_fit`` goes. It is not kept in model files.

    Attributes
    ----------
    support_vectors_ : array or sparse matrix
        The rows held (n_support, n_features), as they were learned: scaled, with ``scale``.
    support_ : array
        How many rows had been seen before each of them; with "precomputed", their columns.
    gamma_ : float
        The γ that predicts.
    dual_coef_ : array
        Their coefficients, (1, n_support) for two classes, else (n_classes, n_support).
    intercept_ : array
        The intercepts, one for each row of ``dual_coef_``.
    classes_ : array
        The classes, sorted.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that were learned from, rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and mistakes at each power of two of rows.

    Examples
    --------
    >>> from aggro import KernelPAClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["same", "different", "different", "same"]
    >>> model = KernelPAClassifier(gamma=1.0, max_iter=10).fit(X, y)
    >>> model.predict(X).tolist()
    ['same', 'different', 'different', 'same']
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        **PREDICTING,
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

    For each row, with q = k(x, x) (+ 1 with an intercept) and ℓ = [|y − f| − ε]₊, the row becomes a support vector
    with the coefficient τ sign(y − f), where τ is that of :class:`PARegressor`:

    - ``step="pa"``: τ = ℓ/q, the row is within ε after the step;
    - ``step="pa1"``: τ = min(C, ℓ/q), at most C a row;
    - ``step="pa2"``: τ = ℓ/(q + 1/(2C));
    - ``step="ls"``: τ = |y − f|/(q + 1/(2C)), least squares, ε unused.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness, as in :class:`KernelPAClassifier`.
    kernel : {"rbf", "poly", "linear", "sigmoid", "cosine", "precomputed"} or a function, default="rbf"
        The kernel, as in :class:`KernelPAClassifier`.
    gamma : float, list of floats or "auto", default="auto"
        γ of rbf, poly and sigmoid, as in :class:`KernelPAClassifier`; of several, the one with the least loss so far
        predicts, squared for ``pa2`` and ``ls``.
    degree : int, default=3
        The power of poly.
    coef0 : float, default=0.0
        c₀ of poly and sigmoid.
    step : {"pa", "pa1", "pa2", "ls"}, default="pa1"
        The step, as above.
    epsilon : float, default=0.1
        Errors up to this size are passed over.
    batch_size : int, default=1
        How many rows are learned at once, by the exact solution of their common problem; not for ``pa``, nor with a
        budget. Rows of an incomplete group wait: ``fit`` learns them at its end, elsewhere ``flush`` does.
    window : {"disjoint", "sliding"}, default="disjoint"
        With ``batch_size`` above 1, each row is in one group, or a group is the last ``batch_size`` rows, at every
        row.
    budget : int, default=None
        The largest number of support vectors; None for as many as there are.
    budget_policy : {"oldest", "random", "smallest", "project", "merge"}, default="merge"
        What makes room where the budget is full: see the page on budgets.
    fit_intercept : bool or "auto", default="auto"
        Whether to learn an intercept, as a constant 1 in the kernel; "auto" for linear, poly and cosine.
    average : bool or "auto", default="auto"
        Predict with the mean of all iterates instead of the last, as in :class:`KernelPAClassifier`.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        Scale features on the way, as in :class:`KernelPAClassifier`. Targets are scaled too, so that C and ``epsilon``
        are in units of their standard deviation; predictions and coefficients are in units as they came.
    max_iter : int or "auto", default="auto"
        Passes over the data in ``fit``; a row that is learned again becomes another support vector. "auto": up to
        three as long as they help, one over many rows.
    tol : float, default=None
        Stop when a pass's mean loss is not better than the best by this much.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` goes over the rows in random order. "auto": unless a half-life is given.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the current model.
    random_state : int, RandomState or Generator, default=None
        Seeds the order of the rows with ``shuffle``, and what the policy "random" removes.
    n_features : int, default=None
        Reserves a width, so that arrays may be narrower.
    verbose : int, default=0
        1 says on stderr how a long ``fit`` or ``partial_fit`` goes. It is not kept in model files.

    Attributes
    ----------
    support_vectors_ : array or sparse matrix
        The rows held (n_support, n_features), as they were learned: scaled, with ``scale``.
    support_ : array
        How many rows had been seen before each of them; with "precomputed", their columns.
    gamma_ : float
        The γ that predicts.
    dual_coef_, intercept_ : array
        Their coefficients (1, n_support), and the intercept (1,).
    n_seen_, n_updates_ : int
        Rows seen and rows that were learned from.
    history_ : structured array
        Progressive mean loss at each power of two of rows.

    Examples
    --------
    >>> from aggro import KernelPARegressor
    >>> model = KernelPARegressor(gamma=10.0, step="pa", epsilon=0.01, max_iter=20, average=False, scale=None)
    >>> X = [[0.1 * i] for i in range(60)]
    >>> model = model.fit(X, [x[0] ** 2 for x in X])
    >>> round(model.predict_one([3.0]), 1)
    9.0
    """

    _task, _edge = NUMBER, "epsilon"
    _constraints: ClassVar[dict[str, Constraint]] = {**PREDICTING, "epsilon": Number(0.0)}

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
        """Coefficients of the support vectors in the model that predicts, in units of the targets."""
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
        unit, mean = unit_and_mean(asked.view.state)
        return numbers, parts * unit, intercepts * unit + mean
