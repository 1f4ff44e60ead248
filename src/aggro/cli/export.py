"""``aggro export``: a model for programs without this library."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from aggro.cli.console import Mistake, facts, json_text, listed
from aggro.cli.model_files import load_with_position
from aggro.cli.options import Json, Model, Plugins
from aggro.cli.outputs import ONNX, Writes, writing


def export(
    model: Model,
    out: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="Write to this file, such as m.onnx."),
        Writes(ONNX, argument="OUT"),
    ],
    dtype: Annotated[str, typer.Option(metavar="TYPE", help="Use float32 or float64 for rows and scores.")] = "float32",
    named_inputs: Annotated[
        bool, typer.Option("--named-inputs", help="Make one input per feature, instead of X.")
    ] = False,
    plugin: Plugins = None,
    as_json: Json = False,
) -> None:
    """Export a model as an ONNX graph, which gives the same answers wherever ONNX runs."""
    from aggro.export import onnx

    learner, _ = load_with_position(model)
    try:
        made = onnx(learner, dtype=dtype, named_inputs=named_inputs)
    # A mistake of the user: a learner without a graph, or a package that is missing.
    except (ImportError, ValueError) as error:
        raise Mistake(f"{model}: {error}" if isinstance(error, ValueError) else str(error)) from error
    data = made.SerializeToString()
    # Written whole or not at all.
    with writing(out, "the ONNX model") as file:
        file.write(data)
    said = facts_of(out, len(data), made)
    print(json_text(said, indent=2) if as_json else facts(lines_of(said)))


def facts_of(path: Path, size: int, made: Any) -> dict[str, Any]:
    """What was written, as plain values."""
    from onnx import helper

    def described(value: Any) -> dict[str, Any]:
        kind = value.type.tensor_type
        # NumPy has no name for ONNX's strings but «object».
        name = "string" if kind.elem_type == STRING else helper.tensor_dtype_to_np_dtype(kind.elem_type).name
        return {
            "name": value.name,
            "type": name,
            "shape": [side.dim_param or side.dim_value for side in kind.shape.dim],
        }

    properties = {entry.key: entry.value for entry in made.metadata_props}
    return {
        "model": str(path),
        "bytes": size,
        "learner": properties["learner"],
        "task": properties["task"],
        "opset": made.opset_import[0].version,
        "inputs": [described(value) for value in made.graph.input],
        "outputs": [described(value) for value in made.graph.output],
    }


STRING = 8  # of ONNX's types


def lines_of(said: dict[str, Any]) -> dict[str, str]:
    """The facts of an exported model as lines of text to print, by title."""

    def spelled(value: dict[str, Any]) -> str:
        return f"{value['name']} {value['type']} ({', '.join(map(str, value['shape']))})"

    return {
        "model": f"{said['model']} ({said['bytes']:,} bytes, ONNX opset {said['opset']})",
        "learner": f"{said['learner']}, {said['task']}",
        "inputs": listed([spelled(value) for value in said["inputs"]]),
        "outputs": listed([spelled(value) for value in said["outputs"]]),
    }
