"""The Axes that a plot draws into: made if none is given, and made quiet."""

from __future__ import annotations

from typing import Any

from aggro.plot.colours import DARK, LIGHT

PLOT_WIDTH = 7.2  # inches
TITLE = 10.0  # points
LETTER_WIDTH = 0.58  # the width of a letter, in its size
MARGINS = (0.45, 0.5)  # inches at the left and below that Axes have for their ticks, as matplotlib sets them up


def axes_for(ax: Any, height: float) -> Any:
    """The Axes given, or those of a new figure that is this high, in inches."""
    # An optional package: only who draws needs it.
    try:
        import matplotlib  # noqa: F401
    except ImportError as missing:
        raise ImportError(
            "aggro.plot draws with matplotlib, which cannot be imported. Install it: pip install 'aggro[plot]'"
        ) from missing
    # Axes that are given keep their style and layout.
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(PLOT_WIDTH, height), layout="constrained")[1]


def colours_of(ax: Any) -> dict[str, str]:
    """The colours for the ground that these Axes are drawn on: bright text means a dark one."""
    from matplotlib.colors import to_rgb

    # The labels' colour tells the ground, because matplotlib's dark styles set it; the weights are those of brightness.
    red, green, blue = to_rgb(ax.xaxis.label.get_color())
    return DARK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else LIGHT


def quieten(ax: Any, colours: dict[str, str]) -> None:
    """No frame, small ticks, soft words."""
    for side, spine in ax.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(colours["soft"])
    ax.tick_params(colors=colours["soft"], labelsize="small")
    ax.set_axisbelow(True)


def set_title(ax: Any, text: str, slot: Any) -> None:
    """What is drawn, at the top left, in letters that fit into the slot; a dollar is a dollar."""
    # The room from the Axes' left edge to the slot's right one, in points.
    room = (slot.x1 - ax.get_position(original=True).x0) * ax.figure.get_figwidth() * 72.0
    ax.set_title(text, loc="left", fontsize=min(TITLE, room / (LETTER_WIDTH * len(text))), parse_math=False)


def plain_text(labels: Any) -> None:
    """Take names as they are: a dollar in one is a dollar."""
    for label in labels:
        label.set_parse_math(False)


def keep_inside(ax: Any, slot: Any) -> None:
    """Shrink the Axes until all their words are in the slot that they had, and its margins.

    Layout engines do so by themselves, and are left to it.
    """
    if ax.figure.get_layout_engine() is not None:
        return
    across, up = ax.figure.get_size_inches()
    # Words can reach beyond the Axes. What they need on each side is taken from it, but a fifth of the slot is left.
    words, place, pixels = ax.get_tightbbox(), ax.get_position(original=True), ax.figure.bbox
    left = max(slot.x0 - MARGINS[0] / across - words.x0 / pixels.width, -words.x0 / pixels.width, 0.0)
    below = max(slot.y0 - MARGINS[1] / up - words.y0 / pixels.height, -words.y0 / pixels.height, 0.0)
    right = max(words.x1 / pixels.width - slot.x1, 0.0)
    width = max(place.width - left - right, 0.2 * slot.width)
    ax.set_position([place.x0 + left, place.y0 + below, width, max(place.height - below, 0.2 * slot.height)])
