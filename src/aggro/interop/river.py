"""River's manners around every learner of the registry (the extra ``aggro[river]``).

A model here is the learner itself, with the same parameters, counters and explanations; what differs
is what River's pipelines and evaluations expect: ``learn_one`` returns nothing and takes the weight
as ``w``, ``seed`` is another name of ``random_state``, and ``learn_many`` and ``predict_many`` take data frames whose
columns may come and go: of pandas and of polars, and tables of pyarrow.
``predict_proba_one`` and ``predict_proba_many`` are by an online calibration of the scores.

``RecordLearner`` classifies raw records, and ``RecordRegressor`` predicts a number from them. Learners with the
defaults of their papers are in ``aggro.interop.published``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from typing import Any

import numpy as np

from aggro.engine.frames import is_arrow_table, validated
from aggro.estimators.linear import PARegressor
from aggro.learners.base.inside import model_of
from aggro.learners.registry import ACTIVE, LEARNERS, OWN, RECORD_ENTRY, Entry
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


__all__ = [*(entry.name for entry in (*LEARNERS, ACTIVE, RECORD_ENTRY)), "RecordRegressor"]


class River:
    """What all models here share; stands before the learner (so ``self`` is one), whose calls it adapts."""

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn one row: features by name, its target, and how much it counts."""
        super().learn_one(x, y, w)  # type: ignore[misc]

    def learn_many(self: Any, X: Any, y: Any) -> None:
        """Learn the rows of a frame, in order: the same model as ``learn_one`` row by row."""
        if len(X):
            self.learn_chunk(self._chunk_of(X, y))

    def predict_many(self: Any, X: Any) -> Any:
        """The prediction for each row of a frame, as ``predict_one`` would give it; a column of the same library."""
        # A model that has learned nothing answers as predict_one does; an empty frame gives an empty column.
        if not len(X) or model_of(self) is None:
            return column_beside(X, [self.predict_one({})] * len(X))
        return column_beside(X, self.predict_chunk(self._chunk_of(X)))

    def _chunk_of(self, X: Any, y: Any = None) -> Chunk:
        return chunk_of(X, y)

    @property
    def weights(self: Any) -> dict[Any, Any]:
        """The weight of each feature by its name; of more than two classes, such a dict for each class."""
        rows = [dict(zip(self._names(), row, strict=True)) for row in np.atleast_2d(self.coef_).tolist()]
        return rows[0] if len(rows) == 1 else dict(zip(self.classes_.tolist(), rows, strict=True))

    @property
    def intercept(self: Any) -> Any:
        """The intercept, as a number; of more than two classes, one for each class."""
        found = self.intercept_.tolist()
        return found[0] if len(found) == 1 else dict(zip(self.classes_.tolist(), found, strict=True))

    def _names(self: Any) -> list[Any]:
        names: list[Any] = self.feature_names_in_.tolist()
        return names


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

    # The index of the frame, so that the column can be joined to it.
    return pd.Series(values, index=X.index)


def table_beside(X: Any, columns: dict[Any, Any]) -> Any:
    """Columns for the rows of a frame, as a frame of its library; polars and pyarrow name columns by text alone."""
    home = home_of(X)
    if home == "polars":
        import polars as pl

        return pl.DataFrame({str(name): column for name, column in columns.items()})
    if home == "pyarrow":
        import pyarrow as pa

        return pa.table({str(name): column for name, column in columns.items()})
    import pandas as pd

    return pd.DataFrame(columns, index=X.index)


class RiverClassifier(River):
    """A classifier that takes any number of classes."""

    def predict_proba_many(self: Any, X: Any) -> Any:
        """The probabilities for each row of a frame, a column for each class seen; a frame of the same library."""
        if not len(X) or model_of(self) is None:
            return table_beside(X, {})
        # Columns in the order of classes_, like scikit-learn's.
        shares = self.proba_chunk(self._chunk_of(X))
        return table_beside(X, dict(zip(self.classes_.tolist(), shares.T, strict=True)))

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


class OfRecords:
    """A learner of raw records: frames are read as they are, words and all."""

    def _chunk_of(self, X: Any, y: Any = None) -> Chunk:
        return Chunk(X, y)

    def _names(self: Any) -> list[Any]:
        names: list[Any] = self.feature_names_
        return names


MANNERS: dict[str, tuple[type[Any], type[Any]]] = {
    "classification": (RiverClassifier, base.MiniBatchClassifier),
    "regression": (RiverRegressor, base.MiniBatchRegressor),
    "outlier": (RiverDetector, detector_of_river()),
}


def with_seed(init: Callable[..., None]) -> Callable[..., None]:
    """``__init__`` with River's name of ``random_state`` beside ours."""
    signature = inspect.signature(init)
    # Learners that draw nothing get no seed either.
    if "random_state" not in signature.parameters:
        return init

    @wraps(init)
    def seeded(self: Any, *values: Any, seed: Any = None, **named: Any) -> None:
        init(self, *values, **named)
        # Kept under River's name as well, since its clone() reads parameters by name.
        self.__dict__["seed"] = seed
        if seed is not None:
            self.random_state = seed

    # The signature lists it, since River and scikit-learn find parameters there.
    one = inspect.Parameter("seed", inspect.Parameter.KEYWORD_ONLY, default=None)
    seeded.__signature__ = signature.replace(parameters=[*signature.parameters.values(), one])  # type: ignore[attr-defined]
    return seeded


@cache
def model(entry: Entry) -> type[Any]:
    """The learner of this entry as a River model."""
    return made(entry.name, entry.load(), entry.task, __name__)


def made(name: str, learner: type[Any], task: str, module: str, init: Any = None) -> type[Any]:
    """A River model of a learner, with its parameters or those of another ``__init__``."""
    manners, kind = MANNERS[task]
    # The learner's examples chain learn_one, which River's models do not.
    doc = (learner.__doc__ or name).partition("    Examples\n")[0]
    body = {"__doc__": doc, "__module__": module, "__init__": with_seed(init or learner.__init__)}
    # The order of bases matters: our manners adapt the learner's calls, and River's base comes last as a mark.
    own = (OfRecords,) if learner is RECORD_ENTRY.load() else ()
    return type(name, (*own, manners, learner, kind), body)


globals().update({entry.name: model(entry) for entry in (*LEARNERS, ACTIVE, RECORD_ENTRY)})


def around_a_regressor(init: Callable[..., None]) -> Callable[..., None]:
    """``__init__`` that puts a regressor inside if no learner is given."""

    @wraps(init)
    def filled(self: Any, *values: Any, **named: Any) -> None:
        init(self, *values, **named)
        if self.estimator is None:
            self.estimator = PARegressor()

    return filled


RecordRegressor = made(
    "RecordRegressor", RECORD_ENTRY.load(), "regression", __name__, around_a_regressor(RECORD_ENTRY.load().__init__)
)


def __getattr__(name: str) -> Any:
    if name in OWN:
        return model(OWN[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
