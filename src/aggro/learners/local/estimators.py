"""Local online learning as users type it. The rule is in ``learners.local.rule``.

References
----------
Z. Zhou, W.-S. Zheng, J.-F. Hu, Y. Xu, J. You. One-pass online learning: A local approach. Pattern Recognition 51, 2016.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from aggro.engine.rule import SEEN, Rule
from aggro.engine.steps import Step
from aggro.learners.base.contract import NO_C, Contract
from aggro.learners.base.formula import Formula, Linear, Places, standardised_by
from aggro.learners.base.learner import COMMON, NONE
from aggro.learners.base.params import POSITIVE, Choice, Constraint, Either, Flag, Number
from aggro.learners.base.tasks import CALIBRATION, CLASS_WEIGHT, Classifier
from aggro.learners.local.rule import LOCAL_RULE, PLACES_USED, ROWS_MEASURED, Local, LocalParams, code_addresses
from aggro.learners.maths.dense_row import standardised
from aggro.learners.model.model import Model, View

LOCAL_STEPS = {"pa": Step.PA, "pa1": Step.PA1, "pa2": Step.PA2}
BOTH: dict[str, Constraint] = {
    "n_prototypes": Number(1, 2**16, integer=True),
    "C": POSITIVE,
    "step": Choice(tuple(LOCAL_STEPS)),
    **COMMON,
    "normalize": Flag(),
    "scale": Either((Choice(("standard",)), Flag(), NONE)),
    "class_weight": CLASS_WEIGHT,
    "calibration": CALIBRATION,
}
CHEAP_DISTANCES = 2**18  # distances in features, in less time than a copy takes
LEAST_LAMBDA = 1e-6  # of λ: below, the local hyperplanes would not move
PROTOTYPE_ROWS = 256  # rows, or four for each prototype: by then the prototypes are near where they stay


class Prototypes(Classifier):
    """What both learners share."""

    n_prototypes: int
    C: float
    step: str
    fit_intercept: bool
    normalize: bool
    scale: str | bool | None
    average: bool
    contract: ClassVar[Contract] = Contract(
        exempt={
            "a weight scales C": NO_C,
            "a row of zeros teaches nothing": "it draws a prototype",
            "an unknown feature is a zero": {
                ("scale", none): "to the norm of a row, a feature counts that is known, though it was zero so far"
                for none in (None, False)
            },
        },
        plain={"n_prototypes": 5, "average": False},
        tried=({"step": "pa2", "scale": None},),
        apart=frozenset({"step"}),
    )

    def _common(self) -> float:
        """1/λ."""
        raise NotImplementedError

    def _rule_for(self, classes: int) -> Rule:
        return LOCAL_RULE

    def _params_for(self, rule: Rule) -> LocalParams:
        return LocalParams(
            places=int(self.n_prototypes),
            step=int(LOCAL_STEPS[self.step]),
            C=float(self.C),
            share=self._common(),
            bias=float(self.fit_intercept),
            normal=int(self.normalize),
            average=int(self.average),
            scale=int(bool(self.scale)),
            score_at=0,
            learn_at=0,
        )

    def _bound(self, model: Model, params: Any) -> Any:
        return params._replace(**code_addresses())

    def _common_start(self) -> int:
        """A place means the same in all copies only if its prototype was there before."""
        return max(PROTOTYPE_ROWS, 4 * int(self.n_prototypes))

    def _check_change(self, state: Local) -> None:
        if state.P.shape[0] != self.n_prototypes:
            raise ValueError(
                f"n_prototypes={self.n_prototypes!r} was set after learning began with {state.P.shape[0]}. "
                "Set it back, or call fit to start over."
            )
        if bool(state.moments.shape[1]) != bool(self.scale):
            raise ValueError(
                f"scale={self.scale!r} is not the setting that this model learned with. Set it back, or call fit to "
                "start over."
            )
        if self.average and not state.U.shape[0]:
            raise ValueError(
                "average=True was set after learning began, and the iterates so far are gone. Call fit to start over."
            )

    def _learns_at_once(self, state: Local, n: int) -> bool:
        return n * state.P.size < CHEAP_DISTANCES

    @property
    def prototypes_(self) -> np.ndarray:
        """The prototypes in use."""
        with self._attribute().reading() as view:
            return view.state.P[: int(view.state.marks[PLACES_USED]), 1 : 1 + view.n_features].copy()  # type: ignore[no-any-return]

    def _formula(self, view: View) -> Formula:
        state, params, n = view.state, view.params, view.n_features
        used, rows = int(state.marks[PLACES_USED]), int(state.tally.rows[SEEN])
        # The mean of the iterates, if it predicts.
        V = state.V - state.U / rows if params.average and rows else state.V
        # The score of a place is (w + u_k)·x, so one plane for each place says it all.
        planes = (V[:1] + V[1 : 1 + used])[:, :, 0 if params.bias else 1 : 1 + n].transpose(0, 2, 1)
        scaled = standardised_by(state.moments, int(state.marks[ROWS_MEASURED]), n) if state.moments.shape[1] else None
        places = Places(scaled, float(params.bias), bool(params.normal), state.P[:used, 1 : 1 + n].copy(), planes)
        return places, Linear(np.eye(planes.shape[2]), np.zeros(planes.shape[2]))

    def _contributions(self, view: View, indices: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """By the hyperplane of the row's place; what the row lacks is in the intercept."""
        state, params = view.state, view.params
        D, used, rows = state.V.shape[2], int(state.marks[PLACES_USED]), int(state.tally.rows[SEEN])
        width = state.moments.shape[1] or D - 1
        # As compiled code prepares a row: standardised, the constant in front, then its norm divided out.
        raw, z, inverse = np.zeros(D), np.zeros(D), np.zeros(D)
        raw[1 + indices] = values
        z[1 : 1 + width], inverse[1 : 1 + width] = standardised(
            state.moments, int(state.marks[ROWS_MEASURED]), raw[1 : 1 + width]
        )
        z[0] = params.bias
        norm = np.linalg.norm(z)
        z = z / norm if params.normal and 1e-100 < norm < 1e150 else z
        weights = state.V[0].copy()
        lag = state.U[0].copy() if state.U.shape[0] else 0.0
        # By the nearest prototype, in units of the deviations so far.
        if used:
            place = 1 + int((((raw - state.P[:used]) * inverse) ** 2).sum(axis=1).argmin())
            weights += state.V[place]
            lag = lag + state.U[place] if state.U.shape[0] else 0.0
        # w̄ = w − u/T.
        if params.average and rows:
            weights -= lag / rows
        parts = (z * weights).T
        # Centring makes features that the row lacks other than 0: their parts go to the intercept.
        shown = parts[1 + indices]
        return shown, parts.sum(axis=0) - shown.sum(axis=0)


