"""The parsers' source as plain Python, searched by Hypothesis for text on which it and its twin differ.

Run with NUMBA_DISABLE_JIT=1; ``python tests/helpers/uncompiled.py EXAMPLES``.
"""

from __future__ import annotations

import sys

import numba
import numpy as np
from helpers import fuzz, hard_numbers
from hypothesis import given, settings
from hypothesis import strategies as st


def texts(name: str) -> st.SearchStrategy[bytes]:
    piece = st.one_of(st.sampled_from(fuzz.PIECES[name]), st.binary(max_size=3))
    seed = st.sampled_from(fuzz.SEEDS[name])
    cut = st.integers(0, 60)
    spliced = st.builds(lambda a, i, middle, b, j: a[:i] + middle + b[j:], seed, cut, piece, seed, cut)
    joined = st.lists(piece, max_size=12).map(b"".join)
    return st.one_of(spliced, joined).map(lambda text: text if text.endswith(b"\n") else text + b"\n")


DECIMALS = st.from_regex(r"[+-]?([0-9]{1,25}(\.[0-9]{0,25})?|\.[0-9]{1,25})([eE][+-]?[0-9]{1,3})?", fullmatch=True)


def main(examples: int) -> None:
    assert numba.config.DISABLE_JIT
    thorough = settings(max_examples=examples, deadline=None, database=None)

    for name, check in fuzz.CHECKS.items():
        thorough(given(texts(name), st.booleans(), st.booleans())(check))()
    thorough(given(st.lists(DECIMALS, min_size=1, max_size=5))(hard_numbers.compare))()


if __name__ == "__main__":
    with np.errstate(over="ignore"):  # 64-bit arithmetic wraps on purpose
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
