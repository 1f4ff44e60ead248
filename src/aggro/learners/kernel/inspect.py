"""The support set of a kernel learner as users see it, and the part of each support vector in a score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aggro.engine.kernel_functions import kernel_matrix
from aggro.engine.rows import CSR, HUGE
from aggro.learners.kernel.support_set import coefficients, support_rows
from aggro.learners.kernel.user_kernel import called
from aggro.learners.shared.labels import Labels
from aggro.learners.shared.learner import Learner
from aggro.learners.shared.model import View
from aggro.learners.shared.one_row import finite
from aggro.learners.shared.row_blocks import as_matrix

__all__ = ["Held"]


class Held(Learner):
    """What is left of the rows that were learned."""

    kernel: str | Callable[[Any, Any], Any]

    def _held(self) -> tuple[View, np.ndarray]:
        """A view of the model, and the coefficients that predict, by order of appearance."""
        model = self._attribute()
        self._prepare(model)
        with model.reading() as view:
            return view, coefficients(view.state, bool(view.params.average))

    @property
    def support_vectors_(self) -> Any:
        """The rows held, an array or a sparse matrix."""
        view, _ = self._held()
        if not view.params.keeps:
            raise AttributeError("With kernel='precomputed' there are no rows, only their numbers: see support_")
        return support_rows(view.state, view.n_features)

    @property
    def support_(self) -> np.ndarray:
        """How many rows had been seen before each support vector; with kernel="precomputed", their columns."""
        view, coef = self._held()
        numbers = view.state.born if view.params.keeps else view.state.column
        return np.array(numbers[: coef.shape[0]])

    def _explain(self, x: Any) -> tuple[Labels, list[Any], np.ndarray, np.ndarray]:
        """The labels, the numbers of the support vectors, their parts in each score, and the intercepts."""
        with self._looking_at(x) as (view, row, _):
            state, params = view.state, view.params
            coef = coefficients(state, bool(params.average))
            if coef.shape[0] == 0:
                return view.labels, [], np.zeros((0, coef.shape[1])), np.zeros(coef.shape[1])
            sparse = not state.dense.shape[1]
            asked = as_matrix(row, view.width, sparse and bool(params.keeps))
            if not params.keeps:
                k = asked[:, state.column[: coef.shape[0]]]
            elif callable(self.kernel):
                k = called(self.kernel, asked, support_rows(state, view.width))
            else:
                gamma = params.gamma or state.gamma[0]
                settings = params.kind, gamma, params.coef0, params.degree
                k = kernel_matrix(*settings, asked, support_rows(state, view.width))
            with np.errstate(over="ignore"):
                values = row.data if isinstance(row, CSR) else row
                if params.keeps and not callable(self.kernel) and not (values * values).sum() < HUGE:
                    coef = np.zeros_like(coef)  # as in scores: a row whose square is no float is far from all others
                parts, intercepts = finite(k[0][:, None] * coef), finite(params.bias * coef.sum(axis=0))
            return view.labels, list(range(coef.shape[0])), parts, intercepts
