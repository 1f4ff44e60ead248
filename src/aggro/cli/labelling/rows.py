"""The data to label: opened so that people can be shown what stands in them, and gone over row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from aggro.cli.console import Mistake
from aggro.cli.options import Reading
from aggro.cli.reading import blaming_the_data, open_data, read_again, text_columns
from aggro.learners.base.inside import model_of

if TYPE_CHECKING:
    from aggro.streams import Chunk, Position, Stream


def open_rows(
    data: list[str], reading: Reading, learner: Any, begun: dict[str, Any] | None, say: Callable[[str], None]
) -> Stream:
    """The stream, read as in the run that was ``begun``, or as ``learner`` has learned, if there is one.

    A column called label, target, y or class, or the one that was named, is not shown. What the other columns of a
    table are for is found out, unless it is said.
    """
    # A run that began without columns, or a model that takes names, is read by names as before.
    by_names = (begun is not None and "columns" not in begun) or (learner is not None and not knows_columns(learner))
    stdin = "-" in data  # where answers come from
    # Raw cells come along, for people must see what stands in the file.
    stream = None if stdin else open_data(data, reading, cells=True, raw=False if by_names else None)
    if stream is None or not read_again(stream):
        title = "stdin" if stream is None else stream.sources[0].title
        raise Mistake(f"Rows are labelled over several starts, and {title} cannot be read again: save it as a file.")
    if stream.raw:
        _settle(stream, reading, learner, begun, say)
        return stream
    model = None if learner is None else model_of(learner)
    features = None if model is None else model.features
    # As in the run that was begun: other features would mean another model.
    if begun is not None:
        stream.options["text"], stream.options["named"] = begun["text"], begun["named"]
    if stream.format == "vw":
        # Hashed or named as the model has it.
        named = reading.hash is None if features is None else features.names is not None
        stream.options["named"] = named
        # The model knows 2^bits features, which gives the bits back.
        if features is not None and not named and reading.hash is None:
            stream.options["bits"] = max(1, features.n.bit_length() - 1)
    elif stream.format != "svmlight":
        # Only a column with the name of a label is hidden; the last column is not taken for one.
        stream.options["label"] = reading.label or True
        if begun is None and not reading.text:
            stream.options["text"] = text_columns(features)
    return stream


def knows_columns(learner: Any) -> bool:
    """Does this learner take raw tables?"""
    return hasattr(learner, "columns_")


def _settle(
    stream: Stream, reading: Reading, learner: Any, begun: dict[str, Any] | None, say: Callable[[str], None]
) -> None:
    """Settle what the columns of a table are for, and say so where it was found out now."""
    from aggro.cli.table_report import check_usable, how_it_is_read
    from aggro.streams.tables.roles import Column, Role

    # The order of precedence: what the model knows, what the journal says, what the data show.
    if knows_columns(learner):
        stream.options["columns"] = learner.columns_
        stream.options["label"] = reading.label
    elif begun is not None:
        known = (Column(name, Role(role), why, said, pattern) for name, role, why, said, pattern in begun["columns"])
        stream.options["columns"] = {column.name: column for column in known}
    else:
        stream.options["label"] = reading.label or True
    with blaming_the_data():
        check_usable(stream)
        # Said only when it was found out now: otherwise it was said before.
        if stream.options["columns"] is None:
            for line in how_it_is_read(stream):
                say(line)


def hidden_column(stream: Stream) -> str | None:
    """The column with labels, which people must not see."""
    if stream.format in ("svmlight", "vw"):
        return None
    if stream.raw:
        return next((column.name for column in stream.columns.values() if column.role == "label"), None)
    from aggro.streams.tables.encode import Roles

    # Which column it is depends on the names, so the first rows are looked at.
    with blaming_the_data():
        first = next(iter(stream), None)
        if first is None:
            return None
        return Roles.find(first.cells.column_names, stream.options["label"], None, (), stream.sources[0].title).label


class Place(NamedTuple):
    """Between two rows: the chunk that begins at ``chunk``, ``within`` rows of it passed, ``row`` of all."""

    chunk: tuple[int, ...] = ()
    within: int = 0
    row: int = 0


class Row(NamedTuple):
    """One row of the data, and where the next one begins."""

    number: int  # from 0
    x: Any  # as a learner takes it: a raw record, a dict if the columns have names, else (indices, values)
    weight: float
    seen: dict[str, Any]  # as people see it, and JSON holds it: the cells of a table, or the features
    after: Place


def row_of(chunk: Chunk, i: int) -> tuple[Any, float]:
    """Row i of a chunk as a learner takes it, and its weight."""
    X, names = chunk.X, chunk.names
    # A weight of 1 is that of any row without one.
    weight = 1.0 if chunk.weight is None else float(chunk.weight[i])
    if chunk.columns is not None:
        return {name: X.column(name)[i].as_py() for name in X.column_names}, weight
    if not hasattr(X, "indptr"):
        return dict(zip(names or (), X[i].tolist(), strict=True)), weight
    # Copies: the row may be kept for long, and a view would keep the whole chunk.
    part = slice(X.indptr[i], X.indptr[i + 1])
    if names is None:
        return (X.indices[part].copy(), X.data[part].copy()), weight
    return {names[j]: value for j, value in zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True)}, weight


class Walk:
    """Goes over the rows of a stream; ``chunk`` is where the last row came from."""

    def __init__(self, stream: Stream, hidden: str | None = None) -> None:
        self.stream, self.hidden = stream, hidden  # a column that people must not see
        self.chunk: Chunk | None = None
        self._start: Position | None = None  # where ``chunk`` begins
        self._chunks: Iterator[Chunk] | None = None

    def chunks(self, place: Place) -> Iterator[tuple[Place, Chunk]]:
        """Every chunk after a place, and the place: ``within`` rows of the first one are behind it."""
        # The walk goes on where it is, as a rule; only after an undo does it go back.
        if self._start is None or place.chunk != tuple(self._start):
            self._go_to(place)
        # The number of the chunk's first row, whatever part of it is behind us.
        first = place.row - place.within
        while (chunk := self.chunk) is not None and self._start is not None:
            yield Place(tuple(self._start), place.within, first + place.within), chunk
            # Later chunks are taken from their first row.
            first, place = first + chunk.n_rows, Place()
            self._start = chunk.position
            self._read()

    def row(self, place: Place, chunk: Chunk, i: int) -> Row:
        """Row i of a chunk that came with a place."""
        number = place.row - place.within + i
        x, weight = row_of(chunk, i)
        return Row(number, x, weight, self._seen(x, chunk.cells, i), Place(place.chunk, i + 1, number + 1))

    def _seen(self, x: Any, table: Any, i: int) -> dict[str, Any]:
        if table is None:
            by_name = dict(zip(x[0].tolist(), x[1].tolist(), strict=True)) if isinstance(x, tuple) else x
            return {str(name): plain(value) for name, value in by_name.items()}
        names = (name for name in table.column_names if name != self.hidden)
        return {name: plain(table.column(name)[i].as_py()) for name in names}

    def _go_to(self, place: Place) -> None:
        from aggro.streams import Position

        # A position of a chunk's start, from which the stream gives the same chunks again.
        self._start = self.stream.start = Position(*place.chunk)
        self._chunks = iter(self.stream)
        self._read()

    def _read(self) -> None:
        assert self._chunks is not None
        with blaming_the_data():
            self.chunk = next(self._chunks, None)


def plain(value: Any) -> Any:
    """A cell as JSON can hold it."""
    if isinstance(value, float):
        # Whole numbers are shown without «.0»; NaN has no place in JSON.
        return None if value != value else int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value if value is None or isinstance(value, str | bool | int) else str(value)
