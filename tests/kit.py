"""What the tests share: variants of every registered learner, streams, and bitwise comparison of models."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pytest

import aggro.estimators
from aggro.learners.params import Choice, Either, Flag, Number
from aggro.learners.registry import LEARNERS, Entry

FIT_ONLY = {"shuffle", "warm_start"}  # flags about fit, not about what a row teaches

# Why a check does not apply to a setting. Every skip in the contract has its reason here.
NO_C = {
    ("step", "pa"): "pa has no C for a weight to scale",
    ("step", "printed"): "the paper's multiplicative uniclass step has no C",
}
NOT_PASSIVE = {
    ("step", "ls"): "least squares learns from every row, there is no hinge",
    ("signed", False): "weights on a simplex do not reach every target: a row may keep its loss",
    ("step", "printed"): "its steps are short: thirty do not reach the row",
}
MOVING_RADIUS = {("epsilon", "auto"): "a radius that is learned moves on every row"}
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
        return set(names) <= set(self.entry.load()._constraints)

    def new(self, **more: Any) -> Any:
        return getattr(aggro.estimators, self.entry.name)(**{**self.params, **more})


def variants(entry: Entry) -> list[Variant]:
    """Every choice of words, crossed; each flag flipped once beside the defaults. A number or a word is both."""
    constraints = entry.load()._constraints
    words = {name: choices(c) for name, c in constraints.items() if choices(c)}
    flags = [name for name, c in constraints.items() if isinstance(c, Flag) and name not in FIT_ONLY]
    defaults = Variant(entry).new().get_params()
    switches = [{}] + [{name: not defaults[name]} for name in flags]
    return [
        Variant(entry, {**dict(zip(words, chosen, strict=True)), **switch})
        for chosen in product(*words.values())
        for switch in switches
    ]


def choices(constraint: Any) -> tuple[Any, ...]:
    if isinstance(constraint, Choice):
        return constraint.words
    if isinstance(constraint, Either) and isinstance(constraint.options[0], Number):
        words = [word for option in constraint.options for word in choices(option)]
        return (*words, 1.0) if words else ()
    return ()


PLAIN = [Variant(entry) for entry in LEARNERS]
ALL = [variant for entry in LEARNERS for variant in variants(entry)]
FEW = [v for v in ALL if v.params.get("step") == v.entry.load()().__dict__.get("step")]  # for what no step can change


def each(table: list[Variant] = ALL, skip: dict[tuple[str, Any], str] | None = None, where: Any = None) -> Any:
    """Run a test for every variant (that ``where`` accepts), skipping settings that have a reason."""
    rows = []
    for variant in table:
        if where is None or where(variant):
            settings = variant.new().get_params().items()
            marks = [pytest.mark.skip(reason=reason) for key, reason in (skip or {}).items() if key in settings]
            rows.append(pytest.param(variant, marks=marks, id=str(variant)))
    return pytest.mark.parametrize("variant", rows)


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


def learn_rows(model: Any, rows: Any, y: Any) -> Any:
    for row, target in zip(rows, y, strict=True):
        model.learn_one(row, target)
    return model


def arrays(state: Any) -> list[np.ndarray]:
    """Every array of a state, nested ones included."""
    if isinstance(state, tuple):
        return [array for part in state for array in arrays(part)]
    return [state] if isinstance(state, np.ndarray) else []


def snapshot(model: Any) -> tuple:
    """Everything a model knows, to the bit."""
    inner = model.__dict__.get("_model")
    if inner is None:
        return (repr(model.get_params()),)
    features, labels = inner.features, inner.labels
    known = (features.n, features.names and tuple(features.names), tuple(labels.codes), tuple(labels.reserved))
    return (repr(model.get_params()), known, *(array.tobytes() for array in arrays(inner.state)))


def assert_same_model(a: Any, b: Any) -> None:
    """The same knowledge to the bit; the room kept for features and classes to come may differ."""
    a, b = a._model, b._model
    assert list(a.labels.codes) == list(b.labels.codes)
    assert (a.features.n, a.features.names) == (b.features.n, b.features.names)
    assert type(a.state) is type(b.state)
    for p, r in zip(arrays(a.state), arrays(b.state), strict=True):
        shape = np.maximum(p.shape, r.shape)
        padded = [np.pad(array, [(0, n - m) for m, n in zip(array.shape, shape, strict=True)]) for array in (p, r)]
        assert padded[0].tobytes() == padded[1].tobytes(), f"{padded[0]} differs from {padded[1]}"


def reading(model: Any) -> Any:
    """As a prediction in another thread holds the state while it reads."""
    return model._model.reading()


def learned(model: Any) -> list[bytes]:
    """The state without its counters."""
    return [array.tobytes() for array in arrays(model._model.state[1:])]


def decisions(model: Any, X: Any) -> np.ndarray:
    return (model.decision_function if hasattr(model, "decision_function") else model.predict)(X)


def one_by_one(model: Any, rows: Any) -> np.ndarray:
    return np.array([model.decision_one(row) for row in rows])


def assert_close(a: Any, b: Any) -> None:
    """Equal up to the rounding of sums in another order."""
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)
