"""The state of a vote, and the model that holds it together with the candidates."""

from __future__ import annotations

import copy
from typing import Annotated, Any, NamedTuple

import numpy as np

from aggro.engine.fields import LARGEST_COUNT, Each, Numbers, Whole
from aggro.engine.rule import Rule, Tally, copy_state, grown_tally, new_tally
from aggro.learners.auto.candidates import STANDS_ASIDE, Candidate
from aggro.learners.model.model import Model

N_USED, N_ENTRIES, LEADER, CHANGES = range(4)  # of the facts


def last_candidate(state: Any) -> int:
    """The largest number of a candidate."""
    return int(state.standing.shape[0]) - 1


class VoteState(NamedTuple):
    """The counters of a vote, and how its candidates stand."""

    tally: Tally
    standing: Annotated[np.ndarray, Whole(0, STANDS_ASIDE)]  # (candidates,) int64: votes, rests or stepped aside
    # (4,) int64: columns that had an entry so far, how many entries there were, the candidate that leads, and how many
    # changes it had seen as the stretch began
    facts: Annotated[
        np.ndarray,
        Each(Whole(0, LARGEST_COUNT), Whole(0, LARGEST_COUNT), Whole(0, last_candidate), Whole(0, LARGEST_COUNT)),
    ]
    begun: Annotated[np.ndarray, Numbers(0.0, endless=True)]  # (2,) the losses of vote and leader as the stretch began


class VoteParams(NamedTuple):
    """What the state depends on, and the model that it is part of."""

    candidates: int
    model: Any = None


def init(params: VoteParams, width: int, models: int) -> VoteState:
    return VoteState(new_tally(models), np.zeros(params.candidates, np.int64), np.zeros(4, np.int64), np.zeros(2))


def grow(state: VoteState, params: VoteParams, width: int, models: int) -> VoteState:
    larger: VoteState = copy_state(state)._replace(tally=grown_tally(state.tally, models))
    return larger


def not_compiled(*_: Any) -> Any:
    """A vote is taken in Python: no compiled loop reads its state."""
    raise NotImplementedError("A vote has no compiled rule.")


VOTE = Rule(
    state=VoteState,
    init=init,
    grow=grow,
    score=not_compiled,
    loss_of=not_compiled,
    update=not_compiled,
    score_averaged=not_compiled,
    columns=lambda state: int(state.tally.classes.shape[0]),
)


class VoteModel(Model):
    """A model whose candidates are learners of their own."""

    candidates: list[Candidate]

    def parts(self) -> dict[str, Any]:
        """Copies of all that was learned. Needs ``learning`` and the guard."""
        return {**super().parts(), "candidates": copy.deepcopy(self.candidates)}
