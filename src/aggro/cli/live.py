"""A pipe that goes on for ever, such as ``tail -f log | aggro predict m.aggro -``: lines are read as they come.

What has come so far is a batch: its whole lines become a small file, which is read like any other. What the first batch
shows (the format, the delimiter, whether there is a header) holds for all of them. Compressed and binary data are read
to their end first.
"""

from __future__ import annotations

import os
import select
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from aggro.cli.options import Reading
from aggro.streams.io.json_array import is_array

BATCH_BYTES = 2**20  # bytes of a batch
LONGEST_OPEN_ROW = 2**24  # bytes, after which a quote that is open was never meant as one
QUIET_SECONDS = 1.0  # seconds without a line, after which the first lines are all there is to guess from
LEAST_LINES = 30  # to guess from, unless the pipe ends before: one line does not show what its columns are
BINARY_MAGIC = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PAR1", b"ARROW1")
UTF8_MARK = b"\xef\xbb\xbf"

Open = Callable[[list[str], Reading], Any]


def pipe_of(data: list[str]) -> int | None:
    """The number of stdin, if that is the data, and a pipe or a terminal; None for files."""
    if data != ["-"]:
        return None
    try:
        number = sys.stdin.fileno()
        # A redirected file is read as a file; only a pipe or a terminal goes on.
        return None if Path(f"/dev/fd/{number}").is_file() else number
    except (AttributeError, OSError, ValueError):  # replaced by something that is no file
        return None


class LiveStream:
    """The chunks of a pipe. What else is asked of it, the stream of the latest batch answers.

    ``open_batch(paths, reading)`` opens a batch; ``rows`` is how many lines the first one waits for, where they come
    without a pause.
    """

    def __init__(self, pipe: int, reading: Reading, open_batch: Open, rows: int = 1) -> None:
        from aggro.streams.io.files import Source

        self._pipe, self._reading, self._open, self._rows = pipe, reading, open_batch, rows
        # The batches live in files, for streams read files.
        self._folder = tempfile.TemporaryDirectory(prefix="aggro-")
        self.sources, self.files, self.start = [Source("-")], ["-"], None
        self.prepare: Any = None
        self.bad_lines, self._lines, self._top = 0, 0, b""
        self._batches = self._read()
        # The first batch is read now: what it shows decides how all are read.
        self.batch = self._opened(next(self._batches, b""))

    def __getattr__(self, name: str) -> Any:
        # From the dict: before there is a batch, an attribute that lacks would ask itself for ever.
        return getattr(self.__dict__["batch"], name)

    def can_be_read_again(self) -> bool:
        """A pipe cannot."""
        return False

    def __iter__(self) -> Iterator[Any]:
        while True:
            batch = self.batch
            # Set anew for each batch, since each is a stream of its own.
            batch.prepare = self.prepare
            yield from batch
            self.bad_lines += batch.bad_lines
            # None means that the pipe has ended; a batch is never empty.
            text = next(self._batches, None)
            if text is None:
                return
            self.batch = self._opened(text)

    def _opened(self, text: bytes | Path) -> Any:
        """The stream of a batch."""
        # Data that cannot be cut are one file, and so one batch.
        if isinstance(text, Path):
            return self._named(self._open([str(text)], self._reading))
        path = Path(self._folder.name) / "stdin"
        # The header goes above each batch, so that each is a file of its own.
        path.write_bytes(self._top + text)
        before = self.__dict__.get("batch")
        stream = self._named(self._open([str(path)], self._reading))
        if before is None:
            self._settle(stream, text)
        else:
            # Lines of earlier batches count, those of the repeated header do not: errors name the line of the pipe.
            stream.lines_above = self._lines - self._top.count(b"\n")
            stream.settled.task, stream.options["labels"] = before.settled.task, before.options["labels"]
            # Roles as in the first batch, or the model would get other features.
            if stream.raw:
                stream.options["columns"] = before.columns
                stream.options["label"] = before.options["label"]
        self._lines += text.count(b"\n")
        return stream

    def _named(self, stream: Any) -> Any:
        stream.sources[0].title = "stdin"
        return stream

    def _settle(self, stream: Any, text: bytes) -> None:
        """Let what the first batch shows hold for the others."""
        self._reading = replace(self._reading, format=stream.format)
        if stream.format != "csv":
            return
        from aggro.streams.tables.csv_layout import layout_of

        layout = layout_of(stream)
        # What was guessed is said from here on: a later batch may look otherwise.
        self._reading = replace(self._reading, header=layout.header, delimiter=layout.delimiter, skip_rows=0)
        if layout.header:
            self._top = layout.top_line(text.removeprefix(UTF8_MARK)) + b"\n"

    def _read(self) -> Iterator[bytes | Path]:
        """Batches of whole lines, as they come."""
        held, first, more = b"", True, True
        while more:
            data = self._wait(first and (self._rows == 1 or held.count(b"\n") >= LEAST_LINES))
            more = data is None or bool(data)
            held += data or b""
            # What cannot be cut at newlines is collected to its end.
            if first and (held.startswith(BINARY_MAGIC) or b"\0" in held[:4096] or is_array(held)):
                yield self._rest(held)
                return
            # Too few lines to guess from, and more are coming without a pause.
            if first and more and data is not None and held.count(b"\n") < self._rows:
                continue
            # At the end all that is left counts, with or without a last newline.
            end = self._end(held, first) if more else len(held)
            if end and held[:end].strip():
                yield held[:end] if held[:end].endswith(b"\n") else held[:end] + b"\n"
                held, first = held[end:], False

    def _wait(self, short: bool) -> bytes | None:
        """What comes next, and what is there with it; b"" at the end, None if ``short`` and nothing comes for long."""
        try:
            # Only the first batch has a limit of time: once there are lines enough, a pause ends it.
            if short and self._rows > 1 and not select.select([self._pipe], [], [], QUIET_SECONDS)[0]:
                return None
            data = os.read(self._pipe, BATCH_BYTES)
            # Whatever has come meanwhile goes along, up to the size of a batch.
            while data and len(data) < BATCH_BYTES and select.select([self._pipe], [], [], 0)[0]:
                more = os.read(self._pipe, BATCH_BYTES - len(data))
                if not more:
                    break
                data += more
            return data
        except OSError:  # a system on which pipes cannot be asked
            return os.read(self._pipe, BATCH_BYTES)

    def _end(self, text: bytes, first: bool) -> int:
        """Where the last whole row of a text ends: in CSV, not within quotes."""
        end = text.rfind(b"\n") + 1
        is_csv = self._reading.format in ((None, "csv") if first else ("csv",)) and not text.lstrip().startswith(b"{")
        # Quotes that never close, and files without quoting, end at newlines.
        if not is_csv or self._reading.delimiter == "\t" or len(text) > LONGEST_OPEN_ROW:
            return end
        # An odd number of quotes means that the last row is open: it is left for the next batch.
        while end and text.count(b'"', 0, end) % 2:
            end = text.rfind(b"\n", 0, end - 1) + 1
        return end

    def _rest(self, held: bytes) -> Path:
        """All of the data, in a file."""
        path = Path(self._folder.name) / "data"
        # Not closed: the pipe is stdin of the process.
        with open(path, "wb") as file, open(self._pipe, "rb", closefd=False) as rest:
            file.write(held)
            shutil.copyfileobj(rest, file)
        return path
