"""scikit-learn's manners around every learner of the registry.

A shell adds what scikit-learn's tools look for (parameters, tags, cloning, HTML, metadata routing)
and no behaviour of its own. The learners themselves do not import scikit-learn, so that a command or
a service which has no use for it starts without it.
"""

from __future__ import annotations

from functools import cache
from threading import RLock
from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin, TransformerMixin
from sklearn.utils import ClassifierTags, RegressorTags

from aggro.learners.registry import ACTIVE, LEARNERS, OWN, RECORDS, Entry
from aggro.learners.shared.inside import least_value, task_of

__all__ = [entry.name for entry in (*LEARNERS, ACTIVE, RECORDS)]


class Shell(BaseEstimator):
    """What all shells share."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        inner = self.__dict__.get("estimator", self)
        tags.input_tags.positive_only = inner is not None and least_value(inner) == 0.0
        tags.input_tags.pairwise = self.__dict__.get("kernel") == "precomputed"
        return tags

    def __getstate__(self) -> dict[str, Any]:
        return dict(super().__getstate__())


class OfAnyTask:
    """Tags of a learner whose task is that of the one inside, and whose rows are raw."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.estimator_type = KINDS[task_of(self)]
        tags.classifier_tags = ClassifierTags() if tags.estimator_type == "classifier" else None
        tags.regressor_tags = RegressorTags() if tags.estimator_type == "regressor" else None
        tags.target_tags.required = tags.estimator_type != "outlier_detector"
        tags.input_tags.sparse = False
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags


KINDS = {"classification": "classifier", "regression": "regressor", "outlier": "outlier_detector"}
MIXINS = {"classification": ClassifierMixin, "regression": RegressorMixin, "outlier": OutlierMixin}


TURN = RLock()  # two threads that ask at once get the same class, which pickles rely on


def shell(entry: Entry) -> type[Any]:
    """The learner of this entry as a scikit-learn estimator, made when it is first asked for."""
    with TURN:
        return made(entry)


@cache
def made(entry: Entry) -> type[Any]:
    learner = entry.load()
    body = {"__doc__": learner.__doc__, "__module__": __name__, "__init__": learner.__init__}
    if entry.own is not None:  # it takes its class's place, where pickle looks for it
        body |= {"__module__": learner.__module__, "__qualname__": learner.__qualname__}
    mixins: tuple[type[Any], ...] = (MIXINS[entry.task],)
    if entry is RECORDS:
        mixins = (OfAnyTask,)
    if hasattr(learner, "transform"):
        mixins = (TransformerMixin, *mixins)
        body["transform"] = learner.transform  # scikit-learn wraps what a class itself has
    return type(entry.name, (*mixins, learner, Shell), body)


def __getattr__(name: str) -> Any:
    for entry in (*LEARNERS, ACTIVE, RECORDS, *OWN.values()):
        if entry.name == name:
            return shell(entry)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
