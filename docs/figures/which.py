"""The picture of "Which learner?": error against time a row, from which_learner.csv.

    python docs/figures/which.py

The figures are those that ``benchmarks/which_learner.py`` measured last. Learners that no other beats in both have
their name beside them, but for those that a better one is hardly slower than.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from draw import Theme, plain, save
from matplotlib.ticker import FixedLocator, FormatStrFormatter, NullLocator

FIGURES = Path(__file__).parent / "which_learner.csv"
TITLES = {
    "a9a": "a9a: 123 columns of 0 and 1",
    "ijcnn1": "ijcnn1: 22 columns, a bent boundary",
    "reuters_tick": "reuters_tick: text, 8,315 columns",
    "mnist": "mnist: 780 columns, ten classes",
}
NEAR = 1.3  # a learner that a better one is so little slower than has no name beside it
# Families by colour and by shape, so that they can be told apart without colours.
KINDS = {
    "linear": ("a", "o", ("linear", "multiplicative", "means", "first_order")),
    "second order": ("b", "s", ("second_order",)),
    "kernels": ("c", "^", ("kernel", "feature_maps")),
    "embeddings, local models": ("d", "D", ("maxout", "local")),
}


def kind_of(family: str) -> str:
    return next((name for name, (_, _, families) in KINDS.items() if family in families), "linear")


def front(lines: list[dict[str, str]]) -> list[dict[str, str]]:
    """Those that no other beats in error and in time, the fastest first."""
    best: list[dict[str, str]] = []
    for line in sorted(lines, key=lambda line: (float(line["times"]), float(line["error"]))):
        if not best or float(line["error"]) < float(best[-1]["error"]):
            best.append(line)
    return best


def draw(theme: Theme, lines: list[dict[str, str]]) -> Any:
    figure, panels = plt.subplots(2, 2, figsize=(9.2, 7.2), layout="constrained")
    for axes, (name, title) in zip(panels.flat, TITLES.items(), strict=True):
        here = [line for line in lines if line["set"] == name]
        for kind, (colour, shape, _) in KINDS.items():
            points = [line for line in here if kind_of(line["family"]) == kind]
            x, y = [float(p["times"]) for p in points], [float(p["error"]) for p in points]
            axes.plot(x, y, shape, color=theme[colour], markersize=5.5, alpha=0.85, label=kind)
        best = front(here)
        x, y = [float(p["times"]) for p in best], [float(p["error"]) for p in best]
        axes.plot(x, y, color=theme["ink"], linewidth=0.7, linestyle=":", zorder=1)
        named = [k for k in range(len(best)) if k + 1 == len(best) or x[k + 1] > NEAR * x[k]]
        for number, k in enumerate(named):
            text = best[k]["learner"].removesuffix("Classifier")
            above = number % 2 == 0 and k + 1 < len(best)
            shift, side = ((5, 5), "left") if above else ((-5, -11), "right")
            axes.annotate(
                text, (x[k], y[k]), shift, textcoords="offset points", fontsize=8, ha=side, color=theme["ink"]
            )
        errors = [float(line["error"]) for line in here]
        axes.set(xscale="log", yscale="log", ylim=(min(errors) / 1.25, max(errors) * 1.1), xlim=(0.1, None))
        axes.set_title(title, loc="left", fontsize=10)
        plain(axes, theme)
        axes.yaxis.set_major_locator(FixedLocator([1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40]))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
        axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    for axes in panels[1]:
        axes.set_xlabel("time a row, as a multiple of PAClassifier()'s")
    for axes in panels[:, 0]:
        axes.set_ylabel("test error, %")
    panels[0, 1].legend(frameon=False, fontsize=8, loc="lower left")
    return figure


def main() -> None:
    with FIGURES.open() as file:
        lines = list(csv.DictReader(file))
    save("which-learner", lambda theme: draw(theme, lines))


if __name__ == "__main__":
    main()
