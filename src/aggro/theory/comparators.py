"""The fixed vector that a learner is measured against: given by the user, or found."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.theory.find_comparator import EDGE_ROUNDING, nearest_without_loss
from aggro.theory.setting import Additive, Setting

BETTER = "Give another, or comparator='best'; for streams that have none see unrealizable_bound."


def as_vector(given: Any, setting: Setting) -> np.ndarray:
    """A comparator as a vector of the problem.

    It may be weights, (weights, intercept), or a fitted model with ``coef_`` and ``intercept_``, or with ``center_``.
    """
    problem, classes = setting.problem, setting.classes
    # A model is taken for its weights; of a detector they are its centre.
    if hasattr(given, "coef_"):
        theirs = getattr(given, "classes_", None)
        # With the classes the other way round, the weights would have to be turned as well.
        if classes is not None and theirs is not None and list(theirs) != list(classes):
            raise ValueError(
                f"The comparator knows the classes {list(theirs)}, but the stream has {list(classes)}. They must "
                "agree, since its weights are for the last of them."
            )
        given = given.coef_, given.intercept_
    elif hasattr(given, "center_"):
        given = given.center_
    weights, intercept = given if isinstance(given, tuple) and len(given) == 2 else (given, 0.0)
    u = as_numbers(weights, "weights")
    b = as_numbers(intercept, "intercept")
    # coef_ of two classes is a matrix with one row.
    if u.ndim == 2 and u.shape[0] == 1:
        u = u[0]
    if u.shape != (problem.size,):
        raise ValueError(f"The comparator has weights of shape {u.shape}, expected ({problem.size},): one a feature.")
    if b.size != 1:
        raise ValueError(f"The comparator has {b.size} intercepts, expected one.")
    # An intercept that the learner lacks would compare it with a larger class of functions.
    if not problem.bias:
        if b.item() != 0.0:
            raise ValueError(f"The comparator has the intercept {b.item()}, but the learner has none.")
        return u.copy()
    return np.append(u, b.item())


def as_numbers(value: Any, what: str) -> np.ndarray:
    try:
        array = np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            "A comparator is 'best', an array of weights, a pair (weights, intercept), or a fitted model; its "
            f"{what} are not numbers: {error}."
        ) from error
    if not np.isfinite(array).all():
        raise ValueError(f"The comparator's {what} must be finite, got {array}.")
    return array


def without_loss(given: Any, setting: Setting, asker: str) -> np.ndarray:
    """A comparator that has loss 0 on every row, up to the rounding of its scores."""
    problem = setting.problem
    if isinstance(given, str) and given == "best":
        found = nearest_without_loss(problem, setting.start)
        if found is None:
            raise ValueError(
                f"{asker} needs a comparator without loss, and there is none: no vector has loss 0 on all of these "
                f"{problem.n_rows:,} rows (or none of a reasonable size). For such streams see unrealizable_bound."
            )
        return found
    u = as_vector(given, setting)
    # The edge holds up to the rounding of scores, which is a share of what they are sums of.
    excess = problem.discrepancies(u) - problem.edge
    # The worst row makes the message.
    row = int(np.argmax(excess - EDGE_ROUNDING * problem.sizes(u)))
    if excess[row] > EDGE_ROUNDING * problem.sizes(u)[row]:
        raise ValueError(
            f"{asker} needs a comparator without loss, and this one has loss {excess[row]:.6g} on row {row}. "
            + (BETTER if isinstance(setting, Additive) else "Give another.")
        )
    return u
