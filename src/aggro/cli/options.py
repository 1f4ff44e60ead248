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

PANEL = "Reading the data"
FORMATS = ("svmlight", "vw", "csv", "jsonl", "parquet", "arrow", "text")
STEPS = ("pa", "pa1", "pa2", "ls")
STEPS_WITH_MEANS = ("pam", "pam1", "pam2")


def complete_formats(incomplete: str) -> list[str]:
    return [name for name in FORMATS if name.startswith(incomplete)]


def meanings() -> dict[str, str]:
    """What short names stand for: classifiers without that word, and each step, built in or of the user's own.

    Steps are as the papers have them: ``pa`` is the step, and not the learner.
    """
    short = {entry.name.removesuffix("Classifier").lower(): entry.name for entry in learners() if is_shortened(entry)}
    own = sys.modules.get("aggro.engine.user_steps")  # imported by a plugin that has steps, and slow to import
    published = "C=1, average=false, scale=none, multi_class=ovr"
    plain = {step: f"PAClassifier(step={step}, {published})" for step in (*STEPS, *(own.OWN_STEPS if own else ()))}
    return short | plain | {step: f"PAMeansClassifier(step={step})" for step in STEPS_WITH_MEANS}


def is_shortened(entry: Entry) -> bool:
    return entry.task == "classification" and entry.name.endswith("Classifier")


def short_names() -> list[str]:
    """Every name that stands for a learner."""
    return [entry.name for entry in learners()] + list(meanings())


Data = Annotated[
    list[str],
    typer.Argument(metavar="DATA", help="Files, folders or globs; - is stdin. May be compressed."),
    Reads(data=True),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that aggro has saved."), Reads()]
Plugins = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin",
        metavar="FILE",
        callback=load_plugins,
        is_eager=True,
        help="A Python file, or module, with learners or steps of your own; repeatable.",
    ),
    Reads(),
]
Json = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]


def option(*names: str, **settings: Any) -> Any:
    return typer.Option(*names, rich_help_panel=PANEL, **settings)


@dataclass(frozen=True)
class Reading:
    """How the data are to be read: the parameters of ``aggro.streams.open``, as options."""

    format: Annotated[
        str | None,
        option(
            "--format", metavar="NAME", autocompletion=complete_formats, help=f"{', '.join(FORMATS)}; else found out."
        ),
    ] = None
    label: Annotated[str | None, option("--label", metavar="COLUMN", help="tables: the column to predict.")] = None
    weight: Annotated[str | None, option("--weight", metavar="COLUMN", help="tables: the column of weights.")] = None
    text: Annotated[
        list[str] | None,
        option("--text", metavar="COLUMN", help="tables: running text, as bags of words; repeatable."),
    ] = None
    number: Annotated[list[str] | None, option("--number", metavar="COLUMN", help="tables: numbers.")] = None
    category: Annotated[list[str] | None, option("--category", metavar="COLUMN", help="tables: categories.")] = None
    date: Annotated[list[str] | None, option("--date", metavar="COLUMN", help="tables: dates.")] = None
    ignore: Annotated[list[str] | None, option("--ignore", metavar="COLUMN", help="tables: to be left out.")] = None
    na: Annotated[
        list[str] | None, option("--na", metavar="WORD", help="tables: a word for a missing cell; repeatable.")
    ] = None
    decimal: Annotated[
        str | None, option("--decimal", metavar="CHAR", help="tables: the decimal mark, . or , (guessed).")
    ] = None
    thousands: Annotated[
        str | None,
        option("--thousands", metavar="CHAR", help="tables: the mark between thousands, such as . or , (guessed)."),
    ] = None
    dayfirst: Annotated[
        bool | None,
        option("--dayfirst/--monthfirst", help="tables: whether 03/04/2024 is the third of April (guessed)."),
    ] = None
    encoding: Annotated[
        str | None, option("--encoding", metavar="NAME", help="text: such as latin-1 or cp1252 (utf-8).")
    ] = None
    delimiter: Annotated[str | None, option("--delimiter", metavar="CHAR", help="csv: what separates fields.")] = None
    skip_rows: Annotated[
        int | None,
        option("--skip-rows", metavar="N", min=0, help="csv: lines above the header, such as titles (guessed)."),
    ] = None
    header: Annotated[
        bool | None, option("--header/--no-header", help="csv: whether the first line names the columns.")
    ] = None
    zero_based: Annotated[bool, option("--zero-based", help="svmlight: indices count from 0.")] = False
    hash: Annotated[
        int | None, option("--hash", metavar="BITS", min=1, max=30, help="vw: hash features into 2^BITS places (18).")
    ] = None
    named: Annotated[bool, option("--named", help="vw: keep the features' names, hash nothing.")] = False
    skip_bad: Annotated[bool, option("--skip-bad", help="Leave malformed lines out, and count them.")] = False

    def settings(self) -> dict[str, Any]:
        """What was set, as ``aggro.streams.open`` calls it."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        given["bits"] = given.pop("hash")
        for role in ("text", "number", "category", "date", "ignore"):
            if given[role]:
                given[role] = [name for names in given[role] for name in names.split(",")]
        if given["delimiter"] in ("\\t", "tab"):
            given["delimiter"] = "\t"
        return {name: value for name, value in given.items() if value not in (None, False, []) or name in ANYWAY}

    def for_later(self) -> dict[str, Any] | None:
        """What a model file keeps, so that it need not be said again; None if nothing was said."""
        said = {name: value for name, value in asdict(self).items() if name in KEPT and value not in (None, False, [])}
        if self.header is False:
            said["header"] = False
        return {"reading": said} if said else None

    def or_as(self, before: dict[str, Any]) -> Reading:
        """A copy in which every option that was not given takes its value from ``before``, a model's saved options."""
        unsaid = {
            name: value for name, value in before.items() if name in KEPT and getattr(self, name) in (None, False)
        }
        if self.header is not None:
            unsaid.pop("header", None)
        return replace(self, **unsaid)


ANYWAY = ("header", "dayfirst", "skip_rows")  # options whose False or 0 says something
KEPT = ("label", "weight", "delimiter", "header", "zero_based", "encoding", "na")  # about files like those


def reads_data(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of :class:`Reading`; it gets them as one argument, ``reading``."""
    hints = get_type_hints(Reading, include_extras=True)
    own = [p for name, p in inspect.signature(command, eval_str=True).parameters.items() if name != "reading"]
    keyword = inspect.Parameter.KEYWORD_ONLY
    options = [inspect.Parameter(f.name, keyword, default=f.default, annotation=hints[f.name]) for f in fields(Reading)]

    @wraps(command)
    def given(**values: Any) -> Any:
        reading = Reading(**{field.name: values.pop(field.name) for field in fields(Reading)})
        return command(**values, reading=reading)

    given.__signature__ = inspect.Signature([*own, *options])  # type: ignore[attr-defined]
    given.__annotations__ = {p.name: p.annotation for p in (*own, *options)}
    return given
