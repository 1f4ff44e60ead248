"""What ``--help`` lists of learners and their parameters. Learners are imported only when help is asked for."""

from __future__ import annotations

import sys
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from aggro.cli.console import width_of, wrapped
from aggro.cli.learner_spec import parameters_of
from aggro.cli.options import meanings, short_names
from aggro.learners.registry import learners

WIDEST = 80
NARROW = 8  # letters for what stands on the left of a narrow screen: little is as short
NAMES, EXPECTED = 28, 24  # letters for parameters and their defaults; and the fewest for what is expected, beside them


class Formatter(typer.Context.formatter_class):  # type: ignore[name-defined,misc,valid-type]
    """Lists options and what they mean side by side, or one below the other where that is too narrow."""

    def write_dl(self, rows: Any, col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl(rows, col_max if self.width >= NAMES + EXPECTED else NARROW, col_spacing)


class Context(typer.Context):
    """Of our commands."""

    formatter_class = Formatter


class Command(TyperCommand):
    """A command whose help fits the screen."""

    context_class = Context


class Group(TyperGroup):
    """Several commands, whose help fits the screen."""

    context_class = Context


class ListsLearners(Command):
    """A command whose help ends with the learners and what can be set of each."""

    def get_help(self, ctx: Any) -> str:
        return f"{super().get_help(ctx)}\n{learners_text()}".strip("\n")


def learners_text() -> str:
    """Every learner's parameters: those that all share once, then each one's own."""
    tables = {entry: parameters_of(entry.load()) for entry in learners()}
    first, *others = tables.values()
    shared = {name: what for name, what in first.items() if all(table.get(name) == what for table in others)}
    lines = ["", "Learners, and what --set can set:", *lines_of("all", shared)]
    for entry, table in tables.items():
        own = {name: what for name, what in table.items() if name not in shared}
        lines += lines_of(f"{entry.name} ({entry.task})", own)
    short = ", ".join(f"{name} = {meaning}" for name, meaning in meanings().items() if "(" in meaning)
    said = f"Short names: {short}; and classifiers without that word, such as pamo for PAMOClassifier."
    lines += ["", *(f"  {line}" for line in wrapped(said, help_width() - 2))]
    return "\n".join(lines)


def help_width() -> int:
    """How wide help is: it is as narrow as the screen, and not as wide as it may be."""
    return min(width_of(sys.stdout) or WIDEST, WIDEST) - 2


def lines_of(title: str, table: dict[str, tuple[Any, str]]) -> list[str]:
    width = help_width()
    lines = [f"  {line}" for line in wrapped(f"{title}:", width)]
    beside = width >= NAMES + EXPECTED
    for name, (default, expected) in table.items():
        said = f"{name}={shown(default)}"
        if beside:
            room = max(EXPECTED, width - max(NAMES, len(said) + 6))
            first, *more = wrapped(expected, room)
            lines += [f"    {said:<{NAMES - 6}}  {first}", *(f"{'':<{NAMES}}{line}" for line in more)]
        else:
            lines += [f"    {said}", *(f"      {line}" for line in wrapped(expected, width - 6))]
    return lines


def shown(value: Any) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def complete_learners(incomplete: str) -> list[str]:
    """Names of learners, and short ones, that begin so."""
    return [name for name in short_names() if name.lower().startswith(incomplete.lower())]


def complete_settings(incomplete: str) -> list[str]:
    """``name=`` of every parameter there is, and ``name=word`` where words are expected."""
    found: dict[str, None] = {}
    name, given, word = incomplete.partition("=")
    for entry in learners():
        for key, (_, expected) in parameters_of(entry.load()).items():
            if not given and key.startswith(name):
                found[f"{key}="] = None
            elif given and key == name and "," in expected:
                found.update({f"{key}={w}": None for w in expected.split(", ") if w.startswith(word) and "…" not in w})
    return list(found)
