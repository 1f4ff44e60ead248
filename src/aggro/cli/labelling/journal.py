"""What a person answered, on disk before the next question.

The file is JSON Lines: first a line that says what the run is, then one for each answer, skip and undo. A line is
written whole and forced to the disk (fsync) before the next question, and lines are only ever added. The learner in
memory learns an answer just before it is written, so that what it refuses is not in the file; a model is saved only
behind its line. So it can be made again from this file and the data, and it is the journal that must not be lost. A
last line that a killed process has not finished is dropped: no saved model has learned it, and the question is asked
again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from aggro.cli.console import Mistake

ANSWER, SKIP, UNDO = "answer", "skip", "undo"


class Event(NamedTuple):
    """What was done about one question."""

    do: str  # ANSWER or SKIP
    row: int  # its number in the data, from 0
    label: Any = None
    guess: Any = None  # of the model, before
    p: float = 1.0  # the probability with which it was asked
    seen: Any = None  # the row as it was shown


def digest(events: Sequence[Event]) -> str:
    """Tells whether two runs were answered alike."""
    from aggro.models.codec import dumps, encode

    text = dumps([[event.do, event.row, encode(event.label)] for event in events])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Journal:
    """The file, held by one process at a time; ``events`` are those that have not been taken back."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run: dict[str, Any] | None = None  # what the first line says; None if there is none
        self.events: list[Event] = []
        self.undone = 0
        try:
            # Only added to: O_APPEND writes at the end, whatever is open elsewhere.
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
        except OSError as error:
            raise Mistake(f"{path}: {error.strerror}.") from error
        # Locked before it is read, so that nobody writes in between.
        try:
            self._lock()
            self._read()
        except BaseException:
            os.close(self._fd)
            raise

    def _lock(self) -> None:
        from aggro.models.atomic import lock

        try:
            lock(self._fd, wait=False)
        except BlockingIOError as error:
            raise Mistake(f"{self.path} is in use: another aggro label is running with this model.") from error
        # Without locks, it is left to the user that one process writes.
        except OSError:  # a disk without locks
            return

    def _read(self) -> None:
        with open(self.path, "rb") as file:
            whole = file.read()
        # What follows the last newline was not written to its end.
        *lines, torn = whole.split(b"\n")
        entries = []
        for number, line in enumerate(lines, 1):
            try:
                entries.append(self._entry(line))
            except (ValueError, KeyError, TypeError) as error:
                # In the middle of the file it is somebody's edit; only the last line can be torn by a crash.
                if number < len(lines):
                    raise Mistake(
                        f"{self.path}, line {number}: aggro label did not write this line. "
                        "Correct it, or move the file away to start again."
                    ) from error
                torn = line + b"\n" + torn  # the disk had the line's length, and not yet what is in it
        # Cut off at once, or the next answer would be joined to half a line.
        if torn:
            os.ftruncate(self._fd, len(whole) - len(torn))
            os.fsync(self._fd)
        if not entries:
            return
        self.run, *events = entries
        if "run" not in self.run or "do" in self.run:
            raise Mistake(f"{self.path}, line 1: this is not a journal of aggro label. Move the file away.")
        for number, entry in enumerate(events, 2):
            # The first line says what the run is, and no second may; an undo needs something to take back.
            if "run" in entry or (entry["do"] == UNDO and not self.events):
                raise Mistake(f"{self.path}, line {number}: this line does not belong here. Delete it.")
            self._take(entry)

    def _entry(self, line: bytes) -> dict[str, Any]:
        entry: dict[str, Any] = json.loads(line)
        if "run" in entry:
            return entry
        if entry["do"] in (ANSWER, SKIP):
            from aggro.models.codec import decode

            label, guess = decode(entry.get("label")), decode(entry.get("guess"))
            entry = {**entry, "row": int(entry["row"]), "label": label, "guess": guess, "p": float(entry["p"])}
        elif entry["do"] != UNDO:
            raise ValueError(entry["do"])
        return entry

    def _take(self, entry: dict[str, Any]) -> None:
        if entry["do"] == UNDO:
            self.events.pop()
            self.undone += 1
        else:
            self.events.append(Event(**entry))

    @property
    def name(self) -> str:
        """What tells this run from others, in few letters."""
        text = json.dumps(self.run, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def begun(self) -> bool:
        """Was anything ever answered?"""
        return bool(self.events or self.undone)

    def begin(self, run: dict[str, Any]) -> None:
        """Write the first line."""
        from aggro.models.atomic import sync_folder

        # A file from an earlier try may hold a first line, and no answers.
        os.ftruncate(self._fd, 0)
        self._write(run)
        sync_folder(os.path.dirname(os.path.realpath(self.path)))  # its name must be on the disk too
        self.run, self.events, self.undone = run, [], 0

    def add(self, event: Event) -> None:
        """Put an answer or a skip on the disk."""
        # Labels may be of types that JSON lacks, so they are encoded.
        from aggro.models.codec import encode

        line = {"do": event.do, "row": event.row, "guess": encode(event.guess), "p": event.p, "seen": event.seen}
        self._write(line if event.do == SKIP else {**line, "label": encode(event.label)})
        self.events.append(event)

    def undo(self) -> Event:
        """Take the last answer or skip back."""
        self._write({"do": UNDO})
        self.undone += 1
        return self.events.pop()

    def _write(self, entry: dict[str, Any]) -> None:
        line = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        size = os.fstat(self._fd).st_size
        try:
            # A write may take only a part, as on a disk that is nearly full.
            while line:
                line = line[os.write(self._fd, line) :]
            # Forced to the disk: an answer must outlast a loss of power.
            os.fsync(self._fd)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, size)  # no half line that a later one would be joined to
            raise Mistake(f"{self.path}: {error.strerror}. The last answer is not kept; all before it are.") from error

    def close(self) -> bool:
        """Let other processes have it; a journal in which nothing was ever answered goes. Whether it stays."""
        if not self.begun:
            # Removed while it is still locked, so that no other process has begun to use it.
            self.path.unlink(missing_ok=True)
        os.close(self._fd)
        return self.begun
