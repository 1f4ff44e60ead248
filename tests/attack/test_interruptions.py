"""The short form of the attack by interruptions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ATTACK = Path(__file__).with_name("interruptions.py")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="runs are forked")
def test_nothing_is_lost_or_learned_twice():
    line = [sys.executable, str(ATTACK), "--count", "6", "--seed", "1"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert all(found[sort]["kills"] >= 6 for sort in ("train", "label", "save"))
    assert len(found["disk"]) == 6
