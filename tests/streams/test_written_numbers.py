"""Numbers as people write them, guessed column by column and read by one function."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggro.encoding.cells import as_numbers
from aggro.streams.tables.roles import NOTHING_SAID, Role, guess, settle
from aggro.streams.tables.written_numbers import ABOVE, BELOW, EXACTLY, Style, guess_style, read

pa = pytest.importorskip("pyarrow")

PATTERNS = ["0.5", "0,5", "1,234.5", "1.234,5", "1 234,5", "1 234.5", "1'234.5", "1'234,5"]


@pytest.mark.parametrize(
    ("text", "pattern", "value"),
    [
        ("3543,22", "0,5", 3543.22),
        ("60.355,18", "1.234,5", 60355.18),
        ("60.355,18", "0,5", 60355.18),  # the first number above 999
        ("4,368", "", 4368.0),
        ("$1,234.50", "", 1234.5),
        ("1.234,50 €", "1.234,5", 1234.5),
        ("CHF 1'234.50", "1'234.5", 1234.5),
        ("29.3%", "", 29.3),
        ("5 %", "0,5", 5.0),
        ("(12.00)", "", -12.0),
        ("($1,200)", "", -1200.0),
        ("-$5", "", -5.0),
        ("12-", "", -12.0),
        ("−5", "", -5.0),
        ("1 234,5", "1 234,5", 1234.5),
        ("1\u00a0234,5", "1 234,5", 1234.5),
        ("1\u202f234,5", "1 234,5", 1234.5),
        ("73.6 kg", "0.5 kg", 73.6),
        ("73.6KG", "0.5 kg", 73.6),
        ("1.234,5 km/h", "1.234,5 km/h", 1234.5),
        ("12", "0.5 kg", 12.0),
        ("1.5K", "0.5K", 1500.0),
        ("€110.5M", "0.5K", 110.5e6),
        ("950", "0.5K", 950.0),
        (".5", "", 0.5),
        ("1e5", "", 1e5),
    ],
)
def test_cells(text, pattern, value):
    assert read(text, pattern) == (value, EXACTLY)


@pytest.mark.parametrize(
    ("text", "side"), [("<0.5", BELOW), ("≤0.5", BELOW), ("<= 0.5", BELOW), (">0.5", ABOVE), ("≥ 0.5", ABOVE)]
)
def test_bounds(text, side):
    assert read(text) == (0.5, side)


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("1,5", ""),
        ("1,23,456", ""),
        ("12.05.2024", "1.234,5"),
        ("(12", ""),
        ("-(12)", ""),
        ("12 kg", ""),
        ("12 kg", "0.5 cm"),
        ("12 kg", "0.5K"),
        ("1.5K", ""),
        ("1.5", "1.234,5"),
        ("", ""),
        ("$", ""),
        ("1e999", ""),
        ("<=50K", ""),
    ],
)
def test_what_is_no_number(text, pattern):
    assert read(text, pattern) is None


@settings(deadline=None, max_examples=150)
@given(
    pattern=st.sampled_from(PATTERNS),
    values=st.lists(st.integers(-(10**8), 10**8), min_size=3, max_size=30),
    around=st.sampled_from(["{}", "${}", "{} €", "{}%", " {} "]),
)
def test_what_is_written_in_a_style_is_read_in_it(pattern, values, around):
    """Written by any style, and guessed from the cells alone, numbers come back."""
    style = Style.of(pattern)

    def written(value: int) -> str:
        text = f"{abs(value) / 100:,.2f}".replace(",", "T").replace(".", style.decimal).replace("T", style.thousands)
        return around.format("-" * (value < 0) + text)

    texts = [written(value) for value in values]
    expected = [value / 100 for value in values]
    guessed = guess_style(texts)
    assert guessed.cells == len(texts)
    for known in (pattern, guessed.pattern):
        assert [read(text, known).value for text in texts] == expected
        for column in (texts, pa.array(texts), np.array(texts, object)):
            found = as_numbers(column, (), known)
            assert (found.values.tolist(), found.strays) == (expected, 0)


def test_a_column_in_which_some_cells_are_bounds():
    column = guess("lead", ["<0.5", "1.2", "0.7", "3.0"] * 10)
    assert (column.role, column.pattern) == (Role.NUMBER, "<0.5")
    assert role_and_pattern(["<=50", ">50"] * 10) == (Role.CATEGORY, "")  # names of classes
    for cells in (["<0.5", "1.2", ">9", None, "x"], pa.array(["<0.5", "1.2", ">9", None, "x"])):
        found = as_numbers(cells, (), column.pattern)
        assert np.array_equal(found.values, [0.5, 1.2, 9.0, np.nan, np.nan], equal_nan=True)
        assert (found.sides.tolist(), found.strays) == ([BELOW, EXACTLY, ABOVE, EXACTLY, EXACTLY], 1)


@pytest.mark.parametrize(
    ("cells", "pattern", "values"),
    [
        (["73.6 kg", "80kg", "65.25 Kg"], "0.5 kg", [73.6, 80.0, 65.25]),
        (["1.234,5 €/m²", "7,25 €/m²"], "", None),  # a unit of letters alone
        (["1,234 km", "7 km"], "1,234.5 km", [1234.0, 7.0]),
        (["1.2K", "5M", "950"], "0.5K", [1200.0, 5e6, 950.0]),
        (["€110.5M", "€565K", "€0"], "0.5K", [110.5e6, 565e3, 0.0]),
    ],
)
def test_units_and_sizes_behind_numbers(cells, pattern, values):
    column = guess("column", cells * 10)
    if values is None:
        assert column.role is Role.CATEGORY
        return
    assert (column.role, column.pattern) == (Role.NUMBER, pattern)
    for form in (cells, pa.array(cells), np.array(cells, object)):
        found = as_numbers(form, (), column.pattern)
        assert (found.values.tolist(), found.strays) == (values, 0)


@pytest.mark.parametrize(
    "cells",
    [
        ["<=50K", ">50K"],
        ["3A", "12B", "7C"],
        ["1st", "2nd", "3rd", "4th"],
        ["3B", "12B", "7"],
        ["12", "34x"],
        ["10:30 am", "9:15 pm"],
    ],
)
def test_letters_that_are_no_units(cells):
    assert role_and_pattern(cells * 10) == (Role.CATEGORY, "")


def role_and_pattern(cells, **said):
    column = guess("column", cells, (), NOTHING_SAID._replace(**said))
    return column.role, column.pattern


def test_a_mark_that_may_mean_two_things():
    assert role_and_pattern(["4,368", "12", "100,000"]) == (Role.NUMBER, "1,234.5")
    assert role_and_pattern(["4,368", "12", "100,000"], decimal=",") == (Role.NUMBER, "0,5")
    assert role_and_pattern(["4,368", "0,5"]) == (Role.NUMBER, "0,5")
    assert role_and_pattern(["4.368", "2.125"]) == (Role.NUMBER, "")
    assert role_and_pattern(["4.368", "2.125"], thousands=".") == (Role.NUMBER, "1.234,5")
    columns = settle({"a": ["4.368", "2.125"], "b": ["1,5", "2,75"], "c": ["4,368", "2,125"]})
    assert [column.pattern for column in columns.values()] == ["1.234,5", "0,5", "0,5"]  # as the others of the table


def test_marks_that_no_number_has():
    with pytest.raises(ValueError, match="decimal=';' is no decimal mark"):
        settle({"a": ["1"]}, NOTHING_SAID._replace(decimal=";"))
    with pytest.raises(ValueError, match="thousands='_' is no mark"):
        settle({"a": ["1"]}, NOTHING_SAID._replace(thousands="_"))
