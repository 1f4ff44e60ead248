"""Going on where a run was stopped.

With ``--checkpoint N`` the model and its place in the data are saved together, in one file beside the model
(``m.aggro.checkpoint``), each time N more rows are learned and a chunk ends. ``--resume`` goes on from there;
if there is no such file it starts at the beginning, so it can be given every time.

When all is learned, that is kept in a last checkpoint, then the model is saved and tested, and when the result is
printed the checkpoint goes. A run that is stopped in between does not learn again, even if the model that it has
saved is the one that it began with.

On Dask a checkpoint is a pass: the model that was mixed of all partitions is saved after each, however small N is.

The file also says what the run was: its data, its options and its learner. Another command is refused.
Compressed data are read again up to the place and passed over; stdin cannot be read again, and is refused.
"""

from __future__ import annotations

import os
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aggro.cli.console import Mistake
from aggro.cli.model_files import load_with_position, save_model
from aggro.cli.options import Reading
from aggro.learners.base.inside import innermost, parameters_of

if TYPE_CHECKING:
    from aggro.streams import Position, Stream

ENDING = ".checkpoint"  # behind the model's name
FINGERPRINT_BYTES = 65536  # bytes at both ends of a file that tell whether it is the same


@dataclass(frozen=True)
class Place:
    """How far a run is: passes done, the place in the pass, and what was left out in it so far.

    There is no place in a pass before the first, nor when all are done.
    """

    passes: int = 0
    stream: Position | None = None
    bad_lines: int = 0
    unlabelled: int = 0


class Checkpoints:
    """The checkpoint of one run."""

    def __init__(
        self,
        model: Path,
        every: int | None,
        stream: Stream,
        passes: int,
        reading: Reading,
        origin: Path | None,
        mixing: str | None = None,
    ) -> None:
        self.model, self.file = model, model.with_name(model.name + ENDING)
        self.every, self.passes = every, passes
        self.rows = 0  # learned when it was last saved
        self.saved = False  # is the model?
        self.run: dict[str, Any] = {}
        # All that decides what is learned: with another one of these, a resumed run would be a mixture of two.
        if every is not None:
            self.run = {
                "files": {name: fingerprint(name) for name in stream.files},
                # The run may write over the model that it starts from, so only its name counts then.
                "--from": origin and named(origin, model),
                "passes": passes,
                "chunk_bytes": stream.chunk_bytes,
                "options": asdict(reading),
                "mixing": mixing,  # of partitions, or None: a run in one process does not go on with one on Dask
            }

    def take(self, learner: Any, place: Place) -> None:
        """Save, if enough was learned since the last time."""
        # Counted in rows learned, so that unlabelled rows do not save a model that has not changed.
        if self.every is not None and learner.n_seen_ - self.rows >= self.every:
            self._save(learner, place)

    def keep(self, learner: Any, place: Place) -> None:
        """Save, whatever was learned since: all of it, or a pass over all partitions."""
        if self.every is not None:
            self._save(learner, place)

    def _save(self, learner: Any, place: Place) -> None:
        # Model and place in one file: they can never belong to different moments.
        save_model(learner, self.file, {**asdict(place), "stream": list(place.stream or ()), "run": self.run})
        self.rows = learner.n_seen_

    def resume(self, fresh: Any) -> tuple[Any, Place] | None:
        """The learner and its place; None if there is no checkpoint. ``fresh`` is what a new run would begin with."""
        if not self.file.exists():
            return None
        learner, kept = load_with_position(self.file)
        # A model has no run beside it.
        if not isinstance(kept, dict) or not isinstance(kept.get("run"), dict):
            raise Mistake(f"{self.file} is a model, not a checkpoint. Leave --resume out to start again.")
        # The first difference is enough for the message.
        for what, then, now in (*differences(kept["run"], self.run), *differences(traits(learner), traits(fresh))):
            raise Mistake(
                f"{self.file} belongs to another run: its {what} {then}, now {now}. "
                "Repeat the first command, or leave --resume out to start again."
            )
        self.rows = learner.n_seen_
        return learner, self._place(kept)

    def _place(self, kept: dict[str, Any]) -> Place:
        from aggro.streams import Position

        counts: list[Any] = [kept.get(name) for name in ("passes", "bad_lines", "unlabelled")]
        passes, *left_out = counts
        stream: list[Any] = kept["stream"] if isinstance(kept.get("stream"), list) else [None]
        # The file may be damaged or made by hand, so every number is checked before it is used as a place.
        if all(type(count) is int and count >= 0 for count in (*counts, *stream)):
            # All passes are done: only saving and testing are left.
            if passes == self.passes and not stream:
                return Place(passes, None, *left_out)
            if len(stream) == len(Position._fields) and stream[0] <= len(self.run["files"]) and passes < self.passes:
                return Place(passes, Position(*stream), *left_out)
        raise Mistake(f"{self.file} is incomplete. Leave --resume out to start again.")

    def left(self) -> str:
        """What is there when the run is stopped now."""
        # The model is written already; what is missing is the end of the command.
        if self.saved:
            again = "; add --resume to the same command to finish" if self.every is not None else ""
            return f"The model is in {self.model}{again}."
        if self.every is None:
            was = "is as it was" if self.model.exists() else "was not written"
            return f"{self.model} {was}. Use --checkpoint ROWS to make a run that you can continue."
        if not self.file.exists():
            return "There was no checkpoint yet: the same command starts again."
        return f"{self.rows:,} rows are saved in {self.file}: add --resume to the same command to continue."

    def forget(self) -> None:
        """The run is done, or starts anew."""
        self.file.unlink(missing_ok=True)


