"""Data as the commands learn from it or predict it: chunks with labels and widths put in order.

Everything that is wrong with the data, or with what was said about them, ends as a ``Mistake``.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from aggro.cli.console import Mistake
from aggro.cli.options import Reading

if TYPE_CHECKING:
    from aggro.streams import Chunk, Position, Stream

# What the library calls its parameters, and the command line its options.
SPOKEN = {
    "skip_bad=True": "--skip-bad",
    "zero_based=True": "--zero-based",
    "format= one of": "--format, one of",
    "format=": "--format ",
    "bits=": "--hash ",
    "header=False": "--no-header",
    "header=": "--header ",
    'encoding="latin-1"': "--encoding latin-1",
    'encoding="utf-16-le"': "--encoding utf-16-le",
    "encoding=": "--encoding ",
    "number=": "--number ",
    "category=": "--category ",
    "date=": "--date ",
    "ignore=": "--ignore ",
    "delimiter=": "--delimiter ",
    "skip_rows=": "--skip-rows ",
    "decimal=": "--decimal ",
    "thousands=": "--thousands ",
    "label=": "--label ",
    "weight=": "--weight ",
    "text=": "--text ",
    "named=True": "--named",
    "n_features=": "--set n_features=",
}
FEW_CHANGES = 20  # so many times fewer changes of the label than in a random order: sorted
TEXT_FEATURE = re.compile(r"([^=]*)~\d+")  # how the features of a text column are called
MANY_CLASSES_FROM, MANY_CLASSES = 50, 0.5  # from so many rows on, no more classes than this share of the rows are meant
EXACT_INTEGERS = 2.0**53  # floats are whole numbers one by one up to here


@contextmanager
def blaming_the_data() -> Iterator[None]:
    """What goes wrong inside is wrong with the data, and said in one line."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            # An error without a number comes from the library, and its text says all.
            raise Mistake(one_line(error)) from error
        raise Mistake(f"{error.filename or 'The data'}: {error.strerror}.") from error
    except (ValueError, TypeError, ImportError) as error:
        raise Mistake(one_line(error)) from error


def one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    # Messages of the library name parameters; here they are options. Longer spellings stand first in the table.
    for said, spoken in SPOKEN.items():
        text = text.replace(said, spoken)
    return text


LABEL_KINDS = {"classification": "classes", "regression": "numbers"}  # what a task has for labels


def open_data(
    paths: Sequence[str], reading: Reading, start: Position | None = None, *, task: str = "", **more: Any
) -> Stream:
    """The stream of what the user named; ``more`` goes to ``aggro.streams.open`` as it is.

    Tables come raw, unless ``raw=False`` is among it. Outlier detectors have no use for labels: to them the last
    column of a table is one like the others.
    """
    from aggro import streams
    from aggro.streams.datasets import DATA_SET_BY_NAME

    # A file of that name wins; otherwise a data set was meant, and the shell can give its path.
    for path in paths:
        if not os.path.exists(path) and path in DATA_SET_BY_NAME:
            raise Mistake(
                f"There is no file {path!r}, but a data set of that name: give $(aggro data path {path}) instead."
            )
    with blaming_the_data():
        stream = streams.open(list(paths), start=start, **{"raw": None, **reading.settings(), **more})
    # What labels may be follows from the task, unless the caller says otherwise.
    if stream.raw and "labels" not in more:
        stream.options["labels"] = LABEL_KINDS.get(task)
    # For a detector only a column that is called a label is one; the last column is a feature.
    if task == "outlier" and reading.label is None and stream.format not in ("svmlight", "vw"):
        stream.options["label"] = True
    return stream


def open_known(paths: Sequence[str], reading: Reading, learner: Any, *, task: str = "", **more: Any) -> Stream:
    """Open the user's data with the columns and roles that a learner has learned, so that it can read them.

    For a learner without columns it is ``open_data`` with ``raw=False``.
    """
    columns = getattr(learner, "columns_", None)
    if columns is None:
        # A learner without columns takes features by name or number.
        return open_data(paths, reading, task=task, raw=False, **more)
    stream = open_data(paths, reading, task=task, **more)
    if not stream.raw:
        raise Mistake(
            f"{stream.sources[0].title} is {stream.format} text, and the model was trained on tables with the "
            f"columns {names_listed(columns)}. Give it data with these columns."
        )
    # The model knows no label column, but the task needs one: it is guessed from these data.
    if task in LABEL_KINDS and reading.label is None and not any(c.role == "label" for c in columns.values()):
        with blaming_the_data():  # it has learned from answers, or from another program's labels
            found = open_data(paths, reading, task=task, **more).columns
        stream.options["label"] = next((c.name for c in found.values() if c.role == "label"), None)
    # Last, since with columns given nothing is guessed any more.
    stream.options["columns"] = columns
    return stream


def names_listed(names: Iterable[str], most: int = 8) -> str:
    """Names for people: some of them, if there are many."""
    every = [*names]
    return ", ".join(map(repr, every[:most])) + (f" and {len(every) - most:,} more" if len(every) > most else "")


