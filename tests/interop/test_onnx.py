"""Exported models beside the learners they were made of, run by onnxruntime."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

import aggro  # noqa: E402
from aggro import published  # noqa: E402
from aggro.export import graph, model, stages  # noqa: E402
from aggro.export import onnx as export  # noqa: E402
from aggro.learners.base.answers import answers_of  # noqa: E402
from aggro.learners.base.formula import Cosines, Linear, NoFormula  # noqa: E402
from aggro.learners.registry import LEARNERS  # noqa: E402

CANNOT: set[str] = set()  # learners of the registry that no formula tells of
DTYPES = ("float64", "float32")
CLOSE = {"float64": 1e-10, "float32": 1e-4}  # relative to the largest score


def rows(n: int, seed: int) -> np.ndarray:
    """Usual; large; in a quarter of the rows; rare; usual; always the same, and no float to the last digit."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)) * [1.0, 3.0, 0.5, 1.0, 2.0, 0.0] + [0.0, 500.0, 1.0, 0.0, 0.0, 0.1]
    X[:, 2] *= np.arange(n) % 4 == 0
    X[:, 3] *= rng.random(n) < 0.1
    return X


X, ASKED = rows(120, 0), rows(40, 1)
SUM = (X[:, 0] + (X[:, 1] - 500.0) / 3.0 + X[:, 4]).astype(float)
TWO = np.where(SUM > 0.0, "yes", "no")
THREE = np.digitize(SUM, [-1.0, 1.0])
PLAIN = {"C": 1.0, "scale": None}
KINDS = {
    "linear": lambda: aggro.PAClassifier().fit(X, TWO),
    "linear, three classes": lambda: aggro.PAClassifier(calibration="isotonic").fit(X, THREE),
    "linear, as published": lambda: aggro.PAClassifier(**PLAIN, average=False).fit(X, TWO),
    "linear, costs": lambda: aggro.PAClassifier(scale="rms", class_weight="balanced").fit(X, THREE),
    "linear, joint": lambda: aggro.PAClassifier(1.0, multi_class="joint", scale="standard").fit(X, THREE),
    "linear, groups": lambda: aggro.PAClassifier(batch_size=4, calibration="isotonic").fit(X, TWO),
    "numbers": lambda: aggro.PARegressor().fit(X, SUM),
    "numbers, as published": lambda: aggro.PARegressor(**PLAIN, step="pa1").fit(X, SUM),
    "ball": lambda: aggro.PAUniclass().fit(X),
    "ball, columns apart": lambda: aggro.PAUniclass(scale="standard", average=True).fit(X),
    "ball, as published": lambda: aggro.PAUniclass(scale=None, robust=False).fit(X),
    "class means": lambda: aggro.PAMeansClassifier().fit(X, TWO),
    "class means, queue": lambda: aggro.PAMeansClassifier(queue=3).fit(X, THREE),
    "multiplicative": lambda: aggro.MultiplicativePAClassifier().fit(X, THREE),
    "multiplicative, numbers": lambda: aggro.MultiplicativePARegressor().fit(X, SUM),
    "multiplicative, ball": lambda: aggro.MultiplicativePAUniclass().fit(X),
    "rbf": lambda: aggro.KernelPAClassifier().fit(X, THREE),
    "rbf, as published": lambda: aggro.KernelPAClassifier(gamma=0.1, scale=None, average=False).fit(X, TWO),
    "rbf, numbers": lambda: aggro.KernelPARegressor().fit(X, SUM),
    "rbf, ball": lambda: aggro.KernelPAUniclass(average=True).fit(X - [0, 500, 0, 0, 0, 0]),
    "poly": lambda: aggro.KernelPAClassifier(kernel="poly", gamma=0.3, coef0=0.1, degree=2).fit(X, THREE),
    "sigmoid": lambda: aggro.KernelPAClassifier(kernel="sigmoid", gamma=0.03).fit(X, TWO),
    "cosine": lambda: aggro.KernelPARegressor(kernel="cosine").fit(X, SUM),
    "linear kernel": lambda: aggro.KernelPAClassifier(kernel="linear", budget=20).fit(X, TWO),
    "max-out": lambda: aggro.PAMOClassifier(8).fit(X, THREE),
    "max-out, rare features": lambda: aggro.PAMOClassifier(8, scale="auto", fit_intercept=False).fit(X, TWO),
    "first order": lambda: aggro.ALMAClassifier().fit(X, THREE),
    "second order": lambda: aggro.AROWClassifier().fit(X, TWO),
    "second order, numbers": lambda: aggro.AROWRegressor().fit(X, SUM),
    "places": lambda: aggro.LOLClassifier().fit(X, THREE),
    "places, raw": lambda: aggro.ILOLClassifier(scale=False, fit_intercept=False, average=True).fit(X, TWO),
    "hidden sigmoids": lambda: aggro.OSELMClassifier(20).fit(X, THREE),
    "hidden rbf": lambda: aggro.OSELMClassifier(20, activation="rbf").fit(X, TWO),
    "fourier": lambda: aggro.PAClassifier(features="fourier", n_components=20).fit(X, THREE),
    "fourier, numbers": lambda: aggro.PARegressor(features="fourier", n_components=20).fit(X, SUM),
    "nyström": lambda: aggro.PAClassifier(features="nystroem", n_components=12).fit(X, TWO),
    "nyström, raw": lambda: aggro.PAClassifier(features="nystroem", n_components=12, scale=None, gamma=0.1).fit(X, TWO),
    "budget": lambda: aggro.Forgetron().fit(X, TWO),
    "asking": lambda: aggro.ActiveLearner(aggro.PAClassifier(), target_rate=0.5, random_state=0).fit(X, THREE),
}


