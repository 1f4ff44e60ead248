"""``aggro test``: how good a model is on labelled data, class by class."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from aggro.cli.compare import check_plot
from aggro.cli.console import Mistake, console, facts, fitted, json_text, names_of, shown
from aggro.cli.model_files import load_to_read
from aggro.cli.options import Data, Json, Model, Plugins, Reading, reads_data
from aggro.cli.outputs import PLOT, Writes, writing
from aggro.cli.tables import Column, Row, print_table

MOST_SHOWN = 12  # classes beside each other in a confusion matrix
MOST_LISTED = 40  # classes below each other


@reads_data
def figures_of(
    model: Model,
    data: Data,
    *,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Plot the confusion matrix and calibration: .html or .png."),
        Writes(PLOT),
    ] = None,
    plugin: Plugins = None,
    as_json: Json = False,
    reading: Reading,
) -> None:
    """Test a model on data that it was not trained on.

    For a classifier: error, balanced error (the mean of the classes' errors), precision and recall of each class, the
    confusion matrix, log loss, AUC and calibration. For a regressor: R², mean absolute error and RMSE. For an
    outlier detector: the share of outliers.
    """
    # A name that cannot be plotted is refused before the test.
    if plot is not None:
        check_plot(plot)
    learner, reading = load_to_read(model, reading)
    from aggro.cli.scoring import evaluate, task_of

    found = evaluate(learner, data, reading)
    for line in found["notes"]:
        print(line, file=sys.stderr)
    if not found["rows"]:
        # No rows with labels: the test would show nothing.
        raise Mistake(f"{names_of(data)} has no labelled rows to test on. Name the label column with --label.")
    task = task_of(learner)
    if plot is not None:
        if task != "classification":
            raise Mistake("--plot needs a classifier, which has a confusion matrix. Leave it out.")
        draw(plot, names_of(data), found)
    if as_json:
        print(json_text({"model": str(model), "task": task, **found, "plot": plot and str(plot)}, indent=2))
        return
    print_report(found)
    if plot is not None:
        print(fitted(f"The plot is in {shown(plot)}"))


def print_report(found: Mapping[str, Any]) -> None:
    """What came of a test, for people."""
    print(facts(report_lines(found)))
    print_by_class(found)


def print_by_class(found: Mapping[str, Any]) -> None:
    """Precision and recall of each class, and the confusion matrix; nothing if there are no classes."""
    if "classes" in found:
        print_classes(found["classes"])
        print_confusion(found["confusion"])


def report_lines(found: Mapping[str, Any]) -> dict[str, str]:
    """The figures of a test, in words."""
    lines = {"rows": f"{found['rows']:,} of {names_of(found['data'])}"}
    left_out = [
        f"{found[key]:,} {what}"
        for key, what in (("bad_lines", "malformed line(s)"), ("unlabelled", "row(s) without a label"))
        if found.get(key)
    ]
    if left_out:
        lines["left out"] = ", ".join(left_out)
    if "error" in found:
        lines["error"] = f"{found['error']:.2%}, {found['mistakes']:,} mistakes"
        if found["balanced_error"] is not None:
            lines["balanced"] = f"{found['balanced_error']:.2%}, the mean error of the classes"
        lines["majority"] = f"{found['majority']:.2%} of the rows are {shown(found['majority_class'])}"
        if found["log_loss"] is not None:
            lines["log loss"] = f"{found['log_loss']:.4f}"
        if found["auc"] is not None:
            # With two classes there is one area; with more, each class is told from the others.
            several = ", mean of all classes against the others" if len(found["classes"]) > 2 else ""
            lines["AUC"] = f"{found['auc']:.4f}{several}"
        if found["calibration_error"] is not None:
            lines["ECE"] = f"{found['calibration_error']:.2%}, the mean error of the probabilities"
    elif "outside" in found:
        lines["outside"] = f"{found['outside']:,} ({found['share_outside']:.2%})"
    else:
        lines["R²"] = "undefined" if found["r2"] is None else f"{found['r2']:.4f}"
        lines["mean error"] = f"{found['mae']:.6g}, the mean absolute difference"
        lines["RMSE"] = f"{found['rmse']:.6g}, the root of the mean squared difference"
    return lines


def print_classes(classes: list[dict[str, Any]]) -> None:
    columns = [Column("class"), *(Column(name, number=True) for name in ("rows", "precision", "recall", "F1"))]
    rows = [
        Row([shown(one["class"]), f"{one['rows']:,}", *(percent(one[name]) for name in ("precision", "recall", "f1"))])
        for one in classes[:MOST_LISTED]
    ]
    print_table(console(), columns, rows)
    if len(classes) > MOST_LISTED:
        print(f"… and {len(classes) - MOST_LISTED:,} more classes (--json has them all)")


def percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def print_confusion(confusion: Mapping[str, Any]) -> None:
    names, counts = confusion["classes"], confusion["counts"]
    # Too many classes for a matrix on a screen: the commonest mistakes say more.
    if len(names) > MOST_SHOWN:
        wrong = [(counts[i][j], i, j) for i in range(len(names)) for j in range(len(names)) if i != j and counts[i][j]]
        rows = [Row([shown(names[i]), shown(names[j]), f"{n:,}"]) for n, i, j in sorted(wrong, reverse=True)[:10]]
        print_table(
            console(), [Column("class"), Column("taken for"), Column("rows", True)], rows, "The commonest mistakes"
        )
        return
    columns = [Column("true class"), *(Column(shown(name), number=True) for name in names)]
    lines = [Row([shown(name), *(f"{n:,}" for n in row)]) for name, row in zip(names, counts, strict=True)]
    print_table(console(), columns, lines, "Confusion matrix: true classes in rows, predictions in columns")


def draw(path: Path, title: str, found: Mapping[str, Any]) -> None:
    """The confusion matrix and the calibration, in the form that the file's name says."""
    with writing(path, "the plot") as file:
        if path.suffix.lower() == ".png":
            draw_png(file, title, found)
        else:
            file.write(page(title, found).encode())


def page(title: str, found: Mapping[str, Any]) -> str:
    from aggro import __version__
    from aggro.evaluate.page import Section, Table, render

    names, counts = [str(name) for name in found["confusion"]["classes"]], found["confusion"]["counts"]
    figures = Table(("Figure", "Value"), list(report_lines(found).items()))
    matrix = Table(
        ("Class", *names),
        [(name, *(f"{n:,}" for n in row)) for name, row in zip(names, counts, strict=True)],
        numbers=frozenset(range(1, len(names) + 1)),
        # The diagonal is what was right.
        best=frozenset((i, i + 1) for i in range(len(names))),
    )
    each = Table(
        ("Class", "Rows", "Precision", "Recall", "F1"),
        [
            (str(one["class"]), f"{one['rows']:,}", *(percent(one[k]) for k in ("precision", "recall", "f1")))
            for one in found["classes"]
        ],
        numbers=frozenset((1, 2, 3, 4)),
    )
    bins = Table(
        ("Probability given", "Rows", "Right"),
        [(f"{b['probability']:.1%}", f"{b['rows']:,}", f"{b['right']:.1%}") for b in found["calibration"]],
        numbers=frozenset((0, 1, 2)),
    )
    sections = [
        Section("Figures", "", figures),
        Section("Classes", "", each),
        Section("Confusion matrix", "Confusion matrix: true classes in rows, predictions in columns.", matrix),
    ]
    # Without probabilities there is nothing to calibrate.
    if found["calibration"]:
        note = "Rows by the probability of the class that was predicted, and how many of them are right."
        sections.append(Section("Calibration", note, bins))
    return render(f"Test on {title}", "", sections, f"aggro {__version__}")


def draw_png(file: Any, title: str, found: Mapping[str, Any]) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from aggro.plot import confusion

    names, counts = found["confusion"]["classes"], found["confusion"]["counts"]
    figure = Figure(figsize=(11.0, 5.0), layout="constrained")
    # Drawn without a display: the canvas writes files only.
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    confusion(counts, labels=[shown(name) for name in names], ax=left)
    # A perfect calibration lies on the diagonal.
    right.plot([0, 1], [0, 1], linestyle=":", color="0.6")
    bins = found["calibration"]
    right.plot([b["probability"] for b in bins], [b["right"] for b in bins], marker="o")
    right.set_xlabel("Probability of the predicted class")
    right.set_ylabel("Share that is right")
    figure.suptitle(f"Test on {shown(title)}", x=0.01, ha="left", fontsize=11, parse_math=False)
    figure.savefig(file, format="png", dpi=150)
