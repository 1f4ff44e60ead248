"""How a learner did while it learned: its ``history_`` as curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aggro.learners.base.inside import losses_of
from aggro.plot.error_curves import CURVE_TITLES, draw_lines


def history(learner: Any, *, measure: str | None = None, ax: Any = None) -> Any:
    """Draw a learner's ``history_``: its progressive error and mean loss against rows.

    Each row counts once, before it is learned. The points are those of ``history_`` (powers of two of rows) and the
    current value.

    Parameters
    ----------
    learner : object or dict
        A learner that has learned something, or several by name.
    measure : {"error", "loss"}, default=None
        What to draw: the share of mistakes (of outlier detectors, of rows outside), or the mean loss. The default is
        both for one learner, and the error for several. A regressor has a loss alone.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    ax : matplotlib Axes
        Where it was drawn.

    Examples
    --------
    >>> from aggro import PAClassifier, plot, streams
    >>> model = PAClassifier(C=0.01)
    >>> for chunk in streams.twonorm(1000):
    ...     _ = model.learn_chunk(chunk)
    >>> ax = plot.history(model)
    >>> [line.get_label() for line in ax.lines]
    ['mistakes', 'mean loss']
    """
    # What cannot be drawn is refused with a reason.
    if measure not in (None, "error", "loss"):
        raise ValueError(f"measure={measure!r} is not known: 'error', 'loss', or None for what fits.")
    several = isinstance(learner, Mapping)
    learners = {str(name): inside(one) for name, one in learner.items()} if several else {"": inside(learner)}
    if not learners:
        raise ValueError("There is no learner to draw: the dict is empty.")
    # One axis has one measure, so all learners must be of one kind.
    kinds = {error_of(one) for one in learners.values()}
    if len(kinds) > 1:
        raise ValueError(
            "Classifiers, regressors and outlier detectors do not share an axis: draw each kind by itself."
        )
    (error,) = kinds
    if measure == "error" and error == "":
        raise ValueError("A regressor counts no mistakes: draw measure='loss'.")
    # One learner has room for both curves; several are compared by one.
    both = not several and measure is None and error != ""
    counts = measure != "loss" and error != ""
    series = {}
    for name, one in learners.items():
        if counts:
            series[name or error] = points(one, "mistakes")
        if both or not counts:
            series[name or "mean loss"] = points(one, "loss")
    title = f"{CURVE_TITLES[error]}, and mean loss" if both else CURVE_TITLES[error if counts else "loss"]
    return draw_lines(series, title=title, percent=counts and not both, ax=ax)


def inside(learner: Any) -> Any:
    """The learner that counts: a wrapper has it as ``estimator_``. It must have learned something."""
    # Wrappers can be around wrappers.
    while "estimator_" in getattr(learner, "__dict__", {}):
        learner = learner.estimator_
    if not hasattr(learner, "history_"):
        raise ValueError(
            f"{type(learner).__name__} has no history_: give a learner of aggro that has learned some rows."
        )
    return learner


def error_of(learner: Any) -> str:
    """What the learner counts beside its losses; nothing if it is a regressor."""
    if hasattr(learner, "classes_"):
        return "mistakes"
    return "outside" if hasattr(learner, "offset_") else ""


def points(learner: Any, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and the mean of what the column counts so far."""
    marks, seen = learner.history_, learner.n_seen_
    rows = marks["rows"]
    if column == "mistakes":
        means, now = marks["mistakes"] / np.maximum(rows, 1), learner.n_mistakes_ / max(seen, 1)
    else:
        means, now = marks["loss"], losses_of(learner) / max(seen, 1)
    # The current value is the last point, unless the history has just noted it.
    if rows.size and rows[-1] == seen:
        return rows, means
    return np.append(rows, seen), np.append(means, now)
