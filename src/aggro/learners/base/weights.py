"""Weights and intercepts as users see them, for learners whose scores are linear in the row."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.learners.base.formula import Formula, Linear
from aggro.learners.base.learner import Learner
from aggro.learners.model.model import View


class Weights(Learner):
    """A learner that has weights."""

    def _predicting(self, view: View, which: Any) -> tuple[np.ndarray, np.ndarray]:
        """Weights of these features (features, scores) and intercepts: of the average, where there is one."""
        raise NotImplementedError

    def _give_weights(self, coef: Any = None, intercept: Any = None) -> None:
        """Let the model predict with these weights and intercepts, in the shapes that users see; None leaves them."""
        what = "coef_" if intercept is None else "intercept_"
        raise AttributeError(f"{what} of {type(self).__name__} cannot be set.")

    def _formula(self, view: View) -> Formula:
        """One linear stage of the weights; learners whose rows are scaled must give a formula of their own."""
        if hasattr(view.state, "scaling"):
            raise NotImplementedError
        return (Linear(*self._predicting(view, slice(0, view.n_features))),)

    def _weights(self) -> tuple[View, np.ndarray, np.ndarray]:
        """A view of the model, and the weights and intercepts of all its features, in order of their appearance."""
        model = self._attribute()
        self._prepare(model)
        with model.reading() as view:
            return view, *self._predicting(view, slice(0, view.n_features))

    def _contributions(self, view: View, indices: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        weights, intercepts = self._predicting(view, indices)
        return values[:, None] * weights, intercepts


class ClassWeights(Weights):
    """The weights and intercepts of a classifier, as users see them."""

    _by_class: Any
    _decision: Any

    @property
    def coef_(self) -> np.ndarray:
        """Weights that make the predictions: one row for two classes, otherwise one row per class."""
        view, weights, _ = self._weights()
        shown = self._by_class(view.labels, weights)
        return shown[None, :] if shown.ndim == 1 else shown.T  # type: ignore[no-any-return]

    @coef_.setter
    def coef_(self, coef: Any) -> None:
        self._give_weights(coef=coef)

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts that make the predictions, one for each row of ``coef_``, raised by ``class_weight``."""
        view, _, intercepts = self._weights()
        return np.atleast_1d(self._decision(view.state, view.labels, intercepts[None, :])[0])

    @intercept_.setter
    def intercept_(self, intercept: Any) -> None:
        self._give_weights(intercept=intercept)


class NumberWeights(Weights):
    """The weights and intercept of a regressor, as users see them."""

    @property
    def coef_(self) -> np.ndarray:
        """Weights that make the predictions."""
        return self._weights()[1][:, 0]

    @coef_.setter
    def coef_(self, coef: Any) -> None:
        self._give_weights(coef=coef)

    @property
    def intercept_(self) -> np.ndarray:
        """Intercept that makes the predictions."""
        return self._weights()[2]

    @intercept_.setter
    def intercept_(self, intercept: Any) -> None:
        self._give_weights(intercept=intercept)
