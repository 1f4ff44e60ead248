"""What the library's other rooms may ask of a learner, beyond what users see.

Files, commands, theory and checks look inside a learner through these calls, so that names which begin with an
underscore are the business of ``learners/`` alone. Asked about what was learned, a learner around another one answers
for the one inside. For passes of one's own over rows see ``shared.entered``.

Commands import this file when they start, so it imports nothing that takes its time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aggro.engine.rule import Rule
    from aggro.learners.shared.model import Model
    from aggro.learners.shared.params import Constraint

FIT_ONLY = {"shuffle", "warm_start", "calibration"}  # about the order of rows or about answers, never about a state

# Parameters -------------------------------------------------------------------------------------------


def constraints_of(kind: Any) -> Mapping[str, Constraint]:
    """What each parameter of a learner, or of a class of learners, may be."""
    found: Mapping[str, Constraint] = kind._constraints
    return found


def parameters_of(learner: Any) -> dict[str, Any]:
    """A learner's parameters as they are now."""
    return {name: getattr(learner, name) for name in learner._constraints}


def settings_of(learner: Any) -> dict[str, Any]:
    """All parameters but for the seed, those of a learner inside it too: what copies of a learner have in common."""
    inner = innermost(learner)
    around = parameters_of(learner) if inner is not learner else {}
    return {name: value for name, value in {**around, **parameters_of(inner)}.items() if name != "random_state"}


def check_params(learner: Any) -> None:
    """Refuse parameters that cannot be, or not together."""
    learner._check_params()


def starts_at_random(kind: Any) -> bool:
    """Whether models of this class start at random."""
    return bool(kind._random)


def least_value(learner: Any) -> float:
    """The least value that a row may hold."""
    return float(learner._least())


def rule_and_params(learner: Any, classes: int) -> tuple[Rule, Any]:
    """The rule that learns when so many classes have been seen, and the parameters as it reads them."""
    rule = learner._rule_for(classes)
    return rule, learner._params_for(rule)


def possible_rules(learner: Any, classes: int, room: int) -> Iterator[tuple[Rule, Any, int]]:
    """The learner's rule, settings and number of models, and then those it may have had when its state was made.

    Words and switches may be set while a model learns: an average that is no longer asked for stays in the state. A
    learner that keeps a model for each class may have ``room`` for more than it has seen.
    """
    from aggro.learners.shared.params import Choice, Flag

    models = max(learner._models(classes), learner._models(room))
    yield *rule_and_params(learner, classes), models
    constraints, own = learner._constraints, parameters_of(learner)
    words = {name: c.words for name, c in constraints.items() if isinstance(c, Choice) and name not in FIT_ONLY}
    switches = {name: (False, True) for name, c in constraints.items() if isinstance(c, Flag) and name not in FIT_ONLY}
    options = {**words, **switches}
    for chosen in product(*options.values()):
        relative = type(learner)(**{**own, **dict(zip(options, chosen, strict=True))})
        yield *rule_and_params(relative, classes), models


# What was learned -------------------------------------------------------------------------------------


def model_of(learner: Any) -> Model | None:
    """What was learned; None if that is nothing yet."""
    model: Model | None = innermost(learner).__dict__.get("_model")
    return model


def innermost(learner: Any) -> Any:
    """The learner that learns, inside those around it."""
    while "estimator_" in learner.__dict__:
        learner = learner.__dict__["estimator_"]
    return learner


def task_of(learner: Any) -> str:
    """What a learner, or the one inside it, is for: "classification", "regression" or "outlier"."""
    from aggro.learners.registry import ACTIVE, find

    if "estimator" in learner.__dict__:
        learner = learner.__dict__.get("estimator_") or learner.__dict__["estimator"]
        return "classification" if learner is None else task_of(learner)
    name = type(learner).__name__
    return ACTIVE.task if name == ACTIVE.name else find(name).task


def give_model(learner: Any, model: Model) -> None:
    """Let a learner know all that a model knows, if its parameters fit what was learned."""
    learner._prepare(model)
    learner._model = model


def prepare(learner: Any, model: Model) -> None:
    """Make a model's settings agree with the learner's parameters, which may have been set meanwhile."""
    model.stale = True  # what a parameter holds may have changed, with nobody setting it
    learner._prepare(model)


def losses_of(learner: Any) -> float:
    """The sum of the losses of all rows, each before it was learned; 0 if there was none."""
    model = model_of(learner)
    return 0.0 if model is None else float(model.state.tally.loss[0])


def begin_pass(learner: Any, number: int) -> None:
    """Say that the next rows are those of another pass over the same data, ``number`` of which are behind."""
    model = model_of(learner)
    if model is not None:
        model.begin_pass(number)
        learner._begin_pass(model, number)
