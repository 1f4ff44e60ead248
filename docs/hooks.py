"""What MkDocs does beside rendering pages: the table of learners and their menu are made from the registry."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from aggro.learners.registry import ACTIVE, LEARNERS, RECORDS, Entry

MARK = "<!-- learners -->"
FETCHED, OWN = "https://unpkg.com/iframe-worker/shim", "assets/search-from-disk.js"
PAGES = Path(__file__).parent / "learners"


def page_name(entry: Entry) -> str:
    """PAClassifier: pa-classifier.md."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*", entry.name)
    return "-".join(words).lower() + ".md"


def table() -> str:
    """A line for each learner of the registry; its name is a link where it has a page."""
    rows = ["| learner | task | |", "|---|---|---|"]
    for entry in LEARNERS:
        summary = (entry.load().__doc__ or "").strip().partition("\n")[0]
        page = page_name(entry)
        name = f"[`{entry.name}`]({page})" if (PAGES / page).exists() else f"`{entry.name}`"
        rows.append(f"| {name} | {entry.task} | {summary} |")
    return "\n".join(rows)


def on_config(config: Any) -> Any:
    """The menu has the learners in the order of the registry."""
    (menu,) = (section["Learners"] for section in config["nav"] if "Learners" in section)
    menu += [f"learners/{page_name(entry)}" for entry in (*LEARNERS, ACTIVE, RECORDS)]
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    return markdown.replace(MARK, table())


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """What the theme would fetch for pages opened from the disk is our own: the network is not needed."""
    return output.replace(FETCHED, "../" * page.url.count("/") + OWN)


def on_post_template(output_content: str, **_: Any) -> str:
    return output_content.replace(FETCHED, OWN)
