"""Error against the labels that were asked for.

    AGGRO_DATA=folder python docs/figures/active.py

writes docs/assets/active-light.svg and -dark.svg, from the runs of benchmarks/active.py, and prints their tables.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from draw import Theme, plain, save

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from active import SETS, curve, shown

ERROR = 1


def picture(theme: Theme, found: dict[str, dict[str, np.ndarray]]) -> Any:
    figure, every = plt.subplots(1, len(found), figsize=(9.6, 3.2), layout="constrained")
    looks = {"margin": ("a", "-"), "threshold": ("b", "--"), "random": ("c", ":")}
    for axes, (name, tables) in zip(every, found.items(), strict=True):
        level = tables["all"][:, 0, ERROR].mean()
        axes.axhline(level, color=theme["ink"], linewidth=1.0, label="all labels")
        for strategy, (colour, line) in looks.items():
            mean, spread = tables[strategy].mean(axis=0), tables[strategy].std(axis=0)
            x, y, around = mean[:, 0], mean[:, ERROR], spread[:, ERROR]
            axes.plot(x, y, line, marker="o", markersize=3, color=theme[colour], label=strategy)
            axes.fill_between(x, y - around, y + around, color=theme[colour], alpha=0.12, linewidth=0)
        lowest = min(table[..., ERROR].mean(axis=0).min() for table in tables.values())
        axes.set(xscale="log", xlabel="labels asked for, %", ylim=(0.8 * lowest, None))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_title(f"{name}: test error, %", loc="left", fontsize=10)
        plain(axes, theme)
    every[0].legend(frameon=False, fontsize=8)
    return figure


def main() -> None:
    found = {name: curve(name) for name in SETS}
    for name, tables in found.items():
        print(f"\n{name}\n")
        for strategy, table in tables.items():
            for k in range(table.shape[1]):
                print(f"| {strategy} | {shown(table[:, k])} |")
    save("active", lambda theme: picture(theme, found))


if __name__ == "__main__":
    main()
