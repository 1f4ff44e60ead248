"""Records that wait for their labels, kept on disk under their ids, bounded by count and age."""

from __future__ import annotations

import json
import sqlite3
import time
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from aggro.serve.limits import Limits
from aggro.serve.problems import Problem, short
from aggro.serve.store import Store
from aggro.serve.strict_json import dump

ONE_DAY = 86_400.0
STARTED = time.time() - time.monotonic()


def now() -> float:
    """The time when the process began, and what has passed since: somebody may set the clock."""
    return STARTED + time.monotonic()


@dataclass(frozen=True)
class Waiting:
    """A record as it was when it was predicted, and the prediction that was given."""

    number: int
    id: str
    time: float
    record: Any
    prediction: Any
    asked: float | None  # how likely the model was to ask about it, if it asked


class WaitingRoom:
    """The waiting records of one model."""

    def __init__(self, store: Store, model: int, limits: Limits) -> None:
        self.store, self.model, self.limits = store, model, limits
        self.expired = 0  # since the service started
        self._fresh = limits.waiting  # records that came since somebody looked whether there are too many

    def put(self, ids: list[str], records: list[Any], predictions: list[Any], asked: list[float | None]) -> Future[Any]:
        """Store records; the future has the predictions that count, as soon as they are on disk.

        The oldest records go if there are more than a hundredth too many. One that waits already, because it was sent
        twice, keeps the prediction that was given first.
        """
        when = now()
        rows = [
            (self.model, id, when, dump(record).decode(), dump(prediction).decode(), p)
            for id, record, prediction, p in zip(ids, records, predictions, asked, strict=True)
        ]

        def insert(connection: sqlite3.Connection) -> list[Any]:
            given = [self._insert(connection, row) for row in rows]
            self._fresh += len(rows)
            # This runs in the store's thread alone, so the counter needs no lock.
            if self._fresh > self.limits.waiting // 100:  # counting them takes as long as storing a hundred
                self._expire(connection)
                self._fresh = 0
            return given

        return self.store.submit(insert)

    def _insert(self, connection: sqlite3.Connection, row: tuple[Any, ...]) -> Any:
        """Store one record; its prediction, or the one that it waits with already."""
        if connection.execute("SELECT 1 FROM labels WHERE model = ? AND id = ?", row[:2]).fetchone():
            raise Problem(409, "already_learned", f"The record {short(row[1])} has its label already.")
        # Both checks run inside the transaction: another request may have stored the same id a moment before.
        found = connection.execute(
            "SELECT record, prediction FROM waiting WHERE model = ? AND id = ?", row[:2]
        ).fetchone()
        if found is None:
            connection.execute(
                "INSERT INTO waiting (model, id, time, record, prediction, asked) VALUES (?, ?, ?, ?, ?, ?)", row
            )
        # The stored JSON is compared as text: the same record encodes to the same bytes.
        elif found[0] != row[3]:
            raise Problem(409, "id_in_use", f"Another record waits under the id {short(row[1])}.")
        else:
            return json.loads(found[1])
        # Through JSON and back, so that the first and the repeated answer look alike.
        return json.loads(row[4])

    def _expire(self, connection: sqlite3.Connection) -> None:
        old = now() - self.limits.waiting_days * ONE_DAY
        gone = connection.execute("DELETE FROM waiting WHERE model = ? AND time < ?", (self.model, old)).rowcount
        (count,) = connection.execute("SELECT count(*) FROM waiting WHERE model = ?", (self.model,)).fetchone()
        if count > self.limits.waiting:
            # Numbers only grow, so the smallest are the oldest, whatever the clock says.
            sql = (
                "DELETE FROM waiting WHERE number IN "
                "(SELECT number FROM waiting WHERE model = ? ORDER BY number LIMIT ?)"
            )
            gone += connection.execute(sql, (self.model, count - self.limits.waiting)).rowcount
        self.expired += gone

    def find(self, id: str) -> Waiting | None:
        """The record that waits under an id."""
        row = self.store.one(f"{SELECT_WAITING} WHERE model = ? AND id = ?", self.model, id)
        return None if row is None else as_waiting(row)

    def some(self, most: int, asked: bool) -> list[Waiting]:
        """The oldest records: those that the model asked about, or the others."""
        what = "IS NOT NULL" if asked else "IS NULL"
        sql = f"{SELECT_WAITING} WHERE model = ? AND asked {what} ORDER BY number LIMIT ?"
        return [as_waiting(row) for row in self.store.rows(sql, self.model, most)]

    def note(self, asked: dict[str, float | None]) -> Future[Any]:
        """Note how likely the model now is to ask about these records; None if it does not ask any more."""
        rows = [(p, self.model, id) for id, p in asked.items()]
        sql = "UPDATE waiting SET asked = ? WHERE model = ? AND id = ?"
        return self.store.submit(lambda connection: connection.executemany(sql, rows) and None)

    def counts(self) -> tuple[int, int]:
        """How many records wait, and how many of them the model asked about."""
        waiting, asked = self.store.one("SELECT count(*), count(asked) FROM waiting WHERE model = ?", self.model)
        return int(waiting), int(asked)

    def remove(self, connection: sqlite3.Connection, ids: list[str]) -> None:
        """Take records out, inside a transaction."""
        connection.executemany("DELETE FROM waiting WHERE model = ? AND id = ?", [(self.model, id) for id in ids])

    def back(self, connection: sqlite3.Connection, id: str, record: Any, given: Any, p: float | None) -> None:
        """Let a record wait again whose label was taken back, inside a transaction."""
        row = (self.model, id, now(), dump(record).decode(), dump(given).decode(), p)
        connection.execute(
            "INSERT OR IGNORE INTO waiting (model, id, time, record, prediction, asked) VALUES (?, ?, ?, ?, ?, ?)", row
        )


SELECT_WAITING = "SELECT number, id, time, record, prediction, asked FROM waiting"


def as_waiting(row: Any) -> Waiting:
    number, id, when, record, prediction, asked = row
    return Waiting(number, id, when, json.loads(record), json.loads(prediction), asked)
