"""Multiplicative passive-aggressive learning: weights that grow and shrink by factors.

Instead of the squared distance, a row moves the weights as little as it can in relative entropy:

    w_{t+1} = argmin D_RE(w‖w_t)   s.t.  loss(w; x_t, y_t) = 0        (softened with C)

over a simplex of size U. The step, which stops short of the exact solution and has a loss bound for
it, is in ``learners.multiplicative.rule``. The bound grows with log n, where that of the additive learner grows
with ‖x‖², so thousands of features that do not matter cost little.

References
----------
K. Crammer, O. Dekel, S. Shalev-Shwartz, Y. Singer. Online Passive-Aggressive Algorithms. NIPS 2003, §6.
J. Kivinen, M. K. Warmuth. Exponentiated gradient versus gradient descent for linear predictors.
Information and Computation 132, 1997 (the signed form).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from aggro.engine.rule import SEEN, Rule, grown_tally
from aggro.engine.steps import Step
from aggro.learners.base.contract import NO_C, Contract
from aggro.learners.base.learner import COMMON, NONE
from aggro.learners.base.params import POSITIVE, Choice, Constraint, Either, Flag, Number
from aggro.learners.base.tasks import CALIBRATION, CLASS_WEIGHT, Classifier, Regressor
from aggro.learners.base.weights import ClassWeights, NumberWeights, Weights
from aggro.learners.model.model import View
from aggro.learners.multiplicative.rule import SIMPLEX, SIMPLEXES, Simplex, Simplexes, SimplexParams
from aggro.learners.multiplicative.weights import LOW_PART, SIGNED, TOTAL

MULTIPLICATIVE: dict[str, Constraint] = {
    "radius": Either((POSITIVE, NONE)),
    "signed": Flag(),
    "step": Choice(("pa", "pa1", "pa2")),
    "C": POSITIVE,
    **{name: constraint for name, constraint in COMMON.items() if name != "average"},
}


class Multiplicative(Weights):
    """The weights of models on a simplex, as users see them."""

    radius: float | None
    signed: bool
    step: str
    C: float
    fit_intercept: bool
    n_features: int | None
    contract: ClassVar[Contract] = Contract(
        exempt={
            "a weight scales C": NO_C,
            "a_row_without_loss_changes_no_bit": {
                ("signed", False): "weights on a simplex do not reach every target: a row may keep its loss"
            },
        }
    )

    def _numbers(self, regression: int, edge: float) -> SimplexParams:
        return SimplexParams(
            regression,
            int(self.signed),
            int(Step[self.step.upper()]),
            float(self.C),
            float(edge),
            self._size(),
            float(self.fit_intercept),
            int(self.n_features or 0),
            int(bool(regression) and self.step in ("pa2", "ls")),
        )

    def _size(self) -> float:
        """U: for None, room for weights; and without signs the simplex itself."""
        if self.radius is not None:
            return float(self.radius)
        return 10.0 if self.signed else 1.0

    def _least(self) -> float:
        return -np.inf if self.signed else 0.0

    def _check_change(self, state: Simplex | Simplexes) -> None:
        # The two forms have other corners: weights of one mean nothing in the other.
        if state.tally.rows[SEEN] > 0 and (state.norm[..., SIGNED] != float(self.signed)).any():
            learned = not self.signed
            raise ValueError(
                f"This model has learned with signed={learned} and cannot go on with signed={self.signed}: "
                "its weights are on another simplex. Set it back, or call fit to start over."
            )

    def _predicting(self, view: View, which: Any) -> tuple[np.ndarray, np.ndarray]:
        slope, norm = np.atleast_2d(view.state.slope), np.atleast_2d(view.state.norm)
        # w = U slope/Z, with Z in two parts.
        total = norm[:, TOTAL] + norm[:, LOW_PART]
        with np.errstate(over="ignore"):  # a model file may hold any numbers
            weights = slope.T / np.where(total > 0.0, total, 1.0) * view.params.radius
        return weights[1:][which], weights[0]


class MultiplicativePAClassifier(Multiplicative, ClassWeights, Classifier):
    """Multiplicative passive-aggressive classifier, for many features of which few matter.

    The weights are w = U(p⁺ − p⁻), where (p⁺, p⁻) lies on a simplex. A row with loss ℓ = [m − y f]₊ changes

        p±_j ← p±_j exp(±τ y x_j/U)/Z,   τ = ℓ/q,   q = ‖x‖∞²

    ``pa1`` and ``pa2`` soften this for noisy labels. With ``signed=False`` the weights U p are never negative, x must
    be ≥ 0, q is ‖x‖∞²/4, and each class has its own weights, even if there are only two.

    Parameters
    ----------
    radius : float, default=None
        U, the size of the simplex: the absolute weights sum to at most this. None means 10 if ``signed``, otherwise 1.
    signed : bool, default=True
        Whether weights may be negative.
    margin : float, default=1.0
        Margin m below which a row has a loss and changes the model. Scores are at most U‖x‖∞.
    step : {"pa", "pa1", "pa2"}, default="pa"
        The step size τ: ℓ/q for ``pa``, min(C, ℓ/q) for ``pa1``, ℓ/(q + 1/(2C)) for ``pa2``.
    C : float, default=1.0
        Aggressiveness, for ``pa1`` and ``pa2``. ``pa`` does not use it.
    fit_intercept : bool, default=True
        Whether to learn an intercept. It is the weight of a constant feature 1, on the same simplex.
    max_iter : int or "auto", default=1
        Number of passes over the data in ``fit``. "auto" goes on while another pass helps, and makes fewer passes over
        more rows.
    tol : float, default=None
        Stop when a pass lowers the best mean loss by less than this.
    shuffle : bool or "auto", default=False
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
        Number of features to reserve, so that arrays with fewer columns are accepted. All of them start on the simplex.
        With None, each feature joins with the first row that moves its weight.
    verbose : int, default=0
        1 reports the progress of a long ``fit`` or ``partial_fit`` on stderr. Model files do not keep it.

    Attributes
    ----------
    coef_, intercept_ : array
        Weights (1, n_features) for two classes, otherwise (n_classes, n_features), and intercepts.
    classes_ : array
        The classes, sorted.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that changed the weights, and rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and number of mistakes, at each power of two of rows.

    Examples
    --------
    >>> from aggro import MultiplicativePAClassifier
    >>> model = MultiplicativePAClassifier(radius=2)
    >>> for x, y in [({"good": 1}, "+"), ({"bad": 1}, "-"), ({"good": 1, "day": 1}, "+")]:
    ...     guess = model.predict_one(x)
    ...     model = model.learn_one(x, y)
    >>> model.predict_one({"bad": 1, "day": 1})
    '-'
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "margin": POSITIVE,
        **MULTIPLICATIVE,
        "class_weight": CLASS_WEIGHT,
        "calibration": CALIBRATION,
    }
    contract = Contract(
        exempt={
            "check_class_weight_classifiers": "a class of large weight is predicted everywhere only by an intercept "
            "and a step with a C"
        }
    )

    def __init__(
        self,
        radius: float | None = None,
        *,
        signed: bool = True,
        margin: float = 1.0,
        step: str = "pa",
        C: float = 1.0,
        fit_intercept: bool = True,
        max_iter: int | str = 1,
        tol: float | None = None,
        shuffle: bool | str = False,
        class_weight: Any = None,
        calibration: str = "sigmoid",
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.radius = radius
        self.signed = signed
        self.margin = margin
        self.step = step
        self.C = C
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.calibration = calibration
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features
        self.verbose = verbose

    def _rule_for(self, classes: int) -> Rule:
        return SIMPLEX if self.signed and classes <= 2 else SIMPLEXES

    def _params_for(self, rule: Rule) -> SimplexParams:
        return self._numbers(0, self.margin)

    def _adopt(self, state: Simplex, rule: Rule, params: SimplexParams, width: int, models: int) -> Simplexes:
        """One vector for two classes as two mirrored ones."""
        many: Simplexes = rule.init(params, width, models)
        n = state.theta.shape[0]
        # The mirror image has the corners p⁺ and p⁻ exchanged: θ and the slope turn their signs.
        for code, sign in ((0, -1.0), (1, 1.0)):
            many.theta[code, :n] = sign * state.theta
            many.slope[code, :n] = sign * state.slope
            many.mass[code, :n] = state.mass
            many.norm[code] = state.norm
        return many._replace(tally=grown_tally(state.tally, many.tally.classes.shape[0]))


class MultiplicativePARegressor(Multiplicative, NumberWeights, Regressor):
    """Multiplicative passive-aggressive regression, for many features of which few matter.

    The weights are w = U(p⁺ − p⁻), where (p⁺, p⁻) lies on a simplex. A row with loss ℓ = [|y − f| − ε]₊ changes

        p±_j ← p±_j exp(±τ σ x_j/U)/Z,   τ = ℓ/q,   q = ‖x‖∞²,   σ = sign(y − f)

    ``pa1`` and ``pa2`` soften this for noisy targets. With ``signed=False`` the weights U p are never negative, x
    must be ≥ 0, and q is ‖x‖∞²/4.

    Parameters
    ----------
    radius : float, default=None
        U, the size of the simplex: the absolute weights sum to at most this. None means 10 if ``signed``, otherwise 1.
    signed : bool, default=True
        Whether weights may be negative.
    epsilon : float, default=0.1
        Errors up to this size cause no update.
    step : {"pa", "pa1", "pa2"}, default="pa"
        The step size τ: ℓ/q for ``pa``, min(C, ℓ/q) for ``pa1``, ℓ/(q + 1/(2C)) for ``pa2``.
    C : float, default=1.0
        Aggressiveness, for ``pa1`` and ``pa2``. ``pa`` does not use it.
    fit_intercept : bool, default=True
        Whether to learn an intercept. It is the weight of a constant feature 1, on the same simplex.
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
        Number of features to reserve, so that arrays with fewer columns are accepted. All of them start on the simplex.
        With None, each feature joins with the first row that moves its weight.
    verbose : int, default=0
        1 reports the progress of a long ``fit`` or ``partial_fit`` on stderr. Model files do not keep it.

    Attributes
    ----------
    coef_, intercept_ : array
        Weights (n_features,) and intercept (1,).
    n_seen_, n_updates_ : int
        Rows seen, and rows that changed the weights.
    history_ : structured array
        Progressive mean loss, at each power of two of rows.

    Examples
    --------
    >>> from aggro import MultiplicativePARegressor
    >>> model = MultiplicativePARegressor(radius=4, epsilon=0.01)
    >>> for x in (0.0, 0.5, 1.0) * 100:
    ...     model = model.learn_one([x], 2 * x + 1)
    >>> round(model.predict_one([0.25]), 1)
    1.5
    """

    _constraints: ClassVar[dict[str, Constraint]] = {"epsilon": Number(0.0), **MULTIPLICATIVE}

    def __init__(
        self,
        radius: float | None = None,
        *,
        signed: bool = True,
        epsilon: float = 0.1,
        step: str = "pa",
        C: float = 1.0,
        fit_intercept: bool = True,
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
        self.step = step
        self.C = C
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features
        self.verbose = verbose

    def _rule_for(self, classes: int) -> Rule:
        return SIMPLEX

    def _params_for(self, rule: Rule) -> SimplexParams:
        return self._numbers(1, self.epsilon)
