"""One served model: predictions from a published copy, and one thread that learns.

A request to learn goes through ``Model.learn`` into a queue. The model's thread takes all that wait, learns them in
order on the spare copy (``replicas.py``), has the store write them (``store.py``, one commit for all), publishes the
copy and answers. So an answer means: it is on the disk, and predictions know it. If the disk refuses, nothing was
learned.
"""

from __future__ import annotations

import copy
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aggro.serve import learners
from aggro.serve.board import Board
from aggro.serve.journal import LEARN, RESTORE, UNDO, Damaged, Entry, Journal
from aggro.serve.keys import Keys
from aggro.serve.limits import Limits
from aggro.serve.problems import Problem, one_line, short, trace
from aggro.serve.recovery import OutOfReach, Recovery, State, count, last_whole, learn_rows
from aggro.serve.replicas import Replicas, Side
from aggro.serve.shapes import MADE, Examples
from aggro.serve.snapshots import Snapshots
from aggro.serve.store import Store, StoreError
from aggro.serve.waiting import Waiting, WaitingRoom

LOG = logging.getLogger("aggro.serve")
STOP_LEARNING = object()


@dataclass
class Followed:
    """Where a stream stands after some examples, to be written with them in one transaction."""

    source: str
    state: Callable[[dict[int, str]], str]  # by the reasons for which examples were refused, by their numbers


@dataclass
class Job:
    """A request to learn, and where its answer goes."""

    examples: Examples
    key: str | None
    digest: bytes
    future: Future[Any] = field(default_factory=Future)
    followed: Followed | None = None  # for examples of a stream

    def names(self) -> list[str]:
        """Its key and its ids, by which another request may be about the same."""
        # The prefixes keep keys and ids apart: a key may be spelled like an id.
        key = [] if self.key is None else [f"key {self.key}"]
        return key + [f"id {id}" for id in self.examples.ids if id is not None]


@dataclass
class Task:
    """Something else to be done between two groups, by the thread that learns."""

    do: Callable[[], Any]
    future: Future[Any] = field(default_factory=Future)


@dataclass
class Done:
    """A job that was learned on the spare copy and is not on the disk yet."""

    job: Job
    entry: Entry
    answer: dict[str, Any]
    drifts: int
    ids: list[str]  # whose records wait no longer
    state: str | None = None  # of the stream that is followed


