"""A first run of an installed aggro, with nothing but the wheel: ``python smoke.py PATH_OF_THE_COMMAND``."""

import subprocess
import sys

import numpy as np

from aggro import PAClassifier, PARegressor


def main(command: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 10))
    w = rng.standard_normal(10)

    classifier = PAClassifier(C=0.1).fit(X[:1500], X[:1500] @ w > 0.0)
    assert classifier.score(X[1500:], X[1500:] @ w > 0.0) > 0.95
    assert classifier.n_seen_ == 1500 * classifier.n_iter_  # fit makes several passes

    regressor = PARegressor().fit(X[:1500], X[:1500] @ w + 2.0)
    assert regressor.score(X[1500:], X[1500:] @ w + 2.0) > 0.95

    reader = PAClassifier()
    for _ in range(5):
        reader.learn_one({"sun": 1.0, "warm": 1.0}, "beach").learn_one({"snow": 1.0, "cold": 1.0}, "hut")
    assert reader.predict_one({"snow": 1.0}) == "hut"
    assert reader.predict_one({"sun": 1.0, "unheard of": 1.0}) == "beach"

    shown = subprocess.run([command, "--help"], capture_output=True, text=True, check=True).stdout
    assert "aggro" in shown
    print("smoke: ok")


if __name__ == "__main__":
    main(sys.argv[1])
