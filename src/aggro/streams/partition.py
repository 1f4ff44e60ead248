"""``aggro.streams.partitions``: files in parts that can be read by themselves, in any process that sees the files."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

from aggro.streams import reader
from aggro.streams.bad_lines import printable
from aggro.streams.chunk import Position
from aggro.streams.io.files import Stamp
from aggro.streams.io.find import STDIN, Paths, find
from aggro.streams.reader import Stream
from aggro.streams.settled import Settled

PARTITION_BYTES = 2**26
NOT_FOR_PARTITIONS = {
    "start": "A partition is read from its first row on",
    "threads": "Say it when a partition is opened: partition.open(threads=…)",
}


@dataclass(frozen=True)
class How:
    """How all partitions of some files are read: the options of ``open``, and what the first rows have shown."""

    format: str
    chunk_bytes: int
    skip_bad: bool
    cells: bool
    raw: bool
    options: dict[str, Any]
    settled: Settled


@dataclass(frozen=True, repr=False)
class Partition:
    """A part of a file, or a whole one, with the options to read it. It can be pickled.

    ``file`` is the absolute name of the file, ``name`` the name you gave, and ``stamp`` its size and time of change.
    ``start`` and ``stop`` are bytes of text, or row groups of Parquet, where ``row`` counts the rows before them.
    ``stop`` is None for a whole file. ``bytes`` is the size of the part. ``turn`` counts how often the file was listed
    before.
    """

    file: str
    stamp: Stamp
    bytes: int
    name: str = field(compare=False)
    how: How = field(compare=False)
    start: int = 0
    stop: int | None = None
    row: int = 0
    turn: int = 0

    @property
    def title(self) -> str:
        """A description for people."""
        name = printable(self.name)
        if self.stop is None:
            return name
        if self.how.format == "parquet":
            return f"{name}, row group{'s' * (self.stop > self.start + 1)} {_from_one(self.start, self.stop)}"
        return f"{name}, bytes {self.start:,}–{self.stop:,}"

    @property
    def key(self) -> str:
        """A unique name, which changes with the file; a resumed run uses it."""
        span = "whole" if self.stop is None else f"{self.start}-{self.stop}"
        # A file that is listed twice has two partitions of one span, and a resumed run must not confuse them.
        again = f" again {self.turn}" if self.turn else ""
        return f"{self.file} size {self.stamp.size} changed {self.stamp.changed} part {span}{again}"

    def open(self, threads: int = 1) -> Stream:
        """Open the partition as a stream of chunks, parsed by ``threads`` threads besides the one that reads.

        A file that changed since ``partitions`` was called is refused. Positions count lines and rows from the start
        of the partition, and bytes from the start of the file; errors name the line of the file.
        """
        if threads < 1:
            raise ValueError(f"threads must be at least 1, got {threads}.")
        # The name is looked up here, before the stream: a worker on another machine may not see the file.
        if not os.path.isfile(self.file):
            raise FileNotFoundError(
                f"There is no file {self.file!r}. Open a partition where its file is seen under that name."
            )
        how = self.how
        parquet = how.format == "parquet"
        stream = Stream(
            [self.file],
            how.format,
            how.chunk_bytes,
            how.skip_bad,
            Position(row=self.row) if parquet else Position(offset=self.start),
            threads,
            dict(how.options),
            how.cells,
            how.raw,
            stop=None if parquet else self.stop,
            groups=(self.start, self.stop) if parquet and self.stop is not None else None,
            # A copy of what was settled: a stream writes into it.
            settled=replace(how.settled),
        )
        # The stamp of the time of the split: a file that changed since then may have other rows at these bytes.
        stream.sources[0].stamp = self.stamp
        stream.sources[0].title = printable(self.name)
        return stream

    def __repr__(self) -> str:
        return f"<partition: {self.title}>"


def _from_one(start: int, stop: int) -> str:
    """Things that are counted from 0, and up to before ``stop``, as people count them."""
    return f"{stop:,}" if stop == start + 1 else f"{start + 1:,}–{stop:,}"


def partitions(path: Paths, *, partition_bytes: int = PARTITION_BYTES, **options: Any) -> list[Partition]:
    """Split files into partitions, for many processes or machines.

    A partition is small and can be pickled. ``partition.open()`` gives its stream of chunks, in any process that sees
    the file under the same name. Formats, headers, types and roles of columns are determined here, once, as ``open``
    does it, and apply to all partitions.

    A file of at most ``partition_bytes`` is one partition. Larger plain text is split between lines, so that the
    partitions together have the same chunks as ``open``. One thing differs: the width of a sparse svmlight chunk is
    the largest index so far in its partition, unless you set ``n_features``. Learners accept chunks of any width.
    Parquet is split between row groups. A compressed or transcoded file, or an Arrow file, is one partition. CSV files
    with quoted fields are read once to find the ends of rows; other text is read only near the splits.

    Parameters
    ----------
    path
        A file, a list of them, a folder or a glob.
    partition_bytes
        Maximum size of a partition in bytes, rounded up to a multiple of ``chunk_bytes``. Longer lines and row groups
        are not split.
    **options
        Options of ``open``, except ``start`` and ``threads``.

    Examples
    --------
    >>> import tempfile, aggro.streams
    >>> with tempfile.NamedTemporaryFile(suffix=".svm") as file:
    ...     _ = file.write(b"+1 1:0.5 3:2\\n-1 2:1\\n+1 1:1\\n")
    ...     file.flush()
    ...     for part in aggro.streams.partitions(file.name, partition_bytes=16, chunk_bytes=16):
    ...         print(part.start, part.stop, [chunk.y.tolist() for chunk in part.open()])
    0 13 [[1.0]]
    13 27 [[-1.0, 1.0]]
    """
    # What cannot work is refused before any file is opened.
    for name, instead in NOT_FOR_PARTITIONS.items():
        if name in options:
            raise ValueError(f"{name}= means nothing for partitions. {instead}.")
    if not isinstance(partition_bytes, Integral) or partition_bytes < 1:
        raise ValueError(f"partition_bytes must be a whole number of at least 1, got {partition_bytes!r}.")
    files = find(path)
    # A pipe has no second reader, so it cannot be split.
    for name in files:
        if name == STDIN or not os.path.isfile(name):
            title = "stdin" if name == STDIN else printable(name)
            raise ValueError(f"{title} can be read only once, by one process. Save it as a file, and give its name.")
    # The first rows are looked at once, here: a partition that guessed for itself could guess otherwise.
    stream = reader.open(files, **options)
    settled = stream.settle()
    given = {**stream.options, "columns": None}  # which are settled now
    how = How(stream.format, stream.chunk_bytes, stream.skip_bad, stream.cells, bool(stream.raw), given, settled)
    # A partition of a later file reads its own header: its columns may stand in another order.
    later = replace(how, settled=replace(settled, first=False))
    # A multiple of chunk_bytes: then the cuts fall on ends of chunks, and the chunks are those of the whole file.
    size = -(-int(partition_bytes) // stream.chunk_bytes) * stream.chunk_bytes
    found: list[Partition] = []
    turns: Counter[str] = Counter()
    for number, source in enumerate(stream.sources):
        # The stamp is taken before the cuts are searched; a change in between is then noticed.
        stamp = source.stamp = source.stamp or Stamp.of(os.stat(source.name))
        file = os.path.abspath(source.name)
        whole = Partition(file, stamp, stamp.size, source.name, later if number else how, turn=turns[file])
        turns[file] += 1
        # A file below the size, or one that cannot be cut, is a partition as a whole.
        spans = stream.spans(number, size) if whole.bytes > size else []
        parts = [replace(whole, start=s.start, stop=s.stop, bytes=s.bytes, row=s.row) for s in spans]
        found += parts if len(parts) > 1 else [whole]
    return found
