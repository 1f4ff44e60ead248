"""Uniclass with a kernel: a ball around what is usual, in the space of the kernel.

A row at distance d = ‖φ(x) − c‖ has the loss ℓ = [d − ε]₊ and asks for

    min ½‖c′ − c‖²   such that   ‖φ(x) − c′‖ ≤ ε          (softened with C, see ``engine.steps``)

and the answer is c + τ(φ(x) − c)/d. With an RBF kernel a ball in that space is a region of any form around the rows:
the decision depends on Σ α_i k(x_i, x) alone, a density. The rule is in ``learners.kernel.centre``.

References
----------
K. Crammer, O. Dekel, S. Shalev-Shwartz, Y. Singer. Online Passive-Aggressive Algorithms. NIPS 2003 (sections 2 and 3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from aggro.learners.base.contract import Contract
from aggro.learners.base.detector import Detector
from aggro.learners.base.one_row import Asked
from aggro.learners.base.params import Choice, Constraint, Either, Flag, Kind, Number
from aggro.learners.base.scaled import mode_of
from aggro.learners.kernel.base import KernelLearner
from aggro.learners.kernel.settings import KERNEL_PARAMETERS, kernel_among
from aggro.learners.kernel.support_set import OUTLIER_TASK

ABSENT_PARAMETERS = ("fit_intercept", "batch_size", "window")
DETECTOR_KERNELS = ("linear", "poly", "rbf", "cosine")


class KernelPAUniclass(KernelLearner, Detector):
    """Passive-aggressive outlier detector with a kernel (uniclass): a ball around the usual rows.

    The centre is c = Σ α_i φ(x_i). A row at distance d from it, d² = k(x, x) − 2Σ α_i k(x_i, x) + ‖c‖², has the loss
    ℓ = [d − ε]₊ and moves the centre by τ(φ(x) − c)/d, where

    - ``step="pa"``: τ = ℓ; afterwards the row is inside;
    - ``step="pa1"``: τ = min(C, ℓ), at most C for one row;
    - ``step="pa2"``: τ = ℓ/(1 + 1/(2C)).

    The first row is the first centre. A learned radius follows the distance that a share ``nu`` of the rows exceeds.
    Every row that moves the centre becomes a support vector, up to a budget.

    By default aggro standardises features as it goes, and γ follows the distances between the first rows. The centre
    learns from the farther half of the rows in ever smaller steps, so that a cluster of anomalies does not attract it
    (``robust``). For the algorithm as published use
    ``KernelPAUniclass(0.1, gamma=0.1, robust=False, scale=None)``.

    Parameters
    ----------
    C : float, default=0.001
        Aggressiveness: the largest step of the centre for one row (``pa1``), or the inverse penalty on large steps
        (``pa2``). ``pa`` does not use it. Steps are distances if you set ``epsilon``, and multiples of the radius
        if it is learned. The centre forgets a row after about 1/C further rows.
    kernel : {"rbf", "poly", "linear", "cosine"} or a function, default="rbf"
        The kernel: exp(−γ‖x − z‖²), (γ x·z + c₀)^degree, x·z, or x·z/(‖x‖‖z‖). A function takes two matrices of
        rows and returns the kernel of each row of one with each row of the other. It must be an inner product.
    gamma : float or "auto", default="auto"
        γ of the rbf and poly kernels. "auto" is 1/D̄ for rbf, where D̄ is the mean squared distance among the
        support vectors of the first 64 rows, and 1/‖x‖² of the first row for poly.
    degree : int, default=3
        Degree of the poly kernel.
    coef0 : float, default=0.0
        Constant c₀ of the poly kernel.
    step : {"pa", "pa1", "pa2"}, default="pa1"
        How far a row moves the centre: one of the formulas above.
    epsilon : float or "auto", default="auto"
        Radius of the ball. "auto" learns it. With rbf, all distances are below √2.
    nu : float, default=0.1
        Share of the rows that a learned radius leaves outside.
    robust : bool, default=True
        Whether the centre resists anomalies, if the radius is learned. It then learns from the farther half of the
        rows instead of only from those outside, and row t may move it by up to 2/t if that is more than C. A tenth
        of anomalies, similar to each other or not, then does little harm. About half of the rows become support
        vectors: set a budget for long streams.
    budget : int, default=None
        Maximum number of support vectors. None means no limit. Not available with a kernel function of your own.
    budget_policy : {"oldest", "random", "smallest"}, default="smallest"
        Which support vector to remove when the budget is full. The other coefficients are then rescaled to sum to
        1.
    average : bool, default=False
        Whether to predict with the mean of all centres instead of the last. If the radius is learned, the mean has
        its own. Not available with a budget.
    scale : {"auto", "standard", "rms"} or None, default="auto"
        How to scale features on the stream, as in :class:`KernelPAClassifier`. None takes rows as they come.
    max_iter : int, default=1
        Number of passes over the data in ``fit``. A row that is learned again becomes another support vector.
    tol : float, default=None
        Stop when a pass lowers the best mean loss by less than this.
    shuffle : bool or "auto", default=False
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
        The support vectors (n_support, n_features).
    support_ : array
        Number of rows seen before each support vector.
    dual_coef_ : array
        Coefficients α of the support vectors (1, n_support). They sum to 1.
    radius_, offset_ : float
        The radius ε and the offset −ε. Scores are −d, and rows with a score below the offset are outside.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that moved the centre, and rows that were outside before they were learned.
    history_ : structured array
        Progressive mean loss and number of rows outside (``mistakes``), at each power of two of rows.

    Examples
    --------
    >>> from aggro import KernelPAUniclass
    >>> model = KernelPAUniclass(gamma=1.0)
    >>> for x in [0.1, 4.0, 0.2, 3.9, 0.0, 4.1] * 20:
    ...     model = model.learn_one([x])
    >>> model.predict_one([0.1]), model.predict_one([4.0]), model.predict_one([2.0])
    (1, 1, -1)
    """

    _task, _edge = OUTLIER_TASK, "epsilon"
    _constraints: ClassVar[dict[str, Constraint]] = {
        **{name: constraint for name, constraint in KERNEL_PARAMETERS.items() if name not in ABSENT_PARAMETERS},
        "kernel": kernel_among(DETECTOR_KERNELS),
        "step": Choice(("pa", "pa1", "pa2")),
        "budget_policy": Choice(("oldest", "random", "smallest")),
        "epsilon": Either((Number(0.0, open_low=True), Choice(("auto",)))),
        "nu": Number(0.0, 1.0, open_low=True),
        "robust": Flag(),
        "scale": Either((Choice(("auto", "standard", "rms")), Kind(None, "None"))),
    }
    contract = Contract(
        exempt={"a weight scales C": {("robust", True): "in the first rows C is at least 2/t"}},
        plain={"C": 0.1, "robust": False, "scale": None},
        tried=(
            {"robust": True, "gamma": "auto"},
            {"robust": True, "gamma": "auto", "budget": 9},
            {"robust": True, "gamma": "auto", "scale": "auto"},
        ),
    )
    fit_intercept = False
    batch_size = 1
    window = "disjoint"

    def __init__(
        self,
        C: float = 0.001,
        *,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        gamma: float | str = "auto",
        degree: int = 3,
        coef0: float = 0.0,
        step: str = "pa1",
        epsilon: float | str = "auto",
        nu: float = 0.1,
        robust: bool = True,
        budget: int | None = None,
        budget_policy: str = "smallest",
        average: bool = False,
        scale: Any = "auto",
        max_iter: int | str = 1,
        tol: float | None = None,
        shuffle: bool | str = False,
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
        self.nu = nu
        self.robust = robust
        self.budget = budget
        self.budget_policy = budget_policy
        self.average = average
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features
        self.verbose = verbose

    def _scale(self) -> int:
        """Features are centred: a kernel of distances has no use for where zero is."""
        return mode_of(self.scale)

    def _check_together(self) -> None:
        """A centre with a budget computes kernel values of support vectors, in compiled code."""
        super()._check_together()
        if self.budget is not None and callable(self.kernel):
            raise ValueError(
                "KernelPAUniclass with a budget needs the kernel of its support vectors in compiled code: one of "
                f"{', '.join(map(repr, DETECTOR_KERNELS))}. Got {self.kernel!r}. Set budget=None, or another kernel."
            )

    def _explain(self, asked: Asked) -> tuple[list[Any], np.ndarray, np.ndarray]:
        """ε − d, where −d = (2Σ α_i k(x_i, x) − k(x, x) − ‖c‖²)/d: the terms of the row alone are in the intercept."""
        numbers, parts, intercepts = super()._explain(asked)
        # d² = k(x, x) − 2f + ‖c‖², so −d is a sum of parts once it is divided by d; for d = 0 nothing is divided.
        score, offset = asked.scores[0].tolist()
        parts = 2.0 * parts / (-score or 1.0)
        return numbers, parts, intercepts + (score - offset) - parts.sum()

    @property
    def radius_(self) -> float:
        """The radius: rows at a larger distance from the centre are outside."""
        return -self.offset_
