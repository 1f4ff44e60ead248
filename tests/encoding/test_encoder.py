"""The encoder and its twin, and the same rows in every form and cut."""

from __future__ import annotations

import math
import random
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pyarrow
import pytest
from encoding.twins import Twin

from aggro.encoding.cells import as_moments, as_numbers, as_strings, columns_of, sample_of, spelled
from aggro.encoding.dates import in_reach
from aggro.encoding.encoder import MOST_COLUMNS, Encoder, Options
from aggro.streams.tables.roles import ISO, NOTHING_SAID, Column, Role

ROLES = {"age": "number", "size": "number", "plan": "category", "note": "text", "since": "date"}
CELLS = {
    "age": [0, 1, 23, 51.5, -3e7, 1e200, "17", " 4.5e3 ", "+2", "old", None, math.nan, "?", "", True, math.inf, "1_0"],
    "size": [1.0, 2.0, 2.5, 1e-9, 7, None, "NA"],
    "plan": ["basic", "pro", "Pro", " pro\t", "", None, "null", "Ünïcode", "日本", "a=b", 3, 3.0, 2.5, True, "x" * 300],
    "note": [
        "wants a refund",
        "Refund, refund! REFUND?",
        "ÄRGER über Größe × ÷ «so»",
        "日本語。テスト、はい 🙂 e\u0301",
        "",
        "  ",
        None,
        "?",
        "n/a",
        "—",
        "a" * 250 + " end",
        "it's 5 o'clock…\u2028two",
        "a b a b a",
        7,
    ],
    "since": [
        "2024-03-01",
        "2024-03-01 09:30",
        "1969-12-31T23:59:59.999999",
        "2021-05-06T07:08:09+02:00",
        "soon",
        None,
        "",
        date(2000, 2, 29),
        datetime(1912, 6, 23, 1, 2, 3, 456),
        datetime(2024, 1, 1, 0, 30, tzinfo=timezone(timedelta(hours=1))),
        datetime(2300, 1, 1, 1, 1, 1, 1, tzinfo=UTC),
    ],
}


def stream(seed, n=60):
    draw = random.Random(seed)
    rows = []
    for _ in range(n):
        names = [name for name in CELLS if draw.random() < 0.9]
        rows.append({name: draw.choice(CELLS[name]) for name in names})
    return rows


def encoder(roles=ROLES, na=(), **options):
    said = {}
    for name, role in roles.items():
        said.setdefault(role, []).append(name)
    return Encoder(
        NOTHING_SAID._replace(**{role: tuple(names) for role, names in said.items()}, na=na), Options(**options)
    )


def as_dicts(X):
    return [
        dict(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True))
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]


def one_by_one(new, rows):
    return [dict(zip(*map(np.ndarray.tolist, new.learn_one(row)), strict=True)) for row in rows]


