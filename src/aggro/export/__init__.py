"""Models for programs without this library: as an ONNX graph, which runs in many languages and on many devices.

onnx is an extra (``pip install 'aggro[onnx]'``), and is imported when something is written.
"""

from aggro.export.model import onnx

__all__ = ["onnx"]
