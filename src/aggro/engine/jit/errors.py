"""What Numba says of a function that it cannot compile, in one line."""

from __future__ import annotations

import re

from numba.core.errors import NumbaError as NumbaError

NOISE = re.compile(r"\x1b\[\d*m|^Failed in .*|^Unknown attribute of.*", re.MULTILINE)
NO_ARRAYS = "A step works with numbers and cannot make arrays, lists or text"
HINTS = {
    "Untyped global name": "A function it calls must be compiled too: decorate that with @numba.njit",
    "NRT required": NO_ARRAYS,
    "No implementation of function": NO_ARRAYS,
}


def reason(error: Exception) -> str:
    """The first thing that Numba says, without the page around it, and a hint where there is one."""
    lines = [line.strip() for line in NOISE.sub("", str(error)).splitlines()]
    said = next((line for line in lines if line), type(error).__name__)
    hint = next((f" {what}." for sign, what in HINTS.items() if sign in str(error)), "")
    return f"{said.rstrip('.:')}.{hint}"


def place(error: Exception) -> str:
    """The line that it speaks of, if it does."""
    found = re.search(r'File "[^"]*", line (\d+)', str(error))
    return f" (line {found[1]})" if found else ""
