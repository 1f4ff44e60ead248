"""A chunk: some rows of a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from aggro.streams.tables.roles import Column


class Position(NamedTuple):
    """A position in a stream, from which you can continue reading. It consists of plain numbers.

    ``file`` is the number of the file, from 0. ``offset`` is the byte in its decompressed text. ``line`` and ``row``
    count the lines and rows before that byte. ``width`` is the number of columns of ``X`` so far.
    """

    file: int = 0
    offset: int = 0
    line: int = 0
    row: int = 0
    width: int = 0


class Chunk(NamedTuple):
    """Some rows of a stream: ``X`` (an array or a CSR matrix), targets, and optional weights and column names.

    With names, columns may appear, disappear and move from chunk to chunk; learners match them by name. ``y`` is None
    if the stream has no targets, and NaN for a row without one. ``position`` is the position in the stream after the
    chunk. ``cells`` is the pyarrow table of the rows, if you asked for it. In a raw stream X is a pyarrow table, and
    ``columns`` gives the role of each column of the file.
    """

    X: Any
    y: Any = None
    weight: np.ndarray | None = None
    names: Sequence[Any] | None = None
    position: Position | None = None
    cells: Any = None
    columns: Mapping[str, Column] | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    def __repr__(self) -> str:
        """How much there is, and of what; not the rows themselves."""
        kind = "dense" if isinstance(self.X, np.ndarray) else type(self.X).__name__
        if hasattr(self.X, "indptr"):
            kind = str(self.X.format).upper()
        sides = zip(getattr(self.X, "shape", ()), ("row", "column"), strict=False)
        size = " × ".join(f"{n:,} {what}{'s' * (n != 1)}" for n, what in sides)
        parts = {"labels": self.y, "weights": self.weight, "names": self.names, "cells": self.cells}
        said = (size, kind, *(name for name, part in parts.items() if part is not None))
        return f"<chunk: {', '.join(filter(None, said))}>"

    def some(self, rows: Any) -> Chunk:
        """Select rows by a slice or by their numbers."""
        y, weight = (None if column is None else column[rows] for column in (self.y, self.weight))
        cells = None if self.cells is None else _rows_of_table(self.cells, rows)
        X = self.X[rows] if self.columns is None else _rows_of_table(self.X, rows)
        return self._replace(X=X, y=y, weight=weight, cells=cells)


def _rows_of_table(table: Any, rows: Any) -> Any:
    if hasattr(table, "some"):  # made ready by whoever reads the stream
        return table.some(rows)
    if isinstance(rows, slice) and rows.step in (None, 1):
        start, stop, _ = rows.indices(table.num_rows)
        return table.slice(start, max(0, stop - start))
    # By way of NumPy, so that masks, numbers and slices with a step select as in arrays.
    chosen = np.arange(table.num_rows)[rows]
    return table.take(chosen) if table.num_columns else table.slice(0, len(chosen))
