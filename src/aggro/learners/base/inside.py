"""The parts of a learner that other packages of this library may use, beyond those for users.

Files, commands, theory and checks look inside a learner through these calls, so that names which begin with an
underscore are the business of ``learners/`` alone. Asked about what was learned, a learner around another one answers
for the one inside. For passes of one's own over rows see ``base.entered``.

Commands import this file when they start, so it imports nothing that takes its time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aggro.engine.rule import Rule
    from aggro.learners.base.params import Constraint
    from aggro.learners.model.model import Model

FIT_PARAMETERS = {
    "shuffle",
    "warm_start",
    "calibration",
}  # about the order of rows or about answers, never about a state

# Parameters -------------------------------------------------------------------------------------------


def constraints_of(kind: Any) -> Mapping[str, Constraint]:
    """The constraints on each parameter of a learner, or of a class of learners."""
    found: Mapping[str, Constraint] = kind._constraints
    return found


def parameters_of(learner: Any) -> dict[str, Any]:
    """The current parameters of a learner, by name."""
    return {name: getattr(learner, name) for name in learner._constraints}


def settings_of(learner: Any) -> dict[str, Any]:
    """All parameters except the seed, with those of a learner inside: what copies of a learner must have in common."""
    inner = innermost(learner)
    around = parameters_of(learner) if inner is not learner else {}
    return {name: value for name, value in {**around, **parameters_of(inner)}.items() if name != "random_state"}


def check_params(learner: Any) -> None:
    """Refuse invalid parameters, and invalid combinations of them."""
    learner._check_params()


def check_third_class(learner: Any) -> None:
    """Refuse a classifier whose rule has no score for a third class."""
    learner._check_third_class()


def starts_at_random(kind: Any) -> bool:
    """Whether models of this class start at random."""
    return bool(kind._random)


def least_value(learner: Any) -> float:
    """The least value that a row may hold."""
    return float(learner._least())


def rule_and_params(learner: Any, classes: int) -> tuple[Rule, Any]:
    """The rule that learns when this many classes have been seen, and the parameters in the form that it reads."""
    rule = learner._rule_for(classes)
    return rule, learner._params_for(rule)


def possible_rules(learner: Any, classes: int, room: int) -> Iterator[tuple[Rule, Any, int]]:
    """The learner's rule, settings and number of models, and then those it may have had when its state was made.

    Words and switches may be set while a model learns: an average that is no longer asked for stays in the state. A
    learner that keeps a model for each class may have ``room`` for more than it has seen.
    """
    from aggro.learners.base.params import Choice, Flag

    # The state has room for the largest number of classes that it was made for, even if fewer were seen.
    models = max(learner._models(classes), learner._models(room))
    yield *rule_and_params(learner, classes), models
    constraints, own = learner._constraints, parameters_of(learner)
    # Parameters of ``fit`` alone are no part of the rule or its state.
    words = {name: c.words for name, c in constraints.items() if isinstance(c, Choice) and name not in FIT_PARAMETERS}
    switches = {
        name: (False, True) for name, c in constraints.items() if isinstance(c, Flag) and name not in FIT_PARAMETERS
    }
    options = {**words, **switches}
    # All combinations of words and switches: the state does not say which of them it was made with.
    for chosen in product(*options.values()):
        relative = type(learner)(**{**own, **dict(zip(options, chosen, strict=True))})
        yield *rule_and_params(relative, classes), models


# What was learned -------------------------------------------------------------------------------------


def model_of(learner: Any) -> Model | None:
    """The model that a learner has trained; None if it has learned nothing yet."""
    model: Model | None = innermost(learner).__dict__.get("_model")
    return model


def innermost(learner: Any) -> Any:
    """The learner that does the learning, inside those that wrap it."""
    while "estimator_" in learner.__dict__:
        learner = learner.__dict__["estimator_"]
    return learner


def task_of(learner: Any) -> str:
    """The task of a learner, or of the one inside it: "classification", "regression" or "outlier"."""
    from aggro.learners.registry import ACTIVE, find

    # A wrapper's task is that of the learner inside, fitted or not; without one it is the default, a classifier.
    if "estimator" in learner.__dict__:
        learner = learner.__dict__.get("estimator_") or learner.__dict__["estimator"]
        return "classification" if learner is None else task_of(learner)
    name = type(learner).__name__
    return ACTIVE.task if name == ACTIVE.name else find(name).task


def give_model(learner: Any, model: Model) -> None:
    """Give a trained model to a learner, after checking that its parameters fit what was learned."""
    learner._prepare(model)
    learner._model = model


def prepare(learner: Any, model: Model) -> None:
    """Update a model's settings to the learner's parameters, which may have changed."""
    model.stale = True  # what a parameter holds may have changed, with nobody setting it
    learner._prepare(model)


def losses_of(learner: Any) -> float:
    """The sum of the progressive losses of all rows; 0 if there was none."""
    model = model_of(learner)
    return 0.0 if model is None else float(model.state.tally.loss[0])


def begin_pass(learner: Any, number: int) -> None:
    """Begin another pass over the same data, after ``number`` of them."""
    model = model_of(learner)
    if model is not None:
        model.begin_pass(number)
        learner._begin_pass(model, number)