class Model:
    """A model with a name."""

    def __init__(
        self, store: Store, number: int, name: str, spec: dict[str, Any], folder: Path, limits: Limits
    ) -> None:
        self.store, self.number, self.name, self.spec = store, number, name, spec
        self.folder, self.limits = folder, limits
        self.journal = Journal(store, number)
        self.snapshots = Snapshots(store, number, folder)
        self.recovery = Recovery(self.journal, self.snapshots, self._begin)
        self.waiting = WaitingRoom(store, number, limits)
        self.keys = Keys(store, number)
        self.lost: list[str] = []  # what recovery could not bring back, in words
        self.predictions = 0
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._board_lock = threading.Lock()
        self._stopping = False
        # Two classes and more than two run different compiled code, hence "up to 3".
        self._seen: set[int] = set()  # numbers of classes (up to 3) for which predictions have been compiled
        # Recovery runs before the thread starts, so nothing can be learned on a state that is not complete.
        self.position, state = self._recovered()
        self.replicas = Replicas(state[0])
        self._become(state)
        self._since = [0, 0]  # rows and bytes in the journal since the newest snapshot
        self._thread = threading.Thread(target=self._run, name=f"aggro-{name}", daemon=True)
        self._thread.start()

    # Beginning ------------------------------------------------------------------------------------------

    def _begin(self) -> State:
        # An uploaded model begins with a snapshot at position 0; without it no description rebuilds the learner.
        if self.spec.get("uploaded"):
            raise OutOfReach("The uploaded file is not kept any more.")
        learner = learners.make(self.spec)
        return learner, Board(learners.task_of(learner))

    def _recovered(self) -> tuple[int, State]:
        """The newest position that can be reached, and the model there. What is damaged is set aside, and said."""
        position = self.journal.last()
        newest = self.snapshots.listed()
        # A database rebuilt from snapshots has an empty journal, so the newest snapshot may be ahead of it.
        position = max([position, *(one.position for one in newest if not one.stale)])
        try:
            return position, self.recovery.state_at(position)
        except Damaged as damage:
            # Every entry after the damaged one builds on it, so the model ends at the last entry whose checksum holds.
            last = last_whole(self.journal, damage.position - 1, position)
            self._set_aside(last)
            return last, self.recovery.state_at(last)

    def _set_aside(self, last: int) -> None:
        """Move the journal's entries after a position out of the way: one of them is damaged."""
        now = time.time()

        def move(connection: sqlite3.Connection) -> int:
            values = (now, self.number, last)
            # The damaged bytes are copied before they are deleted, so that an expert can still look at them.
            moved = connection.execute(
                "INSERT INTO set_aside SELECT model, position, 'damaged journal', ?, body FROM journal "
                "WHERE model = ? AND position > ?",
                values,
            ).rowcount
            # Ids, snapshots and keys after that position describe a model that no longer exists.
            for table in ("journal", "labels", "snapshots", "keys"):
                connection.execute(f"DELETE FROM {table} WHERE model = ? AND position > ?", values[1:])
            return int(moved)

        moved = self.store.write(move)
        self.lost.append(f"{moved} entries after position {last} were damaged and set aside")
        LOG.error("%s: %s", self.name, self.lost[-1])

    def _become(self, state: State) -> None:
        learner, board = state
        self.replicas.replace(learner)
        # Readers copy the board under this lock; they must see the old one or the new one.
        with self._board_lock:
            self.board = board
        self.task = board.task
        self.columns = learners.known_columns(learner)
        # The copies are new objects, whose specialised code may not have been compiled yet.
        self._seen.clear()

    # Predicting -----------------------------------------------------------------------------------------

    def predict(self, examples: Examples, side: Side) -> list[Any]:
        """The prediction for each record, by one copy of the model."""
        learner = side.learner
        try:
            # One record on a warm copy skips the checks of learners.predict: this path sets the latency of the service.
            if side.ready and examples.one:  # most requests
                found = [learners.plain(learner.predict_one(learners.as_row(learner, examples.records[0])))]
            else:
                found = learners.predict(learner, examples.records, examples.one)
        except learners.REFUSALS as error:
            raise Problem(422, "cannot_predict", one_line(error)) from None
        self.predictions += len(found)
        return found

    def probabilities(self, examples: Examples, side: Side) -> list[dict[str, float] | None]:
        """The probability of each class for each record."""
        with learners.refusing(422, "cannot_predict"):
            return learners.probabilities(side.learner, examples.records)

    def explain(self, record: Any, label: Any, side: Side) -> dict[str, Any]:
        """The reasons for a prediction."""
        with learners.refusing(422, "cannot_explain"):
            return learners.explain(side.learner, record, label)

    # Requests -------------------------------------------------------------------------------------------

    def learn(self, examples: Examples, key: str | None = None, digest: bytes = b"") -> Future[Any]:
        """Have examples learned; the future has the answer as soon as they are on the disk and published."""
        job = Job(examples, key, digest)
        self._enter(job)
        return job.future

    def learn_stream(self, examples: Examples, followed: Followed) -> Future[Any]:
        """Have examples of a stream learned, and its place written with them; those that are refused are left out."""
        job = Job(examples, None, b"", followed=followed)
        self._enter(job)
        return job.future

    def place_in(self, source: str) -> str | None:
        """The state that was written with the last examples of a stream; None if there were none."""
        found = self.store.one("SELECT state FROM followed WHERE model = ? AND source = ?", self.number, source)
        return None if found is None else str(found[0])

    def _enter(self, job: Job | Task) -> None:
        if self._stopping:
            raise Problem(503, "stopping", "The model is being stopped.")
        # A bounded queue: past this length a client is better served by "try again" than by waiting.
        if self._inbox.qsize() >= self.limits.queue:
            raise Problem(503, "busy", "Too many requests wait to be learned. Try again in a moment.", retry_after=1)
        self._inbox.put(job)

    def run(self, do: Callable[[], Any]) -> Future[Any]:
        """Have something done between two groups, by the thread that learns."""
        task = Task(do)
        self._enter(task)
        return task.future

    def undo(self, id: str, key: str | None = None, digest: bytes = b"") -> Future[Any]:
        """Take a label back, exactly."""
        return self.run(lambda: self._undo(id, key, digest))

    def restore(self, position: int, key: str | None = None, digest: bytes = b"") -> Future[Any]:
        """Go back to an earlier snapshot."""
        return self.run(lambda: self._restore(position, key, digest))

    def snapshot(self) -> Future[Any]:
        """Take a snapshot now."""
        return self.run(self._snapshot)

    def close(self, snapshot: bool = True) -> None:
        """Stop learning, after all that waits; and take a last snapshot."""
        if self._stopping:
            return
        # The snapshot is a task in the same queue, so it comes after everything that was accepted before.
        if snapshot:
            try:
                last = self.snapshot()
                last.result()
            except Problem:  # nothing was learned
                pass
            except Exception as error:  # the journal has it all
                LOG.warning("%s: no last snapshot: %s", self.name, one_line(error))
        # Only after the snapshot: from here on _enter refuses every request.
        self._stopping = True
        self._inbox.put(STOP_LEARNING)
        self._thread.join()

    # The thread that learns -----------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            # Blocks for the first request, then takes what is there: under load many requests share one commit.
            waiting = [self._inbox.get()]
            while len(waiting) < self.limits.group and not self._inbox.empty():
                waiting.append(self._inbox.get())
            # A task must see everything before it learned and stored, so it splits the requests into groups.
            group: list[Job] = []
            for one in waiting:
                if isinstance(one, Job):
                    group.append(one)
                    continue
                self._guarded_group(group)
                group = []
                if one is STOP_LEARNING:
                    return
                self._do(one)
            self._guarded_group(group)

    def _do(self, task: Task) -> None:
        try:
            task.future.set_result(task.do())
        except BaseException as error:
            task.future.set_exception(error)

    def _guarded_group(self, group: list[Job]) -> None:
        """Learn jobs; whatever happens, each of them is answered."""
        if not group:
            return
        try:
            self._learn_group(group)
            self._snapshot_if_due()
        except BaseException as error:
            LOG.error("%s: learning failed: %s", self.name, trace(error))
            # Jobs that were answered before the failure keep their answers.
            for job in group:
                if not job.future.done():
                    job.future.set_exception(error)

    def _learn_group(self, group: list[Job]) -> None:
        done: list[Done] = []
        names: set[str] = set()  # keys and ids of what is not on the disk yet
        for job in group:
            named = job.names()
            # The store only knows what is committed. A second job about the same key or id must find the first there.
            if not names.isdisjoint(named):  # what it is about must be known first
                self._finish(done)
                done, names = [], set()
            try:
                # The positions of this group move on only with the commit, hence the count of what is not written yet.
                found = self._learn_one(job, self.position + len(done) + 1)
            except Problem as problem:
                job.future.set_exception(problem)
                # Other problems come before any row is learned; after Refused the spare may hold half a request.
                if isinstance(problem, Refused):
                    self._start_over(done)
            except Exception as error:
                # An unforeseen error may have struck anywhere, so the spare copy cannot be trusted either.
                LOG.error("%s: a request could not be learned: %s", self.name, trace(error))
                job.future.set_exception(error)
                self._start_over(done)
            else:
                if found is not None:
                    done.append(found)
                    names.update(named)
        self._finish(done)

    def _learn_one(self, job: Job, position: int) -> Done | None:
        """Learn a job on the spare copy; None if it was done before, and its answer is known."""
        # A repeated request gets its first answer; learning it twice would count the rows twice.
        if job.key is not None:
            answer = self.keys.answer(job.key, job.digest)
            if answer is not None:
                job.future.set_result(answer)
                return None
        examples = job.examples
        if job.followed is not None:
            return self._learn_stream(job, job.followed, position)
        # Every check that can fail comes before the call of the learner, so that a refusal leaves the copy untouched.
        found = self._waiting_for(examples)
        records = [one.record for one in found if one is not None] if not examples.records else examples.records
        self._check_labels(examples, len(records))
        fresh = self._check_columns(records)
        learner = self.replicas.spare.learner
        # The prediction is taken before the label is learned, so that the progressive error is honest.
        given = self._given(learner, records, found, examples.one)
        asked = [None if one is None else one.asked for one in found]
        guesses = self._guesses(learner, records, asked, examples.one)
        try:
            learners.learn(learner, records, examples.labels, examples.weights, examples.one)
        except learners.REFUSALS as error:
            # Rows of numbers are learned one by one, so those before the refused row have been learned.
            if not examples.one and not learners.takes_records(learner):  # some of its rows may have been learned
                raise Refused(422, "cannot_learn", one_line(error)) from None
            raise Problem(422, "cannot_learn", one_line(error)) from None
        self._check_nested(learner, records)
        # Only after success: a refused request must not use up columns of the limit.
        self.columns |= fresh
        # The entry holds everything that a replay needs, since the replay has to give the same bits and the same board.
        entry = Entry(
            LEARN,
            records=records,
            labels=examples.labels,
            weights=examples.weights,
            given=given,
            asked=asked if any(found) else [],
            guesses=guesses,
            waited=[one is not None for one in found] if any(found) else [],
            ids=examples.ids,
            one=examples.one,
            position=position,
        )
        answer = {"learned": len(records), "position": position}
        if examples.one:
            answer |= {"id": entry.id_of(0)}
        waited = [one.id for one in found if one is not None]
        return Done(job, entry, answer, learners.n_drifts(learner), waited)

    def _learn_stream(self, job: Job, followed: Followed, position: int) -> Done:
        """Learn examples of a stream on the spare copy; those that are refused are not in the journal."""
        records, labels = job.examples.records, job.examples.labels
        self._check_labels(job.examples, len(records))
        fresh = self._check_columns(records)
        learner = self.replicas.spare.learner
        # Predictions first, as for single requests: the board judges what was said before the labels were known.
        given = self._given(learner, records, [None] * len(records), False) if records else []
        refused = learners.learn_stream(learner, records, labels)
        self._check_nested(learner, records)
        self.columns |= fresh
        # A replay learns the kept rows alone; a refused row changed nothing, so the bits agree.
        kept = [k for k in range(len(records)) if k not in refused]
        entry = Entry(
            LEARN,
            records=[records[k] for k in kept],
            labels=[labels[k] for k in kept],
            given=[given[k] for k in kept],
            one=False,
            each=True,
            position=position,
        )
        answer = {"learned": len(kept), "position": position}
        return Done(job, entry, answer, learners.n_drifts(learner), [], followed.state(refused))

    def _waiting_for(self, examples: Examples) -> list[Waiting | None]:
        """For each example the record that waits under its id, if there is one."""
        if not examples.ids:
            return [None] * len(examples.records)
        return [self._waiting_one(examples, i) for i in range(len(examples.ids))]

    def _waiting_one(self, examples: Examples, i: int) -> Waiting | None:
        id, sent = examples.ids[i], bool(examples.records)
        if id is None:
            if not sent:
                raise Problem(422, "no_record", "An example has neither a record nor an id.")
            return None
        found = self.waiting.find(id)
        # The stored record counts; a different one under the same id is most likely an error of the sender.
        if found is not None:
            if sent and examples.records[i] != found.record:
                raise Problem(409, "id_in_use", f"Another record waits under the id {short(id)}.")
            return found
        # An id whose label was taken back may be learned again.
        place = self.journal.find(id)
        if place is not None and place[1] not in self.journal.entry(place[0]).undone:
            raise Problem(409, "already_learned", f"The example {short(id)} has been learned already.")
        if not sent:
            advice = "It was never predicted under this id, or it waited too long."
            raise Problem(404, "unknown_id", f"No record waits under the id {short(id)}. {advice}")
        # Checked last: ids that the service made are valid for records that it knows, which were found above.
        if id.startswith(MADE):
            raise Problem(422, "bad_id", f"Ids that begin with {MADE!r} are made by the service.")
        return None

    def _check_labels(self, examples: Examples, n: int) -> None:
        if self.task == "outlier":
            if examples.labels:
                raise Problem(
                    422, "no_labels_here", f"A {learners.name_of(self.replicas.spare.learner)} has no labels."
                )
            return
        # n counts the records that were found waiting too, so ids with labels are enough.
        if len(examples.labels) != n:
            raise Problem(422, "no_label", "The field 'label' is missing." if examples.one else "'labels' is missing.")
        if self.task == "regression":
            for label in examples.labels:
                if isinstance(label, str | bool):
                    raise Problem(422, "bad_label", f"This model learns numbers, got the label {short(label)}.")
        elif len(self.board.classes) + n > self.limits.classes:  # else there is no need to look
            known = {*self.board.classes} | {learners.spelled(label) for label in examples.labels}
            if len(known) > self.limits.classes:
                raise Problem(422, "too_many_classes", f"A model may have {self.limits.classes:,} classes.")

    def _check_columns(self, records: list[Any]) -> set[str]:
        """The columns that are new; a problem if the model would know too many."""
        fresh: set[str] = set()
        for record in records:
            if isinstance(record, dict) and not record.keys() <= self.columns:
                fresh |= record.keys() - self.columns
        if len(fresh) + len(self.columns) > self.limits.columns:
            raise Problem(422, "too_many_columns", f"A model may know {self.limits.columns:,} columns.")
        return fresh

    def _check_nested(self, learner: Any, records: list[Any]) -> None:
        """Refuse records whose inner fields, which only the learner takes apart, were too many."""
        # Without nested cells _check_columns has counted every column already.
        cells = (cell for record in records if isinstance(record, dict) for cell in record.values())
        if any(cell.__class__ in (dict, list) for cell in cells):
            if len(learners.known_columns(learner)) > self.limits.columns:
                raise Refused(422, "too_many_columns", f"A model may know {self.limits.columns:,} columns.")

    @staticmethod
    def _guesses(learner: Any, records: list[Any], asked: list[float | None], one: bool) -> list[Any]:
        """What the model would say now of the records that it asked about; nothing if there are none."""
        # Only answers to the model's own questions enter the estimated error; the rest need no second prediction.
        if all(p is None for p in asked):
            return []
        try:
            now = learners.predict(learner, records, one)
        except learners.REFUSALS:
            return []
        return [None if p is None else guess for guess, p in zip(now, asked, strict=True)]

    @staticmethod
    def _given(learner: Any, records: list[Any], found: list[Waiting | None], one: bool) -> list[Any]:
        """The prediction for each record: the one that was given, or the one that would be given now."""
        # Each record has the prediction that its client got; nothing need be computed.
        if all(found):
            return [waiting.prediction for waiting in found if waiting is not None]
        try:
            now = learners.predict(learner, records, one)
        except learners.REFUSALS:  # the very first columns, for one: there is no prediction to be judged
            now = [None] * len(records)
        return [now[i] if waiting is None else waiting.prediction for i, waiting in enumerate(found)]

    def _start_over(self, done: list[Done]) -> None:
        """Make the spare copy anew: a request failed in the middle."""
        learner = self.replicas.reset_spare()
        # The front copy lacks what this group has learned so far, so the good jobs are learned again.
        for one in done:
            learn_rows(learner, one.entry)
        self.columns = learners.known_columns(learner)

    def _finish(self, done: list[Done]) -> None:
        """Write what was learned, publish it, answer, and learn it on the other copy."""
        if not done:
            return
        try:
            # The disk comes first: whatever is published or answered is already safe.
            self.store.write(lambda connection: self._enter_all(connection, done))
        except Exception as error:
            # The front copy still is what the disk holds, and the spare becomes a copy of it.
            self._start_over([])
            LOG.error("%s: %s", self.name, one_line(error))
            text = "The examples could not be written to the disk, so they were not learned. Send them again."
            problem = Problem(503, "not_stored", text, retry_after=5)
            for one in done:
                one.job.future.set_exception(problem)
            return
        # Compile before publishing: the copy must answer its first reader without a pause.
        self.position += len(done)
        self._make_ready(done[-1].entry.records)
        # The board moves on in journal order, as a replay would move it.
        with self._board_lock:
            for one in done:
                count(self.board, one.entry, one.drifts)
        # Answers follow the publication, so a client that predicts next meets a model that knows its examples.
        self.replicas.publish()
        for one in done:
            one.job.future.set_result(one.answer)
        # The former front catches up by the same calls in the same order; thereafter both copies have the same bits.
        other = self.replicas.wait_for_readers()
        for one in done:
            learn_rows(other, one.entry)
            self._since[0] += len(one.entry.records)

    def _enter_all(self, connection: sqlite3.Connection, done: list[Done]) -> None:
        # All of this happens in one transaction: no crash can separate an entry from its ids, keys or stream place.
        for one in done:
            self.journal.append(connection, one.entry)
            if one.job.followed is not None:
                row = (self.number, one.job.followed.source, one.state)
                connection.execute("INSERT OR REPLACE INTO followed (model, source, state) VALUES (?, ?, ?)", row)
            if one.ids:
                self.waiting.remove(connection, one.ids)
            if one.job.key is not None:
                self.keys.remember(connection, one.job.key, one.job.digest, one.entry.position, one.answer)

    def _make_ready(self, records: list[Any]) -> None:
        """Have code compiled by this thread, so that no prediction waits for it."""
        side = self.replicas.spare
        # The board has not counted this group yet, so the learner may know a class more.
        kinds = min(3, len(self.board.classes)) if self.task == "classification" else 0
        kinds = min(3, len(learners.classes_of(side.learner))) if kinds < 3 else kinds
        if kinds not in self._seen and records:
            try:
                learners.exercise(side.learner, records)
            # Some learners have no probabilities or reasons; then there is no code for them to compile.
            except (*learners.REFUSALS, Problem):
                LOG.debug("%s: not every question can be asked of this model", self.name)
            self._seen.add(kinds)
        side.ready = True

    # Snapshots ------------------------------------------------------------------------------------------

    def _snapshot_if_due(self) -> None:
        rows, size = self._since
        if rows < self.limits.snapshot_rows and size < self.limits.snapshot_bytes:
            return
        try:
            self._snapshot()
        except StoreError as error:  # the journal has it all; it will be tried again
            LOG.error("%s: no snapshot: %s", self.name, one_line(error))
            # Half the interval until the next try: a full disk is not hit again after every group.
            self._since = [self.limits.snapshot_rows // 2, 0]

    def _snapshot(self) -> dict[str, Any]:
        # The spare is not read by anybody while this thread rests, and it equals the front bit for bit.
        found = self.snapshots.take(self.replicas.spare.learner, self.board, self.position)
        if found is None:
            raise Problem(409, "nothing_learned", "The model has learned nothing yet, so there is nothing to save.")
        self._since = [0, 0]
        self._compact()
        return found.facts()

    def _compact(self) -> None:
        """Drop what is older than the limits say; the two newest snapshots can always be reached."""
        listed = self.snapshots.listed()
        good = [one for one in listed if not one.stale]
        # Stale snapshots hold a label that was taken back, so no recovery may start from them.
        old = [one.position for one in listed if one.stale] + [one.position for one in good[self.limits.snapshots :]]
        if old:
            self.snapshots.drop(old)
        good = good[: self.limits.snapshots]
        # With fewer than two snapshots the journal is the only second way back, so all of it is kept.
        if len(good) < 2 or self._fits_after(0):
            return
        # The oldest snapshot whose later entries fit the limits; if none fits, the second newest.
        base = next((one.position for one in reversed(good[1:]) if self._fits_after(one.position)), good[1].position)

        def drop(connection: sqlite3.Connection) -> None:
            for table in ("journal", "labels"):
                # Ids go with their entries: an older label can no longer be taken back.
                connection.execute(f"DELETE FROM {table} WHERE model = ? AND position <= ?", (self.number, base))
            self.keys.prune(connection, self.limits.keys)

        self.store.write(drop)

    def _fits_after(self, position: int) -> bool:
        rows, size = self.journal.size(position)
        return bool(rows <= self.limits.journal_rows and size <= self.limits.journal_bytes)

    # Going back -----------------------------------------------------------------------------------------

    def _undo(self, id: str, key: str | None, digest: bytes) -> dict[str, Any]:
        if key is not None and (answer := self.keys.answer(key, digest)) is not None:
            return dict(answer)
        place = self.journal.find(id)
        if place is None:
            if self.journal.first() > 1:
                text = f"The label {short(id)} is older than the journal that is kept, or was never learned."
                raise Problem(409, "too_old", text)
            raise Problem(404, "unknown_id", f"No label was learned under the id {short(id)}.")
        position, row = place
        entry = self.journal.entry(position)
        if row in entry.undone:
            raise Problem(409, "already_undone", f"The label {short(id)} was taken back before.")
        # After a restore the entries in between are in the journal, but not in the model.
        if not self.recovery.on_the_way(self.position, position):
            raise Problem(409, "not_learned", f"The model went back to before it learned {short(id)}.")
        try:
            # Rebuilt without the row, before anything is written: if that fails, nothing has changed.
            state = self.recovery.state_at(self.position, without=place)
        except (OutOfReach, Damaged) as error:
            raise Problem(409, "too_old", f"The label {short(id)} cannot be taken back: {error}") from None
        undo = Entry(UNDO, target=[position, row], position=self.position + 1)
        label = entry.labels[row] if entry.labels else None
        answer = {"undone": id, "label": label, "position": undo.position}
        undone = ",".join(map(str, sorted(entry.undone | {row})))

        def enter(connection: sqlite3.Connection) -> None:
            # Marked in the entry itself, so that every later replay leaves the row out.
            mine = (self.number, position)
            connection.execute("UPDATE journal SET undone = ? WHERE model = ? AND position = ?", (undone, *mine))
            connection.execute("UPDATE snapshots SET stale = 1 WHERE model = ? AND position >= ?", mine)
            # The id is free again: the corrected label may be learned under it.
            connection.execute("DELETE FROM labels WHERE model = ? AND id = ?", (self.number, id))
            self.journal.append(connection, undo)
            # A record that had waited for its label waits again, with the prediction it was given at first.
            if entry.waited and entry.waited[row]:
                p = entry.asked[row] if entry.asked else None
                self.waiting.back(connection, id, entry.records[row], entry.given[row], p)
            if key is not None:
                self.keys.remember(connection, key, digest, undo.position, answer)

        # As everywhere: first the disk, then the memory.
        self.store.write(enter)
        self.position = undo.position
        self._become(state)
        self._ready_again(entry.records)
        return answer

    def _restore(self, target: int, key: str | None, digest: bytes) -> dict[str, Any]:
        # A restore that was done and is sent again must not go back a second time.
        if key is not None and (answer := self.keys.answer(key, digest)) is not None:
            return dict(answer)
        found = next((one for one in self.snapshots.listed() if one.position == target), None)
        if found is None:
            raise Problem(404, "no_snapshot", f"There is no snapshot {target}.")
        # A stale snapshot still names its position; the journal rebuilds the model there without the undone label.
        state = None if found.stale else self.snapshots.load(found)
        if state is None:
            # A damaged file is no loss as long as an older snapshot and the journal lead to the same position.
            try:
                state = self.recovery.state_at(target)
            except (OutOfReach, Damaged) as error:
                text = f"The snapshot {target} is damaged and cannot be made again: {error}"
                raise Problem(409, "damaged_snapshot", text) from None
        # The entries in between stay in the journal; from here on recovery passes over them.
        entry = Entry(RESTORE, target=[target], position=self.position + 1)
        answer = {"restored": target, "rows": state[1].rows, "position": entry.position}

        def enter(connection: sqlite3.Connection) -> None:
            self.journal.append(connection, entry)
            if key is not None:
                self.keys.remember(connection, key, digest, entry.position, answer)

        self.store.write(enter)
        self.position = entry.position
        self._become(state)
        self._ready_again([])
        # A snapshot at the new position: a restart then need not replay from the target.
        self._snapshot()
        return answer

    def _ready_again(self, records: list[Any]) -> None:
        """Have code compiled for both copies, which are new."""
        learner = self.replicas.spare.learner
        if learners.rows_learned(learner):
            # Both copies share the compiled code, so exercising the spare warms the front too.
            self._make_ready(records or [learners.sample(learner)])
            with self.replicas.reading() as front:
                front.ready = True

    def warm(self) -> None:
        """Have everything compiled that predictions need, and wait for it."""
        self.run(lambda: self._ready_again([])).result()

    # What is known --------------------------------------------------------------------------------------

    def board_now(self) -> Board:
        """The board, to be read at leisure."""
        with self._board_lock:
            # A copy under the lock: the learning thread may go on at once.
            return self.board.copy()

    def queue_length(self) -> int:
        """How many requests wait to be learned."""
        return self._inbox.qsize()

    def whole(self) -> Any:
        """A copy of the published learner."""
        with self.replicas.reading() as side:
            return copy.deepcopy(side.learner)


class Refused(Problem):
    """Examples were refused when some of them may have been learned."""
