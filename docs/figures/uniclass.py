"""Draw the picture of PAUniclass's page: a ball that finds its place, its radius and the share of rows outside.

python docs/figures/uniclass.py
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from draw import Theme, plain, save
from matplotlib.patches import Circle

from aggro import PAUniclass

ROWS, NU = 4096, 0.1
SHOWN = (2, 16, 128, 4096)


def cloud() -> np.ndarray:
    """Usual rows in an oblong cloud, and 3 % that are anywhere."""
    rng = np.random.default_rng(7)
    usual = rng.standard_normal((ROWS, 2)) @ [[1.5, 0.5], [0.0, 0.8]] + [2.0, 1.0]
    anywhere = rng.uniform([-6.0, -6.0], [10.0, 8.0], (ROWS, 2))
    X: np.ndarray = np.where(rng.random((ROWS, 1)) < 0.03, anywhere, usual)
    X[0] = [-2.5, -2.0]  # a poor first centre
    return X


def learned(X: np.ndarray) -> dict[str, np.ndarray]:
    model = PAUniclass(0.1, nu=NU, robust=False, scale=None)
    centres, radii, outside = [], [], []
    for x in X:
        model.learn_one(x)
        centres.append(model.center_)
        radii.append(model.radius_)
        outside.append(model.n_mistakes_ / model.n_seen_)
    return {"centres": np.array(centres), "radii": np.array(radii), "outside": np.array(outside)}


def ball(theme: Theme, X: np.ndarray, found: dict[str, np.ndarray]) -> Any:
    figure = plt.figure(figsize=(9.2, 3.9), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1.15, 1))
    left, top, bottom = figure.add_subplot(grid[:, 0]), figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1])
    left.plot(*X[:600].T, ".", color=theme["ink"], markersize=3, alpha=0.45, markeredgewidth=0)
    left.plot(*found["centres"][:600].T, color=theme["a"], linewidth=0.8, alpha=0.8)
    for n, key in zip(SHOWN, ("d", "c", "b", "a"), strict=True):
        centre, radius = found["centres"][n - 1], found["radii"][n - 1]
        left.add_patch(Circle(tuple(centre), radius, fill=False, edgecolor=theme[key], linewidth=1.8))
        left.plot(*centre, "o", color=theme[key], markersize=4.5, label=f"{n:,} rows")
    left.set(xlim=(-9, 11), ylim=(-7.5, 7.5), aspect="equal")
    left.set_title("Centre and radius", loc="left", fontsize=10)
    left.legend(frameon=False, fontsize=8, loc="lower right")
    rows = np.unique(np.geomspace(2, ROWS, 400).astype(int))
    top.plot(rows, found["radii"][rows - 1], color=theme["a"], linewidth=1.6)
    top.set(xscale="log", ylim=(0, None))
    top.set_title("Radius", loc="left", fontsize=10)
    bottom.plot(rows, 100 * found["outside"][rows - 1], color=theme["b"], linewidth=1.6)
    bottom.axhline(100 * NU, color=theme["ink"], linewidth=0.8, linestyle=":")
    bottom.text(ROWS, 100 * NU + 1.5, "ν", ha="right", fontsize=9)
    bottom.set(xscale="log", xlabel="rows", ylim=(0, None), xlim=top.get_xlim())
    bottom.set_title("Rows outside so far, %", loc="left", fontsize=10)
    for axes in (left, top, bottom):
        plain(axes, theme)
    return figure


def main() -> None:
    X = cloud()
    found = learned(X)
    save("uniclass", lambda theme: ball(theme, X, found))


if __name__ == "__main__":
    main()
