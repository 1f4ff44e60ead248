"""Text as TF-IDF, with nothing set: errors beside scikit-learn's learners, over several orders of the rows.

    AGGRO_DATA=… python benchmarks/text_defaults.py [--orders 8]

For each order the rows are shuffled with its seed and cut into ten folds; the words are weighed on the nine that are
learned (SMS), or the rows are taken as the set has them (farm-ads, Reuters). What is printed is the mean number of
errors over the orders and its spread.
"""

from __future__ import annotations

import argparse
import gzip
import os
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import PassiveAggressiveClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from aggro import PAClassifier

DATA = Path(os.environ.get("AGGRO_DATA", "../shared/data"))
warnings.simplefilter("ignore", ConvergenceWarning)
warnings.simplefilter("ignore", FutureWarning)


def learners(seed: int) -> dict[str, object]:
    """The learners, with nothing set but the seed."""
    return {
        "PAClassifier()": PAClassifier(random_state=seed),
        "PAClassifier(scale=None)": PAClassifier(scale=None, random_state=seed),
        "sklearn PassiveAggressive": PassiveAggressiveClassifier(random_state=seed),
        "sklearn LinearSVC": LinearSVC(random_state=seed),
    }


def sms() -> tuple[np.ndarray, np.ndarray]:
    """Messages and whether they are spam."""
    with gzip.open(DATA / "sms_spam.tsv.gz", "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t", 1) for line in file]
    texts = np.array([text for _, text in lines], dtype=object)
    return texts, np.array([int(label == "spam") for label, _ in lines])


def errors_on_sms(orders: int) -> dict[str, list[int]]:
    """Errors of ten folds, for each order."""
    texts, y = sms()
    found: dict[str, list[int]] = {}
    for seed in range(orders):
        for name, learner in learners(seed).items():
            wrong = 0
            for train, test in KFold(10, shuffle=True, random_state=seed).split(texts):
                model = make_pipeline(TfidfVectorizer(), clone(learner)).fit(texts[train], y[train])
                wrong += int((model.predict(texts[test]) != y[test]).sum())
            found.setdefault(name, []).append(wrong)
    return found


def svm(name: str) -> tuple[object, np.ndarray]:
    """Rows of a set in svmlight format."""
    with gzip.open(DATA / name, "rb") as file:
        X, y = load_svmlight_file(file)
    return X.tocsr(), y


def accuracy_on_farm_ads(orders: int) -> dict[str, list[float]]:
    """Accuracy in per cent of five folds, for each order; rows of unit length."""
    X, y = svm("farm-ads.svm.gz")
    X = normalize(X)
    found: dict[str, list[float]] = {}
    for seed in range(orders):
        for name, learner in learners(seed).items():
            right = 0
            for train, test in KFold(5, shuffle=True, random_state=seed).split(X):
                right += int((clone(learner).fit(X[train], y[train]).predict(X[test]) == y[test]).sum())
            found.setdefault(name, []).append(100.0 * right / len(y))
    return found


def on_reuters(orders: int, figure: Callable[[np.ndarray, np.ndarray], float]) -> dict[str, list[float]]:
    """A figure on the test rows; the order of the training rows changes."""
    X, y = svm("reuters_tick.svm.gz")
    X_test, y_test = svm("reuters_tick.t.svm.gz")
    width = max(X.shape[1], X_test.shape[1])
    X.resize(X.shape[0], width)
    X_test.resize(X_test.shape[0], width)
    found: dict[str, list[float]] = {}
    for seed in range(orders):
        order = np.random.default_rng(seed).permutation(len(y))
        for name, learner in learners(seed).items():
            said = clone(learner).fit(X[order], y[order]).predict(X_test)
            found.setdefault(name, []).append(figure(y_test, said))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=8)
    orders = parser.parse_args().orders
    for title, measure in (
        ("SMS spam: errors of 5,574", errors_on_sms),
        ("farm-ads: accuracy, %", accuracy_on_farm_ads),
        ("Reuters money-fx: errors of 3,299", lambda n: on_reuters(n, lambda y, said: float((y != said).sum()))),
        ("Reuters money-fx: F1, %", lambda n: on_reuters(n, lambda y, said: 100.0 * float(f1_score(y, said)))),
    ):
        print(f"\n{title}, {orders} orders")
        for name, values in measure(orders).items():
            print(f"  {name:26} {np.mean(values):8.2f} ± {np.std(values):.2f}", flush=True)


if __name__ == "__main__":
    main()
