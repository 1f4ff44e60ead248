"""What ``import aggro`` offers comes from the registry, and is made when it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import aggro
import aggro.estimators
from aggro.learners.registry import ACTIVE, LEARNERS, RECORDS

NAMES = {entry.name for entry in (*LEARNERS, ACTIVE, RECORDS)}


def test_every_learner_is_offered():
    assert set(aggro.__all__) > NAMES == set(aggro.estimators.__all__)
    assert set(dir(aggro)) > NAMES < set(dir(aggro.estimators))
    for name in aggro.__all__:
        assert getattr(aggro, name) is not None
    for name in NAMES:
        assert getattr(aggro, name) is getattr(aggro.estimators, name)
        assert getattr(aggro, name).__module__ == "aggro.estimators"  # where pickles look for it


@pytest.mark.parametrize("module", [aggro, aggro.estimators, aggro.evaluate])
def test_other_names_are_not_there(module):
    assert not hasattr(module, "Nonsense")


def test_threads_that_ask_at_once_get_one_class():
    code = """
import sys, threading
import aggro
sys.setswitchinterval(1e-6)
found, start = set(), threading.Barrier(8)
def ask():
    start.wait()
    found.add(aggro.PAUniclass)
threads = [threading.Thread(target=ask) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(found))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stdout == "1\n", ran.stderr
