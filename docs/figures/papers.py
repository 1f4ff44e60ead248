"""The measured part of docs/papers.md, from a report.

    AGGRO_DATA=folder python -m papers all --out FOLDER
    python docs/figures/papers.py FOLDER

writes the count, the best of each set and every counted cell between the two marks of the page.
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
BEGIN, END = "<!-- measured -->", "<!-- end of what was measured -->"
UNBROKEN = re.compile("(?<=[A-Z])-(?=[0-9I])")  # PA-I and BPALS-8 stay on one line
ALWAYS = {
    *("paper", "table", "column", "published", "published_spread", "ours", "our_spread", "counted", "matched", "why"),
}  # fmt: skip


def number(value: float | None, spread: float | None) -> str:
    if value is None:
        return "–"
    digits = 1 if abs(value) >= 300 else 2 if abs(value) >= 0.1 or value == 0 else 4
    return f"{value:,.{digits}f}" + (f" ± {spread:,.{digits}f}" if spread is not None else "")


def cell(line: dict[str, Any]) -> str:
    mark = "✓" if line["matched"] else "✗"
    return f"{number(line['ours'], line['our_spread'])} ({number(line['published'], None)}) {mark}"


def table(key: str, lines: list[dict[str, Any]]) -> Iterator[str]:
    """The counted cells of one table."""
    names = [name for name in lines[0] if name not in ALWAYS]
    columns = list(dict.fromkeys(line["column"] for line in lines))
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for line in lines:
        rows.setdefault(tuple(str(line[name]) for name in names), {})[line["column"]] = cell(line)
    paper, _, rest = key.partition("-")
    matched = sum(bool(line["matched"]) for line in lines)
    yield f"### {paper}: {rest.replace('-', ' ')}, {matched} of {len(lines)}\n"
    yield "| " + " | ".join((*names, *columns)) + " |"
    yield "|" + "---|" * (len(names) + len(columns))
    for row, cells in rows.items():
        yield "| " + " | ".join((*row, *(cells.get(column, "") for column in columns))) + " |"
    yield ""


def measured(found: dict[str, Any]) -> Iterator[str]:
    share = 100.0 * found["matched"] / found["cells"]
    better = sum(one["beats"] for one in found["best"])
    yield (
        f"**{found['matched']} of {found['cells']} cells matched ({share:.1f} %).** With nothing chosen, "
        f"aggro is better than the published best on {better} of {len(found['best'])} sets.\n"
    )
    yield "| paper | matched | of |\n|---|---|---|"
    for name, one in found["papers"].items():
        yield f"| {name} | {one['matched']} | {one['cells']} |"
    yield "\n## The best on each set\n"
    yield "| set | measured | published | by | ours, chosen | by | nothing chosen | by | |"
    yield "|---" * 9 + "|"
    for one in found["best"]:
        cells = (one["name"], one["measure"], f"{one['published']:.2f}", one["published_by"], f"{one['ours']:.2f}")
        more = (one["ours_by"], f"{one['untuned']:.2f}", one["untuned_by"], "better" if one["beats"] else "")
        yield UNBROKEN.sub("\N{NON-BREAKING HYPHEN}", "| " + " | ".join((*cells, *more)) + " |")
    yield "\n## Every counted cell\n\naggro's result ± its spread, and the published result in brackets.\n"
    counted = [line for line in found["rows"] if line["counted"]]
    for key, lines in groupby(counted, key=lambda line: line["table"]):
        yield from table(key, list(lines))


def main(folder: Path) -> None:
    found = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    text = "\n".join(measured(found))
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
