"""Ezukwoke and Zareian: PA, active PA and an SVM on ijcnn1. Tables 1 to 5, the counts of the text, Figure 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.apa_runs import CONTENDERS, DEFAULT, HARD, MEASURES, STEPS
from papers.cells import POINT, Best, Cell, Picture, Row, Table, Way, mean_and_spread
from papers.jobs import Job
from papers.paper import Found
from papers.published_figures import lines, number
from papers.sets import absent

TITLE = (
    "K. I. Ezukwoke, S. J. Zareian. Online learning and active learning: a comparative study of passive-aggressive "
    "algorithm with support vector machine (SVM)."
)
NOTES = """
Rows to learn are ijcnn1 followed by its validation part, which are its last 14,990 rows once more: 64,980, in the
order of the file, by columns 11 to 22; no intercept. Rows to predict are the test part. AUC is computed from predicted
labels; the honest one, of scores, stands beside it. What was run is not what is stated, as the authors' programs show,
which the paper links: a step is made on mistakes alone, and its size is 1/‖x‖ (classic), min(C, 1/‖x‖) (F1) or 1/(‖x‖
+ 2C) (F2), without the loss. That is the perceptron on rows of another length, and so it is run here; all 18 pairs of
AUC and F1 of PA that the tables have of their own come out as published, but for the last digit, which the paper cuts
off; so do the updates of PA. Active PA draws with δ/(δ + |ŷ|), ŷ the sign, so it asks for half of the labels whatever
the score is (δ = 1); the updates in the text are of δ = 100, over the training part alone, with C = 0.1. It draws
random numbers: 20 seeds, mean ± standard deviation; a single run, as those of the paper, moves by ten points and more,
so its cells are reproduced by luck alone. In Table 3 the ten models of the folds were made, and the last of them, of
the first nine tenths, predicted the test part, with C = 0.1 throughout; the F2 rows of Table 3 are those of Table 1
over again, and are not counted. In Table 5 the flipping makes the first 3,200 labels −1, none of them at random. The
SVM is LIBSVM's, linear, with an intercept, and knows no relaxation; for the classic one no C is stated, so it is
LIBSVM's own of 1, and 0.01 with the published cells in view; rows that come twice are one row of weight 2, which is
the same problem. Rows “as stated” have the algorithms of the paper and its experiments: PA's step with the loss, δ/(δ
+ |f|) with δ = 1, the mean over ten held-out folds in Table 3 (one seed), and in Table 5 the labels of 3,200 rows at
random (20 seeds; the SVM has one). The learners with nothing chosen are not of the paper. They go once over the same
rows as the published ones, in the same order, as they come; the active ones ask for a tenth of the labels. “The best”
is the one of the five that was wrong least often while it learned (of the active ones an estimate, from the labels
that they asked for), so the test part chooses nothing. Times are those of the stated algorithms, as parts of PA's time
a pass; the SVM's is of one fit.
"""
SETTINGS: list[tuple[str, float | None]] = [
    ("classic", None),
    *((relaxation, C) for relaxation in ("F1", "F2") for C in (0.1, 1.0, 10.0)),
]
FILES = {"1": "apa_table1", "3": "apa_table3_10fold", "5": "apa_table5_flipped"}
TITLES = {
    "1": "Table 1: learned from all rows, %",
    "3": "Table 3: 10 folds, %",
    "5": "Table 5: labels flipped, %",
}
BEST = "the best of five, nothing chosen"
UPDATES = {"classic": (3190, 3147), "F1": (3065, 3026), "F2": (3162, 3113)}  # of the text: PA, APA
TOLD = 49_990  # rows that the updates of the text are of
COLUMNS = ("AUC of labels", "F1", "AUC of scores", "labels asked for, %")
COPIED = "repeats Table 1"
TABLE_3 = (
    "The F2 rows of the paper are those of Table 1 over again. As stated, the SVM would take forty fits, as long as "
    "all else of this paper together: not measured."
)


def svm_of(C: float | None) -> float:
    return HARD if C is None else C


# Jobs ---------------------------------------------------------------------------------------------------


def jobs(quick: bool) -> list[Job]:
    if absent("ijcnn1"):
        return []
    here = "papers.apa_runs:"
    most, seeds = (2_000, 2) if quick else (None, 20)
    found = []
    for table in FILES:
        for relaxation, C in SETTINGS[:: 3 if quick else 1]:
            given = {"table": table, "relaxation": relaxation, "C": C, "most": most}
            name = f"{relaxation} {C}"
            found.append(Job(f"apa/{table}/run/{name}", f"{here}run", given | {"seeds": seeds}, 2.0))
            # Ten folds each time: one seed.
            few = 1 if table == "3" else seeds
            found.append(Job(f"apa/{table}/stated/{name}", f"{here}stated", given | {"seeds": few}, 2.0))
        for size in (HARD, 0.1, 1.0, 10.0)[:: 3 if quick else 1]:
            arguments = {"table": table, "C": size, "most": most}
            found.append(Job(f"apa/{table}/svm/{size}", f"{here}svm", arguments, 12.0))
            if table == "5" and size != HARD:
                found.append(Job(f"apa/5/svm as stated/{size}", f"{here}svm", arguments | {"stated": True}, 12.0))
        for title in CONTENDERS:
            cost = {"kernel APA": 50.0, "kernel PA": 4.0}.get(title, 1.0)
            for seed in range(1 if quick or title == "kernel APA" else 3):
                arguments = {"table": table, "title": title, "seed": seed, "most": most}
                found.append(Job(f"apa/{table}/as it comes/{title}/{seed}", f"{here}as_it_comes", arguments, cost))
        if table != "5":
            found.append(Job(f"apa/{table}/seconds", f"{here}seconds", {"table": table, "most": most}, 2.0))
    found.append(Job("apa/counts", f"{here}counted", {"seeds": seeds, "most": most}, 2.0))
    found.append(Job("apa/figure 1", f"{here}clouds", {"most": 400 if quick else 4_000}, 1.0))
    return found


# Tables -------------------------------------------------------------------------------------------------


def tables(found: Found, quick: bool) -> list[Table]:
    order = ("1", "2", "3", "4", "5")
    made = [times(found, table) if table in ("2", "4") else scores(found, table) for table in order]
    return [*made, counts(found)]


def published(table: str, method: str, relaxation: str, C: float | None) -> tuple[float, float]:
    """AUC and F1."""
    line = next(
        line
        for line in lines(FILES[table])
        if (line["method"], line["relaxation"], number(line["C"])) == (method, relaxation, C)
    )
    return float(line["auc_percent"]), float(line["f1_percent"])


def cells(runs: Any, claims: tuple[float, float] | None, way: Way | None = None) -> tuple[Cell, ...]:
    """AUC, F1, AUC of scores and the labels asked for, of some runs."""
    auc, f1 = claims or (None, None)
    if runs is None:
        why = absent("ijcnn1") or "not measured"
        return Cell(auc, None, higher=True, why=why), Cell(f1, None, higher=True, why=why), Cell(), Cell()
    made = []
    for k, claim in enumerate((auc, f1, None, None)):
        mean, spread = mean_and_spread([one[k] for one in runs])
        several = spread if len(runs) > 1 else None
        made.append(
            Cell(claim, mean, None, several, higher=k < 3, way=way, why=COPIED if claims and way is None else "")
        )
    return tuple(made)


def scores(found: Found, table: str) -> Table:
    """Table 1, 3 or 5."""
    rows = []
    for relaxation, C in SETTINGS:
        name, shown = f"{relaxation} {C}", "" if C is None else f"{C:g}"
        copied = table == "3" and relaxation == "F2"
        ran, stated = (found.get(f"apa/{table}/{way}/{name}") for way in ("run", "stated"))
        for method in ("PA", "APA"):
            claim = published(table, method, relaxation, C)
            own = cells(stated and stated[method], claim, None if copied else Way.STATED)
            rows.append(Row((f"{method}, {Way.STATED}", relaxation, shown), own, copied))
            theirs = cells(ran and ran[method], claim, None if copied else Way.CODE)
            rows.append(Row((f"{method}, {Way.CODE}", relaxation, shown), theirs, copied))
        for way, key in svms(table, C):
            batch, claim = found.get(key), published(table, "SVM", relaxation, C)
            own = cells(batch and batch["measured"], claim, None if copied else way)
            rows.append(Row((f"SVM, {way}", relaxation, shown), own, copied))
    for title in CONTENDERS:
        rows.append(Row((f"{title}, nothing chosen", "", ""), cells(comes(found, table, title), None), True))
    winner = the_best(found, table)
    rows.append(Row((BEST, winner, ""), cells(comes(found, table, winner), None), True))
    note = TABLE_3 if table == "3" else ""
    names = ("learner", "relaxation", "C")
    return Table(f"apa-table-{table}", TITLES[table], names, COLUMNS, tuple(rows), note)


def svms(table: str, C: float | None) -> list[tuple[Way, str]]:
    """The fits of the SVM that stand beside a published one: how each was obtained, and its job."""
    start = f"apa/{table}/svm"
    if table == "1":
        stated = [(Way.STATED, f"{start}/{DEFAULT if C is None else C}")]
        return stated + ([(Way.FITTED, f"{start}/{HARD}")] if C is None else [])
    as_run = [(Way.FITTED if C is None else Way.CODE, f"{start}/{svm_of(C)}")]
    if table == "3":
        return as_run
    return [(Way.STATED, f"{start} as stated/{DEFAULT if C is None else C}"), *as_run]


def comes(found: Found, table: str, title: str) -> Any:
    """What a learner gave with nothing chosen, for each seed."""
    start = f"apa/{table}/as it comes/{title}/"
    return [gave for key, gave in found.items() if key.startswith(start)] or None


def the_best(found: Found, table: str) -> str:
    """Which learner, as it comes, was wrong least often while it learned."""
    wrong = MEASURES.index("wrong")
    tried = {title: runs for title in CONTENDERS if (runs := comes(found, table, title)) is not None}
    return min(tried, key=lambda title: float(np.mean([one[wrong] for one in tried[title]])), default="")


def times(found: Found, table: str) -> Table:
    """Table 2 or 4: times as parts of PA's, which are shown and not counted."""
    of, name = ("1", "table2") if table == "2" else ("3", "table4_10fold")
    took = found.get(f"apa/{of}/seconds")
    rows = []
    for relaxation in STEPS:
        for C in ("0.1", "1", "10"):
            said = {
                line["method"]: float(line["seconds"])
                for line in lines("apa_table2_table4_seconds")
                if (line["table"], line["relaxation"], line["C"]) == (name, relaxation, C)
            }
            batch = found.get(f"apa/{of}/svm/{svm_of(None if relaxation == 'classic' else float(C))}")
            own, asking = (took[f"{relaxation}/{C}/{method}"] if took else None for method in ("PA", "APA"))
            fit = batch["seconds"] if batch else None
            ratios = (asking / own if own and asking else None), (fit / own if own and fit else None)
            active = Cell(round(said["APA"] / said["PA"], 2), ratios[0], way=None)
            svm = Cell(round(said["SVM"] / said["PA"], 1), ratios[1], way=None, digits=0)
            rows.append(Row((relaxation, C), (active, svm)))
    title = "Table 2: time, as a part of PA's" if table == "2" else "Table 4: time of 10 folds, as a part of PA's"
    note = "A pass over the rows and a fit of the SVM" + (", for one of the folds." if table == "4" else ".")
    return Table(f"apa-table-{table}", title, ("relaxation", "C"), ("APA", "SVM"), tuple(rows), note)


