"""``aggro export``."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.runner import good, mistake

import aggro
from aggro.export import model as exporter


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    X = np.random.default_rng(0).normal(size=(60, 2))
    path = tmp_path_factory.mktemp("models") / "m.aggro"
    aggro.PAClassifier().fit(X, X[:, 0] > X[:, 1]).save(path)
    return path


def test_a_model_is_written_and_described(saved, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    out = tmp_path / "m.onnx"
    said = good("export", saved, out, "--json").json
    assert said["bytes"] == out.stat().st_size
    assert said["inputs"] == [{"name": "X", "type": "float32", "shape": ["batch", 2]}]
    assert [value["name"] for value in said["outputs"]] == ["label", "scores", "probabilities"]
    X = np.random.default_rng(1).normal(size=(9, 2)).astype(np.float32)
    (label,) = runtime.InferenceSession(out).run(["label"], {"X": X})
    assert label.tolist() == aggro.load(saved).predict(X).tolist()
    assert "float64" in good("export", saved, out, "--dtype", "float64", "--named-inputs").out  # over one of its own


def test_what_is_wrong_is_one_line(saved, tmp_path, monkeypatch):
    pytest.importorskip("onnx")
    assert "float32" in mistake("export", saved, tmp_path / "m.onnx", "--dtype", "half")
    (tmp_path / "notes.txt").write_text("mine")
    assert "notes.txt" in mistake("export", saved, tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "mine"
    table = tmp_path / "words.csv"
    table.write_text("note,kind\n" + "a good word,up\na bad word,down\n" * 10)
    good("train", table, "--text", "note", "--label", "kind", "--model", tmp_path / "words.aggro")
    assert "'note' (text)" in mistake("export", tmp_path / "words.aggro", tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()


def test_without_the_extra_it_says_what_to_install(saved, tmp_path, monkeypatch):
    monkeypatch.setattr(exporter, "find_spec", lambda name: None)
    assert "pip install 'aggro[onnx]'" in mistake("export", saved, tmp_path / "m.onnx")