def read_again(stream: Stream) -> bool:
    """Can the data be read a second time, from any place?"""
    return stream.can_be_read_again()


def text_columns(features: Any) -> list[str]:
    """The columns that a model has read as running text, by the names of its features."""
    names = (TEXT_FEATURE.fullmatch(name) for name in features.names or () if isinstance(name, str))
    return sorted({match[1] for match in names if match})


def chunks_of(stream: Stream) -> Iterator[Chunk]:
    """The chunks as they are."""
    with blaming_the_data():
        yield from stream


class Rows:
    """The chunks of a stream for a task, and what was left out of them.

    Labels that are whole numbers are integers. Rows without a label are left out of what is learned, and
    counted in ``unlabelled``; outlier detectors take all rows, and no labels.
    """

    def __init__(self, stream: Stream, task: str, count: bool = True, few: int | None = None) -> None:
        self.stream, self.task, self.count = stream, task, count  # whether classes are counted, to be learned
        self.few = MANY_CLASSES_FROM if few is None else few  # that say nothing about how many classes there are
        self.unlabelled = 0
        self.change: Callable[[Chunk], Chunk] = lambda chunk: chunk  # what becomes of each chunk that has rows
        self.order = LabelOrder()
        self._before: Position = stream.start
        self._chunk: Chunk | None = None

    def __iter__(self) -> Iterator[Chunk]:
        with blaming_the_data():
            for chunk in self.stream:
                # Kept for messages: a learner may refuse the chunk after it was handed out.
                self._chunk = chunk
                ready = self._in_order(chunk)
                yield self.change(ready) if ready.n_rows else ready
                # After the learner has taken the chunk: until then, ``place`` counts from its start.
                self._before = chunk.position or self._before

    def _no_label(self) -> str:
        name = self.stream.sources[0].title
        if self.stream.format == "text":
            return (
                f"{name} is plain text, a message on each line, and has no label column. Label its rows with "
                "'aggro label', or if it is a table, name its format with --format."
            )
        return f"{name} has no label column. Name it with --label."

    def _in_order(self, chunk: Chunk) -> Chunk:
        # Detectors take all rows, whatever the label says.
        if self.task == "outlier":
            return chunk._replace(y=None)
        if chunk.y is None:
            raise Mistake(self._no_label())
        # Words may be numbers as people write them; those that are none are missing labels.
        if self.task == "regression" and chunk.y.dtype.kind in "UO":
            chunk = chunk._replace(y=as_targets(chunk.y))
        labelled = ~missing(chunk.y)
        # Rows without a label are left out before anything else looks at labels.
        if not labelled.all():
            self.unlabelled += int((~labelled).sum())
            chunk = chunk.some(np.flatnonzero(labelled))
        y = chunk.y
        # A gap makes integers objects; without the gap they are integers again.
        if y.dtype.kind == "O" and all(isinstance(label, int) for label in y):
            y = np.array(y.tolist())  # whole numbers that lost their gaps
        classifies = self.task == "classification"
        # Classes that come as floats must be whole numbers, or nothing is a class of its own.
        if classifies and y.dtype.kind == "f":
            whole = (y == np.trunc(y)) & (np.abs(y) < EXACT_INTEGERS)
            if not whole.all():
                # The first bad label is shown with its place.
                bad = int(np.argmin(whole))
                if np.isfinite(y[bad]) and abs(y[bad]) >= EXACT_INTEGERS:
                    raise Mistake(
                        f"{self.place(bad)}: the label {y[bad]:.0f} is 2^53 or more, where different labels become one "
                        "number. Write such labels as words, or as whole numbers in a table."
                    )
                raise Mistake(
                    f"{self.place(bad)}: the label {y[bad]:g} is not a whole number. "
                    "To predict numbers, use --task regression."
                )
            y = y.astype(np.int64)
        elif not classifies and y.dtype.kind not in "fiub":
            raise Mistake(
                f"{self.place(0)}: the label {y[0]!r} is not a number. To predict classes, use --task classification."
            )
        # Counted as they come: labels that are sorted, or hardly repeat, are said or refused.
        if classifies and self.count:
            self.order.add(y)
            check_label(self.order, self.stream, self.few)
        return chunk._replace(y=y)

    def place(self, row: int) -> str:
        """File and line of a row of the chunk that came last; just the row where lines are not counted."""
        assert self._chunk is not None
        # The position before the chunk and the one after it.
        rows, before, after = self._chunk.X.shape[0], self._before, self._chunk.position
        if after is None:
            return f"row {row + 1}"
        if after.file != before.file:
            before = type(after)(file=after.file)
        title = self.stream.sources[after.file].title
        # Lines that are no rows: none, or a header at the start. Otherwise lines do not tell which row is meant.
        header = after.line - before.line - rows
        if after.line and (header == 0 or (header == 1 and before.line == 0)):
            return f"{title}, line {self.stream.lines_before() + before.line + header + row + 1}"
        since = self.stream.start.offset if self.stream.stop is not None else 0  # a part counts its own rows
        return f"{title}, row {before.row + row + 1}" + (f" after byte {since:,}" if since else "")

    @contextmanager
    def learned_from(self) -> Iterator[None]:
        """A learner refuses the chunk that came last: say where in the data."""
        try:
            yield
        except (ValueError, TypeError) as error:
            assert self._chunk is not None
            # Dense and sparse rows can be searched for the value; raw tables cannot.
            bad = None if self._chunk.columns is not None else first_not_finite(self._chunk.X)
            if bad is None:
                raise Mistake(f"{self.place(0)} or later: {one_line(error)}") from error
            raise Mistake(f"{self.place(bad)}: there is a value that is not finite (NaN or infinity).") from error


