"""``aggro.streams.open``: chunks of rows from files, in constant memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from aggro.streams.bad_lines import BadLine
from aggro.streams.chunk import Chunk, Position
from aggro.streams.formats import RAW_ONLY, find_format
from aggro.streams.io.files import Source
from aggro.streams.io.find import Paths, find
from aggro.streams.settled import Settled
from aggro.streams.tables.roles import names_in

if TYPE_CHECKING:
    from aggro.streams.io.cuts import Span
    from aggro.streams.tables.roles import Column
    from aggro.streams.tables.task import Task

CHUNK_BYTES = 2**20


class Stream:
    """An iterable of chunks. You can iterate over it several times; stdin can be read only once.

    ``format`` is the name of the format. ``bad_lines`` counts the malformed lines that the last iteration skipped, and
    ``first_bad`` is the error of the first of them.

    A stream may cover a part of a file: text up to byte ``stop``, at the end of a block, or the row groups of a Parquet
    file from ``groups[0]`` up to, but without, ``groups[1]``. It then uses what was ``settled`` for the whole file.
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
        raw: bool | None = False,
        *,
        stop: int | None = None,
        groups: tuple[int, int] | None = None,
        settled: Settled | None = None,
    ) -> None:
        # The sources come first: finding the format looks at the first bytes, and stdin keeps them for the reading.
        self.sources = [Source(name, options["encoding"]) for name in files]
        self.stop, self.groups, self.settled = stop, groups, settled or Settled()
        self.chunk_bytes, self.skip_bad = chunk_bytes, skip_bad
        self.start, self.threads, self.options, self.cells = start, threads, options, cells
        self.n_features: int | None = options["n_features"]
        self.bad_lines = 0
        self.first_bad: BadLine | None = None
        self._format = find_format(self.sources[0], format)
        self.format = self._format.name
        # With raw=None a table is raw. For other formats, the options of raw tables fall away silently.
        if raw is None:
            raw = self._format.columns is not None
            if not raw:
                options |= {"labels": None, "columns": None}
        # An option without effect is refused: ignored, it would leave the user with rows that it did not shape.
        for name, value in options.items():
            if name not in self._format.options and value != READER_DEFAULTS[name]:
                raise ValueError(f"{name}={value!r} means nothing for {self.format} files. Leave it out.")
            if name in RAW_ONLY and not raw and value != READER_DEFAULTS[name]:
                raise ValueError(f"{name}= is for raw tables. Leave it out, or pass raw=True.")
        self.raw = raw
        self.prepare: Callable[[Any], Any] | None = None  # what the reading threads make of each raw table of text
        if raw and self._format.columns is None:
            raise ValueError(f"{self.sources[0].title}: {self.format} files are no tables. Leave raw=True out.")
        self._lines_before: int | None = None
        self.lines_above = 0  # of a pipe that is read in batches: lines that came before this one
        self.begun: Any = None  # batches of a source that can be read once, of which some were looked at

    @property
    def columns(self) -> dict[str, Column]:
        """The role of each column of a table, guessed from some rows or as you set it."""
        # Settled once: all iterations and partitions must give a column the same role.
        if self.settled.columns is None:
            if self._format.columns is None:
                raise ValueError(f"{self.sources[0].title}: {self.format} files are no tables, and have no columns.")
            self.settled.columns = self._format.columns(self)
        return self.settled.columns

    def can_be_read_again(self) -> bool:
        """Whether the data can be read a second time, from any place."""
        return all(os.path.isfile(name) for name in self.files)

    @property
    def task(self) -> Task | None:
        """The task, classes or numbers, and the reason for it; None if there is no label column."""
        _ = self.columns
        found: Task | None = self.settled.task
        return found

    @property
    def header(self) -> bool | None:
        """Whether the first line of a CSV file contains the column names. None for other formats."""
        return None if self._format.header is None else self._format.header(self)

    @property
    def header_said(self) -> bool:
        """Whether you said so, and aggro did not guess it."""
        return self.options["header"] is not None

    @property
    def notes(self) -> list[str]:
        """Other guesses about a CSV file: title lines, columns by their order, and names that occur twice."""
        layout = self.settled.layout
        if layout is None:
            return []
        notes = []
        if layout.titles and not layout.titles_said:
            notes.append(f"title lines above the {'header' if layout.header else 'rows'}, left out: {layout.titles}")
        if layout.by_place and layout.names[0] != "column1":
            notes.append("no line names the columns: they are taken in the order that the model knows")
        if layout.renamed:
            notes.append(f"names that come twice got a number: {', '.join(map(repr, layout.renamed[:8]))}")
        return notes

    @property
    def files(self) -> list[str]:
        return [source.name for source in self.sources]

    def __iter__(self) -> Iterator[Chunk]:
        self.bad_lines, self.first_bad = 0, None
        return self._format.read(self)

    def settle(self) -> Settled:
        """Find out the format and the columns from the first rows, without reading on."""
        if self._format.settle is not None:
            self._format.settle(self)
        return self.settled

    def spans(self, number: int, size: int) -> list[Span]:
        """Split a file into readable parts of about this many bytes; none if it cannot be split."""
        return [] if self._format.spans is None else self._format.spans(self, number, size)

    def lines_before(self) -> int:
        """Count the lines of the file before this part of it, for error messages."""
        if self._lines_before is None:
            from aggro.streams.io.cuts import lines_until

            self._lines_before = 0 if self.stop is None else lines_until(self.sources[0], self.start.offset)
        return self.lines_above + self._lines_before

    def refuse(self, error: BadLine, lines: int) -> None:
        """Raise the error of the first malformed line, or count the lines if ``skip_bad`` is set."""
        if not self.skip_bad:
            raise error
        self.bad_lines += lines
        # Only the first error is kept: one message is enough to explain the count.
        self.first_bad = self.first_bad or error

    def __repr__(self) -> str:
        return f"<stream of {self.format} rows from {', '.join(source.title for source in self.sources[:3])}>"


