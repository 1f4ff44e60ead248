"""The picture of "Past one machine": test error against the number of partitions, from partitions.csv.

    python docs/figures/partitions.py

The figures are those that ``benchmarks/learning_apart.py partitions`` measured last.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from draw import Theme, plain, save
from matplotlib.ticker import FixedLocator, NullLocator

FIGURES = Path(__file__).parent / "partitions.csv"
TITLES = {
    "ijcnn1": "ijcnn1, 49,990 rows",
    "a9a": "a9a, 32,561 rows",
    "w8a": "w8a, 49,749 rows",
    "mnist": "mnist, 60,000 rows",
}
PASSES = {1: ("a", "o"), 2: ("b", "s"), 4: ("c", "^"), 8: ("d", "D")}


def draw(theme: Theme, lines: list[dict[str, str]]) -> Any:
    figure, panels = plt.subplots(2, 2, figsize=(9.2, 6.4), layout="constrained")
    for axes, (name, title) in zip(panels.flat, TITLES.items(), strict=True):
        found: dict[tuple[int, int], list[float]] = defaultdict(list)
        for line in lines:
            if line["set"] == name:
                found[int(line["passes"]), int(line["partitions"])].append(float(line["error"]))
        counts = sorted({partitions for _, partitions in found})
        for passes, (colour, shape) in PASSES.items():
            errors = [np.mean(found[passes, partitions]) for partitions in counts]
            said = f"{passes} pass{'es' * (passes > 1)}"
            axes.plot(counts, errors, shape, color=theme[colour], markersize=4.5, ls="-", linewidth=1, label=said)
        serial = float(np.mean(found[1, 1]))
        axes.axhline(serial, color=theme["ink"], linewidth=0.7, linestyle=":")
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator(counts))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticklabels([str(n) for n in counts])
        axes.set_title(title, loc="left", fontsize=10)
        plain(axes, theme)
    for axes in panels[1]:
        axes.set_xlabel("partitions")
    for axes in panels[:, 0]:
        axes.set_ylabel("test error, %")
    panels[0, 0].legend(frameon=False, fontsize=8)
    return figure


if __name__ == "__main__":
    with FIGURES.open() as file:
        rows = list(csv.DictReader(file))
    save("partitions", lambda theme: draw(theme, rows))
