"""What checks are made of: settings of a learner, streams, and comparison of models to the bit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from aggro.engine.user_steps import OWN_STEPS, OwnStep
from aggro.learners.registry import Entry
from aggro.learners.shared.inside import check_params, constraints_of, model_of, starts_at_random
from aggro.learners.shared.model import Model
from aggro.learners.shared.params import Choice, Either, Flag, Number, StepChoice

FIT_ONLY = {"shuffle", "warm_start"}  # flags about fit, not about what a row teaches
IN_GRIDS = {"C", "budget_policy", "prototype", "window"}  # words that are not crossed with all others

# Why a check does not apply to a setting. Every skip in the contract has its reason here.
NO_C = {
    ("step", "pa"): "pa has no C for a weight to scale",
    ("step", "pam"): "pam has no C for a weight to scale",
    ("step", "printed"): "the paper's multiplicative uniclass step has no C",
}
SEVERAL = {
    ("step", "auto"): "several steps learn, with and without a C or a hinge",
    ("C", "auto"): "the check sets C",
}
HALF_LIFE = 20.0
BUDGET = 9
GROUP = 4
QUEUE = 5
NOT_PASSIVE = {
    ("step", "ls"): "least squares learns from every row, there is no hinge",
    ("half_life", HALF_LIFE): "every row makes the weights fade",
    ("batch_size", GROUP): "a row is kept until its group is learned",
    ("signed", False): "weights on a simplex do not reach every target: a row may keep its loss",
    ("step", "printed"): "its steps are short: hundreds do not reach the row",
    ("epsilon", "auto"): "a radius that is learned moves on every row",
    ("budget", BUDGET): "making room for a row may change its score",
}
UNBOUNDED = {("budget", None): "without a budget, every row that is learned from is kept"}
AT_RANDOM = {  # any value of ``select``: only a learner with pieces has it
    ("select", word): "pieces start at random, feature by feature in the order of their numbers"
    for word in ("winner", "nearest")
}
HIDDEN_ITERATE = {("average", True): "the mean predicts, while the step moves the last iterate"}


@dataclass(frozen=True)
class Variant:
    """A learner with some settings."""

    entry: Entry
    params: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "-".join([self.entry.name, *(f"{k}={v}" for k, v in self.params.items())])

    @property
    def classifies(self) -> bool:
        return self.entry.task == "classification"

    @property
    def detects(self) -> bool:
        return self.entry.task == "outlier"

    def has(self, *names: str) -> bool:
        """Whether the learner has these parameters."""
        return set(names) <= set(constraints_of(self.entry.load()))

    def reason(self, table: dict[tuple[str, Any], str]) -> str | None:
        """Why something does not apply to these settings; a step of one's own is like the built-in one it resembles."""
        settings = self.new().get_params()
        own = settings.get("step")
        own = OWN_STEPS.get(own) if isinstance(own, str) else own
        alike = [("step", word) for word in likenesses(own)] if own is not None else []
        return next((why for key, why in table.items() if key in settings.items() or key in alike), None)

    def is_taken(self) -> bool:
        """Whether the learner takes these settings together: a step of one's own does not learn in groups."""
        try:
            check_params(self.new())
        except ValueError:
            return False
        return True

    def new(self, **more: Any) -> Any:
        import aggro.estimators

        start = {"random_state": 0} if starts_at_random(self.entry.load()) else {}
        return getattr(aggro.estimators, self.entry.name)(**{**start, **self.params, **more})


def likenesses(own: OwnStep) -> list[str]:
    """The built-in steps that a step is like: ls if it has no hinge, pa if it does not look at C."""
    asked = list(product((0.1, 2.0), (0.1, 5.0)))
    blind = all(own(loss, q, 1e-3) == own(loss, q, 1e3) for loss, q in asked)
    return ["pa"] * blind + ["ls"] * (not own.hinge)


GRIDS: list[dict[str, Any]] = [
    {"C": "auto", "step": "auto"},
    {"C": "auto", "multi_class": "joint", "average": True},
    {"C": "auto", "average": True, "half_life": HALF_LIFE},
    {"half_life": HALF_LIFE},
    {"half_life": HALF_LIFE, "multi_class": "joint", "average": True},
    {"kernel": "poly", "fit_intercept": True},
    {"budget": BUDGET, "budget_policy": "project"},
    {"budget": BUDGET, "budget_policy": "merge", "step": "pa"},
    {"budget": BUDGET, "nu": 0.1},
    {"prototype": "sum", "gamma": 0.2, "scale": 0.1, "average": True},
    {"queue": QUEUE, "prototype": "sum"},
    {"queue": QUEUE, "average": True},
    {"batch_size": GROUP, "average": True},
    {"batch_size": GROUP, "window": "sliding", "kernel": "rbf"},
    {"batch_size": GROUP, "window": "sliding", "half_life": HALF_LIFE},
]


