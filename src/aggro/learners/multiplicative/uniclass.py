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
from aggro.learners.multiplicative.ball import PRINTED, SIMPLEX_BALL, SimplexBallParams
from aggro.learners.multiplicative.estimators import MULTIPLICATIVE, POSITIVE, Multiplicative
from aggro.learners.shared.contract import Contract, Setting
from aggro.learners.shared.detector import Detector
from aggro.learners.shared.distance import parts_of_distance
from aggro.learners.shared.formula import Distance, Formula, Linear
from aggro.learners.shared.model import View
from aggro.learners.shared.params import Choice, Constraint, Either, Number
from aggro.learners.shared.radius import RADIUS

NEGATIVE: dict[Setting, str] = {("signed", False): "the check's rows have negative values"}


class MultiplicativePAUniclass(Multiplicative, Detector):
    """Multiplicative passive-aggressive uniclass: a ball around a sparse centre, as an outlier detector.

    The centre is w = U(p⁺ − p⁻) with (p⁺, p⁻) on a simplex. A row at distance d = ‖x − w‖ with loss
    ℓ = [d − ε]₊ moves

        p±_j ← p±_j exp(±τ (x_j − w_j)/(dU))/Z

    - ``step="pa"``: τ = ℓ/q with q = 1;
    - ``step="pa1"``: τ = min(C, ℓ/q);
    - ``step="pa2"``: τ = ℓ/(q + 1/(2C));
    - ``step="printed"``: τ = d²ℓ/(8‖x − w‖∞²), as in the paper, for which its bound does not hold.

    With ``signed=False`` coordinates are U p and not negative, x ≥ 0 and q = ½. A row inside changes nothing about
    the centre.

    Parameters
    ----------
    radius : float, default=None
        U, the size of the simplex: absolute coordinates of the centre sum to at most this. None is 10
        with signs, and 1 without.
    signed : bool, default=True
        Whether coordinates may be negative.
    epsilon : float or "auto", default="auto"
        The radius of the ball; "auto" learns it.
    nu : float, default=0.1
        The share of the rows that a learned radius of the ball leaves outside.
    step : {"pa", "pa1", "pa2", "printed"}, default="pa"
        The step, as above.
    C : float, default=1.0
        Aggressiveness, in ``pa1`` and ``pa2``, in the units of X where ``epsilon`` is given and in radii of
        the ball where it is learned.
    max_iter : int or "auto", default=1
        Passes over the data in ``fit``. "auto": more as long as they help, fewer the more rows there are.
    tol : float, default=None
        Stop when a pass's mean loss is not better than the best by this much.
    shuffle : bool or "auto", default=False
        Whether ``fit`` goes over the rows in random order. "auto": unless a half-life is given.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the current model.
    random_state : int, RandomState or Generator, default=None
        Seeds the order of the rows with ``shuffle``.
    n_features : int, default=None
        Reserves a width, so that arrays may be narrower, and puts all these features on the simplex
        at the start. None: each enters with the first row outside that has it.
    verbose : int, default=0
        1 says on stderr how a long ``fit`` or ``partial_fit`` goes. It is not kept in model files.

    Attributes
    ----------
    center_ : array
        The centre (n_features,).
    radius_, offset_ : float
        The radius ε of the ball, and −ε: scores are −d, and rows with a lower score are outside.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that moved the centre, rows that were outside just before they were learned.
    history_ : structured array
        Progressive mean loss and rows outside (``mistakes``) at each power of two of rows.

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
        radius = view.params.epsilon or view.state.radius[RADIUS]
        return Distance(centre), Linear(-np.ones((1, 1)), np.array([radius]))

    def _contributions(self, view: View, indices: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """ε − d, with −d = −Σ(x_j − w_j)²/d: features that the row lacks are in the intercept."""
        if view.state.tally.rows[SEEN] == 0:
            return np.zeros((indices.shape[0], 1)), np.zeros(1)
        point = self._predicting(view, slice(None))[0][:, 0]
        radius = view.params.epsilon or view.state.radius[RADIUS]
        return parts_of_distance(values, indices, point, radius)

    @property
    def center_(self) -> np.ndarray:
        """The centre."""
        return self._weights()[1][:, 0]

    @property
    def radius_(self) -> float:
        """The radius of the ball: rows at a larger distance from the centre are outside."""
        return -self.offset_
