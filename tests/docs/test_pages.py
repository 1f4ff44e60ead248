"""The docs follow the code: the table of learners, and a page for each."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from aggro.learners.registry import LEARNERS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def hooks():
    spec = importlib.util.spec_from_file_location("docs_hooks", DOCS / "hooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_has_every_learner(hooks):
    assert hooks.MARK in (DOCS / "learners" / "index.md").read_text(encoding="utf-8")
    shown = hooks.on_page_markdown(f"before\n\n{hooks.MARK}\n").splitlines()
    assert len(shown) == 4 + len(LEARNERS)
    for entry in LEARNERS:
        assert any(f"`{entry.name}`" in line and entry.task in line for line in shown)


@pytest.mark.parametrize("entry", LEARNERS, ids=lambda entry: entry.name)
def test_every_learner_has_a_page_that_shows_its_parameters(hooks, entry):
    page = (DOCS / "learners" / hooks.page_name(entry)).read_text(encoding="utf-8")
    assert f"::: aggro.learners.{entry.module}.{entry.name}" in page


def test_the_menu_has_every_page(hooks):
    nav = ["index.md", {"Learners": ["learners/index.md"]}, {"Concepts": ["concepts/threads.md"]}]
    menu = hooks.on_config({"nav": nav})["nav"][1]["Learners"]
    assert sorted(menu) == sorted(f"learners/{page.name}" for page in (DOCS / "learners").iterdir())
    assert "Learners:\n      - learners/index.md" in (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
