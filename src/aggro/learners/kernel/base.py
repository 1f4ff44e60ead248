"""What kernel learners share: rows in blocks, and the support set as users see it.

A hook of ``learners.base.learner`` that is answered otherwise here says why in its first line.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.engine.jit.pinned import Pinned
from aggro.engine.kernel_functions import Kernel, kernel_matrix
from aggro.engine.limits import HUGE
from aggro.engine.passes import run, score_rows
from aggro.engine.rows import CSR
from aggro.engine.rule import RULES, copy_state, seen
from aggro.learners.base import inputs
from aggro.learners.base.formula import Formula
from aggro.learners.base.one_row import Asked, finite
from aggro.learners.base.progress import Watch
from aggro.learners.kernel.formula import support_formula
from aggro.learners.kernel.mean import predicts_mean, weight_of_rows
from aggro.learners.kernel.members import FIRST_TRIAL, GAMMA_ROWS, all_members, only
from aggro.learners.kernel.minibatch import learn_waiting
from aggro.learners.kernel.rule import KernelParams
from aggro.learners.kernel.scaled_rows import (
    copied_scaling,
    entries_when_scaled,
    learn_row_scaled,
    restore_scaling,
    scaled_rows,
)
from aggro.learners.kernel.scores import sweep
from aggro.learners.kernel.settings import WITH_GAMMA, KernelSettings
from aggro.learners.kernel.support_set import (
    COUNT,
    LAST_HELD,
    OUTLIER_TASK,
    PACK,
    VECTORS_HELD,
    Support,
    coefficients,
    enlarged,
    sums_of,
    support_rows,
)
from aggro.learners.kernel.user_kernel import called, called_scores, learn_called
from aggro.learners.model.features import frozen
from aggro.learners.model.model import NO_ORDER, Model, View
from aggro.learners.model.row_blocks import as_matrix, entries_of, taken

SCORED_ROWS = 256
MEMORY = 2**20  # numbers that the sums of a block, or a block of a user's kernel, may take


def member_of(state: Support) -> int:
    """The one that predicts."""
    return int(state.choice[0]) if state.choice.shape[0] else 0


def gamma_of(view: View, q: float = 1.0) -> float:
    """The γ that predicts; as long as nothing has set it, that for a row with ‖x‖² = q."""
    state, params = view.state, view.params
    first = 1.0 / max(q, 1e-150) if 0.0 < q < HUGE else 1.0  # as in ``learners.kernel.members``
    return float((params.gamma or state.gamma[0] or first) * params.members[0, member_of(state)])


def predicting(view: View) -> np.ndarray:
    """The coefficients that predict."""
    state, params = view.state, view.params
    # Before the first row there is no mean: it would be a division by 0.
    by_mean = params.average and state.late.shape[0] and seen(state) and predicts_mean(state, params)
    return coefficients(state, float(weight_of_rows(state)) if by_mean else 0.0)


class KernelLearner(KernelSettings):
    """A learner whose scores are sums of a kernel over the rows that it keeps."""

    _auto_passes, _auto_rows = 3, 10_000  # scoring a row takes as long as there are support vectors

    # Rows in blocks -----------------------------------------------------------------------------------

    def _check_width(self, model: Model, state: Support) -> None:
        """Centres of version 0.3 and before have γ = 1/n for gamma="auto", and n must not change."""
        n, made_for = max(model.features.n, 1), state.gamma[1]
        if made_for and n != made_for and self.gamma == "auto":
            raise ValueError(
                f"gamma='auto' is 1/n_features, and it was 1/{made_for:.0f} until now: a row brought the number of "
                f"features to {n}. Set gamma to a number, or reserve a width with n_features."
            )

    def _check_whole(self, rows: Any) -> None:
        """A given matrix has a column for every row."""
        n, width = inputs.n_rows_of(rows), inputs.width_of(rows)
        if self.kernel == "precomputed" and n != width:
            raise ValueError(
                "With kernel='precomputed', fit needs the square matrix of the kernel of every row with every row. "
                f"Got {n} rows and {width} columns."
            )

    def _learns_at_once(self, state: Support, n: int) -> bool:
        """A user's function may fail, the place in a given matrix is counted apart, and so are rows that are scaled."""
        return not self._is_given() and not state.facts.shape[0] and n <= self._learned_together(state, n)

    def _block_size(self, state: Support, n: int) -> int:
        """How many rows go together, so that the memory of a block is bounded."""
        if state.spans.shape[0] and self.budget is not None and self.budget_policy == "merge":
            return 1  # a merged row may have as many entries as both it was made of
        # What a block needs for each row: a line of the user's kernel matrix, or the sums of ``sweep``.
        a_row = int(state.marks[COUNT]) + SCORED_ROWS if callable(self.kernel) else sums_of(state)
        return max(1, min(SCORED_ROWS, n, MEMORY // a_row))

    def _learned_together(self, state: Support, n: int) -> int:
        """How many of these rows are learned in one block: it ends where γ may change, or support vectors move."""
        size, rows = self._block_size(state, n), seen(state)
        # γ and the members change only after a power of two of rows, so a block may run up to the next one.
        if (self.gamma == "auto" and rows < GAMMA_ROWS) or state.losses.shape[0]:
            size = min(size, (1 << rows.bit_length()) - rows)
        return size

    def _with_room_for(self, state: Support, params: KernelParams, n: int, entries: int) -> Support:
        """The state with room for n rows more, and for as many entries as these may bring."""
        # A merged row may have as many entries as the two longest rows together.
        return enlarged(state, params, n, entries + 2 * int(state.spans[:, 1].max(initial=0)) if n else 0)

    def _ahead(self, state: Support, params: KernelParams, rows: Any, asked: np.uint64) -> KernelParams:
        """The settings, with the sums of these rows over the packs of support vectors that are full.

        ``asked`` are the members whose sums these are, as a set of bits.
        """
        n = inputs.n_rows_of(rows)
        # Only full packs: rows that are learned in this block go behind them. The rows of a mini-batch still move.
        packs = int(state.marks[COUNT] - state.marks[VECTORS_HELD]) // PACK
        unset = not params.gamma and not state.gamma[0]
        # A single row shares nothing, a given matrix has no products to share. A budget
        # replaces support vectors within the block, and a γ that is not set may change.
        if n < 2 or not packs or params.kind == Kernel.GIVEN or params.budget or unset:
            return params
        ahead = np.empty((n, sums_of(state)))
        sweep(state, params, rows, ahead, packs, asked)
        return params._replace(covered=packs, ahead=ahead)

    def _pass(
        self, model: Model, learn_rows: Any, state: Any, params: Any, *rest: Any, watch: Watch | None = None
    ) -> tuple[Any, int]:
        """Room has to be made before compiled code runs, and a block of rows is scored together: so block by block."""
        X, y, s, order, start, stop, *flags = rest
        self._check_width(model, state)
        decided_inside = state.facts.shape[0] > 0 and learn_rows is not run  # only rows that are learned are counted
        # A block ends where γ may change or support vectors may move: until then the sums taken ahead stay right.
        while start < stop:
            end = start + (1 if decided_inside else self._learned_together(state, stop - start))
            rows, targets, weights = taken(X, order, start, end), y[start:end], s[start:end]
            n, before = end - start, seen(state)
            here = np.flatnonzero(weights) if s.shape[0] else np.arange(n)  # rows of weight 0 are not there at all
            order_here = NO_ORDER
            # Rows of weight 0 must not count in the statistics of the features, so they are left out before scaling.
            if state.facts.shape[0] and here.shape[0]:
                as_given = taken(rows, here, 0, here.shape[0]) if here.shape[0] < n else rows
                targets, weights, n = frozen(targets[here]), frozen(weights[here] if s.shape[0] else s), here.shape[0]
                # The gate may pass the row over: then what scaling has counted of it is taken back below.
                kept = copied_scaling(state) if decided_inside else ()
                # A row may be there twice, as it is scored and as it
                # is learned; the order tells the pass which is which.
                rows, order_here, bad = scaled_rows(state, as_given, True)
                if bad >= 0:
                    return state, start + int(here[bad])
            # Compiled code cannot allocate: all rows of the block may become support vectors.
            state = self._with_room_for(state, params, here.shape[0], entries_of(rows))
            if callable(self.kernel):
                bad = learn_called(self.kernel, learn_rows, state, params, rows, targets, weights, order_here, *flags)
            else:
                # A centre multiplies all coefficients at every move, so no sum over them can be taken ahead.
                settings = (
                    params if params.task == OUTLIER_TASK else self._ahead(state, params, rows, all_members(state))
                )
                last = int(state.marks[LAST_HELD])
                # With a given matrix each row has a column. A later pass begins again at the first one.
                if not params.keeps:
                    numbers = order[start:end] if order.shape[0] else last + np.arange(n)
                    settings = params._replace(own=numbers % model.width)
                    last = (last + n) % model.width
                bad = int(learn_rows(state, settings, rows, targets, weights, order_here, 0, n, *flags))
                state.marks[LAST_HELD] = last
            # Also where the pass stops to ask about a row of a new class: that row comes again, to be learned.
            if decided_inside and here.shape[0] and seen(state) == before:
                restore_scaling(state, kept)
            # The number of the row among all that were given, also those of weight 0 that were left out.
            if bad >= 0:
                return state, start + (int(here[bad]) if state.facts.shape[0] and here.shape[0] else bad)
            start = end
            if watch is not None:
                watch.note(start, state.tally)
        return state, -1

    def _learn_row(self, model: Model, row: Pinned, target: float, weight: float) -> None:
        """Room has to be made for the row; with kernel values from outside compiled code it is a block of its own."""
        (rows,) = row.value
        state, params = model.state, model.params
        # A user's function may raise: so learn on a copy, which replaces the state only after all went well.
        if self._is_given():
            y, s = frozen(np.array([target])), frozen(np.array([weight]))
            rest = y, s, NO_ORDER, 0, 1, model.costs(model.labels), False, model.observer()
            state, bad = self._pass(model, run, copy_state(state), params, rows, *rest)
            if bad >= 0:
                raise inputs.bad_state()
            model.swap(state, params, model.labels, model.width)
            return
        self._check_width(model, state)
        entries = entries_when_scaled(state, rows)
        state = self._with_room_for(state, params, 1, entries)
        # The state has moved to larger arrays, so the addresses that were packed are void.
        if state is not model.state:
            model.swap(state, params, model.labels, model.width)
        if not state.facts.shape[0]:
            super()._learn_row(model, row, target, weight)
            return
        # Someone reads this very state: leave it to them and learn on a copy.
        if model.readers[0]:
            model.swap(copy_state(state), params, model.labels, model.width)
        if not learn_row_scaled(model, row, entries, target, weight):
            raise inputs.bad_state()

    def _known_target(self, model: Model, y: Any) -> float | None:
        """Never the short way: room has to be made before a row is learned."""
        return None

    def _score_rows(self, view: View, rows: Any, scores: np.ndarray) -> int:
        """A block of rows is scored together."""
        n = scores.shape[0]
        size = self._block_size(view.state, n)
        # Predictions need the one member that predicts; the sums of the others are left out.
        asked = only(member_of(view.state))
        for a in range(0, n, size):
            b = min(a + size, n)
            block = taken(rows, NO_ORDER, a, b)
            # Scaled without counting: a prediction changes nothing.
            if view.state.facts.shape[0]:
                block, _, bad = scaled_rows(view.state, block, False)
                if bad >= 0:
                    return a + bad
            if callable(self.kernel):
                bad = called_scores(self.kernel, view.state, view.params, block, scores[a:b])
            else:
                bad = score_rows(view.state, self._ahead(view.state, view.params, block, asked), block, scores[a:b])
            if bad >= 0:
                return a + int(bad)
        return -1

    def _score_row(self, model: Model, row: Pinned) -> float:
        """A user's function is called from Python, and rows are scaled there."""
        state, params, bad = model.state, model.params, -1
        if not callable(self.kernel) and not state.facts.shape[0]:
            return super()._score_row(model, row)
        (rows,) = row.value
        model.scores_row = np.zeros((1, RULES[type(state)].columns(state)))
        if state.facts.shape[0]:
            rows, _, bad = scaled_rows(state, rows, False)
        if bad < 0 and callable(self.kernel):
            bad = called_scores(self.kernel, state, params, rows, model.scores_row)
        elif bad < 0:
            bad = score_rows(state, params, rows, model.scores_row)
        return float("nan") if bad >= 0 else float(model.scores_row[0, 0])

    def _begin_pass(self, model: Model, epoch: int) -> None:
        """Rows that come again do not tell which γ is best."""
        model.params = model.params._replace(counts=int(epoch == 0))

    def _settle(self, model: Model) -> None:
        """After the last pass rows are new again."""
        super()._settle(model)
        if not model.params.counts:
            model.swap(model.state, model.params._replace(counts=1), model.labels, model.width)

    def _common_start(self) -> int:
        """γ is settled then, features are scaled alike, and of several γ the first that may leave have left."""
        if len(self._gammas()[1]) > 1:
            return FIRST_TRIAL
        return GAMMA_ROWS if self.gamma == "auto" or self._scale() else 0

    # Rows that wait ---------------------------------------------------------------------------------------

    def _waits(self, model: Model) -> bool:
        return bool(model.state.marks[VECTORS_HELD]) and not model.params.sliding

    def _learn_waiting(self, state: Support, params: KernelParams) -> int:
        return learn_waiting(state, params)

    # The support set as users see it ----------------------------------------------------------------------

    def _support(self) -> tuple[View, np.ndarray]:
        """A view of the model, and the coefficients that predict, by order of appearance."""
        model = self._attribute()
        self._prepare(model)
        with model.reading() as view:
            return view, predicting(view)

    @property
    def gamma_(self) -> float:
        """The γ that predicts; 1 as long as ``gamma="auto"`` has seen no row to make it from."""
        if self.kernel not in WITH_GAMMA:
            raise AttributeError(f"kernel={self.kernel!r} has no γ")
        return gamma_of(self._support()[0])

    @property
    def support_vectors_(self) -> Any:
        """The support vectors, as an array or a sparse matrix."""
        view, _ = self._support()
        if not view.params.keeps:
            raise AttributeError("With kernel='precomputed' there are no rows, only their numbers: see support_")
        return support_rows(view.state, view.n_features)

    @property
    def support_(self) -> np.ndarray:
        """Number of rows seen before each support vector; with kernel="precomputed", their columns."""
        view, coef = self._support()
        numbers = view.state.born if view.params.keeps else view.state.column
        return np.array(numbers[: coef.shape[0]])

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients of the support vectors that make the predictions."""
        return self._support()[1].T

    def _formula(self, view: View) -> Formula:
        """Kernel values of the support vectors, and their coefficients as weights."""
        return support_formula(self.kernel, view, gamma_of(view), predicting(view))

    def _explain(self, asked: Asked) -> tuple[list[Any], np.ndarray, np.ndarray]:
        """Scores are sums over support vectors, so these have the parts, by number, and not the features of the row."""
        view, row = asked.view, asked.row
        state, params = view.state, view.params
        coef = predicting(view)
        if state.facts.shape[0]:
            row, _, _ = scaled_rows(state, row, False)
        # Nothing was learned: no parts, and scores of 0.
        if coef.shape[0] == 0:
            return [], np.zeros((0, coef.shape[1])), np.zeros(coef.shape[1])
        sparse = not state.dense.shape[1]
        matrix = as_matrix(row, view.width, sparse and bool(params.keeps))
        if not params.keeps:
            k = matrix[:, state.column[: coef.shape[0]]]
        elif callable(self.kernel):
            k = called(self.kernel, matrix, support_rows(state, view.width))
        else:
            # A norm beyond all floats becomes infinite here, and is dealt with below.
            with np.errstate(over="ignore"):
                q = float((matrix.multiply(matrix) if sparse else matrix * matrix).sum())
            settings = params.kind, gamma_of(view, q), params.coef0, params.degree
            k = kernel_matrix(*settings, matrix, support_rows(state, view.width))
        with np.errstate(over="ignore"):
            values = row.data if isinstance(row, CSR) else row
            if params.keeps and not callable(self.kernel) and not (values * values).sum() < HUGE:
                coef = np.zeros_like(coef)  # as in scores: a row whose square is no float is far from all others
            parts, intercepts = finite(k[0][:, None] * coef), finite(params.bias * coef.sum(axis=0))
        return list(range(coef.shape[0])), parts, intercepts
