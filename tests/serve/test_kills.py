"""Killed under load, a few times; benchmarks/serve_faults.py does it 200 times."""

from __future__ import annotations

import sys

import pytest
from serve.killing import kill_repeatedly

pytestmark = [
    pytest.mark.xdist_group("serve"),
    pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL on Windows"),
]


def test_every_acknowledged_example_survives_once(tmp_path):
    found = kill_repeatedly(4, folder=tmp_path)
    assert found["learned"] >= found["acknowledged"] > 0
