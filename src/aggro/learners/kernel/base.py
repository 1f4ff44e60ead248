"""What kernel learners share: their settings, rows in blocks, and the support set as users see it.

A hook of ``learners.shared.learner`` that is answered otherwise here says why in its first line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from aggro.engine.jit.compile import BY_ADDRESS
from aggro.engine.jit.pinned import Pinned
from aggro.engine.kernel_functions import Kernel, kernel_matrix
from aggro.engine.passes import run, score
from aggro.engine.rows import CSR, HUGE
from aggro.engine.rule import RULES, Rule, copy_state, seen
from aggro.engine.steps import Step
from aggro.learners.kernel.budget import Policy
from aggro.learners.kernel.formula import support_formula
from aggro.learners.kernel.mean import predicts_mean, weight_of_rows
from aggro.learners.kernel.members import AUTO, MOST_MEMBERS, SETTLED, all_members, members_table, only
from aggro.learners.kernel.methods import Method, method_code
from aggro.learners.kernel.minibatch import kernel_group_code, learn_waiting
from aggro.learners.kernel.rule import EXPANSION, KernelParams
from aggro.learners.kernel.scaled_rows import entries_when_scaled, learn_row_scaled, scaled_rows
from aggro.learners.kernel.scores import sweep
from aggro.learners.kernel.support_set import (
    COUNT,
    HELD,
    LAST,
    NORM,
    OUTLIER,
    PACK,
    SLIDING,
    WEIGHTED,
    WIDTH,
    Support,
    coefficients,
    enlarged,
    sums_of,
    support_rows,
)
from aggro.learners.kernel.user_kernel import called, called_scores, learn_called
from aggro.learners.shared import inputs
from aggro.learners.shared.contract import LEARNS_FROM_ALL, NO_C, Contract
from aggro.learners.shared.features import frozen
from aggro.learners.shared.formula import Formula
from aggro.learners.shared.labels import Labels
from aggro.learners.shared.learner import COMMON, NONE
from aggro.learners.shared.model import NO_ORDER, Model, View
from aggro.learners.shared.one_row import finite
from aggro.learners.shared.params import Choice, Constraint, Either, Flag, Kind, Number, Numbers
from aggro.learners.shared.progress import Watch
from aggro.learners.shared.row_blocks import as_matrix, entries_of, taken
from aggro.learners.shared.scaled import SCALE, mode_of
from aggro.learners.shared.waiting_rows import WaitingRows

BLOCK = 256
MEMORY = 2**20  # numbers that the sums of a block, or a block of a user's kernel, may take
MOST_PROJECTED = 2**14
MAX_BATCH = 1024  # a group of B rows costs B³
NAMED = ("linear", "poly", "rbf", "sigmoid", "cosine")
WITH_GAMMA = ("rbf", "poly", "sigmoid")
ONE = members_table((1.0,))


def kernel_among(words: tuple[str, ...]) -> Constraint:
    """A kernel by its name, or a function."""
    return Either((Choice(words), Kind(Callable, "a function of two matrices")))  # type: ignore[arg-type]


POSITIVE = Number(0.0, open_low=True)
KERNEL: dict[str, Constraint] = {
    "C": POSITIVE,
    "kernel": kernel_among((*NAMED, "precomputed")),
    "gamma": Either((Choice(("auto",)), POSITIVE)),
    "degree": Number(1, 100, integer=True),
    "coef0": Number(),
    "step": Choice(("pa", "pa1", "pa2", "ls")),
    "batch_size": Number(1, MAX_BATCH, integer=True),
    "window": Choice(("disjoint", "sliding")),
    "budget": Either((Number(1, 2**31 - 1, integer=True), NONE)),
    "budget_policy": Choice(tuple(policy.name.lower() for policy in Policy)),
    **COMMON,
    "fit_intercept": Either((Flag(), Choice(("auto",)))),
}
# Of the two that predict classes and numbers.
PREDICTING: dict[str, Constraint] = {
    **KERNEL,
    "gamma": Either((Choice(("auto",)), POSITIVE, Numbers(POSITIVE))),
    "average": Either((Flag(), Choice(("auto",)))),
    "scale": SCALE,
}


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
    by_mean = params.average and state.late.shape[0] and seen(state) and predicts_mean(state, params)
    return coefficients(state, float(weight_of_rows(state)) if by_mean else 0.0)


class KernelLearner(WaitingRows):
    """A learner whose scores are sums of a kernel over the rows that it keeps."""

    _auto_passes, _auto_rows = 3, 10_000  # scoring a row takes as long as there are support vectors
    _task: ClassVar[int]  # CLASSES, NUMBER or OUTLIER
    _edge: ClassVar[str]  # the parameter that is the margin, the insensitivity or the radius of that task
    _method: ClassVar[Method] = Method.PA

    kernel: str | Callable[[Any, Any], Any]
    gamma: float | str | list[float] | tuple[float, ...]
    degree: int
    coef0: float
    C: float
    step: str
    fit_intercept: bool | str
    average: bool | str
    scale: Any = None  # of files and pickles that are older than this parameter
    batch_size: int
    window: str
    contract: ClassVar[Contract] = Contract(
        exempt={
            "a weight scales C": NO_C,
            "a_row_without_loss_changes_no_bit": {
                **LEARNS_FROM_ALL,
                "batch_size": "a row is kept until its group is learned",
                "budget": "making room for a row may change its score",
                ("scale", "auto"): "every row counts in what features are scaled by",
                ("scale", "rms"): "every row counts in what features are scaled by",
                ("scale", "standard"): "every row counts in what features are scaled by",
                ("gamma", "auto"): "every row tells which γ is best",
            },
            "memory does not grow with rows": {
                ("budget", None): "without a budget, every row that is learned from is kept"
            },
            "an unknown feature is a zero": "to a kernel, a feature that is known and zero so far is not a zero",
        },
        plain={"gamma": 0.1, "average": False, "scale": None},
        tried=(
            {"average": True},
            {"gamma": [0.05, 0.2, 0.3], "scale": "rms", "average": True},
            {"gamma": "auto", "average": "auto", "budget": 9, "budget_policy": "oldest", "scale": "standard"},
            {"kernel": "poly", "fit_intercept": True},
            {"budget": 9, "budget_policy": "project"},
            {"budget": 9, "budget_policy": "merge", "step": "pa"},
            {"budget": 9, "nu": 0.1},
            {"batch_size": 4, "average": True},
            {"batch_size": 4, "window": "sliding", "kernel": "rbf"},
        ),
        apart=frozenset({"budget_policy", "window"}),
    )
    budget: int | None
    budget_policy: str

    # Settings -----------------------------------------------------------------------------------------

    def _rule_for(self, classes: int) -> Rule:
        """One rule for any number of classes."""
        return EXPANSION

    def _params_for(self, rule: Rule) -> KernelParams:
        edge = getattr(self, self._edge)
        gamma, multiples = self._gammas()
        return KernelParams(
            task=self._task,
            step=int(Step[self.step.upper()]),
            C=float(self.C),
            edge=0.0 if edge == "auto" else float(edge),
            nu=float(getattr(self, "nu", 0.0)),
            bias=self._bias(),
            average=WEIGHTED if self.average == "auto" else int(self.average),
            kind=int(Kernel.GIVEN if self._is_given() else Kernel[str(self.kernel).upper()]),
            gamma=gamma,
            members=members_table(multiples),
            counts=1,
            scale=self._scale(),
            coef0=float(self.coef0),
            degree=int(self.degree),
            keeps=int(self.kernel != "precomputed"),
            budget=int(self.budget or 0),
            policy=int(self._policy()),
            method=int(self._method),
            eta=float(getattr(self, "eta", 0.0)),
            lam=float(getattr(self, "lam", 0.0)),
            bound=float(getattr(self, "bound", 1.0)),
            plus=int(getattr(self, "plus", False)),
            spare=int(self._spare()),
            batch=int(self.batch_size),
            sliding=int(self.window == "sliding"),
            code=0,
            seed=0,
            covered=0,
            ahead=np.empty((0, 0)),
            own=np.empty(0, np.int64),
        )

    def _policy(self) -> Policy:
        """What makes room in the budget."""
        return Policy[self.budget_policy.upper()]

    def _spare(self) -> bool:
        """Whether a row is let go of after one was taken, and not before."""
        return self._task == OUTLIER

    def _gammas(self) -> tuple[float, tuple[float, ...]]:
        """γ, or 0.0 where the stream says it, and what multiples of it learn side by side."""
        if self.gamma == "auto":
            return 0.0, AUTO if self._may_have_several() else (1.0,)
        if isinstance(self.gamma, list | tuple):
            least = float(min(self.gamma))
            return least, tuple(float(gamma) / least for gamma in self.gamma)
        return float(self.gamma), (1.0,)

    def _may_have_several(self) -> bool:
        """Whether several γ can learn side by side."""
        projects = self.budget is not None and self.budget_policy == "project"
        return self._task != OUTLIER and self.kernel == "rbf" and self.batch_size == 1 and not projects

    def _scale(self) -> int:
        """How rows are scaled; a given matrix has none."""
        return 0 if self.kernel == "precomputed" else mode_of(self.scale)

    def _is_given(self) -> bool:
        """Whether kernel values come from outside compiled code."""
        return self.kernel == "precomputed" or callable(self.kernel)

    def _bias(self) -> float:
        """1.0 with an intercept, else 0.0; "auto" for the kernels that have no constant of their own."""
        if self.fit_intercept == "auto":
            return float(self.kernel in ("linear", "poly", "cosine"))
        return float(self.fit_intercept)

    def _check_together(self) -> None:
        """Some settings exclude each other."""
        if isinstance(self.gamma, list | tuple) and len(self.gamma) > 1 and not self._may_have_several():
            raise ValueError(
                f"gamma={self.gamma!r} of {type(self).__name__} asks for several γ side by side, which needs "
                "kernel='rbf' and no mini-batches, and which budget_policy='project' cannot have. Set gamma to one of "
                "them, or to 'auto'."
            )
        if isinstance(self.gamma, list | tuple) and len(self.gamma) > MOST_MEMBERS:
            raise ValueError(f"{type(self).__name__} takes at most {MOST_MEMBERS} γ. Got {len(self.gamma)}.")
        if self.batch_size > 1:
            self._check_batch(type(self).__name__)
        if self.budget is not None:
            self._check_budget(type(self).__name__, self.budget)

    def _check_batch(self, owner: str) -> None:
        """Refuse settings that do not go with mini-batches."""
        if self.step == "pa":
            raise ValueError(
                f"step='pa' of {owner} cannot learn batch_size={self.batch_size} rows at once: rows may contradict "
                "each other, and then nothing is right about all of them. Use step='pa1' or 'pa2', with a large C if "
                "need be."
            )
        if self.budget is not None:
            raise ValueError(
                f"{owner} cannot have both batch_size={self.batch_size} and a budget: the rows of a group are kept "
                "until it is learned. Set one of them only."
            )
        if self.kernel == "sigmoid":
            raise ValueError(
                f"batch_size={self.batch_size} of {owner} needs a kernel that is an inner product, and 'sigmoid' is "
                "none. Choose another kernel."
            )

    def _check_budget(self, owner: str, budget: int) -> None:
        """Refuse settings that do not go with a budget."""
        if self.average and self._task == OUTLIER:
            raise ValueError(
                f"{owner} cannot have both average=True and a budget: the mean of all centres needs the support "
                "vectors that the budget has let go. Set one of them only."
            )
        if self.budget_policy == "merge" and self._is_given():
            raise ValueError(
                f"budget_policy='merge' of {owner} makes new rows between two, of which compiled code needs the "
                f"kernel: it must be one of {', '.join(map(repr, NAMED))}. Got {self.kernel!r}. Choose another policy."
            )
        if self.budget_policy == "project" and self.kernel == "sigmoid":
            raise ValueError(
                f"budget_policy='project' of {owner} needs a kernel that is an inner product, and 'sigmoid' is none. "
                "Choose another policy."
            )
        if self.budget_policy == "project" and budget > MOST_PROJECTED:
            raise ValueError(
                f"budget_policy='project' of {owner} keeps a matrix of budget × budget numbers, and takes at most "
                f"budget={MOST_PROJECTED}. Got {budget}. Choose another policy, such as 'merge'."
            )

    def _check_change(self, state: Support) -> None:
        """What is kept depends on most of the settings, and cannot be made up later."""
        if self.average and not state.late.shape[0]:
            raise ValueError("average=True was set after learning began, and the iterates so far are gone. Fit anew.")
        if self.average and (self.average == "auto") != (state.recent.shape[0] > 0):
            raise ValueError(
                f"average={self.average!r} was set after learning began, and another mean was taken of the iterates so "
                "far. Set it back, or fit anew."
            )
        if self._scale() != (int(state.facts[0]) if state.facts.shape[0] else 0):
            raise ValueError(f"scale={self.scale!r} is not what has learned so far. Set it back, or fit anew.")
        self._check_gamma(state)
        rows_kept = state.dense.shape[1] > 0 or state.spans.shape[0] > 0
        if rows_kept == (self.kernel == "precomputed"):
            raise ValueError(
                f"kernel={self.kernel!r} was set after learning began: a given matrix has no rows to go on with, and "
                "rows no matrix. Set it back, or fit anew."
            )
        count = int(state.marks[COUNT])
        if self.budget is not None and count > self.budget:
            raise ValueError(
                f"budget={self.budget} was set after learning began, and there are {count} support vectors. "
                "Set a larger one, or fit anew."
            )
        batch = self.batch_size if self.batch_size > 1 else 0
        if state.gram.shape[0] != batch or (batch and state.marks[SLIDING] != (self.window == "sliding")):
            raise ValueError(
                f"batch_size={self.batch_size!r} with window={self.window!r} is not what has learned so far. "
                "Set them back, or fit anew."
            )
        projects = self.budget is not None and self.budget_policy == "project"
        if projects != (state.inverse.shape[0] > 0):
            raise ValueError(
                "budget_policy='project' needs a budget and this policy from the first row on. Set them back, or fit "
                "anew."
            )

    def _check_gamma(self, state: Support) -> None:
        """Refuse other γ than a state can follow."""
        members, several = state.losses.shape[0], len(self._gammas()[1])
        unset = self.gamma == "auto" and self._task != OUTLIER and not state.gamma[0]
        if members and members != several:
            said = f"{members} γ have learned side by side so far"
        elif not members and several > 1 and not (self.gamma == "auto" and state.gamma[0]) and seen(state):
            said = "one γ has learned so far"
        elif unset and not members and self.kernel in WITH_GAMMA and state.norms[:, NORM].any():
            said = "another γ has learned so far"
        else:
            return
        raise ValueError(f"gamma={self.gamma!r} was set after learning began: {said}. Set it back, or fit anew.")

    def _bound(self, model: Model, params: KernelParams) -> KernelParams:
        """Budgets need a seed, and mini-batches the address of their code; a file may be of another width."""
        if int(model.state.marks[WIDTH]) != model.width:
            raise ValueError(f"its support vectors have {model.state.marks[WIDTH]} features, and not {model.width}")
        model.in_python = model.state.facts.shape[0] > 0
        if not model.state.losses.shape[0] and params.members.shape[1] > 1:  # of a version that had one γ
            params = params._replace(members=ONE)
        # Where there are no addresses, what might be jumped to must be known, whether it is or not.
        code = kernel_group_code(model.state, params) if params.batch > 1 or not BY_ADDRESS else 0
        if params.method or not BY_ADDRESS:
            method_at = method_code(model.state, params)
            code = method_at if params.method else code
        return params._replace(seed=int(np.uint64(model.seed).astype(np.int64)), code=code)

    def _with_gamma(self, model: Model, state: Support) -> Support:
        """The state of a centre with γ = 1/n for gamma="auto": made with the first row, and then it must not change."""
        if self.gamma != "auto" or self._task != OUTLIER:
            return state
        n, made_for = max(model.features.n, 1), state.gamma[1]
        if not made_for:
            return state._replace(gamma=np.array([1.0 / n, n]))
        if n != made_for:
            raise ValueError(
                f"gamma='auto' is 1/n_features, and it was 1/{made_for:.0f} until now: a row brought the number of "
                f"features to {n}. Set gamma to a number, or reserve a width with n_features."
            )
        return state

    # Rows in blocks -----------------------------------------------------------------------------------

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
        a_row = int(state.marks[COUNT]) + BLOCK if callable(self.kernel) else sums_of(state)
        return max(1, min(BLOCK, n, MEMORY // a_row))

    def _learned_together(self, state: Support, n: int) -> int:
        """How many of these rows are learned in one block: it ends where γ may change, or support vectors move."""
        size, rows = self._block_size(state, n), seen(state)
        if (self.gamma == "auto" and rows < SETTLED) or state.losses.shape[0]:
            size = min(size, (1 << rows.bit_length()) - rows)
        return size

    def _with_room_for(self, state: Support, params: KernelParams, n: int, entries: int) -> Support:
        """The state with room for n rows more, and for as many entries as these may bring."""
        return enlarged(state, params, n, entries + 2 * int(state.spans[:, 1].max(initial=0)) if n else 0)

    def _ahead(self, state: Support, params: KernelParams, rows: Any, asked: np.uint64) -> KernelParams:
        """The settings, with the sums of these rows over the packs of support vectors that are full.

        ``asked`` are the members whose sums these are, as a set of bits.
        """
        n = inputs.n_rows_of(rows)
        packs = int(state.marks[COUNT] - state.marks[HELD]) // PACK
        unset = not params.gamma and not state.gamma[0]
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
        state = self._with_gamma(model, state)
        decided_inside = state.facts.shape[0] > 0 and learn_rows is not run  # only rows that are learned are counted
        while start < stop:
            end = start + (1 if decided_inside else self._learned_together(state, stop - start))
            rows, targets, weights = taken(X, order, start, end), y[start:end], s[start:end]
            n, before = end - start, seen(state)
            here = np.flatnonzero(weights) if s.shape[0] else np.arange(n)  # rows of weight 0 are not there at all
            if state.facts.shape[0] and here.shape[0]:
                as_given = taken(rows, here, 0, here.shape[0]) if here.shape[0] < n else rows
                targets, weights, n = frozen(targets[here]), frozen(weights[here] if s.shape[0] else s), here.shape[0]
                rows, bad = scaled_rows(state, as_given, not decided_inside)
                if bad >= 0:
                    return state, start + int(here[bad])
            state = self._with_room_for(state, params, here.shape[0], entries_of(rows))
            if callable(self.kernel):
                bad = learn_called(self.kernel, learn_rows, state, params, rows, targets, weights, *flags)
            else:
                settings = params if params.task == OUTLIER else self._ahead(state, params, rows, all_members(state))
                last = int(state.marks[LAST])
                if not params.keeps:
                    numbers = order[start:end] if order.shape[0] else last + np.arange(n)
                    settings = params._replace(own=numbers % model.width)
                    last = (last + n) % model.width
                bad = int(learn_rows(state, settings, rows, targets, weights, NO_ORDER, 0, n, *flags))
                state.marks[LAST] = last
            if bad >= 0:
                return state, start + (int(here[bad]) if state.facts.shape[0] and here.shape[0] else bad)
            if decided_inside and seen(state) > before:
                scaled_rows(state, as_given, True)
            start = end
            if watch is not None:
                watch.note(start, state.tally)
        return state, -1

    def _learn_row(self, model: Model, row: Pinned, target: float, weight: float) -> None:
        """Room has to be made for the row; with kernel values from outside compiled code it is a block of its own."""
        (rows,) = row.value
        state, params = model.state, model.params
        if self._is_given():
            y, s = frozen(np.array([target])), frozen(np.array([weight]))
            rest = y, s, NO_ORDER, 0, 1, model.costs(model.labels), False, model.tend_at()
            state, bad = self._pass(model, run, copy_state(state), params, rows, *rest)
            if bad >= 0:
                raise inputs.bad_state()
            model.swap(state, params, model.labels, model.width)
            return
        state = self._with_room_for(self._with_gamma(model, state), params, 1, entries_when_scaled(state, rows))
        if state is not model.state:
            model.swap(state, params, model.labels, model.width)
        if not state.facts.shape[0]:
            super()._learn_row(model, row, target, weight)
            return
        if model.readers[0]:
            model.swap(copy_state(state), params, model.labels, model.width)
        if not learn_row_scaled(model, rows, target, weight):
            raise inputs.bad_state()

    def _known_target(self, model: Model, y: Any) -> float | None:
        """Never the short way: room has to be made before a row is learned."""
        return None

    def _score_rows(self, view: View, rows: Any, scores: np.ndarray) -> int:
        """A block of rows is scored together."""
        n = scores.shape[0]
        size = self._block_size(view.state, n)
        asked = only(member_of(view.state))
        for a in range(0, n, size):
            b = min(a + size, n)
            block = taken(rows, NO_ORDER, a, b)
            if view.state.facts.shape[0]:
                block, bad = scaled_rows(view.state, block, False)
                if bad >= 0:
                    return a + bad
            if callable(self.kernel):
                bad = called_scores(self.kernel, view.state, view.params, block, scores[a:b])
            else:
                bad = score(view.state, self._ahead(view.state, view.params, block, asked), block, scores[a:b])
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
            rows, bad = scaled_rows(state, rows, False)
        if bad < 0 and callable(self.kernel):
            bad = called_scores(self.kernel, state, params, rows, model.scores_row)
        elif bad < 0:
            bad = score(state, params, rows, model.scores_row)
        return float("nan") if bad >= 0 else float(model.scores_row[0, 0])

    def _begin_pass(self, model: Model, epoch: int) -> None:
        """Rows that come again do not tell which γ is best."""
        model.params = model.params._replace(counts=int(epoch == 0))

    def _settle(self, model: Model) -> None:
        """After the last pass rows are new again."""
        super()._settle(model)
        if not model.params.counts:
            model.swap(model.state, model.params._replace(counts=1), model.labels, model.width)

    # Rows that wait ---------------------------------------------------------------------------------------

    def _waits(self, model: Model) -> bool:
        return bool(model.state.marks[HELD]) and not model.params.sliding

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
        """The rows held, an array or a sparse matrix."""
        view, _ = self._support()
        if not view.params.keeps:
            raise AttributeError("With kernel='precomputed' there are no rows, only their numbers: see support_")
        return support_rows(view.state, view.n_features)

    @property
    def support_(self) -> np.ndarray:
        """How many rows had been seen before each support vector; with kernel="precomputed", their columns."""
        view, coef = self._support()
        numbers = view.state.born if view.params.keeps else view.state.column
        return np.array(numbers[: coef.shape[0]])

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients of the support vectors in the model that predicts."""
        return self._support()[1].T

    def _formula(self, view: View) -> Formula:
        """Kernel values of the support vectors, and their coefficients as weights."""
        return support_formula(self.kernel, view, gamma_of(view), predicting(view))

    def _explain(self, x: Any) -> tuple[Labels, list[Any], np.ndarray, np.ndarray]:
        """Scores are sums over support vectors, so these have the parts, by number, and not the features of the row."""
        with self._looking_at(x) as (view, row, _):
            state, params = view.state, view.params
            coef = predicting(view)
            if state.facts.shape[0]:
                row, _ = scaled_rows(state, row, False)
            if coef.shape[0] == 0:
                return view.labels, [], np.zeros((0, coef.shape[1])), np.zeros(coef.shape[1])
            sparse = not state.dense.shape[1]
            asked = as_matrix(row, view.width, sparse and bool(params.keeps))
            if not params.keeps:
                k = asked[:, state.column[: coef.shape[0]]]
            elif callable(self.kernel):
                k = called(self.kernel, asked, support_rows(state, view.width))
            else:
                with np.errstate(over="ignore"):
                    q = float((asked.multiply(asked) if sparse else asked * asked).sum())
                settings = params.kind, gamma_of(view, q), params.coef0, params.degree
                k = kernel_matrix(*settings, asked, support_rows(state, view.width))
            with np.errstate(over="ignore"):
                values = row.data if isinstance(row, CSR) else row
                if params.keeps and not callable(self.kernel) and not (values * values).sum() < HUGE:
                    coef = np.zeros_like(coef)  # as in scores: a row whose square is no float is far from all others
                parts, intercepts = finite(k[0][:, None] * coef), finite(params.bias * coef.sum(axis=0))
            return view.labels, list(range(coef.shape[0])), parts, intercepts
