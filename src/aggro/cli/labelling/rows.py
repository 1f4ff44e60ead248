"""The data to label: opened so that people can be shown what stands in them, and gone over row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from aggro.cli.console import Mistake
from aggro.cli.options import Reading
from aggro.cli.reading import blaming_the_data, open_data, read_again, text_columns
from aggro.learners.shared.inside import model_of

if TYPE_CHECKING:
    from aggro.streams import Chunk, Position, Stream

WORDS, LOOKED_AT = 3.0, 1000  # running text has so many words in a cell, on average of the first cells


def open_rows(
    data: list[str], reading: Reading, learner: Any, begun: dict[str, Any] | None, say: Callable[[str], None]
) -> Stream:
    """The stream, read as in the run that was ``begun``, or as ``learner`` has learned, if there is one.

    A column called label, target, y or class, or the one that was named, is not shown. Columns of running text are
    found, unless they are named.
    """
    stdin = "-" in data  # where answers come from
    stream = None if stdin else open_data(data, reading, cells=True)
    if stream is None or not read_again(stream):
        title = "stdin" if stream is None else stream.sources[0].title
        raise Mistake(f"Rows are labelled over several starts, and {title} cannot be read again: save it as a file.")
    model = None if learner is None else model_of(learner)
    features = None if model is None else model.features
    if begun is not None:
        stream.options["text"], stream.options["named"] = begun["text"], begun["named"]
    if stream.format == "vw":
        named = reading.hash is None if features is None else features.names is not None
        stream.options["named"] = named
        if features is not None and not named and reading.hash is None:
            stream.options["bits"] = max(1, features.n.bit_length() - 1)
    elif stream.format != "svmlight":
        stream.options["label"] = reading.label or True
        if begun is not None or reading.text:
            return stream
        if features is not None:
            stream.options["text"] = text_columns(features)
        else:
            stream.options["text"] = running_text(stream)
            for name in stream.options["text"]:
                say(f"Reading column {name!r} as text.")
    return stream


def running_text(stream: Stream) -> list[str]:
    """The columns whose cells are sentences rather than words."""
    with blaming_the_data():
        first = next(iter(stream), None)
    if first is None:
        return []
    hidden, cells = hidden_column(stream), first.cells.slice(0, LOOKED_AT)
    return [
        name
        for name in cells.column_names
        if name not in (hidden, stream.options["weight"]) and words_in(cells.column(name).to_pylist()) >= WORDS
    ]


def words_in(cells: list[Any]) -> float:
    """Words in a cell on average; 0 if the cells are not text."""
    texts = [cell for cell in cells if cell is not None]
    if not texts or not all(isinstance(text, str) for text in texts):
        return 0.0
    return sum(len(text.split()) for text in texts) / len(texts)


def hidden_column(stream: Stream) -> str | None:
    """The column with labels, which people must not see."""
    if stream.format in ("svmlight", "vw"):
        return None
    from aggro.streams.tables.encode import Roles

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
    x: Any  # as a learner takes it: a dict if the columns have names, else (indices, values)
    weight: float
    seen: dict[str, Any]  # as people see it, and JSON holds it: the cells of a table, or the features
    after: Place


def row_of(chunk: Chunk, i: int) -> tuple[Any, float]:
    """Row i of a chunk as a learner takes it, and its weight."""
    X, names = chunk.X, chunk.names
    weight = 1.0 if chunk.weight is None else float(chunk.weight[i])
    if not hasattr(X, "indptr"):
        return dict(zip(names or (), X[i].tolist(), strict=True)), weight
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
        if self._start is None or place.chunk != tuple(self._start):
            self._go_to(place)
        first = place.row - place.within
        while (chunk := self.chunk) is not None and self._start is not None:
            yield Place(tuple(self._start), place.within, first + place.within), chunk
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
        return None if value != value else int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value if value is None or isinstance(value, str | bool | int) else str(value)
