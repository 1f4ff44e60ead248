"""Read and generate streams of examples. A stream is an iterable of chunks."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from aggro.streams.bad_lines import BadLine
from aggro.streams.chunk import Chunk, Position
from aggro.streams.datasets import load
from aggro.streams.generators import drifting, rotating_xor, sparse_text, twonorm
from aggro.streams.partition import Partition, partitions
from aggro.streams.reader import Stream, open

if TYPE_CHECKING:
    from aggro.interop.brokers import follow as follow

__all__ = [
    "BadLine",
    "Chunk",
    "Partition",
    "Position",
    "Stream",
    "drifting",
    "follow",
    "load",
    "open",
    "partitions",
    "rotating_xor",
    "sparse_text",
    "twonorm",
]


if not TYPE_CHECKING:  # brokers stand above streams: they are imported when they are asked for

    def __getattr__(name: str) -> Any:
        if name == "follow":
            return import_module("aggro.interop.brokers").follow
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
