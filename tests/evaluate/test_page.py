"""The page stands alone, is well-formed, and its chart says what the curves say."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from aggro.evaluate import Curve
from aggro.evaluate.chart import NARROW_CHART, WIDE_CHART, Line, draw_chart, error_chart
from aggro.evaluate.page import Section, Table, render
from aggro.plot.label_places import folded, spread

ROWS = 2 ** np.arange(12)


def chart(*curves, **options):
    lines = [Line(f"line <{k}>", Curve(ROWS, np.asarray(errors), 1.0), peer=k > 0) for k, errors in enumerate(curves)]
    return draw_chart(lines, WIDE_CHART, "Mistakes & more", True, **options)


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
    heights = [15.0, 30.0, 15.0, 45.0, 15.0]
    placed = spread([100.0, 100.0, 101.0, 300.0, 300.0], heights, 20.0, 305.0)
    order = np.argsort(placed)
    tops, bottoms = (np.array(placed) + sign * np.array(heights) / 2.0 for sign in (-1.0, 1.0))
    assert (tops[order][1:] >= bottoms[order][:-1] - 1e-9).all()
    assert max(bottoms) <= 305.0
    assert min(tops) >= 20.0


def test_long_names_take_several_lines_and_then_an_ellipsis():
    assert folded("short", 10) == ["short"]
    assert folded("", 10) == [""]
    assert folded("a name of several words", 10) == ["a name of", "several", "words"]
    assert folded("PA(step=pa2,C=0.1)", 10) == ["PA(", "step=pa2,", "C=0.1)"]
    assert folded("x" * 35, 10) == ["x" * 10, "x" * 10, "x" * 9 + "…"]


LONG = "PAClassifier(C=0.125, step='pa2', average=True, half_life=300, margin=2.0, multi_class='joint')"
LETTER, UP, DOWN = 6.6, 9.0, 3.0  # of text in 12 pixels; most letters of a system's own font are narrower


def boxes(svg):
    """Each text with the box that it takes: left, top, right, bottom."""
    for text in svg.iter("text"):
        x, y, wide = float(text.get("x")), float(text.get("y")), LETTER * len(text.text)
        left = x - wide * {"middle": 0.5, "end": 1.0}.get(text.get("text-anchor"), 0.0)
        yield text.text, (left, y - UP, left + wide, y + DOWN)


@pytest.mark.parametrize("width", [WIDE_CHART, NARROW_CHART])
@pytest.mark.parametrize("rows", [2 ** np.arange(6), 2 ** np.arange(31)], ids=["few", "many"])
@pytest.mark.parametrize(
    "names", [[LONG, "b", LONG + "!"], ["W" * 60], [f"learner {k}, {LONG}" for k in range(25)]], ids=len
)
def test_every_word_is_inside_and_none_is_on_another(names, rows, width):
    errors = np.geomspace(0.5, 1e-3, len(rows))
    lines = [Line(name, Curve(rows, errors * (1.0 + k / 1000.0), 1.0)) for k, name in enumerate(names)]
    svg = ElementTree.fromstring(draw_chart(lines, width, "Mistakes so far", True))
    _, _, wide, high = map(float, svg.get("viewBox").split())
    placed = list(boxes(svg))
    for text, (left, top, right, bottom) in placed:
        assert left >= 0.0, text
        assert top >= 0.0, text
        assert right <= wide, text
        assert bottom <= high, text
    for k, (text, (left, top, right, bottom)) in enumerate(placed):
        for other, (left_, top_, right_, bottom_) in placed[k + 1 :]:
            assert right <= left_ or right_ <= left or bottom <= top_ or bottom_ <= top, (text, other)
    (first, *_) = (line.get("points").split() for line in svg.findall("polyline") if line.find("title") is not None)
    assert float(first[-1].split(",")[0]) - float(first[0].split(",")[0]) > 0.4 * wide  # there is room for the lines


def test_a_chart_is_there_for_wide_pages_and_for_narrow_ones():
    both = error_chart([Line("a", Curve(ROWS, 1.0 / ROWS, 1.0))], measure="m", percent=True)
    assert [svg.get("class") for svg in ElementTree.fromstring(f"<p>{both}</p>")] == ["wide", "narrow"]


@pytest.fixture
def page():
    table = Table(("a", "b"), (("<x>", "1"), ("y", "2")), frozenset((1,)), frozenset(((0, 1),)), frozenset((1,)))
    return render("A & B", "lead", [Section("one", "note", table, chart(1.0 / ROWS))], "end")


def test_the_page_needs_nothing_from_elsewhere(page):
    assert not re.search(r"https?:|<script|<link|@import|url\(", page)
    assert "prefers-color-scheme: dark" in page
    assert "--s0: #1f5fd6;" in page
    assert "--s0: #78acff;" in page
    assert not re.search(r"\b(LIGHT|DARK|SERIES)\b", page)


def test_the_page_is_well_formed_and_escaped(page):
    tree = ElementTree.fromstring(re.sub(r"<meta[^>]*>", "", page.removeprefix("<!doctype html>\n")))
    assert [cell.text for cell in tree.iter("td")] == ["<x>", "1", "y", "2"]
    assert [cell.get("class") for cell in tree.iter("td")] == [None, "number best", None, "number"]
    assert tree.find(".//h1").text == "A & B"
