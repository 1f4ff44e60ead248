"""A block: whole lines of a file, in a buffer that a compiled parser can read; and what it makes of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggro.streams.bad_lines import Problem
from aggro.streams.parse.words64 import WIDE_PADDING

NEWLINE = 10
LONG_BLOCK = 2**23  # bytes; a usual block is shorter


class Block(NamedTuple):
    """``size`` bytes of whole lines, the last one ended, with padding after them.

    ``file`` is the number of the file they come from, ``offset`` and ``end`` where in its (decompressed)
    bytes they start and stop.
    """

    text: np.ndarray
    size: int
    file: int = 0
    offset: int = 0
    end: int = 0

    @classmethod
    def of(cls, lines: bytes) -> Block:
        """A block of these lines; a newline is put at the end where it is missing."""
        if not lines.endswith(b"\n"):
            lines += b"\n"
        # Padding after the text, because the parsers read several words at once, beyond the last line.
        text = np.frombuffer(bytearray(lines + bytes(WIDE_PADDING)), np.uint8)
        return cls(text, len(lines), 0, 0, len(lines))

    def most_lines(self) -> int:
        """How many lines there are at the most. They are counted where a line is so long that guessing would tell."""
        return int(np.count_nonzero(self.lines == NEWLINE)) if self.size > LONG_BLOCK else self.size // 2 + 1

    @property
    def lines(self) -> np.ndarray:
        """The lines, without the padding."""
        return self.text[: self.size]

    def bytes(self) -> bytes:
        return self.lines.tobytes()


class Parsed(NamedTuple):
    """Rows of a block in CSR form: columns in the text's order, perhaps repeated.

    ``lines`` is how many lines there were, ``bad`` how many of them were refused, ``problem`` the first
    of these. ``names`` are the columns' names, if they have any. ``top`` is the largest column, -1 if there is none,
    and ``ascending`` whether every row's columns strictly ascend, where the parser has seen to it; else -2.
    """

    y: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    lines: int
    bad: int
    problem: Problem | None
    weight: np.ndarray | None = None
    names: list[str] | None = None
    top: int = -2
    ascending: bool = False
