"""The rule by which columns get their roles, sentence by sentence."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pytest

from aggro.streams.tables.roles import (
    ISO,
    MISSING_MARKS,
    NOTHING_SAID,
    Role,
    as_date,
    as_number,
    date_pattern,
    guess,
    is_missing,
    settle,
)

WORDS = ["red", "green", "blue"]


def role_of(cells, name="column", **more):
    return guess(name, cells, **more).role


@pytest.mark.parametrize("cells", [[], [None], ["", " ", "\t"], [float("nan"), "NaN", None], sorted(MISSING_MARKS)])
def test_a_column_without_cells_is_ignored(cells):
    assert guess("column", cells)[1:3] == (Role.IGNORE, "empty")


def test_words_for_missing_do_not_count():
    assert role_of(["1", "2", *["?"] * 50]) is Role.NUMBER
    assert role_of(["1", "2", *["-"] * 50]) is Role.CATEGORY
    assert role_of(["1", "2", *["-"] * 50], na=("-",)) is Role.NUMBER
    assert role_of(["-", " - "], na=("-",)) is Role.IGNORE


@pytest.mark.parametrize(
    ("cells", "role"),
    [
        ([True, False, True], Role.NUMBER),
        ([date(2024, 1, 1), date(2024, 1, 2)], Role.DATE),
        ([datetime(2024, 1, 1)], Role.DATE),
        ([[1], [2]], Role.IGNORE),  # flattened before, where cells may be nested
        ([{"a": 1}], Role.IGNORE),
        ([object()], Role.IGNORE),
        ([np.float32(1.5), Decimal("2.5")], Role.NUMBER),
        ([1, 2.5, "3.5"], Role.NUMBER),
    ],
)
def test_by_the_kind_of_cell(cells, role):
    assert role_of(cells) is role


def test_nineteen_of_twenty_numbers_are_enough():
    assert role_of([1.5] * 19 + ["x"]) is Role.NUMBER
    assert role_of([1.5] * 18 + ["x", "y"]) is Role.CATEGORY
    assert guess("column", [1.5] * 19 + ["x"]).why == "1 of 20 cells are no numbers"


@pytest.mark.parametrize("text", ["1", "-1.5", "+.5", "1.", "1e5", " 7 ", "1E-3", "007"])
def test_text_that_reads_as_a_number(text):
    assert as_number(text) == float(text)
    assert role_of([text, text]) is Role.NUMBER


@pytest.mark.parametrize("text", ["1,5", "1_0", "0x1F", "inf", "nan", "1e400", "٣", "1 2", "e5", ".", "", "\xa01"])
def test_text_that_does_not(text):
    assert as_number(text) is None


def test_numbers_that_count_are_an_id():
    assert role_of(range(20)) is Role.ID
    assert role_of(range(40, 20, -1)) is Role.ID
    assert role_of([*map(str, range(20))]) is Role.ID
    assert role_of(range(19)) is Role.NUMBER  # too few to tell
    assert role_of(range(0, 40, 2)) is Role.NUMBER
    assert role_of([*range(20), 20.5]) is Role.NUMBER


@pytest.mark.parametrize(
    "name",
    ["id", "ID", "key", "uuid", "row", "index", "order_id", "orderId", "order id", "order-key", "Unnamed: 0", ""],
)
def test_a_name_can_say_that_it_is_an_id(name):
    assert role_of([5, 3, 9], name) is Role.ID
    assert role_of([5, 3, 5, 5], name) is Role.NUMBER  # values come again
    assert role_of(["x7", "x2", "x9"], name) is Role.ID
    assert role_of([0.5, 0.25], name) is Role.NUMBER


@pytest.mark.parametrize("name", ["paid", "grid", "monkey", "video", "idea"])
def test_a_name_that_only_ends_so_says_nothing(name):
    assert role_of([5, 3, 9], name) is Role.NUMBER


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("2024-02-29", ISO),
        ("2024-02-29 10:11", ISO),
        ("2024-02-29T10:11:12Z", ISO),
        ("29.02.2024", "%d.%m.%Y"),
        ("29.02.2024 10:11", "%d.%m.%Y %H:%M"),
        ("02/29/2024", "%m/%d/%Y"),
        ("29/02/2024", "%d/%m/%Y"),
        ("2024/02/29", "%Y/%m/%d"),
        ("29-02-2024", "%d-%m-%Y"),
        ("2024.02.29 10:11:12", "%Y.%m.%d %H:%M:%S"),
    ],
)
def test_dates_by_one_pattern(text, pattern):
    column = guess("column", [text] * 19 + ["soon"])
    assert (column.role, column.pattern) == (Role.DATE, pattern)
    assert role_of([text] * 18 + ["soon", "later"]) is Role.CATEGORY


def test_dates_by_several_patterns():
    column = guess("day", ["29.02.2024", "2024-02-29", "2024-03-01"] * 5)
    assert (column.role, column.pattern) == (Role.DATE, "ISO 8601 | %d.%m.%Y")
    assert as_date("29.02.2024", column.pattern) == as_date("2024-02-29", column.pattern) == datetime(2024, 2, 29)
    assert as_date("29/02/2024", column.pattern) is None


def test_which_of_day_and_month_comes_first_is_seen_from_all_cells():
    assert date_pattern(["03/04/2024", "05/06/2024"]) == "%m/%d/%Y"
    assert date_pattern(["03/04/2024", "15/06/2024"]) == "%d/%m/%Y"
    assert date_pattern(["03/04/2024", "05/06/2024"], dayfirst=True) == "%d/%m/%Y"
    assert date_pattern(["5 Jan 2024", "17 Mar 2023"]) == "%d %b %Y"
    assert date_pattern(["1/5/2024 3:45 PM", "1/6/2024 11:00 AM"]) == "%m/%d/%Y %I:%M %p"


def test_addresses_are_text_and_no_ids():
    pages = [f"https://example.com/shop/item{k}" for k in range(50)]
    assert guess("page", pages)[1:3] == (Role.TEXT, "addresses, by their parts")
    assert role_of([f"user{k}@example.com" for k in range(50)]) is Role.TEXT
    assert role_of([f"user{k}@" for k in range(50)]) is Role.ID


def test_three_words_on_average_are_text():
    assert role_of(["one two three", "one two three"]) is Role.TEXT
    assert role_of(["one two three", "one two"]) is Role.CATEGORY
    assert role_of(["a b c d e", "x"]) is Role.TEXT


def test_what_comes_once_is_an_id_from_twenty_cells_on():
    assert role_of([f"t{i}" for i in range(20)]) is Role.ID
    assert role_of([f"t{i}" for i in range(19)]) is Role.CATEGORY
    assert role_of([f"t{i}" for i in range(18)] + ["t0", "t1"]) is Role.ID
    assert role_of([f"t{i}" for i in range(17)] + ["t0", "t1", "t2"]) is Role.CATEGORY


def test_all_else_is_a_category():
    assert guess("column", WORDS * 3)[1:3] == (Role.CATEGORY, "3 values")


def test_missing_cells_of_all_kinds():
    pandas = pytest.importorskip("pandas")
    for cell in (
        None,
        float("nan"),
        np.nan,
        np.datetime64("NaT"),
        pandas.NaT,
        pandas.NA,
        "",
        "  ",
        "n/a",
        Decimal("NaN"),
    ):
        assert is_missing(cell)
    for cell in (0, False, "x", [], np.zeros(2), "\xa0", 0.0):
        assert not is_missing(cell)


# Labels -----------------------------------------------------------------------------------------------------------


def label_of(sample, labels="classes", **said):
    columns = settle(sample, NOTHING_SAID._replace(**said), labels=labels)
    return next((name for name, column in columns.items() if column.role is Role.LABEL), None)


@pytest.mark.parametrize("name", ["label", "target", "y", "class", "Label", "TARGET"])
def test_the_label_by_its_name(name):
    assert label_of({name: WORDS, "b": WORDS, "c": WORDS}) == name


def test_the_label_is_the_last_column_or_the_first():
    texts = ["this is a text", "and another one", "and one more"]
    assert label_of({"a": WORDS, "b": WORDS}) == "b"
    assert label_of({"a": WORDS, "b": texts}) == "a"
    assert label_of({"a": texts, "b": texts}) == "b"  # neither can be: the last
    assert label_of({"a": WORDS, "b": [*map(str, range(3))], "note": texts}) == "a"
    assert label_of({"a": WORDS * 20, "b": [i + 0.5 for i in range(60)]}) == "a"  # many different values
    assert label_of({"a": WORDS, "b": [1.5, 2.5, 3.5]}, "numbers") == "b"
    assert label_of({"a": [1.5, 2.5, 3.5], "b": WORDS}, "numbers") == "b"  # and then that is no number, which is said
    assert label_of({"a": WORDS, "b": WORDS}, None) is None


def test_what_was_said_counts():
    sample = {"a": WORDS, "b": ["1", "2", "3"], "label": WORDS}
    columns = settle(sample, NOTHING_SAID._replace(category=("b",), label="a"), labels="classes")
    assert [(column.role, column.said) for column in columns.values()] == [
        (Role.LABEL, True),
        (Role.CATEGORY, True),
        (Role.CATEGORY, False),
    ]
    with pytest.raises(ValueError, match=r"has no column 'c'. Its columns are 'a', 'b', 'label'"):
        settle(sample, NOTHING_SAID._replace(text=("c",)))
    with pytest.raises(ValueError, match="both number and text"):
        settle(sample, NOTHING_SAID._replace(text=("a",), number=("a",)))
    assert label_of(sample, label=False) is None


def test_few_words_among_many_numbers():
    numbers = [str(k * 7 % 101) for k in range(101)]
    column = guess("age", [*numbers, *["unknown", "n.a."] * 20])
    assert (column.role, column.why) == (Role.NUMBER, "40 of 141 cells are no numbers: n.a., unknown")
    assert role_of([*numbers, *map(chr, range(97, 110))]) is not Role.NUMBER  # more than a few words
    assert role_of(["1", "2", "3", "studio"] * 30) is Role.CATEGORY  # few numbers
    assert role_of([*numbers[:25], *["unknown"] * 30]) is Role.CATEGORY  # fewer than half


def test_few_words_among_many_dates():
    dates = [f"2024-{month:02d}-{day:02d}" for month in range(1, 4) for day in range(1, 29)]
    assert role_of([*dates, *["never"] * 40]) is Role.DATE
    assert role_of([*dates, *["0000-00-00"] * 40]) is Role.DATE
    assert role_of(["0000-00-00"] * 40) is not Role.DATE


def test_digits_of_one_length_with_leading_zeros_are_codes():
    postcodes = ["01067", "10115", "80331"]
    assert guess("zip", postcodes * 20)[1:3] == (Role.CATEGORY, "codes with leading zeros, 3 values")
    assert role_of(["10115", "80331"] * 20) is Role.NUMBER
    assert role_of([f"{k * 7919 % 100_000:05d}" for k in range(100)]) is Role.ID
    assert role_of(["0830", "1415"] * 20) is Role.NUMBER  # a time, perhaps
    assert role_of(["01067", "7"] * 20) is Role.NUMBER


def guessed_label(sample, **more):
    return next(c.name for c in settle(sample, **{"labels": "either", **more}).values() if c.role is Role.LABEL)


def test_an_empty_column_without_a_name_is_no_label():
    """Lines that end with a delimiter make one."""
    there = {"a": [0.5, 1.5] * 20, "b": ["x", "y"] * 20}
    nothing = [None] * 40
    assert guessed_label({**there, "": nothing}) == "b"
    assert guessed_label({**there, "Unnamed: 2": nothing}) == "b"
    assert guessed_label({"column1": there["a"], "column2": there["b"], "column3": nothing}, nameless=True) == "column2"
    assert guessed_label({**there, "price": nothing}) != "b"  # a column with a name says that something is missing
