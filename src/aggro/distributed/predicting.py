"""Predictions and their errors, lazily, on Dask collections and on files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from aggro.distributed.sources import Pairs, are_there, reading_for, sources_of
from aggro.distributed.tasks import chunks_of
from aggro.distributed.training import check_learner
from aggro.learners.base.inside import task_of

METHODS = ("predict", "decision_function", "predict_proba")
OF_CHUNKS = {"predict": "predict_chunk", "decision_function": "decision_chunk", "predict_proba": "proba_chunk"}
OF_ONE = {"predict": "predict_one", "decision_function": "decision_one", "predict_proba": "predict_proba_one"}


def predict(estimator: Any, data: Any, *, method: str = "predict", **reading: Any) -> Any:
    """Predict all rows of a Dask collection or of files, lazily.

    Parameters
    ----------
    estimator : learner
        A trained learner. It is sent to each worker once.
    data : Dask array, dataframe or bag, or files
        Rows without targets. A frame must have no columns that the model was not trained on. A bag contains rows.
    method : {"predict", "decision_function", "predict_proba"}, default="predict"
        The method to call.
    **reading
        For files, as in :func:`aggro.distributed.fit`.

    Returns
    -------
    predictions : Dask array, series, dataframe or bag
        An array for an array; a series for a frame, with its index (a frame where there are several numbers a row); a
        bag for a bag and for files. Without a cluster, Dask computes bags in processes of its own, for which a script
        must begin under ``if __name__ == "__main__"``; or say ``compute(scheduler="threads")``.
    """
    _check_method(estimator, method)
    check_learned(estimator)
    delayed = _delayed()
    # One task for the model: every piece refers to it, and Dask sends it to each worker once.
    model = delayed(estimator, pure=False, traverse=False)
    kind = type(data).__module__.partition(".")[0]
    if kind == "dask" and hasattr(data, "chunks"):
        return _of_array(estimator, model, data, method)
    if kind.startswith("dask") and hasattr(data, "columns"):
        return _of_frame(estimator, model, data, method)
    import dask.bag as db

    if kind == "dask" and hasattr(data, "to_delayed"):
        return db.from_delayed([delayed(of_rows)(model, piece, method) for piece in data.to_delayed()])
    sources = sources_of(data, **reading_for(estimator, data, reading))
    return db.from_delayed([delayed(of_source)(model, source, method) for source in sources])


def _delayed() -> Any:
    try:
        from dask.delayed import delayed
    except ImportError as error:
        raise ImportError("Lazy predictions need Dask: pip install 'aggro[dask]'.") from error
    return delayed


def check_learned(estimator: Any) -> None:
    """Refuse one that has learned nothing, before anybody waits for its answers."""
    from sklearn.utils.validation import check_is_fitted

    check_learner(estimator)
    check_is_fitted(estimator)


def _check_method(estimator: Any, method: str) -> None:
    if method not in METHODS:
        raise ValueError(f"method={method!r} is not known. Expected one of {', '.join(METHODS)}.")
    if not hasattr(estimator, method):
        raise ValueError(f"{type(estimator).__name__} has no {method}.")


def _of_array(estimator: Any, model: Any, X: Any, method: str) -> Any:
    import dask.array as da

    delayed = _delayed()
    if X.numblocks[1] > 1:
        # A row must be whole to be scored.
        X = X.rechunk({1: -1})
    # Dask needs type and shape before anything is computed; an empty answer shows both.
    like = no_answers(estimator, method)
    blocks = [
        da.from_delayed(delayed(of_block)(model, block, method, like), (rows, *like.shape[1:]), like.dtype)
        for block, rows in zip(X.to_delayed().reshape(-1), X.chunks[0], strict=True)
    ]
    return da.concatenate(blocks)


def of_block(model: Any, X: Any, method: str, nothing: np.ndarray) -> np.ndarray:
    """Of a block of an array, which may have no rows."""
    return np.asarray(getattr(model, method)(X)) if X.shape[0] else nothing


def _of_frame(estimator: Any, model: Any, frame: Any, method: str) -> Any:
    import dask.dataframe as dd

    delayed = _delayed()
    like = as_frame(estimator, no_answers(estimator, method), None, method)
    pieces = [delayed(of_frame)(model, piece, method, like) for piece in frame.to_delayed()]
    return dd.from_delayed(pieces, meta=like, divisions=frame.divisions)


def no_answers(estimator: Any, method: str) -> np.ndarray:
    """The answers to no rows: they show the type and the shape."""
    if task_of(estimator) != "classification":
        return np.zeros(0, np.int64 if task_of(estimator) == "outlier" and method == "predict" else np.float64)
    classes = np.asarray(estimator.classes_)
    if method == "predict":
        return classes[:0]
    # Two classes share one decision; more have one each.
    return np.zeros(0) if method == "decision_function" and len(classes) <= 2 else np.zeros((0, len(classes)))


def as_frame(model: Any, answers: np.ndarray, index: Any, method: str) -> Any:
    """The answers as a series, or as a frame with a column a class, with the rows' index."""
    import pandas as pd

    if answers.ndim == 1:
        return pd.Series(answers, index, name=method)
    return pd.DataFrame(answers, index, [str(name) for name in model.classes_])


def of_frame(model: Any, frame: Any, method: str, nothing: Any) -> Any:
    """Of a partition of a frame."""
    if not len(frame):
        return nothing
    return as_frame(model, np.asarray(getattr(model, method)(frame)), frame.index, method)


def of_rows(model: Any, rows: Iterable[Any], method: str) -> list[Any]:
    """Of rows one by one."""
    ask = getattr(model, OF_ONE[method])
    return [ask(row) for row in rows]


