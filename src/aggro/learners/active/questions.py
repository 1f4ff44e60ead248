"""Questions that wait for their answers."""

from __future__ import annotations

from typing import Any

from aggro.learners.base.later import kept as kept


class WaitingRoom:
    """Rows by id, each with the probability with which it was asked about, in the order of the questions."""

    def __init__(self) -> None:
        self._rows: dict[Any, tuple[Any, float]] = {}
        self.gone = 0  # questions that went because there were too many

    def ids(self) -> list[Any]:
        """The ids of the questions, the oldest first."""
        return list(self._rows)

    def check(self, id: Any, x: Any) -> None:
        """Refuse what could not wait."""
        if not isinstance(id, str | int):
            raise TypeError(f"An id must be a string or an integer, got {id!r}.")
        if id in self._rows:
            raise ValueError(f"A question with the id {id!r} waits already. Answer it first, or use another id.")

    def put(self, id: Any, x: Any, p: float, room: int) -> None:
        """Let a row wait that is its own (see ``kept``); the oldest goes if there is no room."""
        self._rows[id] = x, p
        while len(self._rows) > room:
            del self._rows[next(iter(self._rows))]
            self.gone += 1

    def find(self, id: Any) -> tuple[Any, float]:
        """The row of this id, and its probability."""
        try:
            return self._rows[id]
        except (KeyError, TypeError):
            went = f"; {self.gone} went because there was no room (see waiting)" if self.gone else ""
            raise KeyError(
                f"No question with the id {id!r} waits: it was never asked, or is answered already{went}. "
                f"{len(self._rows)} wait."
            ) from None

    def remove(self, id: Any) -> None:
        """Let the question of this id go."""
        del self._rows[id]

    def items(self) -> list[tuple[Any, Any, float]]:
        """Each question: its id, its row, its probability."""
        return [(id, x, p) for id, (x, p) in self._rows.items()]