@cache
def fitted(kind: str):
    return KINDS[kind]()


def asked_of(kind: str) -> np.ndarray:
    return ASKED - [0, 500, 0, 0, 0, 0] if kind == "rbf, ball" else ASKED


def run(made, X, name: str = "X") -> dict[str, np.ndarray]:
    session = runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    given = X if isinstance(X, dict) else {name: X}
    return dict(zip([out.name for out in session.get_outputs()], session.run(None, given), strict=True))


def answers(learner, X) -> dict[str, np.ndarray]:
    """What the learner itself says."""
    if not hasattr(learner, "decision_function"):
        return {"prediction": learner.predict(X)}
    found = {"label": learner.predict(X), "scores": learner.decision_function(X)}
    return found | ({"probabilities": learner.predict_proba(X)} if hasattr(learner, "predict_proba") else {})


def compare(found, expected, close: float) -> None:
    assert set(found) == set(expected)
    for name, wanted in expected.items():
        assert found[name].shape == wanted.shape
        if name != "label":
            size = np.abs(wanted).max(initial=1.0)
            np.testing.assert_allclose(found[name], wanted, rtol=0.0, atol=close * size, err_msg=name)
    if "label" in expected:
        scores = expected["scores"]
        lead = np.abs(scores) if scores.ndim == 1 else np.diff(np.sort(scores, axis=1)[:, -2:], axis=1)[:, 0]
        sure = lead > 2.0 * close * np.abs(scores).max(initial=1.0)
        assert sure.mean() > 0.8
        assert (found["label"] == expected["label"])[sure].all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_an_exported_model_says_the_same(kind, dtype):
    learner, Z = fitted(kind), asked_of(kind)
    made = export(learner, dtype=dtype)
    every = run(made, Z.astype(dtype))
    compare(every, answers(learner, Z), CLOSE[dtype])
    for n in (0, 1):
        few = run(made, Z[:n].astype(dtype))
        for name, found in few.items():
            assert found.shape == every[name][:n].shape
        for name in {*few} - {"label"}:
            np.testing.assert_allclose(few[name], every[name][:n], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("entry", LEARNERS, ids=lambda entry: entry.name)
def test_every_learner_is_exported_with_nothing_said_for_it(entry):
    learner = getattr(aggro, entry.name)()
    Z = np.abs(X) if entry.name.startswith("Multiplicative") else X
    learner.partial_fit(Z, SUM if entry.task == "regression" else TWO if entry.task == "classification" else None)
    if entry.name in CANNOT:
        with pytest.raises(NoFormula):
            export(learner)
        return
    Z = np.abs(ASKED) if entry.name.startswith("Multiplicative") else ASKED
    compare(run(export(learner, dtype="float64"), Z), answers(learner, Z), 1e-9)


# Classes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([False, True], "bool"),
        ([-1.0, 1.0], "float64"),
        ([7, 2**40], "int64"),
        (["no", "naïve\n"], "object"),
        ([2, 1, 3], "int64"),
        (["c", "ä", "a"], "object"),
    ],
)
def test_labels_come_as_they_were_given(labels, kind):
    learner = aggro.PAClassifier().fit(X, np.array(labels)[THREE % len(labels)])
    found = run(export(learner), ASKED.astype(np.float32))["label"]
    assert found.dtype == kind
    assert found.tolist() == learner.predict(ASKED).tolist()


