"""Multiplicative uniclass: a centre on a simplex, and a radius, such that the rows of a stream fall inside the ball.

A row outside moves the centre as little as it can in relative entropy. The rule, with all its arithmetic, is in
``learners.multiplicative.ball``.

References
----------
K. Crammer, O. Dekel, S. Shalev-Shwartz, Y. Singer. Online Passive-Aggressive Algorithms. NIPS 2003, §6.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from aggro.engine.rule import SEEN, Rule
from aggro.engine.steps import Step
from aggro.learners.base.contract import Contract, Setting
from aggro.learners.base.detector import Detector
from aggro.learners.base.formula import Distance, Formula, Linear
from aggro.learners.base.params import POSITIVE, Choice, Constraint, Either, Number
from aggro.learners.maths.distance import parts_of_distance
from aggro.learners.maths.radius import RADIUS_VALUE
from aggro.learners.model.model import View
from aggro.learners.multiplicative.ball import PRINTED, SIMPLEX_BALL, SimplexBallParams
from aggro.learners.multiplicative.estimators import MULTIPLICATIVE, Multiplicative

NEGATIVE: dict[Setting, str] = {("signed", False): "the check's rows have negative values"}


class MultiplicativePAUniclass(Multiplicative, Detector):
    """Multiplicative passive-aggressive outlier detector (uniclass): a ball around a sparse centre.

    The centre is w = U(p⁺ − p⁻), where (p⁺, p⁻) lies on a simplex. A row at distance d = ‖x − w‖ with loss ℓ = [d −
    ε]₊ changes

        p±_j ← p±_j exp(±τ (x_j − w_j)/(dU))/Z

    - ``step="pa"``: τ = ℓ/q with q = 1;
    - ``step="pa1"``: τ = min(C, ℓ/q);
    - ``step="pa2"``: τ = ℓ/(q + 1/(2C));
    - ``step="printed"``: τ = d²ℓ/(8‖x − w‖∞²), as printed in the paper, whose bound does not hold for it.

    With ``signed=False`` the coordinates U p are never negative, x must be ≥ 0, and q = ½. A row inside does not move
    the centre.

    Parameters
    ----------
    radius : float, default=None
        U, the size of the simplex: the absolute coordinates of the centre sum to at most this. None means 10 if
        ``signed``, otherwise 1.
    signed : bool, default=True
        Whether coordinates may be negative.
    epsilon : float or "auto", default="auto"
        Radius of the ball. "auto" learns it.
    nu : float, default=0.1
        Share of the rows that a learned radius leaves outside.
    step : {"pa", "pa1", "pa2", "printed"}, default="pa"
        The step size τ: one of the formulas above.
    C : float, default=1.0
        Aggressiveness, for ``pa1`` and ``pa2``; ``pa`` does not use it. It is in units of X if you set ``epsilon``,
        and in multiples of the radius if that is learned.
    max_iter : int or "auto", default=1
        Number of passes over the data in ``fit``. "auto" goes on while another pass helps, and makes fewer passes over
        more rows.
    tol : float, default=None
        Stop when a pass lowers the best mean loss by less than this.
    shuffle : bool or "auto", default=False
        Whether ``fit`` visits the rows in random order. "auto" means yes.
    warm_start : bool, default=False
        Whether ``fit`` continues from the current model instead of starting from scratch.
    random_state : int, RandomState or Generator, default=None
        Seed for shuffling the rows.
    n_features : int, default=None
        Number of features to reserve, so that arrays with fewer columns are accepted. All of them start on the
        simplex. With None, each feature joins with the first row outside the ball that has it.
    verbose : int, default=0
        1 reports the progress of a long ``fit`` or ``partial_fit`` on stderr. Model files do not keep it.

    Attributes
    ----------
    center_ : array
        The centre (n_features,).
    radius_, offset_ : float
        The radius ε and the offset −ε. Scores are −d, and rows with a score below the offset are outside.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that moved the centre, and rows that were outside before they were learned.
    history_ : structured array
        Progressive mean loss and number of rows outside (``mistakes``), at each power of two of rows.

    Examples
    --------
    >>> from aggro import MultiplicativePAUniclass
    >>> model = MultiplicativePAUniclass(radius=2, epsilon=1.0)
    >>> for x in ([1.0, 0.5], [1.5, 0.0], [2.0, 0.5]) * 5:
    ...     model = model.learn_one(x)
    >>> model.predict_one([1.5, 0.5]), model.predict_one([-2.0, 2.0])
    (1, -1)
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        **{name: constraint for name, constraint in MULTIPLICATIVE.items() if name != "fit_intercept"},
        "epsilon": Either((POSITIVE, Choice(("auto",)))),
        "nu": Number(0.0, 1.0, open_low=True),
        "step": Choice(("pa", "pa1", "pa2", "printed")),
    }
    contract = Contract(
        exempt={
            "a weight scales C": {("step", "printed"): "the paper's step has no C"},
            "a_row_without_loss_changes_no_bit": {
                ("step", "printed"): "its steps are short: hundreds do not reach the row"
            },
            "check_outliers_train": NEGATIVE,
            "check_outliers_fit_predict": NEGATIVE,
        }
    )

    def __init__(
        self,
        radius: float | None = None,
        *,
        signed: bool = True,
        epsilon: float | str = "auto",
        nu: float = 0.1,
        step: str = "pa",
        C: float = 1.0,
        max_iter: int | str = 1,
        tol: float | None = None,
        shuffle: bool | str = False,
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.radius = radius
        self.signed = signed
        self.epsilon = epsilon
        self.nu = nu
        self.step = step
        self.C = C
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features
        self.verbose = verbose

    def _rule_for(self, classes: int) -> Rule:
        return SIMPLEX_BALL

    def _params_for(self, rule: Rule) -> SimplexBallParams:
        return SimplexBallParams(
            int(self.signed),
            PRINTED if self.step == "printed" else int(Step[self.step.upper()]),
            float(self.C),
            0.0 if self.epsilon == "auto" else float(self.epsilon),
            float(self.nu),
            self._size(),
            0.0,
            int(self.n_features or 0),
        )

    def _formula(self, view: View) -> Formula:
        centre = self._predicting(view, slice(0, view.n_features))[0][:, 0]
        radius = view.params.epsilon or view.state.radius[RADIUS_VALUE]
        return Distance(centre), Linear(-np.ones((1, 1)), np.array([radius]))

    def _contributions(self, view: View, indices: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """ε − d, with −d = −Σ(x_j − w_j)²/d: features that the row lacks are in the intercept."""
        # Before the first row every row is inside, with a decision of 0.
        if view.state.tally.rows[SEEN] == 0:
            return np.zeros((indices.shape[0], 1)), np.zeros(1)
        point = self._predicting(view, slice(None))[0][:, 0]
        radius = view.params.epsilon or view.state.radius[RADIUS_VALUE]
        return parts_of_distance(values, indices, point, radius)

    @property
    def center_(self) -> np.ndarray:
        """The centre."""
        return self._weights()[1][:, 0]

    @property
    def radius_(self) -> float:
        """The radius of the ball: rows at a larger distance from the centre are outside."""
        return -self.offset_
