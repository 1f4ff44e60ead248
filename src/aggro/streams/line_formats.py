"""Formats with a line for an example: blocks of lines are parsed in threads and come out as chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from aggro.engine.rows import index_order
from aggro.streams.bad_lines import describe
from aggro.streams.chunk import Chunk, Position
from aggro.streams.io.block import Block, Parsed
from aggro.streams.io.lines import whole_lines
from aggro.streams.io.prefetch import ahead
from aggro.streams.parse.sort_rows import tidy

if TYPE_CHECKING:
    from aggro.streams.reader import Stream


def read_lines(stream: Stream, parse: Callable[[Block], Parsed], width: int = 0) -> Iterator[Chunk]:
    """The chunks of a stream of text, each the rows of one block.

    X is as wide as the largest index so far, ``width`` at least; with names, as wide as there are names in
    the chunk.
    """
    from aggro.engine.checked_matrix import checked_matrix

    at = stream.start
    # Reading restarts at a block's end, so that a resumed stream has the same blocks.
    blocks = whole_lines(stream.sources, stream.chunk_bytes, at.file, at.offset, stop=stream.stop)

    def work(block: Block) -> tuple[Block, Parsed, int]:
        return block, *_in_order(parse(block))

    # Parsing and sorting run in threads; positions and widths are counted here, in the order of the file.
    for block, parsed, most in ahead(work, blocks, stream.threads):
        # Lines and rows count from the start of each file; the width is that of the whole stream.
        if block.file != at.file:
            at = Position(file=block.file, width=at.width)
        if parsed.problem is not None:
            title = stream.sources[block.file].title
            lines = stream.lines_before() + at.line
            stream.refuse(describe(parsed.problem, block.bytes(), title, lines), parsed.bad)
        rows = parsed.y.shape[0]
        # As wide as the largest index so far: a chunk is never narrower than one before it.
        columns = max(at.width, width, most) if parsed.names is None else len(parsed.names)
        if stream.n_features is not None:
            columns = _given_width(columns, stream.n_features, stream.sources[block.file].title)
        # The position moves even if the block has no rows, so that a resumed stream does not read it again.
        at = Position(block.file, block.end, at.line + parsed.lines, at.row + rows, columns)
        if rows:
            X = checked_matrix(parsed.indptr, parsed.indices, parsed.data, columns)
            yield Chunk(X, parsed.y, parsed.weight, parsed.names, at)


def _in_order(parsed: Parsed) -> tuple[Parsed, int]:
    """The rows with ascending columns, repeated ones summed; and one more than the largest column."""
    indptr, indices, data = parsed.indptr, parsed.indices, parsed.data
    top, ascending = parsed.top, parsed.ascending
    # The SVMlight parser has seen the order while it read; for others it is looked up.
    if top < -1:
        top, ascending = index_order(_frozen(indptr), _frozen(indices))
    # SciPy and the kernels expect ascending columns without repeats.
    if not ascending:
        n = tidy(indptr, indices, data)
        parsed = parsed._replace(indices=indices[:n], data=data[:n])
    return parsed, top + 1 if indices.shape[0] else 0


def _given_width(columns: int, n_features: int, title: str) -> int:
    if columns > n_features:
        raise ValueError(
            f"{title} has a feature with the number {columns}, counted from 1, but n_features={n_features}. "
            "Give a larger n_features, or leave it out."
        )
    return n_features


def _frozen(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view
