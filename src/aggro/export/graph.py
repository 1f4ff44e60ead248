"""An ONNX graph in the making: operations on values, each of a known type.

An array where a value is expected is a constant, of the type of the values beside it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

OPSET = 13  # the lowest with all operations that are used, in these forms
IR_VERSION = 7  # of the file's format: the one that came with this opset
LARGEST_MODEL = 2**31 - 2**20  # bytes of a model: protobuf has no larger ones
BATCH = "batch"  # the name of the first side of every input and output
FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
INT, BOOL = np.dtype(np.int64), np.dtype(bool)


class Value(NamedTuple):
    """What an operation gives: its name in the graph, and the type of its numbers."""

    name: str
    dtype: np.dtype


class Graph:
    """Nodes, constants, inputs and outputs."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.size = 0  # bytes of constants
        self.part = "rows"  # of the model that operations are of: the beginning of their names
        self.taken: set[str] = set()  # names of inputs and outputs, which nothing inside may have
        self.products: set[str] = set()  # names of values that a MatMul gave
        self.multiples: set[str] = set()  # names of values that are others times, or divided by, one number

    def input(self, name: str, dtype: np.dtype, columns: int) -> Value:
        """Rows that are given, with so many columns. All inputs come before the first operation."""
        self.taken.add(name)
        self.inputs.append(described(name, dtype, (BATCH, columns)))
        return Value(name, dtype)

    def output(self, name: str, value: Value, *sides: int) -> None:
        """What is given back; ``sides`` are those beside the rows."""
        from onnx import helper

        self.nodes.append(helper.make_node("Identity", [value.name], [name], name=f"output {name}"))
        self.outputs.append(described(name, value.dtype, (BATCH, *sides)))

    def constant(self, array: Any, dtype: np.dtype) -> Value:
        """Numbers that are in the model."""
        from onnx import numpy_helper

        given = np.asarray(array)
        with np.errstate(over="ignore"):
            held = given.astype(dtype)
        # Infinities that were infinite before are meant to be.
        if dtype == FLOAT32 and not (np.isfinite(held) | ~np.isfinite(given)).all():
            raise ValueError("The model has numbers that are too large for float32. Export it with dtype='float64'.")
        # Summed as they come, so that the limit is found before protobuf fails.
        self.size += held.nbytes
        if self.size > LARGEST_MODEL:
            raise ValueError("The model would have more than 2 GB, the most that an ONNX file can hold.")
        value = Value(self.name_of("numbers", len(self.constants)), dtype)
        self.constants.append(numpy_helper.from_array(held, value.name))
        return value

    def op(self, kind: str, *given: Any, dtype: np.dtype | None = None, **attributes: Any) -> Value:
        """An operation. What it gives is of the type of what it is given, unless ``dtype`` says otherwise."""
        from onnx import helper

        known = [value.dtype for value in given if isinstance(value, Value)]
        like = next((dtype for dtype in known if dtype != BOOL), BOOL)  # a condition says nothing of what it chooses
        # One number beside a product of matrices is what onnxruntime merges; see `apart`.
        is_multiple = kind in ("Mul", "Div") and any(not isinstance(one, Value) and np.size(one) == 1 for one in given)
        # Either order is merged: a factor before the product, or after it.
        beside = self.multiples if kind == "MatMul" else self.products if is_multiple else set[str]()
        # Arrays become constants of the type of the values beside them: ONNX converts nothing by itself.
        inputs = [value if isinstance(value, Value) else self.constant(value, like) for value in given]
        inputs = [self.apart(value) if value.name in beside else value for value in inputs]
        out = Value(self.name_of(kind, len(self.nodes)), dtype or (BOOL if kind in TESTS else like))
        names = [value.name for value in inputs]
        self.nodes.append(helper.make_node(kind, names, [out.name], name=out.name, **attributes))
        if kind == "MatMul":
            self.products.add(out.name)
        elif is_multiple:
            self.multiples.add(out.name)
        return out

    def apart(self, value: Value) -> Value:
        """Keep the runtime from putting this value and the next operation together.

        onnxruntime makes one operation of a MatMul and of a factor beside it, which it keeps in float32. In float64,
        a model of one column would be wrong in the eighth digit.
        """
        # max(x, −∞) is x; only float64 needs it, since float32 loses nothing more.
        return self.op("Max", value, np.array(-np.inf)) if value.dtype == FLOAT64 else value

    def name_of(self, kind: str, number: int) -> str:
        """A name for something inside the graph, which no input has: the part of the model, the operation, a number."""
        name = f"{self.part}/{kind}_{number}"
        # Users choose input names freely.
        while name in self.taken:
            name = f"_{name}"
        return name

    def cast(self, value: Value, dtype: np.dtype) -> Value:
        """Convert a value to another type: add a ``Cast`` operation, unless it has that type already."""
        if value.dtype == dtype:
            return value
        return self.op("Cast", value, dtype=dtype, to=type_of(dtype))

    def shape(self, *sides: int) -> Value:
        """A list of whole numbers."""
        return self.constant(np.array(sides), INT)


TESTS = ("Equal", "Greater", "GreaterOrEqual", "Less", "IsNaN", "And", "Or", "Not")


def type_of(dtype: np.dtype) -> int:
    """ONNX's number of a type; texts are objects."""
    from onnx import TensorProto, helper

    if dtype.kind in "UO":
        return int(TensorProto.STRING)
    return int(helper.np_dtype_to_tensor_dtype(dtype))


def described(name: str, dtype: np.dtype, sides: tuple[Any, ...]) -> Any:
    """An input or an output as ONNX describes it."""
    from onnx import helper

    return helper.make_tensor_value_info(name, type_of(dtype), list(sides))