@pytest.mark.parametrize("reserved", [None, ["a", "b"], ["a", "b", "c"]])
@pytest.mark.parametrize("classes", [1, 2])
def test_classes_that_were_never_seen(classes, reserved):
    y = np.array(["b", "c"])[THREE % classes]
    learner = aggro.PAClassifier().partial_fit(X, y, classes=reserved)
    found = run(export(learner, dtype="float64"), ASKED)
    expected = answers(learner, ASKED)
    assert found["label"].tolist() == expected["label"].tolist()
    np.testing.assert_allclose(found["scores"], expected["scores"], atol=1e-10)
    np.testing.assert_allclose(found["probabilities"], expected["probabilities"], atol=1e-10)


def test_classes_beyond_64_bits_are_refused():
    learner = aggro.PAClassifier().fit(X, [2**70 if label == "yes" else 1 for label in TWO])
    with pytest.raises(ValueError, match="Use texts"):
        export(learner)


def test_many_features_and_classes():
    rng = np.random.default_rng(0)
    wide, y = rng.normal(size=(60, 2000)) * (rng.random((60, 2000)) < 0.05), np.arange(60) % 30
    learner = aggro.PAClassifier(1.0).partial_fit(wide, y)
    compare(run(export(learner, dtype="float64"), wide), answers(learner, wide), 1e-10)


# Rows ---------------------------------------------------------------------------------------------------------


def test_a_column_that_never_varies_does_not_seem_to_when_it_is_rounded():
    """0.1 is another number in float32; to a kernel and to a ball that would be √t deviations, or unheard of."""
    for kind in ("rbf", "ball", "max-out"):
        learner = fitted(kind)
        given = ASKED.astype(np.float32)
        found = run(export(learner), given)["scores"]
        np.testing.assert_allclose(found, learner.decision_function(ASKED), atol=1e-3)


@pytest.mark.parametrize("kind", ["linear", "rbf", "max-out"])
def test_large_columns_that_hardly_vary_keep_their_digits(kind):
    learner = type(fitted(kind))(**fitted(kind).get_params())
    far = 1e6 + 10.0 * X
    learner.fit(far, TWO)
    for dtype, close in (("float64", 1e-9), ("float32", 1e-4)):
        given = (1e6 + 10.0 * ASKED).astype(dtype)
        found = run(export(learner, dtype=dtype), given)["scores"]
        np.testing.assert_allclose(found, learner.decision_function(given.astype(np.float64)), atol=close)


def test_a_given_matrix_is_exported_as_weights():
    K = X[:, [0, 4]] @ X[:, [0, 4]].T
    learner = aggro.KernelPAClassifier(kernel="precomputed").fit(K, TWO)
    compare(run(export(learner, dtype="float64"), K), answers(learner, K), 1e-10)


def test_features_by_name():
    pandas = pytest.importorskip("pandas")
    frame, asked = (pandas.DataFrame(Z[:, [0, 1, 4]], columns=["height", "weight", "7"]) for Z in (X, ASKED))
    learner = aggro.PAClassifier().fit(frame, TWO)
    made = export(learner, dtype="float64", named_inputs=True)
    found = run(made, {name: asked[[name]].to_numpy() for name in asked})["scores"]
    np.testing.assert_allclose(found, learner.decision_function(asked), atol=1e-10)
    assert json.loads(properties(export(learner))["feature_names"]) == ["height", "weight", "7"]


NAMES = [
    ["rows/numbers_0", "rows/Concat_0", "1_Scaled/Sub_0"],
    ["answers/numbers_0", "1_Scaled/numbers_0", "_1_Scaled/numbers_0"],
    ["probabilities/Concat_1", "1_Scaled/Sub_1", "rows/Concat_1"],
    ["x", "a b", "é"],
    ["", "input_0", "X"],
    ["label", "scores", "probabilities"],
    ["prediction", "input_label", "label"],
    ["batch", "1", "\N{GREEK SMALL LETTER BETA}/∑"],
]


