"""Who votes: the candidates of an AutoClassifier on a stream that changes twice.

    python docs/figures/auto.py

writes docs/assets/auto-light.svg and -dark.svg, and prints the mean error. The labels follow a plane, then the product
of two columns, then another plane. Each chunk of 50 rows is predicted before it is learned.
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from draw import Theme, plain, save

from aggro import AutoClassifier

ROWS, CHUNK = 15_000, 50
LOOKS = {"linear": "a", "linear, with hinges": "b", "max-out": "c", "kernel": "d"}


def stream() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, 8))
    first, last = (X @ rng.standard_normal((8, 2))).T
    third = np.arange(ROWS) * 3 // ROWS
    score = np.select([third == 0, third == 1], [first, 2.0 * X[:, 0] * X[:, 1]], last)
    return X, (score + 0.3 * rng.standard_normal(ROWS) > 0.0).astype(int)


def run() -> dict[str, Any]:
    """After each chunk: the error of the vote on it, and each candidate's recent error and weight."""
    X, y = stream()
    model = AutoClassifier().partial_fit(X[:CHUNK], y[:CHUNK])
    vote, errors, weights = [], [], []
    for start in range(CHUNK, ROWS, CHUNK):
        part = slice(start, start + CHUNK)
        vote.append(100.0 * np.mean(model.predict(X[part]) != y[part]))
        model.partial_fit(X[part], y[part])
        errors.append([100.0 * one.recent_error for one in model.candidates_])
        weights.append([one.weight for one in model.candidates_])
    print(f"vote: {np.mean(vote):.2f} %, progressive error as it counts it: {100 * model.n_mistakes_ / ROWS:.2f} %")
    for one in model.candidates_:
        print(one)
    found = {"rows": np.arange(CHUNK, ROWS, CHUNK) + CHUNK, "errors": np.array(errors), "weights": np.array(weights)}
    last = [
        np.mean(vote[max(0, k - 19) : k + 1]) for k in range(len(vote))
    ]  # a thousand rows, as candidates count them
    return {name: values[::3] for name, values in {**found, "vote": np.array(last)}.items()}


def picture(theme: Theme, found: dict[str, Any]) -> Any:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.4), layout="constrained")
    rows = found["rows"]
    for k, (name, colour) in enumerate(LOOKS.items()):
        left.plot(rows, found["errors"][:, k], color=theme[colour], linewidth=1.1, label=name)
    left.plot(rows, found["vote"], color=theme["ink"], linewidth=1.8, label="the vote")
    left.set_title("wrong among the last 1,000 rows, %", loc="left", fontsize=10)
    left.set(xlabel="rows", ylim=(0, 55))
    left.legend(frameon=False, fontsize=8, ncols=2)
    colours = [theme[colour] for colour in LOOKS.values()]
    right.stackplot(rows, found["weights"].T, colors=colours, alpha=0.75, labels=list(LOOKS), linewidth=0)
    right.set_title("weight in the vote", loc="left", fontsize=10)
    right.set(xlabel="rows", ylim=(0, 1), xlim=(0, ROWS))
    for axes in (left, right):
        plain(axes, theme)
        axes.set_xticks([0, ROWS // 3, 2 * ROWS // 3, ROWS])
        axes.xaxis.set_major_formatter("{x:,.0f}")
    return figure


def main() -> None:
    found = run()
    save("auto", lambda theme: picture(theme, found))


if __name__ == "__main__":
    main()
