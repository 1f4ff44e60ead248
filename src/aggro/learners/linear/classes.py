"""The base of linear classifiers: the rule for each number of classes, and the change when a third class appears."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aggro.engine.rule import Rule, grown_into, grown_tally
from aggro.learners.linear.bank import BANK, GRID, BankParams
from aggro.learners.linear.base import Linear, group_rule
from aggro.learners.linear.grid import Problem
from aggro.learners.linear.scaled import GRIDS, LINES, plain_rule
from aggro.learners.linear.vector import LINE, LineParams
from aggro.learners.shared.tasks import Classifier
from aggro.learners.shared.weights import ClassWeights

if TYPE_CHECKING:
    from aggro.learners.linear.minibatch import GroupParams


class LinearClassifier(Linear, ClassWeights, Classifier):
    """A linear learner of classes."""

    margin: float
    multi_class: str

    def _rule_for(self, classes: int) -> Rule:
        if self.batch_size > 1:
            return self._rule(group_rule())
        if self.multi_class == "joint" or classes > 2:  # "auto" has one vector for two classes
            return self._rule(BANK)
        return self._rule(GRID if self._is_grid() else LINE)

    def _params_for(self, rule: Rule) -> LineParams | BankParams | GroupParams:
        together = self.multi_class == "joint" or (self.multi_class == "auto" and plain_rule(rule) is BANK)
        joint = Problem.JOINT if together else Problem.ONE_VS_REST
        problem = Problem.TWO_CLASSES if plain_rule(rule) in (LINE, GRID) else joint
        return self._params(rule, problem, float(self.margin))

    def _adopt(self, state: Any, rule: Rule, params: BankParams, width: int, models: int) -> Any:
        """Convert a state of one problem for two classes to two mirrored problems, one per class.

        What is asked of joint classes is the difference of their scores, so each has half of the vector.
        """
        if plain_rule(rule) is not BANK:
            raise ValueError(
                "This model has learned with multi_class='joint' and cannot go on with 'ovr'. Set it back, or fit anew."
            )
        bank: Any = rule.init(params, width, models)
        w, u = (state.w[:, None], state.u[:, None]) if isinstance(state, LINES) else (state.W, state.U)
        first, second = slice(0, w.shape[1]), slice(w.shape[1], 2 * w.shape[1])
        half = 0.5 if params.problem == Problem.JOINT else 1.0
        # An average that is no longer asked for may be in the old state, and is not in the new one.
        for part, mine in ((bank.W, w), (bank.U, u[: bank.U.shape[0]]), (bank.b, state.b)):
            part[: mine.shape[0], first], part[: mine.shape[0], second] = -half * mine, half * mine
        bank.scale[:] = state.scale
        if isinstance(state, GRIDS):
            bank.suffered[:] = state.suffered
            bank.suffered[0] *= 2.0 * half  # one against the rest, both problems have the same loss
            bank.choice[:] = state.choice
            bank.weight[:] = state.weight
        if hasattr(state, "scaling"):
            bank = bank._replace(scaling=grown_into(state.scaling, bank.scaling))
        if hasattr(state, "map"):
            bank = bank._replace(map=grown_into(state.map, bank.map))
        return bank._replace(tally=grown_tally(state.tally, bank.tally.classes.shape[0]))
