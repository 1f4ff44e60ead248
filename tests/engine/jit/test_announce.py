"""Compiling that takes long says so: once, on stderr, and not where it is not wanted."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from aggro.engine.jit import announce

COLD = """
import numpy as np
from aggro.engine.jit import announce
announce.ANNOUNCE_AFTER = announce.LOOK_AGAIN_AFTER = 0.01
from aggro.streams.parse import numbers
for text in (b"1.5", b"2.5"):
    print(numbers.parse_float(text))
from aggro.engine.rows import index_order
print(index_order(np.zeros(1, np.int64), np.zeros(0, np.uint32))[0])
"""


def spoken(folder, **environ):
    kept = {name: value for name, value in os.environ.items() if name != "AGGRO_QUIET"}
    ran = subprocess.run(
        [sys.executable, "-c", COLD],
        env={**kept, "NUMBA_CACHE_DIR": str(folder), **environ},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.splitlines()[:2] == ["1.5", "2.5"]
    return ran.stderr


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_once_in_a_process_and_not_when_the_code_is_there(tmp_path):
    tmp_path.chmod(0o700)
    said = spoken(tmp_path)
    assert said == "aggro: compiling what reads files, once for this machine; it takes some seconds …\n"
    assert spoken(tmp_path) == ""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_silence(tmp_path):
    tmp_path.chmod(0o700)
    assert spoken(tmp_path, AGGRO_QUIET="1") == ""


@pytest.fixture
def loud(monkeypatch):
    monkeypatch.delenv("AGGRO_QUIET", raising=False)
    monkeypatch.setattr(announce, "ANNOUNCED", [])
    monkeypatch.setattr(announce, "ANNOUNCE_AFTER", 0.01)
    monkeypatch.setattr(announce, "LOOK_AGAIN_AFTER", 0.01)


def test_what_is_short_or_only_read_says_nothing(loud, monkeypatch, capsys):
    with announce.announced(lambda: "slow", lambda: False):
        time.sleep(0.1)
    monkeypatch.setattr(announce, "ANNOUNCE_AFTER", 60.0)
    with announce.announced(lambda: "slow", lambda: True):
        pass
    assert capsys.readouterr() == ("", "")


def test_it_says_so_while_it_lasts_and_once(loud, capsys):
    for _ in range(2):
        with announce.announced(lambda: "slow", lambda: True), announce.announced(lambda: "inner", lambda: True):
            time.sleep(0.1)
    assert capsys.readouterr() == ("", "aggro: slow\n")


def test_a_command_says_it_in_its_own_way(loud, capsys):
    heard = []
    with announce.through(heard.append), announce.announced(lambda: "slow", lambda: True):
        time.sleep(0.1)
    assert heard == ["slow"]
    assert capsys.readouterr() == ("", "")


def test_an_error_goes_its_way(loud):
    with pytest.raises(ZeroDivisionError), announce.announced(lambda: "slow", lambda: True):
        raise ZeroDivisionError
    assert not announce.HERE.busy
