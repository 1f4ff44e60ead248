"""What perceptron, ALMA and ROMMA share: weights as users see them, and the settings of one vector or several."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from aggro.engine.rule import LIVE, SEEN, Rule
from aggro.learners.base.contract import Contract
from aggro.learners.base.prepared_weights import PreparedWeights
from aggro.learners.base.scaled import mode_of
from aggro.learners.base.tasks import Classifier
from aggro.learners.base.weights import ClassWeights
from aggro.learners.first_order.corrections import ROMMA, ROWS_SINCE, SUM, WEIGHT_NORM, WEIGHT_SCALE
from aggro.learners.first_order.planes import MAPPED_PLANE, PLANE, SCALED_PLANE, PlaneParams
from aggro.learners.model.model import View


class FirstOrder(PreparedWeights, ClassWeights, Classifier):
    """A linear classifier of this family."""

    fit_intercept: bool
    average: bool
    contract: ClassVar[Contract] = Contract(
        exempt={
            "a row of zeros teaches nothing": {
                ("scale", "auto"): "every row counts for the scale",
                ("scale", "standard"): "every row counts for the scale",
            }
        },
        plain={"scale": None, "average": False},
        tried=({"scale": "standard", "average": True}, {"features": "nystroem", "n_components": 5, "gamma": 0.5}),
        apart=frozenset({"gamma"}),
    )

    def _algorithm(self) -> PlaneParams:
        """The numbers of the algorithm; what all three have is filled in."""
        raise NotImplementedError

    def _rule_for(self, classes: int) -> Rule:
        if self.features is not None:
            return MAPPED_PLANE
        return SCALED_PLANE if mode_of(self.scale) else PLANE

    def _params_for(self, rule: Rule) -> PlaneParams:
        bias, average, scale = float(self.fit_intercept), int(self.average), self._mode()
        return self._algorithm()._replace(bias=bias, average=average, scale=scale, map=self._map())

    def _check_change(self, state: Any) -> None:
        self._check_preparation(state)
        # The sum over iterates cannot be made up later.
        if self.average and not state.U.shape[0]:
            raise ValueError(
                "average=True was set after learning began, and the iterates so far are gone. Call fit to start over."
            )

    def _learned(self, view: View, which: Any) -> tuple[np.ndarray, np.ndarray]:
        """Weights of these features (features, scores) and intercepts, as they are in the state."""
        state = view.state
        # ROMMA's vectors become as long as their problems are hard: scores of several classes are compared as w·x/‖w‖.
        rows, facts = int(state.tally.rows[SEEN]), state.facts
        compared = view.params.kind == ROMMA and state.tally.rows[LIVE] > 2
        length = (
            np.sqrt(np.where(facts[WEIGHT_NORM] > 0.0, facts[WEIGHT_SCALE] ** 2 * facts[WEIGHT_NORM], 1.0))
            if compared
            else 1.0
        )
        if not view.params.average or not rows:
            return state.W[which] * (facts[WEIGHT_SCALE] / length), state.b[0] * facts[WEIGHT_SCALE] / length
        # A_T v + S, with A_T completed by the rows since v last moved.
        share, per = facts[SUM] + facts[WEIGHT_SCALE] * (rows - facts[ROWS_SINCE]), 1.0 / (rows * length)
        return (state.W[which] * share + state.U[which]) * per, (state.b[0] * share + state.b[1]) * per
