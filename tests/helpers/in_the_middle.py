"""Calls from the middle of another call, as a signal handler or the garbage collector makes them."""

from __future__ import annotations

import sys
from pathlib import Path

import aggro

HOME = str(Path(aggro.__file__).parent)


def at_every_line(call, use):
    """Make a call, and ``use`` at each line of the package on the way there; how many those were."""
    lines = 0

    def at_line(frame, event, arg):
        nonlocal lines
        if event == "line":
            lines += 1
            use()
        return at_line

    before = sys.gettrace()
    sys.settrace(lambda frame, event, arg: at_line if frame.f_code.co_filename.startswith(HOME) else None)
    try:
        call()
    finally:
        sys.settrace(before)
    return lines


def is_taken(call):
    """Whether a call is taken; if not, it is refused for one reason alone."""
    try:
        call()
    except RuntimeError as error:
        if "in the middle of a call" not in str(error):
            raise
        return False
    return True
