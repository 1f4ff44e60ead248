"""Who may import whom: parts in layers, no circles, and Numba behind one door.

All imports count, also those inside functions and those for type checkers. What is handed to ``import_module`` as text
cannot be seen here, so the modules that do so are listed too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

import pytest
from house.source import imported, modules

from aggro.engine.jit.stamp import NOT_COMPILED


def short(name: str) -> str:
    return name.removeprefix("aggro").removeprefix(".")


def graph() -> dict[str, set[str]]:
    """For each module of ours, those of ours that it imports; names without ``aggro.``."""
    trees = modules()
    ours = {name: imported(tree, trees) & set(trees) for name, tree in trees.items()}
    return {short(name): {short(one) for one in used} - {short(name)} for name, used in ours.items()}


GRAPH = graph()
COMMON = {"learners", "learners.base", "learners.maths", "learners.model", "learners.registry", "learners.register"}
FAMILIES = {".".join(name.split(".")[:2]) for name in GRAPH if name.startswith("learners")} - COMMON  # files or folders
ENGINE = {"engine", "engine.jit"}
SHARED = {"learners.base", "learners.maths", "learners.model", *ENGINE}
LEARNERS = {"learners.registry", *SHARED}
CELLS = {f"streams.tables.{name}" for name in ("roles", "task", "written_numbers", "flatten")}
# The parts of the package (a module is in the one with the longest name), what each may import beside itself, and why
# not more.
LAYERS: dict[str, tuple[set[str], str]] = {
    "engine.jit": (set(), "how code is compiled has nothing to do with learning"),
    "engine": ({"engine.jit"}, "rows, steps and passes serve every learner, and know none"),
    "learners.maths": (ENGINE, "mathematics that families share knows no learner"),
    "learners.model": (ENGINE, "what was learned knows nothing of the class that users type"),
    "learners.base": (
        {"learners.maths", "learners.model", *ENGINE},
        "what all learners have knows no family",
    ),
    **dict.fromkeys(FAMILIES, (SHARED, "a family can be read, and taken away, by itself")),
    "learners.registry": (set(), "a list of names: a family is imported when it is asked for"),
    "learners.register": (LEARNERS, "what a learner from outside must have is what all have"),
    "learners": (set(), "a folder"),
    "streams": ({*CELLS, *ENGINE}, "where rows come from has nothing to do with who learns them"),
    "streams.tables.written_numbers": (set(), "a rule about cells, which readers and encoders share"),
    "streams.tables.flatten": (set(), "a rule about cells, which readers and encoders share"),
    "streams.tables.task": ({"streams.tables.written_numbers"}, "a rule about labels, whoever reads them"),
    "streams.tables.roles": (CELLS - {"streams.tables.roles"}, "a rule about cells, which readers and encoders share"),
    "encoding": ({"streams", *CELLS, *ENGINE}, "cells become features whoever learns from them"),
    "learners.records": (
        {"encoding", *CELLS, *SHARED},
        "a family by itself, around any learner; what it stands on is the encoder",
    ),
    "learners.feature_maps": (
        {"learners.linear", *SHARED},
        "linear learners under the names that they have on features: what learns is in that family",
    ),
    "learners.auto": (LEARNERS, "a family by itself, around any learners, which it finds by their names"),
    "models": (
        {"encoding", "learners.active", "learners.auto", "learners.records", *CELLS, *LEARNERS},
        "files hold states, whoever made them; an ActiveLearner has two parts, a RecordLearner too, a vote many",
    ),
    "estimators": (
        {"learners.active", "learners.records", *FAMILIES, *LEARNERS},
        "a learner and scikit-learn's classes, and nothing else",
    ),
    "export": ({"models", *SHARED}, "a model is written by what it answers with, whoever learned it"),
    "interop": (
        {"estimators", "export", "published", "streams", *LEARNERS},
        "and so are River's and skl2onnx's, with the library's defaults and the papers'",
    ),
    "interop.brokers": (
        {"learners.records", "mixing", "models", *CELLS, *LEARNERS},
        "records of a broker are learned as users learn them, and the place is saved with the model",
    ),
    "interop.mlflow": ({"", "models", *LEARNERS}, "MLflow is given what users have: learners and their files"),
    "plot": (SHARED, "pictures are of what every learner shows"),
    "evaluate": (
        {"learners.kernel", "plot", "streams", *LEARNERS},
        "every learner is asked the same; it shows kernel_grid",
    ),
    "theory": ({*FAMILIES, *LEARNERS}, "a bound is one of a family's problem"),
    "mixing": (
        {"encoding", *CELLS, *FAMILIES, *LEARNERS},
        "how states combine is a matter of each family, and of no single one",
    ),
    "distributed": (
        {"", "evaluate", "mixing", "models", "plot", "streams", *LEARNERS},
        "partitions are learned by what users use",
    ),
    "testing": ({"estimators", "mixing", "models", "streams", *LEARNERS}, "the contract is the same for all learners"),
    "published": ({"estimators", *LEARNERS}, "the estimators with other defaults"),
    "prototype": (set(), "an update is tried without compiled code, and without what learners share"),
    "": (
        {
            "estimators",
            "evaluate",
            "export",
            "interop",
            "learners.register",
            "models",
            "plot",
            "prototype",
            "published",
            "streams",
            "testing",
            "theory",
            *LEARNERS,
        },
        "the front door: all that users see",
    ),
    "cli": (
        {
            "",
            "distributed",
            "encoding",
            "evaluate",
            "export",
            "interop.brokers",
            "models",
            "plot",
            "published",
            "serve",
            "streams",
            *CELLS,
            "warm",
            *FAMILIES,
            *LEARNERS,
        },
        "commands use all, and nothing uses them",
    ),
    "serve": (
        {"", "interop.brokers", "learners.active", "learners.records", "models", *LEARNERS},
        "a service uses what users use: learners and their files; no command, and nothing of the engine",
    ),
    "client": (set(), "a client speaks HTTP, and needs nothing but Python"),
    "warm": ({"", "streams", "testing", *ENGINE, *FAMILIES, *LEARNERS}, "learners do what their contract tries"),
    "__main__": ({"cli"}, "python -m aggro is the command"),
}

SAVE = "a method that saves: files are above learners"
SHELL = "an estimator with scikit-learn's manners is handed out; scikit-learn is imported where it is used"
FRONT = "for type checkers alone: a module is imported when it is asked for"
FOR_TYPES = "for type checkers alone: a format makes the reader that is told of it"
# Imports that go against the layers, or close a circle: who imports whom, and why it must be.
EXCEPTIONS = {
    ("", "distributed"): FRONT,
    ("learners.base.learner", "models"): SAVE,
    ("learners.active.learner", "models"): SAVE,
    ("learners.active.learner", "estimators"): SHELL,
    ("learners.records.learner", "models"): SAVE,
    ("learners.records.learner", "estimators"): SHELL,
    ("learners.base.inside", "learners.registry"): "the task of a learner is in the list; imported where it is asked",
    ("learners.register", "estimators"): SHELL,
    ("export.model", ""): "a file names the version that wrote it",
    ("models.saving", ""): "a file names the version that wrote it",
    ("streams", "interop.brokers.follow"): FOR_TYPES,
    ("streams.formats", "streams.reader"): FOR_TYPES,
    ("streams.line_formats", "streams.reader"): FOR_TYPES,
}
# Who imports by names that are text.
BY_NAME = {
    "": "the front door imports what is asked for",
    "estimators": "a family's estimators are imported when one of them is asked for",
    "published": "and so are those with the papers' defaults",
    "learners.registry": "families are imported when they are asked for",
    "mixing.mixture": "a family's part is imported when its models are combined",
    "streams": "follow learns, and so stands above: it is imported when it is asked for",
    "streams.formats": "formats are imported when they are asked for",
    "models.loading": "scikit-learn is imported for its estimators alone",
    "models.active_header": "scikit-learn is imported for its estimators alone",
    "models.record_header": "scikit-learn is imported for its estimators alone",
    "interop.river": "River has moved a module",
    "interop.skops": "a file names its classes",
    "engine.user_steps": "a pickle names the module of a step",
    "engine.jit.private.names": "Numba's names are looked for",
    "cli.plugins": "a user names modules",
}


COMPILE = {"kernel", "quick", "inline", "part", "exact", "exact_part", "allocating", "python_too"}


def part_of(name: str) -> str:
    """The part that a module is in."""
    fitting = (part for part in LAYERS if name == part or (part and name.startswith(part + ".")))
    return max(fitting, key=len)


def trespasses(edges: Mapping[str, Iterable[str]]) -> set[tuple[str, str]]:
    """Imports of what is not below."""
    return {
        (name, used)
        for name, all_used in edges.items()
        for used in all_used
        if part_of(used) not in {part_of(name), *LAYERS[part_of(name)][0]}
    }


def circle(edges: Mapping[str, Iterable[str]]) -> list[str]:
    """Modules that import one another, in a circle; empty if there is none."""
    path: list[str] = []
    done: set[str] = set()

    def visit(name: str) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        path.append(name)
        found = next(filter(None, map(visit, sorted(edges.get(name, ())))), [])
        path.pop()
        done.add(name)
        return found

    return next(filter(None, map(visit, sorted(edges))), [])


def without(edges: Mapping[str, Iterable[str]], left_out: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    gone = set(left_out)
    return {name: {one for one in used if (name, one) not in gone} for name, used in edges.items()}


def test_every_import_is_of_a_lower_layer():
    assert not trespasses(without(GRAPH, EXCEPTIONS))


def test_no_modules_import_one_another_in_a_circle():
    assert not circle(without(GRAPH, EXCEPTIONS))


@pytest.mark.parametrize("edge", EXCEPTIONS, ids=" imports ".join)
def test_an_exception_is_still_needed(edge):
    """If not, take it out of the table."""
    name, used = edge
    assert used in GRAPH[name]
    others = without(GRAPH, set(EXCEPTIONS) - {edge})
    assert edge in trespasses(others) or circle(others)


def test_numba_and_llvmlite_are_imported_below_jit_alone():
    behind = {"numba", "llvmlite"}
    users = {short(name) for name, tree in modules().items() if behind & {one.split(".")[0] for one in imported(tree)}}
    assert users
    assert {part_of(name) for name in users} == {"engine.jit"}


def test_modules_that_import_by_name_are_known():
    calls = {"import_module", "__import__"}
    users = {
        short(name)
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in calls
    }
    assert users == set(BY_NAME)


# That the tests above can fail --------------------------------------------------------------------------------


def test_imports_are_found_wherever_they_stand():
    source = """
