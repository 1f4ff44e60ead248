"""The command ``aggro``: one file for each of its commands.

Results go to stdout, progress to stderr. A user's mistake ends with status 2 and one line that says
what to do. What is heavy, scikit-learn above all, is imported by the command that needs it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Annotated

import typer

from aggro.cli.compare import compare
from aggro.cli.console import Mistake
from aggro.cli.data import data
from aggro.cli.demo import demo
from aggro.cli.help import ListsLearners
from aggro.cli.label import label
from aggro.cli.predict import predict
from aggro.cli.show import show
from aggro.cli.train import train

__all__ = ["app", "main"]

INTERRUPTED, UNREAD = 130, 141  # as shells count: 128 and the signal

app = typer.Typer(
    rich_markup_mode=None,  # plain help: it wraps its lines, and fits a narrow terminal
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(short_help="Learners beside each other on a built-in stream.")(demo)
app.command(short_help="Learn from files and save the model.", cls=ListsLearners)(train)
app.command(short_help="Label rows by hand, those that the model asks about.", cls=ListsLearners)(label)
app.command(short_help="What a model says of each row.")(predict)
app.command(short_help="Learners side by side on one file.", cls=ListsLearners)(compare)
app.command(short_help="What is in a model file.")(show)
app.add_typer(data, name="data", short_help="The named data sets.")


def show_version(wanted: bool) -> None:
    if wanted:
        from aggro import __version__

        print(f"aggro {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def aggro(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Online passive-aggressive learning: one pass, constant memory, exact updates, no learning rate."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its status."""
    try:
        status = app(arguments, prog_name="aggro", standalone_mode=False)
        sys.stdout.flush()
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        leave_stdout()
        sys.exit(UNREAD)
    except Exception as error:
        message = mistake_in(error)
        if message is None:
            raise
        print(f"aggro: {message}", file=sys.stderr)
        sys.exit(2)
    sys.exit(status if isinstance(status, int) else 0)


def leave_stdout() -> None:
    """Let nothing that is still to be written reach a closed pipe."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def mistake_in(error: Exception) -> str | None:
    """What the user did wrong, in one line; None if it was not the user."""
    if isinstance(error, Mistake):
        return str(error)
    if type(error).__module__.startswith("numba."):  # a plugin's rule; the library's own are compiled by its tests
        from aggro.engine.ownsteps import reason

        return f"A rule of the plugin cannot be compiled: {reason(error)}"
    # Typer's errors have this method, whichever version of it and of Click they come from.
    if hasattr(error, "format_message"):
        return " ".join(error.format_message().split())
    return None
