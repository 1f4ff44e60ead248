"""Two copies of a learner, so that predictions never wait for learning.

Predictions use the front copy. The learning thread changes the other one, the spare, publishes it as the new front,
waits until nobody reads the old front any more, and then learns the same examples there too. Both copies see the same
calls in the same order, so they are equal bit for bit whenever the thread rests. A reader sees a whole model, from
between two groups of examples; the price is twice the memory and learning everything twice.
"""

from __future__ import annotations

import copy
from threading import Condition
from typing import Any


class Side:
    """One copy, and how many threads read it."""

    def __init__(self, learner: Any) -> None:
        self.learner, self.readers = learner, 0
        self.ready = False  # all code that a prediction needs has been compiled


class Replicas:
    """The front copy for readers, the spare for the thread that learns."""

    def __init__(self, learner: Any) -> None:
        self._changed = Condition()
        self._front, self._spare = Side(learner), Side(copy.deepcopy(learner))

    def reading(self) -> Reading:
        """The front copy, for a with statement; nothing changes it inside."""
        return Reading(self)

    def take(self) -> Side:
        """The front copy, which has one reader more."""
        # Reading the front and counting the reader is one step; otherwise publish() could come between them.
        with self._changed:
            side = self._front
            side.readers += 1
        return side

    def give_back(self, side: Side) -> None:
        """A reader has done with a copy."""
        with self._changed:
            side.readers -= 1
            if side is self._spare:  # the learning thread may wait for it
                self._changed.notify_all()

    @property
    def spare(self) -> Side:
        """The copy to learn on; for the learning thread alone."""
        return self._spare

    def publish(self) -> None:
        """The spare copy becomes the front."""
        # Old readers keep the side that they took; new ones get the other from here on.
        with self._changed:
            self._front, self._spare = self._spare, self._front

    def wait_for_readers(self) -> Any:
        """The learner of the spare copy, as soon as nobody reads it."""
        with self._changed:
            side = self._spare
            # The lock is released while waiting, so readers can give the copy back.
            self._changed.wait_for(lambda: not side.readers)
        return side.learner

    def reset_spare(self) -> Any:
        """Replace the spare by a copy of the front, after something went wrong with it."""
        # Copied while it is held as a reader: nothing changes the front meanwhile.
        with self.reading() as front:
            side = Side(copy.deepcopy(front.learner))
            # The code is compiled per process and not per copy.
            side.ready = front.ready
        with self._changed:
            self._spare = side
        return side.learner

    def replace(self, learner: Any) -> None:
        """Put another learner in place of both copies; threads that read the old one go on with it."""
        # The deep copy is made outside the lock, so that readers need not wait for it.
        front, spare = Side(learner), Side(copy.deepcopy(learner))
        with self._changed:
            self._front, self._spare = front, spare


class Reading:
    """A with statement around reading; a class, since a generator takes three times as long."""

    __slots__ = ("replicas", "side")

    def __init__(self, replicas: Replicas) -> None:
        self.replicas = replicas

    def __enter__(self) -> Side:
        self.side = self.replicas.take()
        return self.side

    def __exit__(self, *error: object) -> None:
        self.replicas.give_back(self.side)
