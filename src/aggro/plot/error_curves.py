"""Error curves: rows on a log₂ axis, errors on a log axis, a label at every line's end."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from aggro.plot.canvas import axes_for, colours_of, quieten, set_title
from aggro.plot.colours import SERIES

FIRST_DRAWN_ROW = 8  # a mean over fewer rows says nothing
CURVE_TITLES = {"mistakes": "Mistakes so far", "loss": "Mean loss so far", "outside": "Outside so far"}
DASHES = ("7 4", "2 3", "10 3 2 3")


def curves(
    curves: Mapping[str, Any],
    *,
    peers: Collection[str] = (),
    floor: tuple[str, float] | None = None,
    ax: Any = None,
) -> Any:
    """Draw error curves, as :func:`aggro.evaluate.compare` returns them: progressive error against rows.

    Parameters
    ----------
    curves : dict of Curve
        Curves by name. They should be of one measure: shares of mistakes, or losses.
    peers : collection of str, default=()
        The names of the curves to draw in grey and dashed, as a comparison.
    floor : (name, error), default=None
        A level to compare with, drawn as a thin line.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if None. Axes with curves take more of them.

    Returns
    -------
    ax : matplotlib Axes
        Where it was drawn.
    """
    # What cannot be drawn is refused with a reason; matplotlib would show empty axes.
    if not curves:
        raise ValueError("There is no curve to draw: give a dict with at least one, as aggro.evaluate.compare returns.")
    empty = next((name for name, curve in curves.items() if curve.n_rows == 0), None)
    if empty is not None:
        raise ValueError(f"The curve {empty!r} has no rows: nothing was learned, so there is nothing to draw.")
    # A share and a loss have different axes.
    measures = {curve.measure for curve in curves.values()}
    if len(measures) > 1:
        raise ValueError(
            f"The curves are of several measures ({', '.join(sorted(measures))}): draw each kind by itself."
        )
    (measure,) = measures
    series = {name: (np.asarray(curve.rows), np.asarray(curve.errors)) for name, curve in curves.items()}
    return draw_lines(series, title=CURVE_TITLES[measure], percent=measure != "loss", peers=peers, floor=floor, ax=ax)


def draw_lines(
    series: Mapping[str, tuple[np.ndarray, np.ndarray]],
    *,
    title: str,
    percent: bool,
    peers: Collection[str] = (),
    floor: tuple[str, float] | None = None,
    ax: Any = None,
) -> Any:
    """Lines (rows, values) by name, with their axes; Axes that have some get more."""
    ax = axes_for(ax, max(3.9, 1.2 + 0.22 * len(series)))
    from aggro.plot.end_labels import EndLabels

    colours, labels = colours_of(ax), EndLabels.of(ax)
    # Only the first call sets the title: later ones add lines to it.
    first = not labels.lines
    for name, (rows, values) in series.items():
        # The first means jump too far; a short curve keeps at least its last point.
        late = rows >= min(FIRST_DRAWN_ROW, rows[-1])
        colour, dash = next_look(labels.lines, name in peers, colours)
        (line,) = ax.plot(rows[late], values[late], color=colour, linestyle=dash, linewidth=2.0, label=name)
        # Kept at the line, so that a later call knows which looks are taken.
        line.aggro_peer = name in peers
        labels.add(line, name)
    if floor is not None:
        draw_floor(ax, *floor, colours)
    # The limits cover all lines, also those of earlier calls.
    set_axes(ax, labels.lines, percent, colours, () if floor is None else (floor[1],))
    labels.make_room()
    if first:
        set_title(ax, title, labels.slot)
    return ax


def next_look(drawn: list[Any], peer: bool, colours: dict[str, str]) -> tuple[str, Any]:
    """The colour and the dashes of the next line."""
    # Own lines and peers have looks of their own, counted apart.
    before = sum(line.aggro_peer == peer for line in drawn)
    if peer:
        return colours["peer"], dashes(before)
    # Colours first; when they are used up they come again with dashes.
    return colours[SERIES[before % len(SERIES)]], "-" if before < len(SERIES) else dashes(before // len(SERIES) - 1)


def dashes(k: int) -> tuple[int, tuple[float, ...]]:
    """The k-th pattern, as matplotlib writes it."""
    return 0, tuple(float(length) / 2.0 for length in DASHES[k % len(DASHES)].split())


def draw_floor(ax: Any, name: str, level: float, colours: dict[str, str]) -> None:
    ax.axhline(level, color=colours["soft"], linestyle=(0, (0.5, 2.0)), linewidth=1.5)
    place = ax.get_yaxis_transform()
    ax.text(0.01, level, name, transform=place, va="bottom", color=colours["soft"], fontsize="small", parse_math=False)


def set_axes(ax: Any, lines: list[Any], percent: bool, colours: dict[str, str], levels: tuple[float, ...]) -> None:
    """Both axes, for all lines drawn so far."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    from aggro.plot.row_ticks import RowTicks

    rows = np.concatenate([line.get_xdata() for line in lines])
    values = np.concatenate([*(line.get_ydata() for line in lines), levels])
    # All errors may be 0, and a logarithmic axis needs a value above it.
    high = float(values.max()) or 1.0
    low = min((float(value) for value in values if value > 0.0), default=high)
    low = max(min(low, high / 2.0), high / 1e4)  # no errors at all would be infinitely far down
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", nonpositive="clip")
    # An axis from a row to itself would have no width.
    ax.set_xlim(rows.min(), max(rows.max(), rows.min() * 1.01))
    ax.set_ylim(low / 1.12, high * 1.06)
    ax.xaxis.set_major_locator(RowTicks())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    # Over a wide range, fewer values within each power of ten.
    subs = (1.0, 2.0, 3.0, 5.0, 7.0) if high / low < 16.0 else (1.0, 2.0, 5.0)
    ax.yaxis.set_major_locator(LogLocator(subs=subs, numticks=12))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}%" if percent else f"{value:g}"))
    for axis in (ax.xaxis, ax.yaxis):
        # Minor ticks of a logarithmic axis would crowd the quiet picture.
        axis.set_minor_locator(NullLocator())
    ax.set_xlabel("rows seen (log scale)", color=colours["soft"], fontsize="small")
    ax.grid(axis="y", color=colours["rule"], linewidth=0.8)
    quieten(ax, colours)
    ax.tick_params(axis="y", length=0)
