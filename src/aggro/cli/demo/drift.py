"""A stream whose classes turn: a boundary that bends and follows, beside one that is straight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from aggro import PAMOClassifier, streams
from aggro.published import PAClassifier

ROWS, EVERY, TURN = 1000, 100, 20.0
UNITS = 16
REACH = 2.2  # how far a panel shows the plane
CELLS = 44  # in a panel, each way
SIDE, GAP, LEFT, TOP = 84, 5, 4, 22


@dataclass(frozen=True)
class Panel:
    """What a learner says about the plane after some rows, and the last of these rows."""

    regions: np.ndarray  # (CELLS, CELLS): whether it says the second class, from the bottom up
    X: np.ndarray
    y: np.ndarray
    mistakes: int  # in these rows, each predicted before it was learned


@dataclass(frozen=True)
class Chase:
    """The stream's story by one learner."""

    name: str
    error: float
    panels: tuple[Panel, ...]


def chase() -> tuple[Chase, ...]:
    """Let both learners go through the stream, and look at them after every hundred rows."""
    makers = {
        f"PAMO-II, {UNITS} units": PAMOClassifier(UNITS, always=True, random_state=0),
        "pa1, a straight line": PAClassifier(),
    }
    return tuple(follow(name, model) for name, model in makers.items())


def follow(name: str, model: Any) -> Chase:
    middles = REACH * ((2 * np.arange(CELLS) + 1) / CELLS - 1.0)
    plane = np.column_stack([axis.ravel() for axis in np.meshgrid(middles, middles)])
    panels: list[Panel] = []
    for chunk in streams.rotating_xor(ROWS, every=EVERY, turn=TURN, chunk=EVERY):
        before = model.n_mistakes_ if panels else 0
        model.learn_chunk(chunk)
        regions = (model.predict(plane) == 1).reshape(CELLS, CELLS)
        panels.append(Panel(regions, chunk.X, chunk.y, model.n_mistakes_ - before))
    return Chase(name, model.n_mistakes_ / ROWS, tuple(panels))


def chart(chases: Sequence[Chase]) -> str:
    """All panels as an ``<svg>`` element, a line of them for each learner."""
    width = LEFT + (SIDE + GAP) * (ROWS // EVERY)
    height = (SIDE + TOP + 18) * len(chases)
    parts = [line(story, (SIDE + TOP + 18) * k) for k, story in enumerate(chases)]
    title = escape("Regions of the two classes after every 100 rows: " + ", ".join(story.name for story in chases))
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{title}">\n' + "\n".join(parts) + "\n</svg>"


def line(story: Chase, top: int) -> str:
    parts = [f'<text class="axis" x="{LEFT}" y="{top + 15}">{escape(story.name)}: {story.error:.1%} wrong</text>']
    for k, panel in enumerate(story.panels):
        x, y = LEFT + k * (SIDE + GAP), top + TOP
        parts.append(f'<g transform="translate({x} {y})">{draw(panel)}</g>')
        said = f"{panel.mistakes} of {len(panel.y)}" if k == 0 else str(panel.mistakes)
        parts.append(f'<text class="tick" x="{x + SIDE / 2}" y="{y + SIDE + 13}" text-anchor="middle">{said}</text>')
    return "\n".join(parts)


def draw(panel: Panel) -> str:
    """Regions as runs of cells, and rows as dots; colours are those of the page's first two series."""
    cell = SIDE / CELLS
    runs = []
    for row, said in enumerate(panel.regions[::-1]):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], said, [False]])))
        runs += [
            f"M{a * cell:.1f} {row * cell:.1f}h{(b - a) * cell:.1f}v{cell:.1f}H{a * cell:.1f}z"
            for a, b in edges.reshape(-1, 2)
        ]
    places = np.clip(SIDE * (np.column_stack([panel.X[:, 0], -panel.X[:, 1]]) / REACH + 1.0) / 2.0, 1.0, SIDE - 1.0)
    dots = [
        f'<path d="{"".join(f"M{x:.0f} {y:.0f}h0" for x, y in places[panel.y == label])}" fill="none" '
        f'stroke="var(--{colour})" stroke-width="3" stroke-linecap="round"/>'
        for label, colour in ((1, "s0"), (-1, "s1"))
    ]
    return (
        f'<rect width="{SIDE}" height="{SIDE}" fill="var(--s1)" opacity=".16"/>'
        f'<path d="M0 0h{SIDE}v{SIDE}H0z" fill="none" stroke="var(--rule)"/>'
        f'<path d="{"".join(runs)}" fill="var(--ground)"/><path d="{"".join(runs)}" fill="var(--s0)" opacity=".22"/>'
        + "".join(dots)
    )
