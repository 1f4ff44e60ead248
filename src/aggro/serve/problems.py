"""What went wrong with a request, in words for the person who sent it."""

from __future__ import annotations

import traceback
from typing import Any


class Problem(Exception):
    """A request cannot be served: an HTTP status, a short code for programs and a sentence for people."""

    def __init__(self, status: int, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.details = status, code, message, details

    def body(self) -> dict[str, Any]:
        """The answer as JSON."""
        return {"error": {"code": self.code, "message": self.message, **self.details}}


def short(value: Any, most: int = 60) -> str:
    """A value of a request for a message: printable ASCII, and not long."""
    text = ascii(value)
    return text if len(text) <= most else f"{text[:most]}..."


def one_line(error: BaseException) -> str:
    """An error's message as one line of printable characters."""
    text = " ".join(str(error).split()) or type(error).__name__
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return text if len(text) <= 500 else f"{text[:500]}..."


def trace(error: BaseException) -> str:
    """An error and where it came from, for the log: nothing of a request in it can look like another line."""
    frames = "".join(traceback.format_tb(error.__traceback__)).rstrip()
    return f"{type(error).__name__}: {one_line(error)}\n{frames}"
