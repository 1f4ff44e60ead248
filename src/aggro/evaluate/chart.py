"""Error curves as inline SVG: rows on a log₂ axis, errors on a log axis, a label at every line's end.

Colours are the CSS classes ``s0`` … ``s5`` and ``peer``, which the page defines for light and dark. A chart is there
twice, for wide pages and for narrow ones; the page shows one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from aggro.evaluate.curve import Curve
from aggro.plot.colours import SERIES
from aggro.plot.error_curves import DASHES, FIRST_DRAWN_ROW
from aggro.plot.label_places import folded, spread

WIDE_CHART, NARROW_CHART = 880, 360
CHART_HEIGHT = 400  # more if the labels take more
LEFT_MARGIN, TOP_MARGIN, BOTTOM_MARGIN = 54, 34, 52
LABEL_LEAD = 24  # from a line's end to its label
LETTER_PIXELS = 7.0  # pixels that a letter of 12 pixels takes at most, on average
LABEL_HEIGHT = 15


@dataclass(frozen=True)
class Line:
    """A curve with its name; a peer's is dashed and grey."""

    name: str
    curve: Curve
    peer: bool = False


@dataclass(frozen=True)
class Scale:
    """A logarithmic axis: values ``low`` … ``high`` at pixels ``start`` … ``stop``."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        # Logarithmic: equal ratios of errors take equal distances.
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.stop - self.start)


@dataclass(frozen=True)
class Frame:
    """The chart's size, and where in it the lines are."""

    width: int
    labels: Sequence[Sequence[str]]  # the lines of each label

    @property
    def height(self) -> int:
        return max(CHART_HEIGHT, TOP_MARGIN + BOTTOM_MARGIN + LABEL_HEIGHT * sum(map(len, self.labels)))

    @property
    def base(self) -> int:
        return self.height - BOTTOM_MARGIN

    @property
    def right(self) -> float:
        # The longest label decides how much room the lines leave at the right.
        longest = max(len(line) for lines in self.labels for line in lines)
        return self.width - LABEL_LEAD - LETTER_PIXELS * longest - 4.0


def error_chart(lines: Sequence[Line], *, measure: str, percent: bool, floor: tuple[str, float] | None = None) -> str:
    """The curves as two ``<svg>`` elements, of which the page shows the one that fits.

    Parameters
    ----------
    lines : sequence of Line
        The curves; those with fewer than 8 rows are left out.
    measure : str
        What the errors are, for the axis.
    percent : bool
        Whether errors are shares, shown in percent.
    floor : (name, error), default=None
        A level to compare with, drawn as a thin line.
    """
    # A curve that ends before the axis begins has nothing to draw.
    lines = [line for line in lines if line.curve.n_rows > FIRST_DRAWN_ROW]
    return (
        "\n".join(draw_chart(lines, width, measure, percent, floor) for width in (WIDE_CHART, NARROW_CHART))
        if lines
        else ""
    )


def draw_chart(
    lines: Sequence[Line], width: int, measure: str, percent: bool, floor: tuple[str, float] | None = None
) -> str:
    """The curves as one ``<svg>`` element."""
    # Names are folded to the width: a narrow chart has room for half of the letters.
    frame = Frame(width, [folded(line.name, 26 if width == WIDE_CHART else 13) for line in lines])
    x, y = scales(lines, floor, frame)
    parts = [*y_axis(y, percent, frame), *x_axis(x, frame)]
    if floor is not None:
        level = y(floor[1])
        parts.append(f'<line class="floor" x1="{LEFT_MARGIN}" x2="{x.stop:.1f}" y1="{level:.1f}" y2="{level:.1f}"/>')
        parts.append(f'<text class="tick" x="{LEFT_MARGIN + 6}" y="{level - 5:.1f}">{escape(floor[0])}</text>')
    styles = list(style_lines(lines))
    parts += [draw_line(line, style, x, y, percent) for line, style in zip(lines, styles, strict=True)]
    parts += end_labels(lines, styles, x, y, frame)
    parts.append(f'<text class="axis" x="{LEFT_MARGIN}" y="{TOP_MARGIN - 16}">{escape(measure)}</text>')
    middle = (LEFT_MARGIN + x.stop) / 2
    below = f'x="{middle:.1f}" y="{frame.height - 10}" text-anchor="middle"'
    parts.append(f'<text class="axis" {below}>rows seen (log scale)</text>')
    # One sentence for readers that do not see the picture.
    title = escape(f"{measure}, by rows seen: " + ", ".join(line.name for line in lines))
    kind = "wide" if width == WIDE_CHART else "narrow"
    head = f'<svg class="{kind}" viewBox="0 0 {width} {frame.height}" role="img" aria-label="{title}">'
    return head + "\n" + "\n".join(parts) + "\n</svg>"


def scales(lines: Sequence[Line], floor: tuple[str, float] | None, frame: Frame) -> tuple[Scale, Scale]:
    most_rows = max(line.curve.n_rows for line in lines)
    # Only what is drawn decides the range: the first means jump too far.
    shown = [
        float(e)
        for line in lines
        for n, e in zip(line.curve.rows, line.curve.errors, strict=True)
        if n >= FIRST_DRAWN_ROW
    ]
    shown += [floor[1]] if floor else []
    # All errors may be 0, and a logarithmic axis needs a value above it.
    high = max(shown) or 1.0
    low = min((e for e in shown if e > 0.0), default=high)
    low = max(min(low, high / 2.0), high / 1e4)  # no errors at all would be infinitely far down
    x = Scale(FIRST_DRAWN_ROW, most_rows, LEFT_MARGIN, frame.right)
    # A little air on both sides, as a ratio because the axis is logarithmic.
    return x, Scale(low / 1.12, high * 1.06, frame.base, TOP_MARGIN)


