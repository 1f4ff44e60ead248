"""Functions without types are compiled ones: Numba types those, mypy all others.

mypy's settings know files and not decorators, so that they let every function be without types; this test does not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from house.source import modules

from aggro.engine.jit import compile as decorators

COMPILED = {"kernel", "quick", "inline", "part", "exact", "exact_part", "allocating", "handing_on", "python_too"}


def compiled_by_call(tree: ast.AST) -> set[str]:
    """Functions that are compiled in several ways, each under a name of its own: ``far = exact_part(product)``."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
    return {one.id for call in calls if call.func.id in COMPILED for one in call.args if isinstance(one, ast.Name)}


def untyped(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    """Functions without any types that are neither compiled nor inside of one that is."""
    called = compiled_by_call(tree)
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            if node.name in called or COMPILED & {one.id for one in node.decorator_list if isinstance(one, ast.Name)}:
                continue
            taken = node.args
            given = [*taken.posonlyargs, *taken.args, *taken.kwonlyargs, *filter(None, (taken.vararg, taken.kwarg))]
            if node.returns is None and not any(one.annotation for one in given):
                yield node
        yield from untyped(node)


def test_only_compiled_functions_are_without_types():
    """What is below ``engine.jit`` is called by Numba while it compiles, with values of its own."""
    outside = {name: tree for name, tree in modules().items() if not name.startswith("aggro.engine.jit.")}
    assert not [f"{name}:{one.lineno} {one.name}" for name, tree in outside.items() for one in untyped(tree)]


def test_the_decorators_are_those_of_the_table():
    rows = {line.split("``")[1] for line in str(decorators.__doc__).splitlines() if line.startswith("``")}
    assert rows == COMPILED <= set(vars(decorators))


def test_a_function_without_types_is_found():
    source = """
def twice(x): return 2 * x

doubled = exact_part(twice)

@inline
def compiled(x):
    def inner(y): return y
    return inner(x)

class Shown:
    def typed(self) -> int:
        def hidden(x): return x
        return hidden(1)
    def bare(self): pass
"""
    assert [one.name for one in untyped(ast.parse(source))] == ["hidden", "bare"]
