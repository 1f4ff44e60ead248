"""NUMBA_BOUNDSCHECK=1 (``make test-checked``) turns a read outside an array into an IndexError.

Kernels do not check bounds, so a door that lets a wrong index through would read foreign memory in
silence. These tests prove that the checked run of the suite would notice.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import aggro
from aggro.engine.monitor.observer import observer
from aggro.engine.passes import run, score_rows
from aggro.engine.steps import Step
from aggro.learners.linear.bank import GRID, BankParams
from aggro.learners.linear.grid import Problem, members_table
from aggro.learners.linear.vector import LINE, LineParams
from aggro.learners.model.features import frozen
from aggro.learners.model.model import NO_ORDER

CHECKED = os.environ.get("NUMBA_BOUNDSCHECK") == "1"


def read_outside(kernel: str, rule: str) -> None:
    """Hand the kernel weights that are narrower than the rows, past every door."""
    params: LineParams | BankParams
    if rule == "line":
        params = LineParams(1, 0, 1.0, 0.1, 1.0, 0, 1.0)
        state = LINE.init(params, 2, 1)
    else:
        table = members_table([(Step.PA1, 1.0)], 0.1, Problem.NUMBER)
        params = BankParams(int(Problem.NUMBER), 0, 8, table, 0.1, 1.0, 0, 1.0, 1.0, 0)
        state = GRID.init(params, 2, 1)
    X, y = frozen(np.ones((1, 5))), frozen(np.ones(1))
    if kernel == "score":
        score_rows(state, params, X, np.zeros((1, 1)))
    else:
        run(state, params, X, y, frozen(np.empty(0)), NO_ORDER, 0, 1, frozen(np.empty(0)), False, observer(False))


@pytest.mark.parametrize(("kernel", "rule"), [("run", "line"), ("score", "grid")])
def test_a_read_outside_raises_when_bounds_are_checked(kernel, rule):
    # A process of its own, because Numba reads the flag once.
    code = f"from test_bounds_checks import read_outside; read_outside({kernel!r}, {rule!r})"
    paths = [str(Path(__file__).parent), str(Path(aggro.__file__).parent.parent)]
    environment = {
        **os.environ,
        "NUMBA_BOUNDSCHECK": "1",
        "PYTHONPATH": os.pathsep.join(paths),
    }
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "IndexError" in done.stderr.splitlines()[-1]


def test_numba_honours_the_flag_of_this_run():
    assert bool(numba.config.BOUNDSCHECK) == CHECKED
    assert run.targetoptions.get("boundscheck") is None  # a kernel's own option would override the flag


@pytest.mark.skipif(not CHECKED, reason="only under NUMBA_BOUNDSCHECK=1: without it this would read foreign memory")
@pytest.mark.parametrize("rule", ["line", "grid"])
@pytest.mark.parametrize("kernel", ["run", "score"])
def test_this_run_is_checked(kernel, rule):
    with pytest.raises(IndexError):
        read_outside(kernel, rule)
