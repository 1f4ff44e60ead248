"""``aggro learners``: the learners, and the parameters of one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from aggro.cli.console import json_text
from aggro.cli.console import wrapped as broken
from aggro.cli.help import complete_learners, help_width
from aggro.cli.learner_spec import OF_RECORDS, entry_of, parameters_of
from aggro.cli.options import Json, Plugins, meanings
from aggro.learners.registry import RECORD_ENTRY, Entry, learners

TASK_TITLES = {"classification": "Classifiers", "regression": "Regressors", "outlier": "Outlier detectors"}
ROLE = re.compile(r":[a-z]+:`~?([^`]*)`")  # of reStructuredText: the name stays


def list_learners(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", autocompletion=complete_learners, help="Describe this learner."),
    ] = None,
    plugin: Plugins = None,
    as_json: Json = False,
) -> None:
    """List the learners, or describe one and its parameters.

    Give a learner to --learner, and a parameter to --set: --learner AROWClassifier --set r=0.1.
    """
    if name is None:
        found: Any = [{"name": entry.name, "task": entry.task, "summary": summary_of(entry)} for entry in learners()]
        lines = all_learners()
    else:
        # The record learner is no entry of the registry, and has a page of its own here.
        entry = RECORD_ENTRY if name.lower() == RECORD_ENTRY.name.lower() else entry_of(name)[0]
        found = {"name": entry.name, "task": entry.task, "summary": summary_of(entry), "parameters": described(entry)}
        lines = one_learner(entry)
    if as_json:
        print(json_text(found, indent=2))
        return
    for line in lines:
        print(line)


def all_learners() -> Iterator[str]:
    """Every learner with what it is, by task."""
    width = help_width()
    widest = max(len(entry.name) for entry in learners())
    for task, title in TASK_TITLES.items():
        yield f"{title}:"
        for entry in learners():
            if entry.task == task:
                yield from beside(entry.name, summary_of(entry), widest, width)
        yield ""
    # Only short names with settings need their meaning shown.
    steps = [f"{short} = {meaning}" for short, meaning in meanings().items() if "(" in meaning]
    yield "Short names:"
    for step in steps:
        yield from indented(step, width)
    # The rule stands for all other short names.
    yield from indented("You can leave out the word Classifier: arow is AROWClassifier.", width)
    yield ""
    yield from broken("'aggro learners NAME' describes a learner and its parameters.", width)


def one_learner(entry: Entry) -> Iterator[str]:
    """What a learner is, and each parameter with its default, what it may be, and what it does."""
    width = help_width()
    about = (inspect.getdoc(entry.load()) or "").partition("\nParameters\n")[0]
    for paragraph in f"{entry.name}: {about.strip()}".split("\n\n"):
        # Items of a list get lines of their own; the lines of a paragraph are joined.
        for item in paragraph.split("\n- "):
            bullet = "- " if item is not paragraph and not item.startswith("- ") else ""
            yield from broken(bullet + unmarked(item), width)
        yield ""
    yield "Parameters, for --set NAME=VALUE:"
    for name, one in described(entry).items():
        yield from indented(f"{name}={one['default']}  ({one['expected']})", width)
        yield from indented(one["meaning"], width, 6)
    if entry is not RECORD_ENTRY:
        yield ""
        # What the learner has itself is listed above.
        own = [name for name in OF_RECORDS if name not in described(entry)]
        yield from broken(
            f"For tables, --set also takes {', '.join(own)}, which control how columns become features: see 'aggro "
            f"learners {RECORD_ENTRY.name}'.",
            width,
        )


def described(entry: Entry) -> dict[str, dict[str, str]]:
    """The default of each parameter, what it may be, and what it does."""
    kind = entry.load()
    meaning = meanings_in(inspect.getdoc(kind) or "")
    return {
        name: {"default": plain(default), "expected": expected, "meaning": meaning.get(name, "")}
        for name, (default, expected) in parameters_of(kind).items()
        if entry is not RECORD_ENTRY or name in OF_RECORDS
    }


def summary_of(entry: Entry) -> str:
    """The first sentence about a learner."""
    return unmarked((inspect.getdoc(entry.load()) or "").partition("\n\n")[0])


def meanings_in(doc: str) -> dict[str, str]:
    """What a numpydoc text says of each parameter."""
    found: dict[str, list[str]] = {}
    names: list[str] = []
    _, _, section = doc.partition("\nParameters\n")
    # With the next line at hand, because a title is known by the line below it.
    for line, after in zip(section.splitlines(), [*section.splitlines()[1:], ""], strict=True):
        if after.startswith("---") and names:  # the title of the next section
            break
        # Indented lines belong to the names above; one line may describe several.
        if line.startswith("    "):
            for name in names:
                found[name].append(line.strip())
        elif " : " in line:
            names = line.partition(" : ")[0].split(", ")
            found.update({name: [] for name in names})
    return {name: unmarked(" ".join(lines)) for name, lines in found.items()}


def unmarked(text: str) -> str:
    """Text without the marks of reStructuredText."""
    return " ".join(ROLE.sub(r"\1", text).replace("``", "").split())


def plain(value: Any) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def beside(name: str, text: str, widest: int, width: int) -> Iterator[str]:
    """A name and what it is, below it if there is no room beside it."""
    room = width - widest - 4
    if room < widest:
        yield f"  {name}"
        yield from indented(text, width, 4)
        return
    first, *others = broken(text, room)
    yield f"  {name:<{widest}}  {first}"
    for line in others:
        yield f"{'':<{widest + 4}}{line}"


def indented(text: str, width: int, by: int = 2) -> Iterator[str]:
    for line in broken(text, width - by) if text else ():
        yield " " * by + line
