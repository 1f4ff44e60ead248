"""The report: one page that stands alone, all numbers as JSON and CSV, and the pictures."""

from __future__ import annotations

import base64
import csv
import io
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from aggro import __version__
from aggro.evaluate import page
from aggro.plot.colours import DARK, LIGHT
from papers.cells import Best, Cell, Picture, Table, count
from papers.paper import Found, Paper

GROUNDS = {"light": LIGHT, "dark": DARK}
DOTS = 144  # an inch
MATCHED = (
    "A cell is matched (✓) if ours is at least as good as the published one, but for the larger of the published "
    "spread, our spread and half a point. Times and spreads are shown and not counted. The first paper has no tables: "
    "its cells are the bounds and limits of its theorems, which must hold. Rows in grey are not of the paper."
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
                lines.append(line | {"matched": cell.matched if cell.is_counted else None, "why": cell.why})
    return lines


def numbers(results: Sequence[Result]) -> dict[str, Any]:
    """All of it, for JSON."""
    matched, cells = count(table for result in results for table in result.tables)
    best = [vars(one) | {"beats": one.beats} for one in bests(results)]
    each = {}
    for result in results:
        own, of = count(result.tables)
        each[result.name] = {"matched": own, "cells": of}
    rows = [line for result in results for line in rows_of(result)]
    return {"matched": matched, "cells": cells, "papers": each, "best": best, "rows": rows, "aggro": __version__}


def bests(results: Sequence[Result]) -> list[Best]:
    return [one for result in results for one in result.best]


def verdict(results: Sequence[Result]) -> str:
    """The count, in a sentence."""
    matched, cells = count(table for result in results for table in result.tables)
    best = bests(results)
    text = f"{matched} of {cells} published cells are matched ({100 * matched / max(cells, 1):.1f} %)."
    if best:
        beaten = sum(one.beats for one in best)
        text += f" With nothing chosen, aggro is better than the published best on {beaten} of {len(best)} sets."
    return text


# The page ----------------------------------------------------------------------------------------------


def html(results: Sequence[Result], quick: bool) -> str:
    """The page."""
    sections = [summary(results), *(section for result in results for section in sections_of(result))]
    versions = f"aggro {__version__}, Python {platform.python_version()} on {platform.machine()}"
    footer = f"Written by “python -m papers”: {versions}."
    short = "This is the quick run: few rows, few orders; its figures say that everything works, and no more. "
    return page.render(
        "Passive-aggressive learning: five papers reproduced",
        (short if quick else "") + verdict(results),
        sections,
        footer,
    )


def summary(results: Sequence[Result]) -> page.Section:
    best = bests(results)
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
    return page.Section("The best of everything, on each set", MATCHED, page.Table(columns, rows, best=bold))


def sections_of(result: Result) -> list[page.Section]:
    """A paper: what it is, its tables, its pictures."""
    matched, cells = count(result.tables)
    said = f"{matched} of {cells} cells matched. {result.notes}"
    sections = [page.Section(result.title, said, None)]
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
        rows.append(cells)
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
