"""All commands, and how each of them ends.

Results go to stdout, progress to stderr. A user's mistake ends with status 2 and one line that says
what to do. What is heavy, scikit-learn above all, is imported by the command that needs it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from typing import Annotated, Any

import typer

from aggro.cli.commands import App, Unread
from aggro.cli.compare import compare
from aggro.cli.console import Mistake, Stopped, doors, fitted, shown
from aggro.cli.data import data
from aggro.cli.demo import demo
from aggro.cli.export import export
from aggro.cli.follow import follow
from aggro.cli.help import Group, help_width
from aggro.cli.label import label
from aggro.cli.learners import list_learners
from aggro.cli.predict import predict
from aggro.cli.serve import serve, token
from aggro.cli.show import show
from aggro.cli.sweep import sweep
from aggro.cli.test import figures_of
from aggro.cli.train import train
from aggro.cli.warm import warm

EXIT_INTERRUPTED, EXIT_UNREAD = 130, 141  # as shells count: 128 and the signal

app = App(
    cls=Group,
    rich_markup_mode=None,  # plain help: it wraps its lines, and fits a narrow terminal
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(short_help="Compare aggro with scikit-learn on two built-in streams.")(demo)
app.command(short_help="Train a model on files.")(train)
app.command(short_help="Label rows by hand; the model asks about the doubtful ones.")(label)
app.command(short_help="Predict a label or a number for each row.")(predict)
app.command("test", short_help="Test a model, class by class.")(figures_of)
app.command(short_help="Compare learners on one file.")(compare)
app.command(short_help="Find the best learner and settings.")(sweep)
app.command("learners", short_help="List learners, or the parameters of one.")(list_learners)
app.command(short_help="Show what is in a model file.")(show)
app.command(short_help="Serve models over HTTP; they go on learning.")(serve)
app.command(short_help="Learn from a Redis stream or a Kafka topic.")(follow)
app.command(short_help="Export a model as ONNX.")(export)
app.command(short_help="Compile learners ahead of time.")(warm)
app.add_typer(token, name="token", short_help="Manage the tokens that aggro serve accepts.")
app.add_typer(data, name="data", short_help="Describe your file, or fetch named data sets.")


def show_version(wanted: bool) -> None:
    if wanted:
        from aggro import __version__

        print(f"aggro {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def aggro(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Online passive-aggressive learning: one pass, constant memory, exact updates, no learning rate."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def run(arguments: list[str] | None = None, command: App | None = None, name: str = "aggro") -> None:
    """Run the command line, or another app that is to end in the same ways, and exit with its status."""
    with doors():
        sys.exit(status_of(arguments, command or app, name))


def status_of(arguments: list[str] | None, command: App = app, name: str = "aggro") -> int:
    """Run the command line; what there is to say about how it ended is one line."""
    try:
        # Not standalone: Typer would end the process by itself, and errors would come out in its own form.
        status = command(arguments, prog_name=name, standalone_mode=False, terminal_width=help_width())
        # Flushed here, so that a full disk or a closed pipe is still an error of this command.
        sys.stdout.flush()
        if status == EXIT_INTERRUPTED:  # before a command began
            raise Stopped("Stopped.", signal.SIGINT)
    except (Unread, BrokenPipeError):  # the reader, such as head, has seen enough
        leave(sys.stdout)
        return EXIT_UNREAD
    except (Exception, KeyboardInterrupt) as error:
        # Errors of a known kind become one line; any other is a fault of ours, and keeps its traceback.
        end = end_of(error)
        if end is None:
            raise
        say(end[1])
        return end[0]
    return status if isinstance(status, int) else 0


def say(message: str) -> None:
    """The last line on stderr. No second Ctrl-C comes between, and what cannot be written is left."""
    main = threading.current_thread() is threading.main_thread()
    # Ignored meanwhile: a second Ctrl-C would tear the last line.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
    # stdout first, so that the message comes after all results.
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is sys.stderr:
                line = f"aggro: {shown(message)}"
                print(fitted(line, stream) if stream.isatty() else line, file=stream)
            stream.flush()
        except (OSError, ValueError):
            leave(stream)
    if main:
        signal.signal(signal.SIGINT, before)


def leave(stream: Any) -> None:
    """Let nothing that is still to be written reach a closed pipe or a full disk."""
    with contextlib.suppress(OSError, ValueError):
        # The descriptor itself is replaced, since buffers are flushed once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def end_of(error: BaseException) -> tuple[int, str] | None:
    """Status and line for an error of a known kind; None for any other, which is a fault of ours."""
    if isinstance(error, Stopped):
        return error.status, str(error)
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return EXIT_INTERRUPTED, "Stopped."
    message = mistake_in(error) if isinstance(error, Exception) else None
    return None if message is None else (2, message)


def how_to_give(error: Any) -> str:
    """What to type where Typer says that something is missing; nothing for its other errors."""
    if type(error).__name__ != "MissingParameter" or error.param is None or error.ctx is None:
        return ""
    option, text = error.param, (error.param.help or "").rstrip(".")
    if option.param_type_name == "option":
        return f"Add {option.opts[0]} {option.metavar} ({text[:1].lower()}{text[1:]})."
    return str(error.ctx.get_usage())


def mistake_in(error: Exception) -> str | None:
    """What the user can put right, in one line; None if it was not the user."""
    # Our own mistakes say what to do already.
    if isinstance(error, Mistake):
        return str(error)
    if type(error).__module__.startswith("numba."):  # a plugin's rule; the library's own are compiled by its tests
        from aggro.engine.jit.errors import reason

        return f"The plugin's code cannot be compiled: {reason(error)}"
    # Typer's errors have this method, whichever version of it and of Click they come from.
    if hasattr(error, "format_message"):
        return " ".join(f"{error.format_message()} {how_to_give(error)}".split())
    if isinstance(error, OSError):
        where = "What was printed could not be written" if error.filename is None else error.filename
        return f"{os.fsdecode(where) if isinstance(where, bytes) else where}: {error.strerror or error}."
    # NumPy's message says how much memory was asked for.
    if isinstance(error, MemoryError):
        how = f" ({error})" if str(error) else ""
        return f"Out of memory{how}. Use fewer features or classes."
    if isinstance(error, UnicodeEncodeError):
        return f"The output has characters that {error.encoding} cannot show. Set PYTHONUTF8=1, or write to a file."
    # After UnicodeEncodeError, which is a kind of it.
    if isinstance(error, UnicodeError):
        return f"Some text cannot be read ({error})."
    return None
