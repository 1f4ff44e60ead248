"""What kernel learners share: rows in blocks, kernels of all kinds, and the support set as users see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from aggro.engine.gate import Gate, decide
from aggro.engine.jit.compile import BY_ADDRESS
from aggro.engine.jit.pinned import Pinned
from aggro.engine.kernel_functions import Kernel
from aggro.engine.passes import run, score
from aggro.engine.rule import LIVE, RULES, copy_state
from aggro.engine.steps import Step
from aggro.learners.kernel.budget import Policy
from aggro.learners.kernel.inspect import Held
from aggro.learners.kernel.minibatch import flush_kernel_group, kernel_group_code
from aggro.learners.kernel.scores import sweep
from aggro.learners.kernel.settings import check_batch, check_budget
from aggro.learners.kernel.support_set import (
    COUNT,
    GROUP,
    HELD,
    LAST,
    OUTLIER,
    SLIDING,
    WIDTH,
    Support,
    enlarged,
    projects,
    sums_of,
)
from aggro.learners.kernel.user_kernel import called_scores, learn_called
from aggro.learners.shared import inputs
from aggro.learners.shared.features import frozen
from aggro.learners.shared.model import NO_ORDER, Model, View
from aggro.learners.shared.row_blocks import entries_of, taken

__all__ = ["Machine"]

BLOCK = 256
MEMORY = 2**20  # numbers that the sums of a block, or a block of a user's kernel, may take


class Machine(Held):
    """A learner whose scores are sums of a kernel over the rows that it keeps."""

    kernel: str | Callable[[Any, Any], Any]
    gamma: float | str
    degree: int
    coef0: float
    C: float
    step: str
    fit_intercept: bool | str
    average: bool
    batch_size: int
    window: str
    budget: int | None
    budget_policy: str

    # Settings -----------------------------------------------------------------------------------------

    def _numbers(self) -> dict[str, Any]:
        """The settings that all kernel learners have, as a rule reads them."""
        return {
            "step": int(Step[self.step.upper()]),
            "C": float(self.C),
            "bias": self._bias(),
            "average": int(self.average),
            "kind": int(Kernel.GIVEN if self._is_given() else Kernel[str(self.kernel).upper()]),
            "gamma": 0.0 if isinstance(self.gamma, str) else float(self.gamma),
            "coef0": float(self.coef0),
            "degree": int(self.degree),
            "keeps": int(self.kernel != "precomputed"),
            "budget": int(self.budget or 0),
            "batch": int(self.batch_size),
            "sliding": int(self.window == "sliding"),
            "code": 0,
            "policy": int(Policy[self.budget_policy.upper()]),
            "seed": 0,
            "covered": 0,
            "ahead": np.empty((0, 0)),
            "own": np.empty(0, np.int64),
        }

    def _is_given(self) -> bool:
        """Whether kernel values come from outside compiled code."""
        return self.kernel == "precomputed" or callable(self.kernel)

    def _bias(self) -> float:
        """1.0 with an intercept, else 0.0; "auto" for the kernels that have no constant of their own."""
        if self.fit_intercept == "auto":
            return float(self.kernel in ("linear", "poly", "cosine"))
        return float(self.fit_intercept)

    def _check_params(self) -> None:
        super()._check_params()
        if self.batch_size > 1:
            check_batch(type(self).__name__, self.kernel, self.step, self.batch_size, self.budget)
        if self.budget is not None:
            check_budget(type(self).__name__, self.kernel, self.budget, self.budget_policy, bool(self.average))

    def _check_change(self, state: Support) -> None:
        if self.average and not state.late.shape[0]:
            raise ValueError("average=True was set after learning began, and the iterates so far are gone. Fit anew.")
        params = self._params_for(self._rule_for(0))
        rows_kept = state.dense.shape[1] > 0 or state.spans.shape[0] > 0
        if bool(params.keeps) != rows_kept:
            raise ValueError(
                f"kernel={self.kernel!r} was set after learning began: a given matrix has no rows to go on with, and "
                "rows no matrix. Set it back, or fit anew."
            )
        count = int(state.marks[COUNT])
        if params.budget and count > params.budget:
            raise ValueError(
                f"budget={self.budget} was set after learning began, and there are {count} support vectors. "
                "Set a larger one, or fit anew."
            )
        if state.gram.shape[0] != (params.batch if params.batch > 1 else 0) or (
            params.batch > 1 and state.marks[SLIDING] != params.sliding
        ):
            raise ValueError(
                f"batch_size={self.batch_size!r} with window={self.window!r} is not what has learned so far. "
                "Set them back, or fit anew."
            )
        if projects(params) != (state.inverse.shape[0] > 0):
            raise ValueError(
                "budget_policy='project' needs a budget and this policy from the first row on. Set them back, or fit "
                "anew."
            )

    def _prepare(self, model: Model) -> None:
        if not model.stale:
            return
        if int(model.state.marks[WIDTH]) != model.width:
            raise ValueError(f"its support vectors have {model.state.marks[WIDTH]} features, and not {model.width}")
        super()._prepare(model)

    def _bound(self, model: Model, params: Any) -> Any:
        # Where there are no addresses, what might be jumped to must be known, whether it is or not.
        code = kernel_group_code(model.state, params) if params.batch > 1 or not BY_ADDRESS else 0
        return params._replace(seed=int(np.uint64(model.seed).astype(np.int64)), code=code)

    def _learns_at_once(self, state: Support, n: int) -> bool:
        # A user's function may fail, and the place in a given matrix is counted apart.
        return not self._is_given() and n <= self._block_size(state, n)

    def _settled(self, model: Model, state: Support) -> Support:
        """The state that a pass may begin with: γ = 1/n for gamma="auto", once and for all."""
        if self.gamma == "auto" and state.gamma[0] == 0.0:
            n = max(model.features.n, 1)
            return state._replace(gamma=np.array([1.0 / n, n]))
        return state

    def _widen(self, model: Model) -> None:
        n, made_for = model.features.n, model.state.gamma[1]
        if self.gamma == "auto" and made_for and n != made_for:
            raise ValueError(
                f"gamma='auto' is 1/n_features, and it was 1/{made_for:.0f} until now: a row brought the number of "
                f"features to {n}. Set gamma to a number, or reserve a width with n_features."
            )
        super()._widen(model)

    def _check_whole(self, rows: Any) -> None:
        n, width = inputs.n_rows_of(rows), inputs.width_of(rows)
        if self.kernel == "precomputed" and n != width:
            raise ValueError(
                "With kernel='precomputed', fit needs the square matrix of the kernel of every row with every row. "
                f"Got {n} rows and {width} columns."
            )

    # Rows in blocks -----------------------------------------------------------------------------------

    def _block_size(self, state: Support, n: int) -> int:
        """How many rows go together, so that the memory of a block is bounded."""
        if state.spans.shape[0] and self.budget is not None and self.budget_policy == "merge":
            return 1  # a merged row may have as many entries as both it was made of
        a_row = int(state.marks[COUNT]) + BLOCK if callable(self.kernel) else sums_of(state)
        return max(1, min(BLOCK, n, MEMORY // a_row))

    def _entries(self, state: Support, rows: Any) -> int:
        """How many entries of sparse rows these may bring."""
        return entries_of(rows) + 2 * int(state.spans[:, 1].max(initial=0))

    def _ahead(self, state: Support, params: Any, rows: Any) -> Any:
        """The settings, with the sums of these rows over the groups of support vectors that are full."""
        n = inputs.n_rows_of(rows)
        groups = int(state.marks[COUNT] - state.marks[HELD]) // GROUP
        if n < 2 or not groups or params.kind == Kernel.GIVEN or params.budget:
            return params
        ahead = np.empty((n, sums_of(state)))
        sweep(state, params, rows, ahead, groups)
        return params._replace(covered=groups, ahead=ahead)

    def _pass(self, model: Model, learn_rows: Any, state: Any, params: Any, *rest: Any) -> tuple[Any, int]:
        X, y, s, order, start, stop, *flags = rest
        state = self._settled(model, state)
        while start < stop:
            end = start + self._block_size(state, stop - start)
            rows = taken(X, order, start, end)
            numbers = order[start:end] if order.shape[0] else state.marks[LAST] + np.arange(end - start)
            block = self._block(model, learn_rows, state, params, rows, y[start:end], s[start:end], numbers, *flags)
            state, bad = block
            if bad >= 0:
                return state, start + bad
            start = end
        return state, -1

    def _block(
        self,
        model: Model,
        learn_rows: Any,
        state: Support,
        params: Any,
        rows: Any,
        y: np.ndarray,
        s: np.ndarray,
        numbers: np.ndarray,
        *flags: Any,
    ) -> tuple[Support, int]:
        """Learn a few rows; ``numbers`` are their places in a given kernel matrix."""
        n = y.shape[0]
        live = int(np.count_nonzero(s)) if s.shape[0] else n  # rows of weight 0 are not there at all
        state = enlarged(state, params, live, self._entries(state, rows) if live else 0)
        if callable(self.kernel):
            return state, learn_called(self.kernel, learn_rows, state, params, rows, y, s, *flags)
        settings = params if params.task == OUTLIER else self._ahead(state, params, rows)
        if not params.keeps:
            settings = params._replace(own=numbers % model.width)
        bad = learn_rows(state, settings, rows, y, s, NO_ORDER, 0, n, *flags)
        if not params.keeps:
            state.marks[LAST] = (state.marks[LAST] + n) % model.width
        return state, int(bad)

    def _learn_row(self, model: Model, row: Pinned, target: float, weight: float) -> None:
        (rows,) = row.value
        state, params = self._settled(model, model.state), model.params
        if not params.keeps or callable(self.kernel):
            y, s = frozen(np.array([target])), frozen(np.array([weight]))
            state, number = copy_state(state), state.marks[LAST : LAST + 1]
            state, bad = self._block(model, run, state, params, rows, y, s, number, model.balanced, False)
            if bad >= 0:
                raise inputs.bad_state()
        else:
            state = enlarged(state, params, 1, self._entries(state, rows))
        if state is not model.state:
            model.swap(state, params, model.labels, model.width)
        if params.keeps and not callable(self.kernel):
            super()._learn_row(model, row, target, weight)

    def _score_rows(self, view: View, rows: Any, scores: np.ndarray) -> int:
        n = scores.shape[0]
        size = self._block_size(view.state, n)
        for a in range(0, n, size):
            b = min(a + size, n)
            block = taken(rows, NO_ORDER, a, b)
            if callable(self.kernel):
                bad = called_scores(self.kernel, view.state, view.params, block, scores[a:b])
            else:
                bad = score(view.state, self._ahead(view.state, view.params, block), block, scores[a:b])
            if bad >= 0:
                return a + int(bad)
        return -1

    def _score_row(self, model: Model, row: Pinned) -> float:
        if not callable(self.kernel):
            return super()._score_row(model, row)
        (rows,) = row.value
        model.scores_row = np.zeros((1, RULES[type(model.state)].columns(model.state)))
        bad = called_scores(self.kernel, model.state, model.params, rows, model.scores_row)
        return float("nan") if bad >= 0 else float(model.scores_row[0, 0])

    def _ask_row(self, model: Model, row: Pinned, gate: Gate, pinned_gate: Pinned) -> int:
        if not callable(self.kernel):
            return super()._ask_row(model, row, gate, pinned_gate)
        if np.isnan(self._score_row(model, row)):
            return -1
        scores = model.scores_row
        return int(decide(gate, scores[0], scores.shape[1], int(model.state.tally.rows[LIVE])))

    def _known_target(self, model: Model, y: Any) -> float | None:
        return None  # room has to be made before a row is learned

    # Rows that wait ---------------------------------------------------------------------------------------

    def flush(self) -> Self:
        """Learn the rows that wait for their group to be complete, as a smaller group.

        With ``batch_size=1`` or a sliding window no row waits, and this does nothing.

        Returns
        -------
        self : object
            The learner.
        """
        model: Model | None = self.__dict__.get("_model")
        if model is not None:
            model.check_idle()
            with model.learning:
                self._prepare(model)
                self._settle(model)
        return self

    def _settle(self, model: Model) -> None:
        with model.guard:
            if model.state.marks[HELD] and not model.params.sliding:
                state = copy_state(model.state)
                flush_kernel_group(state, model.params)
                model.swap(state, model.params, model.labels, model.width)
