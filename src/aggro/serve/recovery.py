"""The model as it was after an entry of the journal: the newest good snapshot before it, and the entries since.

One way serves for a start after a crash, for undo and for going back. The library's learners are deterministic, and a
file brings back every bit, so the model is bit for bit the one that never stopped.

A ``restore`` entry makes the model what it was at an earlier position, so the entries in between are passed over: the
way back from a position leads through *segments* of the journal. Labels that were taken back are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aggro.serve import learners
from aggro.serve.board import Board
from aggro.serve.journal import LEARN, Damaged, Entry, Journal
from aggro.serve.snapshots import Snapshots

State = tuple[Any, Board]
Place = tuple[int, int]  # an entry's position, and a row of it


class OutOfReach(Exception):
    """No snapshot and no journal reaches back to a position."""


class Recovery:
    """How one model is brought back."""

    def __init__(self, journal: Journal, snapshots: Snapshots, begin: Callable[[], State]) -> None:
        self.journal, self.snapshots, self.begin = journal, snapshots, begin

    def segments(self, position: int) -> list[tuple[int, int, int]]:
        """The parts of the journal behind a position, the newest first: (after, up to, position before it).

        The model at ``up to`` has learned the entries from ``after`` + 1 on; at ``after`` it was what it was at the
        position before, which is ``after`` itself for the oldest part.
        """
        found: list[tuple[int, int, int]] = []
        upto = position
        # Backwards from the position: only the last restore before it decides which part leads there.
        while True:
            jump = next((one for one in self.journal.restores() if one[0] <= upto), None)
            if jump is None:
                return [*found, (0, upto, 0)]
            found.append((jump[0], upto, jump[1]))
            upto = jump[1]

    def on_the_way(self, position: int, target: int) -> bool:
        """Whether the model at a position has learned the entry at another."""
        return any(after < target <= upto for after, upto, _ in self.segments(position))

    def state_at(self, position: int, without: Place | None = None) -> State:
        """The learner and the board after an entry; ``without`` one example, which was learned on the way there."""
        after, _, before = self.segments(position)[0]
        # A snapshot that has learned the example to be left out is of no use.
        newest = position if without is None else min(position, without[0] - 1)
        for snapshot in self.snapshots.listed():
            if (
                # Snapshots come newest first. One from before the segment belongs to a part that was passed over.
                not snapshot.stale
                and after <= snapshot.position <= newest
                and self.reaches(snapshot.position, position)
            ):
                found = self.snapshots.load(snapshot)
                if found is not None:
                    return self.replayed(found, snapshot.position, position, without)
        # No snapshot within the segment: begin with the model at the position that the restore went back to.
        if after:
            return self.replayed(self.state_at(before, without), after, position, without)
        # From the beginning only if the journal still has entry 1; older entries may have been dropped.
        if not self.reaches(0, position):
            raise OutOfReach(f"No good snapshot is left from before position {newest + 1}.")
        return self.replayed(self.begin(), 0, position, without)

    def reaches(self, position: int, last: int) -> bool:
        """Whether the journal still has every entry after a position up to another."""
        return position >= last or 0 < self.journal.first() <= position + 1

    def replayed(self, state: State, after: int, last: int, without: Place | None = None) -> State:
        """A state moved on by the entries after a position, up to another."""
        learner, board = state
        for entry in self.journal.entries(after, last):
            if without is not None and entry.position == without[0]:
                # The entry on disk is not changed yet; this copy of it already leaves the row out.
                entry.undone.add(without[1])
            repeat(learner, board, entry)
        return learner, board


def repeat(learner: Any, board: Board, entry: Entry) -> None:
    """Learn an entry again, without the rows that were taken back."""
    if entry.kind == LEARN:
        learn_rows(learner, entry)
        count(board, entry, learners.n_drifts(learner))


def learn_rows(learner: Any, entry: Entry) -> None:
    """What an entry does to a learner."""
    rows = entry.kept()
    # The same call as the first time, since a batch and single rows may give different bits.
    if entry.each:
        learners.learn_stream(learner, [entry.records[row] for row in rows], [entry.labels[row] for row in rows])
    # The usual case passes the entry's own lists on; copies are only made where a row is left out.
    elif len(rows) == len(entry.records):
        learners.learn(learner, entry.records, entry.labels, entry.weights, entry.one)
    elif rows:
        learners.learn(
            learner,
            [entry.records[row] for row in rows],
            [entry.labels[row] for row in rows] if entry.labels else [],
            [entry.weights[row] for row in rows] if entry.weights else [],
            entry.one,
        )


def count(board: Board, entry: Entry, drifts: int) -> None:
    """What an entry does to a board."""
    for row in entry.kept():
        board.add(
            entry.records[row],
            entry.labels[row] if entry.labels else None,
            entry.given[row] if entry.given else None,
            entry.id_of(row),
            entry.asked[row] if entry.asked else None,
            entry.guesses[row] if entry.guesses else None,
        )
    # With the time of the entry and not of now, so that a replayed board equals the first one.
    board.saw_drifts(drifts, entry.time)


def last_whole(journal: Journal, after: int, last: int) -> int:
    """The position of the last entry before the first damaged one."""
    position = after
    try:
        # The entries are read and checked, and not learned.
        for entry in journal.entries(after, last):
            position = entry.position
    except Damaged:
        return position
    return position