def counts(found: Found) -> Table:
    """The updates that the text tells of."""
    gave, rows = found.get("apa/counts"), []
    kinds = (MEASURES.index("updates"), MEASURES.index("mistakes"), MEASURES.index("asked"))
    for relaxation, claims in UPDATES.items():
        for method, claim in zip(("PA", "APA"), claims, strict=True):
            for way, kind in (("stated", Way.STATED), ("run", Way.CODE)):
                runs = gave and gave[f"{relaxation}/{method}/{way}"]
                made = []
                for k in kinds:
                    said = float(claim) if k == kinds[0] else None
                    mean, spread = mean_and_spread([one[k] for one in runs]) if runs else (None, None)
                    several = spread if runs and len(runs) > 1 else None
                    digits = 1 if k == kinds[2] else 0
                    made.append(Cell(said, mean, None, several, way=kind, slack=POINT / 100.0 * TOLD, digits=digits))
                rows.append(Row((f"{method}, {kind}", relaxation), tuple(made)))
    note = (
        f"Over the training part, {TOLD:,} rows, of which half a per cent is allowed for. C = 0.1; δ is 100 in their "
        "program, and 1 as stated."
    )
    columns = ("updates", "mistakes on labels asked for", "labels asked for, %")
    return Table("apa-counts", "Updates, as the text has them", ("learner", "relaxation"), columns, tuple(rows), note)


