"""A chunk of a stream, as Python shows it."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow
import pytest
from scipy.sparse import csr_array, csr_matrix

from aggro.streams import Chunk

X = np.ones((4096, 22))
y = np.zeros(4096)


@pytest.mark.parametrize(
    ("chunk", "said"),
    [
        (Chunk(csr_matrix(X), y, names=range(22)), "<chunk: 4,096 rows × 22 columns, CSR, labels, names>"),
        (Chunk(csr_array(X), y, weight=y), "<chunk: 4,096 rows × 22 columns, CSR, labels, weights>"),
        (Chunk(X), "<chunk: 4,096 rows × 22 columns, dense>"),
        (Chunk(X[:1, :1], y[:1]), "<chunk: 1 row × 1 column, dense, labels>"),
        (Chunk(X[:0]), "<chunk: 0 rows × 22 columns, dense>"),
        (Chunk(pyarrow.table({"format": [1, 2], "b": [3, 4]}), y[:2]), "<chunk: 2 rows × 2 columns, Table, labels>"),
        (Chunk(None), "<chunk: NoneType>"),
    ],
    ids=str,
)
def test_a_chunk_is_shown_in_one_line(chunk, said):
    assert repr(chunk) == str(chunk) == f"{chunk}" == said
    assert said in repr([chunk])


def test_a_chunk_is_a_tuple_still():
    chunk = Chunk(X, y)
    assert isinstance(chunk, tuple)
    first, second, *_ = chunk
    assert first is X
    assert second is y
    assert Chunk._fields == ("X", "y", "weight", "names", "position", "cells", "columns")
    assert repr(pickle.loads(pickle.dumps(chunk))) == repr(chunk._replace()) == repr(chunk)
