"""``aggro serve``: models that learn over HTTP; and ``aggro token``, who may ask them."""

from __future__ import annotations

import json
import logging
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aggro.cli.commands import App
from aggro.cli.console import Mistake, shown
from aggro.cli.help import complete_learners, complete_settings
from aggro.cli.options import Json, Plugins
from aggro.cli.outputs import Reads

if TYPE_CHECKING:
    from aggro.serve import Models
    from aggro.serve.following import Following

SERVE_FOLDER = Path("aggro-serve")
HOST, PORT = "127.0.0.1", 8765
LOOPBACK = ("127.0.0.1", "::1", "localhost")
EXTRA = "aggro serve needs Starlette and uvicorn. Install them with: pip install 'aggro[serve]'"

Folder = Annotated[Path, typer.Option("--dir", metavar="DIR", help="Keep models and their journal in this folder.")]


def serve(
    model: Annotated[
        Path | None, typer.Argument(metavar="[MODEL]", help="Start with this model file."), Reads()
    ] = None,
    *,
    directory: Folder = SERVE_FOLDER,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Listen on this address; beyond this machine tokens are required.")
    ] = HOST,
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Listen on this port; 0 takes any free one.")
    ] = PORT,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Name the model.  [default: default]")] = None,
    learner: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=complete_learners,
            help="Train new models with this learner.  [default: PAClassifier]",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            autocompletion=complete_settings,
            help="Set a parameter of the learner; repeatable.",
        ),
    ] = None,
    tokens: Annotated[bool, typer.Option("--tokens", help="Require tokens on this machine too.")] = False,
    allow_host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Accept requests to this host name too; repeatable.")
    ] = None,
    follow: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE",
            help="Let the model learn from this broker too: redis://host/stream or kafka://host/topic.",
        ),
    ] = None,
    label: Annotated[str, typer.Option(metavar="FIELD", help="Find the label of a followed record here.")] = "label",
    rate: Annotated[
        float | None, typer.Option(min=1.0, metavar="N", help="Limit each client to N requests a second.")
    ] = None,
    plugin: Plugins = None,
) -> None:
    """Serve models over HTTP: predict now, learn when the label comes, lose nothing.

    Without arguments, aggro serves on this machine only, with a new model named "default" that takes any records. It
    keeps everything in a folder, and continues from there when you start it again.
    """
    # The extra is needed only here.
    try:
        from aggro.serve.web.server import bound
        from aggro.serve.web.server import serve as run
        from aggro.serve.web.service import Service
    except ModuleNotFoundError as error:
        raise Mistake(EXTRA) from error
    from aggro.serve.web.guard import names_of_this_machine

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    # On this machine alone requests are trusted, unless you say otherwise.
    needs_token = tokens or host not in LOOPBACK
    try:
        # The port first: it is refused quickly, and before any model is opened.
        sock = bound(host, port)
    except OSError as error:
        text = f"aggro cannot listen on {shown(host)}, port {port}: {error.strerror or error}."
        raise Mistake(f"{text} Choose another with --host and --port; --port 0 takes any free one.") from error
    # Closed in reverse order: what follows a broker stops before the models that it feeds.
    with sock, closing(opened(directory, model, name, learner, set_ or [], rate)) as models, ExitStack() as followed:
        # Requests are answered only if they name a host that is known; beyond this machine, its own name is added.
        beyond = names_of_this_machine() if host not in LOOPBACK else ()
        service = Service(models, needs_token, (*beyond, host, *(allow_host or [])))
        # Without a token nobody could ask: said now, not by refusing all requests.
        if needs_token and not service.tokens.listed():
            where = "" if directory == SERVE_FOLDER else f" --dir {directory}"
            raise Mistake(f"Tokens are required, and there are none. Make one first: aggro token add NAME{where}")
        if follow is not None:
            service.following.append(following(models, name, follow, label))
            followed.callback(service.following[0].close)  # before the models

        def say() -> None:
            # Said by the server when it listens, for only then is it true.
            address = f"[{host}]" if ":" in host else host
            print(f"Serving on http://{address}:{sock.getsockname()[1]}/ from {shown(str(directory))}", flush=True)
            for note in models.notes:
                print(f"aggro: {shown(note)}", file=sys.stderr)

        run(service, sock, say)
    print("Stopped. Everything is kept.", file=sys.stderr)


def following(models: Models, name: str | None, source: str, label: str) -> Following:
    """A model of the service that learns from a broker."""
    from aggro.interop.brokers import SourceError, Unreachable
    from aggro.interop.brokers.source import without_password
    from aggro.serve.following import Following
    from aggro.serve.models import DEFAULT

    try:
        found = Following(models.find(name or DEFAULT), source, label)
        found.start()
    except SourceError as error:
        raise Mistake(str(error)) from error
    except Unreachable as error:
        raise Mistake(f"{without_password(source)} cannot be reached: {error}. Is the broker running?") from error
    return found


