"""A state as named arrays and back, and what its arrays must be.

Kernels do not check bounds, so a state from a file must have exactly the arrays that its rule would have
made. The rule is asked: it makes two small states, of width 1 and 2, and every side of an array that differs
between them grows with the width. So nothing of the size that a file claims is made before it is believed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aggro.engine.fields import faults
from aggro.engine.rule import LIVE, RULES, Rule
from aggro.learners.base.inside import possible_rules
from aggro.models.container import Spec
from aggro.models.errors import Flaw


def flatten(state: Any, prefix: str = "") -> dict[str, np.ndarray]:
    """The arrays of a state by name; those of a part have its name in front: ``tally.rows``."""
    found: dict[str, np.ndarray] = {}
    for name, part in zip(state._fields, state, strict=True):
        found |= flatten(part, f"{prefix}{name}.") if isinstance(part, tuple) else {prefix + name: part}
    return found


def unflatten(mould: Any, arrays: Mapping[str, np.ndarray], prefix: str = "") -> Any:
    """A state like ``mould``, of these arrays."""
    parts = zip(mould._fields, mould, strict=True)
    return type(mould)(
        *(
            unflatten(part, arrays, f"{prefix}{name}.") if isinstance(part, tuple) else arrays[prefix + name]
            for name, part in parts
        )
    )


def specs_of(arrays: Mapping[str, np.ndarray]) -> dict[str, Spec]:
    return {name: Spec(array.dtype, array.shape) for name, array in arrays.items()}


def mould(learner: Any, kind: str, specs: Mapping[str, Spec], width: int, classes: int) -> Any:
    """A small state like the one that arrays of these specs make up, if the learner could have it."""
    counts = specs.get("tally.classes")
    # How many classes there is room for, as the array itself says; the rule is asked for as many.
    room = counts.shape[0] if counts and counts.dtype == np.float64 and len(counts.shape) == 1 else 0
    nearest: dict[str, Spec] | None = None
    # Words and switches may have been set since the state was made, so several rules are possible.
    for rule, params, models in possible_rules(learner, classes, room):
        if rule.state.__name__ == kind:
            try:
                small, wanted = _wanted(rule, params, width, models, specs)
            except MemoryError as error:
                raise Flaw("the arrays that its parameters ask for do not fit in memory") from error
            if wanted == specs:
                return small
            nearest = nearest or wanted
    if nearest is None:
        raise Flaw(f"a {type(learner).__name__} with {classes} classes has no state {kind!r}")
    names = dict.fromkeys([*nearest, *specs])
    # The first array that differs from the nearest rule makes the message.
    wrong = next(name for name in names if nearest.get(name) != specs.get(name))
    raise Flaw(f"the array {wrong!r} should be {nearest.get(wrong, 'absent')} and is {specs.get(wrong, 'absent')}")


def _wanted(rule: Rule, params: Any, width: int, models: int, specs: Mapping[str, Spec]) -> tuple[Any, dict[str, Spec]]:
    # Rules whose arrays do not grow linearly with the width say themselves which shapes go together.
    if rule.shapes is not None:
        small = rule.init(params, 1, models)
        counted = specs_of(flatten(small.tally, "tally."))
        others = rule.shapes(params, width, models, specs)
        return small, counted | {name: Spec(np.dtype(kind), shape) for name, (kind, shape) in others.items()}
    # Linear in the width: two points give each side's slope.
    small, wider = (rule.init(params, n, models) for n in (1, 2))
    pairs = zip(flatten(small).items(), flatten(wider).values(), strict=True)
    wanted = {
        name: Spec(a.dtype, tuple(m + (n - m) * (width - 1) for m, n in zip(a.shape, b.shape, strict=True)))
        for (name, a), b in pairs
    }
    for name in rule.loose:  # the last side may be of any length
        if name in specs and specs[name].shape:
            wanted[name] = Spec(wanted[name].dtype, (*wanted[name].shape[:-1], specs[name].shape[-1]))
    return small, wanted


def check_state(state: Any, classes: int) -> None:
    """Hold a state against what its fields say that they hold, and the classes against those that have names."""
    # First the bounds that fields declare, then what only the rule knows about several fields together.
    flaw = RULES[type(state)].flaw
    for name, fault in faults(state, trusted=flaw is not None):
        raise Flaw(f"the array {name!r} {fault}")
    if flaw is not None and (wrong := flaw(state)):
        raise Flaw(wrong)
    live = int(state.tally.rows[LIVE])
    if live > classes:
        raise Flaw(f"the array 'tally.rows' counts {live} classes, and the header names {classes}")
