"""Draw the picture of forgetting: mistakes against the half-life, on streams that change.

    python docs/figures/forgetting.py

prints the figures as tables too. The data set elec is read from $AGGRO_DATA and left out where there is none.
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from draw import Theme, plain, save

from aggro import streams
from aggro.published import PAClassifier

HALF_LIVES = (10, 30, 100, 300, 1000, 3000, 10_000)
SEEDS = range(5)
ROWS = 100_000


def error(chunks: list[Any], **settings: Any) -> float:
    """Progressive mistakes, per cent."""
    model = PAClassifier(**settings)
    for chunk in chunks:
        model.learn_chunk(chunk)
    return 100.0 * model.n_mistakes_ / model.n_seen_


def curves(sources: list[list[Any]], C: Any) -> dict[str, np.ndarray]:
    """Errors (half-lives, seeds) of what fades and of what slides; those that forget nothing have one line."""
    return {
        "last": np.array([[error(chunks, C=C) for chunks in sources]]),
        "mean": np.array([[error(chunks, C=C, average=True) for chunks in sources]]),
        "fading": np.array([[error(chunks, C=C, half_life=h) for chunks in sources] for h in HALF_LIVES]),
        "sliding": np.array(
            [[error(chunks, C=C, half_life=h, average=True) for chunks in sources] for h in HALF_LIVES]
        ),
    }


def table(title: str, found: dict[str, np.ndarray]) -> None:
    print(f"\n{title}\n\n| | {' | '.join(f'{h:,}' for h in HALF_LIVES)} | never |\n|{'---|' * (len(HALF_LIVES) + 2)}")
    for name, forgets, never in (("last iterate", "fading", "last"), ("average", "sliding", "mean")):
        cells = [*found[forgets], found[never][0]]
        print(f"| {name} | {' | '.join(f'{row.mean():.1f} ± {row.std():.1f}' for row in cells)} |")


def picture(theme: Theme, panels: dict[str, dict[str, np.ndarray]]) -> Any:
    figure, every = plt.subplots(1, len(panels), figsize=(9.2, 3.3), layout="constrained", squeeze=False)
    looks = {"fading": ("a", "last", "weights fade"), "sliding": ("b", "mean", "the mean slides")}
    for axes, (title, found) in zip(every[0], panels.items(), strict=True):
        for name, (colour, never, label) in looks.items():
            means, spread = found[name].mean(axis=1), found[name].std(axis=1)
            axes.plot(HALF_LIVES, means, "o-", color=theme[colour], markersize=3, linewidth=1.8, label=label)
            axes.fill_between(HALF_LIVES, means - spread, means + spread, color=theme[colour], alpha=0.2, linewidth=0)
            forever = "last iterate, forgets nothing" if never == "last" else "average, forgets nothing"
            axes.axhline(found[never].mean(), color=theme[colour], linewidth=1.0, linestyle=":", label=forever)
        axes.set(xscale="log", xlabel="half-life, rows")
        axes.set_title(title, loc="left", fontsize=10)
        plain(axes, theme)
    every[0][-1].legend(frameon=False, fontsize=8, loc="center")
    every[0][0].set_ylabel("mistakes, %")
    return figure


def main() -> None:
    panels = {}
    for noise in (0.0, 0.2):
        sources = [list(streams.drifting(ROWS, noise=noise, seed=seed, chunk=8192)) for seed in SEEDS]
        name = f"turning plane, {noise:.0%} of labels wrong" if noise else "turning plane, no noise"
        panels[name] = curves(sources, 0.1)
        table(f"drifting, noise {noise:g}, C = 0.1, {len(SEEDS)} seeds", panels[name])
        if not noise:
            table(f"drifting, no noise, C = 0.001, {len(SEEDS)} seeds", curves(sources, 0.001))
    try:
        elec = [list(streams.load("elec"))]
    except (ValueError, OSError) as absent:
        print(f"\nelec is left out: {absent}")
    else:
        panels["elec"] = curves(elec, 0.1)
        table("elec, C = 0.1, in file order", panels["elec"])
    save("forgetting", lambda theme: picture(theme, panels))


if __name__ == "__main__":
    main()
