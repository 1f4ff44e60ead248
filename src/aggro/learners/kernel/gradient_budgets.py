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

from aggro.learners.kernel.budget import Policy
from aggro.learners.kernel.methods import Method
from aggro.learners.kernel.on_budget import FEW, ON_BUDGET, BudgetedLearner
from aggro.learners.kernel.settings import POSITIVE
from aggro.learners.shared.contract import Contract
from aggro.learners.shared.params import Choice, Constraint, Number


class BPASClassifier(BudgetedLearner):
    """Budgeted passive-aggressive classifier, simple (BPA-S).

    For each row with q = k(x, x) and ℓ = [1 − y f]₊ > 0, the step is that of PA-I, τ = min(C, ℓ/q). As long as there is
    room, the row becomes a support vector with the coefficient τ y. In a full set it takes the place of another one, r,
    with the coefficient

        α_r k(x_r, x)/q + τ y,

    which solves the passive-aggressive problem over this one coefficient. The r that makes the least of it goes: the
    one with the least α_r²(k(x_r, x_r) − k(x_r, x)²/q). Several classes are learned one against the rest, and the sum
    over the classes decides.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: the largest step of a row.
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
        Weights of the classes: they scale C, and the decision is that of least cost by the probabilities;
        "balanced" weighs by the classes counted so far.
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

    At every row all coefficients are multiplied by 1 − ηλ. A row with y f < 1 becomes a support vector with the
    coefficient η y. In a full set one of the others, which is drawn, gives way:

    - ``sampling="uniform"`` (BOGD): all have the same chance, and the others are multiplied by B/(B − 1);
    - ``sampling="weighted"`` (BOGD++): i stays with a chance in proportion to |α_i|√k(x_i, x_i), at most 1, and is
      divided by it.

    So the function is the same in the mean. Then coefficients are cut at ± ``bound`` η. Several classes are learned one
    against the rest; |α_i| is then the sum over the classes.

    Parameters
    ----------
    eta : float, default=0.2
        The step η.
    lam : float, default=1e-6
        How strongly all coefficients shrink, λ; ηλ must be below 1.
    bound : float, default=10.0
        The largest coefficient, in steps: γ of the paper, which is not that of the kernel.
    sampling : {"uniform", "weighted"}, default="uniform"
        How the one that gives way is drawn, as above.
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
        Weights of the classes: they scale η, and the decision is that of least cost by the probabilities;
        "balanced" weighs by the classes counted so far.
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
    contract = Contract(exempt={"check_classifiers_train": {"budget": FEW}})

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

    The steps are those of Pegasos, for the objective λ/2‖w‖² + the mean hinge loss: at row t all coefficients are
    multiplied by 1 − 1/t, and a row with y f < 1 becomes a support vector with the coefficient y/(λt). If they are more
    than the budget then,

    - ``budget_policy="remove"``: the one with the smallest part goes, the least Σ_c α_ic² k(x_i, x_i);
    - ``budget_policy="project"``: the one that the others can best stand in for goes, and its part is projected onto
      them;
    - ``budget_policy="merge"``: the smallest and another become one row between them.

    Several classes are learned one against the rest and share the support vectors.

    Parameters
    ----------
    lam : float, default=1e-4
        The weight λ of ‖w‖²/2 in the objective.
    kernel : {"rbf", "poly", "linear", "sigmoid", "cosine", "precomputed"} or a function, default="rbf"
        The kernel, as in :class:`KernelPAClassifier`.
    gamma : float, list of floats or "auto", default="auto"
        γ of rbf, poly and sigmoid, as in :class:`KernelPAClassifier`; of several, the one with the fewest mistakes so
        far predicts. With ``budget_policy="project"`` there is one, for "auto" 1/‖x‖² of the first row.
    degree : int, default=3
        The power of poly.
    coef0 : float, default=0.0
        c₀ of poly and sigmoid.
    budget : int, default=100
        The largest number of support vectors B.
    budget_policy : {"merge", "project", "remove"}, default="merge"
        What is done when there is one too many, as above. "merge" needs one of the named kernels.
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
        Weights of the classes: they scale 1/λ of a row, and the decision is that of least cost by the probabilities;
        "balanced" weighs by the classes counted so far.
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
