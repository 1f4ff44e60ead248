"""The map in CONTRIBUTING.md is that of the layers, and the page is one page."""

from __future__ import annotations

from house.layer_map import PAGE, page_with, table
from house.test_imports import LAYERS


def test_the_map_is_that_of_the_layers():
    """If not: python tests/house/layer_map.py."""
    text = PAGE.read_text(encoding="utf-8")
    assert text == page_with(table())
    for part in LAYERS:
        if part not in ("", "learners"):
            assert f"`{part.replace('.', '/')}" in text


def test_contributing_is_a_page():
    text = PAGE.read_text(encoding="utf-8")
    assert len(text.encode()) < 10_000
