"""Where the words of a matplotlib figure stand."""

from __future__ import annotations

from typing import Any

from matplotlib.text import Text


def words(figure: Any) -> dict[Text, Any]:
    """Boxes of all words that are seen, in pixels, after the figure is laid out."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    ticks = {
        label
        for ax in figure.axes
        for axis in (ax.xaxis, ax.yaxis)
        for label in (*axis.get_ticklabels(), *axis.get_ticklabels(minor=True))
    }
    shown = {
        label
        for ax in figure.axes
        for axis in (ax.xaxis, ax.yaxis)
        for tick in axis._update_ticks()  # those in view
        for label in (tick.label1,)
    }
    return {text: text.get_window_extent(renderer) for text in texts if text not in ticks or text in shown}


def assert_readable(figure: Any) -> None:
    """No word leaves the figure, and no two overlap."""
    boxes = words(figure)
    for text, box in boxes.items():
        assert box.x0 >= -1, text.get_text()
        assert box.y0 >= -1, text.get_text()
        assert box.x1 <= figure.bbox.x1 + 1, text.get_text()
        assert box.y1 <= figure.bbox.y1 + 1, text.get_text()
    listed = list(boxes.items())
    for k, (text, box) in enumerate(listed):
        for other, place in listed[k + 1 :]:
            apart = box.x1 <= place.x0 + 1 or place.x1 <= box.x0 + 1 or box.y1 <= place.y0 + 2 or place.y1 <= box.y0 + 2
            assert apart, (text.get_text(), other.get_text())
