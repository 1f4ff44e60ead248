"""Narrow screens: every number is whole, whatever the width, and no line is longer than it."""

from __future__ import annotations

import importlib
import io
import itertools
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.commands import COMMANDS
from helpers.runner import good
from helpers.screen import on_screen

from aggro.cli import console, tables
from aggro.cli.progress_lines import side_by_side

WIDTHS = (40, 60, 80, 120)
NUMBER = re.compile(r"[+-]?\d[\d,.]*(?:e[+-]?\d+)?%?")
compare, passes = (importlib.import_module(f"aggro.cli.{name}") for name in ("compare", "passes"))


def numbers(text):
    return sorted(number.rstrip(",.") for number in NUMBER.findall(text))


def fits(text, width):
    text = text.replace("so long …", "")  # what is said while compiling
    long = [line for line in text.splitlines() if len(line) > width]
    assert not long, long
    assert "…" not in text


@pytest.fixture
def alike(monkeypatch):
    """What is printed at every width: the same numbers, and none cut."""

    def check(printed, widths=WIDTHS):
        monkeypatch.setenv("COLUMNS", "1000")
        wide = printed()
        assert len(numbers(wide)) > 2
        for width in widths:
            monkeypatch.setenv("COLUMNS", str(width))
            narrow = printed()
            fits(narrow, width)
            assert numbers(narrow) == numbers(wide), width
        return wide

    return check


@pytest.fixture
def clock(monkeypatch):
    """Time that passes in every run alike."""

    def start():
        ticks = itertools.count()
        monkeypatch.setattr(passes, "time", SimpleNamespace(perf_counter=lambda: 0.5 * next(ticks)))

    return start


@pytest.mark.parametrize("learner", ["PAClassifier", "PAUniclass"])
def test_train_and_its_progress(svm, tmp_path, monkeypatch, clock, alike, learner):
    monkeypatch.chdir(tmp_path)
    Path("rows.svm").write_bytes(svm.read_bytes())

    def printed():
        clock()
        ran = good("train", "rows.svm", "--model", "m.aggro", "--learner", learner, "--test", "rows.svm")
        return ran.err + re.split(r"\n\s*\n", ran.out)[0]  # without the tables, whose columns are called 1 and -1

    wide = alike(printed, (20, 30, *WIDTHS))
    assert "512" in wide
    assert "600" in wide


def test_compare(alike, capsys):
    learners = ("pa1", "PAClassifier(C=0.015625,average=True,multi_class=joint)")
    drift = {"drifts": 12, "drift_rows": [1, 20, 123456]}
    figures = {
        name: {
            "rows": 123456789,
            "error": 0.123,
            "mean_loss": 1.2345e-7,
            "updates": 98765432,
            "rows_per_second": 1.5e7,
            **drift,
        }
        for name in learners
    }

    def printed():
        compare.print_figures("rows.svm, more.svm", figures, "classification", Path("curves.html"))
        return capsys.readouterr().out

    alike(printed, (30, *WIDTHS))


def test_show(svm, tmp_path, monkeypatch, alike):
    monkeypatch.chdir(tmp_path)
    good("train", svm, "--model", "m.aggro")
    wide = alike(lambda: good("show", "m.aggro").out, (20, 30, *WIDTHS))
    assert "mean loss" in wide


def test_data_list(alike, monkeypatch):
    monkeypatch.setenv("AGGRO_DATA", "nowhere")
    wide = alike(lambda: good("data", "list").out, (30, *WIDTHS))
    assert "32,561" in wide


def test_demo(alike, capsys):
    from aggro.cli.demo import show
    from aggro.cli.demo.tickets import Run, Story

    standings = [
        SimpleNamespace(
            name=name,
            curve=SimpleNamespace(error=0.0234567, rows_per_second=12345678.0, n_rows=200_000),
            test_error=0.0321,
            peer=name != "PAClassifier()",
        )
        for name in ("PAClassifier()", "scikit-learn pa1, averaged")
    ]
    run = Run(SimpleNamespace(error=0.1234, n_rows=2000), [False] * 2000)
    story = Story(
        ours=run,
        theirs=run,
        few=run,
        few_labels=123,
        roles={"plan": "category", "note": "text"},
        drifts=[1500],
        asked={},
        said="outage",
        because=[("note:offline", 0.98765), ("plan=team", -0.5)],
    )

    def printed():
        show.screen(standings, story, Path("page.html"))
        return capsys.readouterr().out

    alike(printed)


def test_test(tmp_path, monkeypatch, alike):
    monkeypatch.chdir(tmp_path)
    rows = [f"{k % 7},{('red', 'green', 'dark blue')[k % 3]}" for k in range(300)]
    Path("rows.csv").write_text("\n".join(["size,colour", *rows]) + "\n")
    good("train", "rows.csv", "--model", "m.aggro")
    wide = alike(lambda: good("test", "m.aggro", "rows.csv").out.replace("F1", "F"), (20, 30, *WIDTHS))
    assert "dark blue" in wide


