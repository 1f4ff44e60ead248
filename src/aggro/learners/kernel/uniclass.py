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

from aggro.learners.kernel.base import KernelLearner
from aggro.learners.kernel.settings import KERNEL, kernel_among
from aggro.learners.kernel.support_set import OUTLIER
from aggro.learners.shared.contract import Contract
from aggro.learners.shared.detector import Detector
from aggro.learners.shared.one_row import Asked
from aggro.learners.shared.params import Choice, Constraint, Either, Flag, Number

ABSENT = ("fit_intercept", "batch_size", "window")
NAMED = ("linear", "poly", "rbf", "cosine")


class KernelPAUniclass(KernelLearner, Detector):
    """Passive-aggressive uniclass with a kernel, as an outlier detector.

    For each row at distance d from the centre c = Σ α_i φ(x_i), d² = k(x, x) − 2Σ α_i k(x_i, x) + ‖c‖², with
    ℓ = [d − ε]₊, the centre moves by τ(φ(x) − c)/d, where

    - ``step="pa"``: τ = ℓ, the row is inside after the step;
    - ``step="pa1"``: τ = min(C, ℓ), at most C a row;
    - ``step="pa2"``: τ = ℓ/(1 + 1/(2C)).

    The first row is the first centre. A radius that is learned follows the distance that a share ``nu`` of the rows
    exceeds. Every row that moves the centre is kept, up to a budget.

    By default the centre learns from the farther half of the rows in ever smaller steps, so that a clump of anomalies
    does not draw it to them (``robust``), and γ follows the distances between the first rows. The algorithm of the
    paper is ``KernelPAUniclass(0.1, gamma=0.1, robust=False)``.

    Parameters
    ----------
    C : float, default=0.001
        Aggressiveness: the most a row may move the centre (``pa1``), as a distance where ``epsilon`` is
        given and in radii where it is learned; or how little is forgiven (``pa2``). ``pa`` has no C. The centre forgets
        rows after about 1/C others.
    kernel : {"rbf", "poly", "linear", "cosine"} or a function, default="rbf"
        The kernel, as in :class:`KernelPAClassifier`; it must be an inner product.
    gamma : float or "auto", default="auto"
        γ of rbf and poly. "auto" is 1 over the mean squared distance of the support vectors, found in the first 64
        rows; for poly it is 1/‖x‖² with the first row.
    degree : int, default=3
        The power of poly.
    coef0 : float, default=0.0
        c₀ of poly.
    step : {"pa", "pa1", "pa2"}, default="pa1"
        The step, as above.
    epsilon : float or "auto", default="auto"
        The radius; "auto" learns it. With rbf, distances are below √2.
    nu : float, default=0.1
        The share of the rows that a learned radius leaves outside.
    robust : bool, default=True
        Where the radius is learned: whether the centre learns from the half of the rows that are farther from it,
        instead of from those outside alone, and row t by up to 2/t if that is more than C. A tenth of anomalies among
        the rows, alike or not, then does little harm. There are as many support vectors as half of the rows: for long
        streams set a budget.
    budget : int, default=None
        The largest number of support vectors; None for as many as there are. Not with a kernel of one's own.
    budget_policy : {"oldest", "random", "smallest"}, default="smallest"
        Which of the others goes where the budget is full; the rest is scaled, so that its coefficients sum to 1.
    average : bool, default=False
        Predict with the mean of all centres instead of the last, and, where it is learned, a radius of its own. Not
        with a budget.
    max_iter : int, default=1
        Passes over the data in ``fit``; a row that is learned again becomes another support vector.
    tol : float, default=None
        Stop when a pass's mean loss is not better than the best by this much.
    shuffle : bool or "auto", default=False
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
        The rows held (n_support, n_features).
    support_ : array
        How many rows had been seen before each of them.
    dual_coef_ : array
        Their coefficients α (1, n_support), which sum to 1.
    radius_, offset_ : float
        The radius ε, and −ε: scores are −d, and rows with a lower score than the offset are outside.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that moved the centre, rows that were outside just before they were learned.
    history_ : structured array
        Progressive mean loss and rows outside (``mistakes``) at each power of two of rows.

    Examples
    --------
    >>> from aggro import KernelPAUniclass
    >>> model = KernelPAUniclass(gamma=1.0)
    >>> for x in [0.1, 4.0, 0.2, 3.9, 0.0, 4.1] * 20:
    ...     model = model.learn_one([x])
    >>> model.predict_one([0.1]), model.predict_one([4.0]), model.predict_one([2.0])
    (1, 1, -1)
    """

    _task, _edge = OUTLIER, "epsilon"
    _constraints: ClassVar[dict[str, Constraint]] = {
        **{name: constraint for name, constraint in KERNEL.items() if name not in ABSENT},
        "kernel": kernel_among(NAMED),
        "step": Choice(("pa", "pa1", "pa2")),
        "budget_policy": Choice(("oldest", "random", "smallest")),
        "epsilon": Either((Number(0.0, open_low=True), Choice(("auto",)))),
        "nu": Number(0.0, 1.0, open_low=True),
        "robust": Flag(),
    }
    contract = Contract(
        exempt={"a weight scales C": {("robust", True): "in the first rows C is at least 2/t"}},
        plain={"C": 0.1, "robust": False},
        tried=({"robust": True, "gamma": "auto"}, {"robust": True, "gamma": "auto", "budget": 9}),
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
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features
        self.verbose = verbose

    def _check_together(self) -> None:
        """A centre with a budget computes kernel values of support vectors, in compiled code."""
        super()._check_together()
        if self.budget is not None and callable(self.kernel):
            raise ValueError(
                "KernelPAUniclass with a budget needs the kernel of its support vectors in compiled code: one of "
                f"{', '.join(map(repr, NAMED))}. Got {self.kernel!r}. Set budget=None, or another kernel."
            )

    def _explain(self, asked: Asked) -> tuple[list[Any], np.ndarray, np.ndarray]:
        """ε − d, where −d = (2Σ α_i k(x_i, x) − k(x, x) − ‖c‖²)/d: the terms of the row alone are in the intercept."""
        numbers, parts, intercepts = super()._explain(asked)
        score, offset = asked.scores[0].tolist()
        parts = 2.0 * parts / (-score or 1.0)
        return numbers, parts, intercepts + (score - offset) - parts.sum()

    @property
    def radius_(self) -> float:
        """The radius: rows at a larger distance from the centre are outside."""
        return -self.offset_
