"""``aggro.streams.open``: chunks of rows from files, in constant memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from aggro.streams.bad_lines import BadLine
from aggro.streams.chunk import Chunk, Position
from aggro.streams.formats import find_format
from aggro.streams.io.files import Source
from aggro.streams.io.find import Paths, find

CHUNK_BYTES = 2**20


class Stream:
    """An iterable of chunks. Going over it again reads the files again; stdin can be read once.

    ``format`` is the name of the format. ``bad_lines`` counts the lines that the last pass left out, and
    ``first_bad`` is the error that the first of them would have raised.
    """

    def __init__(
        self,
        files: Sequence[str],
        format: str | None,
        chunk_bytes: int,
        skip_bad: bool,
        start: Position,
        threads: int,
        options: dict[str, Any],
        cells: bool = False,
    ) -> None:
        self.sources = [Source(name) for name in files]
        self.chunk_bytes, self.skip_bad = chunk_bytes, skip_bad
        self.start, self.threads, self.options, self.cells = start, threads, options, cells
        self.n_features: int | None = options["n_features"]
        self.bad_lines = 0
        self.first_bad: BadLine | None = None
        self._format = find_format(self.sources[0], format)
        self.format = self._format.name
        for name, value in options.items():
            if name not in self._format.options and value != DEFAULTS[name]:
                raise ValueError(f"{name}={value!r} means nothing for {self.format} files. Leave it out.")

    @property
    def files(self) -> list[str]:
        return [source.name for source in self.sources]

    def __iter__(self) -> Iterator[Chunk]:
        self.bad_lines, self.first_bad = 0, None
        return self._format.read(self)

    def refuse(self, error: BadLine, lines: int) -> None:
        """Some lines are malformed: raise the error of the first, or count them, as the user wished."""
        if not self.skip_bad:
            raise error
        self.bad_lines += lines
        self.first_bad = self.first_bad or error

    def __repr__(self) -> str:
        return f"<stream of {self.format} rows from {', '.join(source.title for source in self.sources[:3])}>"


DEFAULTS: dict[str, Any] = {
    "label": None,
    "weight": None,
    "text": (),
    "header": None,
    "delimiter": None,
    "zero_based": False,
    "n_features": None,
    "bits": 18,
    "named": False,
}


def open(
    path: Paths,
    *,
    format: str | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    skip_bad: bool = False,
    start: Position | Sequence[int] | None = None,
    threads: int | None = None,
    label: str | bool | None = None,
    weight: str | None = None,
    text: str | Sequence[str] = (),
    header: bool | None = None,
    delimiter: str | None = None,
    zero_based: bool = False,
    n_features: int | None = None,
    bits: int = 18,
    named: bool = False,
    cells: bool = False,
) -> Stream:
    """A stream of chunks from a file, files, a folder, a glob or stdin.

    Parameters
    ----------
    path
        A file, a list of them, a folder, a glob, or ``-`` for stdin. Plain, gzip, bzip2, xz or zstd.
    format
        "svmlight", "vw", "csv", "jsonl", "parquet" or "arrow"; None finds out from the first file's name or
        content. All files of a stream share it.
    chunk_bytes
        Text is cut into chunks at the last line before each multiple of this many bytes, so chunks depend
        on the files alone.
    skip_bad
        Leave out lines that are not in the format, and count them in ``bad_lines``, instead of raising.
    start
        Go on from here: the ``position`` of the last chunk that was used. The chunks that follow are the
        ones that would have followed it. Compressed files and stdin are read again up to there.
    threads
        How many threads parse, beside the one that reads; None for as many as there are processors, at most 4.
    label
        tables: the column to predict. None for the one called label, target, y or class, else the last; True
        for one of these names only; False for none.
    weight
        tables: the column of weights, if any.
    text
        tables: columns of running text, to be read as bags of words hashed into 2^18 places.
    header
        csv: whether the first line names the columns; None for yes unless it is all numbers.
    delimiter
        csv: what separates fields; None for a tab in .tsv files, else the commonest of comma, tab, semicolon.
    zero_based
        svmlight: indices count from 0.
    n_features
        svmlight: the width of X; None for as wide as the largest index so far.
    bits
        vw: features are hashed into 2^bits columns.
    named
        vw: features keep their names, «namespace^feature», instead. Each chunk has the columns that occur in it.
    cells
        tables: chunks bring along the pyarrow table that they were made of, as ``chunk.cells``.

    Examples
    --------
    >>> import tempfile, aggro.streams
    >>> with tempfile.NamedTemporaryFile(suffix=".svm") as file:
    ...     _ = file.write(b"+1 1:0.5 3:2\\n-1 2:1\\n")
    ...     file.flush()
    ...     for chunk in aggro.streams.open(file.name):
    ...         print(chunk.X.toarray(), chunk.y)
    [[0.5 0.  2. ]
     [0.  1.  0. ]] [ 1. -1.]
    """
    if chunk_bytes < 1:
        raise ValueError(f"chunk_bytes must be at least 1, got {chunk_bytes}.")
    if threads is None:
        threads = min(os.cpu_count() or 1, 4)
    elif threads < 1:
        raise ValueError(f"threads must be at least 1, got {threads}.")
    place = Position() if start is None else Position(*start)
    files = find(path)
    if not 0 <= place.file <= len(files):
        raise ValueError(f"start is in file number {place.file}, but there are {len(files)} files.")
    if not 1 <= bits <= 30:
        raise ValueError(f"bits must be from 1 to 30, got {bits}.")
    options = {
        "label": label,
        "weight": weight,
        "text": text,
        "header": header,
        "delimiter": delimiter,
        "zero_based": zero_based,
        "n_features": n_features,
        "bits": bits,
        "named": named,
    }
    return Stream(files, format, chunk_bytes, skip_bad, place, threads, options, cells)
