"""Draw the picture of class means: what a longer prototype does to updates, mistakes and test error on adult.

    AGGRO_DATA=folder python docs/figures/means.py

The passes are those of ``python benchmarks/means.py why``: ``pam``, γ = 0.001, the mean of three orders.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from draw import Theme, plain, save

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from means import DIRECTIONS, data, literal

LENGTHS = np.logspace(-1, 4, 11)
ORDERS = 3
LOOKS = {"means": "a", "sums": "b", "its own weights": "c", "random": "d"}
NAMES = {"means": "difference of the means", "sums": "difference of the sums"}


def measured() -> dict[str, np.ndarray]:
    """Updates, mistakes and test error of each direction, by length; and of PA."""
    X, y, X_test, y_test = data("a9a")
    X, X_test = (np.column_stack([part, np.ones(len(part))]) for part in (X, X_test))
    found = {}
    for way in ("PA", *DIRECTIONS):
        lines = []
        for length in LENGTHS if way != "PA" else LENGTHS[:1]:
            runs = []
            for seed in range(ORDERS):
                order = np.random.default_rng(seed).permutation(len(y))
                gamma, towards = (0.0, "random") if way == "PA" else (1e-3, way)
                w, updates, mistakes = literal(X[order], y[order], gamma, towards, length, seed)
                wrong = (np.where(X_test @ w >= 0.0, 1, -1) != y_test).mean()
                runs.append((updates, mistakes, 100.0 * wrong))
            lines.append(np.mean(runs, axis=0))
        found[way] = np.array(lines)
        print(way, found[way].round(2).tolist(), flush=True)
    return found


def picture(theme: Theme, found: dict[str, np.ndarray]) -> Any:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.5), layout="constrained")
    for way, colour in LOOKS.items():
        updates, mistakes, wrong = found[way].T
        label = NAMES.get(way, way)
        left.plot(LENGTHS, updates / 1000, color=theme[colour], linewidth=2.0, label=label)
        left.plot(LENGTHS, mistakes / 1000, "--", color=theme[colour], linewidth=1.2)
        right.plot(LENGTHS, wrong, color=theme[colour], linewidth=2.0, label=label)
    updates, mistakes, wrong = found["PA"][0]
    for axes, heights in ((left, (updates / 1000, mistakes / 1000)), (right, (wrong,))):
        for height in heights:
            axes.axhline(height, color=theme["ink"], linewidth=0.8, linestyle=":")
            axes.text(LENGTHS[-1], height, "PA", ha="right", va="bottom", fontsize=8)
        axes.set(xscale="log", xlabel="length of the prototype")
        plain(axes, theme)
    left.set(ylim=(0, None))
    left.set_title("Updates (solid) and mistakes (dashed), thousands", loc="left", fontsize=10)
    right.set_title("Test error, %", loc="left", fontsize=10)
    right.legend(frameon=False, fontsize=8, loc="upper left")
    return figure


if __name__ == "__main__":
    found = measured()
    save("means", lambda theme: picture(theme, found))
