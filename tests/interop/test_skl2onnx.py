"""Pipelines with a learner in them as ONNX graphs, by skl2onnx."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest
from sklearn.ensemble import VotingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import aggro
from aggro import published

skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is of the extra `test`")
runtime = pytest.importorskip("onnxruntime")
importlib.import_module("aggro.interop.skl2onnx")

X = (np.random.default_rng(0).standard_normal((150, 4)) * [1, 5, 10, 0.1]).astype(np.float32)
THREE = np.array(list("abc"))[np.argmax(X[:, :3], axis=1)]
TWO = (X[:, 0] > 0).astype(int)


def run(pipe, rows=X, **options):
    made = skl2onnx.to_onnx(pipe, rows[:1], **options)
    return made, runtime.InferenceSession(made.SerializeToString()).run(None, {"X": rows})


@pytest.mark.parametrize("opset", [15, 18, None])
@pytest.mark.parametrize(
    ("model", "y"),
    [
        (aggro.PAClassifier(), THREE),
        (aggro.PAClassifier(), TWO),
        (aggro.PAClassifier(), TWO > 0),
        (published.PAClassifier(), THREE),
        (aggro.KernelPAClassifier(), THREE),
        (aggro.AROWClassifier(), TWO),
    ],
    ids=lambda value: repr(value) if hasattr(value, "fit") else value.dtype.kind,
)
def test_a_pipeline_gives_the_same_labels_and_probabilities(model, y, opset):
    pipe = make_pipeline(StandardScaler(), model).fit(X, y)
    _, (labels, shares) = run(pipe, options={"zipmap": False}, target_opset=opset)
    np.testing.assert_array_equal(labels, pipe.predict(X))
    np.testing.assert_allclose(shares, pipe.predict_proba(X), atol=1e-5)


def test_probabilities_are_dicts_as_of_rivals_unless_told_otherwise():
    pipe = make_pipeline(StandardScaler(), aggro.PAClassifier()).fit(X, THREE)
    _, (_, shares) = run(pipe)
    assert {*shares[0]} == {"a", "b", "c"}


def test_numbers_and_outliers():
    pipe = make_pipeline(StandardScaler(), aggro.PARegressor()).fit(X, X[:, 0])
    _, (found,) = run(pipe)
    assert found.shape == (150, 1)
    np.testing.assert_allclose(found[:, 0], pipe.predict(X), atol=1e-4)
    detector = make_pipeline(StandardScaler(), aggro.PAUniclass()).fit(X)
    _, (labels, scores) = run(detector)
    np.testing.assert_array_equal(labels, detector.predict(X))
    np.testing.assert_allclose(scores[:, 0], detector.decision_function(X), atol=1e-4)


def test_two_learners_in_one_graph_and_names_that_a_person_can_read():
    two = [("one", aggro.PAClassifier()), ("two", aggro.PAClassifier(C=0.1))]
    both = VotingClassifier(two, voting="soft", flatten_transform=False)
    made, (labels, _) = run(make_pipeline(StandardScaler(), both).fit(X, THREE), options={"zipmap": False})
    assert set(labels) == set("abc")
    names = [node.name for node in made.graph.node]
    assert len(set(names)) == len(names)
    assert any("PAClassifier" in name and "Scaled" in name for name in names)


def test_double_precision():
    wide = X.astype(np.float64)
    pipe = make_pipeline(StandardScaler(), aggro.PAClassifier()).fit(wide, THREE)
    _, (_, shares) = run(pipe, wide, options={"zipmap": False})
    assert shares.dtype == np.float64
    np.testing.assert_allclose(shares, pipe.predict_proba(wide), atol=1e-10)


def test_without_skl2onnx_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    monkeypatch.delitem(sys.modules, "aggro.interop.skl2onnx")
    with pytest.raises(ImportError, match=r"pip install skl2onnx 'aggro\[onnx\]'"):
        importlib.import_module("aggro.interop.skl2onnx")
