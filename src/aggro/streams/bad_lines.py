"""What can be wrong with a line of text, and how it is said.

A compiled parser reports a problem as a code and a place. The message is made here, from the bytes at
that place, because only a reader who sees what was given knows what to do.
"""

from __future__ import annotations

import re
from typing import NamedTuple

GOOD = 0
NO_LABEL = 1
BAD_LABEL = 2
LARGE_LABEL = 3
BAD_PAIR = 4
BAD_VALUE = 5
LARGE_VALUE = 6
NEGATIVE_INDEX = 7
ZERO_INDEX = 8
HUGE_INDEX = 9
BAD_QUERY = 10
HOLDS_NUL = 11
NO_BAR = 12
BAD_HEAD = 13
BAD_NAMESPACE = 14
LOST_TEXT = 15
NEGATIVE_IMPORTANCE = 16
TAB_BEFORE_BAR = 17
WORD_LABEL = 18
SEVERAL_LABELS = 19

BYTES_SHOWN = 40  # bytes of the text that a message shows
LONGEST_SHOWN = 300  # letters of what a file, or somebody else's error, says
LARGEST_INDEX = 2**31 - 2

MESSAGES = {
    NO_LABEL: "the line has no label: it starts with {token}. Expected «label index:value …»",
    BAD_LABEL: "the label {token} is not a number. Expected a decimal number such as 1, -1 or 0.5",
    LARGE_LABEL: "the label {token} is too large for a 64-bit float",
    BAD_PAIR: "{token} is not an index:value pair. Expected a whole number, a colon and a decimal number",
    BAD_VALUE: "the value of {token} is not a number. Expected a decimal number such as 1, -0.5 or 2e-3",
    LARGE_VALUE: "the value of {token} is too large for a 64-bit float",
    NEGATIVE_INDEX: "the index of {token} is negative. Indices start at 1, or at 0 with zero_based=True",
    ZERO_INDEX: "the index of {token} is 0, and indices start at 1. If this file counts from 0, pass zero_based=True",
    HUGE_INDEX: f"the index of {{token}} is too large. Expected at most {LARGEST_INDEX}",
    BAD_QUERY: "{token} is not a query id. Expected «qid:» and a whole number, once, after the label",
    HOLDS_NUL: "there is a NUL byte. Expected text",
    NO_BAR: "there is no «|» in {token}. Expected «label |namespace feature:value …»",
    BAD_HEAD: "{token} is not a label, importance or base. Expected up to three numbers and a tag before «|»",
    BAD_NAMESPACE: "the namespace {token} is malformed. Expected «|name» or «|name:scale», and then a space",
    LOST_TEXT: "{token} is not a feature. Expected «name» or «name:value»",
    NEGATIVE_IMPORTANCE: "the importance {token} is negative. Expected 0 or more; 0 leaves the row out",
    TAB_BEFORE_BAR: "a tab or return stands before «|», where Vowpal Wabbit takes it for a part of the word beside "
    "it. Expected spaces",
    WORD_LABEL: "the label {token} is a word, and the first label of the data is none. Expected words for all rows, "
    "or numbers",
    SEVERAL_LABELS: "{token} is a label of several parts (costs, actions or classes), which no learner here takes. "
    "Expected one number or one word",
}


class BadLine(ValueError):
    """A malformed line; ``file``, ``line`` and ``column`` (both from 1) say where it is."""

    def __init__(self, message: str, file: str, line: int, column: int) -> None:
        super().__init__(message)
        self.file, self.line, self.column = file, line, column

    def __reduce__(self) -> tuple:
        # An exception with more than a message does not pickle by itself, and must come back from a worker process.
        return type(self), (str(self), self.file, self.line, self.column)


class Problem(NamedTuple):
    """A problem in a block of lines: the line's number within the block, from 0, and the byte's."""

    code: int
    line: int
    position: int


def describe(problem: Problem, text: bytes, file: str, lines_before: int) -> BadLine:
    """The error for ``problem`` in ``text``, a block that stands after ``lines_before`` lines of ``file``."""
    at = problem.position
    line_start = text.rfind(b"\n", 0, at) + 1
    line_number, column = lines_before + problem.line + 1, at - line_start + 1
    # A NUL byte explains every other problem at its place.
    if text[at : at + 1] == b"\0":
        return bad_line(MESSAGES[HOLDS_NUL], file, line_number, column)
    # The word around the place, or as much of it as fits.
    before = re.split(rb"\s", text[max(line_start, at - BYTES_SHOWN) : at])[-1]
    after = re.split(rb"\s", text[at : at + BYTES_SHOWN], maxsplit=1)[0]
    word = (before + after).decode("utf-8", "replace")
    token = repr(word[:BYTES_SHOWN]) + "…" * (len(word) > BYTES_SHOWN) if word else "the end of the line"
    return bad_line(MESSAGES[problem.code].format(token=token), file, line_number, column)


def bad_line(what: str, file: str, line: int, column: int) -> BadLine:
    message = (
        f"{file}, line {line}, column {column}: {printable(shortened(what))}. "
        "Mend the line, or pass skip_bad=True to count such lines and go on."
    )
    return BadLine(message, file, line, column)


def bad_header(what: str, file: str) -> BadLine:
    """The error for a first line without which no other can be read: there is no skipping it."""
    return BadLine(f"{file}, line 1: {printable(shortened(what))}.", file, 1, 1)


def printable(text: str) -> str:
    """The text with escapes for what cannot be seen: what a file or a server says must not command a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def reason_of(error: object) -> str:
    """What an error from elsewhere says, on one line and without a full stop."""
    return shortened(printable(" ".join(str(error).split()))).rstrip(".")


def shortened(text: str) -> str:
    """The text, or its first part."""
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"
