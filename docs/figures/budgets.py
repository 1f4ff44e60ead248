"""Draw the picture of budgets: test error on ijcnn1 against the number of support vectors, for each policy.

    AGGRO_DATA=folder python docs/figures/budgets.py

prints the figures as a table too. RBF, γ = 8, C = 1, ``pa1``, one shuffled pass; mean over three shuffles.
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from draw import Theme, plain, save

from aggro import KernelPAClassifier, streams
from aggro.learners.kernel.budget import Policy

BUDGETS = (50, 100, 200, 500, 1000)
SEEDS = range(3)
Rows = tuple[np.ndarray, np.ndarray]


def rows_of(part: str) -> Rows:
    chunks = list(streams.load("ijcnn1", part=part))
    return np.vstack([chunk.X.toarray() for chunk in chunks]), np.concatenate([chunk.y for chunk in chunks])


def error(train: Rows, test: Rows, seed: int, **settings: Any) -> tuple[float, int]:
    model = KernelPAClassifier(
        C=1.0, gamma=8.0, shuffle=True, random_state=seed, average=False, scale=None, **settings
    ).fit(*train)
    return 100.0 * float((model.predict(test[0]) != test[1]).mean()), model.support_.shape[0]


def picture(theme: Theme, found: dict[str, np.ndarray], free: np.ndarray, rarer: float) -> Any:
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    looks = {
        "oldest": ("d", ":"),
        "random": ("c", ":"),
        "smallest": ("c", "--"),
        "project": ("b", "-"),
        "merge": ("a", "-"),
    }
    for name, errors in found.items():
        colour, line = looks[name]
        axes.plot(BUDGETS, errors.mean(axis=1), line, marker="o", markersize=4, color=theme[colour], label=name)
    axes.axhline(free[:, 0].mean(), color=theme["ink"], linewidth=1.0)
    axes.text(50, free[:, 0].mean() + 0.15, f"no budget, {free[:, 1].mean():,.0f} support vectors", fontsize=8)
    axes.axhline(rarer, color=theme["ink"], linewidth=0.8, linestyle=":")
    axes.text(115, rarer + 0.3, "always the larger class", fontsize=8)
    axes.set(xscale="log", xlabel="budget", xticks=BUDGETS, xticklabels=BUDGETS, ylim=(0, None))
    axes.set_title("Test error on ijcnn1, %", loc="left", fontsize=10)
    axes.minorticks_off()
    plain(axes, theme)
    axes.legend(frameon=False, fontsize=8)
    return figure


def main() -> None:
    train, test = rows_of("train"), rows_of("test")
    free = np.array([error(train, test, seed) for seed in SEEDS])
    found = {}
    print(f"| policy | {' | '.join(map(str, BUDGETS))} |\n|{'---|' * (len(BUDGETS) + 1)}")
    for policy in (policy.name.lower() for policy in Policy):
        each = [[error(train, test, seed, budget=n, budget_policy=policy)[0] for seed in SEEDS] for n in BUDGETS]
        found[policy] = np.array(each)
        cells = " | ".join(f"{row.mean():.1f} ± {row.std():.1f}" for row in found[policy])
        print(f"| `{policy}` | {cells} |", flush=True)
    print(f"no budget: {free[:, 0].mean():.2f} ± {free[:, 0].std():.2f} %, {free[:, 1].mean():.0f} support vectors")
    rarer = 100.0 * float((test[1] == test[1].max()).mean())
    save("budgets", lambda theme: picture(theme, found, free, rarer))


if __name__ == "__main__":
    main()
