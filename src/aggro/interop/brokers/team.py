"""Several consumers of one Kafka topic train one model: each learns some partitions, and the models are merged.

A round begins with the model in the file. Each partition is learned from a copy of it, by the consumer to which the
group gives the partition, and the result is a *part*: a file with that model and its place. One of the consumers leads.
When it has the parts of all partitions it merges them, as training on a cluster does, and replaces the model's file:
the merged model and the places of all partitions in one step. That begins the next round.

So it does not matter who dies when, nor who has which partition: a part that never came, or that nobody merged, is
learned again from the same model and the same place. If the leader dies, the next consumer that asks leads, since the
lock on its file is gone.
"""

from __future__ import annotations

import contextlib
import copy
import os
import secrets
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from aggro.interop.brokers.follower import KEPT_AS, POLL_SECONDS, Follower
from aggro.interop.brokers.intake import Counts, Intake, Options
from aggro.interop.brokers.kafka_topics import KafkaTopic
from aggro.interop.brokers.source import Message, SourceError, Unreachable, patiently
from aggro.learners.base.combined import ROWS_OF_RECORDS, common_start, settle
from aggro.learners.base.inside import innermost, model_of
from aggro.mixing.mixture import check_is_one, merge, says_how
from aggro.mixing.records import Unsettled
from aggro.models import load_checkpoint, save
from aggro.models.atomic import Held, holding, lock

ROUND = "round"  # in what is kept with a model: a name that no other round has
LATE = 60.0  # seconds after the first part of a round, when those that lack are not waited for
SHORT_WAIT = 0.02  # seconds for a message, while a round ends
LOOKS_EVERY = 60.0  # seconds, for new partitions


class Base(NamedTuple):
    """The model that a round begins with."""

    learner: Any
    position: dict[str, Any]

    @property
    def kept(self) -> dict[str, Any]:
        """What is kept with the model: places, counts, what is to be written."""
        return {"at": {}, "read": {}, "counts": {}, "to_write": [], **(self.position.get(KEPT_AS) or {})}

    @property
    def round(self) -> str | None:
        """The name of the round; None if no leader has begun one."""
        return self.kept.get(ROUND)


