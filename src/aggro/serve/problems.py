"""What went wrong with a request, in words for the person who sent it."""

from __future__ import annotations

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
