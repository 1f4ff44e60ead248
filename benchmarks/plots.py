"""The pictures of RESULTS.md: every ratio beside its target, and how time and memory grow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from measure import NUMBER, Cell
from report import number

INK, FAINT, MET, MISSED, PLAIN = "#1f2328", "#d0d7de", "#1a7f37", "#bc4c00", "#57606a"


def style() -> Any:
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 8, "text.color": INK, "axes.edgecolor": FAINT, "axes.labelcolor": INK})
    return plt


def bare(axes: Any) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)


def ratios(cells: list[Cell], path: Path) -> None:
    """A line for each cell: the dot is the median, the line its spread, the tick the target and the caret its side."""
    plt = style()
    shown: list[Cell | str] = []
    for one in cells:
        if one.means != NUMBER:
            if one.group not in [other.group for other in shown if isinstance(other, Cell)]:
                shown.append(one.group)
            shown.append(one)
    shown.reverse()
    figure, axes = plt.subplots(figsize=(10.5, 0.8 + 0.19 * len(shown)), layout="constrained")
    for k, one in enumerate(shown):
        if isinstance(one, str):
            continue
        colour = PLAIN if one.met is None else MET if one.met else MISSED
        axes.plot([one.low, one.high], [k, k], color=colour, linewidth=2.0, alpha=0.5)
        axes.plot(one.ratio, k, "o", color=colour, markersize=4)
        axes.text(
            1.01, k, number(one.ratio), transform=axes.get_yaxis_transform(), va="center", fontsize=7, color=colour
        )
        if one.target is not None:
            axes.plot(one.target, k, "|", color=INK, markersize=8, markeredgewidth=1.2)
            axes.plot(one.target, k, 4 if one.at_most else 5, color=INK, markersize=5)  # carets: good is on that side
    axes.axvline(1.0, color=INK, linewidth=0.7, linestyle=":")
    axes.set(xscale="log", ylim=(-0.8, len(shown) - 0.2), xlabel="ratio: times as fast, of the rate, or times as long")
    named = [one.upper() if isinstance(one, str) else f"{one.job} · {one.peer}" for one in shown]
    axes.set_yticks(range(len(shown)), named, fontsize=7)
    for label, one in zip(axes.get_yticklabels(), shown, strict=True):
        label.set_fontweight("bold" if isinstance(one, str) else "normal")
    title = (
        "Dots: medians (green: target met, orange: missed, grey: none). Ticks: targets; good is where the caret points."
    )
    figure.suptitle(title, fontsize=8, x=0.99, ha="right")
    bare(axes)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90)
    plt.close(figure)


def growth(found: dict[str, Any], path: Path) -> None:
    """Above time, below memory, on two logarithmic axes; dashed is the slope that is expected."""
    plt = style()
    from matplotlib.ticker import NullFormatter

    figure, axes = plt.subplots(2, len(found), figsize=(2.6 * len(found), 5.2), layout="constrained", squeeze=False)
    for k, (name, one) in enumerate(found.items()):
        x = np.array(one["x"], float)
        for row, what, unit in ((0, "time", one["time_of"]), (1, "memory", one["memory_of"])):
            values, slope = np.array(one[what]), one[f"expected_{what}"]
            ax = axes[row, k]
            ax.plot(x, values, "o-", color="#0969da", markersize=4, linewidth=1.2)
            ax.plot(x, values[-1] * (x / x[-1]) ** slope, "--", color=INK, linewidth=0.9)
            ax.set(xscale="log", yscale="log", xlabel=name)
            ax.set_title(f"{unit}\nslope {one[f'{what}_slope']:.2f}, expected {slope:g}", fontsize=8, loc="left")
            low, high = ax.get_ylim()
            if high / low < 10.0:  # noise of a flat line is not to fill the picture
                middle = (low * high) ** 0.5
                ax.set_ylim(middle / 5.0, middle * 5.0)
            ax.yaxis.set_minor_formatter(NullFormatter())
            bare(ax)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90)
    plt.close(figure)
