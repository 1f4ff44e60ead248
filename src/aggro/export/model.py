"""A fitted learner as an ONNX model."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from typing import Any

import numpy as np

from aggro.export.answers import column, write_classes
from aggro.export.graph import INT, IR_VERSION, OPSET, Graph, Value
from aggro.export.stages import write
from aggro.learners.base.answers import Answers, answers_of

NEEDED = "Exporting to ONNX takes the package onnx: pip install 'aggro[onnx]'."
INPUT_DTYPES = ("float32", "float64")
X = "X"
OUTPUT_NAMES = ("label", "scores", "probabilities", "prediction")  # names that inputs must not have


def onnx(model: Any, path: Any = None, *, dtype: str = "float32", named_inputs: bool = False) -> Any:
    """Export a fitted learner as an ONNX model, which predicts the same without this library.

    Parameters
    ----------
    model : learner
        Any fitted learner of the library. For an ``ActiveLearner``, the learner inside is exported. For a
        ``RecordLearner``, encoder and learner are exported; all its columns must be numbers.
    path : path, default=None
        Where to write the model, whole or not at all; ``.onnx`` is the usual ending.
    dtype : {"float32", "float64"}, default="float32"
        The type of the rows that go in and of the numbers that come out. How rows are scaled, and distances, are
        computed in float64 in any case.
    named_inputs : bool, default=False
        Whether each feature is an input of its own, by its name, of shape (batch, 1); else there is one input ``X`` of
        shape (batch, n_features). A feature without a name, or with that of an output, such as "label", has the input
        "input_0" (by its place) or "input_label".

    Returns
    -------
    model : onnx.ModelProto
        The model. A classifier's outputs are ``label``, ``scores`` and ``probabilities``, a detector's ``label``
        and ``scores``, a regressor's ``prediction``.
    """
    if find_spec("onnx") is None:
        raise ImportError(NEEDED)
    if dtype not in INPUT_DTYPES:
        raise ValueError(f"dtype must be 'float32' or 'float64', got {dtype!r}.")
    answers = answers_of(model)
    made = as_model(answers, np.dtype(dtype), named_inputs)
    if path is not None:
        from aggro.models.atomic import replacing

        with replacing(os.fspath(path), "the ONNX model") as file:
            file.write(made.SerializeToString())
    return made


def as_model(answers: Answers, dtype: np.dtype, named_inputs: bool) -> Any:
    """The answers as a model with its metadata."""
    from onnx import checker, helper

    from aggro import __version__

    g = Graph()
    # Inputs first: names inside the graph give way to theirs.
    rows = given(g, answers, dtype, named_inputs)
    scores = write(g, rows, answers.formula)
    g.part = "answers"
    if answers.classes is not None:
        write_classes(g, rows, scores, answers.classes)
    elif answers.task == "regression":
        g.output("prediction", column(g, scores))
    else:
        decided = column(g, scores)
        # A detector's decision is not negative for rows inside: label 1, else −1.
        inside = g.op("GreaterOrEqual", decided, np.zeros(1))
        g.output("label", g.op("Where", inside, *(g.constant(np.array([side]), INT) for side in (1, -1))))
        g.output("scores", decided)
    graph = helper.make_graph(g.nodes, answers.learner, g.inputs, g.outputs, g.constants)
    made = helper.make_model(
        graph,
        producer_name="aggro",
        producer_version=__version__,
        doc_string=f"{answers.learner}, for {answers.task}, after {answers.rows:,} rows.",
        ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid("", OPSET)],
    )
    helper.set_model_props(made, metadata_of(answers))
    # A graph that the standard refuses should fail here and not on a server.
    checker.check_model(made)
    return made


def given(g: Graph, answers: Answers, dtype: np.dtype, named: bool) -> Value:
    """The rows that go in."""
    if not named:
        return g.input(X, dtype, answers.n_features)
    columns = [g.input(name, dtype, 1) for name in input_names(answers)]
    return g.op("Concat", *columns, axis=1)


def input_names(answers: Answers) -> list[str]:
    """A name for the input of each feature: its own, unless that is empty or the name of an output."""
    features = [str(name) for name in answers.feature_names or range(answers.n_features)]
    if len(set(features)) < len(features):
        twice = next(name for j, name in enumerate(features) if name in features[:j])
        raise ValueError(
            f"The features cannot be inputs of their own: several are called {twice!r}. Export the model with "
            "named_inputs=False."
        )
    names: list[str] = []
    for j, feature in enumerate(features):
        name = feature if feature and feature not in OUTPUT_NAMES else f"input_{feature or j}"
        # A made name must not meet another feature's own.
        while name != feature and name in {*features, *names}:
            name = f"{name}_"
        names.append(name)
    return names


def metadata_of(answers: Answers) -> dict[str, str]:
    """What is said of the model beside its graph; lists and parameters in JSON."""
    facts: dict[str, Any] = {"learner": answers.learner, "task": answers.task, "rows": answers.rows}
    facts["parameters"] = answers.parameters
    if answers.feature_names is not None:
        facts["feature_names"] = answers.feature_names
    if answers.classes is not None:
        facts["classes"] = answers.classes.names.tolist()
    return {name: fact if isinstance(fact, str) else json.dumps(fact, default=str) for name, fact in facts.items()}
