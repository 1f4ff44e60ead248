"""The demo, on few rows."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout

import pytest

from aggro import cli


def run(*arguments):
    """What the demo writes to stdout and stderr."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err, pytest.raises(SystemExit) as end:
        cli.main(["demo", "--rows", "2000", *arguments])
    assert end.value.code == 0
    return out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def results():
    return json.loads(run("--json", "--no-page")[0])


def test_it_shows_what_it_promises(results):
    exact, cut, classes, features = results["claims"]
    assert exact["aggro"] == "1.0"
    assert exact["others"]["scikit-learn"] == "5.0"
    assert cut["aggro"].startswith("1,")
    assert classes["aggro"].startswith("learned")
    assert classes["others"]["scikit-learn"].startswith("ValueError")
    assert features["aggro"].startswith("learned")
    assert features["others"]["scikit-learn"].startswith("ValueError")


def test_the_learners_learn_and_averages_are_not_the_last_iterate(results):
    twonorm, digits, diabetes = ({line["name"]: line for line in race["learners"]} for race in results["races"])
    assert all(line["test_error"] < 0.1 for line in twonorm.values())
    assert twonorm["pa1 averaged"]["test_error"] != twonorm["pa"]["test_error"]
    assert all(line["test_error"] < 0.2 for line in digits.values())
    assert diabetes["pa2"]["progressive_error"] < diabetes["scikit-learn pa2"]["progressive_error"] / 2
    assert all(line["rows_per_second"] > 0 for race in results["races"] for line in race["learners"])


def test_a_boundary_that_bends_follows_and_a_straight_one_cannot(results):
    bent, straight = results["turning"]
    assert bent["error"] < 0.1
    assert max(bent["mistakes"][1:]) < 20  # the first hundred rows are the first it sees
    assert straight["error"] > 0.3
    assert len(bent["mistakes"]) == len(straight["mistakes"]) == 10
    assert sum(bent["mistakes"]) == round(1000 * bent["error"])


def test_raw_records_are_learned_as_they_come(results):
    records = results["records"]
    assert records["columns"] == {
        "ticket": "id",
        "plan": "category",
        "amount": "number",
        "opened": "date",
        "note": "text",
    }
    assert records["error"] < 0.2
    assert records["error"] < records["hashed_error"]
    assert records["refused"].startswith("ValueError")
    assert records["label"] == "outage"  # which nobody knew of at the start
    assert all(name.startswith(("note:", "plan=")) for name in records["because"])


def test_tables_to_stdout_progress_to_stderr_and_one_page(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    page = tmp_path / "seen.html"
    out, err = run("--page", str(page))
    assert "pa1 averaged" in out
    assert "scikit-learn pa1" in out
    assert "\x1b" not in out
    assert all(len(line) <= 80 for line in out.splitlines() if str(page) not in line)
    assert "Raw support tickets" in out
    assert err.splitlines()[0] == "Two-norm: compiling (once) …"
    text = page.read_text(encoding="utf-8")
    assert text.count('<svg class="wide"') == 4
    assert text.count("<svg") == 9  # each of the curves for narrow pages too, and the clouds that turn
    assert len(text) < 300_000
    assert "https:" not in text
    assert "http:" not in text


def test_no_page_when_none_is_wanted(results, tmp_path, monkeypatch):
    assert results["page"] is None
    monkeypatch.chdir(tmp_path)
    run("--no-page", "--json")
    assert list(tmp_path.iterdir()) == []
