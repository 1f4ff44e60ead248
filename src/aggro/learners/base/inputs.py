"""The doors: user input in, arrays that a kernel can trust out.

Kernels have no bounds checks, so everything they assume is made true here: dense rows are
C-contiguous float32 or float64; sparse rows are CSR with ascending, unique uint32 indices below the
width; targets and weights are float64 of the right length. Finiteness of X is the one thing not
checked here: the pass does it while it reads the rows, which costs nothing.

scikit-learn's ``check_array`` is not used: it would read X once more for finiteness, costs a tenth of
a millisecond a call, and its import is most of a second. Its wording is kept.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from aggro.engine.frames import check_distinct, column_names, validated
from aggro.engine.limits import HEAVIEST, LARGEST_VALUE, LIGHTEST
from aggro.engine.rows import CSR, first_bad, index_order, pointers_ascend
from aggro.learners.model.bad_values import bad_state as bad_state
from aggro.learners.model.bad_values import bad_value as bad_value
from aggro.learners.model.features import MAX_FEATURES, frozen
from aggro.learners.model.labels import MANY_TEXTS, are_plain_floats, unpacked

Rows = np.ndarray | CSR


class Given(NamedTuple):
    """Rows that a kernel can read, and what is known of their columns."""

    rows: Rows
    n: int
    width: int
    names: list[Any] | None  # of the columns, where they have any
    by_name: bool  # columns are found by their names: they may come, go and move from chunk to chunk
    in_stream: bool  # sparse rows may be wider or narrower than those before


def n_rows_of(X: Rows) -> int:
    return int(X.indptr.shape[0] - 1 if isinstance(X, CSR) else X.shape[0])


def width_of(X: Rows) -> int:
    return int(X.n_cols if isinstance(X, CSR) else X.shape[1])


def given(X: Any, owner: str, names: Sequence[Any] | None = None, in_stream: bool = False) -> Given:
    """The rows of an array, a sparse matrix or a frame, or those of a chunk whose columns have these names."""
    own = column_names(X)
    if names is None:
        columns, rows = own, as_rows(X, owner, in_stream=in_stream)
    else:
        columns = list(names)
        rows = as_rows(X, owner, n_cols=len(columns), in_stream=in_stream)
        # Names match columns with features, so a name that comes twice would leave one of them undecided.
        check_distinct(columns, "The chunk")
        if own is not None and own != columns:
            raise ValueError(
                f"The chunk's names are {columns[:5]!r}, but the columns of its frame are named {own[:5]!r}. "
                "Leave the names out, or give the rows without names of their own."
            )
    return Given(rows, n_rows_of(rows), width_of(rows), columns, names is not None, in_stream)


def as_rows(X: Any, owner: str, n_cols: int | None = None, in_stream: bool = False) -> Rows:
    """A matrix of rows that a kernel can read, dense or CSR.

    A sparse chunk of a stream may have no columns, since none of its rows need have a feature.
    """
    rows = _as_csr(X, owner) if hasattr(X, "tocsr") else _as_dense(X, owner)
    width = rows.n_cols if isinstance(rows, CSR) else rows.shape[1]
    shape = (n_rows_of(rows), width)
    if n_cols is not None and width != n_cols:
        raise ValueError(f"X has {width} features, but {owner} is expecting {n_cols} features as input.")
    # A sparse row of a stream may have no column at all: it is a row of zeros.
    if width == 0 and not (in_stream and isinstance(rows, CSR)):
        raise ValueError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required by {owner}.")
    if shape[0] == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required by {owner}.")
    return rows


def _as_dense(X: Any, owner: str) -> np.ndarray:
    X = validated(X)
    array = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)  # a plain array: subclasses may say anything
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{array}\n")
    if array.ndim == 0:
        raise ValueError(
            f"Expected 2D array, got scalar array instead:\narray={array}.\nReshape your data either using "
            "array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it contains a single "
            "sample."
        )
    if array.ndim == 1:
        raise ValueError(
            f"Expected 2D array, got 1D array instead:\narray={array}.\nReshape your data either using "
            "array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it contains a single "
            f"sample. For one row, {owner} also has learn_one and predict_one."
        )
    if array.ndim > 2:
        raise ValueError(f"Found array with dim {array.ndim}. {owner} expected <= 2.")
    # Both precisions are kept as they are: passes read single precision, or convert it block by block.
    if array.dtype not in (np.float32, np.float64):
        array = _as_float(array, X)
    # Compiled code is built for read-only arrays in row order alone, which saves a second compilation.
    return frozen(np.ascontiguousarray(array))


def is_pandas_na(values: np.ndarray) -> np.ndarray:
    """Which of these objects are ``pandas.NA``, a missing number that cannot be converted to NaN."""
    kinds = np.frompyfunc(lambda value: type(value).__name__ == "NAType", 1, 1)
    return np.asarray(kinds(values), bool)


def _as_float(array: np.ndarray, X: Any) -> np.ndarray:
    if array.dtype.kind in "mM":
        raise TypeError(f"X holds dates or durations ({array.dtype}). Turn them into numbers first.")
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        # pandas.NA cannot be converted; as NaN it is refused later, with its row and column.
        if array.dtype == object and (missing := is_pandas_na(array)).any():
            return _as_float(np.where(missing, np.nan, array), X)  # the pass says where it is
        names = column_names(X)
        kind = TypeError if isinstance(error, TypeError) else ValueError
        # The conversion of the whole array does not say where it failed: columns are tried one by one, to name the
        # first.
        for j in range(array.shape[1]):
            try:
                array[:, j].astype(np.float64)
            except (TypeError, ValueError, OverflowError):
                where = f"column {names[j]!r}" if names else f"column {j}"
                message = f"{error}: {where} of X holds values that are not numbers. Encode it first."
                if kind is TypeError:
                    message = f"argument must be a string or a real number: {message}"
                raise kind(message) from error
        raise


def _as_csr(X: Any, owner: str) -> CSR:
    if X.ndim != 2:
        raise ValueError(f"Expected 2D input, got a sparse array of {X.ndim} dimension(s).")
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{X}\n")
    # A matrix in CSR form returns itself, and its arrays may still be the user's.
    matrix = X.tocsr()
    n_rows, n_cols = matrix.shape
    if n_cols > MAX_FEATURES:
        raise ValueError(f"X has {n_cols} columns; {owner} takes at most {MAX_FEATURES}.")
    # The parsers of this package have checked their matrices while they read them.
    parsers = sys.modules.get("aggro.engine.checked_matrix")  # not imported: no such matrix
    if parsers is not None and type(X) is parsers.CheckedMatrix:
        rows = parsers.checked_rows(X)
        if rows is not None:
            return CSR(frozen(rows.indptr), frozen(rows.indices), frozen(rows.data), n_cols)
    indptr = np.array(matrix.indptr, np.int64)
    indices, data = np.asarray(matrix.indices), np.asarray(matrix.data)  # plain arrays: subclasses may say anything
    if indices.ndim != 1 or data.ndim != 1 or indices.dtype.kind not in "iu":
        raise ValueError("X is not a valid CSR matrix: its indices must be integers, and those and its values flat.")
    if data.dtype not in (np.float32, np.float64):
        data = data.astype(np.float64)
    n_values = min(indices.shape[0], data.shape[0])
    # Compiled loops do not check bounds: row pointers that do not ascend would read memory of others.
    if indptr.shape != (n_rows + 1,) or indptr[0] != 0 or indptr[-1] > n_values or not pointers_ascend(frozen(indptr)):
        raise ValueError("X is not a valid CSR matrix: its row pointers do not ascend from 0 to the number of values.")
    # The indices are checked now and read later, so no other thread must be able to write to them.
    if others_may_write(indices):
        indices = indices.copy()
    if indices.dtype == np.int32:
        positions = np.ascontiguousarray(indices).view(np.uint32)  # negatives become huge and are refused below
    else:
        if indices.shape[0] and (indices.min() < 0 or indices.max() >= n_cols):
            raise ValueError("X is not a valid CSR matrix: it has column indices outside its width.")
        positions = indices.astype(np.uint32)
    # One look finds the largest index and whether each row ascends; most matrices need no more.
    top, ascending = index_order(frozen(indptr), frozen(positions))
    if top >= n_cols:
        raise ValueError("X is not a valid CSR matrix: it has column indices outside its width.")
    # Sorting and summing would write into the user's matrix, so a copy of it is sorted.
    if not ascending:
        matrix = matrix.copy() if matrix is X else matrix
        # The flags may say that the matrix is sorted already: SciPy believes them, and would do nothing.
        matrix.has_canonical_format = False
        matrix.has_sorted_indices = False
        matrix.sum_duplicates()
        return _as_csr(matrix, owner)
    return CSR(frozen(indptr), frozen(positions), frozen(np.ascontiguousarray(data)), n_cols)


def others_may_write(array: np.ndarray) -> bool:
    """Whether someone else may change an array between the look at it and its use.

    That is another thread, or another process where the memory is not NumPy's own, such as a map of a file. Indices
    that changed after they were checked would lead anywhere.
    """
    if threading.active_count() > 1:
        return True
    while isinstance(array.base, np.ndarray):
        array = array.base
    return not array.flags.owndata


def first_bad_row(X: Rows, weights: np.ndarray, low: float = -np.inf) -> int:
    """The first row with a value that is NaN, too large or below ``low``, or -1; rows of weight 0 are not there."""
    row = int(first_bad(X, 0, low)[0])
    while row >= 0 and weights.shape[0] and weights[row] == 0.0:
        row = int(first_bad(X, row + 1, low)[0])
    return row


def _as_column(y: Any, n: int, owner: str) -> np.ndarray:
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None")
    y = validated(y)
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    column = np.asarray(y)
    if column.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{column}\n")
    if column.ndim == 2 and column.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,), "
            "for example using ravel().",
            DataConversionWarning,
            stacklevel=4,
        )
        column = column.ravel()
    if column.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {column.shape} instead.")
    if column.shape[0] != n:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: [{n}, {column.shape[0]}]")
    # Labels are checked now and read later: a copy is safe from threads that write to the original.
    return column.copy() if others_may_write(column) else column


def as_labels(y: Any, n: int, owner: str) -> np.ndarray:
    """Class labels, one a row."""
    labels = _as_column(unpacked(validated(y)), n, owner)
    # Only floats and objects can hold NaN. Quick looks come first: most arrays show at once that they hold none.
    if labels.dtype.kind == "f" and not are_plain_floats(labels) and not np.isfinite(labels).all():
        raise ValueError("Input y contains NaN." if np.isnan(labels).any() else "Input y contains infinity.")
    if labels.dtype.kind == "O" and not are_texts(labels) and not {*map(type, labels.tolist())} <= {str, int, bool}:
        if any(label is None or label != label for label in labels):
            raise ValueError("Input y contains NaN.")
    return labels


def are_texts(labels: np.ndarray) -> bool:
    """Whether many objects are all plain texts; False where that cannot be said soon."""
    if labels.shape[0] < MANY_TEXTS:
        return False
    from aggro.learners.model.text_labels import all_texts

    return all_texts(labels)


def as_targets(y: Any, n: int, owner: str) -> np.ndarray:
    """Numbers to predict, one a row."""
    column = _as_column(y, n, owner)
    try:
        targets = np.ascontiguousarray(column, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"The target y of {owner} must be numbers: {error}") from error
    finite = np.isfinite(targets)
    if not finite.all():
        row = int(np.argmin(finite))
        what = "NaN" if np.isnan(targets[row]) else "infinity"
        raise ValueError(f"Input y contains {what}: the first is at row {row}.")
    # A finite target may still be so large that its square overflows in a loss.
    within = np.abs(targets) <= LARGEST_VALUE
    if not within.all():
        row = int(np.argmin(within))
        raise ValueError(
            f"Input y contains a value beyond {LARGEST_VALUE:g}: the first is {targets[row]} at row {row}. Scale y."
        )
    return targets


def as_weights(sample_weight: Any, n: int) -> np.ndarray:
    """Weights, one a row; an empty array for «all 1». Those below the lightest are 0."""
    if sample_weight is None:
        return np.empty(0)
    sample_weight = validated(sample_weight)
    if hasattr(sample_weight, "to_numpy"):
        sample_weight = sample_weight.to_numpy()
    weights = np.asarray(sample_weight)
    if weights.dtype.kind == "c":
        raise ValueError("Complex data not supported: sample_weight must be real numbers.")
    try:
        if weights.ndim == 0:
            weights = np.full(n, float(weights))
        # The weights are checked below and read later: no other thread must write to them in between.
        weights = weights.copy() if others_may_write(weights) else weights
        weights = np.ascontiguousarray(weights, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"sample_weight must be numbers: {error}.") from error
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {weights.ndim}D array.")
    if weights.shape[0] != n:
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n,)}!")
    good = np.isfinite(weights) & (weights >= 0.0)
    if not good.all():
        row = int(np.argmin(good))
        raise ValueError(f"sample_weight must be finite and not negative; row {row} has {weights[row]}.")
    if n and weights.max() > HEAVIEST:
        row = int(np.argmax(weights > HEAVIEST))
        raise ValueError(
            f"sample_weight must be at most {HEAVIEST:g}; row {row} has {weights[row]}. Divide all weights by the same "
            "number, and multiply C by it."
        )
    # A row below the lightest weight could not move the model: the pass skips it like one of weight 0.
    light = weights < LIGHTEST
    return np.where(light, 0.0, weights) if light.any() else weights


def check_names(owner: str, known: list[Any] | None, given: list[str] | None, fewer_allowed: bool) -> None:
    """scikit-learn's rule for named columns: the same names in the same order."""
    if known is None and given is not None:
        warnings.warn(f"X has feature names, but {owner} was fitted without feature names", UserWarning, stacklevel=4)
    elif known is not None and given is None:
        warnings.warn(
            f"X does not have valid feature names, but {owner} was fitted with feature names", UserWarning, stacklevel=4
        )
    elif (
        known is not None
        and given is not None
        and given != known
        # With ``n_features`` the first names are enough: the columns that are missing at the end count as zeros.
        and not (fewer_allowed and given == known[: len(given)])
    ):
        message = "The feature names should match those that were passed during fit.\n"
        # Names are sorted so that the message is the same each time.
        unseen = sorted(set(given) - set(known))
        missing = sorted(set(known) - set(given), key=str)
        for title, which in (("unseen at fit time", unseen), ("seen at fit time, yet now missing", missing)):
            if which:
                listed = "".join(f"- {name}\n" for name in which[:5]) + ("- ...\n" if len(which) > 5 else "")
                message += f"Feature names {title}:\n{listed}"
        if not unseen and not missing:
            message += "Feature names must be in the same order as they were in fit.\n"
        raise ValueError(message)
