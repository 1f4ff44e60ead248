"""The Open Inference Protocol, version 2, over HTTP: what Triton, KServe and their clients speak.

Inputs of one number or text a row are columns, by their names. A single input of several numbers a row is a list of
numbers. Tensors may be JSON or binary (the extension that Triton's client uses by default). The output ``predict`` is
the label (BYTES) or the number (FP64) of each row.
"""

from __future__ import annotations

import math
import struct
from typing import Any, NamedTuple

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from aggro.serve.model import Model
from aggro.serve.problems import Problem, short
from aggro.serve.shapes import read_examples
from aggro.serve.strict_json import dump
from aggro.serve.web.examples import model_of, predicted
from aggro.serve.web.requests import Json, body_of, parsed
from aggro.serve.web.service import Service

OUTPUT = "predict"
LENGTH = "inference-header-content-length"
DATATYPES = {
    "BOOL": "?",
    "UINT8": "<u1",
    "UINT16": "<u2",
    "UINT32": "<u4",
    "UINT64": "<u8",
    "INT8": "<i1",
    "INT16": "<i2",
    "INT32": "<i4",
    "INT64": "<i8",
    "FP16": "<f2",
    "FP32": "<f4",
    "FP64": "<f8",
}


class Tensor(NamedTuple):
    """One input: a list of values for each row."""

    name: str
    rows: list[list[Any]]


async def server(service: Service, request: Request) -> Response:
    """What this server is."""
    import aggro

    return Json({"name": "aggro", "version": aggro.__version__, "extensions": ["binary_tensor_data"]})


async def live(service: Service, request: Request) -> Response:
    """The server lives."""
    return Json({"live": True})


async def server_ready(service: Service, request: Request) -> Response:
    """All models can be asked."""
    return Json({"ready": service.warm}, 200 if service.warm else 503)


async def model_ready(service: Service, request: Request) -> Response:
    """One model can be asked."""
    return Json({"name": model_of(service, request).name, "ready": True})


async def metadata(service: Service, request: Request) -> Response:
    """The inputs and outputs of a model."""
    return Json(await service.in_thread(lambda: described(model_of(service, request))))


def described(model: Model) -> dict[str, Any]:
    from aggro.serve import learners

    with model.replicas.reading() as side:
        columns = learners.facts_of(side.learner).get("columns", {})
    # The columns as learned so far: a model of records has no fixed schema. -1 stands for any number of rows.
    inputs = [
        {"name": name, "datatype": "FP64" if role == "number" else "BYTES", "shape": [-1, 1]}
        for name, role in columns.items()
        if role not in ("id", "ignore")
    ]
    outputs = [{"name": OUTPUT, "datatype": datatype_of(model), "shape": [-1]}]
    return {"name": model.name, "versions": ["1"], "platform": "aggro", "inputs": inputs, "outputs": outputs}


def datatype_of(model: Model) -> str:
    return "BYTES" if model.task == "classification" else "FP64"


async def infer(service: Service, request: Request) -> Response:
    """Predictions for tensors."""
    model = model_of(service, request)
    body = await body_of(service, request)
    header, rest = split(request, body)
    found = parsed(service, header)
    if not isinstance(found, dict) or not isinstance(found.get("inputs"), list) or not found["inputs"]:
        raise Problem(422, "bad_inputs", 'Expected {"inputs": [...]}, a tensor for each column.')
    tensors = read_tensors(found["inputs"], rest, service.limits.batch, service.limits.columns)
    examples = read_examples({"records": as_records(tensors)}, service.limits, ("record",))
    return answered(model, found, await predicted(service, model, examples))


def split(request: Request, body: bytes) -> tuple[bytes, bytes]:
    """The JSON of a request, and the binary tensors behind it."""
    text = request.headers.get(LENGTH)
    if text is None:
        return body, b""
    # isdigit alone accepts digits that int() reads but no client means.
    if not text.isascii() or not text.isdigit() or int(text) > len(body):
        raise Problem(400, "bad_length", "Inference-Header-Content-Length is not the length of the JSON.")
    return body[: int(text)], body[int(text) :]


def read_tensors(inputs: list[Any], rest: bytes, batch: int, columns: int) -> list[Tensor]:
    """All inputs, as lists of rows."""
    tensors = []
    # All sizes are checked against limits before they are multiplied or used to slice.
    if len(inputs) > columns:
        raise Problem(422, "too_many_columns", f"{len(inputs):,} inputs; {columns:,} are allowed.")
    for one in inputs:
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            raise Problem(422, "bad_inputs", "An input must be an object with 'name', 'shape', 'datatype' and 'data'.")
        name, shape, kind = one["name"], one.get("shape"), one.get("datatype")
        if not isinstance(kind, str) or (kind not in DATATYPES and kind != "BYTES"):
            raise Problem(422, "bad_datatype", f"The datatype {short(kind)} of {short(name)} is not known.")
        if not isinstance(shape, list) or not 1 <= len(shape) <= 2 or any(not is_count(side) for side in shape):
            raise Problem(422, "bad_shape", f"The shape of {short(name)} must be [rows] or [rows, values a row].")
        if not 0 < shape[0] <= batch:
            raise Problem(413, "batch_too_large", f"{short(name)} has {shape[0]:,} rows; 1 to {batch:,} are allowed.")
        width = shape[1] if len(shape) == 2 else 1
        if not 0 < width <= columns:
            raise Problem(422, "bad_shape", f"{short(name)} has {width:,} values a row; 1 to {columns:,} are allowed.")
        # A tensor with this parameter has its bytes behind the JSON, in the order of the inputs.
        size = (
            (one.get("parameters") or {}).get("binary_data_size") if isinstance(one.get("parameters"), dict) else None
        )
        if size is None:
            values = flat(one.get("data"))
        else:
            # Slicing past the end would give short data without an error.
            if not is_count(size) or size > len(rest):
                raise Problem(400, "bad_length", f"The binary data of {short(name)} are not there.")
            values, rest = from_binary(rest[:size], kind, name), rest[size:]
        if len(values) != shape[0] * width:
            raise Problem(422, "bad_shape", f"{short(name)} has {len(values):,} values, not {shape[0] * width:,}.")
        tensors.append(Tensor(name, [values[i * width : (i + 1) * width] for i in range(shape[0])]))
    # Columns are joined row by row, so all must have as many rows.
    if len({len(tensor.rows) for tensor in tensors}) != 1:
        raise Problem(422, "lengths_differ", "The inputs have different numbers of rows.")
    # Bytes left over mean that client and server disagree about the layout, so the values cannot be trusted.
    if rest:
        raise Problem(400, "bad_length", f"{len(rest):,} bytes are left behind the last input.")
    return tensors


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40


