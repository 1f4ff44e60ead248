"""The docs follow the code: the table of learners, and a page for each."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

import aggro
from aggro.learners.registry import ACTIVE, LEARNERS, RECORD_ENTRY

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def hooks():
    spec = importlib.util.spec_from_file_location("docs_hooks", DOCS / "hooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_have_every_learner_once(hooks):
    assert hooks.MARK in (DOCS / "learners" / "index.md").read_text(encoding="utf-8")
    shown = hooks.on_page_markdown(f"before\n\n{hooks.MARK}\n").splitlines()
    for entry in (*LEARNERS, ACTIVE, RECORD_ENTRY):
        assert sum(line.startswith(f"| [`{entry.name}`](") for line in shown) == 1, entry.name


def test_learners_are_grouped_by_use(hooks):
    groups = {title: {entry.name for entry in entries} for title, entries in hooks.groups().items()}
    assert "PAClassifier" in groups["Classification"]
    assert "AROWRegressor" in groups["Regression"]
    assert "PAUniclass" in groups["Outliers"]
    assert "Forgetron" in groups["Published algorithms"]
    assert {entry.name for entry in LEARNERS} >= hooks.COMPARED


@pytest.mark.parametrize("entry", LEARNERS, ids=lambda entry: entry.name)
def test_every_learner_has_a_page_that_shows_its_parameters(hooks, entry):
    page = (DOCS / "learners" / hooks.page_name(entry)).read_text(encoding="utf-8")
    assert f"::: aggro.learners.{entry.module}.{entry.name}" in page


def pages_of(menu) -> list[str]:
    """The pages of a menu, those of its sections too."""
    if isinstance(menu, str):
        return [menu]
    parts = menu.values() if isinstance(menu, dict) else menu
    return [page for part in parts for page in pages_of(part)]


def test_the_menu_has_every_page(hooks):
    """Each page of the docs is in the menu once, and the menu has the four kinds of page."""
    yaml = pytest.importorskip("yaml")
    text = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    nav = yaml.safe_load(text[text.index("nav:\n") :])["nav"]
    menu = hooks.on_config({"nav": nav})["nav"]
    assert sorted(pages_of(menu)) == sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))
    kinds = [title for section in menu for title in section]
    assert kinds == ["Home", "Tutorials", "How-to guides", "Reference", "Explanation", "Contribute"]


def test_the_version_is_the_same_everywhere(hooks):
    """On the home page, in the changelog's newest heading and in the citation."""
    root = DOCS.parent
    assert hooks.VERSION in (DOCS / "index.md").read_text(encoding="utf-8")
    shown = hooks.on_page_markdown(hooks.VERSION)
    assert f"Version {aggro.__version__} " in shown
    assert f"[Repository]({hooks.project()['Source']})" in shown
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"(?m)^## (\S+)", changelog)[0] == aggro.__version__
    assert f"\nversion: {aggro.__version__}\n" in (root / "CITATION.cff").read_text(encoding="utf-8")


def test_options_stay_in_one_line(hooks):
    shown = hooks.on_page_content("<p>a -- b <code>train --from m --json</code></p><pre><code>x --json</code></pre>")
    option = '<span class="option">{}</span>'.format
    assert f"<code>train {option('--from')} m {option('--json')}</code></p>" in shown
    assert "a -- b" in shown
    assert "<pre><code>x --json</code></pre>" in shown


def test_types_have_the_quotes_of_the_docstrings(hooks):
    page = "<td>\n<code>&#39;pa&#39; or &#39;pa1&#39;</code>\n</td><p><code>&#39;x&#39;</code></p>"
    assert (
        hooks.on_page_content(page)
        == "<td>\n<code>&quot;pa&quot; or &quot;pa1&quot;</code>\n</td><p><code>&#39;x&#39;</code></p>"
    )
