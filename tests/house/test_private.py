"""Names that begin with an underscore are the business of the room they are in.

Outside ``learners/`` nothing reaches a private member of a learner or a model, nor, but in the seam to Numba, one of
any other object: there are public calls, those of ``learners.base.inside`` above all.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import aggro

HOME = Path(aggro.__file__).parent
PRIVATE = re.compile(r"_[a-zA-Z]\w*")
OWN = {"self", "cls"}
TUPLES = {"_replace", "_fields", "_field_defaults", "_asdict", "_make"}  # public, whatever their names say
PUBLIC = TUPLES | {"_exit"}  # of the module os
ROOMS = {  # that are not looked at, and why
    "learners/": "the members are theirs, and families give hooks to what they share",
    "engine/jit/": "the seam to Numba, whose private names it lists itself: see private/names.py",
}


def reaches(text: str) -> list[tuple[int, str]]:
    """Where a text reaches a private member of something else, by a dot or by its name in quotes."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and not (isinstance(node.value, ast.Name) and node.value.id in OWN):
            found.append((node.lineno, node.attr))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append((node.lineno, node.value))
    return [(line, name) for line, name in found if PRIVATE.fullmatch(name) and name not in PUBLIC]


def files() -> list[str]:
    every = (path.relative_to(HOME).as_posix() for path in HOME.rglob("*.py"))
    return sorted(name for name in every if not name.startswith(tuple(ROOMS)))


@pytest.mark.parametrize("name", files())
def test_no_file_reaches_into_another_room(name):
    assert not reaches((HOME / name).read_text())


@pytest.mark.parametrize("line", ["learner._model", "a.b._c", "f()._d = 1", "'_e' in x.__dict__", "getattr(x, '_e')"])
def test_such_lines_are_found(line):
    assert len(reaches(line)) == 1


@pytest.mark.parametrize("line", ["self._a", "cls._b", "t._replace(a=1)", "x.__dict__.get('a')", "_a.b", "'_'"])
def test_others_are_not(line):
    assert not reaches(line)