def best(found: Found, quick: bool) -> list[Best]:
    made = []
    for table, experiment in (("1", "all rows"), ("3", "10 folds"), ("5", "labels flipped")):
        winner = the_best(found, table)
        if not winner or any(f"apa/{table}/run/{relaxation} {C}" not in found for relaxation, C in SETTINGS):
            continue
        for k, measure in ((1, "F1, %"), (0, "AUC of labels, %")):
            theirs, ours = {}, {}
            for relaxation, C in SETTINGS:
                if table == "3" and relaxation == "F2":
                    continue  # copied from Table 1
                size = "" if C is None else f", C = {C:g}"
                for method in ("PA", "APA"):
                    title = f"{method}, {relaxation}{size}"
                    theirs[title] = published(table, method, relaxation, C)[k]
                    for way, said in (("run", ""), ("stated", ", as stated")):
                        runs = found[f"apa/{table}/{way}/{relaxation} {C}"][method]
                        ours[f"{title}{said}"] = float(np.mean([one[k] for one in runs]))
            claim, own = max(theirs, key=theirs.__getitem__), max(ours, key=ours.__getitem__)
            untuned = float(np.mean([one[k] for one in comes(found, table, winner)]))
            name = f"ijcnn1, {experiment}"
            best_ = Best(name, measure, theirs[claim], claim, ours[own], own, untuned, winner, True, data="ijcnn1")
            made.append(best_)
    return made


