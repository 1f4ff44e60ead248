"""Small models of every kind of state, as they were when files of this format were first written.

``python tests/models/old/recipes.py FOLDER`` writes them with the code that is there: a model file of each, and
what they predict, now and after some more rows. The files of a version stay as they are;
``tests/models/test_old.py`` reads them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

import aggro

ROWS, WIDTH = 23, 3
WIDE = 5000  # kernel learners keep wider rows sparse
X = np.sin(1.7 * np.arange(1, ROWS * WIDTH + 1)).reshape(ROWS, WIDTH)
NUMBERS = X @ [1.0, -2.0, 0.5]
TWO = np.where(NUMBERS > 0.0, "yes", "no")
THREE = np.array(["low", "middle", "high"])[np.digitize(NUMBERS, [-0.7, 0.7])]
FIRST = 14  # rows before the file; the others come after it

PAPERS_MAXOUT = {"n_pieces": 2, "C_r": 0.125, "alpha": 0.9, "half_life": None}
CLASSIFIERS: dict[str, tuple[str, dict[str, Any], np.ndarray]] = {
    "Line": ("PAClassifier", {"average": True, "half_life": 9.0}, TWO),
    "Bank": ("PAClassifier", {"average": True, "multi_class": "joint"}, THREE),
    "Bank-auto": ("PAClassifier", {"C": "auto"}, THREE),
    "Grid": ("PAClassifier", {"C": "auto", "step": "auto"}, TWO),
    "Groups": ("PAClassifier", {"batch_size": 4, "average": True}, THREE),
    "Groups-sliding": ("PAClassifier", {"batch_size": 4, "window": "sliding"}, TWO),
    "Simplex": ("MultiplicativePAClassifier", {}, TWO),
    "Simplexes": ("MultiplicativePAClassifier", {"step": "pa1"}, THREE),
    "Support-classes": ("KernelPAClassifier", {"average": True, "gamma": "auto"}, THREE),
    "Support-merge": ("KernelPAClassifier", {"budget": 4}, THREE),
    "Support-groups": ("KernelPAClassifier", {"batch_size": 4}, TWO),
    "Pair": ("PAMeansClassifier", {"average": True}, TWO),
    "Crowd": ("PAMeansClassifier", {"prototype": "sum", "scale": 0.1}, THREE),
    "Queue": ("PAMeansClassifier", {"queue": 3, "average": True}, THREE),
    "Maxout": ("PAMOClassifier", {**PAPERS_MAXOUT, "n_units": 5, "average": True, "random_state": 0}, THREE),
}
OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "Line-number": ("PARegressor", {"average": True}),
    "Grid-number": ("PARegressor", {"C": "auto"}),
    "Groups-number": ("PARegressor", {"batch_size": 3}),
    "Ball": ("PAUniclass", {"C": 0.1, "robust": False, "scale": None, "average": True}),
    "Simplex-number": ("MultiplicativePARegressor", {}),
    "SimplexBall": ("MultiplicativePAUniclass", {}),
    "Support-project": ("KernelPARegressor", {"budget": 5, "budget_policy": "project"}),
    "Support-centre": ("KernelPAUniclass", {"budget": 6}),
}
RECIPES = {**CLASSIFIERS, **{title: (*made, NUMBERS) for title, made in OTHERS.items()}}
SPARSE, ACTIVE = "Support-sparse", "Active"
TITLES = [*RECIPES, SPARSE, ACTIVE]


def rows(title: str) -> Any:
    """The rows that this model reads."""
    if title != SPARSE:
        return X
    wide = np.zeros((ROWS, WIDE))
    wide[:, [0, 17, WIDE - 1]] = X
    return csr_matrix(wide)


def named(x: np.ndarray) -> dict[str, float]:
    return dict(zip("abc", x.tolist(), strict=True))


def made(title: str) -> Any:
    """The model after its first rows."""
    if title == SPARSE:
        return aggro.KernelPAClassifier(budget=5).partial_fit(rows(title)[:FIRST], THREE[:FIRST])
    if title == ACTIVE:
        active = aggro.ActiveLearner(aggro.PAClassifier(), delta=1.0, random_state=0)
        for x, y in zip(X[:FIRST], THREE, strict=False):
            active.learn_one(named(x), y)
        for i in range(FIRST, ROWS):
            active.ask(i, named(X[i]))
        return active
    name, params, y = RECIPES[title]
    model = getattr(aggro, name)(**params)
    for x, target in zip(X[:FIRST], y, strict=False):
        model.learn_one(x, target)
    return model


def learn_more(title: str, model: Any) -> None:
    """The rows that come after the file; an active learner's have been asked about, and wait."""
    if title == ACTIVE:
        for i in model.waiting_:
            model.answer(i, THREE[i])
        return
    y = THREE if title == SPARSE else RECIPES[title][2]
    model.partial_fit(rows(title)[FIRST:], y[FIRST:])


def told(title: str, model: Any) -> list[Any]:
    """What the model says of the last rows."""
    if title == ACTIVE:
        return [np.asarray(model.decision_one(named(x))).tolist() for x in X[-5:]]
    tell = model.decision_function if hasattr(model, "decision_function") else model.predict
    found: list[Any] = np.asarray(tell(rows(title)[-5:])).tolist()
    return found


def write(folder: Path) -> None:
    folder.mkdir(parents=True)
    expected, models = {}, {title: made(title) for title in TITLES}
    for title, model in models.items():
        model.save(folder / f"{title}.aggro")
        before = told(title, model)
        learn_more(title, model)
        expected[title] = {"before": before, "after": told(title, model)}
    (folder / "expected.json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
