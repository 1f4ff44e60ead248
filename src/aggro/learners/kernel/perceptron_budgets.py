"""Perceptrons with a kernel and a budget: the randomized budget perceptron, Forgetron and Projectron.

The steps are in ``learners.kernel.methods``, and what gives way in a full set in ``learners.kernel.gives_way``.

References
----------
G. Cavallanti, N. Cesa-Bianchi, C. Gentile. Tracking the best hyperplane with a simple budget perceptron. Machine
Learning 69, 2007 (RBP).
O. Dekel, S. Shalev-Shwartz, Y. Singer. The Forgetron: a kernel-based perceptron on a budget. SIAM Journal on Computing
37, 2008.
F. Orabona, J. Keshet, B. Caputo. Bounded kernel-based online learning. JMLR 10, 2009 (Projectron, Projectron++).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from aggro.learners.base.contract import Contract
from aggro.learners.base.params import Choice, Constraint, Flag, Number
from aggro.learners.kernel.methods import Method
from aggro.learners.kernel.on_budget import FEW_VECTORS, ON_BUDGET, ONE_GAMMA, BudgetedLearner
from aggro.learners.kernel.settings import KERNEL_NAMES, kernel_among

INNER = ("linear", "poly", "rbf", "cosine", "precomputed")


class RandomizedBudgetPerceptron(BudgetedLearner):
    """Kernel perceptron that replaces a random support vector when its budget is full (RBP).

    A row with y f ≤ 0 becomes a support vector with the coefficient y. When the budget is full, it replaces a support
    vector drawn uniformly at random. Several classes are learned one-vs-rest and share the support vectors.

    Parameters
    ----------
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
        Weights of the classes. They scale the coefficients of their rows. Predictions take the class with the lowest
        expected cost. "balanced" derives the weights from the class counts so far.
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
    >>> from aggro import RandomizedBudgetPerceptron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["same", "different", "different", "same"]
    >>> model = RandomizedBudgetPerceptron(gamma=1.0, max_iter=10).fit(X, y)
    >>> model.predict(X).tolist()
    ['same', 'different', 'different', 'same']
    """

    _method, _random = Method.RANDOM_PERCEPTRON, True
    _constraints: ClassVar[dict[str, Constraint]] = ON_BUDGET
    budget_policy = "random"
    contract = Contract(exempt={"check_classifiers_train": {"budget": FEW_VECTORS}})

    def __init__(
        self,
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


class Forgetron(BudgetedLearner):
    """Kernel perceptron that forgets its oldest support vector, after shrinking it (self-tuned Forgetron).

    A row with y f ≤ 0 becomes a support vector with the coefficient y. If that exceeds the budget, all coefficients
    are multiplied by φ, and the oldest support vector r is removed. With σ = |α_r| and μ = sign(α_r) f(x_r), φ ≤ 1 is
    the largest number for which the sum of

        Ψ = (σφ)² + 2σφ(1 − φμ)

    over all removals is at most 15/32 of the number of mistakes. If k(x, x) ≤ 1 and B ≥ 83, the number of mistakes is
    at most 2‖g‖² + 4Σℓ(g) for any g with ‖g‖ ≤ ¼√((B + 1)/ln(B + 1)). Several classes are learned one-vs-rest; both
    sums then run over all classes, and φ is the same for all.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear", "sigmoid", "cosine"}, default="rbf"
        The kernel: exp(−γ‖x − z‖²), (γ x·z + c₀)^degree, x·z, tanh(γ x·z + c₀), or x·z/(‖x‖‖z‖).
    gamma : float or "auto", default="auto"
        γ of the rbf, poly and sigmoid kernels. "auto" is 2/D̄ for rbf, where D̄ is the mean squared distance among
        the first rows, and 1/‖x‖² of the first row for poly and sigmoid.
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
        Weights of the classes. They scale the coefficients of their rows. Predictions take the class with the lowest
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
    >>> from aggro import Forgetron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["same", "different", "different", "same"]
    >>> model = Forgetron(gamma=1.0, max_iter=10).fit(X, y)
    >>> model.predict(X).tolist()
    ['same', 'different', 'different', 'same']
    """

    _method = Method.FORGETRON
    _constraints: ClassVar[dict[str, Constraint]] = {
        **ON_BUDGET,
        "kernel": Choice(KERNEL_NAMES),
        "gamma": ONE_GAMMA,
    }
    contract = Contract(exempt={"check_classifiers_train": {"budget": FEW_VECTORS}}, apart=frozenset({"kernel"}))
    _own_kernel = False
    budget_policy = "oldest"

    def __init__(
        self,
        *,
        kernel: str = "rbf",
        gamma: float | str = "auto",
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

    def _spare(self) -> bool:
        """What goes is shrunk with the new row there."""
        return True

    def _may_have_several(self) -> bool:
        """Each γ would need mistakes of its own to forget by."""
        return False


class Projectron(BudgetedLearner):
    """Kernel perceptron that projects rows onto its support vectors (Projectron, Projectron++).

    For a row with y f ≤ 0, let P be the projection of φ(x) onto the span of the support vectors, and ‖δ‖ its distance
    from that span. If ‖δ‖ > η and the budget is not full, the row becomes a support vector with the coefficient y.
    Otherwise f changes by y P, which only changes existing coefficients. With ``plus`` (Projectron++), a row with 0 <
    y f < 1 whose loss ℓ = 1 − y f is above ‖δ‖/η changes f by y τ P, where

        τ = min(ℓ/‖P‖², 2(ℓ − ‖δ‖/η)/‖P‖², 1).

    If η > 0, a bounded stream has finitely many support vectors even without a budget. Several classes are learned
    one-vs-rest and share the support vectors.

    Parameters
    ----------
    eta : float, default=0.1
        Minimum distance η from the span of the support vectors at which a row becomes one itself. With 0 every such
        row does, until the budget is full.
    plus : bool, default=False
        Whether to learn from rows within the margin too (Projectron++). Not available with ``eta=0``.
    kernel : {"rbf", "poly", "linear", "cosine", "precomputed"} or a function, default="rbf"
        The kernel: exp(−γ‖x − z‖²), (γ x·z + c₀)^degree, x·z, x·z/(‖x‖‖z‖), or rows of a precomputed kernel matrix.
        A function takes two matrices of rows and returns the kernel of each row of one with each row of the other.
    gamma : float or "auto", default="auto"
        γ of the rbf and poly kernels. "auto" is 1/‖x‖² of the first row.
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
        Weights of the classes. They scale the coefficients of their rows. Predictions take the class with the lowest
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
    >>> from aggro import Projectron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["same", "different", "different", "same"]
    >>> model = Projectron(gamma=1.0, max_iter=10).fit(X, y)
    >>> model.predict(X).tolist()
    ['same', 'different', 'different', 'same']
    """

    _method = Method.PROJECTRON
    _constraints: ClassVar[dict[str, Constraint]] = {
        **ON_BUDGET,
        "kernel": kernel_among(INNER),
        "gamma": ONE_GAMMA,
        "eta": Number(0.0, 1e100),
        "plus": Flag(),
    }
    budget_policy = "project"

    def __init__(
        self,
        eta: float = 0.1,
        *,
        plus: bool = False,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        gamma: float | str = "auto",
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
        self.plus = plus
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

    def _check_together(self) -> None:
        """Of a row within the margin, η says how near to the others it must be."""
        super()._check_together()
        if self.plus and self.eta == 0.0:
            raise ValueError("Projectron with plus=True needs eta above 0. Got eta=0.")