class Folder:
    """The files that the consumers share: the model, the parts beside it, and the lock of the leader."""

    def __init__(self, path: str) -> None:
        self.path, self.folder = path, Path(f"{path}.parts")
        self.folder.mkdir(exist_ok=True)
        self._leading = contextlib.ExitStack()
        self._fd: int | None = None

    # The model

    def stamp(self) -> Any:
        """Something that changes when the model's file is replaced; None if there is none."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return None
        # The inode changes with each replacement, also where two come within one tick of the clock.
        return found.st_mtime_ns, found.st_ino, found.st_size

    def base(self) -> Base:
        """The model in the file."""
        learner, position = load_checkpoint(Path(self.path), shell=False)
        return Base(learner, position if isinstance(position, dict) else {})

    def begin_round(self, learner: Any, position: Mapping[str, Any], kept: Mapping[str, Any]) -> None:
        """Replace the model, under the name of a new round, and take the parts of others away."""
        name = secrets.token_hex(8)
        # The model first: parts of the old round may only go once the merged model is on the disk.
        save(learner, self.path, {**position, KEPT_AS: {**kept, ROUND: name}})
        for file in self.folder.glob("*-*"):
            # A part of the new round may be there already, from a fast consumer.
            if not file.name.startswith(f"{name}-"):
                file.unlink(missing_ok=True)

    # Its parts

    def part(self, name: str | None, partition: int) -> Path:
        """The file of a partition's part in a round."""
        return self.folder / f"{name}-{partition}"

    def parts(self, name: str | None) -> dict[int, Path]:
        """The parts of a round that are there."""
        found = {int(file.name.rpartition("-")[2]): file for file in self.folder.glob(f"{name}-*")}
        return dict(sorted(found.items()))

    # The leader

    def lead(self) -> bool:
        """Whether this process leads now: it did, or nobody does."""
        if self._fd is not None:
            return True
        fd = os.open(self.folder / "leader", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            # Asked for again and again by all consumers, so it must not block.
            lock(fd, wait=False)
        except BlockingIOError:
            os.close(fd)
            return False
        self._fd = fd
        self._leading.callback(self._follow_again)
        try:
            # The lock of a process that learns alone: both ways of learning one file exclude each other.
            self._leading.enter_context(holding(self.path))  # nobody else learns the model alone
        except Held:
            self.close()
            raise
        return True

    def _follow_again(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def close(self) -> None:
        """Let another lead."""
        self._leading.close()


class Member:
    """One of several consumers. It has what a ``Follower`` has for reports: counts, learner, notes and lag."""

    def __init__(self, path: str, topic: KafkaTopic, options: Options, merge_every: int) -> None:
        self.folder, self.topic, self.options, self.merge_every = Folder(path), topic, options, merge_every
        self.notes: list[str] = []
        self.lag_seen: int | None = None
        self.rounds = 0  # that this process has merged, as the leader
        self._base = Base(None, {})
        self._stamp: Any = None
        self._work: dict[int, Intake] = {}  # by partition, of this round
        self._handed: set[int] = set()  # partitions whose parts are there
        self._waiting: dict[int, list[Message]] = {}  # messages that were read, and belong to this round or the next
        self._began = 0.0
        self._first_part = 0.0
        self.leads = False
        self._partitions: set[int] = set()  # of the topic
        self._looked = 0.0

    # What reports show

    @property
    def learner(self) -> Any:
        """The model that was merged last."""
        return self._base.learner

    @property
    def counts(self) -> Counts:
        """What became of all messages that the merged model has ever been given."""
        known = {field.name for field in fields(Counts)}
        return Counts(**{name: n for name, n in self._base.kept.get("counts", {}).items() if name in known})

    def lag(self) -> int | None:
        """The messages of this consumer's partitions that were not read yet."""
        try:
            self.lag_seen = self.topic.lag()
        except Unreachable:
            return None
        return self.lag_seen

    # The loop

    def run(self, idle: float | None, report: Callable[[Any], None] | None) -> Counts:
        """Learn with the others until nothing came for ``idle`` seconds, or for ever."""
        try:
            self._take_base()
            self.notes += self._share()
            began = quiet = time.monotonic()
            owned = self.topic.owned
            while True:
                came = self._step()
                now = time.monotonic()
                joining = not self.topic.joined and now - began < LATE
                if came or self._has_work() or self.topic.owned != owned or joining:
                    # Also while partitions change hands: that nothing comes then says nothing about the stream.
                    quiet, owned = now, self.topic.owned
                if report is not None:
                    report(self)
                left = float("inf") if idle is None else idle - (now - quiet)
                # LATE is the way out if a partition is never read to its end, because its consumer is gone.
                if left <= 0 and (self._all_is_read() or left < -LATE):
                    self._forget_written()
                    break
        finally:
            self.topic.close()
            self.folder.close()
        return self.counts

    def _step(self) -> int:
        # A new model in the file ends the round for everyone.
        if self.folder.stamp() != self._stamp:
            self._take_base()
        # Any consumer takes over once the leader's lock is gone.
        if not self.leads and self.folder.lead():
            self.leads = True
            self._take_office()
        # While a round ends, waiting long for messages would hold up the merge.
        full = len(self._handed) == len(self.topic.owned) or self._has_work()
        messages = self._calling(lambda: self.topic.read(self.options.batch, SHORT_WAIT if full else POLL_SECONDS))
        # Kept by partition: each is learned from a copy of its own.
        for message in messages:
            self._waiting.setdefault(int(message.part.rpartition("/")[2]), []).append(message)
        if self._base.round is not None:  # a leader has begun
            for partition in sorted(self.topic.owned):
                self._learn(partition)
        # After learning, when it is known how much still waits.
        self._hold_back()
        if self.leads:
            self._merge()
        return len(messages)

    def _calling(self, do: Callable[[], Any]) -> Any:
        return patiently(do, self._share, self.topic.name, self.notes, lambda: False)

    def _share(self) -> list[str]:
        return self.topic.share(self._next_place, self._revoked)

    def _has_work(self) -> bool:
        """Whether there are messages that are in no merged model."""
        return any(self._waiting.values()) or bool(self._work)

    def _all_is_read(self) -> bool:
        """Whether the merged model has come to the end of every partition, also of those that nobody has now."""
        at = self._base.kept["at"]
        ends = self._calling(lambda: {p: self.topic.ends(p) for p in self._all_partitions()})
        # Compared with the merged place: what was learned and not merged may still be lost.
        return all(at.get(self._part(p), first - 1) + 1 >= last for p, (first, last) in ends.items())

    # A round

    def _take_base(self) -> None:
        """Begin with the model that is in the file now."""
        self._stamp = self.folder.stamp()
        before, self._base = self._base, self.folder.base()
        # Same round, other bytes: only what was written out has been dropped from the file.
        if self._base.round == before.round and before.learner is not None:
            return
        at, stood = self._base.kept["at"], before.kept["at"]
        stray = []  # partitions of which what waits does not follow on what was merged
        # If the merged place is where this consumer stands, its waiting messages follow on and are kept.
        for partition in self.topic.owned:
            work, part = self._work.get(partition), self._part(partition)
            if (stood if work is None else work.at).get(part) != at.get(part):
                stray.append(partition)
        # Copies of the old model are of no use; unmerged parts are learned again from the new one.
        self._work, self._handed = {}, set()
        self._began, self._first_part = time.monotonic(), 0.0
        for partition in stray:
            self._waiting.pop(partition, None)
        # The client goes back, or ahead, to the merged place.
        if stray:
            self._calling(lambda: self.topic.go_to({p: self._next_place(p) for p in stray}))
        # Committed offsets follow the merged model, never the parts.
        if self.topic.owned:
            self.notes += self._calling(lambda: self.topic.acknowledge(at))

    def _part(self, partition: int) -> str:
        return f"{self.topic.name}/{partition}"

    def _next_place(self, partition: int) -> int | None:
        """The offset of the first message that this consumer has not got; None for the first one that there is."""
        waiting = self._waiting.get(partition)
        # The furthest of the three: messages in hand, the part being learned, the merged model.
        if waiting:
            return int(waiting[-1].place) + 1
        work = self._work.get(partition)
        at = self._base.kept["at"] if work is None else work.at
        place = at.get(self._part(partition))
        return None if place is None else int(place) + 1

    def _revoked(self, partitions: set[int]) -> None:
        """These belong to others now, who begin where the merged model is."""
        for partition in partitions:
            self._work.pop(partition, None)
            self._waiting.pop(partition, None)
            self._handed.discard(partition)

    def _learn(self, partition: int) -> None:
        """Learn what waits of a partition, as much as belongs to this round; and hand the part in when it is whole."""
        if partition in self._handed:
            return
        file = self.folder.part(self._base.round, partition)
        # The part is complete: it only has to be merged.
        if partition not in self._work and file.exists():  # of the consumer who had the partition before
            self._handed.add(partition)
            return
        waiting = self._waiting.get(partition, [])
        work = self._work.get(partition)
        # The copy is made with the first message; a partition without any costs none.
        if work is None and waiting:
            place = {name: self._base.kept[name] for name in ("at", "read")}
            work = self._work[partition] = Intake(copy.deepcopy(self._base.learner), self.options, place)
        if work is not None:
            # A part holds at most merge_every records, also where more of them wait.
            some = waiting[: self.merge_every - work.counts.records]
            work.take(some)
            work.passed(some)
            del waiting[: len(some)]
        time_is_up = time.monotonic() - self._began >= self.options.every
        if work is not None and (work.counts.records >= self.merge_every or time_is_up):
            # save() replaces the file in one step, so the leader never reads half a part.
            save(work.learner, file, work.kept())
        elif work is None and time_is_up and self.folder.parts(self._base.round):
            file.touch()  # nothing came: nobody need wait for this partition
        else:
            return
        self._handed.add(partition)

    def _hold_back(self) -> None:
        """Do not read on where enough waits for the next round."""
        full = {p for p, waiting in self._waiting.items() if len(waiting) >= self.options.batch}
        self._calling(partial(self.topic.hold, full))

    # The leader

    def _take_office(self) -> None:
        """Write what the leader before may not have written, and give the round a name if it has none."""
        self._take_base()
        kept = self._base.kept
        # The last leader may have died between saving and writing; entries that come twice have the same key.
        self._write(kept["to_write"])
        # The first round: columns and roles must be final before copies learn apart, or they could not be merged.
        if self._base.round is None:
            learner = self._base.learner
            settle(innermost(learner))  # rows that wait would be learned by every copy
            learner.encoder_.settle(dict(learner.encoder_.columns))
            self._begin_round(learner, together(kept, {}))

    def _begin_round(self, learner: Any, kept: Mapping[str, Any]) -> None:
        self.folder.begin_round(learner, self._base.position, kept)
        self._take_base()

    def _forget_written(self) -> None:
        """All is written: the next start need not do it again."""
        kept = self._base.kept
        if self.leads and kept["to_write"]:
            save(self._base.learner, self.folder.path, {**self._base.position, KEPT_AS: {**kept, "to_write": []}})

    def _merge(self) -> None:
        """Merge the parts of the round, if all are there that will come."""
        files = self.folder.parts(self._base.round)
        # An empty file says "nothing came": it counts as handed in, and adds nothing.
        there = {partition: file for partition, file in files.items() if file.stat().st_size}
        if not there:
            return
        now = time.monotonic()
        self._first_part = self._first_part or now
        # Without all parts the leader waits until LATE; what comes later is learned again in the next round.
        if not self._all_partitions() <= files.keys() and now - self._first_part < LATE:
            return
        # By partition number, so that the merged bits do not depend on which part came first.
        parts = {partition: load_checkpoint(file, shell=False) for partition, file in there.items()}
        try:
            learner = merge(self._base.learner, [learner for learner, _ in parts.values()])
        except Unsettled:  # new columns, in different order: one begins, and the others learn again with what it knows
            read = {p: kept["read"].get(self._part(p), 0) for p, (_, kept) in parts.items()}
            # The partition that is least far, so that none is left behind for ever.
            first = min(read, key=lambda p: (read[p], p))
            parts = {first: parts[first]}
            learner = parts[first][0]
        # Only the parts that were merged move their places; the others are learned again.
        kept = together(self._base.kept, {self._part(p): kept for p, (_, kept) in parts.items()})
        self._begin_round(learner, kept)
        self.rounds += 1
        # After the model is saved, as always: the entries are in the file until then.
        self._write(kept["to_write"])

    def _all_partitions(self) -> set[int]:
        if not self._partitions or time.monotonic() - self._looked > LOOKS_EVERY:
            self._partitions = {*self._calling(self.topic.partitions)}
            self._looked = time.monotonic()
        return self._partitions

    def _write(self, entries: list[list[Any]]) -> None:
        streams: dict[str, list[Any]] = {}
        for stream, entry in entries:
            streams.setdefault(stream, []).append(entry)
        for stream, some in streams.items():
            self._calling(partial(self.topic.write, stream, some))


def together(base: Mapping[str, Any], parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What is kept with a merged model: the places and counts of all, and all that is to be written."""
    at, read, counts, to_write = dict(base["at"]), dict(base["read"]), dict(base["counts"]), []
    for part, kept in parts.items():
        # Each part's own place only: the rest of its "at" is a copy of the base.
        at[part], read[part] = kept["at"][part], kept["read"][part]
        counts = {name: counts.get(name, 0) + n for name, n in kept["counts"].items()}
        to_write += kept["to_write"]
    return {"at": at, "read": read, "counts": counts, "to_write": to_write}


def learn_together(
    path: str,
    topic: KafkaTopic,
    new: Callable[[], tuple[Any, Any]],
    options: Options,
    merge_every: int,
    idle: float | None,
    report: Callable[[Any], None] | None,
) -> Counts:
    """Be one of the consumers of a model. ``new`` gives the model of the file and its position, or a new one."""
    if sys.platform == "win32":
        raise SourceError("merge_every needs locks on files, which Windows has not in this form.")
    member = Member(path, topic, options, merge_every)
    while True:  # the first rows are learned by one alone: all copies must know the same columns
        try:
            # One process learns the first rows, and the others look again until the file has enough of them.
            leads = member.folder.lead()
        except Held:
            member.folder.close()
            raise
        found, position = new() if leads or os.path.exists(path) else (None, None)
        # The lock is released: inside run() the consumers agree on a leader again.
        if found is not None and has_begun(found):
            member.leads = False
            member.folder.close()
            return member.run(idle, report)
        if leads:
            # Before the first row: a learner that cannot be merged should not first learn for minutes.
            check_can_be_merged(found)
            with contextlib.ExitStack() as closing:
                closing.callback(member.folder.close)
                follower = Follower(found, path, topic, None, options, position)
                follower.run(idle, report, until=lambda one: has_begun(one.learner))
            if not has_begun(follower.learner):
                return follower.counts
        else:
            time.sleep(POLL_SECONDS)


def has_begun(learner: Any) -> bool:
    """Whether a model has learned so many rows that copies of it may learn apart."""
    if model_of(learner) is None:
        return False
    # Enough rows for the roles of columns, and for the common start that merging needs.
    return bool(learner.n_seen_ >= max(ROWS_OF_RECORDS, common_start(learner)))


def check_can_be_merged(learner: Any) -> None:
    """Refuse a learner whose models cannot be merged."""
    inner = learner.estimator if learner.__dict__.get("estimator_") is None else learner.estimator_
    if inner is None:
        return
    try:
        check_is_one(inner)
    except ValueError as error:
        raise SourceError(f"{error} Or leave merge_every out.") from error
    if not says_how(inner):
        raise SourceError(f"Models of {type(inner).__name__} cannot be merged. Leave merge_every out.")
