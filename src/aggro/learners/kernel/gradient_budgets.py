"""Budgeted classifiers whose steps are those of the hinge loss: BPA-S, BOGD and BSGD.

The steps are in ``learners.kernel.methods``, and what gives way in a full set in ``learners.kernel.gives_way``.

References
----------
Z. Wang, S. Vucetic. Online passive-aggressive algorithms on a budget. AISTATS 2010 (BPA-S).
P. Zhao, J. Wang, P. Wu, R. Jin, S. C. H. Hoi. Fast bounded online gradient descent algorithms for scalable kernel-based
online learning. ICML 2012 (BOGD).
Z. Wang, K. Crammer, S. Vucetic. Breaking the curse of kernelization: budgeted stochastic gradient descent for
large-scale SVM training. JMLR 13, 2012 (BSGD).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from aggro.learners.base.contract import Contract
from aggro.learners.base.params import POSITIVE, Choice, Constraint, Number
from aggro.learners.kernel.budget import Policy
from aggro.learners.kernel.methods import Method
from aggro.learners.kernel.on_budget import FEW_VECTORS, ON_BUDGET, BudgetedLearner


class BPASClassifier(BudgetedLearner):
    """Budgeted passive-aggressive classifier, simple (BPA-S).

    For each row with a loss ℓ = [1 − y f]₊ > 0, the step is that of PA-I: τ = min(C, ℓ/q) with q = k(x, x). Until the
    budget is full, the row becomes a support vector with the coefficient τ y. After that it replaces a support vector
    r, and gets the coefficient

        α_r k(x_r, x)/q + τ y,

    which solves the passive-aggressive problem for this one coefficient. It replaces the r with the lowest objective,
    the one with the smallest α_r²(k(x_r, x_r) − k(x_r, x)²/q). Several classes are learned one-vs-rest; the sum over
    the classes decides which r that is.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: the largest step for one row.
    kernel : {"rbf", "poly", "linear", "sigmoid", "cosine", "precomputed"} or a function, default="rbf"
        The kernel: exp(−γ‖x − z‖²), (γ x·z + c₀)^degree, x·z, tanh(γ x·z + c₀), x·z/(‖x‖‖z‖), or rows of a precomputed
        kernel matrix. A function takes two matrices of rows and returns the kernel of each row of one with each row of
        the other.
    gamma : float, list of floats or "auto", default="auto"
        γ of the rbf, poly and sigmoid kernels. With rbf you can give a list: aggro trains all values in parallel and
        predicts with the one that has made the fewest mistakes so far (``gamma_``). "auto" tries ¼, 1, 4 and 16 times
        2/D̄ for rbf, where D̄ is the mean squared distance among the first rows, and takes 1/‖x‖² of the first row for
        poly and sigmoid.
    degree : int, default=3
        Degree of the poly kernel.
    coef0 : float, default=0.0
        Constant c₀ of the poly and sigmoid kernels.
    budget : int, default=100
        Maximum number of support vectors, B.
    fit_intercept : bool or "auto", default="auto"
        Whether to learn an intercept, by adding a constant 1 to the kernel. "auto" means yes for linear, poly and
        cosine.
    average : bool or "auto", default="auto"
        Whether to predict with the mean of all iterates instead of the last. "auto" weighs iterate t by t, and returns
        to the last iterate while that clearly makes fewer mistakes. The mean also loses the support vectors that the
        budget removes. Use False to follow the paper, which predicts with the last iterate.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        Scale features with statistics of the rows seen so far, including the current row. "standard" subtracts the mean
        and divides by the standard deviation. "rms" divides by the root mean square of the non-zero values. "auto" uses
        "standard" for features that at least a quarter of the rows have, and "rms" for rarer ones. Support vectors keep
        the scale of the row at which they were learned. Not available with a "precomputed" kernel.
    max_iter : int or "auto", default="auto"
        Number of passes over the data in ``fit``. "auto" makes up to three passes while they help, and a single pass
        over many rows.
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
        Seed for shuffling the rows.
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
        Progressive mean hinge loss and number of mistakes, at each power of two of rows.

    Examples
    --------
    >>> from aggro import BPASClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["same", "different", "different", "same"]
    >>> model = BPASClassifier(gamma=1.0, max_iter=10).fit(X, y)
    >>> model.predict(X).tolist()
    ['same', 'different', 'different', 'same']
    """

    _method = Method.BPAS
    _constraints: ClassVar[dict[str, Constraint]] = {**ON_BUDGET, "C": POSITIVE}

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        gamma: float | str | list[float] | tuple[float, ...] = "auto",
        degree: int = 3,
        coef0: float = 0.0,
        budget: int = 100,
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
        self.budget = budget
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


class BOGDClassifier(BudgetedLearner):
    """Bounded online gradient descent with a kernel (BOGD, BOGD++).

    Each row multiplies all coefficients by 1 − ηλ. A row with y f < 1 becomes a support vector with the coefficient η
    y. If the budget is full, it replaces a support vector drawn at random:

    - ``sampling="uniform"`` (BOGD): all have the same chance, and the remaining coefficients are multiplied by B/(B −
      1);
    - ``sampling="weighted"`` (BOGD++): support vector i stays with a probability proportional to |α_i|√k(x_i, x_i),
      at most 1, and its coefficient is divided by that probability.

    Either way the expected function stays the same. Then coefficients are clipped to ± ``bound`` η. Several classes
    are learned one-vs-rest; |α_i| is then the sum over the classes.

    Parameters
    ----------
    eta : float, default=0.2
        Step size η.
    lam : float, default=1e-6
        λ, the rate at which all coefficients shrink. ηλ must be below 1.
    bound : float, default=10.0
        Largest coefficient, in units of η. The paper calls it γ; it is not the γ of the kernel.
    sampling : {"uniform", "weighted"}, default="uniform"
        How to draw the support vector to remove: one of the schemes above.
    kernel : {"rbf", "poly", "linear", "sigmoid", "cosine", "precomputed"} or a function, default="rbf"
        The kernel: exp(−γ‖x − z‖²), (γ x·z + c₀)^degree, x·z, tanh(γ x·z + c₀), x·z/(‖x‖‖z‖), or rows of a precomputed
        kernel matrix. A function takes two matrices of rows and returns the kernel of each row of one with each row of
        the other.
    gamma : float, list of floats or "auto", default="auto"
        γ of the rbf, poly and sigmoid kernels. With rbf you can give a list: aggro trains all values in parallel and
        predicts with the one that has made the fewest mistakes so far (``gamma_``). "auto" tries ¼, 1, 4 and 16 times
        2/D̄ for rbf, where D̄ is the mean squared distance among the first rows, and takes 1/‖x‖² of the first row for
        poly and sigmoid.
    degree : int, default=3
        Degree of the poly kernel.
    coef0 : float, default=0.0
        Constant c₀ of the poly and sigmoid kernels.
    budget : int, default=100
        Maximum number of support vectors, B.
    fit_intercept : bool or "auto", default="auto"
        Whether to learn an intercept, by adding a constant 1 to the kernel. "auto" means yes for linear, poly and
        cosine.
    average : bool or "auto", default="auto"
        Whether to predict with the mean of all iterates instead of the last. "auto" weighs iterate t by t, and returns
        to the last iterate while that clearly makes fewer mistakes. The mean also loses the support vectors that the
        budget removes. Use False to follow the paper, which predicts with the last iterate.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        Scale features with statistics of the rows seen so far, including the current row. "standard" subtracts the mean
        and divides by the standard deviation. "rms" divides by the root mean square of the non-zero values. "auto" uses
        "standard" for features that at least a quarter of the rows have, and "rms" for rarer ones. Support vectors keep
        the scale of the row at which they were learned. Not available with a "precomputed" kernel.
    max_iter : int or "auto", default="auto"
        Number of passes over the data in ``fit``. "auto" makes up to three passes while they help, and a single pass
        over many rows.
    tol : float, default=None
        Stop when a pass lowers the best mean loss by less than this.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` visits the rows in random order. "auto" means yes.
    class_weight : dict or "balanced", default=None
        Weights of the classes. They scale η. Predictions take the class with the lowest expected cost. "balanced"
        derives the weights from the class counts so far.
    calibration : {"sigmoid", "isotonic"}, default="sigmoid"
        How ``predict_proba`` turns scores into probabilities. The calibration uses the score of each row before it was
        learned.
    warm_start : bool, default=False
        Whether ``fit`` continues from the current model instead of starting from scratch.
    random_state : int, RandomState or Generator, default=None
        Seed for shuffling the rows and for choosing which support vector to remove.
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
        Progressive mean hinge loss and number of mistakes, at each power of two of rows.

    Examples
    --------
    >>> from aggro import BOGDClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["same", "different", "different", "same"]
    >>> model = BOGDClassifier(gamma=1.0, max_iter=10).fit(X, y)
    >>> model.predict(X).tolist()
    ['same', 'different', 'different', 'same']
    """

    _method, _random = Method.BOGD, True
    _constraints: ClassVar[dict[str, Constraint]] = {
        **ON_BUDGET,
        "eta": Number(0.0, 1e100, open_low=True),
        "lam": Number(0.0, 1e100),
        "bound": Number(1.0, 1e100),
        "sampling": Choice(("uniform", "weighted")),
    }
    contract = Contract(exempt={"check_classifiers_train": {"budget": FEW_VECTORS}})

    def __init__(
        self,
        eta: float = 0.2,
        *,
        lam: float = 1e-6,
        bound: float = 10.0,
        sampling: str = "uniform",
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        gamma: float | str | list[float] | tuple[float, ...] = "auto",
        degree: int = 3,
        coef0: float = 0.0,
        budget: int = 100,
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
        self.eta = eta
        self.lam = lam
        self.bound = bound
        self.sampling = sampling
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.budget = budget
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

    def _policy(self) -> Policy:
        """Any, or more often those of small coefficients."""
        return Policy.RANDOM if self.sampling == "uniform" else Policy.SMALLEST

    def _check_together(self) -> None:
        """Coefficients shrink, and do not change their signs."""
        super()._check_together()
        if self.eta * self.lam >= 1.0:
            raise ValueError(
                f"eta={self.eta!r} times lam={self.lam!r} of BOGDClassifier must be below 1: at each row all that was "
                "learned is multiplied by 1 − eta·lam. Set a smaller one."
            )


class BSGDClassifier(BudgetedLearner):
    """Budgeted stochastic gradient descent for support vector machines (BSGD).

    The steps are those of Pegasos for the objective λ/2‖w‖² + mean hinge loss. Row t multiplies all coefficients by 1
    − 1/t, and a row with y f < 1 becomes a support vector with the coefficient y/(λt). If that exceeds the budget,

    - ``budget_policy="remove"`` removes the support vector that contributes least, with the smallest Σ_c α_ic² k(x_i,
      x_i);
    - ``budget_policy="project"`` removes the one that the others replace best, and projects it onto them;
    - ``budget_policy="merge"`` merges the smallest one and another into a row between them.

    Several classes are learned one-vs-rest and share the support vectors.

    Parameters
    ----------
    lam : float, default=1e-4
        λ, the weight of ‖w‖²/2 in the objective.
    kernel : {"rbf", "poly", "linear", "sigmoid", "cosine", "precomputed"} or a function, default="rbf"
        The kernel: exp(−γ‖x − z‖²), (γ x·z + c₀)^degree, x·z, tanh(γ x·z + c₀), x·z/(‖x‖‖z‖), or rows of a precomputed
        kernel matrix. A function takes two matrices of rows and returns the kernel of each row of one with each row of
        the other.
    gamma : float, list of floats or "auto", default="auto"
        γ of the rbf, poly and sigmoid kernels. With rbf you can give a list: aggro trains all values in parallel
        and predicts with the one that has made the fewest mistakes so far (``gamma_``). "auto" tries ¼, 1, 4 and 16
        times 2/D̄ for rbf, where D̄ is the mean squared distance among the first rows. It takes 1/‖x‖² of the first
        row for poly and sigmoid, and with ``budget_policy="project"``.
    degree : int, default=3
        Degree of the poly kernel.
    coef0 : float, default=0.0
        Constant c₀ of the poly and sigmoid kernels.
    budget : int, default=100
        Maximum number of support vectors, B.
    budget_policy : {"merge", "project", "remove"}, default="merge"
        How to make room when there is one support vector too many: one of the policies above. "merge" needs one of
        the named kernels.
    fit_intercept : bool or "auto", default="auto"
        Whether to learn an intercept, by adding a constant 1 to the kernel. "auto" means yes for linear, poly and
        cosine.
    average : bool or "auto", default="auto"
        Whether to predict with the mean of all iterates instead of the last. "auto" weighs iterate t by t, and returns
        to the last iterate while that clearly makes fewer mistakes. The mean also loses the support vectors that the
        budget removes. Use False to follow the paper, which predicts with the last iterate.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        Scale features with statistics of the rows seen so far, including the current row. "standard" subtracts the mean
        and divides by the standard deviation. "rms" divides by the root mean square of the non-zero values. "auto" uses
        "standard" for features that at least a quarter of the rows have, and "rms" for rarer ones. Support vectors keep
        the scale of the row at which they were learned. Not available with a "precomputed" kernel.
    max_iter : int or "auto", default="auto"
        Number of passes over the data in ``fit``. "auto" makes up to three passes while they help, and a single pass
        over many rows.
    tol : float, default=None
        Stop when a pass lowers the best mean loss by less than this.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` visits the rows in random order. "auto" means yes.
    class_weight : dict or "balanced", default=None
        Weights of the classes. They scale the step 1/(λt) of their rows. Predictions take the class with the lowest
        expected cost. "balanced" derives the weights from the class counts so far.
    calibration : {"sigmoid", "isotonic"}, default="sigmoid"
        How ``predict_proba`` turns scores into probabilities. The calibration uses the score of each row before it was
        learned.
    warm_start : bool, default=False
        Whether ``fit`` continues from the current model instead of starting from scratch.
    random_state : int, RandomState or Generator, default=None
        Seed for shuffling the rows.
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
        Progressive mean hinge loss and number of mistakes, at each power of two of rows.

    Examples
    --------
    >>> from aggro import BSGDClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["same", "different", "different", "same"]
    >>> model = BSGDClassifier(lam=0.01, gamma=1.0, max_iter=10).fit(X, y)
    >>> model.predict(X).tolist()
    ['same', 'different', 'different', 'same']
    """

    _method = Method.BSGD
    _constraints: ClassVar[dict[str, Constraint]] = {
        **ON_BUDGET,
        "lam": Number(1e-100, 1e100),
        "budget_policy": Choice(("merge", "project", "remove")),
    }
    contract = Contract(
        exempt={
            "the order of features does not matter": {
                (
                    "gamma",
                    "auto",
                ): "a merged row is at a multiple of 1/1024 between two, and rounding may choose the next"
            }
        },
        tried=({"budget_policy": "remove"},),
    )

    def __init__(
        self,
        lam: float = 1e-4,
        *,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        gamma: float | str | list[float] | tuple[float, ...] = "auto",
        degree: int = 3,
        coef0: float = 0.0,
        budget: int = 100,
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
        self.lam = lam
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
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

    def _policy(self) -> Policy:
        """To remove is to let the smallest go."""
        return Policy.SMALLEST if self.budget_policy == "remove" else super()._policy()

    def _spare(self) -> bool:
        """The new row may itself be the smallest."""
        return self.budget_policy != "project"
