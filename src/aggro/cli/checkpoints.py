"""Going on where a run was stopped.

With ``--checkpoint N`` the model and its place in the data are saved together, in one file beside the model
(``m.aggro.checkpoint``), each time N more rows are learned and a chunk ends. ``--resume`` goes on from there;
if there is no such file it starts at the beginning, so it can be given every time. The model itself appears
when all is learned, and the checkpoint goes then.

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
from aggro.cli.options import Reading

if TYPE_CHECKING:
    from aggro.streams import Position, Stream

__all__ = ["Checkpoints", "Place"]

LOOKED_AT = 65536  # bytes at both ends of a file that tell whether it is the same


@dataclass(frozen=True)
class Place:
    """How far a run is: passes done, the place in the pass, and what was left out in it so far."""

    passes: int = 0
    stream: Position | None = None
    bad_lines: int = 0
    unlabelled: int = 0


class Checkpoints:
    """The checkpoint of one run."""

    def __init__(self, model: Path, every: int | None, stream: Stream, passes: int, reading: Reading) -> None:
        self.file = model.with_name(f"{model.name}.checkpoint")
        self.every = every
        self.rows = 0  # learned when it was last saved
        self.run: dict[str, Any] = {}
        if every is not None:
            self.run = {
                "files": {name: fingerprint(name) for name in stream.files},
                "passes": passes,
                "chunk_bytes": stream.chunk_bytes,
                "options": asdict(reading),
            }

    def take(self, learner: Any, place: Place) -> None:
        """Save, if enough was learned since the last time."""
        if self.every is None or learner.n_seen_ - self.rows < self.every:
            return
        from aggro.models import save

        try:
            save(learner, self.file, {**asdict(place), "stream": list(place.stream or ()), "run": self.run})
        except OSError as error:
            raise Mistake(f"{self.file}: {error.strerror}.") from error
        self.rows = learner.n_seen_

    def resume(self, fresh: Any) -> tuple[Any, Place] | None:
        """The learner and its place; None if there is no checkpoint. ``fresh`` is what a new run would begin with."""
        if not self.file.exists():
            return None
        from aggro.models import ModelFileError, load_checkpoint
        from aggro.streams import Position

        try:
            learner, kept = load_checkpoint(self.file, shell=False)
        except (ModelFileError, OSError) as error:
            raise Mistake(str(error)) from error
        if not isinstance(kept, dict) or "run" not in kept:
            raise Mistake(f"{self.file} is a model, not a checkpoint of a run. Leave --resume out to start anew.")
        for what, then, now in (*differences(kept["run"], self.run), *differences(traits(learner), traits(fresh))):
            raise Mistake(
                f"{self.file} belongs to another run: its {what} {then}, now {now}. "
                "Give the same command again, or leave --resume out to start anew."
            )
        self.rows = learner.n_seen_
        place = Place(kept["passes"], Position(*kept["stream"]), kept["bad_lines"], kept["unlabelled"])
        return learner, place

    def forget(self) -> None:
        """The run is done, or starts anew."""
        self.file.unlink(missing_ok=True)


def fingerprint(name: str) -> list[int]:
    """Size and a checksum of both ends of a file."""
    size = os.path.getsize(name)
    with open(name, "rb") as file:
        ends = file.read(LOOKED_AT)
        file.seek(max(0, size - LOOKED_AT))
        return [size, zlib.crc32(file.read(LOOKED_AT), zlib.crc32(ends))]


def traits(learner: Any) -> dict[str, Any]:
    parameters = {name: learner.__dict__[name] for name in learner._constraints}
    return {"learner": type(learner).__name__, "parameters": parameters}


def differences(then: dict[str, Any], now: dict[str, Any]) -> list[tuple[str, str, str]]:
    """(what, what it was, what it is) for everything that is not the same."""
    found = []
    for name in now:
        a, b = then.get(name), now[name]
        if a == b:
            continue
        if name == "files" and isinstance(a, dict) and list(a) == list(b):
            changed = next(file for file in b if a[file] != b[file])
            found.append((f"file {changed}", f"had {a[changed][0]:,} bytes", f"has {b[changed][0]:,} or other ones"))
        elif isinstance(a, dict) and isinstance(b, dict) and name != "files":
            key = next(key for key in b if a.get(key) != b[key])
            found.append((f"{key!r} among the {name}", f"was {a.get(key)!r}", f"it is {b[key]!r}"))
        else:
            shown = [", ".join(x) if isinstance(x, dict) else repr(x) for x in (a, b)]
            found.append((name, f"was {shown[0]}" if name != "files" else f"were {shown[0]}", f"{shown[1]}"))
    return found
