"""What is run for Jorge and Paredes: the learners of both tables, their settings, and the figures."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from papers.published_figures import lines
from papers.sets import joined, rows_of

FOLDS, MOST, TRIED = 3, 3_000, 3_000
LOCAL, MOST_LOCAL = ("LOLClassifier", "ILOLClassifier"), 12_000  # how many places are best depends on the rows
JOINED = ("a9a", "w8a", "ijcnn1")
SCALES: list[Any] = [None, "standard"]
RBF: dict[str, list[Any]] = {"gamma": [2.0**k for k in range(-9, 4, 2)], "scale": SCALES}
ETAS = [0.03, 0.1, 0.3, 1.0, 3.0]
LAST: dict[str, Any] = {"average": False}
PUBLISHED: dict[str, Any] = {"C": 0.125, "C_r": 0.125, "alpha": 0.9, "half_life": None, **LAST}
CONSTANT = ", with a constant 1"  # what PAMO is called with one, of which the paper does not speak
SAME = ("always", "budget", "n_components")  # what makes a learner that of the table
AS_IT_IS: dict[str, Any] = {"scale": None, "fit_intercept": False, **LAST}  # rows as LIBOL takes them
FULL: dict[str, Any] = {"covariance": "full", **AS_IT_IS}
# What the paper ran with LIBOL: the learner, what LIBOL starts from, and which of the two it chooses, in this order.
LIBOL: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "PA-I": ("PAClassifier", {"step": "pa1", "C": 1.0} | AS_IT_IS, ("C",)),
    "PA-II": ("PAClassifier", {"step": "pa2", "C": 1.0} | AS_IT_IS, ("C",)),
    "CW": ("CWClassifier", {"form": "stdev", "eta": 0.7} | FULL, ("eta",)),
    "AROW": ("AROWClassifier", {"r": 1.0} | FULL, ("r",)),
    "SCW-I": ("SCWClassifier", {"variant": "scw1", "C": 1.0, "eta": 0.75} | FULL, ("C", "eta")),
    "SCW-II": ("SCWClassifier", {"variant": "scw2", "C": 1.0, "eta": 0.9} | FULL, ("C", "eta")),
}
LIBOL_POWERS = [2.0**k for k in range(-4, 5)]  # of C, and of AROW's r
LIBOL_ETAS = [round(0.05 * k, 2) for k in range(11, 20)]
LIBOL_SAME = ("step", "variant", "form", "covariance")
# The programs of Lu and others (2016), whose results Table 2 has beside PAMO's: rows as they are, a kernel width of 8.
PROGRAMS = ("BPA-S", "BOGD", "FOGD", "NOGD")
WIDTH = 8.0
PROGRAM = {"gamma": 1.0 / (2.0 * WIDTH**2), "scale": None, **LAST}
PROGRAM_BUDGET, PROGRAM_ETA, PROGRAM_BOUND, PROGRAM_RANK = 100, 0.2, 10.0, 20
AVERAGED = {"PAMO-I, averaged": False, "PAMO-II, averaged": True}  # our own rows: whether it always learns
ALPHAS = [round(0.1 * k, 1) for k in range(1, 10)]
CS = [2.0**k for k in range(-4, 5)]
Method = tuple[str, dict[str, Any], dict[str, list[Any]]]  # the learner, what is given, what is tried


def methods(rows: int, sizes: tuple[int, int]) -> dict[str, Method]:
    """Of both tables, but for those of LIBOL, by what they are called there."""
    places: dict[str, list[Any]] = {"n_prototypes": [16, 64, 256], "C": [0.1, 0.3, 1.0], "average": [False, True]}
    pamo = PUBLISHED | {"n_units": sizes[0], "n_pieces": sizes[1]}
    gradient = {"lam": 1.0 / rows**2, "bound": 10.0} | LAST
    steps = [0.02, 0.1, 0.5, 2.0]
    return {
        "BSGD": ("BSGDClassifier", {"budget": 500} | LAST, {"lam": [1e-2, 1e-3, 1e-4, 1e-5]} | RBF),
        "BPA-S": ("BPASClassifier", {"budget": 100} | LAST, {"C": steps} | RBF),
        "BOGD": ("BOGDClassifier", {"budget": 100} | gradient, {"eta": steps} | RBF),
        "FOGD": ("FOGDClassifier", {"n_components": 400} | LAST, {"eta": ETAS} | RBF),
        "NOGD": ("NOGDClassifier", {"n_components": 100} | LAST, {"eta": ETAS} | RBF),
        "I-LOL": ("ILOLClassifier", {}, places),
        "LOL": ("LOLClassifier", {}, places | {"lam": [0.3, 3.0, 30.0]}),
        "PAMO-I": ("PAMOClassifier", pamo | {"always": False, "fit_intercept": False}, {}),
        "PAMO-II": ("PAMOClassifier", pamo | {"always": True, "fit_intercept": False}, {}),
        f"PAMO-I{CONSTANT}": ("PAMOClassifier", pamo | {"always": False}, {}),
        f"PAMO-II{CONSTANT}": ("PAMOClassifier", pamo | {"always": True}, {}),
        **{
            title: ("PAMOClassifier", pamo | {"always": always, "average": True}, {})
            for title, always in AVERAGED.items()
        },
    }


def made(name: str, seed: int, settings: dict[str, Any]) -> Any:
    import aggro

    return getattr(aggro, name)(random_state=seed, **settings)


def sizes_of(table: str, name: str) -> tuple[int, int]:
    """h and k of PAMO."""
    if table == "2":
        return 64, 2
    line = next(line for line in lines("pamo_table1_sizes") if line["dataset"] == name)
    return int(line["units_h"]), int(line["pieces_k"])


# Runs ---------------------------------------------------------------------------------------------------


def rows_for(table: str, name: str, most: int | None) -> tuple[Any, np.ndarray, tuple[Any, np.ndarray] | None]:
    """Rows to learn, and those of the test part where there is one."""
    if table == "1":
        (X, y), test = part_of(name, "train"), part_of(name, "test")
        return (X, y, test) if most is None else (*some_of(X, y, most), test)
    X, y = joined(name, *(("train", "test") if name in JOINED else ("train",)))
    return (X, y, None) if most is None else (*some_of(X, y, most), None)


@lru_cache(maxsize=4)
def part_of(name: str, part: str) -> tuple[Any, np.ndarray]:
    """The rows of a part; pictures are equalised, as those are that the site of cbcl has as numbers."""
    X, y = rows_of(name, part)
    return (equalised(X), y) if name == "cbcl" else (X, y)


def equalised(X: Any) -> np.ndarray:
    """Of each pixel the share of its picture that is no lighter; pixels are whole numbers up to 255."""
    levels, pixels = 256, np.asarray(X).astype(int)
    places = levels * np.arange(len(pixels))[:, None] + pixels
    counts = np.bincount(places.ravel(), minlength=levels * len(pixels)).reshape(-1, levels)
    shares: np.ndarray = np.cumsum(counts, axis=1).ravel()[places] / pixels.shape[1]
    return shares


def some_of(X: Any, y: np.ndarray, most: int) -> tuple[Any, np.ndarray]:
    which = np.random.default_rng(7).permutation(len(y))[:most]
    return X[which], y[which]


def one_pass(model: Any, X: Any, y: np.ndarray, test: tuple[Any, np.ndarray] | None) -> tuple[float, float]:
    """In per cent: what is measured (test error, or mistakes while it learned), and those mistakes."""
    model.partial_fit(X, y, classes=np.unique(y))
    mistakes = 100.0 * model.n_mistakes_ / len(y)
    if test is None:
        return mistakes, mistakes
    return 100.0 * float((model.predict(test[0]) != test[1]).mean()), mistakes


def settings_of(tried: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    for values in product(*tried.values()):
        yield dict(zip(tried, values, strict=True))


def chosen(method: Method, X: Any, y: np.ndarray, folds: bool) -> dict[str, Any]:
    """The settings that do best on training rows."""
    name, given, tried = method
    choices = list(settings_of(tried))
    if len(choices) == 1:
        return choices[0]
    order = np.random.default_rng(1).permutation(len(y))
    if not folds:
        some = order[:TRIED]
        return min(choices, key=lambda one: one_pass(made(name, 0, given | one), X[some], y[some], None)[0])
    parts = np.array_split(order[: MOST_LOCAL if name in LOCAL else MOST], FOLDS)

    def error(one: dict[str, Any]) -> float:
        found = []
        for held in parts:
            rest = np.concatenate([part for part in parts if part is not held])
            found.append(one_pass(made(name, 0, given | one), X[rest], y[rest], (X[held], y[held]))[0])
        return float(np.mean(found))

    return min(choices, key=error)


def over_orders(
    table: str, name: str, learner: str, settings: dict[str, Any], orders: int, most: int | None
) -> list[tuple[float, float]]:
    """What ``one_pass`` gives, for each order of the rows."""
    X, y, test = rows_for(table, name, most)
    found = []
    for seed in range(orders):
        order = np.random.default_rng(100 + seed).permutation(len(y))
        found.append(one_pass(made(learner, seed, settings), X[order], y[order], test))
    return found


def cell(table: str, name: str, method: str, orders: int, most: int | None) -> dict[str, Any]:
    """One method on one set: with chosen settings, and with none chosen."""
    rows = len(rows_for(table, name, most)[1])
    learner, given, _ = known = methods(rows, sizes_of(table, name))[method]
    X, y = part_of(name, "train") if most is None else some_of(*part_of(name, "train"), most)
    best = chosen(known, X, y, table == "1")
    kept = {key: value for key, value in given.items() if key in SAME}
    found = {"measured": [x for x, _ in over_orders(table, name, learner, given | best, orders, most)], "chosen": best}
    if method not in AVERAGED and not method.endswith(CONSTANT):
        found["untuned"] = [x for x, _ in over_orders(table, name, learner, kept, max(1, orders // 4), most)]
    return found


def libol(name: str, method: str, orders: int, most: int | None) -> dict[str, Any]:
    """A method of LIBOL: its settings chosen as LIBOL does, one after another, by the mistakes in one pass.

    Of equal mistakes the last setting is taken.
    """
    learner, settings, to_choose = LIBOL[method]
    X, y, _ = rows_for("1", name, most)
    order = np.random.default_rng(1).permutation(len(y))
    best: dict[str, Any] = {}
    for what in to_choose:
        values = LIBOL_ETAS if what == "eta" else LIBOL_POWERS
        wrong = [one_pass(made(learner, 0, settings | best | {what: x}), X[order], y[order], None)[0] for x in values]
        best[what] = values[len(values) - 1 - int(np.argmin(wrong[::-1]))]
    found: dict[str, Any] = {"chosen": best}
    found["measured"] = [x for x, _ in over_orders("1", name, learner, settings | best, orders, most)]
    kept = {key: value for key, value in settings.items() if key in LIBOL_SAME}
    found["untuned"] = [x for x, _ in over_orders("1", name, learner, kept, max(1, orders // 4), most)]
    return found


def program(name: str, method: str, orders: int, most: int | None) -> list[float]:
    """The progressive mistakes, in per cent, of a program of Lu and others; two of them are written out below."""
    if method in LITERAL:
        X, y, _ = rows_for("2", name, most)
        X, y = X.toarray() if hasattr(X, "toarray") else X, np.where(y == y.max(), 1.0, -1.0)
        found = []
        for seed in range(orders):
            rng = np.random.default_rng(100 + seed)
            order = rng.permutation(len(y))
            found.append(float(100.0 * LITERAL[method](X[order], y[order], rng) / len(y)))
        return found
    learner, given = {
        "BPA-S": ("BPASClassifier", {"budget": PROGRAM_BUDGET, "C": 1.0}),
        # 400 frequencies of length 1 together, where the program's have the length √400 and a step of 0.002.
        "FOGD": ("FOGDClassifier", {"n_components": 800, "eta": 0.8}),
    }[method]
    return [x for x, _ in over_orders("2", name, learner, PROGRAM | given, orders, most)]


def bogd_program(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> int:
    """BOGD as its program has it: all coefficients shrink together where one is too large. The mistakes."""
    rows, alpha, n, mistakes = np.zeros((PROGRAM_BUDGET, X.shape[1])), np.zeros(PROGRAM_BUDGET), 0, 0
    left = 1.0 - PROGRAM_ETA / len(y) ** 2
    for x, sign in zip(X, y, strict=True):
        f = float(alpha[:n] @ gauss(rows[:n], x))
        mistakes += (1.0 if f >= 0.0 else -1.0) != sign
        alpha *= left
        if sign * f > 1.0:
            continue
        at = n
        if n == PROGRAM_BUDGET:
            at = int(rng.integers(n))
            alpha *= n / (n - 1)
        rows[at], alpha[at] = x, PROGRAM_ETA * sign
        if n == PROGRAM_BUDGET:
            alpha *= min(PROGRAM_ETA * PROGRAM_BOUND / np.abs(alpha).max(), 1.0)
        n = min(n + 1, PROGRAM_BUDGET)
    return mistakes


def nogd_program(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> int:
    """NOGD as its program has it: landmarks are the first rows with a loss, features a fifth as many. The mistakes."""
    rows, alpha, n, mistakes = np.zeros((PROGRAM_BUDGET, X.shape[1])), np.zeros(PROGRAM_BUDGET), 0, 0
    M: np.ndarray | None = None
    w = np.zeros(PROGRAM_RANK)
    for x, sign in zip(X, y, strict=True):
        k = gauss(rows[:n], x)
        f = float(alpha[:n] @ k) if M is None else float(w @ (M @ k))
        mistakes += (1.0 if f >= 0.0 else -1.0) != sign
        if sign * f >= 1.0:
            continue
        if n < PROGRAM_BUDGET:
            rows[n], alpha[n] = x, PROGRAM_ETA * sign
            n += 1
            continue
        if M is None:
            values, vectors = np.linalg.eigh(np.array([gauss(rows, row) for row in rows]))
            M = (vectors[:, -PROGRAM_RANK:] / np.sqrt(values[-PROGRAM_RANK:])).T
            w = alpha @ np.linalg.pinv(M)
        w += PROGRAM_ETA * sign * (M @ k)
    return mistakes


def gauss(rows: np.ndarray, x: np.ndarray) -> np.ndarray:
    apart = rows - x
    values: np.ndarray = np.exp(np.einsum("ij,ij->i", apart, apart) / (-2.0 * WIDTH**2))
    return values


LITERAL = {"BOGD": bogd_program, "NOGD": nogd_program}


def as_it_comes(
    table: str, name: str, learner: str, settings: dict[str, Any], orders: int, most: int | None
) -> dict[str, Any]:
    """A learner with nothing chosen: what is measured, and its mistakes while it learned."""
    found = over_orders(table, name, learner, settings, orders, most)
    return {"measured": [x for x, _ in found], "mistakes": [x for _, x in found]}


def sensitivity(name: str, alpha: float, orders: int, most: int | None) -> list[list[float]]:
    """For one α and each C: the mean test error, and the mean progressive mistakes (Figures 6 and 7)."""
    h, k = sizes_of("1", name)
    found = []
    for C in CS:
        settings = PUBLISHED | {"n_units": h, "n_pieces": k, "alpha": alpha, "C": C, "C_r": C, "always": True}
        runs = over_orders("1", name, "PAMOClassifier", settings, orders, most)
        found.append([float(np.mean(part)) for part in zip(*runs, strict=True)])
    return found


def curve(name: str, settings: dict[str, Any], seed: int, most: int | None) -> list[list[float]]:
    """Rows so far, and the share of them that was predicted wrongly, in per cent (Figures 7 and 9)."""
    X, y, _ = rows_for("2" if name in ("a9a", "w7a", "w8a") else "1", name, most)
    order = np.random.default_rng(100 + seed).permutation(len(y))
    model = made("PAMOClassifier", seed, PUBLISHED | settings)
    marks = np.unique(np.geomspace(32, len(y), 60).astype(int))
    found, start = [], 0
    for stop in marks:
        model.partial_fit(X[order[start:stop]], y[order[start:stop]], classes=np.unique(y))
        found.append([float(stop), 100.0 * model.n_mistakes_ / float(stop)])
        start = stop
    return found


def turning(seed: int) -> dict[str, Any]:
    """Four clouds that turn: what the learner says of the plane after every hundred rows (Figure 8)."""
    from aggro import PAMOClassifier, streams

    def follow(C: float, alpha: float, seed: int) -> tuple[int, list[Any]]:
        model = PAMOClassifier(
            3, n_pieces=2, C=C, C_r=C, alpha=alpha, always=True, average=False, half_life=None, random_state=0
        )
        axis = np.linspace(-2.2, 2.2, 60)
        plane = np.column_stack([part.ravel() for part in np.meshgrid(axis, axis)])
        panels = []
        for chunk in streams.rotating_xor(1000, every=100, turn=20.0, chunk=100, seed=seed):
            model.learn_chunk(chunk)
            said = (model.predict(plane) == 1).reshape(60, 60)
            panels.append([said.astype(int).tolist(), chunk.X.round(3).tolist(), chunk.y.tolist()])
        return int(model.n_mistakes_), panels

    # C and α by another stream of the same kind.
    C, alpha = min(product(CS, ALPHAS), key=lambda pair: follow(pair[0], pair[1], seed + 1)[0])
    wrong, panels = follow(C, alpha, seed)
    return {"C": C, "alpha": alpha, "mistakes": wrong, "panels": panels}
