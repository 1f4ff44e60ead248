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

from aggro.learners.kernel.methods import Method
from aggro.learners.kernel.on_budget import FEW, ON_BUDGET, ONE_GAMMA, BudgetedLearner
from aggro.learners.kernel.settings import NAMED, kernel_among
from aggro.learners.shared.contract import Contract
from aggro.learners.shared.params import Choice, Constraint, Flag, Number

INNER = ("linear", "poly", "rbf", "cosine", "precomputed")


class RandomizedBudgetPerceptron(BudgetedLearner):
    """Kernel perceptron that lets go of any support vector when its budget is full (RBP).

    A row with y f ≤ 0 becomes a support vector with the coefficient y. In a full set it takes the place of another one,
    each with the same chance. Several classes are learned one against the rest and share the support vectors.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear", "sigmoid", "cosine", "precomputed"} or a function, default="rbf"
        The kernel, as in :class:`KernelPAClassifier`.
    gamma : float, list of floats or "auto", default="auto"
        γ of rbf, poly and sigmoid, as in :class:`KernelPAClassifier`; of several, the one with the fewest mistakes so
        far predicts.
    degree : int, default=3
        The power of poly.
    coef0 : float, default=0.0
        c₀ of poly and sigmoid.
    budget : int, default=100
        The largest number of support vectors B.
    fit_intercept : bool or "auto", default="auto"
        Whether to learn an intercept, as a constant 1 in the kernel; "auto" for linear, poly and cosine.
    average : bool or "auto", default="auto"
        Predict with the mean of the iterates instead of the last, as in :class:`KernelPAClassifier`. The papers do not:
        False. What the budget lets go of is lost to the mean, too.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        Scale features on the way, as in :class:`KernelPAClassifier`.
    max_iter : int or "auto", default="auto"
        Passes over the data in ``fit``. "auto": up to three as long as they help, one over many rows.
    tol : float, default=None
        Stop when a pass's mean loss is not better than the best by this much.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` goes over the rows in random order. "auto": yes.
    class_weight : dict or "balanced", default=None
        Weights of the classes: they scale the coefficients of their rows, and the decision is that of least cost by the
        probabilities; "balanced" weighs by the classes counted so far.
    calibration : {"sigmoid", "isotonic"}, default="sigmoid"
        How ``predict_proba`` makes probabilities of scores, from those that rows had before they were learned.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the current model.
    random_state : int, RandomState or Generator, default=None
        Seeds the order of the rows with ``shuffle``, and which support vectors give way.
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
        Progressive mean hinge loss and mistakes at each power of two of rows.

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
    contract = Contract(exempt={"check_classifiers_train": {"budget": FEW}})

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

    A row with y f ≤ 0 becomes a support vector with the coefficient y. If they are more than the budget then, all
    coefficients are multiplied by φ, and the oldest goes. With σ = |α_r| and μ = sign(α_r) f(x_r) of the oldest, φ ≤ 1
    is the largest number for which the sum of

        Ψ = (σφ)² + 2σφ(1 − φμ)

    over all removals stays within 15/32 of the number of mistakes. For k(x, x) ≤ 1 and B ≥ 83 the number of mistakes is
    at most 2‖g‖² + 4Σℓ(g) for any g with ‖g‖ ≤ ¼√((B + 1)/ln(B + 1)). Several classes are learned one against the rest;
    both sums are then over all classes, and φ is the same for all.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear", "sigmoid", "cosine"}, default="rbf"
        The kernel, as in :class:`KernelPAClassifier`.
    gamma : float or "auto", default="auto"
        γ of rbf, poly and sigmoid. "auto": 2/D̄ with the mean squared distance D̄ among the first rows; for poly and
        sigmoid 1/‖x‖² of the first row.
    degree : int, default=3
        The power of poly.
    coef0 : float, default=0.0
        c₀ of poly and sigmoid.
    budget : int, default=100
        The largest number of support vectors B.
    fit_intercept : bool or "auto", default="auto"
        Whether to learn an intercept, as a constant 1 in the kernel; "auto" for linear, poly and cosine.
    average : bool or "auto", default="auto"
        Predict with the mean of the iterates instead of the last, as in :class:`KernelPAClassifier`. The papers do not:
        False. What the budget lets go of is lost to the mean, too.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        Scale features on the way, as in :class:`KernelPAClassifier`.
    max_iter : int or "auto", default="auto"
        Passes over the data in ``fit``. "auto": up to three as long as they help, one over many rows.
    tol : float, default=None
        Stop when a pass's mean loss is not better than the best by this much.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` goes over the rows in random order. "auto": yes.
    class_weight : dict or "balanced", default=None
        Weights of the classes: they scale the coefficients of their rows, and the decision is that of least cost by the
        probabilities; "balanced" weighs by the classes counted so far.
    calibration : {"sigmoid", "isotonic"}, default="sigmoid"
        How ``predict_proba`` makes probabilities of scores, from those that rows had before they were learned.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the current model.
    random_state : int, RandomState or Generator, default=None
        Seeds the order of the rows with ``shuffle``.
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
        Progressive mean hinge loss and mistakes at each power of two of rows.

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
        "kernel": Choice(NAMED),
        "gamma": ONE_GAMMA,
    }
    contract = Contract(exempt={"check_classifiers_train": {"budget": FEW}}, apart=frozenset({"kernel"}))
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

    For a row with y f ≤ 0, let P be the projection of φ(x) onto the span of the support vectors and ‖δ‖ its distance
    from it. If ‖δ‖ > η and there is room, the row becomes a support vector with the coefficient y. Else f moves by y P,
    which changes the coefficients that there are. With ``plus`` (Projectron++) a row with 0 < y f < 1 and loss
    ℓ = 1 − y f above ‖δ‖/η moves f by y τ P, with

        τ = min(ℓ/‖P‖², 2(ℓ − ‖δ‖/η)/‖P‖², 1).

    Even without a budget the support vectors of a bounded stream are finitely many, if η > 0. Several classes are
    learned one against the rest and share the support vectors.

    Parameters
    ----------
    eta : float, default=0.1
        η, how far from the others' span a row must be to become a support vector. 0: all do, as long as there is room.
    plus : bool, default=False
        Learn from rows within the margin, too: Projectron++. Not with ``eta=0``.
    kernel : {"rbf", "poly", "linear", "cosine", "precomputed"} or a function, default="rbf"
        The kernel, as in :class:`KernelPAClassifier`.
    gamma : float or "auto", default="auto"
        γ of rbf and poly. "auto": 1/‖x‖² of the first row.
    degree : int, default=3
        The power of poly.
    coef0 : float, default=0.0
        c₀ of poly and sigmoid.
    budget : int, default=100
        The largest number of support vectors B.
    fit_intercept : bool or "auto", default="auto"
        Whether to learn an intercept, as a constant 1 in the kernel; "auto" for linear, poly and cosine.
    average : bool or "auto", default="auto"
        Predict with the mean of the iterates instead of the last, as in :class:`KernelPAClassifier`. The papers do not:
        False. What the budget lets go of is lost to the mean, too.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        Scale features on the way, as in :class:`KernelPAClassifier`.
    max_iter : int or "auto", default="auto"
        Passes over the data in ``fit``. "auto": up to three as long as they help, one over many rows.
    tol : float, default=None
        Stop when a pass's mean loss is not better than the best by this much.
    shuffle : bool or "auto", default="auto"
        Whether ``fit`` goes over the rows in random order. "auto": yes.
    class_weight : dict or "balanced", default=None
        Weights of the classes: they scale the coefficients of their rows, and the decision is that of least cost by the
        probabilities; "balanced" weighs by the classes counted so far.
    calibration : {"sigmoid", "isotonic"}, default="sigmoid"
        How ``predict_proba`` makes probabilities of scores, from those that rows had before they were learned.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the current model.
    random_state : int, RandomState or Generator, default=None
        Seeds the order of the rows with ``shuffle``.
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
        Progressive mean hinge loss and mistakes at each power of two of rows.

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
