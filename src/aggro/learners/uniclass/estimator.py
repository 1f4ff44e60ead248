"""Uniclass: a centre w and a radius ε, such that the rows of a stream fall inside the ball.

The problem and its solution are in ``learners.uniclass.rule``, how the centre is kept in
``learners.uniclass.centre``, and in what distances are measured in ``learners.uniclass.metric``.

References
----------
K. Crammer, O. Dekel, S. Shalev-Shwartz, Y. Singer. Online Passive-Aggressive Algorithms. NIPS 2003, and
JMLR 7, 2006 (learning the radius below a bound).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from aggro.engine.rule import SEEN, Rule
from aggro.engine.steps import Step
from aggro.learners.base.contract import NO_C, Contract
from aggro.learners.base.detector import Detector
from aggro.learners.base.formula import Distance, Formula, Linear
from aggro.learners.base.learner import COMMON
from aggro.learners.base.params import Choice, Constraint, Either, Flag, Kind, Number
from aggro.learners.maths.distance import parts_of_distance
from aggro.learners.maths.radius import RADIUS_VALUE
from aggro.learners.model.model import View
from aggro.learners.uniclass.metric import (
    AS_THEY_ARE,
    AUTO_METRIC,
    STANDARDISED,
    WHITENED,
    is_scaled,
    metric_of,
    parts_of_length,
    together,
)
from aggro.learners.uniclass.rule import BALL_RULE, Ball, BallParams, predicting

METRIC_SCALES = {
    None: AS_THEY_ARE,
    "standard": STANDARDISED,
    "whiten": WHITENED,
    "auto": AUTO_METRIC,
    True: STANDARDISED,
    False: AS_THEY_ARE,
}


class PAUniclass(Detector):
    """Passive-aggressive outlier detector (uniclass): a ball around the usual rows.

    A row at distance d = ‖x − w‖ from the centre w has the loss ℓ = [d − ε]₊ and moves the centre by τ(x − w)/d,
    where

    - ``step="pa"``: τ = ℓ; afterwards the row is inside;
    - ``step="pa1"``: τ = min(C, ℓ), at most C for one row;
    - ``step="pa2"``: τ = ℓ/(1 + 1/(2C)).

    The first row is the first centre. A row inside does not move it. A learned radius follows the distance that a
    share ``nu`` of the rows exceeds.

    By default, distances are measured in standard deviations of decorrelated columns (``scale``), and the centre
    learns from nearly all rows instead of only the farthest, so that anomalies do not attract it (``robust``). For
    the algorithm as published use ``PAUniclass(0.1, robust=False, scale=None)``.

    Parameters
    ----------
    C : float, default=0.03
        Aggressiveness: the largest step of the centre for one row (``pa1``), or the inverse penalty on large steps
        (``pa2``). ``pa`` does not use it. Steps are distances if you set ``epsilon``, and multiples of the radius
        if it is learned.
    step : {"pa", "pa1", "pa2"}, default="pa1"
        How far a row moves the centre: one of the formulas above.
    epsilon : float or "auto", default="auto"
        Radius of the ball. "auto" learns it.
    nu : float, default=0.1
        Share of the rows that a learned radius leaves outside.
    robust : bool, default=True
        Whether the centre resists anomalies, if the radius is learned. It then learns from the farthest nine tenths
        of the rows instead of only from those outside, and takes larger steps at first. Rows outside also count
        less in the estimates of ``scale``. A tenth of anomalies then does little harm.
    scale : {"auto", "whiten", "standard"}, bool or None, default="auto"
        Units in which distances are measured. "standard" or True: divide each column by its standard deviation
        around the centre. "whiten": use the inverse covariance of all columns; columns beyond the first 1,024 are
        scaled one by one. None or False: leave rows as they are; a sparse row then costs only its non-zeros.
        "auto": "whiten" up to 256 columns, "standard" up to 16,384, and None beyond. "whiten" costs the square of
        the number of columns a row, "standard" the number of columns.
    average : bool, default=False
        Whether to predict with the mean of all centres instead of the last. If the radius is learned, the mean has
        its own.
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
        Number of features to reserve, so that arrays with fewer columns are accepted.
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
    >>> from aggro import PAUniclass
    >>> model = PAUniclass(epsilon=1.0, scale=None)
    >>> for x in ([0.0, 0.0], [1.0, 0.5], [0.5, -0.5]):
    ...     model = model.learn_one(x)
    >>> model.predict_one([0.5, 0.5]), model.predict_one([3.0, 4.0])
    (1, -1)
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "C": Number(0.0, open_low=True),
        "step": Choice(("pa", "pa1", "pa2")),
        "epsilon": Either((Number(0.0, open_low=True), Choice(("auto",)))),
        "nu": Number(0.0, 1.0, open_low=True),
        "robust": Flag(),
        "scale": Either((Choice(("auto", "whiten", "standard")), Flag(), Kind(None, "None"))),
        **{name: constraint for name, constraint in COMMON.items() if name != "fit_intercept"},
    }
    contract = Contract(
        exempt={
            "a weight scales C": {**NO_C, ("robust", True): "in the first rows C is at least 2/t"},
            "a_row_without_loss_changes_no_bit": {("scale", "auto"): "it counts for the spread of the columns"},
        },
        plain={"C": 0.1, "robust": False, "scale": None},
        tried=(
            {"step": "pa2", "epsilon": 1.0},
            {"robust": True, "scale": "standard"},
        ),
    )
    robust, scale = False, None  # of files and pickles that are older than these parameters

    def __init__(
        self,
        C: float = 0.03,
        *,
        step: str = "pa1",
        epsilon: float | str = "auto",
        nu: float = 0.1,
        robust: bool = True,
        scale: str | bool | None = "auto",
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
        self.step = step
        self.epsilon = epsilon
        self.nu = nu
        self.robust = robust
        self.scale = scale
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features
        self.verbose = verbose

    def _rule_for(self, classes: int) -> Rule:
        return BALL_RULE

    def _params_for(self, rule: Rule) -> BallParams:
        return BallParams(
            step=int(Step[self.step.upper()]),
            C=float(self.C),
            epsilon=0.0 if self.epsilon == "auto" else float(self.epsilon),
            nu=float(self.nu),
            average=int(self.average),
            robust=int(self.robust),
            scale=METRIC_SCALES[self.scale],
        )

    def _check_change(self, state: Ball) -> None:
        # The sums behind mean, robust radius and metric cannot be made up later.
        if self.average and state.u.shape[0] < state.w.shape[0]:
            raise ValueError(
                "average=True was set after learning began, and the iterates so far are gone. Call fit to start over."
            )
        if self.robust and not state.inner.shape[0]:
            raise ValueError(
                "robust=True was set after learning began, and the distances so far are gone. Call fit to start over."
            )
        scale, few = METRIC_SCALES[self.scale], state.scatter.shape[0]
        if (state.sums.shape[0] > 0) != (scale != AS_THEY_ARE) or few != together(scale, state.w.shape[0]):
            raise ValueError(
                f"scale={self.scale!r} was set after learning began with other units of distance. "
                "Set it back, or call fit to start over."
            )

    def _formula(self, view: View) -> Formula:
        state, params, n = view.state, view.params, view.n_features
        # The mean of the centres has a learned radius of its own.
        learned = state.mean_radius if params.average else state.radius
        inside = Linear(-np.ones((1, 1)), np.array([params.epsilon or learned[RADIUS_VALUE]]))
        centre = predicting(state, params.average)[:n]
        # Without a metric, distances are those of the rows as they come.
        if not is_scaled(state):
            return Distance(centre), inside
        return Distance(centre, *metric_of(state, n)), inside

    def _contributions(self, view: View, indices: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """ε − d, with −d = −Σ(x_j − w_j)g_j/d, g = G(x − w): features that the row lacks are in the intercept."""
        point = predicting(view.state, view.params.average)
        learned = view.state.mean_radius if view.params.average else view.state.radius
        radius = view.params.epsilon or learned[RADIUS_VALUE]
        # Before the first row every row is inside, with a decision of 0.
        if view.state.tally.rows[SEEN] == 0:
            return np.zeros((indices.shape[0], 1)), np.zeros(1)
        if is_scaled(view.state):
            return parts_of_length(view.state, values, indices, point, radius)
        return parts_of_distance(values, indices, point, radius)

    @property
    def center_(self) -> np.ndarray:
        """The centre that makes the predictions."""
        model = self._attribute()
        self._prepare(model)
        with model.reading() as view:
            return predicting(view.state, view.params.average)[: view.n_features]

    @property
    def radius_(self) -> float:
        """The radius: rows at a larger distance from the centre are outside."""
        return -self.offset_
