"""Arrays and matrices that are there already: one pass of PA-I, many classes, many values of C, and nothing set.

scikit-learn's is SGDClassifier with learning_rate="pa1" (or "pa2"), eta0=1, no penalty, one pass, no shuffling; ours is
the learner of aggro.published, one pass with C = 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from measure import FASTER, LONGER, SHARE, Cell, Plan, Skip, cell, in_turns

from jobs.rows import classes, dense, error, words

GROUP, MANY, TEXT, UNSET = "in memory", "many models in one pass", "text for labels", "nothing set"
PA1: dict[str, Any] = {
    "learning_rate": "pa1",
    "eta0": 1.0,
    "loss": "hinge",
    "penalty": None,
    "max_iter": 1,
    "tol": None,
    "shuffle": False,
}
DENSE = ((200_000, 22), (50_000, 123), (20_000, 500))
SPARSE = ((200_000, 300, 13), (200_000, 47_000, 60))
LIBLINEAR = "-s 2 -B 1 -q"
LOOPED = 5_000  # rows of the NumPy loop, whose time is for as many


def cells(plan: Plan) -> Iterator[Cell | Skip]:
    yield from passes(plan)
    yield from sparse_passes(plan)
    yield from text_labels(plan)
    yield from several_classes(plan)
    yield from values_of_C(plan)
    yield from nothing_set(plan)


def numpy_loop(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """PA-I as one writes it down."""
    w, b = np.zeros(X.shape[1]), 0.0
    for x, sign in zip(X, np.where(y > 0, 1.0, -1.0), strict=True):
        loss = 1.0 - sign * (w @ x + b)
        if loss > 0.0:
            tau = min(1.0, loss / (x @ x + 1.0))
            w += tau * sign * x
            b += tau * sign
    return w


def passes(plan: Plan) -> Iterator[Cell]:
    from sklearn.linear_model import SGDClassifier

    from aggro.published import PAClassifier

    for n, d in DENSE:
        for dtype in (np.float64, np.float32):
            X, y, T, t = dense(n, d, dtype)
            kind = dtype.__name__
            for step in ("pa1", "pa2") if (d, kind) == (22, "float64") else ("pa1",):
                job = f"fit, {n:,} × {d} dense, {kind}" + (", PA-II" if step == "pa2" else "")
                times = in_turns(
                    {
                        "ours": lambda: PAClassifier(step=step).fit(X, y),  # noqa: B023
                        "scikit-learn": lambda: SGDClassifier(**{**PA1, "learning_rate": step}).fit(X, y),  # noqa: B023
                        "NumPy": lambda: numpy_loop(X[:LOOPED], y[:LOOPED]),  # noqa: B023
                        "sum": lambda: X.sum(dtype=dtype),  # noqa: B023
                    },
                    plan.rounds(21, 7),
                )
                ours = times["ours"]
                errors = {
                    "error": error(PAClassifier(step=step).fit(X, y), T, t),
                    "peer_error": error(SGDClassifier(**{**PA1, "learning_rate": step}).fit(X, y), T, t),
                }
                target = 5.0 if d == 22 and step == "pa1" else None
                yield cell(GROUP, job, "scikit-learn", FASTER, ours, times["scikit-learn"], target=target, **errors)
                yield cell(GROUP, job, "NumPy loop", FASTER, ours, times["NumPy"] * (n / LOOPED))
                target = 0.6 if d >= 123 else None
                yield cell(GROUP, job, "X.sum()", SHARE, ours, times["sum"], target=target)


def sparse_passes(plan: Plan) -> Iterator[Cell]:
    from sklearn.linear_model import SGDClassifier

    from aggro.published import PAClassifier

    for n, d, nonzero in SPARSE:
        X, y, T, t = words(n, d, nonzero)
        w = np.random.default_rng(0).standard_normal(d)
        times = in_turns(
            {
                "ours": lambda: PAClassifier().fit(X, y),  # noqa: B023
                "scikit-learn": lambda: SGDClassifier(**PA1).fit(X, y),  # noqa: B023
                "product": lambda: X @ w,  # noqa: B023
            },
            plan.rounds(15, 5),
        )
        job = f"fit, {n:,} × {d:,} CSR, {nonzero} non-zeros a row"
        errors = {
            "error": error(PAClassifier().fit(X, y), T, t),
            "peer_error": error(SGDClassifier(**PA1).fit(X, y), T, t),
        }
        target = 2.5 if nonzero == 60 else 4.0
        yield cell(GROUP, job, "scikit-learn", FASTER, times["ours"], times["scikit-learn"], target=target, **errors)
        target = 0.55 if nonzero == 60 else None
        yield cell(GROUP, job, "X @ w", SHARE, times["ours"], times["product"], target=target)


def text_labels(plan: Plan) -> Iterator[Cell]:
    """Labels that are text, in what they usually come in, beside whole numbers in an array."""
    import pandas as pd

    from aggro.published import PAClassifier

    for count in (2, 10):
        X, y, *_ = classes(100_000, 22, count)
        names = np.array([f"class {k}" for k in range(count)])[y]
        columns = {"array": names, "objects": names.astype(object), "pandas": pd.Series(names.tolist())}
        for kind, given in columns.items():
            times = in_turns(
                {
                    "text": lambda: PAClassifier().partial_fit(X, given),  # noqa: B023
                    "numbers": lambda: PAClassifier().partial_fit(X, y),  # noqa: B023
                },
                plan.rounds(11, 5),
            )
            job = f"partial_fit, 100,000 × 22, {count} classes, text for labels ({kind})"
            yield cell(TEXT, job, "the same with integers", LONGER, times["text"], times["numbers"], target=1.5)


def several_classes(plan: Plan) -> Iterator[Cell]:
    """One against the rest on both sides; what is chosen with nothing set has its own line."""
    from sklearn.linear_model import SGDClassifier

    from aggro.published import PAClassifier

    X, y, T, t = classes(50_000, 100, 20)
    makers: dict[str, Callable[[], Any]] = {
        "one against the rest": PAClassifier,
        "joint": lambda: PAClassifier(multi_class="joint"),
        "scikit-learn": lambda: SGDClassifier(**PA1),
    }
    times = in_turns({name: lambda make=make: make().fit(X, y) for name, make in makers.items()}, plan.rounds(11, 3))
    errors = {name: error(make().fit(X, y), T, t) for name, make in makers.items()}
    theirs = times.pop("scikit-learn")
    for name, ours in times.items():
        yield cell(
            MANY,
            f"fit, 50,000 × 100 dense, 20 classes, {name}",
            "scikit-learn",
            FASTER,
            ours,
            theirs,
            target=5.0 if name != "joint" else None,
            error=errors[name],
            peer_error=errors["scikit-learn"],
        )


def values_of_C(plan: Plan) -> Iterator[Cell]:
    """Many values of C side by side in one pass, beside as many passes with one each."""
    from sklearn.linear_model import SGDClassifier

    from aggro.published import PAClassifier

    for n, d in ((50_000, 22), (20_000, 123)):
        X, y, *_ = dense(n, d)
        for count in (16, 64):
            grid = np.geomspace(1e-5, 1e3, count).tolist()
            times = in_turns(
                {
                    "ours": lambda: PAClassifier(C=grid).fit(X, y),  # noqa: B023
                    "passes": lambda: [PAClassifier(C=C).fit(X, y) for C in grid],  # noqa: B023
                    "scikit-learn": lambda: [SGDClassifier(**{**PA1, "eta0": C}).fit(X, y) for C in grid[4::8]],  # noqa: B023
                },
                plan.rounds(11, 3),
            )
            job = f"fit, {n:,} × {d} dense, {count} values of C"
            yield cell(MANY, job, "as many passes", FASTER, times["ours"], times["passes"], target=4.0)
            yield cell(MANY, job, "scikit-learn", FASTER, times["ours"], times["scikit-learn"] * 8)


def nothing_set(plan: Plan) -> Iterator[Cell | Skip]:
    """What each library does with nothing set: different things, so that the errors matter as much."""
    from sklearn.linear_model import SGDClassifier
    from sklearn.svm import LinearSVC

    from aggro import PAClassifier

    X, y, T, t = dense(50_000, 123)
    job = "fit, 50,000 × 123 dense"
    makers = {"ours": PAClassifier, "scikit-learn": SGDClassifier, "LinearSVC": LinearSVC}
    jobs = {name: lambda make=make: make().fit(X, y) for name, make in makers.items()}
    errors = {name: error(make().fit(X, y), T, t) for name, make in makers.items()}
    try:
        jobs["LIBLINEAR"], errors["LIBLINEAR"] = own_liblinear(X, y, T, t)
    except ImportError:
        yield Skip(
            UNSET, job, "LIBLINEAR", "liblinear-official is not installed; LinearSVC of scikit-learn is LIBLINEAR too"
        )
    times = in_turns(jobs, plan.rounds(7, 3))
    ours = times.pop("ours")
    for name, theirs in times.items():
        yield cell(UNSET, job, name, FASTER, ours, theirs, error=errors["ours"], peer_error=errors[name])


def own_liblinear(X: np.ndarray, y: np.ndarray, T: np.ndarray, t: np.ndarray) -> tuple[Callable[[], Any], float]:
    """LIBLINEAR's own package, given a SciPy matrix, which it reads without a loop in Python.

    Its README asks for -s 2, the primal solver, where there are many more rows than features.
    """
    import scipy.sparse as sp
    from liblinear.liblinearutil import predict, train

    rows, tests = sp.csr_matrix(X), sp.csr_matrix(T)
    signs = y.astype(np.float64)
    _, (accuracy, *_), _ = predict(t.astype(np.float64), tests, train(signs, rows, LIBLINEAR), "-q")
    return lambda: train(signs, sp.csr_matrix(X), LIBLINEAR), 100.0 - accuracy
