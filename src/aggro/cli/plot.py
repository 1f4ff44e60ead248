"""The curves of ``aggro compare`` as a page or a picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from aggro.cli.console import shown
from aggro.cli.outputs import writing

MEASURE_TITLES = {"classification": "Mistakes so far", "regression": "Mean loss so far", "outlier": "Outside so far"}
TITLE_LETTERS = 90  # on a line of a picture's title
ERROR_COLUMNS = {"classification": "Mistakes", "regression": "Error", "outlier": "Outside"}


def draw(
    path: Path, title: str, curves: Mapping[str, Any], figures: Mapping[str, Mapping[str, Any]], task: str
) -> None:
    """Write the curves to a file, in the form that its name says."""
    # Written whole or not at all.
    with writing(path, "the plot") as file:
        if path.suffix.lower() == ".png":
            draw_png(file, shown(title), curves)
        else:
            file.write(page(shown(title), curves, figures, task).encode())


def page(title: str, curves: Mapping[str, Any], figures: Mapping[str, Mapping[str, Any]], task: str) -> str:
    """A page that stands alone."""
    from aggro import __version__
    from aggro.evaluate.chart import Line, error_chart
    from aggro.evaluate.page import Section, Table, render

    percent = task != "regression"
    rows = [
        (name, f"{f['error']:.2%}" if percent else f"{f['error']:.4g}", f"{f['mean_loss']:.4g}", f"{f['updates']:,}")
        for name, f in figures.items()
    ]
    least = min(f["error"] for f in figures.values())
    ranked = task != "outlier"  # the share outside is what was asked for, not a merit
    # Learners with the same least error are all best.
    best = frozenset((i, 1) for i, f in enumerate(figures.values()) if ranked and f["error"] == least)
    columns = ("Learner", ERROR_COLUMNS[task], "Mean loss", "Updates")
    table = Table(columns, rows, numbers=frozenset((1, 2, 3)), best=best)
    chart = error_chart(
        [Line(name, curve) for name, curve in curves.items()], measure=MEASURE_TITLES[task], percent=percent
    )
    count = next(iter(figures.values()))["rows"]
    note = f"{count:,} rows, each predicted by all learners before they learn it."
    return render("Learners side by side", "", [Section(title, note, table, chart)], f"aggro {__version__}")


def draw_png(file: BinaryIO, title: str, curves: Mapping[str, Any]) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from aggro.plot import curves as draw_curves
    from aggro.plot.label_places import folded

    # Higher with more learners, because each has a label of its own.
    figure = Figure(figsize=(8.0, max(4.5, 1.5 + 0.25 * len(curves))), layout="constrained")
    FigureCanvasAgg(figure)
    draw_curves({shown(name): curve for name, curve in curves.items()}, ax=figure.add_subplot())
    text = "\n".join(folded(title, TITLE_LETTERS))
    figure.suptitle(text, x=0.01, ha="left", fontsize=11, parse_math=False)  # a dollar in a name is a dollar
    figure.savefig(file, format="png", dpi=150)
