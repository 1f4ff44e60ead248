"""Pieces of kernels are linked into their callers and compiled there alone."""

import numpy as np
import pytest

from aggro.engine.jit.compile import exact_part, inline, kernel, part
from aggro.engine.jit.private.partial import PieceLibrary


@part
def halved(x):
    return x / 2.0


@exact_part
def moved(x):
    return halved(x) + 1.0


@inline
def summed(values):
    total = 0.0
    for value in values:
        total += moved(value)
    return total


def test_a_kernel_runs_its_pieces_and_they_have_no_code_of_their_own():
    total = kernel(lambda values: summed(values))
    assert total(np.array([2.0, 4.0])) == 5.0
    for piece in (halved, moved, summed):
        (compiled,) = piece.overloads.values()
        assert isinstance(compiled.library, PieceLibrary)
        assert compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name) == 0


def test_a_piece_called_from_python_is_an_error_and_not_a_crash():
    for _ in range(2):  # the second call finds it compiled
        with pytest.raises(TypeError):
            halved(3.0)
