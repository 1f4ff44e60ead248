"""Labels used well: the answered rows are kept, and the learner inside is made anew from them now and then.

One pass learns a row once, which wastes labels while there are few. So the first N answered rows are kept, and at
n = 1, 2, 3, … answers, each time a seventh part more than the last time, the learner inside becomes

    what a learner that knows nothing learns from the n kept rows, gone over 10 times in random order

and between those moments it learns each answer once, as it comes. With n kept rows there are at most about
10 n/(1 − 1/1.15) ≈ 77 n steps behind it, so an answer costs 77 steps in the mean. After N answers the rows
are let go and answers are learned once each: with so many of them one pass wastes little, and a model made of the
last N rows, or of N rows at random, would forget the others.

The order of the rows in pass e over n rows is a function of the seed of the questions, of n and of e, so that a model
depends on the answers and their order alone. In the first pass the first row of each class comes first, in the order
in which classes appeared: so their numbers stay.

Rows can only be made into a model that has learned nothing else. Whoever begins with a learner that knew something
before, or teaches the learner inside by itself, gets single steps.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from aggro.engine.monitor.drift import LEAD_SIZE, SELECTED
from aggro.engine.random import permutation
from aggro.engine.rows import CSR
from aggro.engine.rule import MISTAKES, SEEN, UPDATES
from aggro.learners.model.features import frozen
from aggro.learners.model.model import Model

PASSES = 10
GROWTH = 23, 20  # 1.15
REPLAYED_COUNTERS = [SEEN, UPDATES, MISTAKES]
Row = np.ndarray | tuple[np.ndarray, np.ndarray]  # values in order, or indices and values


class Kept:
    """The answered rows, and how far the learner inside follows from them.

    Rows are never changed, so copies share them.
    """

    def __init__(self, room: int, on: bool = True) -> None:
        self.room = room
        self.on = on and room > 0
        self.rows: list[Row] = []
        self.codes: list[int] = []
        self.weights: list[float] = []
        self.built = 0  # how many rows there were when the learner was made anew
        self.seen = 0  # steps of the learner inside, if it has learned these rows and no others
        self.extra = np.zeros(3, np.int64)  # steps, updates and mistakes that it counts beyond each row's first step

    def copy(self) -> Kept:
        """A copy that shares the rows, which never change; rows added to one are not added to the other."""
        other = Kept(self.room, self.on)
        other.rows, other.codes, other.weights = self.rows[:], self.codes[:], self.weights[:]
        other.built, other.seen, other.extra = self.built, self.seen, self.extra.copy()
        return other

    def __deepcopy__(self, memo: Any) -> Kept:
        return self.copy()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.extra = np.array(self.extra)  # a pickle may lend memory that is read-only

    def fits(self, room: int, seen: int) -> Self:
        """Stop keeping rows, if the learner inside has learned others too, or fewer are to be kept than there are."""
        # Rows learned by another way, or room for fewer: a model of the kept rows would forget what else was learned.
        if self.on and (room <= len(self.rows) or seen != self.seen):
            self.let_go()
        self.room = room
        return self

    def let_go(self) -> None:
        """From now on each answer is learned once."""
        self.on = False
        self.rows, self.codes, self.weights, self.built = [], [], [], 0

    def add(self, row: Row, code: int, weight: float, seen: int) -> None:
        """Keep a row that was learned just now."""
        self.rows.append(row)
        self.codes.append(code)
        self.weights.append(weight)
        self.seen = seen

    @property
    def due(self) -> bool:
        """Whether the learner should be made anew."""
        n = len(self.rows)
        return self.on and n > 1 and (n >= self.room or n >= next_time(self.built))

    def made_anew(self, learner: Any, model: Model, width: int, names: list[Any], seed: int) -> Model:
        """A model of these rows: of a learner, with the features and seed of ``model``, the classes by number."""
        # The seed and features of the model, so that random parts and indices stay the same.
        fresh: Model = learner._new_model(width, model.seed)
        fresh.features = model.features
        X, n = as_rows(self.rows, max(1, model.features.n)), len(self.rows)
        # An array of objects: NumPy would make one type of labels of several.
        y = np.empty(n, object)
        y[:] = [names[code] for code in self.codes]
        weights = np.array(self.weights)
        # Weights that are all 1 are left out, as the pass takes them.
        weights = weights[:0] if (weights == 1.0).all() else weights
        for epoch in range(PASSES):
            # The order is a function of the seed, of n and of the pass.
            order = permutation(n, np.uint64((seed + PASSES * n + epoch) % 2**64))
            # Class numbers follow the order of appearance, and must be the same as before.
            if epoch == 0:
                order = classes_first(order, np.array(self.codes))
            fresh.begin_pass(epoch)
            learner._begin_pass(fresh, epoch)
            learner._learn(fresh, X, y, weights, frozen(order), fresh.state, fresh.labels)
        # As ``fit`` ends: rows that come now are new, and no row waits.
        fresh.begin_pass(0)
        learner._settle(fresh)
        fresh.n_iter = PASSES
        learner._calibrate(fresh, X, y, weights)
        return fresh

    def follows(self, before: Any, after: Any) -> None:
        """The model is ``after`` now, made of these rows, and was ``before``, which had learned each as it came."""
        # The counters go on: what the new model has counted more is kept apart, and left out of what users see.
        self.extra += after.tally.rows[REPLAYED_COUNTERS] - before.tally.rows[REPLAYED_COUNTERS]
        # Errors and drift stay those of answers as they came: the new model has seen their rows in random order.
        for name, part in (
            ("marks", SELECTED),
            ("sums", LEAD_SIZE),
            ("recent", None),
            ("counts", None),
            ("window", None),
        ):
            getattr(after.tally, name)[:part] = getattr(before.tally, name)[:part]
        self.built, self.seen = len(self.rows), int(after.tally.rows[SEEN])
        # With all its room used, the learner gets single steps from now on.
        if len(self.rows) >= self.room:
            self.let_go()


def next_time(built: int) -> int:
    """At how many rows the learner is made anew, after it was made of so many."""
    return max(built + 1, built * GROWTH[0] // GROWTH[1])


def classes_first(order: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """An order in which the first row of each class comes before all others, by the number of the class."""
    _, firsts = np.unique(codes, return_index=True)
    rest = np.ones(order.shape[0], bool)
    rest[firsts] = False
    return np.concatenate([firsts, order[rest[order]]])


def as_rows(rows: list[Row], width: int) -> Any:
    """Rows as compiled code reads many: an array if all have every feature in order, else a sparse matrix."""
    # Whole rows in order make a dense array; one row that is not makes all of them sparse.
    if all(isinstance(row, np.ndarray) and row.shape[0] == width for row in rows):
        return frozen(np.array(rows))
    pairs = [row if isinstance(row, tuple) else sparse(row) for row in rows]
    indptr = np.concatenate([[0], np.cumsum([indices.shape[0] for indices, _ in pairs])]).astype(np.int64)
    indices, data = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    return CSR(frozen(indptr), frozen(indices.astype(np.uint32)), frozen(data.astype(np.float64)), width)


def sparse(row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A row of values in order by its numbers that are not 0."""
    indices = np.flatnonzero(row)
    return indices.astype(np.uint32), row[indices]


def row_at(X: Any, i: int) -> Row:
    """Row i of rows that came through the doors, as one's own."""
    if not isinstance(X, CSR):
        return np.array(X[i], np.float64)
    part = slice(int(X.indptr[i]), int(X.indptr[i + 1]))
    return np.array(X.indices[part], np.uint32), np.array(X.data[part], np.float64)
