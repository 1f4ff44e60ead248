"""Export models as ONNX graphs, which run in many languages and on many devices without aggro.

onnx is an extra (``pip install 'aggro[onnx]'``), and is imported when something is written.
"""

from aggro.export.model import onnx

__all__ = ["onnx"]
