"""The site that MkDocs builds: search from the disk, nothing fetched, pictures that follow the page."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.pages import ROOT

DOCS = ROOT / "docs"
LEARNERS = sorted(page for page in (DOCS / "learners").glob("*.md") if page.name != "index.md")


@pytest.mark.parametrize("page", LEARNERS, ids=lambda page: page.stem)
def test_a_learner_s_page_says_what_it_is_for_and_shows_it_before_its_formulas(page):
    intro, *sections = re.split(r"(?m)^## ", page.read_text(encoding="utf-8"))
    assert len(intro.split("\n", 1)[1].strip()) > 30
    titles = [section.split("\n")[0] for section in sections]
    example = titles.index("Example" if "Example" in titles else "Two ways to use it")
    assert example == 0
    assert "```python" in sections[0]
    assert "```text" in sections[0]
    assert titles[1:3] == ["When to use it", "When not to"]
    assert titles[titles.index("Problem") - 1] == "Parameters and methods"


GUIDES = sorted(set(DOCS.rglob("*.md")) - set(LEARNERS) - {DOCS / "changelog.md", DOCS / "contributing.md"})


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: str(page.relative_to(DOCS)))
def test_a_page_begins_with_what_the_reader_can_do_after_it(page):
    body = re.sub(r"\A---\n.*?\n---\n", "", page.read_text(encoding="utf-8"), flags=re.S).lstrip()
    title, first = body.split("\n\n")[:2]
    assert title.startswith("# ")
    assert re.match(r"(After|On|From) .*\byou\b", first, re.S), first


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_pictures_follow_the_page_s_own_switch(page):
    """A picture is there for light and for dark pages; the reader's system has no say in it."""
    text = page.read_text(encoding="utf-8")
    assert "prefers-color-scheme" not in text
    assert "<picture" not in text
    light = re.findall(r"\]\(([^)]*)-light\.svg#only-light\)", text)
    dark = re.findall(r"\]\(([^)]*)-dark\.svg#only-dark\)", text)
    assert light == dark
    assert text.count(".svg") == 2 * len(light)
    for name in light:
        for kind in ("light", "dark"):
            assert (page.parent / f"{name}-{kind}.svg").exists()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("material")
    pytest.importorskip("mkdocstrings")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return folder


def test_the_search_s_index_is_a_script_that_pages_from_the_disk_may_read(site):
    text = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("var __index = ").removesuffix(";"))
    assert any("half_life" in entry["text"] for entry in index["docs"])


def test_nothing_is_fetched(site):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        fetched = re.findall(
            r'<(?:script|img|iframe)[^>]*src="([^"]*)"|<link[^>]*href="([^"]*)"[^>]*rel="stylesheet"', text
        )
        for source in map("".join, fetched):
            assert "://" not in source, (page.name, source)
            if page.name != "404.html":  # its paths are those of a server
                assert (page.parent / source.split("#")[0]).exists(), (page.name, source)


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.skipif(CHROMIUM is None, reason="takes a browser")
@pytest.mark.parametrize("page", ["index.html", "learners/pa-classifier.html"])
def test_the_search_finds_from_the_disk(site, page, tmp_path):
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--virtual-time-budget=20000",
        f"--user-data-dir={tmp_path}",
    ]
    address = f"{Path(site, page).as_uri()}?q=half_life"
    ran = subprocess.run([CHROMIUM, *options, "--dump-dom", address], capture_output=True, text=True, timeout=120)
    assert re.search(r'md-search-result__meta">\s*\d+ matching documents', ran.stdout), ran.stderr[-500:]


WIDTHS = """
<!doctype html><title>-</title><body style="margin:0">
<iframe style="width:{width}px;height:900px;border:0" src="{page}"></iframe>
"""


@pytest.mark.skipif(CHROMIUM is None, reason="takes a browser")
@pytest.mark.parametrize(("width", "least"), [(1300, 330), (400, 280)])
def test_descriptions_of_parameters_are_not_squeezed(site, width, least, tmp_path):
    """Their cells are wide, and nothing has to be scrolled sideways, also on a phone."""
    script = (
        "<script>addEventListener('load', () => { const cells = [...document.querySelectorAll("
        "'.doc-contents table td:nth-child(3)')].map(c => c.getBoundingClientRect()); document.title = JSON.stringify("
        "[cells.length, Math.min(...cells.map(c => c.width)), Math.max(...cells.map(c => c.right))]); "
        "parent.document.title = document.title })</script>"
    )
    page = site / "learners" / "pa-classifier.html"
    measured = page.with_name(f"measured-{width}.html")
    measured.write_text(page.read_text(encoding="utf-8").replace("</body>", script + "</body>"), encoding="utf-8")
    frame = measured.with_name(f"frame-{width}.html")  # a window cannot be as narrow as a phone; a frame can
    frame.write_text(WIDTHS.format(width=width, page=measured.name), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000", "--virtual-time-budget=20000"]
    options += ["--allow-file-access-from-files", f"--user-data-dir={tmp_path}"]
    ran = subprocess.run(
        [CHROMIUM, *options, "--dump-dom", frame.as_uri()], capture_output=True, text=True, timeout=120
    )
    (found,) = re.findall(r"<title>(\[.*?\])</title>", ran.stdout)
    count, narrowest, rightmost = json.loads(found)
    assert count > 10
    assert narrowest >= least
    assert rightmost <= width
