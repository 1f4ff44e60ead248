"""Routes: the rows that a pass learns, in which stretches, and by which compiled loop.

``Learner._learn`` goes by a route: every row in order, unless it is handed another, such as that of an active learner.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from aggro.engine.passes import run
from aggro.engine.rule import Rule
from aggro.learners.model.features import frozen
from aggro.learners.model.labels import Labels
from aggro.learners.model.model import NO_ORDER, Model
from aggro.learners.model.row_blocks import blocks, taken


class Stretch(NamedTuple):
    """Rows ``start`` to ``stop`` of a pass, which one compiled loop learns by one rule."""

    learn_rows: Any  # the loop: ``engine.passes.run``, or one with the same arguments
    rule: Rule
    targets: np.ndarray  # of all rows of the pass, as numbers
    start: int
    stop: int
    labels: Labels  # those that the state has room for, and that the model knows afterwards


class EveryRow:
    """The route of an ordinary pass. It learns every row; a stretch ends where a new class needs another rule.

    ``_learn`` goes by any route that it is handed: an object with these methods.
    """

    at_once: bool = True  # whether nothing can interrupt it between its stretches

    def __init__(self, learn_rows: Any = run) -> None:
        self.learn_rows = learn_rows

    def begin(self, rows: Any, order: np.ndarray, weights: np.ndarray) -> None:
        """Receive the rows, the order of the pass, and the weights in this order, which are empty if all are 1."""

    def stretches(
        self, learner: Any, before: Labels, after: Labels, y: np.ndarray, targets: np.ndarray, firsts: np.ndarray
    ) -> Iterator[Stretch]:
        """Yield the stretches to learn, in order.

        ``before`` are the labels known so far and ``after`` those with the labels of ``y`` among them, ``targets`` are
        their numbers, and ``firsts`` is where each number first appears, -1 for those known before.
        """
        # A new class may need another rule, so the rows are cut where its first row comes. Codes of classes that were
        # known have a first row of −1.
        stages = [(0, learner._rule_for(max(1, len(before.codes))))]
        for code, row in enumerate(firsts):
            rule = learner._rule_for(code + 1)
            if row >= 0 and rule is not stages[-1][1]:
                stages.append((int(row), rule))
        ends = [start for start, _ in stages[1:]] + [y.shape[0]]
        for (start, rule), stop in zip(stages, ends, strict=True):
            # All stretches have the labels of the whole call, since they are published together.
            yield Stretch(self.learn_rows, rule, targets, start, stop, after)

    def stops_at(self, row: int) -> bool:
        """Whether the loop stopped at this row because the route has more to say; else the row is not finite."""
        return False

    def onward(self, learner: Any, model: Model, state: Any, params: Any) -> tuple[Any, Any]:
        """The state and settings to go on with after a stretch; here those that learned it."""
        return state, params


def in_blocks(
    learn_rows: Any,
    state: Any,
    params: Any,
    X: Any,
    y: np.ndarray,
    s: np.ndarray,
    order: np.ndarray,
    start: int,
    stop: int,
    *flags: Any,
    double: bool,
) -> int:
    """Learn rows in another order or precision than they are stored in, copying a block of rows at a time.

    It is bit-for-bit what ``order`` gives, in about two thirds of the time where there are many rows.
    """
    for first, last in blocks(X, start, stop):
        block = slice(first, last)
        # Rows are copied in the order of learning, so that the compiled loop reads memory in sequence.
        rows = taken(X, order, first, last) if double else frozen(X[order[block]])
        weights = frozen(s[block]) if s.shape[0] else s
        n = last - first
        # The block is in order now, so the loop gets none.
        bad = learn_rows(state, params, rows, frozen(y[block]), weights, NO_ORDER, 0, n, *flags)
        if bad >= 0:
            return int(first + bad)
    return -1
