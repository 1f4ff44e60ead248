"""Where labels stand: long names on several lines, and lines of names that do not overlap."""

from __future__ import annotations

import re
from collections.abc import Sequence

MOST_LINES = 3
ELLIPSIS = "…"
LINE_PIECE = re.compile(r"[^\s,(]*[,(]?\s*")  # up to where a line may end


def folded(name: str, width: int, most: int = MOST_LINES) -> list[str]:
    """A name on at most ``most`` lines of ``width`` letters; an ellipsis stands for what does not fit.

    Lines end after words, commas and opening brackets where they can: names are often ``Learner(C=1,average=True)``.
    """
    lines = [""]
    for piece in LINE_PIECE.findall(" ".join(name.split())):
        if lines[-1] and len((lines[-1] + piece).rstrip()) > width:
            lines.append("")
        lines[-1] += piece
        while len(lines[-1].rstrip()) > width:
            lines[-1:] = [lines[-1][:width], lines[-1][width:]]
    lines = [line.strip() for line in lines]
    # The ellipsis takes one letter of the last line.
    if len(lines) > most:
        lines = [*lines[: most - 1], lines[most - 1][: width - 1].rstrip() + ELLIPSIS]
    return lines


def spread(wanted: Sequence[float], heights: Sequence[float], top: float, bottom: float) -> list[float]:
    """Middles for labels of these heights, between top and bottom: near where they are wanted, and not overlapping.

    Two sweeps: down from the top, then up from the bottom. If they are too high together, they go beyond the top.
    """
    # By the place that each wants, so that labels never cross.
    order = sorted(range(len(wanted)), key=lambda k: wanted[k])
    placed = list(wanted)
    # Down from the top: nobody stands higher than wanted, or than the one above allows.
    least = top
    for k in order:
        placed[k] = max(placed[k], least + heights[k] / 2.0)
        least = placed[k] + heights[k] / 2.0
    # Up from the bottom: whoever was pushed out moves back, and pushes those above.
    most = bottom
    for k in reversed(order):
        placed[k] = min(placed[k], most - heights[k] / 2.0)
        most = placed[k] - heights[k] / 2.0
    return placed
