"""Passive-aggressive classification and regression with linear models.

Each row asks for the smallest change of the weights that would have got it right:

    w_{t+1} = argmin ½‖w − w_t‖²   s.t.  loss(w; x_t, y_t) = 0        (softened with C)

and the answer is a closed form, w_t + τ v, with no learning rate to tune. The steps are in
``engine.steps``, the rule for one weight vector in ``learners.line``, for many in ``learners.bank``.

Two classes share one weight vector, since the two one-vs-rest problems mirror each other; when a
third class appears the vector is split into w and −w, and the new class begins at zero.

References
----------
K. Crammer, O. Dekel, S. Shalev-Shwartz, Y. Singer. Online Passive-Aggressive Algorithms. NIPS 2003.
A. Pérez-Suay, F. J. Ferri, M. Arevalillo-Herráez, J. V. Albert. An empirical study about online
learning with generalized passive-aggressive approaches (the step ``ls``).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from aggro.engine.ownsteps import OwnStep, code_of
from aggro.engine.rule import SEEN, Rule, grown_tally
from aggro.learners.bank import BANK, Bank, BankParams
from aggro.learners.base import COMMON, Learner
from aggro.learners.line import LINE, Line, LineParams
from aggro.learners.model import View
from aggro.learners.params import Choice, Constraint, Number, StepChoice
from aggro.learners.tasks import CLASS_WEIGHT, Classifier, Regressor

__all__ = ["PAClassifier", "PARegressor"]

STEPS = StepChoice()
POSITIVE = Number(0.0, open_low=True)


class Linear(Learner):
    """The weights of linear models, as users see them."""

    C: float
    step: str | OwnStep
    fit_intercept: bool
    average: bool

    def _weights(self) -> tuple[View, np.ndarray, np.ndarray]:
        """Weights (features, scores) and intercepts of the predicting model, by order of appearance."""
        model = self._attribute()
        self._prepare(model)
        with model.reading() as view:
            weights, intercepts = predicting(view, slice(0, view.n_features))
            return view, weights, intercepts

    def _check_change(self, state: Line | Bank) -> None:
        weights, kept = (state.W, state.U) if isinstance(state, Bank) else (state.w, state.u)
        if self.average and kept.shape[0] < weights.shape[0] and state.tally.rows[SEEN] > 0:
            raise ValueError("average=True was set after learning began, and the iterates so far are gone. Fit anew.")

    def _contributions(self, view: View, indices: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        weights, intercepts = predicting(view, indices)
        return values[:, None] * weights, intercepts


def predicting(view: View, which: Any) -> tuple[np.ndarray, np.ndarray]:
    """Weights of these features (features, scores) and intercepts: of the average, where there is one."""
    state = view.state
    W, U = (state.W, state.U) if isinstance(state, Bank) else (state.w[:, None], state.u[:, None])
    b = state.b.reshape(2, -1)
    if not view.params.average:
        return W[which].copy(), b[0].copy()
    T = max(1, int(state.tally.rows[SEEN]))
    return W[which] - U[which] / T, b[0] - b[1] / T


class PAClassifier(Linear, Classifier):
    """Passive-aggressive linear classifier.

    For each row, w moves by τ y x, where with q = ‖x‖² (+ 1 with an intercept), ℓ = [m − y f]₊

    - ``step="pa"``: τ = ℓ/q, the row is right after the step;
    - ``step="pa1"``: τ = min(C, ℓ/q), at most C a row;
    - ``step="pa2"``: τ = ℓ/(q + 1/(2C));
    - ``step="ls"``: τ = (m − y f)/(q + 1/(2C)), least squares, no hinge.

    One pass, constant memory, no learning rate; a row with ℓ = 0 changes nothing.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: the most a row may move the weights (``pa1``), or how little is forgiven
        (``pa2``, ``ls``). ``pa`` has no C.
    step : {"pa", "pa1", "pa2", "ls"} or a step of one's own, default="pa1"
        The step, as above, or one made with :func:`aggro.step`, itself or by its name.
    margin : float, default=1.0
        The margin m that a row must have to be passed over.
    multi_class : {"ovr", "joint"}, default="ovr"
        One problem per class in a single pass, or the multi-prototype step: the best wrong class
        against the true one.
    fit_intercept : bool, default=True
        Whether to learn an intercept, as a constant feature 1.
    average : bool, default=False
        Predict with the mean of all iterates instead of the last.
    max_iter : int, default=1
        Passes over the data in ``fit``.
    tol : float, default=None
        Stop when a pass's mean loss is not better than the best by this much.
    shuffle : bool, default=False
        Whether ``fit`` goes over the rows in random order.
    class_weight : dict or "balanced", default=None
        Weights of the classes; "balanced" weighs by the classes counted so far.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the current model.
    random_state : int, RandomState or Generator, default=None
        Seeds the order of the rows with ``shuffle``.
    n_features : int, default=None
        Reserves a width, so that arrays may be narrower.

    Attributes
    ----------
    coef_, intercept_ : array
        Weights (1, n_features) for two classes, else (n_classes, n_features), and intercepts.
    classes_ : array
        The classes, sorted.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that changed the weights, rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and mistakes at each power of two of rows.

    Examples
    --------
    >>> from aggro import PAClassifier
    >>> model = PAClassifier()
    >>> for x, y in [({"good": 1}, "+"), ({"bad": 1}, "-"), ({"good": 1, "day": 1}, "+")]:
    ...     guess = model.predict_one(x)
    ...     model = model.learn_one(x, y)
    >>> model.predict_one({"bad": 1, "day": 1})
    '-'
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "C": POSITIVE,
        "step": STEPS,
        "margin": POSITIVE,
        "multi_class": Choice(("ovr", "joint")),
        **COMMON,
        "class_weight": CLASS_WEIGHT,
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        step: str | OwnStep = "pa1",
        margin: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        average: bool = False,
        max_iter: int = 1,
        tol: float | None = None,
        shuffle: bool = False,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
    ) -> None:
        self.C = C
        self.step = step
        self.margin = margin
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features

    def _rule_for(self, classes: int) -> Rule:
        return LINE if self.multi_class == "ovr" and classes <= 2 else BANK

    def _params_for(self, rule: Rule) -> LineParams | BankParams:
        step, C, margin = code_of(self.step), float(self.C), float(self.margin)
        bias, average = float(self.fit_intercept), int(self.average)
        if rule is LINE:
            return LineParams(0, step, C, margin, bias, average)
        return BankParams(int(self.multi_class == "joint"), step, C, margin, bias, average)

    def _adopt(self, state: Line, rule: Rule, params: BankParams, width: int, models: int) -> Bank:
        """One vector for two classes as two mirrored ones."""
        if rule is not BANK:
            raise ValueError(
                "This model has learned with multi_class='joint' and cannot go on with 'ovr'. Set it back, or fit anew."
            )
        bank: Bank = rule.init(params, width, models)
        n = state.w.shape[0]
        bank.W[:n, 0], bank.W[:n, 1] = -state.w, state.w
        if state.u.shape[0]:
            bank.U[:n, 0], bank.U[:n, 1] = -state.u, state.u
        bank.b[:, 0], bank.b[:, 1] = -state.b, state.b
        return bank._replace(tally=grown_tally(state.tally, bank.tally.classes.shape[0]))

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the predicting model: one row for two classes, else one a class."""
        view, weights, _ = self._weights()
        shown = self._by_class(view.labels, weights)
        return shown[None, :] if shown.ndim == 1 else shown.T

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts of the predicting model, one for each row of ``coef_``."""
        view, _, intercepts = self._weights()
        return np.atleast_1d(self._by_class(view.labels, intercepts[None, :])[0])


