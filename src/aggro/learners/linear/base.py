"""The base of linear learners: the candidates that learn, and the weights as users see them."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from aggro.engine.rule import MISTAKES, SEEN, Rule, eights
from aggro.engine.steps import PASSIVE_AGGRESSIVE, Step
from aggro.engine.user_steps import OwnStep, code_of, name_of, step_of
from aggro.learners.base.contract import LEARNS_FROM_ALL, NO_C, Contract, Setting
from aggro.learners.base.learner import NONE
from aggro.learners.base.mapped import MAP_PARAMETERS
from aggro.learners.base.params import POSITIVE, Choice, Constraint, Either, FlagOr, Number, Numbers, StepChoice
from aggro.learners.base.prepared_weights import PreparedWeights
from aggro.learners.base.scaled import SCALE_PARAMETER, mode_of, scales_features
from aggro.learners.base.waiting_rows import WaitingRows
from aggro.learners.linear.bank import Bank, BankParams, Grid
from aggro.learners.linear.forgetting import (
    CHOSEN_MEAN,
    CHOSEN_SLIDING,
    HALF_LIVES,
    JUDGED,
    LAST_ONE,
    PLAIN_MEAN,
    SLIDING_REST,
    WEIGHTS_SCALE,
    keep_of,
    kinds_judged,
    terms_of,
)
from aggro.learners.linear.grid import Problem, is_squared, members_table
from aggro.learners.linear.scaled import BANKS, GRIDS, LINE_STATES, mapped_rule, plain_rule, scaled_rule
from aggro.learners.linear.vector import LINE, LineParams
from aggro.learners.model.model import Model, View

if TYPE_CHECKING:  # mini-batches and their solver are imported by who learns in groups
    from aggro.learners.linear.minibatch import GroupParams, Groups

AVERAGE = FlagOr(("auto",))
MAX_BATCH = 1024  # a group of B rows costs B³
LINEAR_PARAMETERS: dict[str, Constraint] = {
    "C": Either((POSITIVE, Choice(("auto",)), Numbers(POSITIVE))),
    "step": StepChoice(),
    "half_life": Either((POSITIVE, NONE, Choice(("auto",)))),
    "batch_size": Number(1, MAX_BATCH, integer=True),
    "window": Choice(("disjoint", "sliding")),
    "scale": SCALE_PARAMETER,
    **MAP_PARAMETERS,
}
ROW_BY_ROW, SEVERAL_STATES = LINE_STATES + GRIDS + BANKS, GRIDS + BANKS


def c_grid(scaled: bool, mapped: bool = False) -> tuple[float, ...]:
    """The values of C="auto", in half decades: from 1e-5 to 316; 3e-4 to 1 for rows that were scaled.

    Mapped rows have a norm of 1 at most, and not one that grows with their features: 0.01 to 32.
    """
    return tuple(10.0 ** (k / 2) for k in (range(-4, 4) if mapped else range(-7, 1) if scaled else range(-10, 6)))


ONE_C = 1.0  # C="auto" of mini-batches, which learn with one

SCALED: dict[Setting, str] = {("scale", mode): "every row counts for the scale" for mode in ("auto", "standard", "rms")}
# Why some claims of the contract do not hold for a grid.
SEVERAL: dict[Setting, str] = {
    ("step", "auto"): "several steps learn, with and without a C or a hinge",
    ("C", "auto"): "the check sets C",
}


class Linear(WaitingRows, PreparedWeights):
    """The weights of linear models, as users see them."""

    C: Any
    step: str | OwnStep
    half_life: float | str | None
    batch_size: int
    window: str
    fit_intercept: bool
    average: bool | str
    contract: ClassVar[Contract] = Contract(
        exempt={
            "a weight scales C": {**NO_C, **SEVERAL},
            "a_row_without_loss_changes_no_bit": {
                **LEARNS_FROM_ALL,
                "half_life": "every row makes the weights fade",
                ("average", "auto"): "every row is judged, and the judgements before it fade",
                "batch_size": "a row is kept until its group is learned",
                "features": "every row counts for the map",
                **SCALED,
                **SEVERAL,
            },
        },
        tried=(
            {"C": "auto", "step": "auto"},
            {"C": "auto", "multi_class": "joint", "average": True},
            {"C": "auto", "average": True, "half_life": 20.0},
            {"half_life": 20.0},
            {"half_life": 20.0, "multi_class": "joint", "average": True},
            {"average": "auto"},
            {"C": "auto", "half_life": "auto"},
            {"C": [0.1, 1.0], "half_life": "auto", "multi_class": "joint"},
            {"scale": "auto"},
            {"scale": "rms", "C": "auto", "average": True},
            {"scale": "standard", "multi_class": "joint"},
            {"batch_size": 4, "average": True},
            {"batch_size": 4, "window": "sliding", "half_life": 20.0},
            {"batch_size": 4, "scale": "auto"},
            {"features": "fourier", "n_components": 24, "scale": "auto"},
            {"features": "nystroem", "n_components": 9, "gamma": 0.5, "C": [0.1, 1.0]},
        ),
        plain={"C": 1.0, "average": False, "scale": None, "multi_class": "ovr"},
        apart=frozenset({"C", "window", "half_life", "gamma"}),
    )

    def _members(self) -> list[tuple[Step | OwnStep, float]]:
        """The candidates: steps and values of C that learn in parallel."""
        steps: list[Step | OwnStep] = list(PASSIVE_AGGRESSIVE) if self.step == "auto" else [step_of(self.step)]
        # The values of C that compete depend on the units of the rows: scaled, mapped, or as they come.
        if isinstance(self.C, str):
            grid = c_grid(scales_features(self.scale), self.features is not None)
            # A mini-batch learns with one C.
            values = list(grid) if self.batch_size == 1 else [ONE_C]
        else:
            values = np.atleast_1d(self.C).tolist()
        # Hard steps have no C, so the grid has one of them and not one for each C.
        hard: list[tuple[Step | OwnStep, float]] = [(Step.PA, np.inf)] if Step.PA in steps else []  # has no C
        return hard + [(step, float(C)) for step in steps if step != Step.PA for C in values]

    def _is_grid(self) -> bool:
        if self.batch_size > 1:
            return False
        several = isinstance(self.C, str) or len(np.atleast_1d(self.C)) > 1  # a list of one C is that C
        return self.step == "auto" or several or self._averaging() >= CHOSEN_MEAN

    def _averaging(self) -> int:
        """Which iterate predicts, as the number that compiled code reads (``learners.linear.forgetting``)."""
        if isinstance(self.half_life, str):
            # Words choose among iterates: sliding means beside the others, or the last one and the mean.
            return CHOSEN_SLIDING
        if isinstance(self.average, str) and self.batch_size == 1:
            return CHOSEN_MEAN
        return PLAIN_MEAN if self.average else LAST_ONE

    def _half_life(self) -> float | None:
        """The half-life as a number; None if there is none, or if it is "auto"."""
        return None if isinstance(self.half_life, str) else self.half_life

    def _check_together(self) -> None:
        # Everything below is about groups of rows.
        if self.batch_size == 1:
            return
        alone = f"batch_size={self.batch_size} learns with one step and one C"
        if self.features is not None:
            raise ValueError(
                f"batch_size={self.batch_size} learns rows as they come: leave features out, got {self.features!r}."
            )
        if self.step == "pa":
            raise ValueError(
                f"step='pa' cannot learn batch_size={self.batch_size} rows at once: rows may contradict each other, "
                "and then no weights are right about all of them. Use step='pa1' or 'pa2', with a large C if need be."
            )
        # Other steps have no problem of several rows that the solver could take.
        if self.step not in ("pa1", "pa2", "ls"):
            raise ValueError(f"{alone}, 'pa1', 'pa2' or 'ls'; got step={self.step!r}.")
        if not isinstance(self.C, Real | str):
            raise ValueError(f"{alone}, got C={self.C!r}. Give C as a number.")
        if isinstance(self.half_life, str):
            raise ValueError(f"{alone}, and one iterate predicts; got half_life={self.half_life!r}.")

    def _params(self, rule: Rule, problem: Problem, edge: float) -> LineParams | BankParams | GroupParams:
        bias, average, keep = float(self.fit_intercept), self._averaging(), keep_of(self._half_life())
        members, scale, mapping = self._members(), self._mode(), self._map()
        squared = int(is_squared(members, problem))
        if rule.hold is not None:  # it keeps the rows of a group
            from aggro.learners.linear.minibatch import GroupParams, group_code

            # A mini-batch has one member: ``_check_together`` has refused all else.
            step, C = members[0]
            assert isinstance(step, Step)  # one's own was refused
            kind: Any = rule.state
            size, sliding, code = int(self.batch_size), int(self.window == "sliding"), group_code(kind)
            rest = size, sliding, 0, code, scale, squared
            return GroupParams(int(problem), int(step), C, edge, bias, average, keep, *rest)
        # One setting and one problem: no table of members.
        if plain_rule(rule) is LINE:
            step, C = members[0]
            number = int(problem == Problem.NUMBER)
            chosen, own = code_of(step)
            return LineParams(number, chosen, C, edge, bias, average, keep, scale, mapping, squared, own)
        table = members_table(members, edge, problem)
        # A column for each member if they compete; otherwise one per problem, and the table alone is padded.
        span = table.shape[1] if self._is_grid() else 1
        chosen, own = code_of(members[-1][0]) if isinstance(members[-1][0], OwnStep) else (0, 0)
        # Which iterate is best may change with the stream, so that judgements of iterates always fade.
        judged = keep_of(JUDGED) if average >= CHOSEN_MEAN else keep
        preparation = squared, scale, mapping, own
        return BankParams(int(problem), chosen, span, table, edge, bias, average, keep, judged, *preparation)

    def _rule(self, rule: Rule) -> Rule:
        """The version of a rule for mapped rows, for scaled rows, or the rule itself, as the parameters say."""
        if self.features is not None:
            return mapped_rule(rule)
        return scaled_rule(rule) if mode_of(self.scale) else rule

    def _waits(self, model: Model) -> bool:
        if isinstance(model.state, ROW_BY_ROW) or self.window == "sliding":
            return False
        from aggro.learners.linear.minibatch_step import ROWS_HELD

        return bool(model.state.group.facts[ROWS_HELD] > 0)

    def _learn_waiting(self, state: Groups, params: GroupParams) -> int:
        from aggro.learners.linear.minibatch import learn_waiting

        return int(learn_waiting(state, params))

    def _check_group(self, state: Any) -> None:
        # A state that learns row by row has the settings of groups at their defaults.
        size, sliding = 1, self.window == "sliding"
        joined = joint = getattr(self, "multi_class", "ovr") == "joint"
        if not isinstance(state, ROW_BY_ROW):
            from aggro.learners.linear.minibatch_step import ROWS_JOINED, SLIDING_MEAN

            size, facts = state.group.targets.shape[0], state.group.facts
            sliding, joined = bool(facts[SLIDING_MEAN]), bool(facts[ROWS_JOINED])
        if size != self.batch_size or (size > 1 and sliding != (self.window == "sliding")):
            raise ValueError(
                f"batch_size={self.batch_size!r} with window={self.window!r} is not the setting that this model "
                "learned with. Set them back, or call fit to start over."
            )
        if joined != joint:
            raise ValueError(
                "multi_class was set after learning in mini-batches began. Set it back, or call fit to start over."
            )

    def _check_change(self, state: Any) -> None:
        self._check_group(state)
        self._check_preparation(state)
        # Words and switches may be set while a model learns, unless the state lacks what they need.
        weights, kept = (state.w, state.u) if isinstance(state, LINE_STATES) else (state.W, state.U)
        averaging, half_life = self._averaging(), self._half_life()
        # The lag cannot be made up later: it sums over all moves.
        if averaging and kept.shape[0] < weights.shape[0]:
            raise ValueError(
                f"average={self.average!r} was set after learning began, and the iterates so far are gone. Call fit "
                "to start over."
            )
        # ρ^T = 1 says that the mean never slid: a mean of all and one that slides have different lags.
        if averaging and (half_life is None) != (state.scale[SLIDING_REST] == 1.0) and state.tally.rows[SEEN] > 0:
            raise ValueError(
                f"half_life={self.half_life!r} was set after learning began, and with average={self.average!r} the "
                "mean of the iterates cannot follow. Set it back, or call fit to start over."
            )
        # The members are columns of the state, which cannot be added later.
        size = len(self._members()) if self._is_grid() else 0
        learned = grid_size(state) if isinstance(state, SEVERAL_STATES) else 0
        if eights(size) != learned:
            raise ValueError(
                f"C={self.C!r} with step={self.step!r} is not the grid of settings that this model "
                "learned with. Set them back, or call fit to start over."
            )
        # Each kind of iterate has its own judgements, and sliding means their own lags.
        if kinds_judged(averaging) != (kinds_of(state) if isinstance(state, SEVERAL_STATES) else 1):
            raise ValueError(
                f"average={self.average!r} with half_life={self.half_life!r} needs other means than "
                "this model keeps. Set them back, or call fit to start over."
            )

    def _learned(self, view: View, which: Any) -> tuple[np.ndarray, np.ndarray]:
        """The weights of these features (features, scores) and the intercepts, in the units of the state."""
        state, params = view.state, view.params
        # The kind of iterate: 0 the last, k the mean of lag k − 1.
        kind = 1 if params.average else 0
        if isinstance(state, LINE_STATES):
            W, U, b = state.w[which, None], state.u[:, None], state.b
        elif isinstance(state, SEVERAL_STATES):
            # Columns k·span + member, one for each problem k; in U a feature's lags follow one another.
            kind, member = predicting(state, params)
            columns, lags = slice(member, None, params.span), state.b.shape[0] - 1
            W, U, b = state.W[which, columns], state.U[max(kind - 1, 0) :: lags, columns], state.b[:, columns]
        else:
            W, U, b = state.W[which], state.U, state.b
        scale = state.scale[WEIGHTS_SCALE]
        # Before the first row there is no mean.
        if not kind or state.tally.rows[SEEN] == 0:
            return W * scale, b[0] * scale
        # The mean is (w − αu)β.
        share, stretch = terms_of(state, params, np.uint64(kind - 1))
        return (W - share * U[which]) * stretch, (b[0] - share * b[kind]) * stretch

    # The grid of C="auto" ---------------------------------------------------------------------------

    @property
    def C_(self) -> float:
        """The C of the candidate that makes the predictions: the best so far; infinite for ``pa``."""
        return self._predicting_member()[1]

    @property
    def step_(self) -> str:
        """The step of the candidate that makes the predictions."""
        return name_of(self._predicting_member()[0])

    @property
    def average_(self) -> bool:
        """Whether a mean of the iterates makes the predictions; with ``average="auto"``, the best so far."""
        return self._predicting_iterate()[0]

    @property
    def half_life_(self) -> float | None:
        """The half-life of the iterate that makes the predictions; None if it does not forget."""
        return self._predicting_iterate()[1]

    @property
    def grid_(self) -> np.ndarray:
        """The candidates that learn in parallel: fields ``step``, ``C``, ``iterate``, mean ``loss`` and ``mistakes``.

        There is a row for each candidate. The iterate is "last", "mean", or "mean of" a half-life in rows. Losses and
        mistakes are progressive; old ones fade where there is a half-life, or where it is found out which iterate
        predicts.
        """
        model = self._attribute()
        self._prepare(model)
        members, iterates = self._members(), self._iterates()
        fields = [("step", object), ("C", np.float64), ("iterate", object), ("loss", np.float64)]
        table = np.zeros((len(iterates), len(members)), [*fields, ("mistakes", np.float64)])
        table["step"] = [name_of(step) for step, _ in members]
        table["C"] = [C for _, C in members]
        table["iterate"] = [[called(*iterate)] for iterate in iterates]
        # The totals of one moment: no row is learned in place meanwhile.
        with model.reading() as view:
            state = view.state
            if self._is_grid():
                # Padded members are left out.
                suffered = state.suffered.reshape(2, len(iterates), -1)[:, :, : len(members)]
                table["loss"], table["mistakes"] = suffered / max(state.weight[0], 1e-300)
            else:
                # Without a grid, the pass has counted what there is to say.
                rows = max(state.tally.rows[SEEN], 1)
                table["loss"], table["mistakes"] = state.tally.loss[0] / rows, state.tally.rows[MISTAKES] / rows
        return table.reshape(-1)

    def _iterates(self) -> list[tuple[bool, float | None]]:
        """The kinds of iterates that may predict: for each, whether it is a mean, and its half-life."""
        averaging, half_life = self._averaging(), self._half_life()
        if averaging < CHOSEN_MEAN:
            return [(averaging == PLAIN_MEAN, half_life)]
        sliding: list[tuple[bool, float | None]] = [(True, h) for h in HALF_LIVES]
        return [(False, None), (True, half_life), *(sliding if averaging == CHOSEN_SLIDING else [])]

    def _predicting_iterate(self) -> tuple[bool, float | None]:
        model = self._attribute()
        self._prepare(model)
        chosen = self._averaging() >= CHOSEN_MEAN
        return self._iterates()[predicting(model.state, model.params)[0] if chosen else 0]

    def _predicting_member(self) -> tuple[Step | OwnStep, float]:
        model = self._attribute()
        self._prepare(model)
        state = model.state
        return self._members()[predicting(state, model.params)[1] if isinstance(state, SEVERAL_STATES) else 0]


def called(mean: bool, half_life: float | None) -> str:
    """The name of an iterate: "last", "mean", or "mean of" its half-life."""
    if not mean:
        return "last"
    return "mean" if half_life is None else f"mean of {half_life:g}"


def predicting(state: Grid | Bank, params: BankParams) -> tuple[int, int]:
    """The selected candidate: its kind of iterate, 0 for the last, and its member."""
    if params.average < CHOSEN_MEAN:
        return int(params.average), int(state.choice[0])
    kind, member = divmod(int(state.choice[0]), params.span)
    return kind, member


def kinds_of(state: Grid | Bank) -> int:
    """The number of iterates of each member that compete in this state."""
    span = grid_size(state)
    return state.suffered.shape[1] // span if span else 1


def group_rule() -> Rule:
    """The rule of mini-batches; it is imported when it is needed, since its solver is."""
    from aggro.learners.linear.minibatch import GROUPS

    return GROUPS


def grid_size(state: Grid | Bank) -> int:
    """The number of members in this state, in whole eights; 0 for a single one."""
    classes = state.tally.classes.shape[0] if isinstance(state, BANKS) else 1
    span = state.W.shape[1] // classes
    return span if span > 1 else 0