@pytest.mark.parametrize("kind", ["classes", "numbers", "outliers"])
@pytest.mark.parametrize("names", NAMES, ids=" ".join)
def test_columns_of_any_name_can_be_inputs(names, kind):
    """Also names that the graph would give to what is inside it, and those of its outputs."""
    pandas = pytest.importorskip("pandas")
    frame, asked = (pandas.DataFrame(Z[:, [0, 1, 4]], columns=names) for Z in (X, ASKED))
    learner = {
        "classes": lambda: aggro.PAClassifier().fit(frame, TWO),
        "numbers": lambda: aggro.PARegressor().fit(frame, SUM),
        "outliers": lambda: aggro.PAUniclass().fit(frame),
    }[kind]()
    made = export(learner, dtype="float64", named_inputs=True)
    inputs = [one.name for one in made.graph.input]
    assert all(name in given for name, given in zip(names, inputs, strict=True))
    found = run(made, {name: asked.to_numpy()[:, [j]] for j, name in enumerate(inputs)})
    compare(found, answers(learner, asked), 1e-10)


def test_features_of_one_name_cannot_be_inputs():
    answered = answers_of(fitted("linear"))._replace(n_features=2, feature_names=["7", 7])
    with pytest.raises(ValueError, match="named_inputs=False"):
        model.given(graph.Graph(), answered, np.dtype(np.float32), True)


# Raw tables ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_table_of_numbers_some_of_them_missing(dtype, scale):
    def table(Z, seed):
        Z = Z.copy()
        Z[:, :2][np.random.default_rng(seed).random((Z.shape[0], 2)) < 0.2] = np.nan
        return [dict(zip("abcd", row, strict=True)) for row in Z[:, [0, 1, 2, 4]].tolist()]

    learner = aggro.RecordLearner(number=["a", "b", "c", "d"], scale=scale).partial_fit(table(X, 0), TWO)
    asked = table(ASKED, 1)
    assert len(learner.feature_names_) == 6  # two say that a cell is missing
    made = export(learner, dtype=dtype)
    compare(run(made, np.array([[*row.values()] for row in asked], dtype)), answers(learner, asked), CLOSE[dtype])
    assert json.loads(properties(made)["feature_names"]) == ["a", "b", "c", "d"]


def test_columns_of_other_kinds_are_refused_and_the_learner_inside_is_not():
    table = [{"a": x[0], "plan": "basic" if x[4] > 0.0 else "pro", "note": "one word"} for x in X.tolist()]
    learner = aggro.RecordLearner(category="plan", text="note").partial_fit(table, TWO)
    with pytest.raises(NoFormula, match=r"'plan' \(category\), 'note' \(text\).*estimator_"):
        export(learner)
    features = learner.encoded(table).X.toarray()
    found = run(export(learner.estimator_, dtype="float64"), features)["scores"]
    np.testing.assert_allclose(found, learner.decision_function(table), atol=1e-10)


# The model itself -----------------------------------------------------------------------------------------------


def properties(made) -> dict[str, str]:
    return {entry.key: entry.value for entry in made.metadata_props}


def test_what_is_said_of_a_model():
    made = export(fitted("linear"))
    assert (made.producer_name, made.producer_version) == ("aggro", aggro.__version__)
    assert [(one.domain, one.version) for one in made.opset_import] == [("", graph.OPSET)]
    assert made.ir_version == graph.IR_VERSION
    assert "PAClassifier" in made.doc_string
    said = properties(made)
    assert (said["learner"], said["task"]) == ("PAClassifier", "classification")
    assert json.loads(said["classes"]) == ["no", "yes"]
    assert json.loads(said["parameters"])["scale"] == "auto"
    assert int(said["rows"]) == fitted("linear").n_seen_
    assert "feature_names" not in said
    onnx.checker.check_model(made, full_check=True)


def test_a_model_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "m.onnx"
    made = export(fitted("linear"), path)
    assert onnx.load(path) == made
    with pytest.raises(OSError, match="ONNX model"):
        export(fitted("linear"), tmp_path / "none" / "m.onnx")
    monkeypatch.setattr(graph, "LARGEST_MODEL", 10)
    with pytest.raises(ValueError, match="2 GB"):
        export(fitted("linear, three classes"), path)
    assert onnx.load(path) == made


