"""What second-order learners share: which settings learn, their weights and their confidence as users see them."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from aggro.engine.rule import MISTAKES, SEEN, Rule
from aggro.learners.base.columns import columns_of
from aggro.learners.base.contract import Contract
from aggro.learners.base.learner import COMMON
from aggro.learners.base.mapped import MAP_PARAMETERS
from aggro.learners.base.params import POSITIVE, Choice, Constraint, Either, Number
from aggro.learners.base.prepared_weights import PreparedWeights
from aggro.learners.base.scaled import SCALE_PARAMETER, mode_of, unit_of
from aggro.learners.base.tasks import CALIBRATION, CLASS_WEIGHT, Classifier
from aggro.learners.base.weights import ClassWeights
from aggro.learners.maths.average import mean_of
from aggro.learners.model.features import frozen
from aggro.learners.model.model import Model, View
from aggro.learners.second_order.rule import BELIEF, MAPPED_BELIEF, SCALED_BELIEF, Belief
from aggro.learners.second_order.step import NUMBER_METHOD, BeliefParams, Method

POSITIVE_OR_AUTO = Either((POSITIVE, Choice(("auto",))))
ETA = Number(0.5, 1.0 - 1e-9, open_low=True)
SECOND_ORDER: dict[str, Constraint] = {
    "covariance": Choice(("diagonal", "full")),
    "scale": SCALE_PARAMETER,
    **MAP_PARAMETERS,
    **COMMON,
}
MAPPED_UNIT = 30.0  # how much less the squared norm of mapped rows is, which is 1, than that of most scaled ones
CLASS_PARAMETERS: dict[str, Constraint] = {**SECOND_ORDER, "class_weight": CLASS_WEIGHT, "calibration": CALIBRATION}


class SecondOrder(PreparedWeights):
    """A belief about weights: its mean, which predicts, and its covariance."""

    covariance: str
    fit_intercept: bool
    average: bool
    _main: ClassVar[str]  # the parameter that may be "auto"
    _grid: ClassVar[tuple[float, ...]]  # and what it is then
    _unit: ClassVar[int]  # the power of 1/‖x‖² that it is measured in
    contract: ClassVar[Contract] = Contract(
        plain={"scale": None, "average": False},
        tried=({"covariance": "full", "average": True}, {"features": "fourier", "n_components": 8, "gamma": 0.5}),
        apart=frozenset({"covariance", "gamma"}),
    )

    def _method(self) -> Method:
        """Which problem a row poses."""
        raise NotImplementedError

    def _values(self) -> tuple[float, ...]:
        """The values of the main parameter that learn side by side."""
        value = getattr(self, self._main)
        if not isinstance(value, str):
            return (float(value),)
        # The squared norm of mapped rows is 1, and that of most scaled rows much larger: the grid is in other units.
        unit = 1.0 if self.features is None else MAPPED_UNIT**self._unit
        return tuple(value * unit for value in self._grid)

    def _settings(self) -> dict[str, tuple[float, ...]]:
        """The parameters of each member."""
        values = self._values()
        given = {name: float(getattr(self, name, 1.0)) for name in ("eta", "r", "C") if name != self._main}
        return {self._main: values} | {name: (value,) * len(values) for name, value in given.items()}

    def _rule_for(self, classes: int) -> Rule:
        if self.features is not None:
            return MAPPED_BELIEF
        return SCALED_BELIEF if mode_of(self.scale) else BELIEF

    def _params_for(self, rule: Rule) -> BeliefParams:
        settings = self._settings()
        # φ is the quantile of the normal distribution at η.
        phi = [NormalDist().inv_cdf(eta) if eta < 1.0 else 0.0 for eta in settings["eta"]]  # AROW has none
        members = frozen(np.array([phi, settings["r"], settings["C"]], np.float64))
        full, bias = int(self.covariance == "full"), float(self.fit_intercept)
        method, scale = int(self._method()), self._mode()
        rest = full, scale, self._map(), 0, int(method == NUMBER_METHOD)
        return BeliefParams(method, members.shape[1], members, bias, int(self.average), *rest)

    def _check_change(self, state: Any) -> None:
        self._check_preparation(state)
        # Parameters may be set while a model learns, unless they change what the state keeps.
        if (self.covariance == "full") != is_full(state):
            raise ValueError(
                f"covariance={self.covariance!r} is not the setting that this model learned with. Set it back, or "
                "call fit to start over."
            )
        if len(self._values()) != state.W.shape[1]:
            raise ValueError(
                f"{self._main}={getattr(self, self._main)!r} is not the grid of settings that this "
                "model learned with. Set it back, or call fit to start over."
            )
        # The lag cannot be made up later.
        if self.average and state.U.shape[2] == 0:
            raise ValueError(
                "average=True was set after learning began, and the iterates so far are gone. Call fit to start over."
            )

    # Weights --------------------------------------------------------------------------------------

    def _learned(self, view: View, which: Any) -> tuple[np.ndarray, np.ndarray]:
        """Those of the member that predicts."""
        state = view.state
        g = int(state.choice[0])
        W = state.W[:, g].copy()  # (scores, 1 + width)
        # The mean of the iterates, if it predicts.
        if view.params.average and state.tally.rows[SEEN]:
            W = mean_of(state, W, state.U[:, g])
        return W[:, 1:].T[which], W[:, 0]

    # Confidence -----------------------------------------------------------------------------------

    def _score_rows(self, view: View, rows: Any, scores: np.ndarray) -> int:
        """Scores, and their deviations behind them if there is room; those in units that the rule knows."""
        if scores.shape[1] > columns_of(view.state):
            state = view.state
            # Deviations are in the units of the rule, so scores must not be converted to those of the targets.
            if hasattr(state, "scaling"):
                state = state._replace(scaling=state.scaling._replace(target=np.zeros(0)))
            view = view._replace(state=state, params=view.params._replace(sure=1))
        return super()._score_rows(view, rows, scores)

    def _deviations(self, view: View, scores: np.ndarray) -> np.ndarray:
        """Those behind the scores, in units of the target."""
        found: np.ndarray = scores[:, scores.shape[1] // 2 :]
        return found * unit_of(view.state.scaling.target) if view.params.to_number and view.params.scale else found

    def _shown(self, view: View, deviations: np.ndarray) -> np.ndarray:
        """Deviations as users see them: in the order of the scores."""
        raise NotImplementedError

    def decision_std(self, X: Any) -> np.ndarray:
        """The standard deviation of each row's score, √(x'Σx): how unsure the model is of it.

        It measures what the model does not know about the weights, and not how noisy the labels are. It shrinks with
        every row that is learned.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        deviations : array of shape (n_samples,) or (n_samples, n_classes)
            As ``decision_function`` has the scores; of numbers, as ``predict``.
        """
        with self._scored(X, more=columns_of) as (view, scores):
            return self._shown(view, self._deviations(view, scores))

    def decision_std_one(self, x: Any) -> Any:
        """The standard deviation of one row's score, √(x'Σx).

        It is a float, or from three classes on an array in the order of ``classes_``.
        """
        model = self._fitted()
        shown = model.alone(self._deviate_one, model, x)
        return float(shown) if shown.ndim == 0 else shown

    def _deviate_one(self, model: Model, x: Any) -> Any:
        self._score_one(model, x)  # prepares, and refuses what is not finite
        view = model.view()
        return self._shown(view, self._deviations(view, self._score_surely(model, x)))[0]

    def _score_surely(self, model: Model, x: Any) -> np.ndarray:
        """The scores of one row, and their deviations behind them; it was scored before. Needs the guard."""
        scores = np.empty((1, 2 * columns_of(model.state)))
        self._score_rows(model.view(), self._row(model, x, False).value[0], scores)
        return scores

    # The grid -------------------------------------------------------------------------------------

    def _predicting_value(self) -> float:
        model = self._attribute()
        self._prepare(model)
        return self._values()[int(model.state.choice[0])]

    @property
    def grid_(self) -> np.ndarray:
        """What learns side by side: the main parameter, and ``loss`` and ``mistakes`` a row so far, one after another.

        The loss is the hinge loss, or of numbers the squared error in units of the step.
        """
        model = self._attribute()
        self._prepare(model)
        values = self._values()
        table = np.zeros(len(values), [(self._main, np.float64), ("loss", np.float64), ("mistakes", np.float64)])
        table[self._main] = values
        with model.reading() as view:
            state = view.state
            # Several members have totals of their own; of one the pass has counted the same.
            if len(values) > 1:
                table["loss"], table["mistakes"] = state.suffered / max(state.weight[0], 1e-300)
            else:
                rows = max(state.tally.rows[SEEN], 1)
                table["loss"], table["mistakes"] = state.tally.loss[0] / rows, state.tally.rows[MISTAKES] / rows
        return table


def is_full(state: Belief) -> bool:
    """Whether the covariance is a matrix."""
    return bool(state.S.shape[2] > 1)


class ClassBelief(SecondOrder, ClassWeights, Classifier):
    """A belief about the weights of classes."""

    def _shown(self, view: View, deviations: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.abs(self._by_class(view.labels, deviations))
        return found
