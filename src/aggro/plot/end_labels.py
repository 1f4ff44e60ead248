"""Names at the right of an Axes, each beside the end of its line.

Where they stand is worked out whenever the figure is drawn, so that they stay apart whatever size it gets. They count
as part of the Axes to matplotlib's layout engines, which leave room for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox, IdentityTransform

from aggro.plot.canvas import LETTER_WIDTH, keep_inside
from aggro.plot.label_places import folded, spread

END_LABEL_LETTERS = 26  # on one line of a label, at most
END_LABELS_SHARE = 0.4  # of the whole width that labels may take
END_LABEL_POINTS = 9.0  # points
LINE_SPACING = 1.3  # a line's height, in letters' sizes
GAP = 1.8  # between the Axes and the labels, in letters' sizes


class EndLabels(Artist):
    """The labels of an Axes' lines."""

    def __init__(self, axes: Any) -> None:
        super().__init__()
        self.lines: list[Any] = []
        self.names: list[Text] = []
        self.leads: list[Line2D] = []
        self.set_clip_on(False)
        axes.add_artist(self)
        # Remembered before any label takes room, so that the layout can be worked out anew at each drawing.
        self.slot = axes.get_position(original=True)  # what the Axes and all of their labels have together
        wide = self.slot.width * axes.figure.get_figwidth() * 72.0
        self.letters = max(8, min(END_LABEL_LETTERS, int(END_LABELS_SHARE * wide / (LETTER_WIDTH * END_LABEL_POINTS))))

    @classmethod
    def of(cls, axes: Any) -> EndLabels:
        """Those of the Axes; new ones if there are none."""
        return next((one for one in axes.artists if isinstance(one, cls)), None) or cls(axes)

    def add(self, line: Any, name: str) -> None:
        """Label a line that is drawn."""
        # Places are worked out in pixels at each drawing, so they need no transform.
        pixels = IdentityTransform()
        lines = "\n".join(folded(name, self.letters))
        text = Text(0, 0, lines, color=line.get_color(), va="center", linespacing=LINE_SPACING)
        text.set_parse_math(False)
        lead = Line2D([], [], color=line.get_color(), linestyle=line.get_linestyle(), linewidth=1.0, alpha=0.7)
        for one in (text, lead):
            # They are drawn by this artist, not by the Axes, so they get their figure here.
            one.set_figure(self.figure)
            one.set_transform(pixels)
        self.lines.append(line)
        self.names.append(text)
        self.leads.append(lead)

    def make_room(self) -> None:
        """Take the labels' width from the Axes, where no layout engine does."""
        axes: Any = self.axes
        if axes.figure.get_layout_engine() is None:
            # From the slot again: the room is then that of all labels, not added to what was taken before.
            axes.set_position(self.slot)
            keep_inside(axes, self.slot)

    def place(self) -> None:
        """Put the names where they belong in the figure as it is now, in pixels."""
        if not self.names:
            return
        axes: Any = self.axes
        # Everything below is in pixels of the figure as it is now.
        box, pixel = axes.bbox, axes.figure.dpi / 72.0
        rows = np.array([text.get_text().count("\n") + 1 for text in self.names])
        # Letters shrink until all labels fit one above the other.
        size = min(END_LABEL_POINTS, box.height / (pixel * LINE_SPACING * rows.sum()))
        heights = pixel * size * LINE_SPACING * rows
        ends = [self.end_of(line) for line in self.lines]
        # A line may end outside of the view; its label stays at the edge.
        down = [box.y1 - min(max(y, box.y0), box.y1) for _, y in ends]  # as pages count: from the top
        left = box.x1 + GAP * size * pixel
        for k, at in enumerate(spread(down, heights.tolist(), 0.0, box.height)):
            self.names[k].set_fontsize(size)
            self.names[k].set_position((left, box.y1 - at))
            bend = left - 0.9 * size * pixel
            # From the line's end to a bend, and from there level to the name.
            self.leads[k].set_data(
                [ends[k][0], bend, left - 0.3 * size * pixel], [box.y1 - down[k], *2 * [box.y1 - at]]
            )

    def end_of(self, line: Any) -> tuple[float, float]:
        x, y = line.get_transform().transform(line.get_xydata()[-1])
        return float(x), float(y)

    def get_children(self) -> list[Any]:
        return [*self.leads, *self.names]

    def get_window_extent(self, renderer: Any = None) -> Bbox:
        # Layout engines ask for the extent before drawing, so the places must be current.
        self.place()
        return Bbox.union([text.get_window_extent(renderer) for text in self.names]) if self.names else Bbox.null()

    def get_tightbbox(self, renderer: Any = None) -> Bbox:
        return self.get_window_extent(renderer)

    def draw(self, renderer: Any) -> None:
        if self.get_visible():
            self.place()
            for one in self.get_children():
                one.draw(renderer)
