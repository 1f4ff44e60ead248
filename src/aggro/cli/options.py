"""Options that several commands share, each described once."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from aggro.cli.outputs import Reads
from aggro.cli.plugins import load_plugins
from aggro.learners.registry import Entry, learners

READING_PANEL = "Reading the data"
FORMAT_NAMES = ("svmlight", "vw", "csv", "jsonl", "parquet", "arrow", "text")
STEP_NAMES = ("pa", "pa1", "pa2", "ls")
STEPS_WITH_MEANS = ("pam", "pam1", "pam2")


def complete_formats(incomplete: str) -> list[str]:
    return [name for name in FORMAT_NAMES if name.startswith(incomplete)]


def meanings() -> dict[str, str]:
    """What short names stand for: classifiers without that word, and each step, built in or of the user's own.

    Steps are as the papers have them: ``pa`` is the step, and not the learner.
    """
    # Made from the registry at each call, because plugins add to it.
    short = {entry.name.removesuffix("Classifier").lower(): entry.name for entry in learners() if is_shortened(entry)}
    own = sys.modules.get("aggro.engine.user_steps")  # imported by a plugin that has steps, and slow to import
    published = "C=1, average=false, scale=none, multi_class=ovr"
    # With the values of the papers: the short names mean the published algorithms.
    plain = {step: f"PAClassifier(step={step}, {published})" for step in (*STEP_NAMES, *(own.OWN_STEPS if own else ()))}
    return short | plain | {step: f"PAMeansClassifier(step={step})" for step in STEPS_WITH_MEANS}


def is_shortened(entry: Entry) -> bool:
    return entry.task == "classification" and entry.name.endswith("Classifier")


def short_names() -> list[str]:
    """Every name that stands for a learner."""
    return [entry.name for entry in learners()] + list(meanings())


Data = Annotated[
    list[str],
    typer.Argument(metavar="DATA", help="Files, folders or globs, compressed or not; - reads stdin."),
    Reads(data=True),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file that aggro saved."), Reads()]
Plugins = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin",
        metavar="FILE",
        callback=load_plugins,
        is_eager=True,
        help="Load your own learners or steps from a Python file or module; repeatable.",
    ),
    Reads(),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def option(*names: str, **settings: Any) -> Any:
    return typer.Option(*names, rich_help_panel=READING_PANEL, **settings)


@dataclass(frozen=True)
class Reading:
    """How the data are to be read: the parameters of ``aggro.streams.open``, as options."""

    format: Annotated[
        str | None,
        option(
            "--format",
            metavar="NAME",
            autocompletion=complete_formats,
            help=f"Format, if the guess is wrong: {', '.join(FORMAT_NAMES)}.",
        ),
    ] = None
    label: Annotated[str | None, option("--label", metavar="COLUMN", help="tables: predict this column.")] = None
    weight: Annotated[str | None, option("--weight", metavar="COLUMN", help="tables: weigh rows by this column.")] = (
        None
    )
    text: Annotated[
        list[str] | None,
        option("--text", metavar="COLUMN", help="tables: read this column as text; repeatable."),
    ] = None
    number: Annotated[
        list[str] | None, option("--number", metavar="COLUMN", help="tables: read this column as numbers.")
    ] = None
    category: Annotated[
        list[str] | None, option("--category", metavar="COLUMN", help="tables: read this column as categories.")
    ] = None
    date: Annotated[list[str] | None, option("--date", metavar="COLUMN", help="tables: read this column as dates.")] = (
        None
    )
    ignore: Annotated[list[str] | None, option("--ignore", metavar="COLUMN", help="tables: leave this column out.")] = (
        None
    )
    na: Annotated[
        list[str] | None, option("--na", metavar="WORD", help="tables: read this word as missing; repeatable.")
    ] = None
    decimal: Annotated[
        str | None, option("--decimal", metavar="CHAR", help="tables: decimal mark, . or , (else guessed).")
    ] = None
    thousands: Annotated[
        str | None,
        option("--thousands", metavar="CHAR", help="tables: thousands mark, . or , (else guessed)."),
    ] = None
    dayfirst: Annotated[
        bool | None,
        option("--dayfirst/--monthfirst", help="tables: read 03/04/2024 as 3 April, or 4 March."),
    ] = None
    encoding: Annotated[
        str | None, option("--encoding", metavar="NAME", help="text: encoding, such as latin-1 (else utf-8).")
    ] = None
    delimiter: Annotated[
        str | None, option("--delimiter", metavar="CHAR", help="csv: the character between fields.")
    ] = None
    skip_rows: Annotated[
        int | None,
        option("--skip-rows", metavar="N", min=0, help="csv: skip N lines above the header."),
    ] = None
    header: Annotated[
        bool | None, option("--header/--no-header", help="csv: take the first line as names, or as a row.")
    ] = None
    zero_based: Annotated[bool, option("--zero-based", help="svmlight: count indices from 0.")] = False
    hash: Annotated[
        int | None,
        option("--hash", metavar="BITS", min=1, max=30, help="vw: hash features to 2^BITS columns (else 18)."),
    ] = None
    named: Annotated[bool, option("--named", help="vw: keep feature names instead of hashing.")] = False
    skip_bad: Annotated[bool, option("--skip-bad", help="Skip malformed lines, and count them.")] = False

    def settings(self) -> dict[str, Any]:
        """What was set, as ``aggro.streams.open`` calls it."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        given["bits"] = given.pop("hash")
        # Names of columns may come between commas, or with the option repeated.
        for role in ("text", "number", "category", "date", "ignore"):
            if given[role]:
                given[role] = [name for names in given[role] for name in names.split(",")]
        # A shell makes it hard to pass a tab.
        if given["delimiter"] in ("\\t", "tab"):
            given["delimiter"] = "\t"
        # What was not said is left out, so that the defaults of ``open`` count.
        return {name: value for name, value in given.items() if value not in (None, False, []) or name in ANYWAY}

    def for_later(self) -> dict[str, Any] | None:
        """What a model file keeps, so that it need not be said again; None if nothing was said."""
        said = {
            name: value
            for name, value in asdict(self).items()
            if name in STORED_OPTIONS and value not in (None, False, [])
        }
        # False says something here, where it means nothing for the other options.
        if self.header is False:
            said["header"] = False
        return {"reading": said} if said else None

    def or_as(self, before: dict[str, Any]) -> Reading:
        """A copy in which every option that was not given takes its value from ``before``, a model's saved options."""
        unsaid = {
            name: value
            for name, value in before.items()
            if name in STORED_OPTIONS and getattr(self, name) in (None, False)
        }
        # A header may have been said to be absent, which looks like not said.
        if self.header is not None:
            unsaid.pop("header", None)
        return replace(self, **unsaid)


ANYWAY = ("header", "dayfirst", "skip_rows")  # options whose False or 0 says something
STORED_OPTIONS = ("label", "weight", "delimiter", "header", "zero_based", "encoding", "na")  # about files like those


def reads_data(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of :class:`Reading`; it gets them as one argument, ``reading``."""
    hints = get_type_hints(Reading, include_extras=True)
    # The parameter ``reading`` gives way to one for each of its fields.
    own = [p for name, p in inspect.signature(command, eval_str=True).parameters.items() if name != "reading"]
    keyword = inspect.Parameter.KEYWORD_ONLY
    options = [inspect.Parameter(f.name, keyword, default=f.default, annotation=hints[f.name]) for f in fields(Reading)]

    @wraps(command)
    def given(**values: Any) -> Any:
        # All options come in, and leave as one object.
        reading = Reading(**{field.name: values.pop(field.name) for field in fields(Reading)})
        return command(**values, reading=reading)

    # Typer reads signature and annotations, so both are made to fit.
    given.__signature__ = inspect.Signature([*own, *options])  # type: ignore[attr-defined]
    given.__annotations__ = {p.name: p.annotation for p in (*own, *options)}
    return given
