"""Where Numba is not built as expected, plain ways give the same results; and so does Python, with the JIT off."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.everything import assert_same, everything

TESTS = Path(__file__).parents[2]
EVERYTHING = "helpers/everything.py"
BESIDE_US = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
# Names that are no longer where they were.
HIDING = """
import runpy, sys
from aggro.engine.jit.private import names as insides

for group in ("PARTIAL", "ADDRESSES"):
    getattr(insides, group).append("numba.core.codegen:LibraryOfAnotherName")
import test_jumps, test_partial
from aggro.engine.jit.compile import from_python

test_jumps.test_a_jump_is_a_call()
test_jumps.test_an_error_behind_a_jump_arrives()
assert from_python(test_partial.summed)(test_jumps.np.array([2.0, 4.0])) == 5.0
runpy.run_path("helpers/everything.py", run_name="__main__")
"""


def run(command: list[str], **environment: str) -> str:
    told = {**os.environ, **environment}
    done = subprocess.run([sys.executable, *command], env=told, capture_output=True, text=True, cwd=TESTS)
    assert done.returncode == 0, done.stderr
    return done.stderr


def saved(path: Path) -> dict:
    return np.load(path, allow_pickle=True).item()


def test_with_the_jit_off_everything_runs_and_is_the_same(tmp_path):
    said = run([EVERYTHING, str(tmp_path / "off.npy")], NUMBA_DISABLE_JIT="1")
    assert "Warning" not in said
    assert_same(saved(tmp_path / "off.npy"), everything([]))


def test_without_numbas_insides_results_are_the_same(tmp_path):
    said = run(["-c", HIDING, str(tmp_path / "plain.npy"), "briefly"], PYTHONPATH=BESIDE_US)
    assert said.count("is not built as expected") == 2
    assert "a first call takes longer" in said
    assert "single rows take longer" in said
    assert_same(saved(tmp_path / "plain.npy"), everything(["briefly"]))


ALONE = """
import sys
import numpy as np
from aggro.engine.jit.private import names as insides
insides.DISK_CACHE.append("numba.core.codegen:LibraryOfAnotherName")
from aggro.engine.rows import pointers_ascend
assert pointers_ascend(np.array([0, 2, 5]))
"""


def test_code_that_cannot_be_kept_is_compiled_in_each_process(tmp_path):
    said = run(["-c", ALONE], NUMBA_CACHE_DIR=str(tmp_path))
    assert "each process compiles" in said
    assert not list(tmp_path.iterdir())


BROKEN = """
import numpy as np
from aggro.engine.jit.private import partial as pieces

def no_longer(self):
    raise AttributeError("'PieceLibrary' object has no attribute '_reload_init'")

pieces.PieceLibrary.finalize = no_longer
from test_partial import halved, summed
from aggro.engine.jit.compile import from_python
assert from_python(summed)(np.array([2.0, 4.0])) == 5.0
assert halved(3.0) == 1.5
"""


def test_a_piece_that_cannot_be_left_half_compiled_goes_the_whole_way():
    assert "_reload_init" in run(["-c", BROKEN], PYTHONPATH=BESIDE_US)


@pytest.mark.parametrize("group", ["PARTIAL", "ADDRESSES", "DISK_CACHE"])
def test_this_numba_is_built_as_expected(group):
    from aggro.engine.jit.private.names import is_there

    assert is_there(group)