class LOLClassifier(Prototypes):
    """Local online learning: a linear model for each region, and one that all regions share (LOL).

    Each row belongs to its nearest prototype k, and its score is (w + u_k)·x: a common hyperplane plus a local one. A
    row with loss ℓ = [1 − y(w + u_k)·x]₊ changes u_k by τ y x and w by (τ/λ) y x, where

    - ``step="pa"``: τ = ℓ/q with q = (1 + 1/λ)‖x‖²; afterwards the row has the margin 1;
    - ``step="pa1"``: τ = min(C, ℓ/q);
    - ``step="pa2"``: τ = ℓ/(q + 1/(2C)).

    The prototypes follow the rows. With several classes, the true class is learned against its best competitor. Each
    row costs the number of features times the number of prototypes.

    Parameters
    ----------
    n_prototypes : int, default=64
        Maximum number of prototypes. The first distinct rows become prototypes; each then follows the mean of the rows
        nearest to it.
    C : float, default=1.0
        Aggressiveness: the largest step of the local hyperplane for one row (``pa1``), or the inverse penalty on large
        steps (``pa2``). ``pa`` does not use it.
    step : {"pa", "pa1", "pa2"}, default="pa1"
        How a row moves the hyperplanes: one of the formulas above.
    lam : float, default=3.0
        λ, the penalty on changes of the common hyperplane relative to the local ones. A large value makes the
        places independent, as in :class:`ILOLClassifier`; a small value makes them all alike.
    fit_intercept : bool, default=True
        Whether to append a constant 1 to each row.
    normalize : bool, default=True
        Whether to divide each row, with its constant, by its norm before learning or scoring it, so that C means the
        same for all data. Prototypes use the rows as they are.
    scale : "standard", bool or None, default=True
        True or "standard": standardise features with the means and standard deviations so far.
    average : bool, default=True
        Whether to predict with the mean of all iterates of the hyperplanes instead of the last.
    max_iter : int or "auto", default="auto"
        Number of passes over the data in ``fit``. "auto" goes on while another pass helps, and makes fewer passes over
        more rows.
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
    prototypes_ : array
        The prototypes in use (at most n_prototypes, n_features), in the units of the original rows.
    classes_ : array
        The classes, sorted.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that moved a hyperplane, and rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and number of mistakes, at each power of two of rows.

    Examples
    --------
    >>> from aggro import LOLClassifier, streams
    >>> model = LOLClassifier(16)
    >>> for chunk in streams.rotating_xor(2000, turn=0.0):
    ...     model = model.learn_chunk(chunk)
    >>> [int(model.predict_one(x)) for x in ([1, 1], [-1, 1], [-1, -1], [1, -1])]
    [1, -1, 1, -1]
    """

    _constraints: ClassVar[dict[str, Constraint]] = {"lam": Number(LEAST_LAMBDA), **BOTH}

    def __init__(
        self,
        n_prototypes: int = 64,
        *,
        C: float = 1.0,
        step: str = "pa1",
        lam: float = 3.0,
        fit_intercept: bool = True,
        normalize: bool = True,
        scale: str | bool | None = True,
        average: bool = True,
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
        self.n_prototypes = n_prototypes
        self.C = C
        self.step = step
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.normalize = normalize
        self.scale = scale
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.calibration = calibration
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features
        self.verbose = verbose

    def _common(self) -> float:
        return 1.0 / float(self.lam)


class ILOLClassifier(Prototypes):
    """Independent local online learning: a separate linear model for each region (I-LOL).

    Each row belongs to its nearest prototype k, and its score is u_k·x. A row with loss changes u_k by the
    passive-aggressive step. This is :class:`LOLClassifier` with λ = ∞, and the baseline that the paper compares it
    with.

    Parameters
    ----------
    n_prototypes : int, default=64
        Maximum number of prototypes. The first distinct rows become prototypes; each then follows the mean of the rows
        nearest to it.
    C : float, default=1.0
        Aggressiveness: the largest step of the local hyperplane for one row (``pa1``), or the inverse penalty on large
        steps (``pa2``). ``pa`` does not use it.
    step : {"pa", "pa1", "pa2"}, default="pa1"
        How a row moves the hyperplanes: one of the formulas above.
    fit_intercept : bool, default=True
        Whether to append a constant 1 to each row.
    normalize : bool, default=True
        Whether to divide each row, with its constant, by its norm before learning or scoring it, so that C means the
        same for all data. Prototypes use the rows as they are.
    scale : "standard", bool or None, default=True
        True or "standard": standardise features with the means and standard deviations so far.
    average : bool, default=True
        Whether to predict with the mean of all iterates of the hyperplanes instead of the last.
    max_iter : int or "auto", default="auto"
        Number of passes over the data in ``fit``. "auto" goes on while another pass helps, and makes fewer passes over
        more rows.
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
    prototypes_ : array
        The prototypes in use (at most n_prototypes, n_features), in the units of the original rows.
    classes_ : array
        The classes, sorted.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that moved a hyperplane, and rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and number of mistakes, at each power of two of rows.

    Examples
    --------
    >>> from aggro import ILOLClassifier, streams
    >>> model = ILOLClassifier(16)
    >>> for chunk in streams.rotating_xor(2000, turn=0.0):
    ...     model = model.learn_chunk(chunk)
    >>> [int(model.predict_one(x)) for x in ([1, 1], [-1, 1], [-1, -1], [1, -1])]
    [1, -1, 1, -1]
    """

    _constraints: ClassVar[dict[str, Constraint]] = BOTH
    contract = Contract(
        exempt={
            "check_class_weight_classifiers": "it has fewer rows than there are places, and one without a row of the "
            "class that weighs more knows nothing of it",
        }
    )

    def __init__(
        self,
        n_prototypes: int = 64,
        *,
        C: float = 1.0,
        step: str = "pa1",
        fit_intercept: bool = True,
        normalize: bool = True,
        scale: str | bool | None = True,
        average: bool = True,
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
        self.n_prototypes = n_prototypes
        self.C = C
        self.step = step
        self.fit_intercept = fit_intercept
        self.normalize = normalize
        self.scale = scale
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.calibration = calibration
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features
        self.verbose = verbose

    def _common(self) -> float:
        return 0.0
