"""Rows that wait for their mini-batch to be complete, and how they are learned before it is: ``flush``."""

from __future__ import annotations

from typing import Any, Self

from aggro.engine.rule import SEEN, UPDATES, copy_state
from aggro.learners.base.learner import Learner
from aggro.learners.model.model import Model


class WaitingRows(Learner):
    """A learner that may learn several rows at once."""

    def flush(self) -> Self:
        """Learn the rows of an incomplete mini-batch now, as a smaller mini-batch.

        With ``batch_size=1`` or a sliding window no row waits, and nothing happens.

        Returns
        -------
        self : object
            The learner.
        """
        model: Model | None = self.__dict__.get("_model")
        if model is not None:
            model.in_turn(self._flush, model)
        return self

    def _flush(self, model: Model) -> None:
        self._prepare(model)
        self._settle(model)

    def _settle(self, model: Model) -> None:
        model.undisturbed(self._end_group, model)

    def _end_group(self, model: Model) -> None:
        if self._waits(model):
            state = copy_state(model.state)
            rows = state.tally.rows
            rows[SEEN] -= 1  # as if the group had ended with the last row
            rows[UPDATES] += self._learn_waiting(state, model.params)
            rows[SEEN] += 1
            model.swap(state, model.params, model.labels, model.width)

    def _waits(self, model: Model) -> bool:
        """Whether rows wait."""
        raise NotImplementedError

    def _learn_waiting(self, state: Any, params: Any) -> int:
        """Learn the group as it is; 1 if something moved."""
        raise NotImplementedError
