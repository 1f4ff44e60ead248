"""The settings of kernel learners: what they may be, which of them exclude each other, what a state can follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from aggro.engine.jit.compile import BY_ADDRESS
from aggro.engine.kernel_functions import Kernel
from aggro.engine.rule import Rule, seen
from aggro.engine.steps import Step
from aggro.learners.base.contract import LEARNS_FROM_ALL, NO_C, Contract
from aggro.learners.base.learner import COMMON, NONE
from aggro.learners.base.params import POSITIVE, Choice, Constraint, Either, Flag, Kind, Number, Numbers
from aggro.learners.base.scaled import SCALE_PARAMETER, is_of, mode_of
from aggro.learners.base.waiting_rows import WaitingRows
from aggro.learners.kernel.budget import Policy
from aggro.learners.kernel.members import GAMMA_FACTORS, MOST_MEMBERS, members_table
from aggro.learners.kernel.methods import Method, method_code
from aggro.learners.kernel.minibatch import kernel_group_code
from aggro.learners.kernel.rule import EXPANSION, KernelParams
from aggro.learners.kernel.support_set import (
    COUNT,
    NUMBER_TASK,
    OUTLIER_TASK,
    ROW_NORM,
    ROW_WIDTH,
    SLIDING_HELD,
    WEIGHTED,
    Support,
)
from aggro.learners.model.model import Model

MOST_PROJECTED = 2**14
MAX_BATCH = 1024  # a group of B rows costs B³
KERNEL_NAMES = ("linear", "poly", "rbf", "sigmoid", "cosine")
WITH_GAMMA = ("rbf", "poly", "sigmoid")
SINGLE_CANDIDATE = members_table((1.0,))


def kernel_among(words: tuple[str, ...]) -> Constraint:
    """A kernel by its name, or a function."""
    return Either((Choice(words), Kind(Callable, "a function of two matrices")))  # type: ignore[arg-type]


KERNEL_PARAMETERS: dict[str, Constraint] = {
    "C": POSITIVE,
    "kernel": kernel_among((*KERNEL_NAMES, "precomputed")),
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
PREDICTION_PARAMETERS: dict[str, Constraint] = {
    **KERNEL_PARAMETERS,
    "gamma": Either((Choice(("auto",)), POSITIVE, Numbers(POSITIVE))),
    "average": Either((Flag(), Choice(("auto",)))),
    "scale": SCALE_PARAMETER,
}


class KernelSettings(WaitingRows):
    """The settings of a learner whose scores are sums of a kernel over the rows that it keeps."""

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
    robust: bool = False  # only of a centre; also of files and pickles that are older than this parameter
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

    def _rule_for(self, classes: int) -> Rule:
        """One rule for any number of classes."""
        return EXPANSION

    def _params_for(self, rule: Rule) -> KernelParams:
        # A radius of 0 stands for one that is learned, a γ of 0 for one that the stream sets.
        edge = getattr(self, self._edge)
        gamma, multiples = self._gammas()
        return KernelParams(
            task=self._task,
            step=int(Step[self.step.upper()]),
            C=float(self.C),
            edge=0.0 if edge == "auto" else float(edge),
            nu=float(getattr(self, "nu", 0.0)),
            robust=int(self.robust),
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
            # These are filled in later, for a model or for a block of rows.
            code=0,
            seed=0,
            covered=0,
            ahead=np.empty((0, 0)),
            own=np.empty(0, np.int64),
            squared=int(self._task == NUMBER_TASK and self.step in ("pa2", "ls")),
        )

    def _policy(self) -> Policy:
        """What makes room in the budget."""
        return Policy[self.budget_policy.upper()]

    def _spare(self) -> bool:
        """Whether a row is let go of after one was taken, and not before."""
        return self._task == OUTLIER_TASK

    def _gammas(self) -> tuple[float, tuple[float, ...]]:
        """γ, or 0.0 where the stream says it, and what multiples of it learn side by side."""
        if self.gamma == "auto":
            return 0.0, GAMMA_FACTORS if self._may_have_several() else (1.0,)
        # The smallest γ is the base, so that all multiples are at least 1.
        if isinstance(self.gamma, list | tuple):
            least = float(min(self.gamma))
            return least, tuple(float(gamma) / least for gamma in self.gamma)
        return float(self.gamma), (1.0,)

    def _may_have_several(self) -> bool:
        """Whether several γ can learn side by side."""
        # Groups and the inverse keep kernel values, and those would be of one γ.
        projects = self.budget is not None and self.budget_policy == "project"
        return self._task != OUTLIER_TASK and self.kernel == "rbf" and self.batch_size == 1 and not projects

    def _scale(self) -> int:
        """How rows are scaled; a given matrix has none."""
        if self.kernel == "precomputed":
            return 0
        return mode_of(self.scale, self.fit_intercept == "auto" or bool(self.fit_intercept))

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
                f"gamma={self.gamma!r} of {type(self).__name__} asks for several γ in parallel, which needs "
                "kernel='rbf', no mini-batches, and a budget_policy other than 'project'. Set gamma to one of them, or "
                "to 'auto'."
            )
        if isinstance(self.gamma, list | tuple) and len(self.gamma) > MOST_MEMBERS:
            raise ValueError(f"{type(self).__name__} takes at most {MOST_MEMBERS} γ. Got {len(self.gamma)}.")
        if self.batch_size > 1:
            self._check_batch(type(self).__name__)
        if self.budget is not None:
            self._check_budget(type(self).__name__, self.budget)

    def _check_batch(self, owner: str) -> None:
        """Refuse settings that do not go with mini-batches."""
        # Without slack the problem of a group may have no solution at all.
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
        # The problem of a group is concave only if the kernel matrix has no negative eigenvalue.
        if self.kernel == "sigmoid":
            raise ValueError(
                f"batch_size={self.batch_size} of {owner} needs a kernel that is an inner product, and 'sigmoid' is "
                "none. Choose another kernel."
            )

    def _check_budget(self, owner: str, budget: int) -> None:
        """Refuse settings that do not go with a budget."""
        if self.average and self._task == OUTLIER_TASK:
            raise ValueError(
                f"{owner} cannot have both average=True and a budget: the mean of all centres needs the support "
                "vectors that the budget has let go. Set one of them only."
            )
        if self.budget_policy == "merge" and self._is_given():
            raise ValueError(
                f"budget_policy='merge' of {owner} makes new rows between two, of which compiled code needs the "
                f"kernel: it must be one of {', '.join(map(repr, KERNEL_NAMES))}. Got {self.kernel!r}. "
                "Choose another policy."
            )
        # A projection minimises a norm, and only an inner product has one.
        if self.budget_policy == "project" and self.kernel == "sigmoid":
            raise ValueError(
                f"budget_policy='project' of {owner} needs a kernel that is an inner product, and 'sigmoid' is none. "
                "Choose another policy."
            )
        # Memory and time of the inverse grow with the square of the budget.
        if self.budget_policy == "project" and budget > MOST_PROJECTED:
            raise ValueError(
                f"budget_policy='project' of {owner} keeps a matrix of budget × budget numbers, and takes at most "
                f"budget={MOST_PROJECTED}. Got {budget}. Choose another policy, such as 'merge'."
            )

    def _check_change(self, state: Support) -> None:
        """What is kept depends on most of the settings, and cannot be made up later."""
        # The lag of the average starts with the first row; it cannot be made up later.
        if self.average and not state.late.shape[0]:
            raise ValueError(
                "average=True was set after learning began, and the iterates so far are gone. Call fit to start over."
            )
        if self.average and (self.average == "auto") != (state.recent.shape[0] > 0):
            raise ValueError(
                f"average={self.average!r} was set after learning began, but this model keeps another kind of "
                "mean. Set it back, or call fit to start over."
            )
        if self.robust and not state.inner.shape[0]:
            raise ValueError(
                "robust=True was set after learning began, and the distances so far are gone. Call fit to start over."
            )
        # A given matrix has no features to scale, whatever the parameter says.
        scale = None if self.kernel == "precomputed" else self.scale
        if not is_of(int(state.facts[0]) if state.facts.shape[0] else 0, scale):
            raise ValueError(
                f"scale={self.scale!r} is not the setting that this model learned with. Set it back, or call fit to "
                "start over."
            )
        self._check_gamma(state)
        # Rows that were not kept are gone, and rows that were kept have no columns in a matrix.
        rows_kept = state.dense.shape[1] > 0 or state.spans.shape[0] > 0
        if rows_kept == (self.kernel == "precomputed"):
            raise ValueError(
                f"kernel={self.kernel!r} was set after learning began. A model cannot switch between rows and a "
                "precomputed matrix. Set it back, or call fit to start over."
            )
        count = int(state.marks[COUNT])
        if self.budget is not None and count > self.budget:
            raise ValueError(
                f"budget={self.budget} was set after learning began, and there are {count} support vectors. "
                "Set a larger one, or call fit to start over."
            )
        # The rows of a group wait in arrays of its size, and disjoint and sliding groups keep different rows there.
        batch = self.batch_size if self.batch_size > 1 else 0
        if state.gram.shape[0] != batch or (batch and state.marks[SLIDING_HELD] != (self.window == "sliding")):
            raise ValueError(
                f"batch_size={self.batch_size!r} with window={self.window!r} is not the setting that this model "
                "learned with. Set them back, or call fit to start over."
            )
        # The inverse is built up row by row from the first one on.
        projects = self.budget is not None and self.budget_policy == "project"
        if projects != (state.inverse.shape[0] > 0):
            raise ValueError(
                "budget_policy='project' and its budget must be set before the first row. Set them back, or call "
                "fit to start over."
            )

    def _check_gamma(self, state: Support) -> None:
        """Refuse other γ than a state can follow."""
        # One counter for each member, since the first row.
        members, several = state.losses.shape[0], len(self._gammas()[1])
        unset = self.gamma == "auto" and not state.gamma[0]
        if members and members != several:
            said = f"{members} values of γ have learned in parallel so far"
        # A model with one γ has coefficients for one member only.
        elif not members and several > 1 and not (self.gamma == "auto" and state.gamma[0]) and seen(state):
            said = "one γ has learned so far"
        elif unset and not members and self.kernel in WITH_GAMMA and state.norms[:, ROW_NORM].any():
            said = "another γ has learned so far"
        else:
            return
        raise ValueError(
            f"gamma={self.gamma!r} was set after learning began: {said}. Set it back, or call fit to start over."
        )

    def _bound(self, model: Model, params: KernelParams) -> KernelParams:
        """Budgets need a seed, and mini-batches the address of their code; a file may be of another width."""
        if int(model.state.marks[ROW_WIDTH]) != model.width:
            raise ValueError(f"its support vectors have {model.state.marks[ROW_WIDTH]} features, and not {model.width}")
        model.in_python = model.state.facts.shape[0] > 0
        if not model.state.losses.shape[0] and params.members.shape[1] > 1:  # of a version that had one γ
            params = params._replace(members=SINGLE_CANDIDATE)
        # Where there are no addresses, what might be jumped to must be known, whether it is or not.
        code = kernel_group_code(model.state, params) if params.batch > 1 or not BY_ADDRESS else 0
        if params.method or not BY_ADDRESS:
            method_at = method_code(model.state, params)
            code = method_at if params.method else code
        return params._replace(seed=int(np.uint64(model.seed).astype(np.int64)), code=code)