def variants(entry: Entry, given: dict[str, Any] | None = None) -> list[Variant]:
    """Every choice of words, crossed; each flag flipped once beside the defaults; then the grids and forgetting.

    A number or a word is both; but "auto", which makes a grid of a C or of steps, is left to the grids. What is
    ``given`` stays.
    """
    given = given or {}
    constraints = {name: c for name, c in constraints_of(entry.load()).items() if name not in given}
    words = {name: choices(c) for name, c in constraints.items() if name not in IN_GRIDS and choices(c)}
    flags = [name for name, c in constraints.items() if isinstance(c, Flag) and name not in FIT_ONLY]
    defaults = Variant(entry).new().get_params()
    switches: list[dict[str, Any]] = [{}, *({name: not defaults[name]} for name in flags)]
    crossed = [
        Variant(entry, {**given, **dict(zip(words, chosen, strict=True)), **switch})
        for chosen in product(*words.values())
        for switch in switches
    ]
    grids = [
        Variant(entry, {**given, **settings})
        for settings in GRIDS
        if all(name in constraints and constraints[name].accepts(value) for name, value in settings.items())
    ]
    grids = [variant for variant in grids if not given or variant.is_taken()]
    return crossed + grids


def choices(constraint: Any) -> tuple[Any, ...]:
    if isinstance(constraint, StepChoice):
        return tuple(word for word in constraint.words if word != "auto")
    if isinstance(constraint, Choice):
        return constraint.words
    if isinstance(constraint, Either) and isinstance(constraint.options[0], Number):
        words = [word for option in constraint.options for word in choices(option)]
        return (*words, 1.0) if words else ()
    return ()


def stream(
    variant: Variant, n: int = 60, d: int = 6, classes: int = 3, density: float = 0.7
) -> tuple[np.ndarray, np.ndarray]:
    """Rows with some zeros, and targets; the last class first appears a third of the way in.

    A detector's targets are there to be ignored.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < density)
    noise = rng.standard_normal((n, classes))
    felt = X
    if not variant.params.get("signed", True):  # rows of one sign, around which no class is the largest
        X = np.abs(X)
        felt = X - X.mean(axis=0)
    if not variant.classifies:
        return X, felt @ rng.standard_normal(d) + 0.1 * noise[:, 0]
    scores = felt @ rng.standard_normal((d, classes)) + 0.5 * noise
    if classes > 2:
        scores[: n // 3, -1] = -np.inf
    return X, np.array(["b", "a", "c", "e", "d"][:classes])[scores.argmax(axis=1)]


def as_dicts(X: np.ndarray, prefix: str = "f") -> list[dict[str, float]]:
    return [{f"{prefix}{j}": float(row[j]) for j in np.flatnonzero(row)} for row in X]


def as_pairs(X: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(np.flatnonzero(row), row[np.flatnonzero(row)]) for row in X]


def learn_rows(model: Any, rows: Iterable[Any], y: Iterable[Any]) -> Any:
    for row, target in zip(rows, y, strict=True):
        model.learn_one(row, target)
    return model


def arrays(state: Any) -> list[np.ndarray]:
    """Every array of a state, nested ones included."""
    if isinstance(state, tuple):
        return [array for part in state for array in arrays(part)]
    return [state] if isinstance(state, np.ndarray) else []


def known(model: Any) -> Model:
    """What a model that has learned knows."""
    found = model_of(model)
    if found is None:
        raise AssertionError(f"this {type(model).__name__} has learned nothing")
    return found


def snapshot(model: Any) -> tuple:
    """Everything a model knows, to the bit."""
    inner = model_of(model)
    if inner is None:
        return (repr(model.get_params()),)
    features, labels = inner.features, inner.labels
    known = (features.n, features.names and tuple(features.names), tuple(labels.codes), tuple(labels.reserved))
    return (repr(model.get_params()), known, *(array.tobytes() for array in arrays(inner.state)))


def learned(model: Any) -> list[bytes]:
    """The state without its counters."""
    return [array.tobytes() for array in arrays(known(model).state[1:])]


def decisions(model: Any, X: Any) -> np.ndarray:
    found: np.ndarray = (model.decision_function if hasattr(model, "decision_function") else model.predict)(X)
    return found


def one_by_one(model: Any, rows: Iterable[Any]) -> np.ndarray:
    return np.array([model.decision_one(row) for row in rows])


# An assert statement would be silent under ``python -O``; these are not.


def expect(condition: Any, said: str) -> None:
    if not condition:
        raise AssertionError(said)


def assert_close(a: Any, b: Any) -> None:
    """Equal up to the rounding of sums in another order."""
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


def assert_same_model(a: Any, b: Any) -> None:
    """The same knowledge to the bit; the room kept for features and classes to come may differ."""
    a, b = known(a), known(b)
    expect(list(a.labels.codes) == list(b.labels.codes), f"classes {list(a.labels.codes)}, {list(b.labels.codes)}")
    expect((a.features.n, a.features.names) == (b.features.n, b.features.names), "the features differ")
    expect(type(a.state) is type(b.state), f"one is a {type(a.state).__name__}, one a {type(b.state).__name__}")
    for p, r in zip(arrays(a.state), arrays(b.state), strict=True):
        shape = np.maximum(p.shape, r.shape)
        padded = [np.pad(array, [(0, n - m) for m, n in zip(array.shape, shape, strict=True)]) for array in (p, r)]
        expect(padded[0].tobytes() == padded[1].tobytes(), f"{padded[0]} differs from {padded[1]}")
