"""One HTML page that stands alone: no network, no scripts; light and dark as the reader's system is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from aggro.plot.colours import DARK, LIGHT, SERIES, css

STYLE = """
:root { color-scheme: light dark;
  LIGHT }
@media (prefers-color-scheme: dark) { :root {
  DARK } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 960px; margin: 0 auto; padding: 40px 20px 64px; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.2rem; margin: 2.6rem 0 .3rem; }
p { margin: 0 0 1rem; max-width: 46rem; }
.lead { font-size: 1.1rem; } p.note, footer { color: var(--soft); }
figure { margin: 0 0 1rem; padding: 12px; background: var(--card); border-radius: 10px; overflow-x: auto; }
svg { display: block; width: 100%; min-width: 620px; height: auto; font: 12px system-ui, sans-serif; }
svg.narrow { display: none; min-width: 300px; }
@media (max-width: 640px) { svg.narrow { display: block; } svg.wide { display: none; } }
svg text { fill: var(--ink); } svg .tick, svg .axis { fill: var(--soft); }
svg .grid { stroke: var(--rule); } svg .base { stroke: var(--soft); }
svg .floor { stroke: var(--soft); stroke-dasharray: 1 4; stroke-linecap: round; stroke-width: 2; }
svg polyline { fill: none; stroke-width: 2; stroke-linejoin: round; }
svg polyline.lead { stroke-width: 1; opacity: .7; }
SERIES
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .94rem; font-variant-numeric: tabular-nums; }
th, td { padding: 6px 12px 6px 0; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: top; }
th { color: var(--soft); font-weight: 600; } td.number, th.number { text-align: right; }
td { overflow-wrap: anywhere; } td.number, th.number { white-space: nowrap; }
main.wide { max-width: 1600px; } main.wide td { overflow-wrap: normal; } main.wide figure { max-width: 960px; }
tr.peer td { color: var(--soft); } tr td.best { font-weight: 700; color: var(--ink); }
footer { margin-top: 3rem; font-size: .88rem; }
"""
SERIES_CSS = "\n".join(
    f"svg polyline.{name} {{ stroke: var(--{name}); }} svg text.{name} {{ fill: var(--{name}); }}"
    for name in (*SERIES, "peer")
)
STYLE = STYLE.replace("SERIES", SERIES_CSS).replace("LIGHT", css(LIGHT)).replace("DARK", css(DARK))


@dataclass(frozen=True)
class Table:
    """Figures in rows; columns of ``numbers`` stand right. ``best`` and ``peers`` say how cells and rows look."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[int] = frozenset()
    best: frozenset[tuple[int, int]] = frozenset()  # (row, column)
    peers: frozenset[int] = frozenset()  # rows


@dataclass(frozen=True)
class Section:
    """A heading, what to see, a chart (SVG, or a picture) and a table, where there are any."""

    title: str
    note: str
    table: Table | None
    chart: str = ""


def render(title: str, lead: str, sections: Sequence[Section], footer: str, *, wide: bool = False) -> str:
    """The whole page as text. Everything but the charts is escaped. ``wide`` pages have tables of many columns."""
    body = "\n".join(map(draw_section, sections))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body><main{' class="wide"' if wide else ""}>
<h1>{escape(title)}</h1>
<p class="lead">{escape(lead)}</p>
{body}
<footer>{escape(footer)}</footer>
</main></body>
</html>
"""


def draw_section(section: Section) -> str:
    figure = f"<figure>{section.chart}</figure>" if section.chart else ""
    table = draw_table(section.table) if section.table is not None else ""
    return (
        f"<section><h2>{escape(section.title)}</h2>\n"
        f'<p class="note">{escape(section.note)}</p>\n{figure}\n{table}</section>'
    )


def draw_table(table: Table) -> str:
    def kind(column: int, row: int | None = None) -> str:
        names = ["number"] * (column in table.numbers) + ["best"] * ((row, column) in table.best)
        return f' class="{" ".join(names)}"' if names else ""

    head = "".join(f'<th scope="col"{kind(j)}>{escape(name)}</th>' for j, name in enumerate(table.columns))
    lines = []
    for i, row in enumerate(table.rows):
        cells = "".join(f"<td{kind(j, i)}>{escape(cell)}</td>" for j, cell in enumerate(row))
        lines.append(f'<tr class="peer">{cells}</tr>' if i in table.peers else f"<tr>{cells}</tr>")
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n<tbody>{"".join(lines)}</tbody></table></div>'
