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


def test_with_nothing_set_it_is_among_the_best(results):
    ours, *peers = results["learners"]
    assert ours["name"] == "PAClassifier()"
    assert not ours["peer"]
    assert all(line["peer"] for line in peers)
    assert ours["test_error"] < 0.05
    assert ours["progressive_error"] < max(line["progressive_error"] for line in peers)
    assert all(line["rows_per_second"] > 0 for line in results["learners"])


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
    assert records["recent_error"] < 0.12 < records["hashed_recent_error"]  # it has recovered from the drift
    new_label, drift = records["drifts"]
    assert 1500 < new_label < 2000 < drift < 2400
    few = records["few_labels"]
    assert 200 < few["labels"] < 400
    assert few["error"] < 0.1
    assert records["label"] == "outage"  # which nobody knew of at the start
    assert all(name.startswith(("note:", "plan=")) for name in records["because"])


def test_one_screen_to_stdout_progress_to_stderr_and_one_page(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    page = tmp_path / "seen.html"
    out, err = run("--page", str(page))
    assert "PAClassifier()" in out
    assert "RecordLearner()" in out
    assert "scikit-learn pa1" in out
    assert "\x1b" not in out
    assert all(len(line) <= 80 for line in out.splitlines() if str(page) not in line)
    assert len(out.splitlines()) <= 24
    assert err.splitlines()[0] == "Two-norm: compiling (once) …"
    text = page.read_text(encoding="utf-8")
    assert text.count('<svg class="wide"') == 2
    assert text.count("<svg") == 4  # each of the curves for narrow pages too
    assert text.count("<h2") == 2
    assert len(text) < 100_000
    assert "https:" not in text
    assert "http:" not in text


def test_no_page_when_none_is_wanted(results, tmp_path, monkeypatch):
    assert results["page"] is None
    monkeypatch.chdir(tmp_path)
    run("--no-page", "--json")
    assert list(tmp_path.iterdir()) == []
