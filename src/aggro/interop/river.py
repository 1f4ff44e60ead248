"""River's manners around every learner of the registry (the extra ``aggro[river]``).

A model here is the learner itself, with the same parameters, counters and explanations; what differs
is what River's pipelines and evaluations expect: ``learn_one`` returns nothing and takes the weight
as ``w``, and ``learn_many`` and ``predict_many`` take data frames whose columns may come and go: of pandas and of
polars, and tables of pyarrow.
``predict_proba_one`` and ``predict_proba_many`` are by an online calibration of the scores.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from aggro.engine.frames import is_arrow_table, validated
from aggro.learners.registry import LEARNERS, OWN, Entry
from aggro.streams import Chunk

try:
    from river import base
except ImportError as error:
    raise ImportError("aggro.interop.river needs River. Install it with: pip install 'aggro[river]'") from error


def detector_of_river() -> type[Any]:
    """What River's anomaly detectors are made of; its place changed with River 0.26."""
    home: Any = base if hasattr(base, "AnomalyDetector") else import_module("river.anomaly.base")
    found: type[Any] = home.AnomalyDetector
    return found


__all__ = [entry.name for entry in LEARNERS]


class River:
    """What all models here share; stands before the learner (so ``self`` is one), whose calls it adapts."""

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn one row: features by name, its target, and how much it counts."""
        super().learn_one(x, y, w)  # type: ignore[misc]

    def learn_many(self: Any, X: Any, y: Any) -> None:
        """Learn the rows of a frame, in order: the same model as ``learn_one`` row by row."""
        if len(X):
            self.learn_chunk(chunk_of(X, y))

    def predict_many(self: Any, X: Any) -> Any:
        """The prediction for each row of a frame, as ``predict_one`` would give it; a column of the same library."""
        if not len(X) or not self.__sklearn_is_fitted__():
            return column_beside(X, [self.predict_one({})] * len(X))
        return column_beside(X, self.predict_chunk(chunk_of(X)))


def home_of(X: Any) -> str:
    """The library that a frame is of."""
    return type(X).__module__.partition(".")[0]


def chunk_of(X: Any, y: Any = None) -> Chunk:
    """The rows of a frame, their columns by name."""
    X = validated(X)
    if is_arrow_table(X):
        return Chunk(np.asarray(X), y, names=list(X.column_names))
    return Chunk(X.to_numpy(), y, names=list(X.columns))


def column_beside(X: Any, values: Any) -> Any:
    """Values for the rows of a frame, as a column of the frame's library."""
    home = home_of(X)
    if home == "polars":
        import polars as pl

        return pl.Series(values)
    if home == "pyarrow":
        import pyarrow as pa

        return pa.chunked_array([pa.array(values)])
    import pandas as pd

    return pd.Series(values, index=X.index)


class RiverClassifier(River):
    """A classifier that takes any number of classes."""

    def predict_proba_many(self: Any, X: Any) -> Any:
        """The probabilities for each row of a frame of pandas, a column for each class seen."""
        import pandas as pd

        if not len(X) or not self.__sklearn_is_fitted__():
            return pd.DataFrame(index=getattr(X, "index", range(len(X))))
        return pd.DataFrame(self.proba_chunk(chunk_of(X)), getattr(X, "index", None), self.classes_)

    @property
    def _multiclass(self) -> bool:
        return True


class RiverRegressor(River):
    """A regressor."""


class RiverDetector(River):
    """An anomaly detector: there are no targets, and a high score is an anomaly."""

    def learn_one(self, x: dict[Any, Any], w: float = 1.0) -> None:  # type: ignore[override]
        """Learn one row: features by name, and how much it counts."""
        super().learn_one(x, None, w)

    def learn_many(self: Any, X: Any) -> None:  # type: ignore[override]
        """Learn the rows of a frame, in order: the same model as ``learn_one`` row by row."""
        super().learn_many(X, None)

    def score_one(self, x: dict[Any, Any]) -> float:
        """How unusual a row is: the negative of the learner's own score."""
        return -super().score_one(x)  # type: ignore[misc, no-any-return]


MANNERS: dict[str, tuple[type[Any], type[Any]]] = {
    "classification": (RiverClassifier, base.MiniBatchClassifier),
    "regression": (RiverRegressor, base.MiniBatchRegressor),
    "outlier": (RiverDetector, detector_of_river()),
}


@cache
def model(entry: Entry) -> type[Any]:
    """The learner of this entry as a River model."""
    learner = entry.load()
    manners, task = MANNERS[entry.task]
    # The learner's examples chain learn_one, which River's models do not.
    doc = (learner.__doc__ or entry.name).partition("    Examples\n")[0]
    body = {"__doc__": doc, "__module__": __name__, "__init__": learner.__init__}
    return type(entry.name, (manners, learner, task), body)


globals().update({entry.name: model(entry) for entry in LEARNERS})


def __getattr__(name: str) -> Any:
    if name in OWN:
        return model(OWN[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
