"""Several bytes of text at once, compiled, beside Python byte by byte."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import numba
import numpy as np
import pytest

from aggro.engine.jit import letters
from aggro.engine.jit.compile import from_python
from aggro.engine.jit.letters import EIGHT, WINDOW_BYTES

KINDS = {
    "no_digits": lambda letter: not 48 <= letter <= 57,
    "up_to_space": lambda letter: letter <= 32,
    "name_ends": lambda letter: letter <= 32 or letter in b":|",
}


def look(name):
    function = getattr(letters, name)
    return function if numba.config.DISABLE_JIT else from_python(function)


def texts():
    yield bytes(range(256)) * 2
    chance = random.Random(0)
    for _ in range(20):
        yield bytes(chance.choice(b"0129:|.- \n\t\x00\x1f!/;\x80\xff") for _ in range(300))


@pytest.mark.parametrize("name", KINDS)
def test_each_bit_tells_of_its_byte(name):
    found = look(name)
    for text in texts():
        array = np.frombuffer(text, np.uint8)
        for p in range(len(text) - WINDOW_BYTES + 1):
            wanted = sum(KINDS[name](letter) << k for k, letter in enumerate(text[p : p + WINDOW_BYTES]))
            assert found(array, np.uint64(p)) == wanted


def test_a_word_has_its_first_byte_lowest():
    found = look("word")
    for text in texts():
        array = np.frombuffer(text, np.uint8)
        for p in range(len(text) - EIGHT + 1):
            assert found(array, np.uint64(p)) == int.from_bytes(text[p : p + EIGHT], "little")


CHECKED = """
import numpy as np
from aggro.engine.jit import letters
from aggro.engine.jit.compile import from_python

text = np.full(40, 48, np.uint8)
for name, size in (("word", 8), ("no_digits", 32), ("up_to_space", 32), ("name_ends", 32)):
    look = from_python(getattr(letters, name))
    look(text, np.uint64(40 - size))
    try:
        look(text, np.uint64(41 - size))
    except IndexError:
        continue
    raise SystemExit(f"{name} read beyond the end")
"""


def test_with_bounds_checks_nothing_is_read_beyond_the_end():
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_DISABLE_JIT": "0"}
    done = subprocess.run([sys.executable, "-c", CHECKED], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
