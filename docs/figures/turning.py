"""Draw the picture of the PAMO page: four clouds that turn, and the boundary of two learners after every hundred rows.

python docs/figures/turning.py
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
from draw import Theme, save
from matplotlib.colors import ListedColormap, to_rgba

from aggro.cli.demo.drift import REACH, chase


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
