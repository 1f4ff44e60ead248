"""``aggro follow``: learn from a Redis stream or a Kafka topic as records come, each of them once."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aggro.cli.console import Mistake, facts, json_text, shown, visible, width_of
from aggro.cli.help import complete_learners, complete_settings
from aggro.cli.learner_spec import make_learner, records_around, split_settings
from aggro.cli.options import Json, Plugins
from aggro.cli.outputs import Reads

if TYPE_CHECKING:
    from aggro.interop.brokers import Follower

ON_SCREEN, IN_A_LOG = 0.5, 10.0  # seconds between two lines about how it goes


def follow(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="Read redis://host:6379/stream or kafka://host:9092/topic.")
    ],
    *,
    model: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Save the model here, or continue with it if it exists."),
        Reads(),  # and written: a file that is no model is refused when it is read
    ],
    label: Annotated[str, typer.Option(metavar="FIELD", help="Take the label from this field.")] = "label",
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE", help="Take labels from this stream, where they arrive with the id of their record."
        ),
    ] = None,
    id_: Annotated[
        str, typer.Option("--id", metavar="FIELD", help="Match records and labels of two streams by this field.")
    ] = "id",
    predictions: Annotated[
        str | None,
        typer.Option(
            metavar="STREAM", help="Write predictions to this stream; each record is predicted before it is learned."
        ),
    ] = None,
    dead_letters: Annotated[
        str | None,
        typer.Option(
            metavar="STREAM", help="Move messages that cannot be learned here.  [default: SOURCE-dead-letters]"
        ),
    ] = None,
    learner: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=complete_learners,
            help="Train a new model with this learner.  [default: PAClassifier]",
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
    group: Annotated[
        str | None, typer.Option(metavar="NAME", help="Use this consumer group.  [default: aggro-FILE]")
    ] = None,
    batch: Annotated[int, typer.Option(min=1, metavar="N", help="Read up to N messages at once.")] = 1000,
    every: Annotated[float, typer.Option(min=0.0, metavar="SECONDS", help="Between two saves.")] = 1.0,
    merge_every: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Share the topic with other processes that follow with the same file, and merge the models after N "
            "records of each partition, or after --every seconds.",
        ),
    ] = None,
    idle: Annotated[
        float | None, typer.Option(min=0.0, metavar="SECONDS", help="Stop when nothing came for so long.")
    ] = None,
    metrics: Annotated[
        int | None, typer.Option(min=0, max=65535, metavar="PORT", help="Counters for Prometheus, on this machine.")
    ] = None,
    plugin: Plugins = None,
    as_json: Json = False,
) -> None:
    """Learn from a Redis stream or a Kafka topic: each record exactly once, as it arrives.

    aggro saves the model together with its position in the stream. Stop with Ctrl-C. The same command continues from
    that position, also after a crash.
    """
    from aggro.interop.brokers import SourceError
    from aggro.interop.brokers import follow as run
    from aggro.models import ModelFileError

    lines = Lines()
    # A clash of options is refused before a broker is asked.
    made = starting_learner(model, learner, set_ or [])
    serving = nothing if metrics is None else Metrics(metrics).report
    last: list[Follower] = []

    def report(follower: Follower) -> None:
        # Kept for the result, which is printed when the run was stopped.
        last[:] = [follower]
        lines.report(follower)
        serving(follower)

    try:
        run(
            source,
            model,
            label=label,
            labels=labels,
            id=id_,
            predictions=predictions,
            dead_letters=dead_letters,
            learner=made,
            group=group,
            batch=batch,
            every=every,
            merge_every=merge_every,
            idle=idle,
            report=report,
        )
    except (SourceError, ModelFileError) as error:
        raise Mistake(str(error)) from error
    except KeyboardInterrupt:  # the way to stop it: what was learned is saved
        # Stopped before anything came: nothing was learned.
        if not last:
            raise
    finally:
        lines.close()
    result = result_of(last[0]) if last else {}
    print(json_text(result, indent=2) if as_json else summary(result, model))


def nothing(follower: Follower) -> None:
    """Report nowhere."""


def starting_learner(model: Path, learner: str | None, settings: list[str]) -> Any:
    """What a new model learns with; None for the defaults."""
    # With neither, ``follow`` makes the learner, or takes the one in the file.
    if not learner and not settings:
        return None
    # The model in the file has its learner, and other settings would be ignored.
    if model.exists():
        raise Mistake(f"{model} is there, with its learner and parameters: leave --learner and --set out.")
    own, of_records = split_settings(learner or "PAClassifier", settings)
    return records_around(make_learner(learner or "PAClassifier", own), of_records)


def result_of(follower: Follower) -> dict[str, Any]:
    """Counts, the recent error and the lag."""
    return {**asdict(follower.counts), "recent_error": recent_error(follower), "lag": follower.lag_seen}


def recent_error(follower: Follower) -> float | None:
    """The error of the last rows, each before it was learned."""
    # NaN before the first labelled row.
    found = getattr(follower.learner, "recent_error_", None)
    return None if found is None or found != found else float(found)


def summary(result: dict[str, Any], model: Path) -> str:
    """The result for people."""
    if not result:
        return "Nothing came."
    lines = {"records": f"{result['records']:,}, {result['learned']:,} learned"}
    if result["labels"]:
        lines["labels"] = f"{result['labels']:,}"
    if result["unlabelled"]:
        lines["no label"] = f"{result['unlabelled']:,}"
    if result["predictions"]:
        lines["predicted"] = f"{result['predictions']:,}"
    if result["dead_letters"]:
        lines["set aside"] = f"{result['dead_letters']:,} messages that cannot be learned"
    if result["recent_error"] is not None:
        lines["error"] = f"{result['recent_error']:.4g} of the last rows"
    lines["model"] = str(model)
    return facts(lines)


class Lines:
    """How it goes, on stderr: one line that changes on a terminal, a line now and then elsewhere."""

    def __init__(self) -> None:
        self.screen = sys.stderr.isatty()
        self._said, self._records, self._notes = 0.0, 0, 0
        self._drawn = False

    def report(self, follower: Follower) -> None:
        """Say how it goes, if it is time."""
        # Notes are said at once and once each; the line of progress waits its turn.
        for note in follower.notes[self._notes :]:
            self.clear()
            print(f"aggro: {shown(note)}", file=sys.stderr, flush=True)
        self._notes = len(follower.notes)
        now = time.monotonic()
        passed = now - self._said
        if passed < (ON_SCREEN if self.screen else IN_A_LOG):
            return
        counts = follower.counts
        # The rate since the last line; the first has nothing to compare with.
        rate = (counts.records - self._records) / passed if self._said else 0.0
        self._said, self._records = now, counts.records
        line = status(follower, rate)
        if not self.screen:
            print(line, file=sys.stderr, flush=True)
            return
        width = width_of(sys.stderr) or 80
        # One letter less than the width: a full line would wrap, and could not be taken away.
        self.clear()
        sys.stderr.write(visible(line[: width - 1]))
        sys.stderr.flush()
        self._drawn = True

    def clear(self) -> None:
        """Take the line away."""
        if self._drawn:
            # Around the door: these are codes for the terminal, and the text beside them is none from outside.
            getattr(sys.stderr, "raw", sys.stderr).write("\r\x1b[2K")
            self._drawn = False

    def close(self) -> None:
        """The end."""
        self.clear()
        sys.stderr.flush()


def status(follower: Follower, rate: float) -> str:
    """One line: records, recent error, lag, and what was set aside."""
    counts, error, lag = follower.counts, recent_error(follower), follower.lag()
    parts = [f"{counts.records:,} records", f"{counts.learned:,} learned"]
    parts += [f"recent error {error:.4g}"] if error is not None else []
    parts += [f"lag {lag:,}"] if lag is not None else []
    parts += [f"{counts.dead_letters:,} set aside"] if counts.dead_letters else []
    return " · ".join([*parts, f"{rate:,.0f}/s"])


class Metrics:
    """A page of counters for Prometheus, answered by a thread."""

    def __init__(self, port: int) -> None:
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
        from threading import Thread

        # Bound here, because ``self`` is the handler inside of its methods.
        page: Callable[[], str] = self.page

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                text = page().encode()
                self.send_response(200 if self.path == "/metrics" else 404)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *arguments: Any) -> None:
                """Say nothing."""

        self._found: dict[str, Any] = {}
        try:
            # Only this machine: the page has no protection.
            server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        except OSError as error:
            raise Mistake(f"The port {port} for metrics cannot be used: {error.strerror}. Give another.") from error
        # A daemon, so that the page does not keep the process alive.
        Thread(target=server.serve_forever, daemon=True, name="metrics").start()
        print(f"Metrics on http://127.0.0.1:{server.server_port}/metrics", file=sys.stderr, flush=True)

    def report(self, follower: Follower) -> None:
        """Note how it stands."""
        # A new dict each time: the thread that answers sees the old one or the new one, never a mixture.
        self._found = result_of(follower)

    def page(self) -> str:
        """The counters, in Prometheus' text format."""
        from aggro.serve.exposition import family

        lines: list[str] = []
        for name, (metric, kind, text) in METRICS.items():
            # A value that is not known is left out; Prometheus takes that for a gap.
            if self._found.get(name) is not None:
                lines += family(metric, kind, text, [({}, float(self._found[name]))])
        return "\n".join(lines) + "\n"


METRICS = {  # by the name of a result
    "records": ("aggro_follow_records_total", "counter", "Messages with records that were read."),
    "learned": ("aggro_follow_learned_total", "counter", "Records that were learned."),
    "unlabelled": ("aggro_follow_unlabelled_total", "counter", "Records without a label."),
    "labels": ("aggro_follow_labels_total", "counter", "Messages of the stream of labels."),
    "predictions": ("aggro_follow_predictions_total", "counter", "Predictions written."),
    "dead_letters": ("aggro_follow_dead_letters_total", "counter", "Messages that could not be learned."),
    "recent_error": ("aggro_follow_recent_error", "gauge", "Error of the last records, before they were learned."),
    "lag": ("aggro_follow_lag", "gauge", "Messages that were not read yet."),
}
