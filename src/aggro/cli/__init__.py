"""The command ``aggro``: one file for each of its commands.

Results go to stdout, progress to stderr. A user's mistake ends with status 2 and one line that says
what to do. What is heavy, scikit-learn above all, is imported by the command that needs it.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from aggro.cli.console import Mistake
from aggro.cli.demo import demo

__all__ = ["app", "main"]

app = typer.Typer(
    add_completion=False, pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]}
)
app.command()(demo)


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
    except typer.Abort:
        sys.exit(130)
    except Exception as error:
        message = mistake_in(error)
        if message is None:
            raise
        print(f"aggro: {message}", file=sys.stderr)
        sys.exit(2)
    sys.exit(status if isinstance(status, int) else 0)


def mistake_in(error: Exception) -> str | None:
    """What the user did wrong, in one line; None if it was not the user."""
    if isinstance(error, Mistake):
        return str(error)
    # Typer's errors have this method, whichever version of it and of Click they come from.
    if hasattr(error, "format_message"):
        return " ".join(error.format_message().split())
    return None
