"""What the two voting learners share: passes over rows, and the vote.

Rows go to the candidates in stretches whose ends depend on the number of rows seen alone. Weights, and whether a
candidate votes, rests or steps aside, follow at the end of a stretch from what the candidates themselves count row by
row. So a vote is the same however its stream is chunked, to the bit.
"""

from __future__ import annotations

import copy
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aggro.engine.monitor.drift import RECENT_ROWS
from aggro.engine.random import permutation
from aggro.engine.rows import CSR
from aggro.engine.rule import SEEN, Tally, copy_state
from aggro.learners.auto.candidates import (
    RESTS,
    STANDS_ASIDE,
    VOTES,
    Candidate,
    as_matrix,
    can_be_bent,
    has_slopes,
    spelled,
)
from aggro.learners.auto.counting import STRETCH, add_drift, add_rows, begins_stretch, to_stretch_end
from aggro.learners.auto.hinges import Hinges
from aggro.learners.auto.state import CHANGES, LEADER, N_ENTRIES, N_USED, VOTE, VoteModel, VoteParams, VoteState
from aggro.learners.auto.vote import EVERY, hopeless, weights_of
from aggro.learners.base import inputs
from aggro.learners.base.formula import Formula, NoFormula
from aggro.learners.base.inside import begin_pass, task_of
from aggro.learners.base.learner import COMMON, Learner
from aggro.learners.base.one_row import Explanation
from aggro.learners.base.params import Choice, Constraint, Either, Flag, Kind
from aggro.learners.model.features import Features
from aggro.learners.model.labels import NO_LABELS, Labels
from aggro.learners.model.model import NO_ORDER, NO_WEIGHTS, Model, View
from aggro.learners.model.row_blocks import taken

REVIEW = 1024  # rows between two looks at how candidates stand
REST_ROWS = 256  # rows of its own, by which a candidate that rests may show that it is better now
WIDE_FROM, SPARSE_BELOW = (
    2000,
    0.1,
)  # rows with so many columns, of which fewer than this share have an entry, are for linear ones


STANDS = ("votes", "rests", "aside")


class Learners:
    """A constraint: a list of learners, or None."""

    def accepts(self, value: Any) -> bool:
        if value is None:
            return True
        return isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(one, Learner) for one in value)

    def __str__(self) -> str:
        return "a list of learners of aggro or None"


class Standing(NamedTuple):
    """How one candidate stands."""

    learner: str
    weight: float  # of its vote
    recent_error: float  # the share of mistakes in its last thousand rows or so; of regressors the mean loss
    microseconds: float  # that it took for a row, asked and learned, in this process
    stands: str  # "votes", "rests" or "aside"


AUTO_CONSTRAINTS: dict[str, Constraint] = {
    "estimators": Learners(),
    "hinges": Flag(),
    "scale": Either((Choice(("auto", "target")), Kind(None, "None"))),
    "max_iter": COMMON["max_iter"],
    "shuffle": Either((Flag(), Choice(("auto",)))),
}


