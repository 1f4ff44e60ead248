"""Six files as people have them: with nothing but their name, aggro learns what a pipeline written by hand would."""

from __future__ import annotations

import pytest
from helpers.nasty_files import FILES
from helpers.runner import good

pytest.importorskip("pyarrow")
pytest.importorskip("pandas")

POINTS, R2 = 0.005, 0.03  # how far behind it may be


@pytest.mark.parametrize("name", FILES)
def test_as_good_as_by_hand(name, tmp_path):
    file = FILES[name](tmp_path)
    made = good("train", file.train, "--model", tmp_path / "m.aggro", "--test", file.test, *file.options, "--json")
    test = made.json["test"]
    if made.json["task"] == "regression":
        assert test["r2"] >= file.by_hand - R2
    else:
        assert 1 - test["error"] >= file.by_hand - POINTS
