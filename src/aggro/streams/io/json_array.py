"""A JSON array of records, as JSON Lines: each element of the array becomes a line."""

from __future__ import annotations

import codecs
import io
import json
import re
from typing import Any

from aggro.streams.io.encodings import UnreadableText

PIECE = 2**18  # bytes that are read at once
LONGEST_ELEMENT = 2**26  # letters of an element, after which it is given up
BEGINS = re.compile(rb"(\xef\xbb\xbf)?\s*\[\s*(\{|$)")
BLANKS = " \t\r\n"


def is_array(head: bytes) -> bool:
    """Whether a text that begins like this is an array of objects."""
    return BEGINS.match(head) is not None


class ArrayLines(io.RawIOBase):
    """The elements of a JSON array, each as it is written, on a line of its own."""

    def __init__(self, file: Any, title: str) -> None:
        self._file, self._title = file, title
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._json = json.JSONDecoder()
        self._text, self._elements = "", 0
        self._began = self._ended = False
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, view: Any) -> int:
        # A piece may complete no element; 0 bytes would mean the end of the file.
        while not self._ready and not self._ended:
            self._ready = memoryview("".join(self._lines()).encode("utf-8", "surrogateescape"))
        n = min(len(view), len(self._ready))
        view[:n] = self._ready[:n]
        self._ready = self._ready[n:]
        return n

    def _lines(self) -> list[str]:
        """The elements that the next piece of the file completes."""
        # An element that is not whole yet is read again with what follows: twice as much each time.
        piece = self._file.read(max(PIECE, len(self._text)))
        text = self._text + self._decoder.decode(piece or b"", not piece)
        at = 0
        lines: list[str] = []
        if not self._began:
            # Blanks may fill the first piece, so the bracket may not have come yet.
            at = text.find("[") + 1
            self._began = at > 0
            if piece and not self._began:
                self._text = text
                return lines
        while True:
            start = self._skipped(text, at)
            if start == len(text):
                break
            if text[start] == "]":
                self._finish(text[start + 1 :])
                return lines
            try:
                end = self._json.raw_decode(text, start)[1]
            except (json.JSONDecodeError, RecursionError) as error:
                # A broken element may go on in the next piece, unless the file ends, or it is too long or too deep.
                if not piece or len(text) - start > LONGEST_ELEMENT or isinstance(error, RecursionError):
                    raise self._unreadable() from error
                break
            if end == len(text) and piece:  # a number may go on
                break
            # JSON strings hold no raw line breaks, so those in an element stand between tokens and may become blanks.
            lines.append(text[start:end].replace("\n", " ").replace("\r", " ") + "\n")
            self._elements += 1
            at = end
        # The file ended, and no bracket closed the array.
        if not piece:
            raise self._unreadable()
        self._text = text[at:]
        return lines

    def _skipped(self, text: str, at: int) -> int:
        """Where the next element begins, or the array ends."""
        while at < len(text) and text[at] in BLANKS:
            at += 1
        # A comma separates elements, so none may come before the first.
        if at < len(text) and text[at] == "," and self._elements:
            at += 1
            while at < len(text) and text[at] in BLANKS:
                at += 1
        return at

    def _finish(self, behind: str) -> None:
        """The array is closed: nothing but blanks may follow."""
        self._ended, self._text = True, ""
        # The rest of this piece is checked first, then the rest of the file.
        while behind or (piece := self._file.read(PIECE)):
            if (behind or piece.decode("utf-8", "replace")).strip(BLANKS):
                raise UnreadableText(
                    f"{self._title}: there is more text behind the end of the JSON array. Expected one array."
                )
            behind = ""

    def _unreadable(self) -> UnreadableText:
        return UnreadableText(
            f"{self._title}: element {self._elements + 1:,} of the JSON array cannot be read, or the array is cut "
            "short. Write the file again, or write an object on each line."
        )

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
