"""Matrices of parsers are taken as they are, and any other is looked at."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

from aggro import streams
from aggro.engine.checked_matrix import CheckedMatrix, checked_matrix, checked_rows
from aggro.learners.base.inputs import as_rows
from aggro.published import PAClassifier

TEXT = "1 1:0.5 3:1\n-1 2:2\n1\n-1 1:1 2:1 3:-1\n"
WORDS = "1 | a:0.5 c\n-1 | b:2\n1 | a\n-1 | a b c:-1\n"


@pytest.fixture(params=["rows.svm", "rows.vw"])
def chunk(request, tmp_path):
    path = tmp_path / request.param
    path.write_text(TEXT if path.suffix == ".svm" else WORDS)
    (chunk,) = streams.open(str(path))
    return chunk


def plain(X) -> csr_array:
    return csr_array((X.data.copy(), X.indices.copy(), X.indptr.copy()), shape=X.shape)


def test_the_doors_take_what_a_parser_has_made(chunk):
    assert type(chunk.X) is CheckedMatrix
    rows = as_rows(chunk.X, "it")
    assert np.shares_memory(rows.indices, chunk.X.indices)
    assert np.shares_memory(rows.data, chunk.X.data)
    other = as_rows(plain(chunk.X), "it")
    for mine, theirs in zip(rows[:3], other[:3], strict=True):
        assert mine.dtype == theirs.dtype
        assert mine.tolist() == theirs.tolist()
        assert not mine.flags.writeable
    assert rows.n_cols == other.n_cols


def test_the_same_is_learned(chunk):
    taken = PAClassifier().learn_chunk(chunk)
    looked_at = PAClassifier().learn_chunk(chunk._replace(X=plain(chunk.X)))
    assert taken.coef_.tobytes() == looked_at.coef_.tobytes()


def test_indices_cannot_be_written(chunk):
    for array in (chunk.X.indices, chunk.X.indptr):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True


def test_values_may_be_changed(chunk):
    chunk.X.data *= 2.0
    assert as_rows(chunk.X, "it").data.tolist() == plain(chunk.X).data.tolist()
    chunk.X.data[0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        PAClassifier().learn_chunk(chunk)


@pytest.mark.parametrize("name", ["indices", "indptr", "data"])
def test_with_another_array_it_is_looked_at_again(chunk, name):
    setattr(chunk.X, name, getattr(chunk.X, name).copy())
    assert checked_rows(chunk.X) is None
    if name == "indices":
        chunk.X.indices[-1] = 10**6
        with pytest.raises(ValueError, match="outside its width"):
            as_rows(chunk.X, "it")


def test_of_another_shape_it_is_looked_at_again(chunk):
    chunk.X._shape = (chunk.X.shape[0], 1)
    assert checked_rows(chunk.X) is None
    with pytest.raises(ValueError, match="outside its width"):
        as_rows(chunk.X, "it")


@pytest.mark.parametrize(
    "made",
    [
        lambda X: X.copy(),
        lambda X: X[1:],
        lambda X: X * 2.0,
        lambda X: X.astype(np.float32),
        lambda X: pickle.loads(pickle.dumps(X)),
        copy.deepcopy,
    ],
    ids=["copy", "slice", "product", "cast", "pickle", "deep copy"],
)
def test_what_is_made_of_it_is_like_any_other(chunk, made):
    other = made(chunk.X)
    assert checked_rows(other) is None if isinstance(other, CheckedMatrix) else True
    rows = as_rows(other, "it")
    assert rows.indices.tolist() == plain(other).indices.tolist()
    if other.indices.flags.writeable:
        other.indices[:] = 2**31 - 1
        with pytest.raises(ValueError, match="outside its width"):
            as_rows(other, "it")


def test_one_that_somebody_else_makes_is_looked_at():
    made = CheckedMatrix((np.ones(1), np.array([5]), np.array([0, 1])), shape=(1, 9))
    made.indices[0] = 99
    with pytest.raises(ValueError, match="outside its width"):
        as_rows(made, "it")


def test_pointers_are_as_wide_as_scipy_has_them():
    indptr = np.array([0, 1, 2])
    made = checked_matrix(indptr, np.array([1, 0], np.uint32), np.ones(2), 2)
    assert made.indptr.dtype == made.indices.dtype == np.int32
    assert as_rows(made, "it").indptr.dtype == np.int64
    assert made.toarray().tolist() == [[0.0, 1.0], [1.0, 0.0]]
