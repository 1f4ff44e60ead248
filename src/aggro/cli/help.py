"""What ``--help`` lists of learners and their parameters. Learners are imported only when help is asked for."""

from __future__ import annotations

import textwrap
from typing import Any

from typer.core import TyperCommand

from aggro.cli.learner_spec import parameters_of
from aggro.cli.options import meanings, short_names
from aggro.learners.registry import learners


class ListsLearners(TyperCommand):
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
    short = ", ".join(f"{name} = {meaning}" for name, meaning in meanings().items())
    lines += ["", *textwrap.wrap(f"Short names: {short}.", 78, initial_indent="  ", subsequent_indent="  ")]
    return "\n".join(lines)


def lines_of(title: str, table: dict[str, tuple[Any, str]]) -> list[str]:
    defaults = {name: f"{name}={shown(default)}" for name, (default, _) in table.items()}
    return [f"  {title}:", *(f"    {defaults[name]:<22}  {expected}" for name, (_, expected) in table.items())]


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