import numba.core
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from aggro.models import codec
def late():
    from aggro.engine.rows import LANES
"""
    known = {"aggro.models.codec": None, "aggro.engine.rows": None}
    assert imported(ast.parse(source), known) == {"numba.core", "typing", "aggro.models.codec", "aggro.engine.rows"}


def test_circles_and_trespasses_are_found():
    assert circle({"a": ["b"], "b": ["c"], "c": ["b"]}) == ["b", "c", "b"]
    assert circle({"a": ["b", "c"], "b": ["c"], "c": []}) == []
    across = ("learners.linear.vector", "learners.kernel.rule")
    up = ("engine.rows", "learners.model.model")
    down = ("learners.model.model", "engine.jit.pinned")
    assert trespasses({name: [used] for name, used in (across, up, down)}) == {across, up}


def decorated(tree: ast.AST) -> set[str]:
    """The plain names that functions of a module are decorated with."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return {word.id for function in functions for word in function.decorator_list if isinstance(word, ast.Name)}


def test_what_compiled_code_is_made_of_is_in_its_stamp():
    """Files that are no part of the stamp make no code that is kept, and nothing that makes some reaches them."""
    tops = {name.removesuffix(".py") for name in NOT_COMPILED}
    aside = {name for name in GRAPH if name.partition(".")[0] in tops}
    assert {name.partition(".")[0] for name in aside} == tops
    makers = {short(name) for name, tree in modules().items() if decorated(tree) & COMPILE}
    assert len(makers) > 50
    assert not makers & aside
    edges = without(GRAPH, EXCEPTIONS)
    reached, waiting = set[str](), list(makers)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += edges[name]
    assert not reached & aside
