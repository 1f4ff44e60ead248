"""Crammer, Dekel, Shalev-Shwartz and Singer: the theorems on streams, Figure 2, and batch conversion."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.cells import Best, Cell, Picture, Row, Table, Way
from papers.crammer_runs import TASKS
from papers.jobs import Job
from papers.paper import Found

TITLE = "K. Crammer, O. Dekel, S. Shalev-Shwartz, Y. Singer. Online Passive-Aggressive Algorithms. NIPS 2003."
NOTES = """
The paper has theorems and no experiments, so it is the theorems that are run: learners go over streams that are
generated here (seed 0 in the tables, seeds 0 to 49 for the largest share), and the running sum of each theorem stands
beside its bound, which is what “published” is here. A bound holds (✓) if the sum is no larger; nothing is allowed
for, and “holds” says so after every row. Streams that can be fitted have 1,000 rows: normal with 20 features
and a margin of 0.5 (classification), uniform noise of up to 0.1 with ε = 0.15 (regression), or within 1 of a centre
with ε = 1.02 (uniclass); for the multiplicative learners 200 features of which 4 matter. Those that cannot be fitted
have 5 % of labels or rows wrong, or normal noise. u is the best there is for additive learners (nearest to w₁ without
loss; for Theorem 3 the one with the least bound), and the one that made the stream for multiplicative ones. The hard
stream has two rows in turn that nearly contradict each other, and Theorem 1 is tight there. The paper states Theorem 3
without uniclass and Theorem 4 without streams that cannot be fitted; both proofs go through, so those rows are here and
not counted. On the simplex with x ≥ 0 no score is negative, so two classes have the signed form, w = U(p⁺ − p⁻), with
the bound 2U²B·D(u‖w₁), B ≥ ‖x‖∞². Erratum: for multiplicative uniclass the printed step ℓ/(8‖v‖∞²) exceeds its printed
bound, 8 D(u‖w₁), where the row is the same corner of the simplex again and again; with Hoeffding's lemma and ‖v‖₂ = 1
the step 2ℓ has the bound D(u‖w₁), which is the one that is counted. Batch conversion shows rows with ℓ² > δ until there
are none, round and round or the largest loss first; the limit is B‖u − w₁‖²/δ for the nearest u without loss.
"""
LOSSES = [0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005]
GEOMETRIES = ("additive", "multiplicative")
KINDS = [(geometry, task, fits) for geometry in GEOMETRIES for fits in (True, False) for task in TASKS]
SIGNS = {True: "can be fitted", False: "cannot be fitted"}
COLUMNS = ("sum and bound", "share of the bound, %", "largest share of all streams, %", "holds")
SHAPES = {"cyclic": ("s0", "o", "-"), "largest": ("s1", "s", "-.")}


def key_of(geometry: str, task: str, fits: bool) -> str:
    return f"crammer/{geometry}/{task}/{SIGNS[fits]}"


def of_paper(geometry: str, task: str, fits: bool) -> bool:
    """Whether the paper states a theorem for this."""
    return fits or (geometry == "additive" and task != "uniclass")


# Jobs ---------------------------------------------------------------------------------------------------


def jobs(quick: bool) -> list[Job]:
    here = "papers.crammer_runs:"
    rows, streams = (200, 3) if quick else (1_000, 50)
    found = []
    for geometry, task, fits in KINDS:
        given = {"geometry": geometry, "task": task, "fits": fits, "rows": rows, "streams": streams}
        found.append(Job(key_of(geometry, task, fits), f"{here}one_kind", given, 5.0))
    found.append(Job("crammer/others", f"{here}others", {"rows": rows}, 2.0))
    found.append(Job("crammer/printed", f"{here}printed", {"rows": 1_000}, 1.0))
    found.append(Job("crammer/figure 2", f"{here}projections", {}, 1.0))
    for task in TASKS:
        for order in ("cyclic", "largest"):
            given = {"task": task, "order": order, "losses": LOSSES[:: 3 if quick else 1], "rows": rows}
            found.append(Job(f"crammer/conversion/{task}/{order}", f"{here}conversion", given, 3.0))
    return found


# Tables -------------------------------------------------------------------------------------------------


def tables(found: Found, quick: bool) -> list[Table]:
    return [theorems(found), erratum(found), conversions(found, quick)]


def row_of(names: tuple[str, ...], gave: dict[str, Any], counts: bool = True) -> Row:
    limit, total = gave["limit"], gave["sum"]
    cells = (
        Cell(limit, total, way=Way.BOUND if counts else None),
        Cell(None, 100.0 * total / limit, digits=1),
        Cell(None, 100.0 * gave["largest"], digits=1) if "largest" in gave else "–",
        "yes" if gave["holds"] and gave.get("all_hold", True) else "no",
    )
    return Row(names, cells, not counts)


def theorems(found: Found) -> Table:
    """Each theorem, on each kind of stream."""
    rows = []
    for geometry, task, fits in KINDS:
        gave = found[key_of(geometry, task, fits)]
        theorem = gave["theorem"] if of_paper(geometry, task, fits) else f"{gave['theorem']}, not of the paper"
        if (geometry, fits) == ("multiplicative", False):
            theorem = "as Theorem 3, not of the paper"
        names = (theorem, task, geometry, SIGNS[fits])
        rows.append(row_of(names, gave, of_paper(geometry, task, fits)))
    others = found["crammer/others"]
    for task in ("classification", "regression"):
        rows.append(row_of(("Theorem 1", task, "additive", "hard"), others[f"hard/{task}"]))
    for task in TASKS:
        gave = others[f"norm/{task}"]
        rows.append(row_of((f"Lemma 2, {gave['statement']}", task, "additive", SIGNS[True]), gave))
    for name in ("squares", "hinge", "mistakes"):
        gave = others[name]
        rows.append(row_of((f"Corollary, {gave['statement']}", "classification", "additive", SIGNS[True]), gave))
    note = "Theorems 1 and 4: Σℓ² + 2(ε − ε*)Σℓ; Theorem 3: Σℓ². “Published” is the bound of this stream, ours the sum."
    names = ("theorem", "task", "geometry", "stream")
    return Table("crammer-theorems", "The theorems, on streams", names, COLUMNS, tuple(rows), note)


def erratum(found: Found) -> Table:
    gave, rows = found["crammer/printed"], []
    for step, title in (("printed", "ℓ/(8‖v‖∞²), as printed"), ("pa", "2ℓ")):
        sums, limit = np.array(gave[step]["sums"]), gave[step]["limit"]
        # The printed step cannot be matched: what is stated of it does not hold.
        cell = Cell(limit, float(sums[-1]), way=Way.BOUND if step == "pa" else None)
        held = "yes" if (sums <= limit).all() else f"no: not from row {int(np.argmax(sums > limit)) + 1} on"
        rows.append(Row((title,), (cell, Cell(None, 100.0 * float(sums[-1]) / limit, digits=1), held), step != "pa"))
    note = "A corner of the simplex of 50 features, 1,000 times; ε = 0.5. The bounds are 8 D(u‖w₁) and D(u‖w₁)."
    columns = ("sum and bound", "share of the bound, %", "holds")
    title = "Theorem 4 for uniclass: the printed step and the right one"
    return Table("crammer-erratum", title, ("step τ",), columns, tuple(rows), note)


def conversions(found: Found, quick: bool) -> Table:
    rows = []
    losses = LOSSES[:: 3 if quick else 1]
    for task in TASKS:
        for order in ("cyclic", "largest"):
            cells = []
            for gave in found[f"crammer/conversion/{task}/{order}"]:
                ended = "" if gave["converged"] else "it did not end"
                cells.append(Cell(gave["limit"], gave["updates"], way=Way.BOUND, digits=0, why=ended))
            rows.append(Row((task, "round and round" if order == "cyclic" else "largest loss first"), tuple(cells)))
    note = "“Published” is the limit, ours is the number of updates."
    columns = tuple(f"δ = {loss:g}" for loss in losses)
    title = "Batch conversion (section 4): updates until every ℓ² ≤ δ"
    return Table("crammer-conversion", title, ("task", "order"), columns, tuple(rows), note)


def best(found: Found, quick: bool) -> list[Best]:
    """There are no sets in this paper."""
    return []


# Figures ------------------------------------------------------------------------------------------------


def pictures(found: Found, quick: bool) -> list[Picture]:
    note = "The step by the learners themselves: from w to the nearest vector without loss on the row (shaded)."
    made = [
        Picture(
            "crammer-figure-2",
            "Figure 2: one step is a projection",
            note,
            lambda c: three_projections(found["crammer/figure 2"], c),
        )
    ]
    for fits, name, title in (
        (True, "fitted", "Streams that can be fitted: Theorems 1 and 4"),
        (False, "unfitted", "Streams that cannot be fitted: Theorem 3"),
    ):
        made.append(
            Picture(
                f"crammer-{name}",
                title,
                BOUND_NOTES[fits],
                lambda c, fits=fits: both_sides(found, fits, c),  # type: ignore[misc]
            )
        )
    made.append(
        Picture(
            "crammer-erratum",
            "Multiplicative uniclass: the printed step and the right one",
            "The same row again and again. The printed step exceeds its bound; the right one stays below its own.",
            lambda c: two_steps(found["crammer/printed"], c),
        )
    )
    made.append(
        Picture(
            "crammer-conversion",
            "Batch conversion: updates by δ",
            "Both orders, and the limit that was proved.",
            lambda c: updates_by_loss(found, quick, c),
        )
    )
    return made


BOUND_NOTES = {
    True: "Solid: the sum Σℓ² + 2(ε − ε*)Σℓ so far. Dashed: the bound.",
    False: "Solid: the sum Σℓ² so far. Dashed: the bound, which grows with the losses of u. Not of the paper: additive "
    "uniclass, and all that is multiplicative.",
}


def both_sides(found: Found, fits: bool, colours: dict[str, str]) -> Any:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 3, figsize=(8.6, 4.8), layout="constrained", sharex=True)
    for line, geometry in zip(axes, GEOMETRIES, strict=True):
        for panel, task in zip(line, TASKS, strict=True):
            gave = found[key_of(geometry, task, fits)]
            panel.plot(gave["rows"], gave["limits"], "--", color=colours["ink"], linewidth=1.2, label="bound")
            panel.plot(gave["rows"], gave["sums"], color=colours["s0"], linewidth=2.0, label="sum")
            panel.set(ylim=(0.0, 1.12 * max(gave["limits"])))
            panel.set_title(f"{geometry}, {task}", loc="left", fontsize=9.5)
            share = 100.0 * gave["sum"] / gave["limit"]
            place = (0.98, 0.5 * share / 112.0 if share > 70.0 else share / 112.0 + 0.03)  # of the panel
            panel.text(*place, f"{share:.0f} %", transform=panel.transAxes, ha="right", color=colours["s0"])
    for panel in axes[1]:
        panel.set_xlabel("rows")
    figure.legend(*axes[0][0].get_legend_handles_labels(), frameon=False, loc="outside upper right", ncols=2)
    return figure


def two_steps(gave: dict[str, Any], colours: dict[str, str]) -> Any:
    from matplotlib import pyplot

    figure, panel = pyplot.subplots(figsize=(6.6, 3.2), layout="constrained")
    for step, name, colour, dashes in (("printed", "printed step", "s1", "-."), ("pa", "right step, 2ℓ", "s0", "-")):
        sums, limit = gave[step]["sums"], gave[step]["limit"]
        rows = np.arange(1, len(sums) + 1)
        panel.plot(rows, sums, dashes, color=colours[colour], linewidth=2.0, label=f"{name}: {sums[-1]:.2f}")
        panel.axhline(limit, color=colours[colour], linewidth=1.0, linestyle=":", label=f"its bound: {limit:.2f}")
    panel.set(xscale="log", yscale="log", xlabel="rows", ylabel="Σℓ² + 2εΣℓ")
    panel.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def updates_by_loss(found: Found, quick: bool, colours: dict[str, str]) -> Any:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(8.6, 3.0), layout="constrained")
    losses = LOSSES[:: 3 if quick else 1]
    for panel, task in zip(axes, TASKS, strict=True):
        for order, (colour, shape, dashes) in SHAPES.items():
            gave = found[f"crammer/conversion/{task}/{order}"]
            if order == "cyclic":
                limits = [one["limit"] for one in gave]
                panel.plot(losses, limits, "--", color=colours["ink"], linewidth=1.2, label="limit")
            name = "round and round" if order == "cyclic" else "largest first"
            updates = [one["updates"] for one in gave]
            panel.plot(losses, updates, dashes, marker=shape, markersize=4, color=colours[colour], label=name)
        panel.set(xscale="log", yscale="log", xlabel="δ")
        panel.invert_xaxis()
        panel.set_title(task, loc="left")
    axes[0].set_ylabel("updates")
    axes[0].legend(frameon=False, fontsize=8)
    return figure


def three_projections(gave: dict[str, Any], colours: dict[str, str]) -> Any:
    from matplotlib import patches, pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(8.6, 3.1), layout="constrained")
    titles = {"regression": "regression: a stripe", "classification": "classification: a half-space"}
    for panel, task in zip(axes, ("regression", "classification", "uniclass"), strict=True):
        one = gave[task]
        x, y, epsilon = np.array(one["x"]), one["y"], one["epsilon"]
        before, after = np.array(one["before"]), np.array(one["after"])
        low, high = -2.2, 3.2
        axis = np.linspace(low, high, 400)
        a, b = np.meshgrid(axis, axis)
        score = a * x[0] + b * x[1]
        if task == "uniclass":
            panel.add_patch(patches.Circle((x[0], x[1]), epsilon, facecolor=colours["s2"], alpha=0.25, linewidth=0))
            panel.plot(*x, "+", color=colours["s2"], markersize=8)
            panel.annotate("x", x, (5, -11), textcoords="offset points", color=colours["ink"])
        else:
            excess = abs(y - score) - epsilon if task == "regression" else -y * score - epsilon
            panel.contourf(a, b, excess, levels=[-1e9, 0.0], colors=[colours["s2"]], alpha=0.25)
            panel.contour(a, b, excess, levels=[0.0], colors=[colours["s2"]], linewidths=1.2)
        panel.annotate("", after, before, arrowprops={"arrowstyle": "->", "color": colours["s0"], "linewidth": 1.8})
        panel.plot(*before, "o", color=colours["s0"], markersize=5)
        panel.plot(*after, "s", color=colours["s1"], markersize=5)
        panel.annotate("$w_t$", before, (6, 2), textcoords="offset points", color=colours["ink"])
        panel.annotate("$w_{t+1}$", after, (-4, -14), textcoords="offset points", color=colours["ink"], ha="right")
        panel.set(aspect="equal", xlim=(low, high), ylim=(low, high), xticks=[], yticks=[])
        panel.set_title(titles.get(task, "uniclass: a ball"), loc="left")
    return figure
