"""The journal of one model: every accepted call in order, with what it takes to repeat it.

An entry is a call that changed the model. ``learn`` holds records, labels, weights, the predictions that were given for
them and the ids. ``undo`` says which row of an earlier entry was taken back; that entry is marked too. ``restore`` says
which earlier position the model went back to. Positions count the entries of a model from 1.
"""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from aggro.serve.shapes import MADE
from aggro.serve.store import Store
from aggro.serve.strict_json import dump

LEARN, UNDO, RESTORE = "learn", "undo", "restore"
ENTRIES_AT_ONCE = 500  # entries that are read together


@dataclass
class Entry:
    """One call."""

    kind: str
    records: list[Any] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    given: list[Any] = field(default_factory=list)  # the prediction for each record
    asked: list[float | None] = field(default_factory=list)  # how likely it was that the model asked about it
    guesses: list[Any] = field(default_factory=list)  # where it asked: its guess just before it learned the answer
    waited: list[bool] = field(default_factory=list)  # whether it waited for its label under its id
    ids: list[str | None] = field(default_factory=list)
    one: bool = True
    each: bool | None = None  # of a stream: learned so that it does not tell how the stream was cut into batches
    target: list[int] = field(default_factory=list)  # of an undo: position and row; of a restore: position
    time: float = field(default_factory=time.time)
    position: int = 0
    undone: set[int] = field(default_factory=set)  # rows that were taken back later

    def body(self) -> bytes:
        """The entry as it is stored."""
        names = ("records", "labels", "weights", "given", "asked", "guesses", "waited", "ids", "one", "each", "target")
        # Empty fields are left out: most entries hold one record and one label.
        return dump({name: value for name in names if (value := getattr(self, name)) not in ([], None)})

    def id_of(self, row: int) -> str:
        """The id of an example: the one that was sent, or one made of its place in the journal."""
        given = self.ids[row] if self.ids else None
        return given if given is not None else f"{MADE}{self.position}.{row}"

    def kept(self) -> list[int]:
        """The rows that were not taken back."""
        return [row for row in range(len(self.records)) if row not in self.undone]


class Damaged(Exception):
    """An entry of the journal is not what was written."""

    def __init__(self, position: int) -> None:
        super().__init__(f"The journal's entry {position} is damaged.")
        self.position = position


class Journal:
    """The entries of one model in the store."""

    def __init__(self, store: Store, model: int) -> None:
        self.store, self.model = store, model

    def append(self, connection: sqlite3.Connection, entry: Entry) -> None:
        """Write an entry, inside a transaction."""
        body = entry.body()
        # The checksum is of the stored bytes; SQLite itself does not notice a flipped bit in a page.
        row = (self.model, entry.position, entry.kind, len(entry.records), entry.time, body, zlib.crc32(body))
        connection.execute(
            "INSERT INTO journal (model, position, kind, rows, time, body, sum) VALUES (?, ?, ?, ?, ?, ?, ?)", row
        )
        # Only sent ids are indexed; those that the service makes spell their position and row.
        named = [(self.model, id, entry.position, i) for i, id in enumerate(entry.ids) if id is not None]
        if named:
            connection.executemany("INSERT INTO labels (model, id, position, row) VALUES (?, ?, ?, ?)", named)

    def entries(self, after: int, last: int) -> Iterator[Entry]:
        """Entries in order, those after one position up to another; raises Damaged at the first that is not whole."""
        expected = after + 1
        while expected <= last:
            # In portions: a journal may hold more rows than fit in memory as objects.
            rows = self.store.rows(
                "SELECT position, kind, time, body, sum, undone FROM journal WHERE model = ? AND position >= ? "
                "AND position <= ? ORDER BY position LIMIT ?",
                *(self.model, expected, last, ENTRIES_AT_ONCE),
            )
            # A gap is damage too: the entries after it were learned on top of the missing one.
            if not rows:
                raise Damaged(expected)
            for position, kind, when, body, total, undone in rows:
                if position != expected or zlib.crc32(body) != total:
                    raise Damaged(expected)
                expected += 1
                yield as_entry(position, kind, when, body, undone)

    def last(self) -> int:
        """The position of the newest entry; 0 if there is none."""
        (found,) = self.store.one("SELECT max(position) FROM journal WHERE model = ?", self.model)
        return int(found or 0)

    def first(self) -> int:
        """The position of the oldest entry that is kept; 0 if there is none."""
        (found,) = self.store.one("SELECT min(position) FROM journal WHERE model = ?", self.model)
        return int(found or 0)

    def find(self, id: str) -> tuple[int, int] | None:
        """Where an example is: position and row; None if it is not in the kept journal."""
        found = self.store.one("SELECT position, row FROM labels WHERE model = ? AND id = ?", self.model, id)
        if found is not None:
            return int(found[0]), int(found[1])
        place = made_place(id)
        # A made id names its place, so one lookup tells whether an entry with so many rows is there.
        sql = "SELECT 1 FROM journal WHERE model = ? AND position = ? AND kind = ? AND rows > ?"
        return place if place is not None and self.store.one(sql, self.model, place[0], LEARN, place[1]) else None

    def entry(self, position: int) -> Entry:
        """One entry."""
        return next(self.entries(position - 1, position))

    def restores(self) -> list[tuple[int, int]]:
        """Every return to an earlier position, the newest first: where it stands, and where it went."""
        rows = self.store.rows(
            "SELECT position, body FROM journal WHERE model = ? AND kind = ? ORDER BY position DESC",
            *(self.model, RESTORE),
        )
        # The body is read directly: these entries have a target and nothing else.
        return [(int(position), int(json.loads(body)["target"][0])) for position, body in rows]

    def size(self, after: int = 0) -> tuple[int, int]:
        """Rows and bytes that are kept, of the entries after a position."""
        rows, size = self.store.one(
            "SELECT coalesce(sum(rows), 0), coalesce(sum(length(body)), 0) FROM journal "
            "WHERE model = ? AND position > ?",
            *(self.model, after),
        )
        return int(rows), int(size)


def as_entry(position: int, kind: str, when: float, body: bytes, undone: str) -> Entry:
    rows = {int(row) for row in undone.split(",") if row}
    return Entry(kind, **json.loads(body), position=position, time=when, undone=rows)


def made_place(id: str) -> tuple[int, int] | None:
    """The place that an id made by the service names; None for an id that was sent."""
    position, dot, row = id.removeprefix(MADE).partition(".")
    # isascii, because isdigit accepts digits of other scripts, which the service never writes.
    if not id.startswith(MADE) or not dot or not (position + row).isascii() or not (position + row).isdigit():
        return None
    # SQLite holds integers of 63 bits; longer numbers would raise instead of not being found.
    return (int(position), int(row)) if len(position) < 18 and 0 < len(row) < 18 and position else None
