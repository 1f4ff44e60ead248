"""What MkDocs does beside rendering pages: the table of learners and their menu are made from the registry."""

from __future__ import annotations

import csv
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import aggro
from aggro.learners.registry import ACTIVE, LEARNERS, RECORD_ENTRY, Entry

CONTRIBUTING = "<!-- CONTRIBUTING.md -->"
MARK, MEASURED = "<!-- learners -->", "<!-- learners, measured -->"
VERSION = "<!-- version -->"
FETCHED, OWN = "https://unpkg.com/iframe-worker/shim", "assets/search-from-disk.js"
PAGES = Path(__file__).parent / "learners"
FIGURES = Path(__file__).parent / "figures" / "which_learner.csv"
ROOT = Path(__file__).parents[1]
BENCH = ROOT / "benchmarks"
TASKS = {"classification": "Classification", "regression": "Regression", "outlier": "Outliers"}
WRAPPERS = {"Few labels": ACTIVE, "Raw records": RECORD_ENTRY}
PUBLISHED = "Published algorithms"
# What papers compare with, and few people need.
COMPARED = {
    *("Perceptron", "ALMAClassifier", "ROMMAClassifier", "OSELMClassifier", "CWClassifier", "ILOLClassifier"),
    *("FOGDClassifier", "NOGDClassifier", "BPASClassifier", "BOGDClassifier", "BSGDClassifier"),
    *("RandomizedBudgetPerceptron", "Forgetron", "Projectron"),
}
ROLE = re.compile(r":(?:func|class|meth|mod|attr):<code>~?")
PRE = re.compile(r"(<pre[ >].*?</pre>)", re.DOTALL)
OPTION = re.compile(r"(?<=[>\s(])(--[a-z][a-z-]*)(?=[^<>]*</code>)")
TYPES = re.compile(r"(?<=<code>)[^<]*&#39;[^<]*(?=</code>\s*</td>)")
BESIDE = re.compile(r"<!-- measured beside (.+?)(?:: (.+?))? -->")


def page_name(entry: Entry) -> str:
    """PAClassifier: pa-classifier.md."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*", entry.name)
    return "-".join(words).lower() + ".md"


def groups() -> dict[str, list[Entry]]:
    """The learners by use: every learner is in one group, and a new one in the group of its task."""
    grouped: dict[str, list[Entry]] = {title: [] for title in (*TASKS.values(), *WRAPPERS, PUBLISHED)}
    for entry in LEARNERS:
        grouped[PUBLISHED if entry.name in COMPARED else TASKS[entry.task]].append(entry)
    for title, entry in WRAPPERS.items():
        grouped[title].append(entry)
    return grouped


def summary(page: Path) -> str:
    """The first sentence of a learner's page."""
    intro = page.read_text(encoding="utf-8").split("\n\n")[1].replace("\n", " ")
    return re.split(r"(?<=[.])\s", intro, maxsplit=1)[0]


def table() -> str:
    """A table for each group of learners."""
    tables = []
    for title, entries in groups().items():
        rows = [f"## {title}", "", "| learner | |", "|---|---|"]
        for entry in entries:
            page = page_name(entry)
            rows.append(f"| [`{entry.name}`]({page}) | {summary(PAGES / page)} |")
        tables.append("\n".join(rows))
    return "\n\n".join(tables)


def measured() -> str:
    """What ``benchmarks/which_learner.py`` found: error and time of each learner and set; the best error is bold."""
    with FIGURES.open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    sets = list(dict.fromkeys(line["set"] for line in lines))
    least = {name: min(float(line["error"]) for line in lines if line["set"] == name) for name in sets}
    found = {(line["learner"], line["set"]): line for line in lines}

    def cell(learner: str, name: str) -> str:
        line = found.get((learner, name))
        if line is None:
            return ""
        error = f"{float(line['error']):.2f}"
        bold = "**" if float(line["error"]) == least[name] else ""
        return f"{bold}{error}{bold} · {float(line['times']):.2g} ×"

    rows = ["| learner | " + " | ".join(sets) + " |", "|---" * (len(sets) + 1) + "|"]
    for learner in dict.fromkeys(line["learner"] for line in lines):
        page = page_name(next(entry for entry in LEARNERS if entry.name == learner))
        rows.append(f"| [{learner}](learners/{page}) | " + " | ".join(cell(learner, name) for name in sets) + " |")
    return "\n".join(rows)


