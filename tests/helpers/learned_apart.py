"""Learners that began as one and learned apart, for tests of ``aggro.mixing``."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from aggro.learners.base.inside import model_of
from aggro.mixing import merge


def leaves(state: Any, name: str = "state") -> dict[str, np.ndarray]:
    """The arrays of a state by their names."""
    if isinstance(state, tuple):
        found: dict[str, np.ndarray] = {}
        for part, value in zip(state._fields, state, strict=True):
            found |= leaves(value, f"{name}.{part}")
        return found
    return {name: state}


def arrays(learner: Any) -> dict[str, np.ndarray]:
    """The arrays of what a learner has learned."""
    model = model_of(learner)
    assert model is not None
    return leaves(model.state)


def same_bits(one: Any, other: Any) -> None:
    """Every array of both is the same to the bit."""
    mine, theirs = arrays(one), arrays(other)
    assert mine.keys() == theirs.keys()
    for name, values in mine.items():
        assert values.shape == theirs[name].shape, name
        assert values.tobytes() == theirs[name].tobytes(), name


def taught(learner: Any, X: Any, y: Any) -> Any:
    """The learner, with these rows learned; detectors have no targets."""
    return learner.partial_fit(X) if y is None else learner.partial_fit(X, y)


def parts_of(y: Any, which: Any) -> Any:
    return None if y is None else y[which]


def apart(learner: Any, X: Any, y: Any, n: int = 4, start: int = 300) -> tuple[Any, list[Any], Any]:
    """The common start, n learners that went on from there each with its share of the rows, and one with all rows."""
    base = copy.deepcopy(learner)
    if start:
        taught(base, X[:start], parts_of(y, slice(0, start)))
    learned = []
    for i in range(n):
        which = slice(start + i, None, n)
        learned.append(taught(copy.deepcopy(base), X[which], parts_of(y, which)))
    serial = taught(copy.deepcopy(base), X[start:], parts_of(y, slice(start, None)))
    return base, learned, serial


def goes_on(learner: Any, X: Any, y: Any, path: Any) -> Any:
    """Save it, load it, and learn on with both, to the same bits; what was loaded."""
    from aggro import load

    learner.save(path)
    again = load(path)
    same_bits(learner, again)
    for one in (learner, again):
        taught(one, X, y)
    same_bits(learner, again)
    for values in arrays(again).values():
        assert values.dtype.kind != "f" or np.isfinite(values).all()
    return again


def one_order(base: Any, learned: list[Any]) -> Any:
    """The mixture, which is the same in other orders, and by twos, to the bit."""
    from aggro.mixing.mixture import added_up, finished, known_of, taken, union

    found = merge(base, learned)
    same_bits(found, merge(base, learned[::-1]))
    same_bits(found, merge(base, learned[2:] + learned[:2]))
    known = union(known_of(base, base), [known_of(one, base) for one in learned])
    each = [taken(copy.deepcopy(one), base, known, "rows") for one in learned]
    tree = added_up([added_up([each[3], each[1]]), added_up([each[0], each[2]])])
    same_bits(found, finished(tree, base, known))
    return found