# Figures ------------------------------------------------------------------------------------------------


def pictures(found: Found, quick: bool) -> list[Picture]:
    made = []
    if "apa/figure 1" in found:
        title, note = "Figure 1: the rows, by the first two of the twelve columns", "Some of the rows, at random."
        made.append(Picture("apa-figure-1", title, note, lambda c: rows_drawn(found["apa/figure 1"], c)))
    if any(key.startswith("apa/1/run/") for key in found):
        title = "F1 of all settings, published and ours"
        made.append(Picture("apa-f1", title, F1_NOTE, lambda c: all_settings(found, c)))
    return made


F1_NOTE = (
    "Hollow: published; filled: ours, as run, with bars of one standard deviation over the seeds. Dashed: the best of "
    "five with nothing chosen."
)


def rows_drawn(gave: dict[str, Any], colours: dict[str, str]) -> Any:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(8.6, 3.2), layout="constrained", sharex=True, sharey=True)
    for panel, (name, (rows, rare)) in zip(axes, gave.items(), strict=True):
        X, which = np.array(rows), np.array(rare)
        panel.plot(*X[~which].T, ".", color=colours["s0"], markersize=1.6, label="normal (−1)")
        panel.plot(*X[which].T, "x", color=colours["s1"], markersize=3.2, label="misfire (+1)")
        panel.set(xlabel="column 11", ylabel="column 12" if panel is axes[0] else "")
        panel.set_title(f"rows {name}", loc="left")
    axes[1].legend(frameon=False, markerscale=2.0)
    return figure


def all_settings(found: Found, colours: dict[str, str]) -> Any:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(8.6, 3.4), layout="constrained", sharey=True)
    looks = {"PA": ("s0", "o"), "APA": ("s1", "D"), "SVM": ("s2", "^")}
    for panel, (table, title) in zip(axes, TITLES.items(), strict=True):
        for j, (method, (colour, shape)) in enumerate(looks.items()):
            for i, (relaxation, C) in enumerate(SETTINGS):
                place = i + 0.22 * (j - 1)
                _, claim = published(table, method, relaxation, C)
                own = {"marker": shape, "linestyle": "", "color": colours[colour]}
                panel.plot(place, claim, markersize=6.5, markerfacecolor="none", **own)
                gave = found.get(
                    f"apa/{table}/svm/{svm_of(C)}" if method == "SVM" else f"apa/{table}/run/{relaxation} {C}"
                )
                if gave is not None:
                    runs = gave["measured" if method == "SVM" else method]
                    mean, spread = mean_and_spread([one[1] for one in runs])
                    panel.errorbar(place, mean, spread if len(runs) > 1 else None, markersize=3.2, elinewidth=1, **own)
        untuned = comes(found, table, the_best(found, table))
        if untuned is not None:
            level = float(np.mean([one[1] for one in untuned]))
            panel.axhline(level, color=colours["soft"], linewidth=1.0, linestyle="--")
            said = f"dashed: {the_best(found, table)}, nothing chosen"
            panel.text(0.98, 0.03, said, transform=panel.transAxes, ha="right", fontsize=8, color=colours["soft"])
        names = [relaxation if C is None else f"{relaxation}\n{C:g}" for relaxation, C in SETTINGS]
        panel.set_xticks(range(len(SETTINGS)), names, fontsize=7.5)
        panel.set(ylim=(-3.0, 103.0))
        panel.set_title(title.removesuffix(", %"), loc="left", fontsize=9.5)
    axes[0].set_ylabel("F1, %")
    for method, (colour, shape) in looks.items():
        axes[0].plot([], [], shape, color=colours[colour], label=method)
    look = {"marker": "o", "linestyle": "", "color": colours["soft"]}
    axes[1].plot([], [], markerfacecolor="none", markersize=6.5, label="published", **look)
    axes[1].plot([], [], markersize=3.2, label="ours", **look)
    for panel in axes[:2]:
        panel.legend(frameon=False, fontsize=8, loc="upper left", ncols=3, handletextpad=0.1, columnspacing=0.8)
    return figure