READER_DEFAULTS: dict[str, Any] = {
    "label": None,
    "weight": None,
    "text": (),
    "number": (),
    "category": (),
    "date": (),
    "ignore": (),
    "na": (),
    "decimal": None,
    "thousands": None,
    "dayfirst": None,
    "columns": None,
    "labels": None,
    "encoding": "utf-8",
    "header": None,
    "delimiter": None,
    "skip_rows": None,
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
    encoding: str = "utf-8",
    header: bool | None = None,
    delimiter: str | None = None,
    skip_rows: int | None = None,
    zero_based: bool = False,
    n_features: int | None = None,
    bits: int = 18,
    named: bool = False,
    cells: bool = False,
    raw: bool | None = False,
    number: str | Sequence[str] = (),
    category: str | Sequence[str] = (),
    date: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    na: str | Sequence[str] = (),
    decimal: str | None = None,
    thousands: str | None = None,
    dayfirst: bool | None = None,
    labels: str | None = None,
    columns: Mapping[str, Column] | None = None,
) -> Stream:
    """Open a file, several files, a folder, a glob or stdin as a stream of chunks.

    Parameters
    ----------
    path
        A file, a list of files, a folder, a glob, or ``-`` for stdin. Files may be plain or compressed with gzip,
        bzip2, xz or zstd.
    format
        "svmlight", "vw", "csv", "jsonl", "parquet", "arrow" or "text". With None, aggro finds it out from the name or
        the content of the first file. All files of a stream must have the same format.
    chunk_bytes
        Size of a chunk of text. A chunk ends at the last line before each multiple of this many bytes, so chunks depend
        only on the files.
    skip_bad
        Skip malformed lines and count them in ``bad_lines``, instead of raising an error.
    start
        Continue after this position: the ``position`` of the last chunk you used. You get the same chunks as without
        the interruption. Compressed files and stdin are read again up to this point.
    threads
        Number of threads that parse, besides the one that reads. None means one per processor, at most 4.
    label
        tables: the column to predict. With None, it is the column called label, target, y or class, otherwise the last
        one. True accepts only these names, and False means no label.
    weight
        tables: the column of row weights.
    text
        tables: columns of text, to be read as bags of words that are hashed into 2^18 columns.
    encoding
        text: the encoding of the files, such as "latin-1" or "cp1252". aggro recognises UTF-16 by its byte-order mark.
    header
        csv: whether the first line contains the column names. With None, aggro guesses it from the lines below.
    delimiter
        csv: the character between fields. With None, it is a tab in .tsv files; in other files aggro guesses between
        comma, tab, semicolon and bar.
    skip_rows
        csv: number of lines to skip above the header, or above the first row. With None, aggro guesses it.
    zero_based
        svmlight: whether indices count from 0.
    n_features
        svmlight: number of columns of X. With None, it is the largest index so far.
    bits
        vw: hash features into 2^bits columns.
    named
        vw: keep the names of features, «namespace^feature», instead of hashing them. Each chunk has the columns that
        occur in it.
    cells
        tables: whether each chunk also contains its pyarrow table, as ``chunk.cells``.
    raw
        tables: whether ``chunk.X`` is a pyarrow table of the original columns, and ``chunk.columns`` gives the role of
        each column of the file. Columns without use (ids, empty and ignored ones) are not read; ``cells=True`` includes
        them. None means True for tables. The remaining parameters are for raw tables.
    number, category, date, ignore
        raw tables: columns with these roles, and columns to leave out. ``text`` works in the same way. aggro guesses
        the roles of the other columns.
    na
        raw tables: words that mean a missing value, in addition to "", "?", "NA", "N/A", "NaN", "NULL", "None" …
    decimal, thousands
        raw tables: the marks in numbers, such as decimal="," and thousands=".". With None, aggro guesses them for each
        column.
    dayfirst
        raw tables: whether 03/04/2024 is the third of April. With None, aggro guesses it for each column.
    labels
        raw tables: the kind of label, "classes", "numbers", or "either" to find out; ``task`` then says which. With
        None, there is no label unless ``label`` names it.
    columns
        raw tables: the columns of an earlier stream, by name. aggro then guesses nothing, and leaves out other columns.

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
    if labels not in (None, "classes", "numbers", "either"):
        raise ValueError(f"labels={labels!r} is not known. Expected 'classes', 'numbers', 'either' or None.")
    if skip_rows is not None and skip_rows < 0:
        raise ValueError(f"skip_rows must not be negative, got {skip_rows}.")
    options = {
        "label": label,
        "weight": weight,
        "text": text,
        "number": names_in(number),
        "category": names_in(category),
        "date": names_in(date),
        "ignore": names_in(ignore),
        "na": names_in(na),
        "decimal": decimal,
        "thousands": thousands,
        "dayfirst": dayfirst,
        "columns": columns,
        "labels": labels,
        "encoding": encoding,
        "header": header,
        "delimiter": delimiter,
        "skip_rows": skip_rows,
        "zero_based": zero_based,
        "n_features": n_features,
        "bits": bits,
        "named": named,
    }
    return Stream(files, format, chunk_bytes, skip_bad, place, threads, options, cells, raw)
