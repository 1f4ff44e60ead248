"""Rows that know their features by number, fitted to what a model knows.

In such files, svmlight and hashed VW text, a feature that nobody has met yet makes the rows wider. A learner
that learns takes it in; one that predicts leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from aggro.cli.console import Mistake

if TYPE_CHECKING:
    from aggro.streams import Chunk

__all__ = ["as_wide_as_known", "with_room"]


def with_room(chunks: Iterable[Chunk], learners: Sequence[Any]) -> Iterator[Chunk]:
    """The chunks; before each comes, the learners have room for all its features."""
    for chunk in chunks:
        if chunk.names is not None:
            yield chunk
            continue
        width = max(1, chunk.X.shape[1])
        for learner in learners:
            width = max(width, _give_room(learner, width))
        yield chunk._replace(X=_resized(chunk.X, width))


def _give_room(learner: Any, width: int) -> int:
    """Let the learner know this many features at least; how many it knows then."""
    model = learner.__dict__.get("_model")
    if model is None:
        return width
    features = model.features
    _check_no_names(learner)
    if features.reserved is not None:  # narrower rows are welcome, and wider ones are refused where they are learned
        return width
    if width > features.n:
        with model.learning, model.guard:
            features.n = width
            learner._widen(model)
    return int(features.n)


def as_wide_as_known(chunk: Chunk, learner: Any) -> Chunk:
    """The chunk with exactly the features that the model knows; for named ones the learner does that."""
    if chunk.names is not None:
        return chunk
    _check_no_names(learner)
    return chunk._replace(X=_resized(chunk.X, learner.n_features_in_))


def _check_no_names(learner: Any) -> None:
    if learner._model.features.names is not None:
        raise Mistake("The model knows its features by name, and these data have only numbers for theirs.")


def _resized(X: Any, width: int) -> Any:
    from scipy.sparse import csr_array

    if X.shape[1] > width:
        return X[:, :width]
    if X.shape[1] < width:
        return csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))
    return X
