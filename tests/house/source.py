"""The package's source as data: its modules, and what each imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import aggro

PACKAGE = Path(aggro.__file__).parent


def modules() -> dict[str, ast.Module]:
    """Every module of the package, by its name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imported(tree: ast.AST, known: Mapping[str, object] = {}) -> set[str]:
    """What a module imports, wherever that stands: also in functions, and for type checkers alone."""
    return set(_imported(tree, known))


def _imported(tree: ast.AST, known: Mapping[str, object]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports say the whole name"
            for one in node.names:
                full = f"{node.module}.{one.name}"
                yield full if full in known else str(node.module)
