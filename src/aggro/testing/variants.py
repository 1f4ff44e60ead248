"""What checks are made of: settings of a learner, streams, and comparison of models to the bit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from aggro.engine.rule import RULES
from aggro.engine.user_steps import OWN_STEPS, OwnStep
from aggro.learners.base.contract import Contract, Setting
from aggro.learners.base.inside import check_params, constraints_of, least_value, model_of, starts_at_random
from aggro.learners.base.params import Choice, Either, Flag, Number, StepChoice
from aggro.learners.model.model import Model
from aggro.learners.registry import Entry

IN_ORDER = {"max_iter": 1, "shuffle": False}  # the contract is about one pass over rows as they come
FIT_ONLY = {"max_iter", "shuffle", "warm_start", "calibration"}  # not about what a row teaches


@dataclass(frozen=True)
class Variant:
    """A learner with some settings."""

    entry: Entry
    params: dict[str, Any] = field(default_factory=dict)
    plain: dict[str, Any] = field(default_factory=dict)  # more of them, which its name does not tell

    def __str__(self) -> str:
        plain = ["plain"] if self.plain and not self.params else []
        return "-".join([self.entry.name, *plain, *(f"{k}={v}" for k, v in self.params.items())])

    @property
    def classifies(self) -> bool:
        return self.entry.task == "classification"

    @property
    def detects(self) -> bool:
        return self.entry.task == "outlier"

    def has(self, *names: str) -> bool:
        """Whether the learner has these parameters."""
        return set(names) <= set(constraints_of(self.entry.load()))

    def why_not(self, *claims: str) -> str | None:
        """Why one of these claims does not hold for these settings; None if all do."""
        said = (contract.exempt.get(claim) for claim in claims for contract in contracts(self.entry))
        return next((why for reasons in said if reasons and (why := self._reason(reasons)) is not None), None)

    def _reason(self, reasons: str | Mapping[Setting, str]) -> str | None:
        """The first that is for these settings; a step of one's own is like the built-in one it resembles."""
        if isinstance(reasons, str):
            return reasons
        settings, defaults = self.new().get_params(), type(self.new())().get_params()
        own = settings.get("step")
        own = OWN_STEPS.get(own) if isinstance(own, str) else own
        alike = [("step", word) for word in likenesses(own)] if own is not None else []
        changed = [name for name, value in settings.items() if value != defaults[name]]
        return next((why for key, why in reasons.items() if key in [*settings.items(), *alike, *changed]), None)

    def is_taken(self) -> bool:
        """Whether the learner takes these settings together: a step of one's own does not learn in groups."""
        try:
            check_params(self.new())
        except ValueError:
            return False
        return True

    def new(self, **more: Any) -> Any:
        import aggro.estimators

        start: dict[str, Any] = {"random_state": 0} if starts_at_random(self.entry.load()) else {}
        start |= {name: value for name, value in IN_ORDER.items() if self.has(name)}
        return getattr(aggro.estimators, self.entry.name)(**{**start, **self.plain, **self.params, **more})


def likenesses(own: OwnStep) -> list[str]:
    """The built-in steps that a step is like: ls if it has no hinge, pa if it does not look at C."""
    asked = list(product((0.1, 2.0), (0.1, 5.0)))
    blind = all(own(loss, q, 1e-3) == own(loss, q, 1e3) for loss, q in asked)
    return ["pa"] * blind + ["ls"] * (not own.hinge)


def contracts(entry: Entry) -> list[Contract]:
    """What the learner's class and its bases say of themselves."""
    return [kind.__dict__["contract"] for kind in entry.load().__mro__ if "contract" in kind.__dict__]


