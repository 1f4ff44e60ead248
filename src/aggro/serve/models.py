"""All models of one folder: created, found by name, deleted, brought back at the start."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aggro.serve import learners
from aggro.serve.board import Board
from aggro.serve.journal import Damaged
from aggro.serve.limits import Limits
from aggro.serve.model import Model
from aggro.serve.problems import Problem, one_line, short
from aggro.serve.recovery import OutOfReach
from aggro.serve.shapes import check_name
from aggro.serve.snapshots import Snapshots
from aggro.serve.store import Store, StoreError

LOG = logging.getLogger("aggro.serve")
DEFAULT = "default"
DATABASE, MODELS_FOLDER, LOCK = "aggro.db", "models", "lock"


class FolderInUse(Exception):
    """Another process serves from the folder."""


class Models:
    """The models in a folder; ``with Models(folder) as models`` closes them in order."""

    def __init__(
        self,
        folder: Path,
        limits: Limits | None = None,
        default: dict[str, Any] | None = None,
        file: Path | None = None,
        name: str = DEFAULT,
    ) -> None:
        """``default`` describes the model of that name, if there is none yet; ``file`` is a model file for ``name``."""
        self.folder, self.limits = folder, limits or Limits()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Two processes in one folder would each learn half of the examples: the lock comes before any reading.
        self._lock_file = held(folder / LOCK)
        self.notes: list[str] = []  # what whoever starts it should know, such as what could not be brought back
        self.store = self._opened()
        self._lock = threading.Lock()
        self._models: dict[str, Model] = {}
        self.failed: dict[str, str] = {}  # models that cannot be brought back, and why
        # A model that cannot be brought back must not keep the others from being served.
        for number, known, spec in self.store.rows("SELECT model, name, spec FROM models ORDER BY model"):
            try:
                self._models[known] = self._model(number, known, json.loads(spec))
            except (OutOfReach, Damaged, Problem) as error:
                self.failed[known] = one_line(error)
                self.notes.append(f"{known}: {self.failed[known]}")
                LOG.error("%s cannot be brought back: %s", known, self.failed[known])
        try:
            # What was learned in the folder is newer than the file that started it, so the file is not read again.
            if file is not None and name in {*self._models, *self.failed}:
                text = f"{name}: goes on with what is in {folder}, not with {file}; --name or --dir starts another"
                self.notes.append(text)
            elif file is not None:
                self.upload(name, file.read_bytes())
            if DEFAULT not in {*self._models, *self.failed}:
                self.create(DEFAULT, default or learners.check_spec({}))
        # The folder must be free again: the models that did start end, and the lock goes.
        except BaseException:
            self.close()
            raise
        self.started = time.time()

    def _opened(self) -> Store:
        """The store; a database that is damaged beyond reading is set aside and made anew from the snapshots."""
        path = self.folder / DATABASE
        try:
            return Store(path)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):  # locked, or a full disk: not damaged
                raise
            # Kept and not deleted: the journal in it may still be saved by hand.
            aside = path.with_name(f"{DATABASE}.damaged-{int(time.time())}")
            # The log belongs to the damaged file; a new database must not replay it.
            for end in ("", "-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.replace(f"{path}{end}", f"{aside}{end}")
            # A new database knows no models; their folders hold name, description and snapshots.
            store = Store(path)
            self._from_snapshots(store)
            self.notes.append(
                f"The database was damaged ({error}). It is kept as {aside.name}; models are as of their snapshots."
            )
            LOG.error(self.notes[-1])
            return store

    def _from_snapshots(self, store: Store) -> None:
        """Enter the newest good snapshot of each model's folder into an empty database."""
        # Other names are no folders of models, but somebody's copies.
        folders = [one for one in (self.folder / MODELS_FOLDER).glob("*") if one.name.isdecimal()]
        for folder in sorted(folders, key=lambda folder: int(folder.name)):
            try:
                # model.json repeats name and description outside the database, for this case alone.
                described = json.loads((folder / "model.json").read_text())
            except (OSError, ValueError):
                continue
            # File names hold the position with leading zeros, so reverse order is newest first.
            for file in sorted(folder.glob("*.aggro"), reverse=True):
                try:
                    learner, position = learners.read(file)
                    board = Board.from_json(position["board"])
                except Exception as error:
                    LOG.error("%s cannot be used: %s", file, one_line(error))
                    continue
                number = int(folder.name)
                # Described as before, so that a PUT may be repeated. The journal goes on behind the snapshot, so
                # recovery never takes it for the whole, and makes no empty model of the description.
                spec = json.dumps(described["spec"])
                store.execute("INSERT INTO models VALUES (?, ?, ?, '')", number, described["name"], spec)
                Snapshots(store, number, folder).take(learner, board, position["position"])
                break
        # A folder without a good snapshot keeps its number too: what is left in it may be saved by hand.
        highest = max((int(folder.name) for folder in folders), default=0)

        def reserve(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM sqlite_sequence WHERE name = 'models'")
            connection.execute("INSERT INTO sqlite_sequence VALUES ('models', ?)", (highest,))

        store.write(reserve)

    def _model(self, number: int, name: str, spec: dict[str, Any]) -> Model:
        model = Model(self.store, number, name, spec, self.folder / MODELS_FOLDER / str(number), self.limits)
        self.notes += [f"{name}: {lost}" for lost in model.lost]
        return model

    # Finding --------------------------------------------------------------------------------------------

    def find(self, name: str) -> Model:
        """The model of a name."""
        model = self._models.get(name)
        if name in self.failed:
            raise Problem(503, "lost", f"The model {short(name)} cannot be brought back: {self.failed[name]}")
        if model is None:
            raise Problem(404, "no_model", f"There is no model {short(name)}.")
        return model

    def __iter__(self) -> Iterator[Model]:
        return iter([*self._models.values()])

    def __len__(self) -> int:
        return len(self._models)

    # Changing -------------------------------------------------------------------------------------------

    def create(self, name: str, spec: dict[str, Any]) -> tuple[Model, bool]:
        """A new model that knows nothing, and True; or the one that is there with the same description, and False."""
        check_name(name)
        # A trial learner checks the settings before the lock is taken and anything is written.
        learners.make(spec)
        with self._lock:
            if name in self.failed:
                self.find(name)  # which says why
            known = self._models.get(name)
            if known is not None:
                # The same request sent twice is not an error: PUT may be repeated.
                if known.spec == spec:
                    return known, False
                raise Problem(409, "model_exists", f"There is a model {short(name)} already. Delete it first.")
            return self._enter(name, spec), True

    def upload(self, name: str, data: bytes) -> tuple[Model, bool]:
        """A model from the bytes of a model file, and whether it is new."""
        from aggro.serve.keys import digest_of

        check_name(name)
        learner = learners.from_upload(data)
        # The digest of the bytes stands for the description: the same file again is the same model.
        spec = {"learner": learners.name_of(learner), "uploaded": digest_of(data).hex()}
        with self._lock:
            if name in self.failed:
                self.find(name)  # which says why
            known = self._models.get(name)
            if known is not None:
                if known.spec == spec:
                    return known, False
                raise Problem(409, "model_exists", f"There is a model {short(name)} already. Delete it first.")
            return self._enter(name, spec, learner), True

    def _enter(self, name: str, spec: dict[str, Any], learner: Any = None) -> Model:
        if len(self._models) >= self.limits.models:
            raise Problem(409, "too_many_models", f"There are {self.limits.models} models, and no more are allowed.")

        def insert(connection: sqlite3.Connection) -> int:
            sql = "INSERT INTO models (name, spec, base) VALUES (?, ?, '')"
            return int(connection.execute(sql, (name, json.dumps(spec))).lastrowid or 0)

        number = self.store.write(insert)
        folder = self.folder / MODELS_FOLDER / str(number)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "model.json").write_text(json.dumps({"name": name, "spec": spec}))
            # An uploaded learner has counters of its own; the board starts from them, so rows and classes agree.
            if learner is not None:
                board = Board(learners.task_of(learner))
                board.rows = learners.rows_learned(learner)
                board.classes = {learners.spelled(label): [0, 0] for label in learners.classes_of(learner)}
                # Position 0 comes before every entry, so this file is what the journal is replayed on.
                Snapshots(self.store, number, folder).take(learner, board, 0)
            # The model recovers from what was just written, by the same way as after a restart.
            model = self._model(number, name, spec)
        except BaseException as error:
            # A half-made model must not be found by the next start.
            self._forget(number)
            if isinstance(error, OSError):
                raise StoreError(f"The model {name} could not be written: {error}.") from error
            raise
        self._models[name] = model
        return model

    def delete(self, name: str) -> None:
        """Delete a model and everything about it."""
        # The lock is held to the end: until then the store has the name, and a new model cannot take it.
        with self._lock:
            # A model that failed to start has no thread to stop.
            if name in self.failed:
                (number,) = self.store.one("SELECT model FROM models WHERE name = ?", name)
                self._forget(number)
                del self.failed[name]
                return
            model = self.find(name)
            # Found no more from here on, so that no request stores anything for it behind its end.
            del self._models[name]
            try:
                model.close(snapshot=False)  # waits for all that it still learns
                self._forget(model.number)
            except BaseException:
                # The store still has it, so it must be there to be deleted once more.
                self._models[name] = model
                raise

    def _forget(self, number: int) -> None:
        def forget(connection: sqlite3.Connection) -> None:
            for table in ("journal", "labels", "keys", "waiting", "snapshots", "set_aside", "followed", "models"):
                connection.execute(f"DELETE FROM {table} WHERE model = ?", (number,))

        self.store.write(forget)
        shutil.rmtree(self.folder / MODELS_FOLDER / str(number), ignore_errors=True)

    # Ending ---------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Stop every model after what waits, with a last snapshot, and close the store."""
        # Models first, since their last snapshots go through the store.
        for model in self:
            model.close()
        self.store.close()
        self._lock_file.close()

    def __enter__(self) -> Models:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def held(path: Path) -> Any:
    """A file that no other process holds; the lock dies with the process."""
    file = path.open("a")
    try:
        import fcntl

        # The kernel drops the lock with the process, however it ends. A file with a process id would outlive a crash.
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # Windows: SQLite's own locks must do
        return file
    except OSError:
        file.close()
        raise FolderInUse(f"{path.parent} is served by another process.") from None
    return file
