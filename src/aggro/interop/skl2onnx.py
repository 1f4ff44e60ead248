"""Converters for skl2onnx: pipelines with a learner of this library in them become ONNX graphs.

Importing this module registers every learner of the library with skl2onnx::

    import aggro.interop.skl2onnx
    from skl2onnx import to_onnx

    to_onnx(make_pipeline(StandardScaler(), PAClassifier()).fit(X, y), X[:1].astype(np.float32))

The graph of the learner is that of ``aggro.export``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro import estimators, published
from aggro.export.model import X, as_model
from aggro.learners.base.answers import answers_of
from aggro.learners.registry import LEARNERS

try:
    from skl2onnx import update_registered_converter
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType
except ImportError as error:
    said = "aggro.interop.skl2onnx needs skl2onnx. Install it with: pip install skl2onnx 'aggro[onnx]'"
    raise ImportError(said) from error

# What classifiers of skl2onnx can be asked for: probabilities as a dict for each row (the default), names of classes.
CONVERTER_OPTIONS = {"zipmap": [True, False, "columns"], "nocl": [True, False], "output_class_labels": [True, False]}
# What our outputs are called in the graphs of skl2onnx, in their order.
TASK_OUTPUTS = {
    "classification": ("label", "probabilities"),
    "regression": ("prediction",),
    "outlier": ("label", "scores"),
}


def dtype_of(operator: Any) -> np.dtype:
    """The type of the rows that come in."""
    return np.dtype(np.float64 if isinstance(operator.inputs[0].type, DoubleTensorType) else np.float32)


def shapes(operator: Any) -> None:
    """Say the types and sides of the outputs."""
    answers = answers_of(operator.raw_operator)
    kind, rows = type(operator.inputs[0].type), None
    if answers.classes is not None:
        # Labels that are no texts are Int64: skl2onnx knows no booleans as classes.
        names = answers.classes.names
        operator.outputs[0].type = (StringTensorType if names.dtype.kind in "UO" else Int64TensorType)([rows])
        operator.outputs[1].type = kind([rows, names.shape[0]])
    elif answers.task == "regression":
        operator.outputs[0].type = kind([rows, 1])
    else:
        operator.outputs[0].type, operator.outputs[1].type = Int64TensorType([rows]), kind([rows, 1])


def convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the learner's graph to that of a pipeline, with names of its own and the opset of the pipeline."""
    from onnx import helper, numpy_helper, version_converter

    answers = answers_of(operator.raw_operator)
    made = as_model(answers, dtype_of(operator), False)
    wanted = int(container.target_opset_any_domain(""))
    # All nodes of one graph share an opset, and the pipeline has chosen it.
    if wanted != made.opset_import[0].version:
        made = version_converter.convert_version(made, wanted)
    # Two learners in one pipeline would otherwise share names.
    names = {name: scope.get_unique_variable_name(f"{answers.learner}/{name}") for name in names_inside(made.graph)}
    names[X] = operator.inputs[0].full_name
    # The learner's graph takes one matrix, so single columns are joined first.
    if len(operator.inputs) > 1:  # columns by name
        names[X] = scope.get_unique_variable_name(f"{answers.learner}/rows")
        given = [one.full_name for one in operator.inputs]
        container.nodes.append(helper.make_node("Concat", given, [names[X]], name=names[X], axis=1))
    for node in made.graph.node:
        # "" stands for an optional input that is left out, and has no new name.
        node.input[:] = [names[name] if name else name for name in node.input]
        node.output[:] = [names[name] for name in node.output]
        node.name = scope.get_unique_operator_name(f"{answers.learner}/{node.name or node.op_type}")
        container.nodes.append(node)
    for constant in made.graph.initializer:
        constant.name = names[constant.name]
        container.initializers.append(constant)
    container.node_domain_version_pair_sets.add(("", wanted))
    for name, output in zip(TASK_OUTPUTS[answers.task], operator.outputs, strict=True):
        hand_over(answers, name, names[name], output.full_name, container, numpy_helper)


def hand_over(answers: Any, name: str, ours: str, theirs: str, container: Any, numpy_helper: Any) -> None:
    """Give one of our outputs the name and form that skl2onnx has for it."""
    from onnx import TensorProto, helper

    # true and false become 1 and 0, as the shapes above promise.
    if name == "label" and answers.classes is not None and answers.classes.names.dtype.kind == "b":
        container.nodes.append(helper.make_node("Cast", [ours], [theirs], name=theirs, to=TensorProto.INT64))
    elif name in ("prediction", "scores"):  # a column, as of skl2onnx's own regressors and detectors
        sides = f"{ours}/column"
        container.initializers.append(numpy_helper.from_array(np.array([-1, 1]), sides))
        container.nodes.append(helper.make_node("Reshape", [ours, sides], [theirs], name=theirs))
    else:
        container.nodes.append(helper.make_node("Identity", [ours], [theirs], name=theirs))


def names_inside(graph: Any) -> set[str]:
    """Every name that a graph has but that of its input."""
    made = {name for node in graph.node for name in node.output}
    return (made | {constant.name for constant in graph.initializer}) - {X}


def register() -> None:
    """Make every learner of the library, with our defaults and with the papers', known to skl2onnx."""
    for entry in LEARNERS:
        options = CONVERTER_OPTIONS if entry.task == "classification" else None
        # The published classes are classes of their own, and skl2onnx looks converters up by class.
        for home in (estimators, published):
            kind = getattr(home, entry.name)
            alias = f"Aggro{'Published' if home is published else ''}{entry.name}"
            update_registered_converter(kind, alias, shapes, convert, options=options)


register()
