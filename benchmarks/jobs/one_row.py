"""One row at a time: dicts beside River, arrays beside scikit-learn, and what a call costs by itself.

All learn PA-I with C = 1. Times are of whole streams of 2,000 rows, the model made anew for each; a stream that is over
sooner than the others is begun again, for as long as a turn takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from measure import FASTER, LONGER, NUMBER, Cell, Plan, cell, in_turns, spread

from jobs.in_memory import PA1
from jobs.rows import labels

GROUP = "one row"
ROWS, WIDTH = 2_000, 22
FEW = 200  # rows of partial_fit, whose time is for as many
TURN = 0.02  # seconds, at least


def cells(plan: Plan) -> Iterator[Cell]:
    yield from dicts(plan)
    yield from arrays(plan)
    yield from predictions(plan)
    yield from questions(plan)


def stream(model: Any, rows: Any, targets: list[Any]) -> None:
    predict, learn = model.predict_one, model.learn_one
    for x, target in zip(rows, targets, strict=True):
        predict(x)
        learn(x, target)


def numbers() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((ROWS, WIDTH))
    return X, labels(X, rng)


def dict_streams() -> dict[str, tuple[list[dict[str, float]], list[int]]]:
    X, y = numbers()
    names = [f"feature_{j}" for j in range(WIDTH)]
    rng = np.random.default_rng(3)
    chosen = [rng.choice(1_000, 15, replace=False) for _ in range(ROWS)]
    meanings = rng.standard_normal(1_000)
    topics = [int(meanings[row].sum() > 0.0) for row in chosen]
    words = [{f"word {k}": 1.0 for k in row.tolist()} for row in chosen]
    return {
        "dicts of 22": ([dict(zip(names, row, strict=True)) for row in X.tolist()], y.tolist()),
        "dicts of 15 words of 1,000": (words, topics),
        "dicts of 15 words and a new one": ([{**row, f"news {i}": 1.0} for i, row in enumerate(words)], topics),
    }


def dicts(plan: Plan) -> Iterator[Cell]:
    from river import linear_model

    from aggro.published import PAClassifier

    for what, (rows, targets) in dict_streams().items():
        times = in_turns(
            {
                "ours": lambda: stream(PAClassifier(), rows, targets),  # noqa: B023
                "River": lambda: stream(linear_model.PAClassifier(C=1.0, mode=1), rows, targets),  # noqa: B023
                "vw": lambda: by_text(rows, targets),  # noqa: B023
            },
            plan.rounds(21, 7),
            TURN,
        )
        job = f"predict_one and learn_one, {what}"
        errors = progressive(rows, targets)
        target = 3.0 if what == "dicts of 22" else 2.0
        beside = {"error": errors["ours"], "peer_error": errors["River"]}
        yield cell(GROUP, job, "River", FASTER, times["ours"], times["River"], target=target, **beside)
        beside["peer_error"] = errors["vw"]
        yield cell(GROUP, job, "Vowpal Wabbit", FASTER, times["ours"], times["vw"], **beside)


def by_text(rows: list[dict[str, float]], targets: list[int]) -> list[int]:
    """Vowpal Wabbit takes lines of text, which have to be made first. It predicts what it learns, before it does."""
    from vowpalwabbit import Workspace

    model = Workspace("--sgd --loss_function hinge --binary --quiet")
    told = []
    for row, target in zip(rows, targets, strict=True):
        features = " ".join(f"{name.replace(' ', '_')}:{value}" for name, value in row.items())
        example = model.parse(f"{1 if target else -1} | {features}")
        model.learn(example)
        told.append(int(example.get_simplelabel_prediction() > 0))
        model.finish_example(example)
    model.finish()
    return told


def progressive(rows: list[dict[str, float]], targets: list[int]) -> dict[str, float]:
    """Mistakes of rows that were predicted before they were learned, in per cent."""
    from river import linear_model

    from aggro.published import PAClassifier

    missed = {"vw": sum(told != target for told, target in zip(by_text(rows, targets), targets, strict=True))}
    for name, model in (("ours", PAClassifier()), ("River", linear_model.PAClassifier(C=1.0, mode=1))):
        missed[name] = 0
        for x, target in zip(rows, targets, strict=True):
            missed[name] += int(model.predict_one(x) or 0) != target
            model.learn_one(x, target)
    return {name: 100.0 * count / len(targets) for name, count in missed.items()}


def arrays(plan: Plan) -> Iterator[Cell]:
    import numba
    from sklearn.linear_model import SGDClassifier

    from aggro.published import PAClassifier

    X, y = numbers()
    targets, words = y.tolist(), np.array(["no", "yes"])[y].tolist()

    @numba.njit
    def nothing(x, target):
        return 0.0

    def learn(given: list[Any]) -> None:
        one = PAClassifier().learn_one
        for x, target in zip(X, given, strict=True):
            one(x, target)

    def batches() -> None:
        model = SGDClassifier(**PA1)
        for i in range(FEW):
            model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])

    def empty() -> None:
        for x, target in zip(X, targets, strict=True):
            nothing(x, target)

    times = in_turns(
        {
            "ours": lambda: learn(targets),
            "text": lambda: learn(words),
            "scikit-learn": batches,
            "empty": empty,
        },
        plan.rounds(15, 7),
        TURN,
    )
    job, ours = "learn_one, arrays of 22", times["ours"]
    yield cell(GROUP, job, "scikit-learn", FASTER, ours, times["scikit-learn"] * (ROWS / FEW), target=150.0)
    yield cell(GROUP, job, "an empty compiled call", LONGER, ours, times["empty"])
    yield cell(GROUP, f"{job}, text for labels", "the same with integers", LONGER, times["text"], ours, target=1.5)


def predictions(plan: Plan) -> Iterator[Cell]:
    from aggro.published import PAClassifier

    X, y = numbers()
    rows = list(X)
    three = (X @ np.random.default_rng(4).standard_normal((WIDTH, 3))).argmax(axis=1)
    names = np.array(["no", "yes"])[y]
    models = {
        "two": PAClassifier().fit(X, y),
        "three": PAClassifier().fit(X, three),
        "text": PAClassifier().fit(X, names),
    }

    def ask(name: str) -> None:
        predict = models[name].predict_one
        for x in rows:
            predict(x)

    times = in_turns({name: lambda name=name: ask(name) for name in models}, plan.rounds(21, 9), TURN)
    job = "predict_one, arrays of 22"
    yield cell(GROUP, f"{job}, 3 classes", "the same with 2", LONGER, times["three"], times["two"], target=1.5)
    yield cell(
        GROUP, f"{job}, text for labels", "the same with integers", LONGER, times["text"], times["two"], target=1.5
    )


def questions(plan: Plan) -> Iterator[Cell]:
    from aggro import ActiveLearner
    from aggro.published import PAClassifier

    X, y = numbers()
    rows = list(X)
    active = ActiveLearner(PAClassifier(), random_state=0).partial_fit(X, y)

    def ask() -> None:
        for x in rows:
            active.query_one(x)

    times = in_turns({"ask": ask}, plan.rounds(21, 9), TURN)["ask"]
    yield spread(
        GROUP, "query_one, arrays of 22", "a call", NUMBER, 1e6 * times / ROWS, target=5.0, at_most=True, unit="µs"
    )
