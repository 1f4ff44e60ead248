"""The page stands alone, is well-formed, and its chart says what the curves say."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from aggro.evaluate import Curve
from aggro.evaluate.chart import LABEL_HEIGHT, Line, error_chart, spread
from aggro.evaluate.page import Section, Table, render

ROWS = 2 ** np.arange(12)


def chart(*curves, **options):
    lines = [Line(f"line <{k}>", Curve(ROWS, np.asarray(errors), 1.0), peer=k > 0) for k, errors in enumerate(curves)]
    return error_chart(lines, measure="Mistakes & more", percent=True, **options)


def test_lines_fall_as_errors_fall_and_end_at_the_last_row():
    svg = ElementTree.fromstring(chart(1.0 / ROWS, np.full(12, 0.5)))
    falling, flat = (line.get("points") for line in svg.findall("polyline") if line.find("title") is not None)
    heights = [float(point.split(",")[1]) for point in falling.split()]
    assert heights == sorted(heights)  # SVG counts from the top
    assert len({point.split(",")[1] for point in flat.split()}) == 1
    assert falling.split()[-1].split(",")[0] == flat.split()[-1].split(",")[0]


def test_the_rows_are_on_a_log2_axis():
    svg = ElementTree.fromstring(chart(np.full(12, 0.5)))
    (line,) = (line for line in svg.findall("polyline") if line.find("title") is not None)
    across = np.array([float(point.split(",")[0]) for point in line.get("points").split()])
    np.testing.assert_allclose(np.diff(across), np.diff(across)[0], atol=0.11)
    assert {"8", "16", "1,024"} <= {text.text for text in svg.iter("text")}


def test_errors_of_zero_and_a_floor_have_a_place():
    svg = chart(np.r_[np.full(6, 0.5), np.zeros(6)], floor=("best", 0.01))
    assert "nan" not in svg
    assert "inf" not in svg
    assert ">best<" in svg
    assert "nan" not in chart(np.zeros(12))


def test_too_few_rows_give_no_chart():
    assert error_chart([Line("a", Curve(ROWS[:3], np.ones(3), 1.0))], measure="m", percent=True) == ""


def test_labels_do_not_overlap():
    placed = np.sort(spread([100.0, 100.0, 101.0, 300.0, 300.0], 20.0, 305.0))
    assert (np.diff(placed) >= LABEL_HEIGHT - 1e-9).all()
    assert placed[-1] <= 305.0


@pytest.fixture
def page():
    table = Table(("a", "b"), (("<x>", "1"), ("y", "2")), frozenset((1,)), frozenset(((0, 1),)), frozenset((1,)))
    return render("A & B", "lead", [Section("one", "note", table, chart(1.0 / ROWS))], "end")


def test_the_page_needs_nothing_from_elsewhere(page):
    assert not re.search(r"https?:|<script|<link|@import|url\(", page)
    assert "prefers-color-scheme: dark" in page


def test_the_page_is_well_formed_and_escaped(page):
    tree = ElementTree.fromstring(re.sub(r"<meta[^>]*>", "", page.removeprefix("<!doctype html>\n")))
    assert [cell.text for cell in tree.iter("td")] == ["<x>", "1", "y", "2"]
    assert [cell.get("class") for cell in tree.iter("td")] == [None, "number best", None, "number"]
    assert tree.find(".//h1").text == "A & B"