def variants(entry: Entry, given: dict[str, Any] | None = None) -> list[Variant]:
    """The learner as it comes; then around its plain algorithm every choice of words, crossed, each flag flipped once,
    and what its contract tries.

    A number or a word is both; but "auto" among words is not crossed. What is ``given`` stays.
    """
    given, plain = given or {}, plain_settings(entry)
    # Words that the contract tries by itself would only multiply the product.
    apart = frozenset[str]().union(*(contract.apart for contract in contracts(entry)))
    aside = {*given, *FIT_ONLY}
    constraints = {name: c for name, c in constraints_of(entry.load()).items() if name not in aside}
    words = {name: choices(c) for name, c in constraints.items() if name not in apart and choices(c)}
    flags = [name for name, c in constraints.items() if isinstance(c, Flag)]
    defaults = Variant(entry, {}, plain).new().get_params()
    # Flags are flipped one at a time: all combinations would take too long.
    switches: list[dict[str, Any]] = [{}, *({name: not defaults[name]} for name in flags)]
    crossed = [
        Variant(entry, {**given, **dict(zip(words, chosen, strict=True)), **switch}, plain)
        for chosen in product(*words.values())
        for switch in switches
    ]
    # What the contract tries must not override what is given.
    further = [
        Variant(entry, {**given, **settings}, plain) for settings in tried(entry) if not set(settings) & set(given)
    ]
    as_it_comes = [Variant(entry, given)] if plain else []
    return as_it_comes + crossed + [variant for variant in further if not given or variant.is_taken()]


def plain_settings(entry: Entry) -> dict[str, Any]:
    """Those of the learner's plain algorithm."""
    known = constraints_of(entry.load())
    said = {name: value for contract in contracts(entry) for name, value in contract.plain.items()}
    return {name: value for name, value in said.items() if name in known}


def tried(entry: Entry) -> list[dict[str, Any]]:
    """The settings that the learner's contract tries, and its parameters take."""
    known = constraints_of(entry.load())
    listed = [settings for contract in contracts(entry) for settings in contract.tried]
    return [
        dict(settings)
        for settings in listed
        if all(name in known and known[name].accepts(value) for name, value in settings.items())
    ]


def choices(constraint: Any) -> tuple[Any, ...]:
    if isinstance(constraint, StepChoice):
        return tuple(word for word in constraint.words if word != "auto")
    if isinstance(constraint, Choice):
        return tuple(word for word in constraint.words if word != "auto")
    if isinstance(constraint, Either) and isinstance(constraint.options[0], Number):
        words = [word for option in constraint.options if isinstance(option, Choice) for word in option.words]
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
    # Classes follow from these rows; with non-negative rows they are centred first.
    felt = X
    if least_value(variant.new()) == 0.0:  # rows of one sign, around which no class is the largest
        X = np.abs(X)
        felt = X - X.mean(axis=0)
    if not variant.classifies:
        return X, felt @ rng.standard_normal(d) + 0.1 * noise[:, 0]
    scores = felt @ rng.standard_normal((d, classes)) + 0.5 * noise
    if classes > 2:
        # The last class cannot win in the first third.
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


def with_the_same_room(a: Model, b: Model) -> tuple[Any, Any]:
    """The states of two models with room for as many features: what is not in use yet need not be zeros."""
    width = max(a.width, b.width)

    # Growing is the library's own way to make room, so both are compared in the same layout.
    def grown(model: Model) -> Any:
        models = model.state.tally.classes.shape[0]
        grow = RULES[type(model.state)].grow
        return model.state if model.width == width else grow(model.state, model.params, width, models)

    return grown(a), grown(b)


def assert_same_model(a: Any, b: Any) -> None:
    """Check that two models are bit-for-bit identical; only the room for features and classes to come may differ."""
    a, b = known(a), known(b)
    expect(list(a.labels.codes) == list(b.labels.codes), f"classes {list(a.labels.codes)}, {list(b.labels.codes)}")
    expect((a.features.n, a.features.names) == (b.features.n, b.features.names), "the features differ")
    expect(type(a.state) is type(b.state), f"one is a {type(a.state).__name__}, one a {type(b.state).__name__}")
    for p, r in zip(*map(arrays, with_the_same_room(a, b)), strict=True):
        shape = np.maximum(p.shape, r.shape)
        # Compared as bytes: −0.0 and 0.0 differ, and NaN equals itself.
        padded = [np.pad(array, [(0, n - m) for m, n in zip(array.shape, shape, strict=True)]) for array in (p, r)]
        if padded[0].tobytes() != padded[1].tobytes():  # written out only then: it takes longer than to learn
            raise AssertionError(f"{padded[0]} differs from {padded[1]}")