class Auto(Learner):
    """A learner that asks several others, and weighs their answers by how often they erred recently."""

    estimators: Any
    hinges: bool
    scale: str | None
    max_iter: int | str
    shuffle: bool | str
    _task: ClassVar[str]

    # What classifiers and regressors add -------------------------------------------------------------

    def _plain(self, targets: np.ndarray) -> np.ndarray:
        """Targets as the candidates take them: numbers of classes, or numbers."""
        return targets

    def _default_learners(self) -> list[Learner]:
        """The candidates where none are given."""
        raise NotImplementedError

    def _answers(self, candidate: Candidate, X: Any, columns: int) -> np.ndarray:
        """What one candidate says of rows: shares of classes, or numbers."""
        raise NotImplementedError

    def _count_targets(self, tally: Tally, targets: np.ndarray) -> None:
        """Count the classes of rows."""

    # The model ------------------------------------------------------------------------------------

    def _rule_for(self, classes: int) -> Any:
        return VOTE

    def _params_for(self, rule: Any) -> VoteParams:
        return VoteParams(self._count())

    def _bound(self, model: Model, params: Any) -> Any:
        return params._replace(model=model)

    def _check_together(self) -> None:
        for learner in self.estimators or ():
            if task_of(learner) != self._task:
                raise ValueError(
                    f"The candidates of {type(self).__name__} must be for {self._task}, got {learner!r}, which is for "
                    f"{task_of(learner)}."
                )
            if isinstance(learner, Auto):
                raise ValueError(f"A candidate cannot be a vote itself, got {learner!r}. List its candidates instead.")
            if learner.__dict__.get("kernel") == "precomputed":
                raise ValueError("A candidate cannot have kernel='precomputed': the others need rows with features.")
            learner._check_params()

    def _check_change(self, state: VoteState) -> None:
        # The number of candidates is the size of arrays of the state.
        if state.standing.shape[0] != self._count():
            raise ValueError(
                f"{type(self).__name__} has learned with {state.standing.shape[0]} candidates. Call fit, or make a new "
                "one, to begin with others."
            )

    def _least(self) -> float:
        return max((learner._least() for learner in self.estimators or ()), default=-np.inf)

    def _learners(self) -> list[Learner]:
        """The learners as they are given; not copied."""
        return list(self.estimators) if self.estimators is not None else self._default_learners()

    def _count(self) -> int:
        """How many candidates there are, twins with hinges among them."""
        learners = self._learners()
        return len(learners) + (sum(map(can_be_bent, learners)) if self.hinges else 0)

    def _candidates(self, seed: int) -> list[Candidate]:
        """The candidates before they have learned anything."""
        candidates = []
        for learner in self._learners():
            steep = bool(self.__dict__.get("slopes")) and has_slopes(learner)
            candidates.append(Candidate(self._copied(learner, seed), spelled(learner), steep=steep))
            # A twin beside it, not in its place: hinges may help or not, and the vote finds out.
            if self.hinges and can_be_bent(learner):
                candidates.append(Candidate(self._copied(learner, seed), spelled(learner), Hinges()))
        return candidates

    def _copied(self, learner: Learner, seed: int) -> Learner:
        """A copy of a learner that has learned nothing, with what is set for all candidates."""
        parameters = {name: copy.copy(getattr(learner, name)) for name in learner._constraints}
        # One seed for all candidates that have none of their own, so that the vote can be repeated.
        if parameters["random_state"] is None:
            parameters["random_state"] = seed % 2**32
        # What a candidate was given itself is left alone; the rest takes what is set for all.
        if self.__dict__.get("class_weight") == "balanced" and parameters.get("class_weight", 0) is None:
            parameters["class_weight"] = "balanced"
        if self.max_iter != "auto" and parameters["max_iter"] == "auto":
            parameters["max_iter"] = self.max_iter
        if self.scale != "auto" and parameters.get("scale") in ("auto", "standard", True):
            parameters["scale"] = self.scale if takes_target(learner) else None
        return type(learner)(**parameters)

    def _draw_seed(self) -> int:
        return 0 if self.__dict__["random_state"] is None else super()._draw_seed()

    def _new_model(self, width: int = 0, seed: int | None = None) -> Model:
        self._check_params()
        n_features = self.__dict__["n_features"]
        features = Features(None if n_features is None else int(n_features))
        params = self._params_for(VOTE)
        # An array of size 0 would say that a part of the state is switched off.
        width = max(1, width, features.n)
        seed = self._draw_seed() if seed is None else seed
        model = VoteModel(VOTE.init(params, width, self._models(2)), width, features, NO_LABELS, seed)
        model.candidates = self._candidates(seed)
        model.stale = False
        self._set_up(model, params)
        return model

    # Learning -------------------------------------------------------------------------------------

    def _most_passes(self, n: int, route: Any) -> int:
        return 1

    def _go_over(self, model: Any, rows: Any, targets: np.ndarray, weights: np.ndarray, route: Any, watch: Any) -> None:
        """One pass that is counted; then the candidates learn anew, in as many passes as each makes."""
        anew, model.n_iter = not model.state.tally.rows[SEEN], 1
        # Rows sorted by class or time would spoil the progressive errors that the vote goes by.
        order = permutation(targets.shape[0], np.uint64(model.seed)) if self.shuffle else NO_ORDER
        if watch is not None:
            watch.begin(0, model.state.tally)
        self._learn(model, rows, targets, weights, order, model.state, model.labels, route, watch)
        # Further passes begin from scratch, and would forget what a warm start had learned before.
        if not anew or self.max_iter == 1:
            return
        # Rows of weight 0 are not there, as in the counted pass.
        _, codes, s, _ = self._encode(model.labels, targets, weights)
        live = np.flatnonzero(s) if s.shape[0] else np.arange(targets.shape[0])
        X, codes = as_matrix(taken(rows, live, 0, live.shape[0])), self._plain(codes[live])
        # A candidate that makes one pass has learned what it can already.
        for k in np.flatnonzero(model.state.standing != STANDS_ASIDE).tolist():
            if model.candidates[k].learner._most_passes(live.shape[0], None) > 1:
                model.candidates[k].fit(X, codes, s[live] if s.shape[0] else None)
                model.state.standing[k] = VOTES  # what was hopeless in one pass may not be after several
        # The leader has a new model, whose counts start again.
        self._begin_counting(model.candidates, model.state)

    def _learn(
        self,
        model: Any,
        X: Any,
        y: np.ndarray,
        s: np.ndarray,
        order: np.ndarray,
        state: Any,
        labels: Labels,
        route: Any = None,
        watch: Any = None,
    ) -> None:
        """Predict, count and learn checked rows, block by block; all of it becomes the model's, or nothing."""
        # Searched before anything is learned, so that no candidate learns a row of a call that fails.
        bad = inputs.first_bad_row(X, s, self._least())
        if bad >= 0:
            raise inputs.bad_value(X, bad, model.features.names, self._least())
        # The rows that are there, in the order of the pass, with their classes as numbers.
        rows = order if order.shape[0] else np.arange(y.shape[0])
        labels, codes, s, _ = self._encode(labels, y[rows], s[rows] if s.shape[0] else s)
        if s.shape[0]:
            live = s > 0.0
            rows, codes, s = rows[live], codes[live], s[live]
        # Candidates learn in place only if it cannot be interrupted half-way by much: one row.
        state = VOTE.grow(state, model.params, model.width, self._models(len(labels.codes)))
        candidates = copy.deepcopy(model.candidates) if rows.shape[0] > 1 else model.candidates
        codes, done, params = self._plain(codes), 0, model.params
        # Weights and standings change at the ends of stretches, which depend on the number of rows seen alone.
        while done < rows.shape[0]:
            stop = min(done + to_stretch_end(state.tally), rows.shape[0])
            block = as_matrix(taken(X, rows, done, stop))
            given = s[done:stop] if s.shape[0] else None
            self._learn_stretch(candidates, state, block, codes[done:stop], given)
            done = stop
            if watch is not None:
                watch.note(done, state.tally)
        # State and candidates belong together, and are published under one guard.
        with model.guard:
            model.stale |= model.params is not params
            model.swap(state, model.params, labels, model.width)
            model.set_together(candidates=candidates)

    def _learn_row(self, model: Any, row: Any, target: float, weight: float) -> None:
        """Learn one row. Needs the guard."""
        # A reader scores with the state as it is; the candidates take care of their own.
        if model.readers[0]:
            model.swap(copy_state(model.state), model.params, model.labels, model.width)
        (X,) = row.value
        codes = self._plain(np.array([target]))
        given = None if weight == 1.0 else np.array([weight])
        # The row's buffer is filled again by the next row, and candidates may keep theirs.
        block = as_matrix(X).copy()
        self._learn_stretch(model.candidates, model.state, block, codes, given)

    def _learn_stretch(
        self,
        candidates: list[Candidate],
        state: VoteState,
        X: Any,
        targets: np.ndarray,
        weights: np.ndarray | None,
    ) -> None:
        """Let the candidates learn rows of one stretch, and count what the leader has counted of them."""
        seen = int(state.tally.rows[SEEN])
        # Before the stretch begins: a candidate that steps aside must not lead it.
        self._step_aside(candidates, state, X)
        if begins_stretch(seen):
            self._begin_stretch(candidates, state)
        # Rested candidates learn one stretch in ``EVERY``, which keeps their errors current.
        learn = [k for k, stands in enumerate(state.standing.tolist()) if stands == VOTES]
        leader = candidates[state.facts[LEADER]]
        # The vote counts what its leader counts of these rows.
        before = leader.counted
        if (seen // STRETCH) % EVERY == 0:
            learn += np.flatnonzero(state.standing == RESTS).tolist()
        for k in learn:
            candidates[k].learn(X, targets, weights)
        self._count_targets(state.tally, targets)
        add_rows(state.tally, state.begun, X.shape[0], before, leader.counted)

    def _begin_stretch(self, candidates: list[Candidate], state: VoteState) -> None:
        """Decide who rests, and who leads; after a change all are awake until the next review."""
        # Reviews come at fixed numbers of rows, so they do not depend on how a stream is cut.
        seen, facts = int(state.tally.rows[SEEN]), state.facts
        if seen and seen % REVIEW == 0:
            self._review(candidates, state)
        # The leader's error has changed: a resting candidate may be better now.
        if candidates[facts[LEADER]].counted.drifts > facts[CHANGES]:
            add_drift(state.tally)
            state.standing[state.standing == RESTS] = VOTES
        facts[LEADER] = self._leader(candidates, state)
        # From here on the vote takes its counts from the new leader.
        self._begin_counting(candidates, state)

    @staticmethod
    def _begin_counting(candidates: list[Candidate], state: VoteState) -> None:
        """Remember what the leader has counted up to here."""
        counted = candidates[state.facts[LEADER]].counted
        state.begun[:] = state.tally.loss[0], counted.loss
        state.facts[CHANGES] = counted.drifts

    def _step_aside(self, candidates: list[Candidate], state: VoteState, X: Any) -> None:
        """Let candidates go whose time a row goes with the columns, if rows are wide and sparse."""
        facts = state.facts
        facts[N_USED] = max(int(facts[N_USED]), X.shape[1])
        facts[N_ENTRIES] += np.count_nonzero(X.data if hasattr(X, "indptr") else X)
        rows = int(state.tally.rows[SEEN]) + X.shape[0]
        # Counted over all rows so far, so that a few rows do not decide.
        if facts[N_USED] <= WIDE_FROM or facts[N_ENTRIES] >= SPARSE_BELOW * float(facts[N_USED]) * rows:
            return
        leaves = np.array([not candidate.is_sparse for candidate in candidates])
        # If no candidate can take wide and sparse rows, all of them go on.
        if leaves.all():
            return
        for k in np.flatnonzero(leaves & (state.standing != STANDS_ASIDE)).tolist():
            state.standing[k] = STANDS_ASIDE
            # Its memory goes with the columns, so it is let go at once.
            candidates[k].forget()

    def _review(self, candidates: list[Candidate], state: VoteState) -> None:
        """Let candidates rest that err much more often than the best, and wake those that do so no longer."""
        there = (state.standing != STANDS_ASIDE) & np.array([candidate.knows for candidate in candidates])
        # Both in the last thousand rows and in the last few: one that has become better may vote again.
        long, short = self._errors(candidates, RECENT_ROWS), self._errors(candidates, REST_ROWS)
        rests = hopeless(long, short, there)
        state.standing[there] = np.where(rests, RESTS, VOTES)[there]

    def _begin_pass(self, model: Any, epoch: int) -> None:
        for candidate in model.candidates:
            begin_pass(candidate.learner, epoch)

    # The vote -------------------------------------------------------------------------------------

    def _errors(self, candidates: list[Candidate], most: int = RECENT_ROWS) -> np.ndarray:
        """The progressive error of each candidate in its last rows, ``most`` of them."""
        raise NotImplementedError

    def _weights(self, candidates: list[Candidate], state: VoteState) -> np.ndarray:
        """How much each candidate counts: they sum to 1, or are 0 if none has learned anything."""
        votes = (state.standing == VOTES) & np.array([candidate.knows for candidate in candidates])
        return weights_of(self._errors(candidates), votes)

    def _leader(self, candidates: list[Candidate], state: VoteState) -> int:
        """The candidate with the largest weight; at the very start the first that votes."""
        weights = self._weights(candidates, state)
        return int(weights.argmax() if weights.any() else (state.standing == VOTES).argmax())

    def _scores_of(self, candidates: list[Candidate], state: VoteState, X: Any) -> np.ndarray:
        """The scores of rows: what the weighted answers make together."""
        columns = VOTE.columns(state)
        answers = np.zeros((X.shape[0], columns))
        # Answers of weight 0 are not computed at all.
        for candidate, weight in zip(candidates, self._weights(candidates, state).tolist(), strict=True):
            if weight > 0.0:
                answers += weight * self._answers(candidate, X, columns)
        return answers

    def _score_rows(self, view: View, rows: Any, scores: np.ndarray) -> int:
        bad = inputs.first_bad_row(rows, NO_WEIGHTS, self._least())
        if bad < 0:
            scores[:] = self._scores_of(view.params.model.candidates, view.state, as_matrix(rows))
        return bad

    def _score_row(self, model: Any, row: Any) -> float:
        (X,) = row.value
        if inputs.first_bad_row(X, NO_WEIGHTS, self._least()) >= 0:
            return float("nan")
        model.scores_row = self._scores_of(model.candidates, model.state, as_matrix(X))
        return float(model.scores_row[0, 0])

    def _known_target(self, model: Model, y: Any) -> float | None:
        return None  # every row goes the long way, which is written in Python

    # What there is to see -------------------------------------------------------------------------

    @property
    def candidates_(self) -> list[Standing]:
        """The candidates: what learns, its weight, its recent error, its time a row, and how it stands."""
        model: Any = self._attribute()
        weights = self._weights(model.candidates, model.state)
        return [
            Standing(
                candidate.name,
                float(weights[k]),
                float(candidate.learner.recent_error_) if candidate.knows else float("nan"),
                1e6 * candidate.seconds / candidate.rows if candidate.rows else float("nan"),
                STANDS[int(model.state.standing[k])],
            )
            for k, candidate in enumerate(model.candidates)
        ]

    @property
    def recent_error_(self) -> float:
        """The recent error of the candidate that leads."""
        model: Any = self._attribute()
        return float(model.candidates[self._leader(model.candidates, model.state)].learner.recent_error_)

    def _formula(self, view: View) -> Formula:
        raise NoFormula(
            f"{type(self).__name__} asks several learners, which cannot be exported as one model. Train the learner "
            "that leads by itself (candidates_ says which it is), and export that."
        )

    def _explained(self, x: Any, code: int | None) -> tuple[Explanation, list[Any] | None]:
        """The explanation by the best of the candidates that explain by column, and the names of columns."""
        with self._looking_at(x) as asked:
            model: Any = self._model
            explains = np.array([candidate.explains for candidate in model.candidates])
            if not explains.any():
                raise ValueError(
                    f"None of the candidates of {type(self).__name__} explains its scores by columns, or has learned "
                    "anything. A PAClassifier or a PAMOClassifier among the candidates does."
                )
            # The best of those that explain by columns, which need not be the one that leads.
            shares = weights_of(self._errors(model.candidates), explains)
            row = asked.row
            if isinstance(row, CSR):
                indices, values = row.indices.astype(np.int64), row.data
            else:
                indices, values = np.arange(row.shape[1]), row[0].astype(float)
            return model.candidates[int(shares.argmax())].explain(indices, values, code), asked.names


def named(parts: dict[int, float], names: list[Any] | None) -> dict[Any, float]:
    """Parts by the names of columns, where these have names."""
    known = names or []
    return {known[j] if j < len(known) else j: part for j, part in parts.items()}


def takes_target(learner: Learner) -> bool:
    """Whether a learner can scale targets alone."""
    return bool(learner._constraints["scale"].accepts("target"))
