"""The quick tests: the house, plain twins, and the contract on three learners. ``make test-fast`` runs it.

The contract and the twins run without compiling, so that a fresh clone does not wait for Numba: their streams are
short. ``make test`` runs all of them compiled.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEARNERS = ("PARegressor", "PAUniclass", "Perceptron")
ALIKE = ("Kernel", "Multiplicative", "Randomized")  # learners whose names end like these
CONTRACT = f"({' or '.join(f'{name}-plain-' for name in LEARNERS)}) and not ({' or '.join(ALIKE)})"
TWINS = [f"tests/learners/{family}" for family in ("first_order", "linear", "second_order", "uniclass")]
SLOW = ("test_loads.py", "test_user_types.py")  # of the house: they start processes, and mypy
RUNS: tuple[tuple[dict[str, str], list[str]], ...] = (
    ({}, ["tests/house", *(f"--ignore=tests/house/{name}" for name in SLOW)]),
    (
        {"NUMBA_DISABLE_JIT": "1"},
        ["tests/contract/test_contract.py", *TWINS, "-k", f"({CONTRACT}) or (twin and not long)"],
    ),
)


def main() -> int:
    failed = 0
    for settings, arguments in RUNS:
        command = [sys.executable, "-m", "pytest", "-n", "auto", "--dist", "loadgroup", *arguments, *sys.argv[1:]]
        failed |= subprocess.run(command, cwd=ROOT, env={**os.environ, **settings}).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main())
