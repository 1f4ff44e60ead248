"""Draw the picture of the PAMO page: four clouds that turn, and the boundary of two learners after every hundred rows.

python docs/figures/turning.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from draw import Theme, save
from matplotlib.colors import ListedColormap, to_rgba

from aggro import PAMOClassifier, streams
from aggro.published import PAClassifier

ROWS, EVERY, TURN = 1000, 100, 20.0
UNITS = 16
REACH = 2.2  # how far a panel shows the plane
CELLS = 44  # in a panel, each way


@dataclass(frozen=True)
class Panel:
    """The predictions of a learner over the plane after some rows, and the last of these rows."""

    regions: np.ndarray  # (CELLS, CELLS): whether the second class is predicted, from the bottom up
    X: np.ndarray
    y: np.ndarray
    mistakes: int  # in these rows, each predicted before it was learned


@dataclass(frozen=True)
class Chase:
    """A learner on the stream."""

    name: str
    error: float
    panels: tuple[Panel, ...]


def chase() -> tuple[Chase, ...]:
    """Let both learners go through the stream, and look at them after every hundred rows."""
    makers = {
        f"PAMO-II, {UNITS} units": PAMOClassifier(UNITS, always=True, random_state=0),
        "pa1, a straight line": PAClassifier(),
    }
    return tuple(follow(name, model) for name, model in makers.items())


def follow(name: str, model: Any) -> Chase:
    middles = REACH * ((2 * np.arange(CELLS) + 1) / CELLS - 1.0)
    plane = np.column_stack([axis.ravel() for axis in np.meshgrid(middles, middles)])
    panels: list[Panel] = []
    for chunk in streams.rotating_xor(ROWS, every=EVERY, turn=TURN, chunk=EVERY):
        before = model.n_mistakes_ if panels else 0
        model.learn_chunk(chunk)
        regions = (model.predict(plane) == 1).reshape(CELLS, CELLS)
        panels.append(Panel(regions, chunk.X, chunk.y, model.n_mistakes_ - before))
    return Chase(name, model.n_mistakes_ / ROWS, tuple(panels))


def picture(theme: Theme) -> Any:
    chases = chase()
    panels = len(chases[0].panels)
    figure, grid = plt.subplots(len(chases), panels, figsize=(11.0, 2.9), layout="constrained")
    regions = ListedColormap([to_rgba(theme["c"], 0.16), to_rgba(theme["a"], 0.2)])
    box = (-REACH, REACH, -REACH, REACH)
    for line, story in zip(grid, chases, strict=True):
        for axes, panel in zip(line, story.panels, strict=True):
            axes.imshow(
                panel.regions, origin="lower", extent=box, cmap=regions, vmin=0, vmax=1, interpolation="nearest"
            )
            for label, colour in ((1, "a"), (-1, "c")):
                axes.scatter(*panel.X[panel.y == label].T, s=3, color=theme[colour], linewidths=0, rasterized=True)
            axes.set(xlim=box[:2], ylim=box[2:], xticks=[], yticks=[], xlabel=f"{panel.mistakes} wrong")
            axes.set_title(" ", fontsize=10)
        title = line[0].set_title(f"{story.name}: {story.error:.1%} wrong", loc="left", fontsize=10)
        title.set_in_layout(False)  # it may stand over the next pictures too
    return figure


if __name__ == "__main__":
    save("turning", picture)
