"""What makes a scikit-learn estimator of a learner: parameters, tags, cloning, HTML and metadata routing.

The learners themselves do not import scikit-learn, so that a command or a service without a use for it starts without
it. A class here inherits from the learner first and from the shell of its task second, and adds no behaviour.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from threading import RLock
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin, TransformerMixin
from sklearn.utils import ClassifierTags, RegressorTags

from aggro.learners.base.inside import least_value, task_of
from aggro.learners.registry import Entry

if TYPE_CHECKING:
    import numpy as np

ESTIMATOR_TYPES = {"classification": "classifier", "regression": "regressor", "outlier": "outlier_detector"}


class Shell(BaseEstimator):
    """What all estimators share."""

    if TYPE_CHECKING:  # scikit-learn comes without types

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...

    def __init_subclass__(cls, **options: Any) -> None:
        """A class without a docstring has that of its learner."""
        super().__init_subclass__(**options)
        if cls.__doc__ is None:
            cls.__doc__ = next((base.__doc__ for base in cls.__mro__[1:] if base.__doc__), None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        inner: Any = self
        while inner is not None and "estimator" in inner.__dict__:
            inner = inner.__dict__["estimator"]
        tags.input_tags.positive_only = inner is not None and least_value(inner) == 0.0
        tags.input_tags.pairwise = self.__dict__.get("kernel") == "precomputed"
        return tags

    def __getstate__(self) -> dict[str, Any]:
        return dict(super().__getstate__())


def has_one_sign(learner: Any) -> bool:
    """Whether all weights have one sign, so that a learner fits few targets: ``poor_score`` says so to scikit-learn."""
    return getattr(learner, "signed", True) is False


class ClassifierShell(ClassifierMixin, Shell):
    """Of a classifier."""

    if TYPE_CHECKING:

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = has_one_sign(self)
        return tags


class RegressorShell(RegressorMixin, Shell):
    """Of a regressor."""

    if TYPE_CHECKING:

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = has_one_sign(self)
        return tags


class DetectorShell(OutlierMixin, Shell):
    """Of an outlier detector."""

    if TYPE_CHECKING:

        def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> np.ndarray: ...


class TransformerShell(TransformerMixin):
    """Beside the shell of a learner's task, if the learner has ``transform``."""

    if TYPE_CHECKING:

        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any: ...
        def set_output(self, *, transform: Any = None) -> Self: ...


class RecordShell(TransformerShell, Shell):
    """Of a learner of raw rows, whose task is that of the learner inside."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = ESTIMATOR_TYPES[task_of(self)]
        tags.classifier_tags = ClassifierTags() if tags.estimator_type == "classifier" else None
        tags.regressor_tags = RegressorTags() if tags.estimator_type == "regressor" else None
        tags.target_tags.required = tags.estimator_type != "outlier_detector"
        tags.input_tags.sparse = False
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags


SHELLS = {"classification": ClassifierShell, "regression": RegressorShell, "outlier": DetectorShell}


def store(learner: Any, given: Mapping[str, Any]) -> None:
    """Store the parameters that ``__init__`` was given, its ``locals()``, each under its own name."""
    for name, value in given.items():
        if name != "self":
            setattr(learner, name, value)


# Learners without a class here: those that ``aggro.register`` is given -----------------------------------------


TURN = RLock()  # two threads that ask at once get the same class, which pickles rely on


def wrapped(entry: Entry) -> type[Any]:
    """The learner of this entry as an estimator, made when it is first asked for."""
    with TURN:
        return made(entry)


@cache
def made(entry: Entry) -> type[Any]:
    learner = entry.load()
    body: dict[str, Any] = {"__module__": "aggro.estimators"}
    if entry.own is not None:  # it takes its class's place, where pickle looks for it
        body = {"__module__": learner.__module__, "__qualname__": learner.__qualname__}
    shells: tuple[type[Any], ...] = (SHELLS[entry.task],)
    if hasattr(learner, "transform"):
        shells = (TransformerShell, *shells)
        body["transform"] = learner.transform  # scikit-learn wraps what a class itself has
    return type(entry.name, (learner, *shells), body)