OPTIONS = [{}, {"scale": False}, {"words": "presence"}, {"ngrams": 2}, {"ngrams": 3, "words": "presence"}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("seed", range(8))
def test_the_encoder_is_its_twin_to_the_bit(seed, options):
    rows = stream(seed)
    twin, new = Twin(ROLES, **options), encoder(**options)
    assert one_by_one(new, rows) == [twin.row(row) for row in rows]
    assert new.width == len(twin.names)
    assert new.counts.strays == twin.strays
    later = stream(seed + 100, 20)
    before = new.width
    found = [dict(zip(*map(np.ndarray.tolist, new.transform_one(row)), strict=True)) for row in later]
    assert found == [twin.row(row, learning=False) for row in later]
    assert new.width == before
    if options.get("ngrams", 1) == 1:
        for j in range(new.width):
            assert new.name(j).encode()[:60] == twin.title(j).encode()[:60]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("seed", range(8))
def test_cuts_make_no_difference(seed, options):
    rows, draw = stream(seed), random.Random(seed)
    whole, single, pieces = encoder(**options), encoder(**options), encoder(**options)
    expected = one_by_one(single, rows)
    assert as_dicts(whole.learn(*columns_of(rows)).X) == expected
    found, at = [], 0
    while at < len(rows):
        stop = at + draw.choice([1, 2, 7, 20])
        found += as_dicts(pieces.learn(*columns_of(rows[at:stop])).X)
        at = stop
    assert found == expected
    for other in (whole, pieces):
        for name, array in single.vocabulary.arrays().items():
            assert array.tobytes() == other.vocabulary.arrays()[name].tobytes(), name
        assert [array.tobytes() for array in single.moments] == [array.tobytes() for array in other.moments]
        assert single.counts.strays == other.counts.strays
    again = as_dicts(whole.transform(*columns_of(rows)).X)
    assert again == [dict(zip(*map(np.ndarray.tolist, single.transform_one(row)), strict=True)) for row in rows]


PLAIN = {
    "age": [1, 2.5, None, 1e9, -4.0],
    "plan": ["basic", "pro", None, "", "?", " pro"],
    "note": ["a refund", "Größe 🙂", None, "", "refund refund"],
    "since": [datetime(2024, 1, 2, 3, 4, 5, 678), datetime(1950, 1, 1), None],
    "flag": [True, False, None],
}
PLAIN_ROLES = {"age": "number", "plan": "category", "note": "text", "since": "date", "flag": "number"}


@pytest.mark.parametrize("form", ["pandas", "pandas, objects", "polars", "pyarrow", "batch"])
@pytest.mark.parametrize("seed", range(4))
def test_every_form_of_a_table_is_the_same_rows(form, seed):
    draw = random.Random(seed)
    rows = [{name: draw.choice(cells) for name, cells in PLAIN.items()} for _ in range(40)]
    if form.startswith("pandas"):
        pandas = pytest.importorskip("pandas")
        table = pandas.DataFrame(rows, dtype=object if "objects" in form else None)
    elif form == "polars":
        table = pytest.importorskip("polars").DataFrame(rows, infer_schema_length=None)
    else:
        pyarrow = pytest.importorskip("pyarrow")
        table = pyarrow.Table.from_pylist(rows)
        table = table if form == "pyarrow" else table.combine_chunks().to_batches()[0]
    of_records, of_table = encoder(PLAIN_ROLES), encoder(PLAIN_ROLES)
    assert as_dicts(of_table.learn(*columns_of(table)).X) == one_by_one(of_records, rows)
    assert [of_table.name(j) for j in range(of_table.width)] == [of_records.name(j) for j in range(of_records.width)]


TEXTS = [
    "1",
    " 2\n",
    "\xa03",
    "٣",
    "+4",
    "-.5",
    "6.",
    "1e3",
    "1E-400",
    "1e400",
    "0x10",
    "1_0",
    "inf",
    "nan",
    "?",
    "",
    "x",
    None,
]


def test_text_reads_as_the_same_numbers_in_all_forms():
    pyarrow = pytest.importorskip("pyarrow")
    expected = [1, 2, 3, None, 4, -0.5, 6, 1000, 0, *[None] * 9]
    for column in (TEXTS, np.array(TEXTS, object), pyarrow.array(TEXTS), pyarrow.chunked_array([TEXTS[:4], TEXTS[4:]])):
        values, strays, _ = as_numbers(column, ())
        assert [None if value != value else value for value in values.tolist()] == expected
        assert strays == 6
    some = [text for text in TEXTS if text != "1e400" and text != "1E-400"]  # the quick way of Arrow
    assert as_numbers(pyarrow.array(some), ()).strays == 5
    dictionary = pyarrow.array(some).dictionary_encode()
    assert np.array_equal(as_numbers(dictionary, ()).values, as_numbers(some, ()).values, equal_nan=True)


def test_numbers_of_all_kinds():
    pyarrow = pytest.importorskip("pyarrow")
    decimals = [Decimal("0.1"), Decimal("123456789.987654321"), None]
    assert as_numbers(pyarrow.array(decimals), ()).values[:2].tolist() == [0.1, 123456789.987654321]
    assert as_numbers(decimals, ()).values[:2].tolist() == [0.1, 123456789.987654321]
    cells = [np.float32(0.5), np.int8(3), np.bool_(True), 10**400, 2**70, True, [1], b"1"]
    values, strays, _ = as_numbers(cells, ())
    assert values[:3].tolist() == [0.5, 3.0, 1.0]
    assert values[4:6].tolist() == [2.0**70, 1.0]
    assert strays == 2  # the huge one and the list; Python reads bytes as a number, too
    assert as_numbers(np.array([1.0, np.inf, np.nan]), ()).strays == 1
    assert as_numbers([10**400, 1], ()).strays == 1


def test_missing_words_of_ones_own():
    column = ["-", "1", "x", None]
    assert as_numbers(column, ("-",)).strays == 1
    new = encoder({"plan": "category"}, na=("-",))
    for cell in ("basic", "-", " - "):
        new.learn_one({"plan": cell})
    assert [new.name(j) for j in range(new.width)] == ["plan=basic", "plan=missing"]


def test_a_word_for_missing_that_is_a_number():
    pyarrow = pytest.importorskip("pyarrow")
    column = ["-999", "1", " -999 "]
    for form in (column, pyarrow.array(column), np.array(column, object)):
        values, strays, _ = as_numbers(form, ("-999",))
        assert values.tolist()[1] == 1.0
        assert np.isnan(values[[0, 2]]).all()
        assert strays == 0
    new = encoder({"age": "number"}, na=("-999",))
    assert one_by_one(new, [{"age": "1"}, {"age": "-999"}, {"age": math.nan}]) == [{}, {1: 1.0}, {1: 1.0}]
    assert not new.counts.strays


ISO_DATE = Column("since", Role.DATE, pattern=ISO)


def moments_of(column, column_role=ISO_DATE):
    values, strays, _ = as_moments(column, column_role, ())
    return [None if value != value else value for value in values.tolist()], strays


def test_moments_in_all_forms():
    pyarrow = pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    cells = [datetime(1960, 1, 1, 0, 0, 0, 1), datetime(2300, 5, 5, 5, 5, 5, 5), datetime(1970, 1, 1), None]
    expected = moments_of(cells)
    assert expected[0][2:] == [0.0, None]
    assert expected[1] == 0
    assert expected[0][0] == -315619199.999999
    for unit in ("us", "ns"):
        few = cells if unit == "us" else [cells[0], None, cells[2], None]
        assert moments_of(np.array(few, f"M8[{unit}]")) == moments_of(few)
        assert moments_of(pyarrow.array(few, pyarrow.timestamp(unit))) == moments_of(few)
        assert moments_of([None if cell is None else np.datetime64(cell, unit) for cell in few]) == moments_of(few)
    assert moments_of([pandas.Timestamp(cell) for cell in cells[:1]])[0] == expected[0][:1]
    assert moments_of([pandas.Timestamp("1969-12-31T23:59:59.999999999")])[0] == [-1e-06]
    assert moments_of(pyarrow.array([-1], pyarrow.timestamp("ns")))[0] == [-1e-06]  # the microsecond below, too
    assert moments_of([pandas.NaT, np.datetime64("NaT"), pandas.NA]) == ([None] * 3, 0)
    zone = timezone(timedelta(hours=-8))
    zoned = [datetime(2024, 1, 1, tzinfo=zone)]
    assert moments_of(zoned)[0] == moments_of(["2024-01-01T00:00:00-08:00"])[0] == moments_of(["2024-01-01T08:00"])[0]
    assert moments_of(pyarrow.array(zoned, pyarrow.timestamp("us", "America/Los_Angeles"))) == moments_of(zoned)
    assert moments_of(pyarrow.array(["2024-01-01T00:00:00-08:00"])) == moments_of(zoned)
    assert moments_of([1704067200, 1704067200000, "x", 1e30, -1e30]) == ([1704067200.0] * 2 + [None] * 3, 3)
    assert moments_of(pyarrow.array([1704067200, 1704067200000])) == ([1704067200.0] * 2, 0)
    assert moments_of(np.array([1704067200, 1704067200000])) == ([1704067200.0] * 2, 0)


@pytest.mark.filterwarnings("error::DeprecationWarning")
def test_moments_of_any_unit_are_clipped_without_a_warning():
    moments = np.array(["2024-01-01", "NaT", "20000-01-01"], "M8[D]")
    assert in_reach(moments).tolist() == [datetime(2024, 1, 1), None, datetime(9999, 12, 31, 23, 59, 59)]


def test_dates_beyond_pythons_years():
    pyarrow = pytest.importorskip("pyarrow")
    far = pyarrow.array([400_000_000_000, 10**13, 0, None], pyarrow.timestamp("s"))  # the years 14645 and 318857
    values, strays = moments_of(far)
    assert values == [4e11, None, 0.0, None]
    assert strays == 1
    assert sample_of(far)[0] == "9999-12-31T23:59:59"
    new = encoder({})
    X = new.learn({"since": far}, 4).X
    assert new.columns["since"].role is Role.DATE
    assert X.shape[0] == 4
    assert new.counts.strays == {"since": 1}


@pytest.mark.parametrize("text", ["31.02.2020", "1.2.2020", "01.02.20", " 01.02.2020 ", "01.02.2020x"])
def test_dates_by_a_pattern_are_pythons_in_arrow_too(text):
    pyarrow = pytest.importorskip("pyarrow")
    german = Column("since", Role.DATE, pattern="%d.%m.%Y")
    cells = ["01.03.2021", text]
    assert moments_of(cells, german) == moments_of(pyarrow.array(cells), german)
    assert moments_of(pyarrow.array(["0000-01-01", "2020-01-01"])) == moments_of(["0000-01-01", "2020-01-01"])


def test_cells_as_text():
    pandas = pytest.importorskip("pandas")
    alike = [3, 3.0, np.float32(3), np.int64(3), Decimal("3.00"), "3"]
    assert {spelled(cell) for cell in alike} == {"3"}
    assert len(spelled(Decimal("1e999999999"))) < 20  # and not as many zeros
    assert [spelled(cell) for cell in (True, np.bool_(False), None, math.nan, pandas.NA, pandas.NaT)] == [
        *("true", "false"),
        *[""] * 4,
    ]
    moment = datetime(2024, 1, 2, 3, 4, 5)
    assert {spelled(cell) for cell in (moment, np.datetime64(moment, "ns"), pandas.Timestamp(moment))} == {
        "2024-01-02T03:04:05"
    }
    letters, bounds, _ = as_strings(np.array([moment], "M8[ns]"))
    assert letters[: bounds[1]].tobytes().decode() == "2024-01-02T03:04:05"
    assert spelled("\ud800").encode("utf-8", "replace") == b"?"


def test_arrow_strings_in_all_their_forms():
    pyarrow = pytest.importorskip("pyarrow")
    cells = ["a", None, "", "Größe", "日本"]
    expected = as_strings(cells)
    for kind in (pyarrow.string(), pyarrow.large_string(), pyarrow.string_view()):
        column = pyarrow.array(cells, kind)
        for one in (column, pyarrow.chunked_array([column[:2], column[2:]]), pyarrow.array(["x", *cells], kind)[1:]):
            found = as_strings(one)
            assert found.bounds.tolist() == expected.bounds.tolist()
            assert found.letters.tobytes() == expected.letters.tobytes()
            assert found.absent.tolist() == [False, True, False, False, False]
    assert as_strings(pyarrow.array(cells).dictionary_encode()).letters.tobytes() == expected.letters.tobytes()
    assert as_strings(pyarrow.array([1.0, None, 2.5])).letters.tobytes() == b"12.5"
    assert as_strings(pyarrow.array([], pyarrow.string())).bounds.tolist() == [0]


# Memory -----------------------------------------------------------------------------------------------------------


def test_a_full_vocabulary_shares_places_and_stops_growing():
    new = encoder({"age": "number", "plan": "category", "note": "text"}, max_features=50)
    for i in range(200):
        new.learn_one({"age": i, "plan": f"p{i}", "note": f"w{i} v{i}"})
        if i == 60:
            sizes = [array.nbytes for array in new.vocabulary.table]
    assert new.width == 50
    assert [array.nbytes for array in new.vocabulary.table] == sizes
    indices, _values = new.transform_one({"plan": "never seen", "note": "nor this"})
    assert len(indices)
    assert indices.max() < 50
    shared = {new.name(j) for j in indices.tolist()} - {"age=missing"}
    assert all("=" in name or ":" in name for name in shared)  # those of categories and words, never a number's
    whole = encoder({"age": "number", "plan": "category", "note": "text"}, max_features=50)
    rows = [{"age": i, "plan": f"p{i}", "note": f"w{i} v{i}"} for i in range(200)]
    whole.learn(*columns_of(rows))
    assert whole.vocabulary.arrays()["keys"].tobytes() == new.vocabulary.arrays()["keys"].tobytes()


def test_a_vocabulary_with_room_for_one():
    new = encoder({"plan": "category"}, max_features=1)
    rows = [new.learn_one({"plan": cell})[0].tolist() for cell in ("a", "b", None)]
    assert rows == [[0], [0], [0]]
    assert new.width == 1


def test_a_very_long_cell_takes_room_for_what_is_in_it():
    new = encoder({"note": "text"}, ngrams=2)
    indices, values = new.learn_one({"note": "one two " * 100_000})
    assert [new.name(j) for j in indices.tolist()] == ["note:one", "note:two", "note:one two", "note:two one"]
    assert values.tolist() == [1e5, 1e5, 1e5, 99_999]
    assert new.vocabulary.table.letters.nbytes < 10_000_000
    new.learn_one({"note": "x" * 1_000_000})
    assert new.name(new.width - 1) == "note:" + "x" * 100


def test_many_columns():
    new = encoder({})
    record = {f"c{j}": float(j) for j in range(3000)}
    new.learn_one(record)
    indices, _ = new.learn_one({name: value + 1 for name, value in record.items()})
    assert len(indices) == 3000


def test_columns_without_end_are_refused():
    new = encoder({})
    new.columns = dict.fromkeys(map(str, range(MOST_COLUMNS)), Column("x", Role.IGNORE))
    with pytest.raises(ValueError, match=r"more than 65,536 columns; the next is 'one more'"):
        new.learn_one({"one more": 1})


# Roles that are found on the way ----------------------------------------------------------------------------------


def test_a_text_column_whose_first_cell_is_short():
    new = encoder({})
    for i in range(12):
        new.learn_one({"note": "ok" if not i else "this one is rather long and different"})
        assert new.columns["note"].role is (Role.CATEGORY if i < 9 else Role.TEXT)
    names = [new.name(j) for j in range(new.width)]
    assert "note=ok" in names
    assert "note:rather" in names


def test_the_reason_follows_what_came():
    new = encoder({})
    for i in range(10):
        new.learn_one({"plan": "abc"[i % 3]})
        assert new.columns["plan"].why == ("1 value" if i < 9 else "3 values")


def test_an_id_that_is_seen_late():
    new = encoder({})
    for i in range(130):
        new.learn_one({"ticket": f"T{i * 7919 % 1000}", "n": i % 5})
        assert new.columns["ticket"].role is (Role.CATEGORY if i < 99 else Role.ID)
    assert "ticket=T0" in [new.name(j) for j in range(new.width)]  # what was learned stays
    assert not any(new.name(j).startswith("ticket") for j in new.transform_one({"ticket": "T0", "n": 1})[0].tolist())


def test_the_last_look_is_at_a_thousand_rows():
    new = encoder({})
    for i in range(1001):
        new.learn_one({"a": "x" if i < 400 else f"word{i} and some more words in here"})
        assert new.columns["a"].role is (Role.CATEGORY if i < 999 else Role.TEXT)
    assert not new.sample


def test_a_column_that_comes_late_has_looks_of_its_own():
    new = encoder({})
    for i in range(1500):
        new.learn_one({"a": i % 7})
    assert not new.sample
    for i in range(10):
        new.learn_one({"a": 1, "late": "ok" if not i else "these are several words of text"})
    assert new.columns["late"].role is Role.TEXT
    assert new.sample["late"][0] == "ok"


def test_a_column_is_met_with_its_first_cell():
    new = encoder({})
    new.learn(*columns_of([{"a": 1, "b": None}, {"a": 2}, {"a": 3, "b": "?"}]))
    assert [*new.columns] == ["a"]
    assert new.width == 1
    new.learn(*columns_of([{"a": 1, "b": None}, {"a": 2, "b": "x"}, {"a": 2, "b": None}]))
    assert [new.name(j) for j in range(new.width)] == ["a", "b=x", "b=missing"]


def test_what_was_said_is_not_looked_at_again():
    new = encoder({"code": "category"})
    for i in range(30):
        new.learn_one({"code": i})
    assert new.columns["code"].role is Role.CATEGORY
    assert new.columns["code"].said
    settled = encoder({"code": "category"})
    settled.settle({"code": Column("code", Role.NUMBER), "n": Column("n", Role.CATEGORY)})
    assert settled.columns["code"].role is Role.CATEGORY  # what the user said counts
    for i in range(30):
        settled.learn_one({"code": i, "n": i})
    assert settled.columns["n"].role is Role.CATEGORY


def test_words_that_came_as_categories_before_are_other_features():
    new = encoder({}, words="presence")
    for i in range(10):
        new.learn_one({"note": "refund" if not i else "we would like some more"})
    new.learn_one({"note": "refund refund we we"})
    indices, values = new.transform_one({"note": "refund refund we we"})
    assert values.tolist() == [1.0, 1.0]
    assert {new.name(j) for j in indices.tolist()} == {"note:refund", "note:we"}


# All or nothing ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_restore_takes_back_all(seed):
    new = encoder({})
    rows = stream(seed, 30)
    rows = [{name: cell for name, cell in row.items() if name != "since"} for row in rows]
    new.learn(*columns_of(rows[:15]))
    before, other = new.mark(), new.copy()
    new.learn(*columns_of([{**row, "new": "x y z w"} for row in stream(seed + 50, 200)]))
    new.restore(before)
    for row in rows[15:]:
        found, expected = new.learn_one(row), other.learn_one(row)
        assert [part.tolist() for part in found] == [part.tolist() for part in expected]
    assert [new.name(j) for j in range(new.width)] == [other.name(j) for j in range(other.width)]
    assert new.columns == other.columns
    assert new.sample == other.sample
    assert new.counts.strays == other.counts.strays


@pytest.mark.parametrize("words", [0, 63, 64, 65, 128, 129, 5000])
def test_a_copy_has_room_for_all_that_it_knows(words):
    new = encoder({"note": "text"})
    new.learn_one({"note": " ".join(f"word{k}" for k in range(words)) or None})
    other = new.copy()
    assert other.width == new.width >= words
    assert [other.name(j) for j in range(other.width)] == [new.name(j) for j in range(new.width)]
    more = {"note": f"word{words - 1} another one"}
    assert [part.tolist() for part in other.learn_one(more)] == [part.tolist() for part in new.learn_one(more)]
    assert other.width == new.width


def test_a_mark_of_a_larger_vocabulary_is_refused():
    new, other = encoder({"note": "text"}), encoder({"note": "text"})
    new.learn_one({"note": "one two three"})
    with pytest.raises(ValueError, match="The mark is of a vocabulary of"):
        other.restore(new.mark())


def test_cells_may_be_read_by_several_threads_before_rows_are_learned_in_order():
    rng = np.random.default_rng(0)
    words = np.array(["red", "green", "blue", "n/a", "12"])
    tables = [
        pyarrow.table({"n": rng.normal(size=50), "c": words[rng.integers(5, size=50)], "t": ["some words"] * 50})
        for _ in range(20)
    ]
    roles = {name: Column(name, role) for name, role in (("n", Role.NUMBER), ("c", Role.CATEGORY), ("t", Role.TEXT))}
    plain, threaded = (Encoder(NOTHING_SAID, Options()) for _ in range(2))
    plain.settle(roles)
    threaded.settle(roles)
    with ThreadPoolExecutor(4) as pool:
        ready = list(pool.map(threaded.reader(), tables))
    for table, read in zip(tables, ready, strict=True):
        one, other = plain.learn(*columns_of(table)).X, threaded.learn(*columns_of(read)).X
        assert (one != other).nnz == 0
        assert one.shape == other.shape
    assert plain.name(plain.width - 1) == threaded.name(threaded.width - 1)
    half = threaded.reader()(tables[0])
    some = threaded.transform(half.some(np.array([3, 7])), 2).X
    assert (some != plain.transform(*columns_of(tables[0].take([3, 7]))).X).nnz == 0
    threaded.settle({"c": Column("c", Role.TEXT)})
    with pytest.raises(ValueError, match="made ready for an encoder with other columns"):
        threaded.learn(ready[0], 50)


def test_a_row_that_was_read_once_may_be_taken_many_times():
    text = " ".join(f"w{k}" for k in range(500))
    encoder = Encoder(NOTHING_SAID, Options(ngrams=3))
    encoder.settle({"t": Column("t", Role.TEXT)})
    ready = encoder.reader()(pyarrow.table({"t": [text, "short"]}))
    many = encoder.learn(ready.some(np.zeros(200, np.int64)), 200).X
    assert many.nnz == 200 * (500 + 499 + 498)
    assert (many != many[[0] * 200]).nnz == 0


def test_samples_of_numpys_cells_are_those_of_pythons():
    cells = [True, 3, 0.5, 1.0, None, "a"]
    odd = [np.bool_(True), np.int64(3), np.float32(0.5), np.longdouble(1), np.datetime64("NaT"), np.str_("a")]
    assert sample_of(odd) == cells
    assert [type(cell) for cell in sample_of(odd)] == [type(cell) for cell in cells]