def check_label(order: LabelOrder, stream: Stream, few: int | None = None) -> None:
    """Stop where labels cannot be meant: hardly one comes twice, among more than a few rows."""
    counts = order.counts
    rows, classes = counts.total(), len(counts)
    # Among few rows nearly all labels differ by chance.
    if rows < (MANY_CLASSES_FROM if few is None else few) or classes <= rows * MANY_CLASSES:
        return
    # Numbers suggest another task, words another column.
    numbers = all(isinstance(label, int | float) for label in counts)
    other = "To predict numbers, use --task regression" if numbers else "Name the column to predict"
    if not stream.raw:
        raise Mistake(f"There are {classes:,} classes in {rows:,} rows. {other}.")
    column = next((c for c in stream.columns.values() if c.role == "label"), None)
    of = f"column {column.name!r} ({column.why})" if column else "the label"
    rest = [name for name in stream.columns if column is None or name != column.name]
    raise Mistake(
        f"{stream.sources[0].title}: {of} has {classes:,} classes in {rows:,} rows, so it is probably not the label. "
        f"{other}: --label with one of {names_listed(rest)}."
    )


class LabelOrder:
    """Whether labels come sorted. What a learner then gets right says little: it need only repeat the last label."""

    def __init__(self) -> None:
        self.changes = 0
        self.counts: Counter[Any] = Counter()
        self.first: Any = None
        self.last: Any = None

    def add(self, y: np.ndarray) -> None:
        if not len(y):
            return
        self.changes += int(np.count_nonzero(y[1:] != y[:-1]))
        # The change between two chunks counts as well.
        self.changes += bool(self.counts) and bool(y[0] != self.last)
        self.first = self.first if self.counts else y[0]
        # NumPy cannot sort labels of different types.
        if y.dtype.kind == "O":
            self.counts.update(y.tolist())
        else:
            labels, counts = np.unique(y, return_counts=True)
            self.counts.update(dict(zip(labels.tolist(), counts.tolist(), strict=True)))
        self.last = y[-1]

    def then(self, other: LabelOrder) -> LabelOrder:
        """That of these labels and those after them."""
        # Nothing on one side: the other is all.
        if not self.counts or not other.counts:
            return self if self.counts else other
        both = LabelOrder()
        # The change where the two parts meet.
        both.changes = self.changes + other.changes + bool(self.last != other.first)
        both.counts = self.counts + other.counts
        both.first, both.last = self.first, other.last
        return both

    @property
    def is_sorted(self) -> bool:
        """Are there far fewer changes of the label than a random order would have?"""
        rows = self.counts.total()
        # In a random order two neighbours are of one class with probability Σ(n/rows)²; all other pairs are changes.
        expected = rows - sum(n * n for n in self.counts.values()) / max(rows, 1)
        return expected >= FEW_CHANGES and self.changes * FEW_CHANGES < expected

    def warning(self) -> str:
        return (
            f"Note: the labels come sorted (changes in {self.counts.total():,} rows: {self.changes:,}), so the "
            "progressive error is misleading. Shuffle the rows."
        )


def as_targets(y: np.ndarray) -> np.ndarray:
    """Words as numbers, NaN for those that are none; as they are if none is a number."""
    from aggro.streams.tables.roles import as_number

    numbers = [None if label is None else as_number(label) for label in y.tolist()]
    # None reads as a number: the labels are words, and the task was wrong.
    if all(number is None for number in numbers):
        return y
    return np.array([np.nan if number is None else number for number in numbers])


def missing(y: np.ndarray) -> np.ndarray:
    if y.dtype.kind == "f":
        return np.asarray(np.isnan(y))
    if y.dtype.kind == "O":
        return np.fromiter((label is None for label in y), bool, len(y))
    return np.zeros(len(y), bool)


def first_not_finite(X: Any) -> int | None:
    if hasattr(X, "indptr"):
        bad = np.flatnonzero(~np.isfinite(X.data))
        # The row of a value: the last one that starts at or before it.
        return int(np.searchsorted(X.indptr, bad[0], "right")) - 1 if bad.size else None
    rows = np.flatnonzero(~np.isfinite(X).all(axis=1))
    return int(rows[0]) if rows.size else None
