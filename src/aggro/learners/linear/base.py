"""What linear learners share: which settings learn, and the weights as users see them."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from aggro.engine.rule import MISTAKES, SEEN, Rule, eights
from aggro.engine.steps import Step
from aggro.engine.user_steps import OwnStep, code_of, name_of, step_of
from aggro.learners.linear.bank import Bank, BankParams, Grid
from aggro.learners.linear.forgetting import REST, WEIGHTS, keep_of, mean_terms
from aggro.learners.linear.grid import Problem, members_table
from aggro.learners.linear.vector import LINE, Line, LineParams
from aggro.learners.shared.contract import LEARNS_FROM_ALL, NO_C, Contract, Setting
from aggro.learners.shared.learner import NONE
from aggro.learners.shared.model import Model, View
from aggro.learners.shared.params import Choice, Constraint, Either, Number, Numbers, StepChoice
from aggro.learners.shared.waiting_rows import WaitingRows
from aggro.learners.shared.weights import Weights

if TYPE_CHECKING:  # mini-batches and their solver are imported by who learns in groups
    from aggro.learners.linear.minibatch import GroupParams, Groups

POSITIVE = Number(0.0, open_low=True)
MAX_BATCH = 1024  # a group of B rows costs B³
LINEAR: dict[str, Constraint] = {
    "C": Either((POSITIVE, Choice(("auto",)), Numbers(POSITIVE))),
    "step": StepChoice(),
    "half_life": Either((POSITIVE, NONE)),
    "batch_size": Number(1, MAX_BATCH, integer=True),
    "window": Choice(("disjoint", "sliding")),
}
C_GRID = tuple(10.0 ** (k / 2) for k in range(-10, 6))  # C="auto": from 1e-5 to 316 in half decades


# Why some claims of the contract do not hold for a grid.
SEVERAL: dict[Setting, str] = {
    ("step", "auto"): "several steps learn, with and without a C or a hinge",
    ("C", "auto"): "the check sets C",
}


class Linear(WaitingRows, Weights):
    """The weights of linear models, as users see them."""

    C: Any
    step: str | OwnStep
    half_life: float | None
    batch_size: int
    window: str
    fit_intercept: bool
    average: bool
    contract: ClassVar[Contract] = Contract(
        exempt={
            "a weight scales C": {**NO_C, **SEVERAL},
            "a_row_without_loss_changes_no_bit": {
                **LEARNS_FROM_ALL,
                "half_life": "every row makes the weights fade",
                "batch_size": "a row is kept until its group is learned",
                **SEVERAL,
            },
        },
        tried=(
            {"C": "auto", "step": "auto"},
            {"C": "auto", "multi_class": "joint", "average": True},
            {"C": "auto", "average": True, "half_life": 20.0},
            {"half_life": 20.0},
            {"half_life": 20.0, "multi_class": "joint", "average": True},
            {"batch_size": 4, "average": True},
            {"batch_size": 4, "window": "sliding", "half_life": 20.0},
        ),
        apart=frozenset({"C", "window"}),
    )

    def _members(self) -> list[tuple[Step | OwnStep, float]]:
        """The steps and values of C that learn side by side."""
        steps: list[Step | OwnStep] = list(Step) if self.step == "auto" else [step_of(self.step)]
        values = C_GRID if isinstance(self.C, str) else np.atleast_1d(self.C).tolist()
        hard: list[tuple[Step | OwnStep, float]] = [(Step.PA, np.inf)] if Step.PA in steps else []  # has no C
        return hard + [(step, float(C)) for step in steps if step != Step.PA for C in values]

    def _is_grid(self) -> bool:
        return self.step == "auto" or not isinstance(self.C, Real)

    def _check_together(self) -> None:
        if self.batch_size == 1:
            return
        alone = f"batch_size={self.batch_size} learns with one step and one C"
        if self.step == "pa":
            raise ValueError(
                f"step='pa' cannot learn batch_size={self.batch_size} rows at once: rows may contradict each other, "
                "and then no weights are right about all of them. Use step='pa1' or 'pa2', with a large C if need be."
            )
        if self.step not in ("pa1", "pa2", "ls"):
            raise ValueError(f"{alone}, 'pa1', 'pa2' or 'ls'; got step={self.step!r}.")
        if not isinstance(self.C, Real):
            raise ValueError(f"{alone}, got C={self.C!r}. Give C as a number.")

    def _params(self, rule: Rule, problem: Problem, edge: float) -> LineParams | BankParams | GroupParams:
        bias, average, keep = float(self.fit_intercept), int(self.average), keep_of(self.half_life)
        members = self._members()
        if rule.hold is not None:  # it keeps the rows of a group
            from aggro.learners.linear.minibatch import GroupParams, group_code

            step, C = members[0]
            assert isinstance(step, Step)  # one's own was refused
            size, sliding, code = int(self.batch_size), int(self.window == "sliding"), group_code()
            return GroupParams(int(problem), int(step), C, edge, bias, average, keep, size, sliding, 0, code)
        if rule is LINE:
            step, C = members[0]
            return LineParams(int(problem == Problem.NUMBER), code_of(step), C, edge, bias, average, keep)
        table = members_table(members, edge, problem)
        span = table.shape[1] if self._is_grid() else 1
        own = code_of(members[-1][0]) if isinstance(members[-1][0], OwnStep) else 0
        return BankParams(int(problem), own, span, table, edge, bias, average, keep)

    def _waits(self, model: Model) -> bool:
        if isinstance(model.state, Line | Grid | Bank) or self.window == "sliding":
            return False
        from aggro.learners.linear.minibatch_step import HELD

        return bool(model.state.group.facts[HELD] > 0)

    def _learn_waiting(self, state: Groups, params: GroupParams) -> int:
        from aggro.learners.linear.minibatch import learn_waiting

        return int(learn_waiting(state, params))

    def _check_group(self, state: Line | Grid | Bank | Groups) -> None:
        size, sliding = 1, self.window == "sliding"
        joined = joint = getattr(self, "multi_class", "ovr") == "joint"
        if not isinstance(state, Line | Grid | Bank):
            from aggro.learners.linear.minibatch_step import JOINED, SLIDING

            size, facts = state.group.targets.shape[0], state.group.facts
            sliding, joined = bool(facts[SLIDING]), bool(facts[JOINED])
        if size != self.batch_size or (size > 1 and sliding != (self.window == "sliding")):
            raise ValueError(
                f"batch_size={self.batch_size!r} with window={self.window!r} is not what has learned so far. "
                "Set them back, or fit anew."
            )
        if joined != joint:
            raise ValueError("multi_class was set after learning in groups began. Set it back, or fit anew.")

    def _check_change(self, state: Line | Grid | Bank | Groups) -> None:
        self._check_group(state)
        weights, kept = (state.w, state.u) if isinstance(state, Line) else (state.W, state.U)
        if self.average and kept.shape[0] < weights.shape[0]:
            raise ValueError("average=True was set after learning began, and the iterates so far are gone. Fit anew.")
        if self.average and (self.half_life is None) != (state.scale[REST] == 1.0) and state.tally.rows[SEEN] > 0:
            raise ValueError(
                f"half_life={self.half_life!r} was set after learning began, and with average=True the mean of the "
                "iterates cannot follow. Set it back, or fit anew."
            )
        size = len(self._members()) if self._is_grid() else 0
        learned = grid_size(state) if isinstance(state, Grid | Bank) else 0
        if eights(size) != learned:
            raise ValueError(
                f"C={self.C!r} with step={self.step!r} is another grid of settings than the one that has learned so "
                "far. Set them back, or fit anew."
            )

    def _predicting(self, view: View, which: Any) -> tuple[np.ndarray, np.ndarray]:
        state, params = view.state, view.params
        if isinstance(state, Line):
            W, U, b = state.w[which, None], state.u[:, None], state.b
        elif isinstance(state, Grid | Bank):
            columns = slice(int(state.choice[0]), None, params.span)
            W, U, b = state.W[which, columns], state.U[:, columns], state.b[:, columns]
        else:
            W, U, b = state.W[which], state.U, state.b
        scale = state.scale[WEIGHTS]
        if not params.average or state.tally.rows[SEEN] == 0:
            return W * scale, b[0] * scale
        share, stretch = getattr(mean_terms, "py_func", mean_terms)(state, params)
        return (W - share * U[which]) * stretch, (b[0] - share * b[1]) * stretch

    # The grid of C="auto" ---------------------------------------------------------------------------

    @property
    def C_(self) -> float:
        """The C that predicts: the one that has suffered least, where several learn; infinite for ``pa``."""
        return self._predicting_member()[1]

    @property
    def step_(self) -> str:
        """The step that predicts, where several learn."""
        return name_of(self._predicting_member()[0])

    @property
    def grid_(self) -> np.ndarray:
        """What learns side by side: fields ``step``, ``C``, and the progressive ``loss`` and ``mistakes`` a row."""
        model = self._attribute()
        self._prepare(model)
        members = self._members()
        fields = [("step", object), ("C", np.float64), ("loss", np.float64), ("mistakes", np.float64)]
        table = np.zeros(len(members), fields)
        table["step"] = [name_of(step) for step, _ in members]
        table["C"] = [C for _, C in members]
        with model.reading() as view:
            state = view.state
            if self._is_grid():
                table["loss"], table["mistakes"] = state.suffered[:, : len(members)] / max(state.weight[0], 1e-300)
            else:
                rows = max(state.tally.rows[SEEN], 1)
                table["loss"], table["mistakes"] = state.tally.loss[0] / rows, state.tally.rows[MISTAKES] / rows
        return table

    def _predicting_member(self) -> tuple[Step | OwnStep, float]:
        model = self._attribute()
        self._prepare(model)
        state = model.state
        return self._members()[int(state.choice[0]) if isinstance(state, Grid | Bank) else 0]


def group_rule() -> Rule:
    """The rule of mini-batches, which is imported with its solver when it is asked for."""
    from aggro.learners.linear.minibatch import GROUPS

    return GROUPS


def grid_size(state: Grid | Bank) -> int:
    """How many members learn in this state, in whole eights; 0 for a single one."""
    classes = state.tally.classes.shape[0] if isinstance(state, Bank) else 1
    span = state.W.shape[1] // classes
    return span if span > 1 else 0
