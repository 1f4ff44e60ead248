"""Draw the picture of mini-batches: mean loss against the number of rows in a group.

    python docs/figures/minibatches.py

prints the figures as tables too. The data set cadata is read from $AGGRO_DATA and left out where there is none.
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from draw import Theme, plain, save

from aggro import streams
from aggro.published import PARegressor

SIZES = (1, 2, 4, 8, 16, 32, 64)
SEEDS = range(5)
ROWS, TAPS = 20_000, 30

Rows = tuple[np.ndarray, np.ndarray]


def signal(noise: float, seed: int) -> Rows:
    """Rows are the last 30 values of a signal whose neighbours have correlation 0.95, targets a filter of them."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(ROWS + TAPS)
    for t in range(1, ROWS + TAPS):
        values[t] = 0.95 * values[t - 1] + np.sqrt(1.0 - 0.95**2) * values[t]
    X = np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(values, TAPS)[:ROWS])
    y = X @ rng.standard_normal(TAPS)
    return X, y / y.std() + noise * rng.standard_normal(ROWS)


def houses(seed: int) -> Rows:
    """cadata, standardised, in random order."""
    chunks = list(streams.load("cadata"))
    X, y = np.vstack([chunk.X for chunk in chunks]), np.concatenate([chunk.y for chunk in chunks])
    order = np.random.default_rng(seed).permutation(len(y))
    return ((X - X.mean(axis=0)) / X.std(axis=0))[order], ((y - y.mean()) / y.std())[order]


def losses(rows: list[Rows], **settings: Any) -> np.ndarray:
    """The progressive mean loss for each size of group and each seed."""
    found = np.zeros((len(SIZES), len(rows)))
    for i, size in enumerate(SIZES):
        for j, (X, y) in enumerate(rows):
            model = PARegressor(epsilon=0.01, batch_size=size, **settings).partial_fit(X, y)
            found[i, j] = model._attribute().state.tally.loss[0] / model.n_seen_
    return found


def panel(title: str, rows: list[Rows], lines: dict[str, dict[str, Any]]) -> dict[str, np.ndarray]:
    found = {name: losses(rows, **settings) for name, settings in lines.items()}
    print(f"\n{title}\n\n| B | {' | '.join(map(str, SIZES))} |\n|{'---|' * (len(SIZES) + 1)}")
    for name, values in found.items():
        print(f"| {name} | {' | '.join(f'{row.mean():.4f} ± {row.std():.4f}' for row in values)} |")
    return found


def picture(theme: Theme, panels: dict[str, dict[str, np.ndarray]]) -> Any:
    figure, every = plt.subplots(1, len(panels), figsize=(9.2, 3.3), layout="constrained", squeeze=False)
    for axes, (title, found) in zip(every[0], panels.items(), strict=True):
        for (name, values), colour in zip(found.items(), "abcd", strict=False):
            means, spread = values.mean(axis=1), values.std(axis=1)
            line = "o--" if "sliding" in name else "o-"
            axes.plot(SIZES, means, line, color=theme[colour], markersize=3, linewidth=1.8, label=name)
            axes.fill_between(SIZES, means - spread, means + spread, color=theme[colour], alpha=0.2, linewidth=0)
        axes.set_xscale("log", base=2)
        axes.set_xticks(SIZES, map(str, SIZES))
        axes.set(xlabel="rows in a group, B", ylim=(0, None))
        axes.set_title(title, loc="left", fontsize=10)
        axes.legend(frameon=False, fontsize=8, loc="lower left")
        plain(axes, theme)
    every[0][0].set_ylabel("mean loss")
    return figure


def main() -> None:
    both = {window: {"step": "pa2", "C": 0.1, "window": window} for window in ("disjoint", "sliding")}
    panels = {
        "A filter, little noise": panel("filter, 1 % noise, pa2, C = 0.1", [signal(0.01, s) for s in SEEDS], both),
        "A filter, 10 % noise": panel("filter, 10 % noise, pa2, C = 0.1", [signal(0.1, s) for s in SEEDS], both),
    }
    lines: dict[str, dict[str, Any]] = {f"disjoint, C = {C:g}": {"C": C} for C in (0.01, 0.1, 1.0)}
    lines["sliding, C = 0.01"] = {"C": 0.01, "window": "sliding"}
    try:
        rows = [houses(seed) for seed in SEEDS]
    except (ValueError, OSError) as absent:
        print(f"\ncadata is left out: {absent}")
    else:
        panels["House prices (cadata), pa1"] = panel("cadata, pa1", rows, lines)
    save("minibatches", lambda theme: picture(theme, panels))


if __name__ == "__main__":
    main()
