"""What is run for Pérez-Suay and others: the rows, the settings that are tried, and the trials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from papers.sets import absent, rows_of

SIGMAS = [float(x) for x in np.logspace(-4, 1, 6)]
CS = [float(x) for x in np.logspace(-5, 1, 7)]
SUBSAMPLES, TRIALS, SHARE = 3, 25, 0.75
FEW, FEW_TRIALS = 1_000, 5  # rows of a subsample and trials, of twonorm with B that Table 2 has not
GROUP_TRIALS = 5  # of the errors of whole groups
OF_TABLE = (1, 4, 8)  # B of Table 2
AS_READ = "exp(−σ‖x − z‖²), no bias"
# Readings of the kernel and the bias: γ of exp(−γ‖x − z‖²) for a σ, and whether there is a bias.
READINGS: dict[str, tuple[Callable[[float], float], bool]] = {
    AS_READ: (lambda sigma: sigma, False),
    "exp(−σ‖x − z‖²), a bias": (lambda sigma: sigma, True),
    "exp(−‖x − z‖²/σ²), no bias": (lambda sigma: sigma**-2.0, False),
    "exp(−‖x − z‖²/σ²), a bias": (lambda sigma: sigma**-2.0, True),
    "exp(−‖x − z‖²/(2σ²)), no bias": (lambda sigma: 0.5 * sigma**-2.0, False),
    "exp(−‖x − z‖²/(2σ²)), a bias": (lambda sigma: 0.5 * sigma**-2.0, True),
}
FEW_READ = 10  # trials of each reading
MADE = "twonorm"  # can be made by its description
OF_FIGURE_1 = (1, 2, 4, 8, 20)


def data(name: str, most: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Rows, not scaled, and labels."""
    if name == MADE and absent(name):
        from aggro import streams

        (chunk,) = streams.twonorm(7_400, chunk=7_400, seed=0)
        X, y = chunk.X, chunk.y
    else:
        X, y = rows_of(name)
    if hasattr(X, "toarray"):
        X = X.toarray()
    if most is None:
        return X, y
    some = np.random.default_rng(7).permutation(len(y))[:most]
    return X[some], y[some]


