"""Formats with a line for an example: blocks of lines are parsed in threads and come out as chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from aggro.engine.rows import index_order
from aggro.streams.ahead import ahead
from aggro.streams.block import Block, Parsed
from aggro.streams.chunk import Chunk, Position
from aggro.streams.lines import whole_lines
from aggro.streams.problems import describe

if TYPE_CHECKING:
    from aggro.streams.reader import Stream

__all__ = ["read_lines"]

Namer = Callable[[Parsed], tuple[np.ndarray, list[str]]]


def read_lines(stream: Stream, parse: Callable[[Block], Parsed], name: Namer | None = None) -> Iterator[Chunk]:
    """The chunks of a stream of text, each the rows of one block.

    ``name`` turns the parsed features of a format whose features have names into columns and their names.
    X is as wide as the largest index so far, or as there are names.
    """
    at = stream.start
    blocks = whole_lines(stream.sources, stream.chunk_bytes, at.file, at.offset)
    for block, parsed in ahead(lambda block: (block, parse(block)), blocks, stream.threads):
        if block.file != at.file:
            at = Position(file=block.file, width=at.width)
        if parsed.problem is not None:
            error = describe(parsed.problem, block.bytes(), stream.sources[block.file].title, at.line)
            if not stream.skip_bad:
                raise error
            stream.bad_lines += parsed.bad
            stream.first_bad = stream.first_bad or error
        rows = parsed.y.shape[0]
        columns, names = (parsed.indices, None) if name is None else name(parsed)
        X = as_matrix(parsed.indptr, columns, parsed.data, at.width if names is None else len(names))
        if stream.n_features is not None:
            X = _fit(X, stream.n_features, stream.sources[block.file].title)
        at = Position(block.file, block.end, at.line + parsed.lines, at.row + rows, X.shape[1])
        if rows:
            yield Chunk(X, parsed.y, parsed.weight, names, at)


def as_matrix(indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, width: int) -> Any:
    """A CSR matrix of at least this width; indices of a row are sorted and repeated ones summed."""
    from scipy.sparse import csr_array

    top, ascending = index_order(_frozen(indptr), _frozen(indices))
    width = max(width, top + 1 if indices.shape[0] else 0)
    X = csr_array((data, indices.view(np.int32), indptr), shape=(indptr.shape[0] - 1, width))
    if not ascending:
        X.sum_duplicates()
    return X


def _fit(X: Any, n_features: int, title: str) -> Any:
    if X.shape[1] > n_features:
        raise ValueError(
            f"{title} has a feature with the number {X.shape[1]}, counted from 1, but n_features={n_features}. "
            "Give a larger n_features, or leave it out."
        )
    X.resize(X.shape[0], n_features)
    return X


def _frozen(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view
