"""The comparison by itself: how ratios are made, what is said to have fallen, and that the page has all of it."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def bench():
    sys.path.insert(0, str(FOLDER))
    try:
        yield importlib.import_module("bench")
    finally:
        sys.path.remove(str(FOLDER))


@pytest.fixture
def measure(bench):
    return sys.modules["measure"]


@pytest.fixture
def cell(measure):
    return measure.Cell("files", "a job", "a peer", measure.FASTER, 10.0, 9.0, 11.0, target=8.0)


def test_every_group_can_be_imported(bench):
    for name in (*bench.GROUPS, bench.GROWTH):
        module = importlib.import_module(f"jobs.{name}")
        assert hasattr(module, "curves" if name == bench.GROWTH else "cells")


def test_jobs_take_turns_after_a_round_that_does_not_count(measure):
    done = []
    times = measure.in_turns({"a": lambda: done.append("a"), "b": lambda: done.append("b")}, 3)
    assert done == ["a", "b"] * 4
    assert {name: len(rounds) for name, rounds in times.items()} == {"a": 3, "b": 3}


def test_a_ratio_is_the_median_of_the_rounds(measure):
    ours, theirs = np.array([1.0, 2.0, 1.0]), np.array([3.0, 8.0, 5.0])
    faster = measure.cell("files", "a job", "a peer", measure.FASTER, ours, theirs, target=4.0)
    assert (faster.ratio, faster.rounds, faster.met) == (4.0, 3, True)
    assert 3.0 < faster.low < faster.high < 5.0
    longer = measure.cell("files", "a job", "a peer", measure.LONGER, theirs, ours, target=3.0)
    assert (longer.ratio, longer.at_most, longer.met) == (4.0, True, False)


def test_no_speed_makes_up_for_a_poor_model(cell):
    assert cell.met
    assert replace(cell, good_enough=False).met is False


@pytest.mark.parametrize(("ratio", "found"), [(12.0, 0), (8.1, 0), (7.9, 1)])
def test_a_fall_by_more_than_a_fifth_is_named(measure, cell, ratio, found):
    assert len(measure.compare([cell], [replace(cell, ratio=ratio)], [])) == found


@pytest.mark.parametrize(("ratio", "found"), [(8.0, 0), (12.4, 0), (12.6, 1)])
def test_and_a_time_that_rose(measure, cell, ratio, found):
    stored = replace(cell, at_most=True)
    assert len(measure.compare([stored], [replace(stored, ratio=ratio)], [])) == found


def test_a_fall_within_the_spread_is_not(measure, cell):
    assert not measure.compare([replace(cell, low=5.0)], [replace(cell, ratio=6.0)], [])


def test_a_job_that_is_missing_is_named_unless_it_was_left_out(measure, cell):
    (line,) = measure.compare([cell], [], [])
    assert line == "files: a job, beside a peer: missing"
    assert not measure.compare([cell], [], [measure.Skip("files", "a job", "", "no data")])
    assert measure.compare([cell], [], [measure.Skip("files", "another", "", "no data")])


def test_what_is_stored_is_read_back_and_other_groups_stay(bench, cell, tmp_path, monkeypatch):
    monkeypatch.setattr(bench.plots, "ratios", lambda *given: None)
    other = replace(cell, group="cold", error=1.5, peer_error=2.5)
    bench.write(tmp_path, [cell, other], [], {}, {})
    again = replace(cell, ratio=7.0)
    bench.write(tmp_path, [again], [], {}, bench.stored_in(tmp_path))
    assert bench.cells_of(bench.stored_in(tmp_path)) == [again, other]
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert "1 of 2 targets are met, 0 of these on a busy machine" in page
    assert "errors 1.50, 2.50 %" in page


def test_the_stored_figures_are_those_of_the_page(bench):
    stored = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))
    skips = [sys.modules["measure"].Skip(**one) for one in stored["skips"]]
    written = (FOLDER / "RESULTS.md").read_text(encoding="utf-8")
    assert written == bench.report.page(bench.cells_of(stored), skips, stored)
