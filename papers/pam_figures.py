"""The figures of the paper on class means: twenty passes, drawn three ways."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.cells import Picture
from papers.paper import Found

LOOKS = {  # colour, line, mark
    "PA": ("s0", ":", "o"),
    "PA-1": ("s4", ":", "s"),
    "PA-2": ("s2", ":", "^"),
    "PAm": ("s1", "-", "o"),
    "PAm-1": ("s3", "--", "s"),
    "PAm-2": ("s5", "-.", "^"),
}
PROTOTYPES = {"sum": "class sums", "mean": "class means"}
UPDATES, WRONG, COSINE = 0, 1, 2  # as the jobs give them
LEAST = 1e-12  # of what is drawn: below this it is rounding
NOTE_1 = (
    "1 less the cosine of the weights after a pass and those after the pass before, so that small differences can be "
    "seen: 0 where they point the same way. The settings are those of the tables, the order of the rows is the same in "
    "every pass."
)
NOTE_2 = (
    "After each pass. The paper has gamma and delta. The line across is a smooth support vector machine, which sees "
    "all rows at once."
)
NOTE_3 = "Rows with loss in each pass, and so steps that were made."


def drawn(found: Found, names: list[str]) -> list[Picture]:
    """Figures 1 to 3 of these sets."""
    two = [name for name in names if name in ("svmguide1", "adult")]
    title = "test error after each pass"
    return [
        Picture(
            "pam-figure-1",
            "Figure 1: how alike the weights of two passes are",
            NOTE_1,
            lambda c: panels(found, c, two, COSINE, "1 − cosine"),
        ),
        Picture(
            "pam-figure-2", f"Figure 2: {title}", NOTE_2, lambda c: panels(found, c, names, WRONG, "test error, %")
        ),
        Picture(
            "pam-figure-3",
            "Figure 3: updates in each pass",
            NOTE_3,
            lambda c: panels(found, c, names, UPDATES, "updates"),
        ),
    ]


def panels(found: Found, colours: dict[str, str], names: list[str], what: int, label: str) -> Any:
    """A column for each set, a row for each prototype."""
    from matplotlib import pyplot

    wide = max(1, len(names))
    size = (8.6, 5.4) if wide <= 2 else (11.0, 5.4)
    figure, axes = pyplot.subplots(2, wide, figsize=size, layout="constrained", squeeze=False, sharex=True)
    for line, (reading, title) in zip(axes, PROTOTYPES.items(), strict=True):
        for panel, name in zip(line, names, strict=True):
            one_panel(panel, found, colours, name, reading, what)
            panel.set_title(f"{name}, {title}", loc="left", fontsize=9.5)
        line[0].set_ylabel(label)
    for panel in axes[-1]:
        panel.set_xlabel("pass")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=len(labels), loc="outside upper center", handlelength=2.6)
    return figure


def one_panel(panel: Any, found: Found, colours: dict[str, str], name: str, reading: str, what: int) -> None:
    for method, (colour, dashes, mark) in LOOKS.items():
        of = found.get(f"pam/{name}/{method}/{reading if 'm' in method else ''}")
        if of is None:
            continue
        values = np.array(of["epochs"])[:, what]
        passes = np.arange(1, len(values) + 1)
        if what == COSINE:  # the first pass has none before it
            passes, values = passes[1:], np.maximum(1.0 - values[1:], LEAST)
        marks = {"marker": mark, "markersize": 3.5, "markevery": 3}
        panel.plot(passes, values, dashes, color=colours[colour], linewidth=1.5, label=method, **marks)
    if what == WRONG and f"pam/{name}/SSVM" in found:
        panel.axhline(found[f"pam/{name}/SSVM"], color=colours["ink"], linewidth=0.9, label="SSVM")
    if what == UPDATES:
        panel.set_ylim(bottom=0.0)
    if what == COSINE:
        panel.set_yscale("log")
    panel.xaxis.get_major_locator().set_params(integer=True)
    panel.grid(axis="y", linewidth=0.6)
