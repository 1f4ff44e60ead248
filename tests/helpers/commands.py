"""Every command of the command line, as the app itself lists them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, get_args

import typer
from typer.models import ParameterInfo

from aggro import cli
from aggro.cli.outputs import Reads, Writes, uses_of


def commands(app: typer.Typer = cli.app, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """(words, function) of each."""
    for entry in app.registered_commands:
        yield (*before, entry.name or entry.callback.__name__.replace("_", "-")), entry.callback
    for group in app.registered_groups:
        yield from commands(group.typer_instance, (*before, group.name))


COMMANDS = dict(commands())


def parameters(function: Any) -> dict[str, tuple[Any, ParameterInfo]]:
    """The type of each parameter, and how it is typed."""
    found = {}
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        kind, *more = get_args(parameter.annotation) or (parameter.annotation,)
        infos = [info for info in more if isinstance(info, ParameterInfo)]
        if infos:
            found[name] = (kind, infos[0])
    return found


def used(function: Any, use: type) -> dict[str, Reads | Writes]:
    return {name: found for name, found in uses_of(function).items() if isinstance(found, use)}
