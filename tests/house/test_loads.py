"""A process imports what it uses: what a line of code must not have loaded, in a fresh one."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import aggro

FAMILIES = {"active", "feature_maps", "kernel", "linear", "maxout", "means", "multiplicative", "records", "uniclass"}
BATCHES = ["aggro.engine.solve", "aggro.learners.linear.minibatch"]
NOT_NEEDED = ("cli", "encoding", "evaluate", "export", "interop", "plot", "streams", "testing", "theory")
UPSTAIRS = [f"aggro.{part}" for part in NOT_NEEDED]
TWO_ROWS = ".partial_fit([[1.0, 0.0], [0.0, 1.0]], [0, 1])"


def families_but(*used: str) -> list[str]:
    return [f"aggro.learners.{name}" for name in sorted(FAMILIES - set(used))]


def loaded_by(code: str, folder) -> set[str]:
    asked = f"import sys\n{code}\nprint(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", asked], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return set(ran.stdout.split())


@pytest.mark.parametrize(
    ("code", "needed", "unneeded"),
    [
        ("import aggro", "aggro", ["aggro.engine", "aggro.estimators", *families_but(), *UPSTAIRS, "numba", "numpy"]),
        (
            f"import aggro; aggro.PAClassifier(){TWO_ROWS}",
            "aggro.learners.linear",
            [*families_but("linear"), *BATCHES, *UPSTAIRS, "aggro.models"],
        ),
        (
            f"import aggro; aggro.PAClassifier(batch_size=2){TWO_ROWS}",
            "aggro.engine.solve",
            [*families_but("linear"), *UPSTAIRS, "aggro.models"],
        ),
        (
            f"from aggro.learners.linear import PAClassifier; PAClassifier(){TWO_ROWS}",
            "aggro.learners.linear",
            [*families_but("linear"), *BATCHES, *UPSTAIRS, "aggro.models", "aggro.estimators", "sklearn"],
        ),
        ("import aggro; aggro.KernelPAClassifier()", "aggro.learners.kernel", [*families_but("kernel"), *UPSTAIRS]),
        (
            "import aggro; aggro.published.PAClassifier()",
            "aggro.published.linear",
            [*families_but("linear"), *UPSTAIRS, "aggro.published.kernel"],
        ),
        ("import aggro.estimators, aggro.published", "aggro.published", [*families_but(), "sklearn", "numpy"]),
        (
            "import aggro; aggro.load('m.aggro')",
            "aggro.learners.linear",
            [*families_but("linear"), *BATCHES, *UPSTAIRS],
        ),
        (
            "import aggro; aggro.models.load('m.aggro', shell=False).save('again.aggro')",
            "aggro.models",
            [*families_but("linear"), *BATCHES, *UPSTAIRS, "aggro.estimators", "sklearn"],
        ),
        (
            "import aggro.evaluate",
            "aggro.evaluate",
            [*families_but(), "aggro.estimators", "aggro.plot", "aggro.theory", "sklearn"],
        ),
        (
            "import aggro; aggro.plot.weights",
            "aggro.plot",
            [*families_but(), "aggro.estimators", "aggro.evaluate", "matplotlib", "sklearn"],
        ),
        (
            "import aggro; aggro.export.onnx",
            "aggro.export",
            [*families_but(), "aggro.estimators", "onnx", "onnxruntime", "sklearn"],
        ),
        (
            "import aggro.streams; list(aggro.streams.open('rows.svm'))",
            "aggro.streams",
            [*families_but(), "aggro.learners.base", "aggro.learners.model", "aggro.models", "sklearn", "pyarrow"],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_used_is_not_loaded(code, needed, unneeded, tmp_path):
    aggro.PAClassifier().fit(np.eye(2), ["yes", "no"]).save(tmp_path / "m.aggro")
    (tmp_path / "rows.svm").write_text("1 1:2\n-1 2:1\n")
    loaded = loaded_by(code, tmp_path)
    assert needed in loaded
    assert not loaded & set(unneeded)