def named(origin: Path, model: Path) -> str:
    """The model that a run goes on from, as it is called; one that the run itself will replace has no checksum."""
    # The run itself replaces it, so a checksum would refuse every resumed run.
    if model.exists() and origin.samefile(model):
        return str(origin)
    size, checksum = fingerprint(os.fspath(origin))
    return f"{origin} ({size:,} bytes, {checksum:08x})"


def fingerprint(name: str) -> list[int]:
    """Size and a checksum of both ends of a file."""
    size = os.path.getsize(name)
    # Both ends: appended rows change the one, a new header the other. A whole checksum would read all the data.
    with open(name, "rb") as file:
        ends = file.read(FINGERPRINT_BYTES)
        file.seek(max(0, size - FINGERPRINT_BYTES))
        return [size, zlib.crc32(file.read(FINGERPRINT_BYTES), zlib.crc32(ends))]


def traits(learner: Any) -> dict[str, Any]:
    # Parameters of wrappers count as well as those of the learner inside.
    inner = innermost(learner)
    around = parameters_of(learner) if inner is not learner else {}
    return {"learner": type(inner).__name__, "parameters": {**around, **parameters_of(inner)}}


def differences(then: dict[str, Any], now: dict[str, Any]) -> list[tuple[str, str, str]]:
    """(what, what it was, what it is) for everything that is not the same."""
    found = []
    for name in now:
        a, b = then.get(name), now[name]
        if a == b or (name == "options" and isinstance(a, dict) and all(a.get(key) == b[key] for key in b)):
            continue  # a checkpoint of an earlier version lacks options that are new
        # The same files: one of them has changed.
        if name == "files" and isinstance(a, dict) and list(a) == list(b):
            changed = next(file for file in b if a[file] != b[file])
            found.append((f"file {changed}", f"had {a[changed][0]:,} bytes", f"has {b[changed][0]:,} or other ones"))
        # Only the first key that differs is named.
        elif isinstance(a, dict) and isinstance(b, dict) and name != "files":
            key = next(key for key in b if a.get(key) != b[key])
            found.append((f"{key!r} among the {name}", f"was {a.get(key)!r}", f"it is {b[key]!r}"))
        else:
            shown = [", ".join(x) if isinstance(x, dict) else repr(x) for x in (a, b)]
            found.append((name, f"was {shown[0]}" if name != "files" else f"were {shown[0]}", f"{shown[1]}"))
    return found
