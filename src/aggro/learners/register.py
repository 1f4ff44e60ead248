"""Learners from outside the library: what a class must have to get the whole of it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, TypeVar, cast

import numpy as np

from aggro.engine.rule import Rule, Tally
from aggro.learners.base.detector import Detector
from aggro.learners.base.learner import SIDE_PARAMETERS, Learner
from aggro.learners.base.tasks import Classifier, Regressor
from aggro.learners.registry import LEARNERS, OWN, Entry

Kind = TypeVar("Kind", bound=type[Any])

BASE_OF_TASK: dict[str, type[Learner]] = {"classification": Classifier, "regression": Regressor, "outlier": Detector}
NEEDED_METHODS = ("_rule_for", "_params_for", "_contributions")
SHARED_PARAMETERS = (
    "max_iter",
    "tol",
    "shuffle",
    "warm_start",
    "random_state",
    "n_features",
)  # read by the shared code


def register(cls: Kind) -> Kind:
    """Register a learner of your own. Use it as a decorator.

    The class must be a subclass of ``Classifier`` or ``Regressor`` (``aggro.learners.base.tasks``) with its own rule
    and state: see "Add a learner" in the docs. Once it is registered, the command line, model files and
    ``aggro.interop.river`` know it by its name.

    Parameters
    ----------
    cls : class
        The learner.

    Returns
    -------
    estimator : class
        The learner with the interface of a scikit-learn estimator, which replaces the class.

    Raises
    ------
    TypeError
        If the class lacks a part, or its name is taken. The message says what to do.
    """
    if not inspect.isclass(cls) or hasattr(cls, "get_params"):
        raise TypeError(f"register takes a learner's class, without scikit-learn around it; got {cls!r}.")
    task = next((task for task, base in BASE_OF_TASK.items() if issubclass(cls, base)), None)
    name = cls.__name__
    if task is None:
        raise TypeError(f"{name} must be a subclass of Classifier or Regressor, from aggro.learners.base.tasks.")
    check_name(cls)
    for fault in faults(cls, task):
        raise TypeError(f"{name} cannot be registered: {fault}.")
    from aggro.estimators import estimator_of  # scikit-learn is imported where it is used

    OWN[name] = Entry(name, cls.__module__, task, cls)
    return cast(Kind, estimator_of(OWN[name]))


def check_name(cls: type[Any]) -> None:
    """Refuse a name that another learner has taken; a class defined again under its own name may replace itself."""
    name, taken = cls.__name__, OWN.get(cls.__name__)
    if any(entry.name == name for entry in LEARNERS):
        raise TypeError(f"The name {name!r} is taken: aggro has a learner of that name. Choose another.")
    if taken is not None and (taken.module, taken.load().__qualname__) != (cls.__module__, cls.__qualname__):
        raise TypeError(f"The name {name!r} is taken: {taken.module!r} has registered it. Choose another.")


def faults(cls: type[Any], task: str) -> Any:
    """What is wrong with a class, one after the other; each is looked for only if those before are absent."""
    for part in NEEDED_METHODS:
        if getattr(cls, part) is getattr(Learner, part):
            yield f"it has no {part}"
    constraints = getattr(cls, "_constraints", None)
    if not isinstance(constraints, Mapping):
        yield "it has no _constraints, which say what each parameter may be"
        return
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    unlike = sorted(({p.name for p in parameters} ^ set(constraints)) - set(SIDE_PARAMETERS))
    if unlike:
        yield f"{unlike[0]!r} is in one of __init__ and _constraints, and not in the other"
    needed = (*SHARED_PARAMETERS, "class_weight") if task == "classification" else SHARED_PARAMETERS
    for name in needed:
        if name not in constraints:
            yield f"it has no parameter {name!r}, which the shared code reads"
    required = [p.name for p in parameters if p.default is inspect.Parameter.empty]
    if required:
        yield f"its parameter {required[0]!r} has no default"
        return
    fresh = cls()
    unstored = [p.name for p in parameters if p.name not in fresh.__dict__]
    if unstored:
        yield f"__init__ does not store {unstored[0]!r}"
        return
    fresh._check_params()
    rule = fresh._rule_for(0)
    if not isinstance(rule, Rule):
        yield f"_rule_for gave {rule!r}, not a Rule"
        return
    yield from state_faults(rule.init(fresh._params_for(rule), 1, fresh._models(2)), rule)


def state_faults(state: Any, rule: Rule) -> Any:
    if type(state) is not rule.state or not isinstance(state, tuple):
        yield f"init made a {type(state).__name__}, and the rule's state is {rule.state.__name__}"
    elif not isinstance(getattr(state, "tally", None), Tally) or not isinstance(state[0], Tally):
        yield f"the first field of {rule.state.__name__} must be 'tally: Tally', made by new_tally"
    for part, name in zip(state[1:], getattr(state, "_fields", ())[1:], strict=False):
        if not isinstance(part, np.ndarray | tuple):
            yield f"the field {name!r} of {rule.state.__name__} is not an array"
