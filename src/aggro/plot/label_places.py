"""Where labels stand: long names on several lines, and lines of names that do not overlap."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

MOST_LINES = 3
ELLIPSIS = "…"


def folded(name: str, width: int, most: int = MOST_LINES) -> list[str]:
    """A name on at most ``most`` lines of ``width`` letters; an ellipsis stands for what does not fit."""
    lines = textwrap.wrap(name, width, break_on_hyphens=False) or [""]
    if len(lines) > most:
        lines = [*lines[: most - 1], lines[most - 1][: width - 1].rstrip() + ELLIPSIS]
    return lines


def spread(wanted: Sequence[float], heights: Sequence[float], top: float, bottom: float) -> list[float]:
    """Middles for labels of these heights, between top and bottom: near where they are wanted, and not overlapping.

    Two sweeps: down from the top, then up from the bottom. If they are too high together, they go beyond the top.
    """
    order = sorted(range(len(wanted)), key=lambda k: wanted[k])
    placed = list(wanted)
    least = top
    for k in order:
        placed[k] = max(placed[k], least + heights[k] / 2.0)
        least = placed[k] + heights[k] / 2.0
    most = bottom
    for k in reversed(order):
        placed[k] = min(placed[k], most - heights[k] / 2.0)
        most = placed[k] - heights[k] / 2.0
    return placed