def flat(data: Any) -> list[Any]:
    """The values of a tensor in JSON, which may be nested by rows."""
    if not isinstance(data, list):
        raise Problem(422, "bad_inputs", "'data' must be a list.")
    return [value for row in data for value in (row if isinstance(row, list) else [row])]


def from_binary(data: bytes, kind: str, name: str) -> list[Any]:
    """The values of a binary tensor."""
    if kind != "BYTES":
        size = np.dtype(DATATYPES[kind]).itemsize
        # frombuffer would raise its own error here.
        if len(data) % size:
            raise Problem(400, "bad_length", f"The binary data of {short(name)} are no whole number of {kind}.")
        values: list[Any] = np.frombuffer(data, DATATYPES[kind]).tolist()
        # JSON cannot hold NaN or infinity; binary can, so they are refused here.
        if kind.startswith("FP") and not all(map(math.isfinite, values)):
            raise Problem(422, "not_finite", f"{short(name)} has values that are not finite.")
        return values
    # BYTES: each text has its length in front, four bytes little-endian.
    values, place = [], 0
    while place < len(data):
        length = int.from_bytes(data[place : place + 4], "little")
        if place + 4 + length > len(data):
            raise Problem(400, "bad_length", f"The texts of {short(name)} end too early.")
        try:
            values.append(data[place + 4 : place + 4 + length].decode("utf-8"))
        except UnicodeDecodeError:
            raise Problem(400, "not_utf8", f"A text of {short(name)} is not UTF-8.") from None
        place += 4 + length
    return values


def as_records(tensors: list[Tensor]) -> list[Any]:
    """A record for each row."""
    # One wide tensor is a matrix of features: its rows are the records.
    if len(tensors) == 1 and len(tensors[0].rows[0]) > 1:
        return tensors[0].rows
    wide = next((tensor for tensor in tensors if len(tensor.rows[0]) > 1), None)
    if wide is not None:
        raise Problem(422, "bad_shape", f"{short(wide.name)} has several values a row, and is not the only input.")
    names = [tensor.name for tensor in tensors]
    if len({*names}) != len(names):
        raise Problem(422, "duplicate_key", "Two inputs have the same name.")
    # Also for a single column: its name tells the model which one it is.
    return [dict(zip(names, row, strict=True)) for row in zip(*(flat(t.rows) for t in tensors), strict=True)]


def answered(model: Model, request: dict[str, Any], predictions: list[Any]) -> Response:
    """The answer, in JSON or with binary data, as was asked for."""
    # The protocol has no missing value in a tensor, so an empty model is an error.
    if any(one is None for one in predictions):
        raise Problem(409, "nothing_learned", "The model has learned nothing yet.")
    kind = datatype_of(model)
    values = [str(one) for one in predictions] if kind == "BYTES" else [float(one) for one in predictions]
    output: dict[str, Any] = {"name": OUTPUT, "datatype": kind, "shape": [len(values)]}
    answer: dict[str, Any] = {"model_name": model.name, "model_version": "1", "outputs": [output]}
    if isinstance(request.get("id"), str):
        answer["id"] = request["id"]
    if not wants_binary(request):
        output["data"] = values
        return Json(answer)
    data = as_binary(values)
    output["parameters"] = {"binary_data_size": len(data)}
    # The client finds the data by the length of the JSON, which goes into a header of its own.
    header = dump(answer)
    headers = {LENGTH: str(len(header))}
    return Response(header + data, media_type="application/octet-stream", headers=headers)


def wants_binary(request: dict[str, Any]) -> bool:
    """Whether the client wants the output as binary data; a problem if it wants another output."""
    outputs = request.get("outputs")
    parameters = request.get("parameters")
    # Without a list of outputs the parameter of the whole request counts.
    if not outputs:
        return isinstance(parameters, dict) and parameters.get("binary_data_output") is True
    if not isinstance(outputs, list) or not all(isinstance(one, dict) for one in outputs):
        raise Problem(422, "bad_outputs", "'outputs' must be a list of objects.")
    if any(one.get("name") != OUTPUT for one in outputs):
        raise Problem(422, "bad_outputs", f"The only output is {OUTPUT!r}.")
    own = outputs[0].get("parameters")
    return isinstance(own, dict) and own.get("binary_data") is True


def as_binary(values: list[Any]) -> bytes:
    if values and isinstance(values[0], str):
        texts = [value.encode("utf-8") for value in values]
        return b"".join(struct.pack("<I", len(text)) + text for text in texts)
    return np.array(values, "<f8").tobytes()
