"""Draw the picture of labelling: test error on the SMS Spam Collection against the number of answers.

    AGGRO_DATA=folder python docs/figures/labelling.py

runs benchmarks/labelling.py, prints its table, and writes docs/assets/labelling-light.svg and -dark.svg.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from draw import Theme, plain, save

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from labelling import measured, show

LOOKS = {
    "margin, delta=0.1": ("a", "-", "asked by margin, δ = 0.1"),
    "margin, delta=0.03": ("b", "-", "asked by margin, δ = 0.03"),
    "random, delta=0.1": ("c", ":", "asked at random"),
}


def picture(theme: Theme, found: dict[tuple[str, object], np.ndarray]) -> Any:
    figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    for name, (colour, line, label) in LOOKS.items():
        tables = [table for (asked, _), table in found.items() if asked == name]
        answers = np.array([table[:, 3].mean() for table in tables])
        errors = 100.0 * np.array([table[:, 0].mean() for table in tables])
        around = 100.0 * np.array([table[:, 0].std() for table in tables])
        axes.plot(answers, errors, line, marker="o", markersize=3, color=theme[colour], label=label)
        axes.fill_between(answers, errors - around, errors + around, color=theme[colour], alpha=0.12, linewidth=0)
    everything = 100.0 * next(table for (asked, _), table in found.items() if asked == "all labels")[:, 0].mean()
    axes.axhline(everything, color=theme["ink"], linewidth=1.0, label="all 4,500 labels")
    axes.set(xlabel="answers", ylim=(0.0, None), xlim=(0.0, None))
    axes.set_title("Test error on SMS messages, %", loc="left", fontsize=10)
    plain(axes, theme)
    axes.legend(frameon=False, fontsize=8)
    return figure


def main() -> None:
    found = measured(10)
    show(found)
    save("labelling", lambda theme: picture(theme, found))


if __name__ == "__main__":
    main()