class PARegressor(Linear, Regressor):
    """Passive-aggressive linear regression.

    For each row, w moves by τ sign(y − f) x, where with q = ‖x‖² (+ 1 with an intercept) and
    ℓ = [|y − f| − ε]₊

    - ``step="pa"``: τ = ℓ/q, the row is within ε after the step;
    - ``step="pa1"``: τ = min(C, ℓ/q), at most C a row;
    - ``step="pa2"``: τ = ℓ/(q + 1/(2C));
    - ``step="ls"``: τ = |y − f|/(q + 1/(2C)), least squares, ε unused.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness, as in :class:`PAClassifier`.
    step : {"pa", "pa1", "pa2", "ls"} or a step of one's own, default="pa1"
        The step, as above, or one made with :func:`aggro.step`, itself or by its name.
    epsilon : float, default=0.1
        Errors up to this size are passed over.
    fit_intercept : bool, default=True
        Whether to learn an intercept, as a constant feature 1.
    average : bool, default=False
        Predict with the mean of all iterates instead of the last.
    max_iter : int, default=1
        Passes over the data in ``fit``.
    tol : float, default=None
        Stop when a pass's mean loss is not better than the best by this much.
    shuffle : bool, default=False
        Whether ``fit`` goes over the rows in random order.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the current model.
    random_state : int, RandomState or Generator, default=None
        Seeds the order of the rows with ``shuffle``.
    n_features : int, default=None
        Reserves a width, so that arrays may be narrower.

    Attributes
    ----------
    coef_, intercept_ : array
        Weights (n_features,) and intercept (1,).
    n_seen_, n_updates_ : int
        Rows seen and rows that changed the weights.
    history_ : structured array
        Progressive mean loss at each power of two of rows.

    Examples
    --------
    >>> from aggro import PARegressor
    >>> model = PARegressor(step="pa", epsilon=0.0)
    >>> for x in (1.0, 2.0, 3.0, 4.0) * 50:
    ...     model = model.learn_one([x], 2 * x + 1)
    >>> round(model.predict_one([10.0]), 1)
    21.0
    """

    _constraints: ClassVar[dict[str, Constraint]] = {"C": POSITIVE, "step": STEPS, "epsilon": Number(0.0), **COMMON}

    def __init__(
        self,
        C: float = 1.0,
        *,
        step: str | OwnStep = "pa1",
        epsilon: float = 0.1,
        fit_intercept: bool = True,
        average: bool = False,
        max_iter: int = 1,
        tol: float | None = None,
        shuffle: bool = False,
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
    ) -> None:
        self.C = C
        self.step = step
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features

    def _rule_for(self, classes: int) -> Rule:
        return LINE

    def _params_for(self, rule: Rule) -> LineParams:
        return LineParams(
            1,
            code_of(self.step),
            float(self.C),
            float(self.epsilon),
            float(self.fit_intercept),
            int(self.average),
        )

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the predicting model."""
        return self._weights()[1][:, 0]

    @property
    def intercept_(self) -> np.ndarray:
        """Intercept of the predicting model."""
        return self._weights()[2]
