"""Small files under the names of the papers' data sets, so that the reports can be tried without the sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from aggro.streams.datasets import DATA_SET_BY_NAME

ROWS = 400
QUICK = ("svmguide1", "w7a", "ijcnn1", "sonar", "twonorm")  # that quick runs look at


def write(folder: Path, names: tuple[str, ...]) -> None:
    """Rows that can be learned, as wide as the set is and in its format, with its labels."""
    for seed, name in enumerate(names):
        entry = DATA_SET_BY_NAME[name]
        assert entry.features is not None
        rng = np.random.default_rng(seed)
        for part in entry.parts.values():
            X = np.round(rng.standard_normal((ROWS, entry.features)), 3)
            if entry.features > 50:
                X *= rng.random(X.shape) < 0.1
            f = X[:, :4].sum(axis=1) + X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(ROWS)
            labels = [entry.classes[int(sign)] for sign in f > np.median(f)]
            path = folder / part.file
            if part.file.endswith(".svm"):
                lines = [
                    f"{label} " + " ".join(f"{j + 1}:{x:g}" for j, x in enumerate(row) if x)
                    for label, row in zip(labels, X, strict=True)
                ]
            else:
                head = ",".join([*(f"x{j}" for j in range(entry.features)), "y"])
                lines = [
                    head,
                    *(",".join([*(f"{x:g}" for x in row), str(label)]) for label, row in zip(labels, X, strict=True)),
                ]
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
