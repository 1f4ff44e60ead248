"""Rows that states keep, under keys by which those of several states are found to be the same.

A key is what the row holds, at the places that its features have among those of all states: the features that are not
0, ascending, and their values. Rows that are the same to the byte have the same key, and the key gives the row back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from aggro.mixing.parts import Sight

INDEX_DTYPE, VALUE_DTYPE = np.dtype("<i8"), np.dtype("<f8")


def keys_of(rows: Any, sight: Sight) -> list[bytes]:
    """The keys of some rows of a state, an array or a sparse matrix."""
    table = csr_matrix(rows)
    number = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    # Zeros that are stored would give the same row two keys.
    known = (table.data != 0.0) & (table.indices < sight.features.shape[0])
    number, values = number[known], table.data[known]
    # Numbered among the features of all states, so that the same row has the same key in each of them.
    place = sight.features[table.indices[known]]
    kept = place >= 0
    number, values, place = number[kept], values[kept], place[kept]
    # By row, then by place: one spelling for one row.
    order = np.lexsort((place, number))
    places, numbers = place[order].astype(INDEX_DTYPE), values[order].astype(VALUE_DTYPE)
    # Rows without any feature have an empty span, and the empty key.
    ends = np.searchsorted(number[order], np.arange(table.shape[0] + 1))
    pairs = zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    return [places[a:b].tobytes() + numbers[a:b].tobytes() for a, b in pairs]


def rows_of(keys: Sequence[bytes], width: int) -> csr_matrix:
    """The rows of these keys."""
    lengths = [len(key) // (INDEX_DTYPE.itemsize + VALUE_DTYPE.itemsize) for key in keys]
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    places = b"".join(key[: n * INDEX_DTYPE.itemsize] for key, n in zip(keys, lengths, strict=True))
    values = b"".join(key[n * INDEX_DTYPE.itemsize :] for key, n in zip(keys, lengths, strict=True))
    found = (
        np.frombuffer(values, VALUE_DTYPE).astype(np.float64),
        np.frombuffer(places, INDEX_DTYPE).astype(np.int64),
        ends,
    )
    return csr_matrix(found, shape=(len(keys), width))


def grouped(keys: Sequence[bytes]) -> tuple[tuple[bytes, ...], np.ndarray]:
    """The different keys, ascending, and where each of the given ones is among them."""
    different = tuple(sorted(set(keys)))
    place = {key: k for k, key in enumerate(different)}
    return different, np.array([place[key] for key in keys], np.int64)


def spread_over(
    keys: tuple[bytes, ...], values: np.ndarray, wanted: Sequence[bytes], nothing: float = 0.0
) -> np.ndarray:
    """Numbers of rows with these keys as numbers of the wanted rows; ``nothing`` for those that are not there."""
    found = np.full((len(wanted), *values.shape[1:]), nothing)
    place = {key: k for k, key in enumerate(keys)}
    at = np.array([place.get(key, -1) for key in wanted], np.int64)
    found[at >= 0] = values[at[at >= 0]]
    return found