def points(curve: Curve, x: Scale, y: Scale) -> list[tuple[float, float]]:
    return [
        # An error of 0 has no place on the axis, and is drawn at its lower end.
        (x(float(n)), y(max(float(error), y.low)))
        for n, error in zip(curve.rows, curve.errors, strict=True)
        if n >= FIRST_DRAWN_ROW
    ]


def y_axis(y: Scale, percent: bool, frame: Frame) -> list[str]:
    parts = []
    for exponent in range(math.floor(math.log10(y.low)), math.ceil(math.log10(y.high)) + 1):
        # Round values within each power of ten; over a wide range 3 and 7 would stand too close.
        for digit in (1, 2, 3, 5, 7):
            value = digit * 10.0**exponent
            if not y.low <= value <= y.high or (digit in (3, 7) and y.high / y.low > 20.0):
                continue
            at = y(value)
            label = f"{100.0 * value:g}%" if percent else f"{value:g}"
            parts.append(f'<line class="grid" x1="{LEFT_MARGIN}" x2="{frame.right:.1f}" y1="{at:.1f}" y2="{at:.1f}"/>')
            parts.append(f'<text class="tick" x="{LEFT_MARGIN - 8}" y="{at + 4:.1f}" text-anchor="end">{label}</text>')
    return parts


def x_axis(x: Scale, frame: Frame) -> list[str]:
    first, last = math.ceil(math.log2(x.low)), math.floor(math.log2(x.high))
    # As many labels as fit side by side, by the widest of them, with two letters of air.
    most = max(1, int((x.stop - x.start) / (LETTER_PIXELS * (len(f"{2**last:,}") + 2))))
    every = max(1, math.ceil((last - first + 1) / most))
    base = frame.base
    parts = [f'<line class="base" x1="{LEFT_MARGIN}" x2="{x.stop:.1f}" y1="{base}" y2="{base}"/>']
    for power in range(first, last + 1):
        at = x(2.0**power)
        parts.append(f'<line class="base" x1="{at:.1f}" x2="{at:.1f}" y1="{base}" y2="{base + 5}"/>')
        # Counted from the last one, so that the end of the axis has a label.
        if (last - power) % every == 0:
            parts.append(f'<text class="tick" x="{at:.1f}" y="{base + 19}" text-anchor="middle">{2**power:,}</text>')
    return parts


def style_lines(lines: Sequence[Line]) -> list[tuple[str, str]]:
    """A CSS class and a dash pattern for each line."""
    # Own lines and peers are counted apart, so that a peer takes no colour from a line.
    styles, own, peers = [], 0, 0
    for line in lines:
        if line.peer:
            styles.append(("peer", DASHES[peers % len(DASHES)]))
            peers += 1
        else:
            styles.append((SERIES[own % len(SERIES)], dash_of(own // len(SERIES))))
            own += 1
    return styles


def draw_line(line: Line, style: tuple[str, str], x: Scale, y: Scale, percent: bool) -> str:
    path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points(line.curve, x, y))
    error = f"{line.curve.error:.2%}" if percent else f"{line.curve.error:.3g}"
    tip = escape(f"{line.name}: {error} after {line.curve.n_rows:,} rows")
    return f'<polyline class="{style[0]}" stroke-dasharray="{style[1]}" points="{path}"><title>{tip}</title></polyline>'


def dash_of(turn: int) -> str:
    """Lines that have a colour for the second, third … time are dashed."""
    return DASHES[(turn - 1) % len(DASHES)] if turn else "none"


def end_labels(lines: Sequence[Line], styles: Sequence[tuple[str, str]], x: Scale, y: Scale, frame: Frame) -> list[str]:
    """Names at the right, each near its line's end, moved apart where they would overlap."""
    ends = [points(line.curve, x, y)[-1] for line in lines]
    heights = [float(LABEL_HEIGHT * len(label)) for label in frame.labels]
    parts = []
    # Labels keep the order of their lines and move apart only as far as they must.
    for k, at in enumerate(spread([end[1] for end in ends], heights, TOP_MARGIN, frame.base)):
        colour, dash = styles[k]
        px, py = ends[k]
        left = x.stop + LABEL_LEAD
        words = []
        for number, words_of_line in enumerate(frame.labels[k]):
            # Several lines of a label are centred on its place.
            down = at + LABEL_HEIGHT * (number - (len(frame.labels[k]) - 1) / 2.0) + 4.0
            words.append(f'<text class="{colour} name" x="{left:.1f}" y="{down:.1f}">{escape(words_of_line)}</text>')
        parts.append(
            # The lead has the colour and dashes of its line: with many labels it is the only link.
            f'<polyline class="{colour} lead" stroke-dasharray="{dash}" '
            f'points="{px:.1f},{py:.1f} {left - 14:.1f},{at:.1f} {left - 3:.1f},{at:.1f}"/>' + "".join(words)
        )
    return parts