def standardised(X: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Columns less the mean and divided by the standard deviation that they have in ``like``."""
    spread = like.std(axis=0)
    scaled: np.ndarray = (X - like.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    return scaled


def split(rows: int, trial: int) -> tuple[np.ndarray, np.ndarray]:
    """Which rows are learned, in this order, and which are predicted."""
    order = np.random.default_rng(100 + trial).permutation(rows)
    learned, asked = np.split(order, [int(SHARE * rows)])
    return learned, asked


def distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Squared, of each row of A and each of B."""
    squares: np.ndarray = (A * A).sum(axis=1)[:, None] + (B * B).sum(axis=1) - 2.0 * (A @ B.T)
    squares[squares < 0.0] = 0.0
    return squares


# Runs ---------------------------------------------------------------------------------------------------


def chosen(
    X: np.ndarray, y: np.ndarray, step: str, sizes: Sequence[int], thin: int, few: int | None, reading: str = AS_READ
) -> dict[int, tuple[float, float]]:
    """γ and C for each B, by the progressive errors on subsamples, of at most ``few`` rows; of the grid every
    ``thin``-th value.
    """
    from aggro.evaluate import kernel_grid

    width, bias = READINGS[reading]
    tried: dict[str, Any] = {"gamma": [width(sigma) for sigma in SIGMAS[::thin]], "C": CS[::thin]}
    tried |= {"step": [step], "batch_size": sizes, "window": "sliding", "fit_intercept": bias}
    errors: Any = 0.0
    for seed in range(SUBSAMPLES):
        some = np.random.default_rng(seed).permutation(len(y))[: int(SHARE * len(y))][:few]
        table = kernel_grid(standardised(X[some], X[some]), y[some], **tried)
        errors = errors + table["error"]
    found = {}
    for size in sizes:
        here = np.flatnonzero(table["batch_size"] == size)
        best = table[here[np.argmin(errors[here])]]
        found[size] = float(best["gamma"]), float(best["C"])
    return found


def learner(step: str, size: int, C: float, bias: bool = False) -> Any:
    """The paper's, over a given kernel matrix."""
    from aggro.published import KernelPAClassifier

    return KernelPAClassifier(C, kernel="precomputed", step=step, batch_size=size, window="sliding", fit_intercept=bias)


def measured(
    name: str, step: str, sizes: list[int], trials: int, most: int | None, thin: int, few: int | None
) -> dict[str, Any]:
    """One step on one set: for each B what was chosen, and of each trial the test and the progressive error, in %."""
    X, y = data(name, most)
    best = chosen(X, y, step, sizes, thin, few)
    found: dict[str, Any] = {
        str(size): {"sigma": sigma, "C": C, "test": [], "progressive": [], "groups": []}
        for size, (sigma, C) in best.items()
    }
    for trial in range(trials):
        learned, asked = split(len(y), trial)
        rows, others = (standardised(X[part], X[learned]) for part in (learned, asked))
        apart, asking = distances(rows, rows), distances(others, rows)
        for sigma in sorted({sigma for sigma, _ in best.values()}):
            K, K_asked = np.exp(-sigma * apart), np.exp(-sigma * asking)
            for size in (size for size in sizes if best[size][0] == sigma):
                C, of = best[size][1], found[str(size)]
                model = learner(step, size, C).fit(K, y[learned])
                of["test"].append(100.0 * float((model.predict(K_asked) != y[asked]).mean()))
                of["progressive"].append(100.0 * model.n_mistakes_ / len(learned))
                if trial == 0 and name == MADE and size in OF_FIGURE_1 and step != "pa2":
                    of["curve"] = curve(learner(step, size, C), K, y[learned])
                    if step == "ls":
                        wrong = np.cumsum(group_errors(K, signs(y[learned]), C, size))
                        of["group curve"] = [[upto, 100.0 * wrong[int(upto) - 1] / upto] for upto, _ in of["curve"]]
                if trial < GROUP_TRIALS and name != MADE and step == "ls":
                    of["groups"].append(100.0 * float(group_errors(K, signs(y[learned]), C, size).mean()))
    return found


def as_read(name: str, reading: str, trials: int, most: int | None, thin: int) -> dict[str, float]:
    """The mean test error of each step and B of Table 2 with one reading, in %: "pa1/4"."""
    X, y = data(name, most)
    found: dict[str, float] = {}
    for step in ("pa1", "pa2", "ls"):
        best = chosen(X, y, step, OF_TABLE, thin, None, reading)
        errors: dict[int, list[float]] = {size: [] for size in OF_TABLE}
        for trial in range(trials):
            learned, asked = split(len(y), trial)
            rows, others = (standardised(X[part], X[learned]) for part in (learned, asked))
            apart, asking = distances(rows, rows), distances(others, rows)
            for size, (gamma, C) in best.items():
                model = learner(step, size, C, READINGS[reading][1]).fit(np.exp(-gamma * apart), y[learned])
                errors[size].append(100.0 * float((model.predict(np.exp(-gamma * asking)) != y[asked]).mean()))
        found |= {f"{step}/{size}": float(np.mean(errors[size])) for size in OF_TABLE}
    return found


def signs(y: np.ndarray) -> np.ndarray:
    """±1, the label that sorts last being +1."""
    return np.where(y == np.unique(y)[-1], 1.0, -1.0)


def curve(model: Any, K: np.ndarray, y: np.ndarray) -> list[list[float]]:
    """Rows so far, and the share of them that was predicted wrongly, in per cent."""
    found, start = [], 0
    for stop in np.unique(np.geomspace(min(30, len(y)), len(y), 80).astype(int)):
        model.partial_fit(K[start:stop], y[start:stop], classes=np.unique(y))
        found.append([float(stop), 100.0 * model.n_mistakes_ / float(stop)])
        start = stop
    return found


def group_errors(K: np.ndarray, y: np.ndarray, C: float, size: int) -> np.ndarray:
    """BPALS to the letter: at each time the share of the group that is predicted wrongly before the step."""
    f, wrong = np.zeros(len(y)), np.zeros(len(y))
    for t in range(len(y)):
        group = slice(max(0, t - size + 1), t + 1)
        wrong[t] = float((y[group] * f[group] <= 0.0).mean())
        G = K[group, group] + np.eye(f[group].size) / (2.0 * C)
        f += np.linalg.solve(G, y[group] - f[group]) @ K[group]
    return wrong


def as_it_comes(name: str, learner: str, settings: dict[str, Any], trials: int, most: int | None) -> dict[str, Any]:
    """A learner with nothing chosen: of each trial the test error, and the mistakes while it learned, in %."""
    import aggro

    X, y = data(name, most)
    found: dict[str, Any] = {"test": [], "progressive": []}
    for trial in range(trials):
        learned, asked = split(len(y), trial)
        model = getattr(aggro, learner)(random_state=trial, **settings)
        model.partial_fit(X[learned], y[learned], classes=np.unique(y))
        found["progressive"].append(100.0 * model.n_mistakes_ / len(learned))
        found["test"].append(100.0 * float((model.predict(X[asked]) != y[asked]).mean()))
    return found
