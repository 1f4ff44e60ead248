"""What every learner says of a few rows, in every form: the same whether and how it is compiled.

``python tests/helpers/everything.py PATH [NAME ...]`` saves it for another process to compare; NAMEs: of some settings.
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

import aggro
from aggro.learners.registry import LEARNERS, Entry
from aggro.published import PARegressor
from aggro.testing.variants import Variant, as_dicts, decisions, learn_rows, plain_settings, stream, tried

ROWS, WIDTH = 24, 5


# Which vectors are merged is decided by rounding where several would do: scores near 0 then differ by more than that.
BY_ROUNDING = {("BSGDClassifier", "average")}


def settings(entry: Entry) -> list[Variant]:
    """The defaults, and each of the contract's further settings that the learner is the first of its family to take."""
    earlier = [other for other in LEARNERS[: LEARNERS.index(entry)] if other.module == entry.module]
    known = [one for other in earlier if other.task == entry.task for one in tried(other)]
    further = [one for one in tried(entry) if not {(entry.name, name) for name in one} & BY_ROUNDING]
    return [Variant(entry), *(Variant(entry, one, plain_settings(entry)) for one in further if one not in known)]


def said_of_arrays(variant: Variant, X: Any, rows: list[Any], y: np.ndarray, folder: str) -> list[Any]:
    model = variant.new().fit(X, y)
    model.partial_fit(X[:7], y[:7])
    learn_rows(model, rows[:5], y[:5])
    again = variant.new()
    for start in range(0, ROWS, 6):
        again.partial_fit(X[start : start + 6], y[start : start + 6])
    return [decisions(model, X), decisions(again, X), model.predict(X), *said_of_rows(model, rows, folder)]


def said_of_rows(model: Any, rows: list[Any], folder: str) -> list[Any]:
    path = Path(folder) / "model.aggro"
    model.save(path)
    loaded = aggro.load(path)
    parts = []
    if not callable(getattr(model, "kernel", None)):
        parts = [sorted(dict(model.explain_one(row)).values()) for row in rows[:3]]
    return [
        [model.predict_one(row) for row in rows],
        np.array([model.decision_one(row) for row in rows]),
        np.array([loaded.decision_one(row) for row in rows]),
        np.concatenate(parts) if parts else np.zeros(0),
        [model.n_seen_, model.n_updates_, model.n_mistakes_],
    ]


def said(variant: Variant) -> list[Any]:
    """Learned and asked in every form."""
    found: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        for classes in (2, 3) if variant.classifies else (2,):
            X, y = stream(variant, ROWS, WIDTH, classes)
            found += said_of_arrays(variant, X, list(X), y, folder)
            pairs = [(row.indices, row.data) for row in map(csr_matrix, X)]
            found += said_of_arrays(variant, csr_matrix(X), pairs, y, folder)
            rows = as_dicts(X)
            found += said_of_rows(learn_rows(learn_rows(variant.new(), rows, y), rows, y), rows, folder)
    return found


def said_by_active() -> list[Any]:
    X, y = stream(Variant(LEARNERS[0]), ROWS, WIDTH, 3)
    model = aggro.ActiveLearner(aggro.PAClassifier(), delta=1.0, strategy="margin", replay=0, random_state=0).fit(X, y)
    asked = []
    for row, label in zip(X, y, strict=True):
        asked.append(bool(model.query_one(row)))
        if asked[-1]:
            model.learn_one(row, label)
    return [asked, model.predict(X), model.estimator_.decision_function(X)]


def said_briefly() -> list[Any]:
    """Single rows and dicts, of the learner that costs least to compile."""
    X, y = stream(Variant(LEARNERS[1]), ROWS, WIDTH)
    found = []
    for rows in (list(X), as_dicts(X)):
        model = learn_rows(learn_rows(PARegressor(), rows, y), rows, y)
        found.append(np.array([model.predict_one(row) for row in rows]))
    return found


def everything(names: list[str]) -> dict[str, list[Any]]:
    """What each learner says, by its name and settings."""
    works = {str(variant): partial(said, variant) for entry in LEARNERS for variant in settings(entry)}
    works["ActiveLearner"] = said_by_active
    works["briefly"] = said_briefly
    return {name: works[name]() for name in names or works}


def assert_same(one: dict[str, list[Any]], other: dict[str, list[Any]]) -> None:
    """Labels and counts to the letter, numbers to a billionth."""
    assert one.keys() == other.keys()
    for name in one:
        for k, (a, b) in enumerate(zip(one[name], other[name], strict=True)):
            a, b = np.asarray(a), np.asarray(b)
            if a.dtype.kind == "f":
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=f"{name}, {k}")
            else:
                assert a.tolist() == b.tolist(), (name, k)


if __name__ == "__main__":
    np.save(sys.argv[1], np.array(everything(sys.argv[2:]), dtype=object), allow_pickle=True)