def opened(
    directory: Path, model: Path | None, name: str | None, learner: str | None, settings: list[str], rate: float | None
) -> Models:
    """The models of the folder, with the one that the command names."""
    from dataclasses import replace

    from aggro.serve import Limits, Models, Problem
    from aggro.serve.models import DEFAULT, FolderInUse

    limits = Limits() if rate is None else replace(Limits(), rate=rate)
    name = name or DEFAULT
    # A file has its learner, and other settings would be ignored.
    if model is not None and (learner or settings):
        raise Mistake(f"{model} exists and has its own learner and parameters: leave --learner and --set out.")
    spec = described(learner or "PAClassifier", settings)
    try:
        # Only a plain start makes the default model; a named one is created below, or is there already.
        models = Models(directory, limits, spec if model is None and name == DEFAULT else None, model, name)
    except FolderInUse as error:
        raise Mistake(str(error)) from error
    except Problem as problem:
        raise Mistake(problem.message) from problem
    if learner or settings:
        try:
            models.create(name, spec)
        except Problem as problem:
            # The folder is locked by the models, so they are closed before the error goes on.
            models.close()
            raise Mistake(f"{problem.message} Give another --dir or --name.") from problem
    return models


def described(learner: str, settings: list[str]) -> dict[str, Any]:
    """A learner as the service describes it."""
    from aggro.cli.learner_spec import entry_of, make_learner, parsed, split_settings
    from aggro.learners.base.inside import constraints_of, parameters_of
    from aggro.learners.records import RecordLearner

    own, of_records = split_settings(learner, settings)
    # Made once, so that a wrong setting is a mistake of the command line.
    made = make_learner(learner, own)
    fresh = parameters_of(entry_of(learner)[0].load()())
    changed = {key: value for key, value in parameters_of(made).items() if value != fresh[key]}
    changed.pop("random_state", None)
    known = constraints_of(RecordLearner)
    pairs = [setting.partition("=") for setting in of_records]
    records = {key.strip(): parsed(known[key.strip()], text.strip()) for key, _, text in pairs}
    # The service keeps settings as JSON.
    try:
        json.dumps([changed, records])
    except TypeError as error:
        raise Mistake(f"{learner}: a setting cannot be stored ({error}).") from error
    return {"learner": entry_of(learner)[0].name, "settings": changed, "records": records}


token = App(help="Manage the tokens that aggro serve accepts.", no_args_is_help=True)


@token.command(short_help="Make a token and print it once.")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name for the token.")],
    *,
    scope: Annotated[
        str, typer.Option(metavar="SCOPE", help="Allow read, learn (and read) or admin (everything).")
    ] = "learn",
    directory: Folder = SERVE_FOLDER,
) -> None:
    """Make a token and print it. aggro keeps only a hash of it."""
    from aggro.serve import Problem

    with Opened(directory) as tokens:
        try:
            print(tokens.add(name, scope))
        except Problem as problem:
            raise Mistake(problem.message) from problem


@token.command("list", short_help="List all tokens.")
def listed(*, directory: Folder = SERVE_FOLDER, as_json: Json = False) -> None:
    """List all tokens with their scopes and dates."""
    with Opened(directory) as tokens:
        found = [{"name": one.name, "scope": one.scope, "time": one.time} for one in tokens.listed()]
    if as_json:
        print(json.dumps(found, indent=2))
        return
    for one in found:
        print(f"{one['name']}  {one['scope']}  {time.strftime('%Y-%m-%d %H:%M', time.localtime(one['time']))}")


@token.command(short_help="Delete a token.")
def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The token's name.")], *, directory: Folder = SERVE_FOLDER
) -> None:
    """Delete a token. A running server refuses it from the next second on."""
    with Opened(directory) as tokens:
        if not tokens.revoke(name):
            raise Mistake(f"There is no token named {name!r} in {directory}.")
    print(f"The token {shown(name)} is deleted.", file=sys.stderr)


class Opened:
    """The tokens of a folder, also while a server runs from it."""

    def __init__(self, directory: Path) -> None:
        from aggro.serve.models import DATABASE
        from aggro.serve.store import Store
        from aggro.serve.tokens import Tokens

        # Only the owner may read the folder: it holds models and the hashes of tokens.
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.store = Store(directory / DATABASE)
        self.tokens = Tokens(self.store)

    def __enter__(self) -> Any:
        return self.tokens

    def __exit__(self, *error: object) -> None:
        self.store.close()
