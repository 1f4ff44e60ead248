"""``aggro label`` on a real pseudo-terminal: whatever happens to it, no answer is lost and the model is the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pty", reason="there are no pseudo-terminals here", exc_type=ImportError)

TERMINAL = Path(__file__).parents[1] / "helpers" / "terminal.py"
ROWS = 400


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table of numbers and words, read in several chunks' worth of rows; and the labels, which are not in it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, 2)).round(3)
    lines = [f"{x},{z},{'red' if i % 3 else 'blue'}" for i, (x, z) in enumerate(X.tolist())]
    path = tmp_path_factory.mktemp("data") / "rows.csv"
    path.write_text("x,z,colour\n" + "\n".join(lines) + "\n")
    return path, ["up" if x + 0.3 * z > 0 else "down" for x, z in X.tolist()]


def play(name, table, tmp_path, model="m.aggro", **more):
    path, labels = table
    arguments = ["label", str(path), "--classes", "up=u,down=d", "--delta", "0.3", *more.pop("arguments", [])]
    plan = {
        "play": name,
        "arguments": arguments,
        "labels": labels,
        "model": str(tmp_path / model),
        "warm": str(tmp_path / "warm.aggro"),
        **more,
    }
    run = subprocess.run([sys.executable, str(TERMINAL), json.dumps(plan)], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.xdist_group("label")
def test_killed_at_any_moment_nothing_is_lost_and_the_model_is_the_same(table, tmp_path):
    quiet = play("whole", table, tmp_path, "whole.aggro")
    assert quiet["status"] == 0
    assert quiet["kept"] == quiet["pressed"]
    assert 40 < len(quiet["kept"]) < ROWS / 2
    killed = play("killed", table, tmp_path, "pieces.aggro", seed=0)
    assert killed["status"] == 0
    assert killed["lost"] == 0
    assert killed["kills"] >= 8
    assert killed["kept"] == quiet["kept"]
    assert (tmp_path / "pieces.aggro").read_bytes() == (tmp_path / "whole.aggro").read_bytes()
    assert not list(tmp_path.glob(".aggro-*"))


@pytest.mark.xdist_group("label")
def test_interrupted_closed_and_ended(table, tmp_path):
    result = play("stopped", table, tmp_path)
    assert [ended["status"] for ended in result.values()] == [130, 129, 143]
    assert [ended["kept"] for ended in result.values()] == [3, 6, 9]
    assert all(ended["same question"] and ended["quit"] == 0 for ended in result.values())


@pytest.mark.xdist_group("label")
def test_keys(table, tmp_path):
    path, labels = table
    result = play("keys", (path, labels), tmp_path, arguments=["--classes", "down=d"])
    first, again, second, back = result["rows"]
    assert first == again == back == 1
    assert second > 1
    assert not result["early"]
    assert [entry["do"] for entry in result["kept"]] == ["answer", "undo", "answer"]
    assert [entry.get("label") for entry in result["kept"]] == ["down", None, "sideways"]
    assert result["status"] == 0
    assert "sideways" in result["screen"]
    assert "Traceback" not in result["screen"]


@pytest.mark.xdist_group("label")
def test_escape_cancels_and_arrows_do_not(table, tmp_path):
    result = play("escape", table, tmp_path, arguments=["--classes", "down=d"])
    first, second, third = result["rows"]
    assert first == 1 < second < third
    assert "[u] takes the last answer back, [q] stops; all is kept" in result["hint"]
    assert [(entry["do"], entry.get("label")) for entry in result["kept"]] == [("answer", "tür"), ("skip", None)]
    assert result["status"] == 0


@pytest.mark.xdist_group("label")
def test_a_class_that_was_undone_leaves_the_menu(table, tmp_path):
    result = play("undone", table, tmp_path, arguments=["--classes", "up=p,down=d"])
    assert result["status"] == 0
    given, one, two, one_again, none, answered, back = (menu[menu.rindex("[p]") :] for menu in result["menus"])
    assert given == none == answered == back
    assert given.startswith("[p] up   [d] down   [s] skip")  # those that were given stay
    assert one == one_again
    for menu, name in zip(result["menus"][1:3], ("sideways", "another class of rows"), strict=True):
        assert menu.split("\n")[0] == f" (Esc to go back): {name}"
        assert name not in menu.partition("row ")[0].partition(name)[2]  # it was typed, and is not said again
    assert one.startswith("[p] up   [d] down   [i] sideways   [s] skip")
    assert two.startswith("[p] up   [d] down   [i] sideways   [a] another class of rows   [s] skip")
