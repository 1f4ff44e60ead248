"""Where examples come from. A stream is an iterable of chunks."""

from aggro.streams.chunk import Chunk
from aggro.streams.generators import twonorm

__all__ = ["Chunk", "twonorm"]
