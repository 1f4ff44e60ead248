"""Where CPython keeps the letters of a text, for compiled code that compares many labels.

A text is a head and its letters behind it, in one piece of memory. Of the head, compiled code reads the length and
a word of flags: how wide the letters are, and whether all are ASCII. Two texts with the same length, flags and letters
are equal. Nothing is said of two that differ in flags: one may be interned, and Python compares those.

No header of CPython promises this to other programs. So it is looked at once, on texts of every width, and where
something is not as expected ``CAN_READ_TEXT`` is false and Python compares all.
"""

from __future__ import annotations

import ctypes
import sys

from aggro.engine.jit.dicts import CAN_READ_DICTS

LENGTH, FLAGS = 16, 32  # bytes from the address of a text
FLAGS_MASK = 0xFF if sys.version_info < (3, 14) else 0x3FFFFF  # what is above is never written
SAMPLES = ("", "a", "label", "a label of some length", "\xe9", "caf\xe9", "\u0394\u03b1", "\U0001f600 grin")
HEAD_ASCII = sys.getsizeof("") - 1  # a letter of one byte ends it, a NUL
HEAD_OTHER = sys.getsizeof("\u0394") - 2 * 2


def width_of(text: str) -> int:
    """Bytes that each letter takes."""
    widest = max(text, default="a")
    return 1 if widest < "\u0100" else 2 if widest < "\U00010000" else 4


def head_of(text: str) -> int:
    """Bytes before the letters."""
    return HEAD_ASCII if text.isascii() else HEAD_OTHER


def letters_of(text: str) -> bytes:
    """The letters as they are in memory."""
    coding = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}[width_of(text)]
    return text.encode(coding, "surrogatepass")


def flags_of(text: str) -> int:
    """The flags of a text, as they are in memory."""
    return int.from_bytes(ctypes.string_at(id(text) + FLAGS, 4), sys.byteorder) & FLAGS_MASK


def is_as_expected(text: str) -> bool:
    """Whether a text is where it is looked for."""
    length = int.from_bytes(ctypes.string_at(id(text) + LENGTH, 8), sys.byteorder)
    letters = letters_of(text)
    return length == len(text) and ctypes.string_at(id(text) + head_of(text), len(letters)) == letters


def flags_tell() -> bool:
    """Whether texts of one length with letters of other widths have other flags."""
    made = ("".join(["x", letter]) for letter in ("y", "\xe9", "\u0394", "\U0001f600"))
    return len({flags_of(text) for text in made}) == 4


CAN_READ_TEXT = (
    CAN_READ_DICTS
    and sys.byteorder == "little"
    and HEAD_ASCII % 8 == 0
    and HEAD_OTHER % 8 == 0
    and all(is_as_expected(text) for text in SAMPLES)
    and flags_tell()
)
