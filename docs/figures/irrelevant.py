"""Draw mistakes against the number of features, of which few matter, for the multiplicative and the additive learner.

    python docs/figures/irrelevant.py

writes the picture twice into docs/assets, for light and for dark pages, and prints its numbers. It needs the
extra ``docs``. Rows have n features of ±1, each by a fair coin, and the label is the sign of the sum of the first k
(odd, so that the margin is at least 1). Each row is predicted before it is learned; what is counted are the
mistakes in one pass over 2000 rows.

Both learners are shown at their best in hindsight, for each n, k and seed anew: the additive one over steps, C and
averaging, the multiplicative one over the radius. The dashed line is the multiplicative one as it is made, with
radius 10.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from draw import Theme, plain, save

from aggro import MultiplicativePAClassifier
from aggro.published import PAClassifier

ROWS = 2000
SEEDS = range(5)
FEATURES = [2**j for j in range(4, 14)]
FEW = 5
RELEVANT = [1, 3, 9, 27, 81, 243, 729]
WIDTH = 1024
BEST_ADDITIVE, BEST, DEFAULT = "additive, best settings", "multiplicative, best radius", "multiplicative, radius 10"


def additive() -> Iterator[Any]:
    for average in (False, True):
        yield PAClassifier(step="pa", average=average)
        for step in ("pa1", "pa2"):
            for C in 10.0 ** np.arange(-5, 1):
                yield PAClassifier(C, step=step, average=average)


def multiplicative() -> Iterator[Any]:
    for radius in (2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0):
        yield MultiplicativePAClassifier(radius)


def mistakes(n: int, k: int, seed: int) -> dict[str, int]:
    rng = np.random.default_rng([seed, n, k])
    X = (2 * rng.integers(0, 2, (ROWS, n)) - 1).astype(np.float32)
    y = X[:, :k].sum(axis=1) > 0
    return {
        BEST_ADDITIVE: min(model.partial_fit(X, y).n_mistakes_ for model in additive()),
        BEST: min(model.partial_fit(X, y).n_mistakes_ for model in multiplicative()),
        DEFAULT: MultiplicativePAClassifier().partial_fit(X, y).n_mistakes_,
    }


def measure(cases: list[tuple[int, int]]) -> dict[str, np.ndarray]:
    """Mistakes by learner: (cases, seeds)."""
    runs = [[mistakes(n, k, seed) for seed in SEEDS] for n, k in cases]
    return {name: np.array([[run[name] for run in row] for row in runs]) for name in (BEST_ADDITIVE, BEST, DEFAULT)}


def draw(theme: Theme, by_width: dict[str, np.ndarray], by_relevant: dict[str, np.ndarray]) -> Any:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.5), layout="constrained", sharey=True)
    looks = {BEST_ADDITIVE: ("c", "-", "o"), BEST: ("a", "-", "o"), DEFAULT: ("a", "--", "")}
    for axes, xs, found in ((left, FEATURES, by_width), (right, RELEVANT, by_relevant)):
        for name, counts in found.items():
            colour, line, marker = looks[name]
            style = {"color": theme[colour], "linewidth": 1.8, "marker": marker, "markersize": 4, "label": name}
            axes.plot(xs, counts.mean(axis=1), line, **style)
            if name != DEFAULT:
                axes.fill_between(xs, counts.min(axis=1), counts.max(axis=1), color=theme[colour], alpha=0.25, lw=0)
        plain(axes, theme)
        axes.axhline(ROWS / 2, color=theme["ink"], linewidth=0.8, linestyle=":")
        axes.set_xscale("log")
    left.set(xlabel=f"features, of which {FEW} matter", ylim=(0, 1.1 * ROWS / 2))
    right.set(xlabel=f"features that matter, of {WIDTH}")
    left.set_title(f"Mistakes in {ROWS} rows", loc="left", fontsize=10)
    left.text(FEATURES[0], ROWS / 2 - 10, "guessing", va="top", fontsize=8)
    left.legend(frameon=False, fontsize=8, loc=(0.02, 0.56))
    return figure


def main() -> None:
    by_width = measure([(n, FEW) for n in FEATURES])
    by_relevant = measure([(WIDTH, k) for k in RELEVANT])
    for title, xs, found in (("features", FEATURES, by_width), ("relevant", RELEVANT, by_relevant)):
        for name, counts in found.items():
            print(f"{name}, by {title}: mean (least to most of {len(SEEDS)} seeds)")
            for x, row in zip(xs, counts, strict=True):
                print(f"{x:>8} {row.mean():8.1f} ({row.min()} to {row.max()})")
    save("irrelevant", lambda theme: draw(theme, by_width, by_relevant))


if __name__ == "__main__":
    main()
