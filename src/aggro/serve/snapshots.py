"""Snapshots: model files that say up to which entry of the journal they have learned."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aggro.serve import learners
from aggro.serve.board import Board
from aggro.serve.problems import one_line
from aggro.serve.store import Store, StoreError

LOG = logging.getLogger("aggro.serve")


@dataclass(frozen=True)
class Snapshot:
    """One snapshot as the store lists it."""

    position: int
    time: float
    rows: int
    file: str
    sum: str
    stale: bool  # it has learned a label that was taken back since

    def facts(self) -> dict[str, Any]:
        """For people."""
        return {"snapshot": self.position, "rows": self.rows, "time": self.time, "usable": not self.stale}


class Snapshots:
    """The snapshots of one model."""

    def __init__(self, store: Store, model: int, folder: Path) -> None:
        self.store, self.model, self.folder = store, model, folder

    def take(self, learner: Any, board: Board, position: int) -> Snapshot | None:
        """Save a learner that has learned every entry up to a position; None if it has learned nothing."""
        # A learner without rows has no state that a file could hold.
        if not learners.rows_learned(learner):
            return None
        # Leading zeros, so that names sort by position.
        file = self.folder / f"{position:012d}.aggro"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            # The board is saved in the same file: learner and counters can never be of different positions.
            learners.write(learner, file, {"position": position, "board": board.as_json()})
            found = Snapshot(position, time.time(), board.rows, file.name, digest(file), stale=False)
        except OSError as error:
            raise StoreError(f"The snapshot {file} could not be written: {error}.") from error

        def enter(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT OR REPLACE INTO snapshots (model, position, time, rows, file, sum) VALUES (?, ?, ?, ?, ?, ?)",
                (self.model, found.position, found.time, found.rows, found.file, found.sum),
            )

        # Listed after the file is complete; a crash before leaves a file that nothing refers to.
        self.store.write(enter)
        return found

    def listed(self) -> list[Snapshot]:
        """All of them, the newest first."""
        rows = self.store.rows(
            "SELECT position, time, rows, file, sum, stale FROM snapshots WHERE model = ? ORDER BY position DESC",
            self.model,
        )
        return [Snapshot(p, t, r, f, s, bool(stale)) for p, t, r, f, s, stale in rows]

    def load(self, snapshot: Snapshot) -> tuple[Any, Board] | None:
        """The learner and the board of a snapshot; None if its file is missing or damaged."""
        file = self.folder / snapshot.file
        try:
            # The digest finds damage that the file's own checks may not, such as the complete file of another model.
            if digest(file) != snapshot.sum:
                raise ValueError("its bytes are not those that were written")
            learner, position = learners.read(file)
            if position["position"] != snapshot.position:
                raise ValueError("it is of another position")
            return learner, Board.from_json(position["board"])
        except Exception as error:
            LOG.error("The snapshot %s cannot be used: %s", file, one_line(error))
            return None

    def drop(self, positions: list[int]) -> None:
        """Forget snapshots, and delete their files."""
        files = {one.position: one.file for one in self.listed()}
        marks = [(self.model, position) for position in positions]

        def forget(connection: sqlite3.Connection) -> None:
            connection.executemany("DELETE FROM snapshots WHERE model = ? AND position = ?", marks)

        # The list goes first: a listed snapshot without its file would be an error, a file alone is only waste.
        self.store.write(forget)
        for position in positions:
            (self.folder / files[position]).unlink(missing_ok=True)


def digest(file: Path) -> str:
    """The SHA-256 of a file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
