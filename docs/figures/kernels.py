"""Draw the pictures of the kernel page: decision boundaries of three kernels and of uniclass, on two-dimensional rows.

python docs/figures/kernels.py
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from draw import Theme, plain, save

from aggro import KernelPAClassifier, KernelPAUniclass

SETTINGS: dict[str, dict[str, Any]] = {
    "linear": {"kernel": "linear"},
    "poly, degree 3": {"kernel": "poly", "degree": 3, "gamma": 1.0, "coef0": 1.0},
    "rbf, γ = 2": {"kernel": "rbf", "gamma": 2.0},
}


def moons(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two half circles, one in the other."""
    rng = np.random.default_rng(seed)
    angle, y = rng.uniform(0.0, np.pi, n), rng.integers(0, 2, n)
    X = np.column_stack([np.cos(angle) + y - 0.5, np.where(y == 1, 0.25 - np.sin(angle), np.sin(angle) - 0.25)])
    return X + 0.12 * rng.standard_normal((n, 2)), y


def picture(theme: Theme) -> Any:
    X, y = moons()
    figure, every = plt.subplots(1, 4, figsize=(11.0, 3.0), layout="constrained", sharex=True, sharey=True)
    side = np.linspace(-2.2, 2.2, 240)
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(side, side)])
    for axes, (title, settings) in zip(every, SETTINGS.items(), strict=False):
        model = KernelPAClassifier(C=0.5, average=True, scale=None, **settings).fit(X, y)
        wrong = 100 * (model.predict(X) != y).mean()
        draw(axes, theme, side, model.decision_function(grid), X, np.where(y == 1, theme["a"], theme["c"]))
        axes.set_title(f"{title}: {wrong:.1f} % wrong", loc="left", fontsize=10)
        print(f"{title}: {wrong:.1f} % wrong, {model.support_.shape[0]} support vectors")
    detector = KernelPAUniclass(gamma=1.0, max_iter=5, shuffle=True, random_state=0).fit(X)
    inside = detector.predict(X) == 1
    draw(every[3], theme, side, detector.decision_function(grid), X, np.where(inside, theme["b"], theme["d"]))
    every[3].set_title(f"uniclass: {100 * (~inside).mean():.1f} % outside", loc="left", fontsize=10)
    print(f"uniclass: {100 * (~inside).mean():.1f} % outside, {detector.support_.shape[0]} support vectors")
    return figure


def draw(axes: Any, theme: Theme, side: np.ndarray, scores: np.ndarray, X: np.ndarray, colours: np.ndarray) -> None:
    scores = scores.reshape(side.size, side.size)
    axes.contourf(side, side, scores, [-np.inf, 0.0, np.inf], colors=[theme["c"], theme["a"]], alpha=0.12)
    axes.contour(side, side, scores, [0.0], colors=theme["ink"], linewidths=1.6)
    axes.scatter(*X.T, s=7, c=colours, linewidths=0)
    axes.set(aspect="equal", xticks=[-2, 0, 2], yticks=[-2, 0, 2])
    plain(axes, theme)


if __name__ == "__main__":
    save("kernels", picture)
