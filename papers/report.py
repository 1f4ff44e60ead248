"""The report: one page that stands alone, all numbers as JSON and CSV, and the pictures."""

from __future__ import annotations

import base64
import csv
import io
import json
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from aggro import __version__
from aggro.evaluate import page
from aggro.plot.colours import DARK, LIGHT
from papers.cells import (
    Best,
    Cell,
    Counts,
    Picture,
    Table,
    Verdict,
    Way,
    beaten_sets,
    count,
    sentences,
    together,
)
from papers.learned import LESSONS, Lesson
from papers.paper import Found, Paper

GROUNDS = {"light": LIGHT, "dark": DARK}
DOTS = 144  # an inch
UNBROKEN = re.compile("(?<=[A-Z])-(?=[0-9I])")  # PA-I and BPALS-8 stay on one line
RULES = (
    "A cell is reproduced (✓) if ours differs from the published one, to either side, by no more than the published "
    "spread or half a point, whichever is larger; beyond that it is better (▲) or worse (✗). Half a point of a "
    "count is half a per cent of the rows. Each cell says how it was obtained: as stated in the paper, with "
    "parameters that training rows alone chose; as the authors' code does; or with the published figure in view, "
    "where a published cell chose a setting or a reading. The bounds of theorems hold (✓) or do not (✗). Times and "
    "spreads are shown and not counted. Rows in grey are not of the paper."
)


@dataclass(frozen=True)
class Result:
    """What was found for one paper."""

    name: str
    title: str
    notes: str
    tables: list[Table]
    best: list[Best]
    pictures: list[tuple[Picture, dict[str, bytes]]]  # with what was drawn: PNG by ground


def result_of(name: str, paper: Paper, found: Found, quick: bool) -> Result:
    """The tables and pictures of a paper, of what its jobs gave."""
    drawn = [
        (picture, {ground: png(picture, colours) for ground, colours in GROUNDS.items()})
        for picture in paper.pictures(found, quick)
    ]
    return Result(
        name, paper.TITLE, " ".join(paper.NOTES.split()), paper.tables(found, quick), paper.best(found, quick), drawn
    )


def png(picture: Picture, colours: dict[str, str]) -> bytes:
    """A picture on a ground of these colours."""
    import matplotlib

    ink: dict[Any, Any] = {
        "text.color": colours["ink"],
        "axes.edgecolor": colours["soft"],
        "axes.labelcolor": colours["ink"],
        "xtick.color": colours["soft"],
        "ytick.color": colours["soft"],
        "axes.facecolor": colours["card"],
        "figure.facecolor": colours["card"],
        "legend.labelcolor": colours["ink"],
        "grid.color": colours["rule"],
        "axes.spines.top": False,
        "axes.spines.right": False,
        "font.size": 9.5,
        "savefig.facecolor": colours["card"],
    }
    with matplotlib.rc_context(ink):
        figure = picture.draw(colours)
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=DOTS, metadata={"Software": None})
        from matplotlib import pyplot

        pyplot.close(figure)
    return content.getvalue()


# Numbers -----------------------------------------------------------------------------------------------


def rows_of(result: Result) -> list[dict[str, Any]]:
    """Every cell on a line of its own."""
    lines = []
    for table in result.tables:
        for row in table.rows:
            for column, cell in zip(table.columns, row.cells, strict=True):
                if not isinstance(cell, Cell):
                    continue
                line: dict[str, Any] = {
                    "paper": result.name,
                    "table": table.key,
                    **dict(zip(table.names, row.names, strict=True)),
                }
                line |= {"column": column, "published": cell.published, "published_spread": cell.published_spread}
                line |= {"ours": cell.ours, "our_spread": cell.our_spread, "counted": cell.is_counted}
                lines.append(line | {"way": cell.way, "verdict": cell.verdict, "why": cell.why})
    return lines


def numbers(results: Sequence[Result]) -> dict[str, Any]:
    """All of it, for JSON."""
    best = [vars(one) | {"beats": one.beats} for one in bests(results)]
    beaten, sets = beaten_sets(bests(results))
    return {
        "said": said(results),
        "counts": told(counted(results)),
        "papers": {result.name: told(count(result.tables)) for result in results},
        "sets": {"beaten": beaten, "of": sets},
        "best": best,
        "learned": [lesson._asdict() for lesson in learned(results)],
        "rows": [line for result in results for line in rows_of(result)],
        "aggro": __version__,
    }


def told(counts: Counts) -> dict[str, dict[str, int]]:
    """A count for JSON: ways with no cell are left out."""
    return {way: {verdict: of[verdict] for verdict in Verdict} for way, of in counts.items() if of}


def counted(results: Sequence[Result]) -> Counts:
    return together(count(result.tables) for result in results)


def bests(results: Sequence[Result]) -> list[Best]:
    return [one for result in results for one in result.best]


def learned(results: Sequence[Result]) -> list[Lesson]:
    names = {result.name for result in results}
    return [lesson for lesson in LESSONS if lesson.paper in names]


def said(results: Sequence[Result]) -> list[str]:
    """The counts, a sentence for each way, and on how many sets nothing chosen is better than what was published."""
    beaten, sets = beaten_sets(bests(results))
    text = (
        f"With nothing chosen, aggro is better than the published best in every table on {beaten} of {sets} data sets."
    )
    return [*sentences(counted(results)), *([text] if sets else [])]


