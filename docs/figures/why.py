"""Draw the README's first picture: what need not be done, each measured here and now.

python docs/figures/why.py
"""

from __future__ import annotations

import warnings
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from draw import Theme, peer, plain, save
from sklearn.datasets import load_digits
from sklearn.feature_extraction import FeatureHasher

from aggro import ActiveLearner, streams
from aggro.cli.demo import tickets
from aggro.evaluate import Curve, progressive
from aggro.published import PAClassifier

CS = 10.0 ** np.arange(-5, 2)
SEEDS = range(5)
DELTAS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


def tuning() -> dict[str, Any]:
    """A plane that turns, a tenth of the labels wrong: mistakes for each fixed C, and for C="auto"."""
    chunks = list(streams.drifting(20_000, noise=0.1, chunk=100))
    fixed = [100 * progressive(peer(C), chunks, classes=np.unique(chunks[0].y).tolist()).error for C in CS]
    return {"fixed": fixed, "auto": 100 * progressive(PAClassifier(C="auto"), chunks).error}


def new_labels() -> dict[str, Any]:
    """Eight digits first, then all ten: how many of each 100 rows are right before they are learned."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order] / 16, y[order]
    early = np.flatnonzero(y < 8)[:700]
    late = np.setdiff1d(np.arange(len(y)), early)
    rows = np.concatenate([early, np.random.default_rng(1).permutation(late)])
    found: dict[str, Any] = {"aggro": [], "scikit-learn": [], "error": ""}
    for name, model in (("aggro", PAClassifier(average=True)), ("scikit-learn", peer(1.0, average=True))):
        for start in range(0, len(rows), 100):
            part = rows[start : start + 100]
            if start:
                found[name].append(100 * float(np.mean(model.predict(X[part]) == y[part])))
            options = {"classes": range(8)} if name != "aggro" and not start else {}
            try:
                model.partial_fit(X[part], y[part], **options)
            except ValueError as error:
                found["error"] = type(error).__name__
                break
    return found


def asking() -> dict[str, Any]:
    """Test error against the labels asked for, on two-norm."""
    (test,) = streams.twonorm(10_000, chunk=10_000, seed=99)
    points: dict[str, list[tuple[float, float]]] = {"margin": [], "random": []}
    for delta in DELTAS:
        rates = []
        for strategy in points:
            both = []
            for seed in SEEDS:
                share = delta if strategy == "margin" else min(1.0, rates[0])
                inside = PAClassifier(average=True)
                model = ActiveLearner(inside, delta=share, strategy=strategy, replay=0, random_state=seed)
                for chunk in streams.twonorm(20_000, seed=seed):
                    model.learn_chunk(chunk)
                both.append((model.n_queries_, 100 * float(np.mean(model.predict(test.X) != test.y))))
            mean = np.mean(both, axis=0)
            rates.append(mean[0] / 20_000)
            points[strategy].append((float(mean[0]), float(mean[1])))
    return points


def by_hand(C: float) -> Curve:
    """scikit-learn on features that somebody made for these tickets: words, the plan, the logarithm of the amount in
    standard units; the id and the date left out."""
    hasher, model = FeatureHasher(2**12, alternate_sign=False), peer(C)
    started: list[bool] = []

    def row(record: dict[str, Any]) -> Any:
        words = {f"note:{word}": 1.0 for word in record["note"].split()}
        amount = (np.log(record["amount"]) - 3.4) / 1.2 if record["amount"] else 0.0
        return hasher.transform([{**words, "plan": record["plan"], "amount": amount}])

    def predict(record: dict[str, Any]) -> Any:
        return model.predict(row(record))[0] if started else None

    def learn(record: dict[str, Any], label: str) -> None:
        model.partial_fit(row(record), [label], classes=tickets.TOPICS)
        started.append(True)

    return tickets.progressive(predict, learn, tickets.tickets())


def draw(theme: Theme, tuned: Any, labels: Any, asked: Any, raw: Any) -> Any:
    figure, ((a, b), (c, d)) = plt.subplots(2, 2, figsize=(9.2, 5.6), layout="constrained")
    a.plot(CS, tuned["fixed"], "o--", color=theme["c"], markersize=4, linewidth=1.5)
    a.axhline(tuned["auto"], color=theme["a"], linewidth=2.2)
    a.text(CS[0], tuned["auto"] - 0.6, f'aggro, C="auto": {tuned["auto"]:.1f} %', color=theme["a"], va="top")
    a.text(CS[3], max(tuned["fixed"]), "scikit-learn, C chosen by you", color=theme["c"], ha="center", va="top")
    a.set(xscale="log", xlabel="C")
    a.set_ylim(bottom=tuned["auto"] - 4)
    a.set_title("Nothing to tune: mistakes on a stream that drifts, %", loc="left", fontsize=10)

    b.plot(100 * np.arange(1, len(labels["aggro"]) + 1), labels["aggro"], color=theme["a"], linewidth=2.2)
    stop = 100 * len(labels["scikit-learn"])
    b.plot(100 * np.arange(1, len(labels["scikit-learn"]) + 1), labels["scikit-learn"], "--", color=theme["c"])
    b.plot(stop, labels["scikit-learn"][-1], "X", color=theme["c"], markersize=9)
    b.axvline(700, color=theme["ink"], linewidth=0.8, linestyle=":")
    level = labels["scikit-learn"][-1]
    b.text(stop + 30, level - 6, f"scikit-learn: {labels['error']}", color=theme["c"], va="top")
    b.text(1700, labels["aggro"][-1] - 8, "aggro", color=theme["a"], ha="right", va="top")
    b.text(720, 6, "digits 8 and 9 first appear", va="bottom")
    b.set(xlabel="rows", ylim=(0, 104))
    b.set_title("New labels at any time: right in each 100 rows, %", loc="left", fontsize=10)

    for name, colour, text, at in (
        ("margin", "a", "asks where it is unsure", (0, -58)),
        ("random", "c", "asks at random", (12, 4)),
    ):
        xs, ys = zip(*asked[name], strict=True)
        c.plot(xs, ys, "o-" if name == "margin" else "o--", color=theme[colour], markersize=4)
        c.annotate(text, (xs[0], ys[0]), at, textcoords="offset points", color=theme[colour], va="center")
    c.set(xscale="log", xlabel="labels asked for, of 20,000")
    c.set_title("Few labels: test error, %", loc="left", fontsize=10)

    for (curve, text), colour, line, (x, y) in (
        (raw["hashed"], "c", "--", (200, 60)),
        (raw["by hand"], "c", ":", (16, 12)),
        (raw["aggro"], "a", "-", (200, 36)),
    ):
        late = curve.rows >= 16
        d.plot(curve.rows[late], 100 * curve.errors[late], line, color=theme[colour], linewidth=2.0)
        d.text(x, y, text, color=theme[colour], va="center")
    d.set(xscale="log", xlabel="records", ylim=(0, None))
    d.set_title("Raw records: mistakes so far, %", loc="left", fontsize=10)
    for axes in (a, b, c, d):
        plain(axes, theme)
    return figure


def main() -> None:
    warnings.simplefilter("ignore", FutureWarning)
    tuned, labels, asked, story = tuning(), new_labels(), asking(), tickets.learn()
    best = min((by_hand(float(C)) for C in CS), key=lambda curve: curve.error)
    raw = {
        "hashed": (story.theirs, "scikit-learn, hashed"),
        "by hand": (best, "scikit-learn, features by hand, best C"),
        "aggro": (story.ours, "aggro, records as they are"),
    }
    print(tuned, labels, asked, {name: curve.error for name, (curve, _) in raw.items()}, sep="\n")
    save("why", lambda theme: draw(theme, tuned, labels, asked, raw))


if __name__ == "__main__":
    main()
