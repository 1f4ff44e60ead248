"""Draw the picture of the page on loss bounds, from runs made here and now.

    python docs/figures/bounds.py

writes it twice into docs/assets, for light and for dark pages. It needs the extras ``docs`` and ``river``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from draw import Theme, plain, plt, save

from aggro import streams, theory
from aggro.published import PAClassifier

ROWS = 400
STRETCHES = {"half the step": (0.5, "c"), "twice the step": (2.0, "d")}


def hard_stream() -> tuple[np.ndarray, np.ndarray]:
    """Two rows in turn that nearly contradict each other: the bound is tight."""
    return np.tile([[1.0, 0.1], [-1.0, 0.1]], (ROWS // 2, 1)), np.ones(ROWS)


def stretched(X: np.ndarray, y: np.ndarray, stretch: float) -> np.ndarray:
    """The running Σℓ² of a learner whose steps are too short or too long."""
    w, squares = np.zeros(X.shape[1]), []
    for x, target in zip(X, y, strict=True):
        loss = max(0.0, 1.0 - target * (w @ x))
        squares.append(loss**2)
        w += stretch * loss / (x @ x) * target * x
    return np.cumsum(squares)


def twonorm() -> theory.Bound:
    (chunk,) = streams.twonorm(20_000, chunk=20_000)
    return theory.unrealizable_bound(PAClassifier(C=0.01, step="pa2"), chunk.X, chunk.y)


def bounds(theme: Theme, tight: theory.Bound, noisy: theory.Bound) -> Any:
    """Left Theorem 1 where it is tight, right Theorem 3 on classes that overlap."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.5), layout="constrained")
    X, y = hard_stream()
    rows = np.arange(1, ROWS + 1)
    for name, (stretch, colour) in STRETCHES.items():
        left.plot(rows, stretched(X, y, stretch), ":", color=theme[colour], linewidth=1.8, label=name)
    for axes, bound in ((left, tight), (right, noisy)):
        rows = np.arange(1, bound.sums.shape[0] + 1)
        axes.plot(rows, bound.sums, color=theme["a"], linewidth=2.2, label=f"measured: {bound.sum:,.0f}")
        axes.plot(rows, bound.limits, "--", color=theme["ink"], linewidth=1.2, label=f"limit: {bound.limit:,.0f}")
        axes.set(xlabel="rows", ylim=(0, 1.6 * bound.limit if axes is left else None))
        axes.legend(frameon=False, fontsize=8, loc="upper left" if axes is right else "lower right")
        plain(axes, theme)
    left.set_title("Theorem 1, Σℓ² (a hard stream, pa)", loc="left", fontsize=10)
    right.set_title("Theorem 3, Σℓ² (two-norm, pa2, C = 0.01)", loc="left", fontsize=10)
    return figure


def main() -> None:
    X, y = hard_stream()
    tight = theory.realizable_bound(PAClassifier(step="pa", fit_intercept=False), X, y)
    noisy = twonorm()
    print(tight, noisy, sep="\n")
    save("bounds", lambda theme: bounds(theme, tight, noisy))


if __name__ == "__main__":
    main()
