"""Draw the pictures of the README and the docs, from runs made here and now.

    python docs/figures/draw.py

writes each picture twice into docs/assets, for light and for dark pages. It needs the extras ``docs``
and ``river``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")

import matplotlib.pyplot as plt
import numpy as np
from river import linear_model
from sklearn.linear_model import SGDClassifier

from aggro import streams
from aggro.engine.steps import Step, step_size
from aggro.evaluate import compare
from aggro.published import PAClassifier

ASSETS = Path(__file__).parent.parent / "assets"
THEMES = {
    "light": {"ink": "#1f2328", "faint": "#d0d7de", "a": "#0969da", "b": "#1a7f37", "c": "#bc4c00", "d": "#8250df"},
    "dark": {"ink": "#e6edf3", "faint": "#3d444d", "a": "#58a6ff", "b": "#56d364", "c": "#f0883e", "d": "#d2a8ff"},
}
ROWS = 200_000
NO_LIMIT = 1e9  # a C that limits no step

Theme = dict[str, str]


def peer(C: float, average: bool = False) -> SGDClassifier:
    """scikit-learn's passive-aggressive classifier, as it is spelled since 1.8."""
    return SGDClassifier(learning_rate="pa1", eta0=C, penalty=None, average=average, shuffle=False)


def race() -> dict[str, Any]:
    """Two-norm rows, each predicted before it is learned."""
    contenders = {
        "aggro": PAClassifier(),
        "aggro, average=True": PAClassifier(average=True),
        "scikit-learn": peer(1.0),
        "scikit-learn, average=True": peer(1.0, average=True),
    }
    return compare(contenders, streams.twonorm(ROWS, chunk=1024), classes=[-1, 1])


def margins() -> dict[str, np.ndarray]:
    """The margin of the one row x, label +1, after it was learned by a step that asks for margin 1."""
    xs = np.linspace(0.4, 3.0, 27)
    found: dict[str, list[float]] = {"aggro": [], "scikit-learn": [], "River": []}
    for x in xs:
        row = np.array([[x]])
        for name, model in (("aggro", PAClassifier(NO_LIMIT)), ("scikit-learn", peer(NO_LIMIT))):
            model.partial_fit(row, [1], classes=[-1, 1])
            found[name].append(float(model.decision_function(row)[0]))
        river = linear_model.PAClassifier(C=NO_LIMIT)
        river.learn_one({"x": x}, True)
        found["River"].append(x * river.weights["x"] + river.intercept)
    return {"x": xs, **{name: np.array(values) for name, values in found.items()}}


def plain(axes: Any, theme: Theme) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(color=theme["faint"], linewidth=0.6)
    axes.set_axisbelow(True)


def overview(theme: Theme, curves: dict[str, Any], steps: dict[str, np.ndarray]) -> Any:
    """Left the error on a stream, right the margin after one step."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.5), width_ratios=(1.25, 1), layout="constrained")
    looks = {
        "aggro": (theme["a"], "-", 2.2),
        "aggro, average=True": (theme["b"], "-", 2.2),
        "scikit-learn": (theme["c"], "--", 1.5),
        "scikit-learn, average=True": (theme["d"], "--", 1.5),
    }
    for name, curve in curves.items():
        colour, line, width = looks[name]
        late = curve.rows >= 64
        label = f"{name}: {100 * curve.error:.2f} %"
        left.plot(curve.rows[late], 100 * curve.errors[late], line, color=colour, linewidth=width, label=label)
    best = 50 * math.erfc(math.sqrt(2.0))
    left.axhline(best, color=theme["ink"], linewidth=0.8, linestyle=":")
    left.text(70, best - 0.1, f"best possible: {best:.2f} %", va="top", fontsize=8)
    left.set(xscale="log", xlabel="rows", ylim=(1.5, 9))
    left.set_title("Mistakes so far, % (two-norm, pa1, C = 1)", loc="left", fontsize=10)
    left.legend(frameon=False, fontsize=8, loc="upper right")

    right.plot(steps["x"], steps["scikit-learn"], "--", color=theme["c"], linewidth=1.6, label="scikit-learn")
    right.plot(steps["x"], steps["River"], ":", color=theme["d"], linewidth=2.4, label="River")
    right.plot(steps["x"], steps["aggro"], color=theme["a"], linewidth=2.2, label="aggro")
    at = int(np.argmin(abs(steps["x"] - 0.5)))
    for name, colour in (("scikit-learn", "c"), ("aggro", "a")):
        height = steps[name][at]
        right.plot(0.5, height, "o", color=theme[colour], markersize=5)
        right.annotate(f"{height:.1f}", (0.5, height), (7, 3), textcoords="offset points", fontsize=9)
    right.set(xlabel="the one feature x of the row, with an intercept", ylim=(0, 7.6))
    right.set_title("Margin after a step that asks for 1", loc="left", fontsize=10)
    right.legend(frameon=False, fontsize=8, loc="upper right")
    for axes in (left, right):
        plain(axes, theme)
    return figure


def step_sizes(theme: Theme) -> Any:
    """τ and the margin after the step, by the margin before it, for q = 1 and C = 0.5."""
    q, C, m = 1.0, 0.5, 1.0
    before = np.linspace(-1.5, 2.0, 141)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.3), layout="constrained")
    looks = {Step.PA: ("a", "-"), Step.PA1: ("b", "-"), Step.PA2: ("c", "-"), Step.LS: ("d", "--")}
    for step, (colour, line) in looks.items():
        gaps = m - before
        taus = np.array([step_size(step, g, q, C, 1.0) if g > 0 or step == Step.LS else 0.0 for g in gaps])
        style = {"linestyle": line, "color": theme[colour], "linewidth": 2.0, "label": step.name.lower()}
        left.plot(before, taus, **style)
        right.plot(before, before + taus * q, **style)
    left.set_title("τ", loc="left", fontsize=10)
    right.set_title("Margin after the step", loc="left", fontsize=10)
    right.axhline(m, color=theme["ink"], linewidth=0.8, linestyle=":")
    for axes in (left, right):
        axes.set_xlabel("margin y f before the step")
        plain(axes, theme)
    left.legend(frameon=False, fontsize=9)
    return figure


def save(name: str, draw: Callable[[Theme], Any]) -> None:
    for kind, theme in THEMES.items():
        ink = theme["ink"]
        settings = {
            "text.color": ink,
            "axes.labelcolor": ink,
            "axes.edgecolor": ink,
            "xtick.color": ink,
            "ytick.color": ink,
            "axes.facecolor": "none",
            "font.size": 9,
            "svg.hashsalt": "aggro",
        }
        with mpl.rc_context(settings):
            figure = draw(theme)
            path = ASSETS / f"{name}-{kind}.svg"
            figure.savefig(path, transparent=True, metadata={"Date": None})
            plt.close(figure)
            print(f"{path.relative_to(ASSETS.parent.parent)}")


def main() -> None:
    ASSETS.mkdir(exist_ok=True)
    warnings.simplefilter("ignore", FutureWarning)
    curves, steps = race(), margins()
    for name, curve in curves.items():
        print(f"{name}: {100 * curve.error:.2f} %")
    save("overview", lambda theme: overview(theme, curves, steps))
    save("steps", step_sizes)


if __name__ == "__main__":
    main()