def of_source(model: Any, source: Any, method: str) -> list[Any]:
    """Of the rows of a part of a file."""
    found: list[Any] = []
    for chunk in chunks_of(source, ()):
        found.extend(np.asarray(getattr(model, OF_CHUNKS[method])(chunk)).tolist())
    return found


def evaluate(estimator: Any, data: Any, target: Any = None, *, sample_weight: Any = None, **reading: Any) -> Any:
    """Measure a trained model on a Dask collection or on files, lazily.

    Parameters
    ----------
    estimator : learner
        A trained learner.
    data, target, sample_weight, **reading
        As in :func:`aggro.distributed.fit`.

    Returns
    -------
    result : Delayed
        ``result.compute()`` is a dict: ``rows``, and ``error`` (the share of mistakes) of a classifier, ``mae``,
        ``rmse`` and ``r2`` of a regressor, ``share_outside`` of a detector. Errors are weighted as the rows are;
        rows without a target are left out, and counted in ``unlabelled``.
    """
    check_learned(estimator)
    delayed = _delayed()
    model = delayed(estimator, pure=False, traverse=False)
    sources = sources_of(data, target, sample_weight, **reading_for(estimator, data, reading))
    parts = [delayed(errors_in)(model, one._replace(pieces=()), *one.pieces) for one in sources]
    return delayed(errors_together)(parts, task_of(estimator))


class Errors(NamedTuple):
    """Sums over rows of a partition; of numbers also their mean and squared deviations, and those of what is left."""

    rows: int = 0
    unlabelled: int = 0
    weight: float = 0.0
    wrong: float = 0.0
    absolute: float = 0.0
    squares: float = 0.0
    mean: float = 0.0
    spread: float = 0.0

    def plus(self, other: Errors) -> Errors:
        """Both together (Chan, Golub and LeVeque, for the deviations)."""
        # Pairwise update of mean and squared deviations: stable where sums of squares would cancel.
        total = self.weight + other.weight
        share = other.weight / total if total else 0.0
        gap = other.mean - self.mean
        return Errors(
            self.rows + other.rows,
            self.unlabelled + other.unlabelled,
            total,
            self.wrong + other.wrong,
            self.absolute + other.absolute,
            self.squares + other.squares,
            self.mean + gap * share,
            self.spread + other.spread + gap * gap * self.weight * share,
        )


def errors_in(model: Any, source: Any, *pieces: Any) -> Errors:
    """The errors of a partition. Rows without a target are left out, and counted."""
    task, found = task_of(model), Errors()
    for chunk in chunks_of(source, pieces):
        if task != "outlier" and chunk.y is None:
            raise ValueError(f"{source.title}: there are no targets to compare with. Say target=, or label= of files.")
        found = found.plus(errors_of(task, predictions_of(model, chunk), chunk))
    return found


def errors_of(task: str, answers: np.ndarray, chunk: Any) -> Errors:
    """The errors of a chunk."""
    n = answers.shape[0]
    s = np.ones(n) if chunk.weight is None else np.asarray(chunk.weight, np.float64)
    # A detector has no targets: the share of rows outside stands for the error.
    if task == "outlier":
        return Errors(n, 0, float(s.sum()), float(s[answers == -1].sum()))
    y = np.asarray(chunk.y)
    there = are_there(y)
    y, s, answers, lacking = y[there], s[there], answers[there], int(n - there.sum())
    if task == "classification":
        # "1" and 1 are never equal, and would count as an error of 100 %.
        if y.shape[0] and isinstance(y[0], str) != isinstance(answers[0], str):
            raise ValueError(
                f"The targets are like {y[0]!r}, and the model predicts {answers[0]!r}. Give the same kind."
            )
        return Errors(n - lacking, lacking, float(s.sum()), float(s[answers != y].sum()))
    y = y.astype(np.float64)
    gap, total = y - answers, float(s.sum())
    # Mean and deviations of the targets, for r².
    mean = float((s * y).sum() / total) if total else 0.0
    sums = float((s * np.abs(gap)).sum()), float((s * gap * gap).sum())
    return Errors(n - lacking, lacking, total, 0.0, *sums, mean, float((s * (y - mean) ** 2).sum()))


def predictions_of(model: Any, chunk: Any) -> np.ndarray:
    """The predictions for a chunk of any kind."""
    # Rows of a bag may be dicts, which only the calls for one row take.
    if isinstance(chunk, Pairs) and not hasattr(model, "new_encoder"):
        return np.array([model.predict_one(row) for row in chunk.X])
    # Frames keep their column names, by which predict() checks the order.
    if hasattr(chunk.X, "iloc"):
        return np.asarray(model.predict(chunk.X))
    return np.asarray(model.predict_chunk(chunk))


def errors_together(parts: Sequence[Errors], task: str) -> dict[str, float]:
    """The errors of all partitions."""
    found = Errors()
    for part in parts:
        found = found.plus(part)
    told: dict[str, float] = {"rows": found.rows}
    if found.unlabelled:
        told["unlabelled"] = found.unlabelled
    # No row with a weight: there is no error to tell, and nothing to divide by.
    if not found.weight:
        return told
    if task == "outlier":
        return told | {"share_outside": found.wrong / found.weight}
    if task == "classification":
        return told | {"error": found.wrong / found.weight}
    # Targets that do not vary leave r² undefined.
    r2 = 1.0 - found.squares / found.spread if found.spread > 0.0 else float("nan")
    means = {"mae": found.absolute / found.weight, "rmse": float(np.sqrt(found.squares / found.weight))}
    return told | means | {"r2": r2}