def test_float32_is_refused_for_what_it_cannot_hold():
    learner = aggro.PARegressor(1e300, scale=None, step="pa", fit_intercept=False).fit(X[:, :1] * 1e-45, SUM)
    assert np.abs(learner.coef_).max() > 1e40
    with pytest.raises(ValueError, match="dtype='float64'"):
        export(learner)
    export(learner, dtype="float64")


@pytest.mark.parametrize(
    ("refused", "error", "said"),
    [
        (lambda: export(aggro.PAClassifier()), ValueError, "not fitted"),
        (lambda: export(aggro.RecordLearner()), ValueError, "not fitted"),
        (lambda: export(aggro.ActiveLearner()), ValueError, "not fitted"),
        (lambda: export(aggro.PARegressor().partial_fit(X, SUM, np.zeros(len(X)))), NoFormula, "learned nothing"),
        (lambda: export(object()), TypeError, "learner of aggro"),
        (lambda: export(fitted("linear"), dtype="float16"), ValueError, "float32"),
        (lambda: export(aggro.KernelPAClassifier(kernel=own_kernel).fit(X, TWO)), NoFormula, "own_kernel"),
        (lambda: export(aggro.KernelPARegressor().fit(0.0 * X, SUM)), NoFormula, "rows of zeros"),
    ],
)
def test_what_cannot_be_exported_is_refused_in_words(refused, error, said):
    with pytest.raises(error, match=said):
        refused()


def own_kernel(A, B):
    return A @ B.T


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(model, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'aggro\[onnx\]'"):
        export(fitted("linear"))


# Learners that say no formula -------------------------------------------------------------------------------------


def silent(self, view):
    raise NotImplementedError


@pytest.mark.parametrize("kind", ["linear", "linear, joint", "linear, as published", "numbers", "class means"])
def test_scores_that_are_linear_are_found_out(kind, monkeypatch):
    learner = fitted(kind)
    monkeypatch.setattr(type(learner), "_formula", silent, raising=False)
    compare(run(export(learner, dtype="float64"), ASKED), answers(learner, ASKED), 1e-10)


@pytest.mark.parametrize("kind", ["max-out", "ball"])
def test_scores_that_are_not_are_refused(kind, monkeypatch):
    learner = fitted(kind)
    monkeypatch.setattr(type(learner), "_formula", silent, raising=False)
    with pytest.raises(NoFormula, match="not linear"):
        export(learner)


@pytest.mark.parametrize("dtype", DTYPES)
def test_fourier_features_are_a_stage(dtype):
    """In float64 too: a runtime may put a factor into the product beside it, as a float32."""
    rng = np.random.default_rng(0)
    waves = Cosines(rng.normal(size=(6, 5)), rng.uniform(0.0, 6.0, 5), 0.3)
    weights = Linear(rng.normal(size=(5, 2)), np.zeros(2))
    g, kind = graph.Graph(), np.dtype(dtype)
    g.output("scores", stages.write(g, g.input("X", kind, 6), (waves, weights)), 2)
    made = onnx.helper.make_model(
        onnx.helper.make_graph(g.nodes, "stage", g.inputs, g.outputs, g.constants),
        ir_version=graph.IR_VERSION,
        opset_imports=[onnx.helper.make_opsetid("", graph.OPSET)],
    )
    Z = rng.normal(size=(9, 6))
    wanted = 0.3 * np.cos(Z @ waves.frequencies + waves.phases) @ weights.weights
    np.testing.assert_allclose(run(made, Z.astype(dtype))["scores"], wanted, atol=CLOSE[dtype])


@pytest.mark.parametrize("kind", [published.PAClassifier, published.PARegressor, published.PAUniclass])
def test_the_scale_of_a_single_column_stays_in_float64(kind):
    """A runtime must not keep it in float32 beside the product that follows."""
    X = 3.3 + 1.7 * rows(60, 1)[:, :1]
    model = kind(scale="standard").partial_fit(X, *([] if kind is published.PAUniclass else [X[:, 0] > 3.0]))
    found = run(export(model, dtype="float64"), X)
    ours = getattr(model, "decision_function", model.predict)(X)
    assert np.allclose(found.get("scores", found.get("prediction")), ours, rtol=1e-13, atol=1e-13)
