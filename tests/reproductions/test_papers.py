"""The report of the papers: what counts, what is kept, and a quick run of all of it on made-up sets."""

from __future__ import annotations

import html
import json
import os
import subprocess
import sys
from collections import Counter

import pytest
from helpers import made_up_sets
from helpers.pages import ROOT

from papers import NAMES, find
from papers.cells import Best, Cell, Verdict, Way, beaten_sets, count, sentences
from papers.jobs import Job, Kept, do
from papers.learned import LESSONS
from papers.published_figures import lines


def test_a_cell_is_reproduced_within_the_published_spread_or_half_a_point_to_either_side():
    assert Cell(10.0, 10.5).verdict is Verdict.REPRODUCED
    assert Cell(10.0, 9.5).verdict is Verdict.REPRODUCED
    assert Cell(10.0, 10.51).verdict is Verdict.WORSE
    assert Cell(10.0, 9.49).verdict is Verdict.BETTER
    assert Cell(10.0, 10.9, published_spread=1.0).verdict is Verdict.REPRODUCED
    assert Cell(10.0, 8.9, published_spread=1.0).verdict is Verdict.BETTER
    assert Cell(10.0, 10.9, our_spread=3.0).verdict is Verdict.WORSE  # our own spread is no excuse
    assert Cell(80.0, 79.4, higher=True).verdict is Verdict.WORSE
    assert Cell(80.0, 80.6, higher=True).verdict is Verdict.BETTER
    assert not Cell(80.0, None).is_counted
    assert not Cell(None, 80.0).is_counted
    assert not Cell(80.0, 80.0, way=None).is_counted


def test_a_bound_holds_or_does_not():
    assert Cell(10.0, 2.0, way=Way.BOUND).verdict is Verdict.REPRODUCED
    assert Cell(10.0, 10.01, way=Way.BOUND).verdict is Verdict.WORSE


def test_sets_are_counted_once_and_won_in_every_line():
    def line(name, ours, **more):
        return Best(name, "error", 10.0, "a", 9.0, "b", ours, "c", **more)

    lines_ = [line("x, all", 9.0, data="x"), line("x, some", 11.0, data="x"), line("y", 9.0), line("z", 12.0)]
    assert beaten_sets(lines_) == (1, 3)
    assert beaten_sets([]) == (0, 0)


def test_findings_are_of_the_papers_and_short():
    assert {lesson.paper for lesson in LESSONS} == set(NAMES)
    assert all(len(lesson.text.split()) < 90 for lesson in LESSONS)


def one_more(x: int) -> int:
    return x + 1


def test_what_was_done_is_not_done_again(tmp_path, monkeypatch):
    path = tmp_path / "done.jsonl"
    jobs = [Job(f"job {x}", "reproductions.test_papers:one_more", {"x": x}, cost=x) for x in range(3)]
    done = [job.key for job in do(jobs, Kept(path), 1)]
    assert done == ["job 2", "job 1", "job 0"]  # the longest first
    with path.open("a") as file:
        file.write('{"job": "torn')  # as it is when a run is killed while it writes
    again = Kept(path)
    assert list(do(jobs, again, 1)) == []
    assert again.of(jobs) == {"job 0": 1, "job 1": 2, "job 2": 3}
    monkeypatch.setattr("papers.jobs.code_of", lambda module: "changed")
    assert len(list(do(jobs, Kept(path), 1))) == 3


@pytest.mark.parametrize("name", NAMES)
def test_every_paper_says_what_it_is(name):
    paper = find(name)
    assert len(paper.TITLE) > 20
    assert len(paper.NOTES.split()) > 60
    assert all(job.call.startswith("papers.") for job in paper.jobs(True))
    keys = [job.key for job in paper.jobs(False)]
    assert len(keys) == len(set(keys))


def test_published_figures_are_there():
    assert len(lines("pamo_table1")) == 52
    assert {line["dataset"] for line in lines("bpa_table2")} >= {"breast", "sonar"}
    with pytest.raises(FileNotFoundError):
        lines("no table")


