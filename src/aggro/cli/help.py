"""How ``--help`` is laid out, and what the shell completes of learners and parameters."""

from __future__ import annotations

import re
import sys
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from aggro.cli.console import width_of
from aggro.cli.learner_spec import parameters_of
from aggro.cli.options import short_names
from aggro.learners.registry import learners

WIDEST_HELP = 80
TYPE_HINT = re.compile(r" <[^>]*>$")  # of an argument or option, which its description says in words
NARROW_MARGIN = 8  # letters for what stands on the left of a narrow screen: little is as short
OPTION_WIDTH, MIN_HELP_WIDTH = 28, 24  # letters for names of options; and the fewest for what they do, beside them
LOWER_BOUND = re.compile(
    r"  \[x>=[0-9.]+\]|; x>=[0-9.]+(?=\])"
)  # the least value of a number, which an error says in time


class Formatter(typer.Context.formatter_class):  # type: ignore[name-defined,misc,valid-type]
    """Lists options and what they mean side by side, or one below the other where that is too narrow."""

    def write_dl(self, rows: Any, col_max: int = 30, col_spacing: int = 2) -> None:
        # Types and bounds in the margin are what the text says in words.
        plain = [(TYPE_HINT.sub("", name), LOWER_BOUND.sub("", text)) for name, text in rows]
        super().write_dl(plain, col_max if self.width >= OPTION_WIDTH + MIN_HELP_WIDTH else NARROW_MARGIN, col_spacing)


class Context(typer.Context):
    """Of our commands."""

    formatter_class = Formatter


class Command(TyperCommand):
    """A command whose help fits the screen: its own options first, then those that several commands share."""

    context_class = Context

    def format_options(self, ctx: Any, formatter: Any) -> None:
        # Arguments first, then options; panels follow in the order in which they first appear.
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
                panel = getattr(parameter, "rich_help_panel", None) or kind
                sections.setdefault(panel, []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class Group(TyperGroup):
    """Several commands, whose help fits the screen."""

    context_class = Context


def help_width() -> int:
    """How wide help is: it is as narrow as the screen, and not as wide as it may be."""
    return min(width_of(sys.stdout) or WIDEST_HELP, WIDEST_HELP) - 2


def complete_learners(incomplete: str) -> list[str]:
    """Names of learners, and short ones, that begin so."""
    return [name for name in short_names() if name.lower().startswith(incomplete.lower())]


def complete_settings(incomplete: str) -> list[str]:
    """``name=`` of every parameter there is, and ``name=word`` where words are expected."""
    # A dict, so that each name comes once and in order.
    found: dict[str, None] = {}
    name, given, word = incomplete.partition("=")
    for entry in learners():
        # Parameters of all learners: which one is meant is not known yet, as its option may come later.
        for key, (_, expected) in parameters_of(entry.load()).items():
            if not given and key.startswith(name):
                found[f"{key}="] = None
            elif given and key == name and "," in expected:
                found.update({f"{key}={w}": None for w in expected.split(", ") if w.startswith(word) and "…" not in w})
    return list(found)