# The page ----------------------------------------------------------------------------------------------


def html(results: Sequence[Result], quick: bool) -> str:
    """The page."""
    sections = [*summary(results), *(section for result in results for section in sections_of(result))]
    versions = f"aggro {__version__}, Python {platform.python_version()} on {platform.machine()}"
    footer = f"Written by “python -m papers”: {versions}."
    short = "This is the quick run: few rows, few orders; its figures say that everything works, and no more. "
    return page.render(
        "Passive-aggressive learning: five papers reproduced",
        (short if quick else "") + " ".join(said(results)),
        sections,
        footer,
        wide=True,
    )


def summary(results: Sequence[Result]) -> list[page.Section]:
    """How cells are counted, the counts of each paper, what was learned about the papers, the best on each set."""
    counts = {result.name: count(result.tables) for result in results}
    per_paper = [
        (name, way, *(str(of[way][verdict]) for verdict in Verdict), str(of[way].total()))
        for name, of in counts.items()
        for way in Way
        if of[way]
    ]
    columns = ("Paper", "How", *(verdict.capitalize() for verdict in Verdict), "Of")
    sections = [
        page.Section("The count", RULES, page.Table(columns, per_paper, numbers=frozenset(range(2, len(columns)))))
    ]
    if lessons := learned(results):
        lines = [(lesson.paper, lesson.kind, lesson.text) for lesson in lessons]
        table = page.Table(("Paper", "Kind", "What we learned"), lines)
        sections.append(page.Section("What we learned about these papers", "", table))
    return [*sections, *the_best(results)]


def the_best(results: Sequence[Result]) -> list[page.Section]:
    best = bests(results)
    if not best:
        return []
    rows = [
        (
            one.name,
            one.measure,
            f"{one.published:g} ({one.published_by})",
            f"{one.ours:.2f} ({one.ours_by})",
            f"{one.untuned:.2f} ({one.untuned_by})",
            "yes" if one.beats else "no",
        )
        for one in best
    ]
    columns = ("Set", "Measured", "Published best", "Ours, chosen", "Ours, nothing chosen", "Better than published")
    bold = frozenset((i, 4) for i, one in enumerate(best) if one.beats)
    note = "The best over all rows of the paper's tables, and what the learners do as they come, with nothing chosen."
    return [page.Section("The best of everything, on each set", note, page.Table(columns, rows, best=bold))]


def sections_of(result: Result) -> list[page.Section]:
    """A paper: what it is, its tables, its pictures."""
    note = f"{' '.join(sentences(count(result.tables)))} {result.notes}"
    sections = [page.Section(result.title, note, None)]
    for table in result.tables:
        sections.append(page.Section(table.title, table.note, shown(table)))
    for picture, drawn in result.pictures:
        sections.append(page.Section(picture.title, picture.note, None, image(picture.title, drawn)))
    return sections


def shown(table: Table) -> page.Table:
    """A table for the page: what was published stands beside each cell that has it."""
    columns, rows = list(table.names), []
    paired = [
        any(isinstance(row.cells[j], Cell) and row.cells[j].published is not None for row in table.rows)  # type: ignore[union-attr]
        for j in range(len(table.columns))
    ]
    for column, both in zip(table.columns, paired, strict=True):
        columns += [f"{column}, published", "ours"] if both else [column]
    for row in table.rows:
        cells = list(row.names)
        for cell, both in zip(row.cells, paired, strict=True):
            published = cell.published_text() if isinstance(cell, Cell) else ""
            cells += [published, str(cell)] if both else [str(cell)]
        rows.append([UNBROKEN.sub("\N{NON-BREAKING HYPHEN}", cell) for cell in cells])
    numbers = frozenset(range(len(table.names), len(columns)))
    extra = frozenset(i for i, row in enumerate(table.rows) if row.extra)
    return page.Table(columns, rows, numbers=numbers, peers=extra)


def image(title: str, drawn: Mapping[str, bytes]) -> str:
    """A picture inside the page, as the reader's system is: light or dark."""
    light, dark = (base64.b64encode(drawn[ground]).decode() for ground in GROUNDS)
    return (
        f'<picture><source media="(prefers-color-scheme: dark)" srcset="data:image/png;base64,{dark}">'
        f'<img alt="{escape(title)}" style="width:100%" src="data:image/png;base64,{light}"></picture>'
    )


# Files -------------------------------------------------------------------------------------------------


def files(results: Sequence[Result], quick: bool) -> dict[str, bytes]:
    """Every file of the report, by its name in the folder."""
    made = {
        "report.html": html(results, quick).encode(),
        "results.json": json.dumps(numbers(results), indent=1).encode(),
    }
    for result in results:
        for table in result.tables:
            made[f"{table.key}.csv"] = as_csv([line for line in rows_of(result) if line["table"] == table.key])
        for picture, drawn in result.pictures:
            for ground, content in drawn.items():
                made[f"{picture.key}-{ground}.png"] = content
    return made


def as_csv(lines: Sequence[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    if lines:
        writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    return text.getvalue().encode()
