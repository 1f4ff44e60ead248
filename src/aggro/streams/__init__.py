"""Where examples come from. A stream is an iterable of chunks."""

from aggro.streams.chunk import Chunk, Position
from aggro.streams.generators import twonorm
from aggro.streams.problems import BadLine
from aggro.streams.reader import Stream, open

__all__ = ["BadLine", "Chunk", "Position", "Stream", "open", "twonorm"]
