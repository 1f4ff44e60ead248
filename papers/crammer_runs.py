"""What is run for Crammer, Dekel, Shalev-Shwartz and Singer: streams, and both sides of each theorem on them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

TASKS = ("classification", "regression", "uniclass")
FEATURES = 20
WIDE = 200  # features of the multiplicative learners, few of which matter
MARGIN, NOISE, RADIUS = 0.5, 0.1, 1.0  # of the streams that can be fitted
WRONG = 0.05  # of the rows, where they cannot
C = {"classification": 0.01, "regression": 0.1, "uniclass": 0.1}  # γ = 1/(2C) of Theorem 3
CORNER, EDGE = 50, 0.5  # the stream on which the printed step fails: features, and ε


class Stream(NamedTuple):
    """Rows, their targets, and a vector that fits them (all, or most)."""

    X: np.ndarray
    y: np.ndarray
    u: np.ndarray


# Streams ------------------------------------------------------------------------------------------------


def additive_stream(task: str, fits: bool, rows: int, seed: int) -> Stream:
    """Normal rows; a plane with a margin, numbers with little noise, or a ball."""
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(FEATURES)
    if task == "uniclass":
        X = 3.0 * u + in_ball(rng, rows, FEATURES, RADIUS)
        if not fits:
            X[rng.random(rows) < WRONG] += 2.0 * rng.standard_normal(FEATURES)
        return Stream(X, np.ones(rows), 3.0 * u)
    X = rng.standard_normal((4 * rows, FEATURES))
    if task == "classification":
        u /= np.linalg.norm(u)
        X = X[abs(X @ u) >= MARGIN][:rows]
        y = np.where(X @ u > 0.0, 1.0, -1.0)
        return Stream(X, y if fits else other(rng, y), u / MARGIN)
    X = X[:rows]
    noise = rng.uniform(-NOISE, NOISE, rows) if fits else rng.standard_normal(rows)
    return Stream(X, X @ u + noise, u)


def multiplicative_stream(task: str, fits: bool, rows: int, seed: int) -> Stream:
    """Many features, few of which matter. With classes rows have signs; else they are not negative, and u is shares."""
    rng = np.random.default_rng(seed)
    u = np.zeros(WIDE)
    few = rng.permutation(WIDE)[:4]
    u[few] = rng.dirichlet(np.ones(4))
    if task == "uniclass":
        X = np.maximum(0.0, u + in_ball(rng, rows, WIDE, NOISE))  # no farther from u than before: u is not negative
        if not fits:
            wrong = rng.random(rows) < WRONG
            X[wrong] = rng.dirichlet(np.full(WIDE, 0.05), int(wrong.sum()))
        return Stream(X, np.ones(rows), u)
    if task == "regression":
        X = rng.random((rows, WIDE))
        noise = rng.uniform(-0.02, 0.02, rows) if fits else 0.1 * rng.standard_normal(rows)
        return Stream(X, X @ u + noise, u)
    u[few[:2]] *= -1.0
    X = rng.uniform(-1.0, 1.0, (6 * rows, WIDE))
    X = X[abs(X @ u) >= 0.25][:rows]
    y = np.where(X @ u > 0.0, 1.0, -1.0)
    return Stream(X, y if fits else other(rng, y), u / 0.25)


def in_ball(rng: np.random.Generator, rows: int, n: int, radius: float) -> np.ndarray:
    away = rng.standard_normal((rows, n))
    lengths = radius * rng.random((rows, 1)) ** 0.2
    moved: np.ndarray = lengths * away / np.linalg.norm(away, axis=1, keepdims=True)
    return moved


def other(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    """Some labels changed."""
    return np.where(rng.random(len(y)) < WRONG, -y, y)


def hard_stream(rows: int) -> Stream:
    """Two rows in turn that nearly contradict each other: Theorem 1 is tight."""
    X = np.tile([[1.0, 0.1], [-1.0, 0.1]], (rows // 2, 1))
    return Stream(X, np.ones(len(X)), np.array([0.0, 10.0]))


def corner_stream(rows: int) -> Stream:
    """The same corner of the simplex again and again."""
    corner = np.eye(CORNER)[0]
    return Stream(np.tile(corner, (rows, 1)), np.ones(rows), corner)


# Learners and their bounds ------------------------------------------------------------------------------


def additive(task: str, step: str, epsilon: float | None = None) -> Any:
    from aggro import published

    given: dict[str, Any] = {"step": step, "C": C[task]}
    if task == "classification":
        return published.PAClassifier(fit_intercept=False, **given)
    if task == "regression":
        return published.PARegressor(fit_intercept=False, epsilon=0.15 if epsilon is None else epsilon, **given)
    return published.PAUniclass(epsilon=1.02 * RADIUS if epsilon is None else epsilon, **given)


def multiplicative(task: str, step: str, features: int = WIDE, epsilon: float | None = None) -> Any:
    import aggro

    given: dict[str, Any] = {"step": step, "C": 1.0, "n_features": features}
    if task == "classification":
        return aggro.MultiplicativePAClassifier(4.0, fit_intercept=False, **given)
    if task == "regression":
        return aggro.MultiplicativePARegressor(1.0, signed=False, fit_intercept=False, epsilon=0.03, **given)
    edge = 1.5 * NOISE if epsilon is None else epsilon
    return aggro.MultiplicativePAUniclass(1.0, signed=False, epsilon=edge, **given)


def bound(geometry: str, task: str, fits: bool, rows: int, seed: int) -> Any:
    """Both sides of the theorem on one stream of this kind."""
    from aggro import theory

    if geometry == "additive":
        X, y, _ = additive_stream(task, fits, rows, seed)
        if fits:
            return theory.realizable_bound(additive(task, "pa"), X, y)
        return theory.unrealizable_bound(additive(task, "pa2"), X, y)
    X, y, u = multiplicative_stream(task, fits, rows, seed)
    if fits:
        return theory.multiplicative_bound(multiplicative(task, "pa"), X, y, comparator=u)
    return relative_bound(multiplicative(task, "pa2"), X, y, u)


def relative_bound(learner: Any, X: np.ndarray, y: np.ndarray, u: np.ndarray) -> Any:
    """Theorem 3 for weights on a simplex, with their q for ‖v‖² and 2U²D(u‖w₁) for ‖u − w₁‖²."""
    from aggro.theory.comparators import as_vector
    from aggro.theory.theorems import theorem_3
    from aggro.theory.trial import learn

    trial = learn(learner, X, y)
    vector = as_vector(u, trial.setting)
    return theorem_3(trial.setting.problem, trial.losses, vector, trial.setting.geometry(vector), float(learner.C))


def printed_sums(stream: Stream, step: str) -> tuple[np.ndarray, float]:
    """Σℓ² + 2(ε − ε*)Σℓ of a multiplicative uniclass step where every row is u, so ε* = 0; and D(u‖w₁)."""
    from aggro.theory.trial import learn

    losses = learn(multiplicative("uniclass", step, CORNER, EDGE), stream.X, stream.y).losses
    sums: np.ndarray = np.cumsum(losses**2) + 2.0 * EDGE * np.cumsum(losses)
    return sums, float(np.log(CORNER))


# Jobs ---------------------------------------------------------------------------------------------------


def side(found: Any) -> dict[str, Any]:
    """What is kept of a bound: its statement, both sides at some rows, and whether it holds after each."""
    at = np.unique(np.linspace(0, len(found.sums) - 1, 200).astype(int))
    return {
        "theorem": found.theorem,
        "statement": found.statement,
        "sum": found.sum,
        "limit": found.limit,
        "holds": found.holds,
        "rows": (at + 1).tolist(),
        "sums": found.sums[at].tolist(),
        "limits": found.limits[at].tolist(),
    }


def one_kind(geometry: str, task: str, fits: bool, rows: int, streams: int) -> dict[str, Any]:
    """A stream of this kind in full, and the largest share of the limit over several."""
    found = [bound(geometry, task, fits, rows, seed) for seed in range(streams)]
    return side(found[0]) | {
        "largest": max(one.share for one in found),
        "all_hold": all(one.holds for one in found),
    }


def others(rows: int) -> dict[str, Any]:
    """The corollaries, Lemma 2, and the streams on which Theorem 1 is tight."""
    from aggro import theory

    X, y, _ = additive_stream("classification", True, rows, 0)
    learner = additive("classification", "pa")
    hard = hard_stream(400)
    found = {
        "squares": theory.squared_hinge_bound(learner, X, y),
        "hinge": theory.hinge_bound(learner, X, y),
        "mistakes": theory.mistake_bound(learner, X, y),
        "hard/classification": theory.realizable_bound(learner, hard.X, hard.y),
        "hard/regression": theory.realizable_bound(additive("regression", "pa", 0.0), hard.X, hard.y),
    }
    for task in TASKS:
        own = additive_stream(task, True, rows, 0)
        found[f"norm/{task}"] = theory.norm_bound(additive(task, "pa"), own.X, own.y)
    return {key: side(one) for key, one in found.items()}


def printed(rows: int) -> dict[str, Any]:
    """The multiplicative uniclass step as it is printed and as it is right, with their bounds."""
    stream = corner_stream(rows)
    found = {}
    for step, times in (("printed", 8.0), ("pa", 1.0)):
        sums, divergence = printed_sums(stream, step)
        found[step] = {"sums": sums.tolist(), "limit": times * divergence}
    return found


def conversion(task: str, order: str, losses: list[float], rows: int) -> list[dict[str, Any]]:
    """Batch conversion: updates and their limit, for each δ."""
    import warnings

    from aggro import fit_until

    X, y, _ = additive_stream(task, True, rows, 0)
    found = []
    for loss in losses:
        learner = additive(task, "pa")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it did not end is said in the table
            report = fit_until(learner, X, y, loss=loss, order=order, comparator="best")
        found.append({"updates": report.n_updates, "limit": report.limit, "converged": report.converged})
    return found


def projections() -> dict[str, Any]:
    """One step of each task in the plane, by the learners (Figure 2): w before and after, the row and the edge."""
    before = np.array([2.4, 1.9])
    first = before / (before @ before)  # the row after which the weights are those
    found: dict[str, Any] = {}

    from aggro import published

    x = np.array([0.9, 0.5])
    regressor = published.PARegressor(step="pa", fit_intercept=False, epsilon=0.5)
    regressor.learn_one(first, 1.5)  # |y − 0| − ε = 1
    found["regression"] = {"before": regressor.coef_.tolist(), "x": x.tolist(), "y": 1.0, "epsilon": 0.5}
    regressor.learn_one(x, 1.0)
    found["regression"]["after"] = regressor.coef_.tolist()

    classifier = published.PAClassifier(step="pa", fit_intercept=False)
    classifier.partial_fit(first[None], [1], classes=[-1, 1])
    found["classification"] = {"before": classifier.coef_[0].tolist(), "x": x.tolist(), "y": -1.0, "epsilon": -1.0}
    classifier.learn_one(x, -1)
    found["classification"]["after"] = classifier.coef_[0].tolist()

    ball = published.PAUniclass(step="pa", epsilon=1.0).learn_one(before)
    centre = np.array([0.6, 0.3])
    found["uniclass"] = {"before": ball.center_.tolist(), "x": centre.tolist(), "y": 1.0, "epsilon": 1.0}
    ball.learn_one(centre)
    found["uniclass"]["after"] = ball.center_.tolist()
    return found
