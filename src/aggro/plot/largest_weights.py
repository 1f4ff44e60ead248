"""The largest weights of a linear model, by name and class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from aggro.plot.canvas import axes_for, colours_of, keep_inside, plain_text, quieten, set_title
from aggro.plot.colours import SERIES
from aggro.plot.label_places import folded

NAME_LETTERS = 36  # of a feature's name, at most; of a class's half as many
NAME_LETTER_POINTS = 5.2  # points that one takes
NAMES_SHARE = 0.4  # of the whole width that features' names may take
TICK = 0.75  # inches from a number below the bars to the next


class Bar(NamedTuple):
    """One weight: its feature, its value, and the number of its class, or of its colour where there are none."""

    feature: str
    value: float
    shade: int


def weights(learner: Any, n: int = 20, *, names: Sequence[Any] | None = None, ax: Any = None) -> Any:
    """Draw the largest weights of a linear model, with the names of their features and classes.

    With two classes, each feature has one weight: positive values favour the second class, negative ones the first.
    With more classes, each feature has a weight for each class. Weights of 0 are left out.

    Parameters
    ----------
    learner : object
        A learner with ``coef_`` (or ``center_``), one around such a learner (``RecordLearner``, ``ActiveLearner``),
        or a scikit-learn pipeline that ends with one: then the names are those that come out of the steps before it.
    n : int, default=20
        How many weights, at most.
    names : sequence, default=None
        The features' names, one for each column, where the learner knows none.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    ax : matplotlib Axes
        Where it was drawn.

    Examples
    --------
    >>> from aggro import PAClassifier, plot
    >>> model = PAClassifier().learn_one({"cheap": 1, "pills": 1}, "spam").learn_one({"monday": 1}, "work")
    >>> ax = plot.weights(model)
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['cheap', 'pills', 'monday']
    """
    if n < 1:
        raise ValueError(f"n={n} weights cannot be drawn: give 1 or more.")
    bars, classes, title = largest(learner, n, names)
    ax = axes_for(ax, 0.9 + 0.26 * len(bars))
    colours = colours_of(ax)
    shades = [colours[SERIES[bar.shade % len(SERIES)]] for bar in bars]
    slot = ax.get_position(original=True)
    # As many letters as fit into the share of the width that names may take.
    letters = int(NAMES_SHARE * slot.width * ax.figure.get_figwidth() * 72.0 / NAME_LETTER_POINTS)
    heights = np.arange(len(bars))
    # Bars from the top, the largest first.
    ax.barh(heights, [bar.value for bar in bars], height=0.62, color=shades)
    ax.set_yticks(heights, [folded(bar.feature, max(8, min(NAME_LETTERS, letters)), most=1)[0] for bar in bars])
    ax.set_ylim(len(bars) - 0.4, -0.6)  # the largest is at the top
    plain_text(ax.get_yticklabels())
    # Without classes the colour alone says the sign.
    for height, bar, shade in zip(heights, bars, shades, strict=True) if classes else ():
        text = folded(classes[bar.shade], max(8, min(NAME_LETTERS, letters) // 2), most=1)[0]
        place = ax.get_yaxis_transform()
        ax.text(1.02, height, text, transform=place, va="center", color=shade, fontsize="small", parse_math=False)
    ax.axvline(0.0, color=colours["soft"], linewidth=0.8)
    ax.grid(axis="x", color=colours["rule"], linewidth=0.8)
    quieten(ax, colours)
    ax.tick_params(length=0)
    ax.tick_params(axis="y", labelcolor=colours["ink"])
    ax.spines["bottom"].set_visible(False)
    # After all words are there: how much room they need is only known then.
    keep_inside(ax, slot)
    # Numbers below the bars need a minimum distance; the Axes may have become narrow.
    inches = ax.get_position(original=True).width * ax.figure.get_figwidth()
    ax.locator_params(axis="x", nbins=max(1, min(6, int(inches / TICK))))
    set_title(ax, title, slot)
    return ax


def largest(learner: Any, n: int, names: Sequence[Any] | None) -> tuple[list[Bar], list[str], str]:
    """The largest weights in order, the classes if there are any, and what to say of them."""
    model, names = opened(learner, names)
    # The weights of a map are not of the columns that the names belong to.
    if getattr(model, "features", None) is not None:
        raise ValueError(
            f"The weights of this {type(model).__name__} are those of its map (features={model.features!r}), not of "
            "what rows came with. explain_one shows what single rows owe to their features."
        )
    table = getattr(model, "coef_", None)
    centre = table is None
    if table is None:
        table = getattr(model, "center_", None)
    if table is None:
        raise ValueError(
            f"{type(model).__name__} has no weights by feature (coef_): it has learned nothing yet, or is no linear "
            "model. explain_one shows what single rows owe to their features."
        )
    # One row of weights for two classes, one for each class otherwise.
    table = np.atleast_2d(np.asarray(table, dtype=np.float64))
    if names is not None and len(names) != table.shape[1]:
        raise ValueError(f"There are {len(names)} names for {table.shape[1]} features: give one for each column.")
    size = np.abs(table).ravel()
    # Stable: equal weights stay in the order of the columns, so that the picture is the same on every run.
    order = np.argsort(-size, kind="stable")[:n]
    # Weights of 0 say nothing, and sparse models have many.
    order = order[size[order] > 0.0]
    if order.size == 0:
        raise ValueError(f"All weights of this {type(model).__name__} are 0: there is nothing to draw yet.")
    classes = [str(label) for label in getattr(model, "classes_", np.array([])).tolist()]
    two = len(classes) > 1 and table.shape[0] == 1
    bars = []
    for place in order.tolist():
        row, column = divmod(place, table.shape[1])
        value = float(table[row, column])
        # Two classes: the sign says for which one. More: the row does. None: the colour is the sign.
        shade = int(value > 0.0) if two else row if classes else int(value < 0.0)
        bars.append(Bar(f"feature {column}" if names is None else str(names[column]), value, shade))
    if centre:
        return bars, classes, "Largest values of the centre"
    if not classes:
        return bars, classes, "Largest weights"
    return bars, classes, "Largest weights, and who they speak for" if two else "Largest weights, for and against"


def opened(learner: Any, names: Sequence[Any] | None) -> tuple[Any, Sequence[Any] | None]:
    """The model with the weights, out of what is around it, and the names of its columns."""
    # A pipeline: the names that come out of its steps are those of the weights.
    if hasattr(learner, "steps") and hasattr(learner, "named_steps"):
        if names is None and len(learner.steps) > 1:
            names = list(learner[:-1].get_feature_names_out())
        return opened(learner.steps[-1][1], names)
    # A wrapper: its own names first, for those inside are of encoded columns.
    if "estimator_" in getattr(learner, "__dict__", {}):
        if names is None:
            names = getattr(learner, "feature_names_", None)  # of columns and words, where raw records are learned
        return opened(learner.estimator_, names)
    if names is None:
        known = getattr(learner, "feature_names_in_", None)
        names = None if known is None else list(known)
    return learner, names
