"""The base of linear classifiers: the rule for each number of classes, and the change when a third class appears."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from aggro.engine.rule import Rule, grown_into, grown_tally
from aggro.learners.base.tasks import Classifier
from aggro.learners.base.weights import ClassWeights
from aggro.learners.linear.bank import BANK, GRID, BankParams
from aggro.learners.linear.base import Linear, group_rule
from aggro.learners.linear.given_weights import GivenWeights
from aggro.learners.linear.grid import Problem
from aggro.learners.linear.scaled import BANKS, GRIDS, LINE_STATES, plain_rule
from aggro.learners.linear.vector import LINE, LineParams
from aggro.learners.model.labels import NO_LABELS, plain_labels
from aggro.learners.model.model import Model

if TYPE_CHECKING:
    from aggro.learners.linear.minibatch import GroupParams


class LinearClassifier(GivenWeights, Linear, ClassWeights, Classifier):
    """A linear learner of classes."""

    margin: float
    multi_class: str

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, coef_init: Any = None, intercept_init: Any = None
    ) -> Self:
        """Train from scratch, or continue with ``warm_start``, in up to ``max_iter`` passes over the rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            Their labels (strings, integers or booleans).
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row, which scales C. A row of weight 0 is skipped.
        coef_init, intercept_init : array, default=None
            Initial weights and intercepts, in the shapes of ``coef_`` and ``intercept_``. Rows are then not scaled.

        Returns
        -------
        self : object
            The learner.
        """
        if coef_init is None and intercept_init is None:
            return super().fit(X, y, sample_weight)
        self._fit_from(X, y, sample_weight, coef_init, intercept_init, np.unique(np.asarray(y)))
        return self

    @property
    def classes_(self) -> np.ndarray:
        """The classes seen or reserved, sorted; set them on a new model before you set ``coef_``."""
        return super().classes_

    @classes_.setter
    def classes_(self, classes: Any) -> None:
        named = self._model.labels.names if "_model" in self.__dict__ else None
        if named is not None:
            if np.array_equal(named, classes):
                return
            raise ValueError(f"This {type(self).__name__} has the classes {named.tolist()}: make a new one for others.")
        labels = NO_LABELS.reserving(classes)
        if labels.names.shape[0] < 2:
            raise ValueError(f"classes_ must name two classes or more, got {classes!r}.")
        # Numbered as if they had been seen, in sorted order: weights that are set need a place for each class.
        labels = NO_LABELS.adding(plain_labels(labels.names))
        model = self._new_model()
        state, params = self._with_room(
            model.state, model.params, self._rule_for(len(labels.codes)), model.width, len(labels.codes)
        )
        model.swap(state, params, labels, model.width)
        self._model = model

    def _rows_of_weights(self, model: Model) -> list[dict[int, float]]:
        order = model.labels.order.tolist()
        if len(model.labels.codes) < 2:
            raise ValueError("Say first which classes these are the weights of: model.classes_ = [...]")
        if not isinstance(model.state, BANKS):  # one score, of the second class that appeared
            return [{0: 1.0 if order[-1] == 1 else -1.0}]
        if len(order) == 2:  # the difference of two scores
            return [{order[1]: 0.5, order[0]: -0.5}]
        return [{code: 1.0} if code >= 0 else {} for code in order]

    def _rule_for(self, classes: int) -> Rule:
        if self.batch_size > 1:
            return self._rule(group_rule())
        if self.multi_class == "joint" or classes > 2:  # "auto" has one vector for two classes
            return self._rule(BANK)
        # Two classes share a vector until a third comes.
        return self._rule(GRID if self._is_grid() else LINE)

    def _params_for(self, rule: Rule) -> LineParams | BankParams | GroupParams:
        # With "auto", two classes are one problem; as soon as there are several, they are joint.
        together = self.multi_class == "joint" or (self.multi_class == "auto" and plain_rule(rule) is BANK)
        joint = Problem.JOINT if together else Problem.ONE_VS_REST
        problem = Problem.TWO_CLASSES if plain_rule(rule) in (LINE, GRID) else joint
        return self._params(rule, problem, float(self.margin))

    def _adopt(self, state: Any, rule: Rule, params: BankParams, width: int, models: int) -> Any:
        """Convert a state of one problem for two classes to two mirrored problems, one per class.

        What is asked of joint classes is the difference of their scores, so each has half of the vector.
        """
        # A shared vector becomes two, but two are never merged into one.
        if plain_rule(rule) is not BANK:
            raise ValueError(
                "This model has learned with multi_class='joint' and cannot go on with 'ovr'. Set it back, or call "
                "fit to start over."
            )
        bank: Any = rule.init(params, width, models)
        w, u = (state.w[:, None], state.u[:, None]) if isinstance(state, LINE_STATES) else (state.W, state.U)
        # Joint scores count by their difference, so each class takes half of the shared vector; against the rest, −w
        # and w.
        first, second = slice(0, w.shape[1]), slice(w.shape[1], 2 * w.shape[1])
        half = 0.5 if params.problem == Problem.JOINT else 1.0
        # An average that is no longer asked for may be in the old state, and is not in the new one.
        for part, mine in ((bank.W, w), (bank.U, u[: bank.U.shape[0]]), (bank.b, state.b)):
            part[: mine.shape[0], first], part[: mine.shape[0], second] = -half * mine, half * mine
        bank.scale[:] = state.scale
        # The totals go on: the candidates have competed on the same rows.
        if isinstance(state, GRIDS):
            bank.suffered[:] = state.suffered
            bank.suffered[0] *= 2.0 * half  # one against the rest, both problems have the same loss
            bank.choice[:] = state.choice
            bank.weight[:] = state.weight
        # Scaling and map are of the features, and do not depend on the number of classes.
        if hasattr(state, "scaling"):
            bank = bank._replace(scaling=grown_into(state.scaling, bank.scaling))
        if hasattr(state, "map"):
            bank = bank._replace(map=grown_into(state.map, bank.map))
        return bank._replace(tally=grown_tally(state.tally, bank.tally.classes.shape[0]))
