"""The rows of a stream one by one, from any place that was passed before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from aggro.cli.reading import blaming_the_data

if TYPE_CHECKING:
    from aggro.streams import Chunk, Position, Stream

__all__ = ["Place", "Row", "Walk"]


class Place(NamedTuple):
    """Between two rows: the chunk that begins at ``chunk``, ``within`` rows of it passed, ``row`` of all."""

    chunk: tuple[int, ...] = ()
    within: int = 0
    row: int = 0


class Row(NamedTuple):
    """One row of a chunk, and where the next one begins."""

    number: int  # in the data, from 0
    chunk: Chunk
    i: int
    after: Place

    @property
    def weight(self) -> float:
        """How much it counts."""
        return 1.0 if self.chunk.weight is None else float(self.chunk.weight[self.i])

    @property
    def x(self) -> Any:
        """As a learner takes it: a dict if the columns have names, else (indices, values)."""
        X, names = self.chunk.X, self.chunk.names
        if not hasattr(X, "indptr"):
            return dict(zip(names or (), X[self.i].tolist(), strict=True))
        part = slice(X.indptr[self.i], X.indptr[self.i + 1])
        if names is None:
            return X.indices[part].copy(), X.data[part].copy()
        return {names[j]: value for j, value in zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True)}

    def seen(self, hidden: str | None) -> dict[str, Any]:
        """As people see it, and JSON holds it: the cells of a table, or the features."""
        table = self.chunk.cells
        if table is None:
            x = self.x
            if isinstance(x, tuple):
                x = dict(zip(x[0].tolist(), x[1].tolist(), strict=True))
            return {str(name): plain(value) for name, value in x.items()}
        names = (name for name in table.column_names if name != hidden)
        return {name: plain(table.column(name)[self.i].as_py()) for name in names}


class Walk:
    """Goes over the rows of a stream; ``chunk`` is where the last row came from."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.chunk: Chunk | None = None
        self._start: Position | None = None  # where ``chunk`` begins
        self._chunks: Iterator[Chunk] | None = None

    def rows(self, place: Place) -> Iterator[Row]:
        """Every row after a place."""
        for start, chunk in self.chunks(place):
            for i in range(start.within, chunk.n_rows):
                yield self.row(start, chunk, i)

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

    @staticmethod
    def row(place: Place, chunk: Chunk, i: int) -> Row:
        """Row i of a chunk that came with a place."""
        number = place.row - place.within + i
        return Row(number, chunk, i, Place(place.chunk, i + 1, number + 1))

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
