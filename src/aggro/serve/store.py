"""One SQLite file that holds everything but the models: journal, waiting records, keys, tokens.

Write-ahead log, ``synchronous=FULL``: what was committed survives a power cut. One thread writes. It takes all that
waits, writes it in one transaction and answers everyone after the commit, so that a commit's ``fsync`` is shared (group
commit). Readers have connections of their own and never wait for it. The file does not shrink: pages of what was
deleted take what comes next, so a journal that is full goes round in the same pages.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from aggro.serve.problems import Problem

STORE_FORMAT = 1
MOST_CHANGES = 1_024  # changes in one transaction
WAL_PAGES = 1_000  # of the write-ahead log, before it is written back
SCHEMA = """
CREATE TABLE IF NOT EXISTS models (
    model INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE NOT NULL, spec TEXT NOT NULL, base TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS journal (
    model INTEGER NOT NULL, position INTEGER NOT NULL, kind TEXT NOT NULL, rows INTEGER NOT NULL,
    time REAL NOT NULL, body BLOB NOT NULL, sum INTEGER NOT NULL, undone TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (model, position)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS labels (
    model INTEGER NOT NULL, id TEXT NOT NULL, position INTEGER NOT NULL, row INTEGER NOT NULL,
    PRIMARY KEY (model, id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS labels_by_position ON labels (model, position);
CREATE TABLE IF NOT EXISTS keys (
    model INTEGER NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL, position INTEGER NOT NULL, answer TEXT NOT NULL,
    PRIMARY KEY (model, key)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS keys_by_position ON keys (model, position);
CREATE TABLE IF NOT EXISTS waiting (
    number INTEGER PRIMARY KEY AUTOINCREMENT, model INTEGER NOT NULL, id TEXT NOT NULL, time REAL NOT NULL,
    record TEXT NOT NULL, prediction TEXT NOT NULL, asked REAL, UNIQUE (model, id));
CREATE INDEX IF NOT EXISTS waiting_by_asked ON waiting (model, asked);
CREATE INDEX IF NOT EXISTS waiting_asked ON waiting (model, number) WHERE asked IS NOT NULL;
CREATE TABLE IF NOT EXISTS snapshots (
    model INTEGER NOT NULL, position INTEGER NOT NULL, time REAL NOT NULL, rows INTEGER NOT NULL, file TEXT NOT NULL,
    sum TEXT NOT NULL, stale INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (model, position)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS followed (
    model INTEGER NOT NULL, source TEXT NOT NULL, state TEXT NOT NULL, PRIMARY KEY (model, source)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tokens (
    name TEXT PRIMARY KEY, hash BLOB NOT NULL, scopes TEXT NOT NULL, time REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS set_aside (
    model INTEGER NOT NULL, position INTEGER NOT NULL, why TEXT NOT NULL, time REAL NOT NULL, body BLOB);
"""

Change = Callable[[sqlite3.Connection], Any]
STOP_WRITING = object()


class StoreError(Exception):
    """Something could not be written; nothing of it was."""


class Store:
    """The database of one folder, and the thread that writes to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._closed = False
        self.commits = 0  # transactions so far
        self.changes = 0  # changes in them
        writer = self._open()
        self._prepare(writer)
        writer.close()
        self._ready: Future[None] = Future()
        self._thread = threading.Thread(target=self._write_all, name="aggro-store", daemon=True)
        self._thread.start()
        self._ready.result()

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=30.0, isolation_level=None)
        # FULL syncs the log at each commit. NORMAL would lose the last commits in a power cut.
        for setting in ("journal_mode=WAL", "synchronous=FULL", f"wal_autocheckpoint={WAL_PAGES}", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {setting}")
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version not in (0, STORE_FORMAT):
            raise StoreError(
                f"{self.path} was written by another version of aggro (format {version}, not {STORE_FORMAT})."
            )
        # Damage shows at the start, where the database can still be set aside, and not in the middle of a request.
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise sqlite3.DatabaseError(str(found))
        # Schema and version in one transaction: a crash in between leaves an empty file, not half a schema.
        connection.execute("BEGIN IMMEDIATE")
        for statement in SCHEMA.split(";"):
            if statement.strip():
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version={STORE_FORMAT}")
        connection.execute("COMMIT")

    # Reading --------------------------------------------------------------------------------------------

    @property
    def reader(self) -> sqlite3.Connection:
        """This thread's own connection."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        # A connection belongs to one thread, and keeps its prepared statements.
        if connection is None:
            connection = self._local.connection = self._open()
            # All changes go through the writing thread; this makes a slip an error.
            connection.execute("PRAGMA query_only=ON")
        return connection

    def rows(self, sql: str, *values: Any) -> list[Any]:
        """All rows of a query."""
        return self.reader.execute(sql, values).fetchall()

    def one(self, sql: str, *values: Any) -> Any:
        """The first row of a query, or None."""
        return self.reader.execute(sql, values).fetchone()

    # Writing --------------------------------------------------------------------------------------------

    def submit(self, change: Change) -> Future[Any]:
        """Have a change written; the future is done when it is on the disk."""
        future: Future[Any] = Future()
        if self._closed:
            future.set_exception(StoreError("The service is stopping."))
        else:
            self._waiting.put((change, future))
        return future

    def write(self, change: Change) -> Any:
        """Write a change, and wait until it is on the disk."""
        return self.submit(change).result()

    def execute(self, sql: str, *values: Any) -> None:
        """Write one statement, and wait."""
        self.write(lambda connection: connection.execute(sql, values).rowcount)

    def close(self) -> None:
        """Write what waits, and stop."""
        if not self._closed:
            self._closed = True
            # The mark is the last in the queue, so everything before it is still written.
            self._waiting.put(STOP_WRITING)
            self._thread.join()

    def _write_all(self) -> None:
        connection = self._open()
        self._ready.set_result(None)
        stopping = False
        while not stopping:
            # What came while the last commit waited for the disk goes into the next one.
            jobs = [self._waiting.get()]
            while len(jobs) < MOST_CHANGES and not self._waiting.empty():
                jobs.append(self._waiting.get())
            stopping = any(job is STOP_WRITING for job in jobs)
            self._commit(connection, [job for job in jobs if job is not STOP_WRITING])
        connection.close()

    def _commit(self, connection: sqlite3.Connection, jobs: list[tuple[Change, Future[Any]]]) -> None:
        """One transaction of all jobs; one that fails is undone alone."""
        answers: list[tuple[Future[Any], Any]] = []
        try:
            if not jobs:
                return
            connection.execute("BEGIN IMMEDIATE")
            for change, future in jobs:
                # A change that is refused must not take the others with it.
                connection.execute("SAVEPOINT change")
                try:
                    answer = change(connection)
                except (Problem, sqlite3.IntegrityError) as error:
                    connection.execute("ROLLBACK TO change")
                    future.set_exception(error)
                else:
                    answers.append((future, answer))
                # ROLLBACK TO leaves its savepoint on the stack, so it is released in both cases.
                connection.execute("RELEASE change")
            connection.execute("COMMIT")
        except BaseException as error:  # a full disk, for one: nothing of this transaction is there
            # SQLite rolls some errors back by itself; a second ROLLBACK would raise.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            for _, future in jobs:
                if not future.done():
                    future.set_exception(StoreError(f"The disk could not be written: {error}."))
            if not isinstance(error, Exception):
                raise
            return
        # Nobody is answered before the commit: an answer promises that the change is on the disk.
        self.commits += 1
        self.changes += len(jobs)
        for future, answer in answers:
            future.set_result(answer)

    def size(self) -> int:
        """Bytes of the database and of its log."""
        files = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())