def test_label(tmp_path, monkeypatch, alike):
    monkeypatch.chdir(tmp_path)
    header = ["price_in_cents", "seconds_since_the_start", *(f"column{k}" for k in range(13)), "note"]
    lines = [",".join([f"{123456789 + i}", f"{9876.54321 + i}", *["0.125"] * 13, "some words"]) for i in range(4)]
    Path("rows.csv").write_text("\n".join([",".join(header), *lines]) + "\n")

    def printed():
        for left in tmp_path.glob("m.aggro*"):
            left.unlink()
        monkeypatch.setattr(sys, "stdin", io.StringIO("+good\nskip\n+bad\nquit\n"))
        ran = good("label", "rows.csv", "--model", "m.aggro", "--delta", "1", "--budget", "1000000")
        return ran.err + ran.out

    wide = alike(printed)
    assert "1 of 1,000,000 answered, 1 skipped" in wide


@pytest.mark.parametrize("words", [(), ("data",), *COMMANDS], ids=" ".join)
def test_help(words, monkeypatch):
    for width in WIDTHS:
        monkeypatch.setenv("COLUMNS", str(width))
        text = good(*words, "--help").out
        assert not [line for line in text.splitlines() if len(line) > width]
        assert "..." not in re.sub(r"\]\.\.\.|\}\.\.\.", "", text)  # but of arguments that may be given several times


def test_help_says_the_same_at_every_width(monkeypatch):
    said = []
    for width in WIDTHS:
        monkeypatch.setenv("COLUMNS", str(width))
        said.append(good("compare", "--help").out.split())
    assert all(words == said[0] for words in said)


def test_what_no_screen_limits_is_not_wrapped(svm, tmp_path, monkeypatch):
    """Programs find each fact in one line, and each row of a table."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.chdir(tmp_path)
    name = f"{'long' * 30}.aggro"
    out = good("train", svm, "--model", name).out
    assert f"model      {name} (" in out
    out = good("show", name).out
    assert "window=disjoint" in next(line for line in out.splitlines() if line.startswith("parameters"))
    learners = ["pa1", *(f"PAClassifier(C={c},average=true,multi_class=joint,margin=0.12345)" for c in (1, 2))]
    out = good("compare", svm, "--learners", ",".join(learners)).out
    assert all(any(line.split()[:1] == [learner] for line in out.splitlines()) for learner in learners)


# On a terminal ----------------------------------------------------------------------------------------


@pytest.fixture
def terminal():
    pytest.importorskip("pty", reason="there are no pseudo-terminals here", exc_type=ImportError)
    return on_screen


def test_a_mistake_on_a_terminal_is_wrapped_between_words(terminal, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("bad.svm").write_text("1 1:0.5\n-1 1:-0.5\n1 1:half\n")
    status, seen = terminal(40, "train", "bad.svm", "--model", "m.aggro")
    said = seen[seen.index("aggro: ") :]
    assert status == 2
    fits(said, 40)
    assert said.count("\n") > 3
    assert " ".join(said.split()).startswith("aggro: bad.svm, line 3, column 5: the value of '1:half' is not a number.")
    long = "x" * 60  # a name that can be copied is worth more than a line that is not broken
    assert f"{long}.aggro" in terminal(40, "show", f"{long}.aggro")[1]


def test_training_on_a_terminal(terminal, svm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rows.svm").write_bytes(svm.read_bytes())
    status, seen = terminal(40, "train", "rows.svm", "--model", "m.aggro", "--passes", "3")
    assert status == 0
    fits(seen.replace("\r", "\n"), 40)
    assert "1,800" in seen
    assert "1,800 in 3 passes" in seen


# The parts --------------------------------------------------------------------------------------------


def test_cells_in_as_many_lines_as_it_takes():
    cells = ["        1,024", "      0.5000", "   1.234e+10", "    12.50%", "          100"]
    assert side_by_side(cells, None) == side_by_side(cells, 60) == ["".join(cells)]
    for width in range(9, 60):
        lines = side_by_side(cells, width)
        assert max(map(len, lines)) <= width
        assert " ".join(lines).split() == "".join(cells).split()


def test_words_are_whole_where_they_fit():
    text = "one two-three 4,567,890 incomprehensibilities"
    assert console.wrapped(text, 100) == [text]
    assert console.wrapped(text, 21) == ["one two-three", "4,567,890", "incomprehensibilities"]
    assert console.wrapped(text, 10) == ["one", "two-three", "4,567,890", "incomprehe", "nsibilitie", "s"]
    assert console.wrapped(text, 10, whole_words=True)[-1] == "incomprehensibilities"
    assert console.wrapped("雪雪雪雪 雪", 4) == ["雪雪", "雪雪", "雪"]
    assert console.wrapped("", 10) == [""]


@pytest.mark.parametrize("width", [20, 30, 40, 50, 75, 100])
def test_a_table_at_any_width(width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    columns = [tables.Column("learner"), tables.Column("mean loss", True), tables.Column("what there is to say")]
    rows = [tables.Row(["pa", "12,345.67 M", "some longer words\nand others 8"]), tables.Row(["a_long_name", "9", ""])]
    tables.print_table(console.console(), columns, rows, "A title with 1,000 rows")
    out = capsys.readouterr().out
    fits(out, width)
    for part in ("12,345.67 M", "8", "9", "1,000", "longer", "a_long_name"):
        assert part in out
