"""Read and generate streams of examples. A stream is an iterable of chunks."""

from aggro.streams.bad_lines import BadLine
from aggro.streams.chunk import Chunk, Position
from aggro.streams.datasets import load
from aggro.streams.generators import drifting, rotating_xor, sparse_text, twonorm
from aggro.streams.partition import Partition, partitions
from aggro.streams.reader import Stream, open

__all__ = [
    "BadLine",
    "Chunk",
    "Partition",
    "Position",
    "Stream",
    "drifting",
    "load",
    "open",
    "partitions",
    "rotating_xor",
    "sparse_text",
    "twonorm",
]
