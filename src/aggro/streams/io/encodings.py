"""Text in another encoding than UTF-8, as UTF-8."""

from __future__ import annotations

import codecs
import io
from typing import Any

DECODED_BYTES = 2**16  # bytes that are decoded at once
BYTE_ORDER_MARKS = (  # byte-order marks, the longer ones first
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
TRY = 'If it is in another encoding, say so: encoding="latin-1"'


def marked(head: bytes) -> str | None:
    """The encoding that a byte-order mark at the start names, other than UTF-8."""
    return next((name for mark, name in BYTE_ORDER_MARKS if head.startswith(mark)), None)


def checked(encoding: str) -> str | None:
    """The name of a codec; None for UTF-8, which is not transcoded."""
    try:
        " ".encode(encoding)  # which refuses codecs that are not of text
        name = codecs.lookup(encoding).name
    except (LookupError, TypeError, ValueError) as error:
        known = '"utf-8", "latin-1", "cp1252", "utf-16" or such'
        raise ValueError(f"encoding={encoding!r} is not known. Expected {known}.") from error
    return None if name in ("utf-8", "utf-8-sig") else name


class Transcoded(io.RawIOBase):
    """The text of a file as UTF-8."""

    def __init__(self, file: Any, encoding: str, title: str) -> None:
        self._file, self._encoding, self._title = file, encoding, title
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready = memoryview(b"")
        self._lines = 0
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, view: Any) -> int:
        # A piece can end inside a character and give no text; 0 bytes would mean the end of the file.
        while not self._ready and not self._ended:
            piece = self._file.read(DECODED_BYTES)
            self._ended = not piece
            # The last call is final: a character that was cut off by the end of the file is an error.
            try:
                text = self._decoder.decode(piece or b"", self._ended)
            except UnicodeError as error:
                # The error has the undecoded bytes, which show how many lines come before the bad one.
                start = getattr(error, "object", b"")[: getattr(error, "start", 0)]
                line = self._lines + start.decode(self._encoding, "replace").count("\n") + 1
                what = f"{self._title}, line {line}: this is not {self._encoding} text ({error})"
                raise UnreadableText(f"{what}. Give the encoding that it is in: encoding=.") from error
            self._lines += text.count("\n")
            self._ready = memoryview(text.encode("utf-8", "replace"))
        n = min(len(view), len(self._ready))
        view[:n] = self._ready[:n]
        self._ready = self._ready[n:]
        return n

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


class UnreadableText(ValueError):
    """Text that is not in the encoding that was said."""