def run(*arguments, data):
    command = [sys.executable, "-m", "papers", "--quick", "--workers", "1", *arguments]
    told = {**os.environ, "AGGRO_DATA": str(data), "AGGRO_QUIET": "1"}
    return subprocess.run(command, cwd=ROOT, env=told, capture_output=True, text=True, check=False)


def test_a_quick_run_of_everything(tmp_path):
    data, out = tmp_path / "data", tmp_path / "report"
    data.mkdir()
    made_up_sets.write(data, made_up_sets.QUICK)
    first = run("--json", "--out", str(out), data=data)
    assert first.returncode == 0, first.stderr
    told = json.loads(first.stdout)
    assert set(told["papers"]) == set(NAMES)
    for way, of in told["counts"].items():
        rows = [row["verdict"] for row in told["rows"] if row["way"] == way and row["counted"]]
        assert Counter(rows) == {verdict: n for verdict, n in of.items() if n}
        assert sum(of.values()) == sum(sum(ways.get(way, {}).values()) for ways in told["papers"].values())
    assert set(told["counts"]) == set(Way)
    page = (out / "report.html").read_text(encoding="utf-8")
    for sentence in told["said"]:
        assert sentence in html.unescape(page)
    assert "What we learned about these papers" in page
    assert 'src="http' not in page  # it stands alone; where sets come from is text
    assert "href=" not in page
    assert len(list(out.glob("*.png"))) >= 10
    assert json.loads((out / "results.json").read_text()) == told
    again = run("--json", "--out", str(out), data=data)  # finds all of it done
    assert json.loads(again.stdout) == told
    assert not again.stderr


def test_sets_that_are_not_there_say_how_to_get_them(tmp_path):
    (tmp_path / "data").mkdir()
    run_ = run("pamo", "--out", str(tmp_path / "report"), data=tmp_path / "data")
    assert run_.returncode == 0, run_.stderr
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "aggro data fetch ijcnn1" in page


def test_without_a_folder_of_sets_that_is_said(tmp_path):
    told = run("pamo", "--out", str(tmp_path / "report"), data="")
    assert told.returncode == 0, told.stderr
    assert told.stderr.startswith("AGGRO_DATA is not set")
    assert "AGGRO_DATA" in (tmp_path / "report" / "report.html").read_text(encoding="utf-8")


def test_a_damaged_set_is_one_line(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    made_up_sets.write(data, made_up_sets.QUICK)
    (path,) = data.glob("svmguide1.svm*")
    path.unlink()
    (data / "svmguide1.svm").write_text("1 1:2\n-1 2:x\n")
    told = run("pam", "--out", str(tmp_path / "report"), "--workers", "2", data=data)
    assert told.returncode == 2
    assert told.stderr.strip().splitlines()[-1].startswith("aggro: A data set is damaged: ")
    assert "svmguide1.svm, line 2" in told.stderr
    assert "Traceback" not in told.stderr


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    refused = run("pamo", "--out", str(tmp_path), data=tmp_path)
    assert refused.returncode == 2
    assert "other files" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    assert "There is no paper" in run("pomo", "--out", str(tmp_path / "x"), data=tmp_path).stderr


def test_counting():
    from papers.cells import Row, Table

    cells = (Cell(1.0, 1.0), Cell(1.0, 3.0), Cell(1.0, 3.0, way=Way.CODE))
    rows = (Row(("a",), cells), Row(("b",), (Cell(1.0, None, why="gone"), "text", Cell(1.0, 0.1))))
    counts = count([Table("t", "T", ("set",), ("x", "y", "z"), rows)])
    assert counts[Way.STATED] == {Verdict.REPRODUCED: 1, Verdict.WORSE: 1, Verdict.BETTER: 1}
    assert counts[Way.CODE] == {Verdict.WORSE: 1}
    assert sentences(counts) == [
        "As stated: 1 of 3 cells reproduced, 1 better, 1 worse.",
        "As the authors' code does: 0 of 1 cells reproduced, 0 better, 1 worse.",
    ]