def beside(peer: str, word: str | None) -> str:
    """What the benchmarks stored of jobs beside this peer, or of those whose names have the word."""
    stored = json.loads((BENCH / "results.json").read_text(encoding="utf-8"))
    rows = ["| job | | 10th to 90th percentile | target |", "|---|---|---|---|"]
    for one in stored["cells"]:
        if one["peer"] == peer and (word or "") in one["job"]:
            sign = "≤" if one.get("at_most") else "≥"
            target = f"{sign} {one['target']:g}" if "target" in one else ""
            measured = f"{one['ratio']:.3g} {one.get('unit', '×')}"
            rows.append(f"| {one['job']} | {measured} | {one['low']:.3g} – {one['high']:.3g} | {target} |")
    return "\n".join(rows)


def project() -> dict[str, str]:
    """The addresses of the project, by name."""
    return dict(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"])


def version() -> str:
    """A line for the home page: the version, and where the project is."""
    urls = project()
    links = [f"[{name}]({urls[key]})" for name, key in (("Repository", "Source"), ("Issues", "Issues"))]
    return " · ".join([f"Version {aggro.__version__}", *links, "[Changelog](changelog.md)"])


def on_config(config: Any) -> Any:
    """The menu has the learners in groups, each in the order of the registry."""
    config["repo_url"] = project()["Source"]
    config["repo_name"] = f"aggro {aggro.__version__}"
    (reference,) = (section["Reference"] for section in config["nav"] if "Reference" in section)
    (menu,) = (section["Learners"] for section in reference if "Learners" in section)
    menu.append("learners/auto.md")
    for title, entries in groups().items():
        menu.append({title: [f"learners/{page_name(entry)}" for entry in entries]})
    return config


def on_files(files: Any, config: Any) -> Any:
    """The plots of the benchmarks are pictures of the site."""
    from mkdocs.structure.files import File

    for plot in sorted((BENCH / "plots").glob("*.png")):
        files.append(File.generated(config, f"assets/benchmarks/{plot.name}", abs_src_path=str(plot)))
    return files


def contributing() -> str:
    """The page at the root of the repository, with links as they are from here."""
    return (PAGES.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8").replace("](docs/", "](")


def on_page_markdown(markdown: str, **_: Any) -> str:
    if CONTRIBUTING in markdown:
        markdown = markdown.replace(CONTRIBUTING, contributing())
    if MEASURED in markdown:
        markdown = markdown.replace(MEASURED, measured())
    if VERSION in markdown:
        markdown = markdown.replace(VERSION, version())
    markdown = BESIDE.sub(lambda mark: beside(mark[1], mark[2]), markdown)
    return markdown.replace(MARK, table())


def on_page_content(html: str, **_: Any) -> str:
    """Roles of docstrings (``:func:`name` ``) are plain code, types have double quotes, options stay in one line."""
    html = TYPES.sub(lambda cell: cell[0].replace("&#39;", "&quot;"), ROLE.sub("<code>", html))
    parts = PRE.split(html)
    parts[::2] = [OPTION.sub(r'<span class="option">\1</span>', part) for part in parts[::2]]
    return "".join(parts)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """What the theme would fetch for pages opened from the disk is our own: the network is not needed."""
    return output.replace(FETCHED, "../" * page.url.count("/") + OWN)


def on_post_template(output_content: str, **_: Any) -> str:
    return output_content.replace(FETCHED, OWN)
