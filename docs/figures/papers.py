"""The measured part of docs/papers.md, and README's sentence about it, from a report.

    AGGRO_DATA=folder python -m papers all --out FOLDER
    python docs/figures/papers.py FOLDER

writes the counts, what was learned about the papers, the best of each set and every counted cell between the two marks
of the page, and the count of the cells as stated between those of README.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "papers.md"
README = Path(__file__).parents[2] / "README.md"
BEGIN, END = "<!-- measured -->", "<!-- end of what was measured -->"
IN_README = "<!-- papers -->", "<!-- end of papers -->"
MARKS = {"reproduced": "✓", "better": "▲", "worse": "✗"}
BOUND = "bound of a theorem"
UNBROKEN = re.compile("(?<=[A-Z])-(?=[0-9I])")  # PA-I and BPALS-8 stay on one line
ALWAYS = {
    *("paper", "table", "column", "published", "published_spread", "ours", "our_spread", "counted", "way", "verdict"),
    "why",
}  # fmt: skip


def number(value: float | None, spread: float | None) -> str:
    if value is None:
        return "–"
    digits = 1 if abs(value) >= 300 else 2 if abs(value) >= 0.1 or value == 0 else 4
    return f"{value:,.{digits}f}" + (f" ± {spread:,.{digits}f}" if spread is not None else "")


def cell(line: dict[str, Any]) -> str:
    own = f"{number(line['ours'], line['our_spread'])} {MARKS[line['verdict']]}"
    return f"{own} ({number(line['published'], line['published_spread'])})"


def table(key: str, lines: list[dict[str, Any]]) -> Iterator[str]:
    """The counted cells of one table."""
    names = [name for name in lines[0] if name not in ALWAYS]
    columns = list(dict.fromkeys(line["column"] for line in lines))
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for line in lines:
        said = [str(line[name]) for name in names]
        way = line["way"]
        how = () if way == BOUND or any(way in text for text in said) else (way,)
        rows.setdefault((*said, *how), {})[line["column"]] = cell(line)
    names += ["how"] * (max(map(len, rows)) - len(names))
    rows = {(*row, *[""] * (len(names) - len(row))): cells for row, cells in rows.items()}
    paper, _, rest = key.partition("-")
    yield f"### {paper}: {rest.replace('-', ' ')}\n"
    yield "| " + " | ".join((*names, *columns)) + " |"
    yield "|" + "---|" * (len(names) + len(columns))
    for row, cells in rows.items():
        yield "| " + " | ".join((*row, *(cells.get(column, "") for column in columns))) + " |"
    yield ""


def measured(found: dict[str, Any]) -> Iterator[str]:
    for sentence in found["said"]:
        yield f"- {sentence}"
    yield "\n| paper | how | reproduced | better | worse | of |\n|---|---|---|---|---|---|"
    for name, ways in found["papers"].items():
        for way, of in ways.items():
            yield "| " + " | ".join((name, way, *(str(of[verdict]) for verdict in MARKS), str(sum(of.values())))) + " |"
    yield "\n## What we learned about these papers\n\n| paper | kind | |\n|---|---|---|"
    for lesson in found["learned"]:
        text = lesson["text"].replace("|", r"\|")
        yield f"| {lesson['paper']} | {lesson['kind']} | {text} |"
    yield "\n## The best on each set\n"
    yield "| set | measured | published | by | ours, chosen | by | nothing chosen | by | |"
    yield "|---" * 9 + "|"
    for one in found["best"]:
        cells = (one["name"], one["measure"], f"{one['published']:.2f}", one["published_by"], f"{one['ours']:.2f}")
        more = (one["ours_by"], f"{one['untuned']:.2f}", one["untuned_by"], "better" if one["beats"] else "")
        yield UNBROKEN.sub("\N{NON-BREAKING HYPHEN}", "| " + " | ".join((*cells, *more)) + " |")
    yield "\n## Every counted cell\n\naggro's result ± its spread, the verdict, and the published result in brackets.\n"
    counted = [line for line in found["rows"] if line["counted"]]
    for key, lines in groupby(counted, key=lambda line: line["table"]):
        yield from table(key, list(lines))


def between(path: Path, begin: str, end: str, text: str) -> None:
    """Replace what stands between two marks of a file."""
    before, rest = path.read_text(encoding="utf-8").split(begin)
    _, after = rest.split(end)
    path.write_text(f"{before}{begin}{text}{end}{after}", encoding="utf-8")


def sentence(counts: dict[str, dict[str, int]]) -> str:
    """README's: the cells as stated, and the others in a few words."""
    stated, *others = (counts[way] for way in counts if way != BOUND)
    code, in_view = (f"{of['reproduced']} of {sum(of.values())}" for of in others)
    same, better, worse = (stated[verdict] for verdict in ("reproduced", "better", "worse"))
    return (
        f"Of {sum(stated.values())} published cells, {same} are reproduced as stated, {better} are better and {worse} "
        f"worse\n(reproduced as the authors' code does: {code}; with the published figure in view: {in_view})."
    )


def main(folder: Path) -> None:
    found = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    between(PAGE, BEGIN, END, "\n" + "\n".join(measured(found)) + "\n")
    between(README, *IN_README, sentence(found["counts"]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
