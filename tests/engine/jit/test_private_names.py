"""The list of Numba's private names is whole: what the folder uses is in it, and what is in it is used."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from aggro.engine.jit.private import names as private_names
from aggro.engine.jit.private.names import ADDRESSES, DISK_CACHE, MADE_LATE, PARTIAL

FOLDER = Path(private_names.__file__).parent
SOURCES = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.py"))}
TREES = {name: ast.parse(text) for name, text in SOURCES.items()}
LISTED = [*PARTIAL, *ADDRESSES, *DISK_CACHE]
# What Numba's pages on extending it speak of.
PUBLIC = {"numba", "numba.extending", "numba.core.types", "numba.core.cgutils", "numba.core.errors"}
OF_TUPLES = {"_replace", "_asdict", "_fields"}  # Python's own
OF_PROXIES = {"_getvalue"}  # Numba's pages speak of it


def imported(tree):
    """Modules of Numba, and names from them, as ``module:name``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (f"{one.name}:" for one in node.names if one.name.split(".")[0] == "numba")
        elif isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "numba":
            for one in node.names:
                full = f"{node.module}.{one.name}"
                yield f"{full}:" if full in PUBLIC else f"{node.module}:{one.name}"


def own_names(tree):
    """Private names that a file, or a class in it, has made itself."""
    made = {one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.ClassDef)}
    stored = {one.attr for one in ast.walk(tree) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)}
    return made | (stored - set(MADE_LATE))


def private_attributes(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.endswith("__"):
            yield node.attr


@pytest.mark.parametrize("name", TREES)
def test_what_is_imported_is_public_or_listed(name):
    for full in imported(TREES[name]):
        module, _, what = full.partition(":")
        assert module in PUBLIC or any(one.startswith(f"{module}:{what}") for one in LISTED), full


@pytest.mark.parametrize("name", TREES)
def test_private_attributes_are_listed(name):
    last = {one.rpartition(".")[2] for one in LISTED}
    known = {*last, *MADE_LATE, *OF_TUPLES, *OF_PROXIES, *own_names(TREES[name])}
    assert set(private_attributes(TREES[name])) <= known


@pytest.mark.parametrize("one", [*LISTED, *MADE_LATE])
def test_what_is_listed_is_used(one):
    """If not, take it out of the list."""
    name = one.rpartition(":")[2].rpartition(".")[2]
    assert any(name in text for file, text in SOURCES.items() if file != "private_names.py")


def test_a_private_name_is_found():
    tree = ast.parse("from numba.core.codegen import JITCodeLibrary\nimport numba\nlibrary._codegen._secret")
    assert list(imported(tree)) == ["numba.core.codegen:JITCodeLibrary", "numba:"]
    assert set(private_attributes(tree)) == {"_codegen", "_secret"}
