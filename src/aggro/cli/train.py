"""``aggro train``: train a model on files, in one pass or several, and save it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from aggro.cli.checkpoints import ENDING, Checkpoints
from aggro.cli.cluster import PARTITION_BYTES, Dask, Mix, PartitionBytes, check_dask
from aggro.cli.console import Mistake, facts, json_text, kept, listed, names_of, shown
from aggro.cli.help import complete_learners, complete_settings
from aggro.cli.learner_spec import OF_RECORDS, make_learner, records_around, spelled, split_settings
from aggro.cli.live import LiveStream, pipe_of
from aggro.cli.model_files import load_to_read, save_model
from aggro.cli.options import Data, Json, Plugins, Reading, reads_data
from aggro.cli.outputs import MODEL_FILE, Reads, Writes
from aggro.cli.passes import Run, Saved
from aggro.cli.tasks import AUTO_TASK, DEFAULT_LEARNERS, TaskOption, check_agrees, open_and_decide
from aggro.cli.test import print_by_class

FIRST_ROWS = 1000  # that a pipe is waited for, to guess what its columns are
LEFT_OUT = {"bad_lines": "malformed line(s)", "unlabelled": "row(s) without a label"}


@reads_data
def train(
    data: Data,
    *,
    model: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Save the model to this file."),
        Writes(MODEL_FILE, beside={ENDING: MODEL_FILE}, over=("from_",), held=True),
    ],
    learner: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=complete_learners,
            help="Train this learner; 'aggro learners' lists all.  [default: PAClassifier or PARegressor, by the "
            "labels]",
        ),
    ] = None,
    task_: TaskOption = AUTO_TASK,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            autocompletion=complete_settings,
            help="Set a parameter of the learner; repeatable.",
        ),
    ] = None,
    from_: Annotated[
        Path | None,
        typer.Option("--from", metavar="MODEL", help="Continue training this model."),
        Reads(),
    ] = None,
    passes: Annotated[int, typer.Option(min=1, metavar="N", help="Go over the data N times.")] = 1,
    test: Annotated[
        list[str] | None,
        typer.Option(metavar="DATA", help="Test the model on these data at the end; repeatable."),
        Reads(data=True),
    ] = None,
    checkpoint: Annotated[
        int | None,
        typer.Option(min=1, metavar="ROWS", help="Save a checkpoint every so many rows (on Dask: after each pass)."),
    ] = None,
    save_every: Annotated[
        int | None,
        typer.Option(min=1, metavar="ROWS", help="Save the model every so many rows; for pipes that never end."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the checkpoint, if there is one.")] = False,
    dask: Dask = None,
    partition_bytes: PartitionBytes = None,
    mix: Mix = None,
    plugin: Plugins = None,
    as_json: Json = False,
    reading: Reading,
) -> None:
    """Train a model on files, in one pass and constant memory.

    Without --learner the labels decide: many different numbers get PARegressor, other labels PAClassifier. aggro
    says why, and --task overrules it.

    Progress goes to stderr at each power of two of rows: the mean loss, the mean loss since the line before, and the
    share of rows predicted wrongly before they were learned. On Dask it comes after each pass.
    """
    # What cannot work is refused before any data are read.
    check_dask(dask, partition_bytes, mix)
    stream: Any = None
    # Only with --save-every is a pipe read as lines come: a model of a pipe that never ends must be saved meanwhile.
    live = None if save_every is None else pipe_of(data)
    # Nothing was named: the labels decide, and the stream that was looked at is used for the training.
    if learner is None and from_ is None:
        stream, decided = open_and_decide(data, reading, task_, set_ or [], live)
        learner = DEFAULT_LEARNERS[decided.name]
    new, reading = starting_learner(learner, set_ or [], from_, reading)
    check_agrees(task_, new)
    from aggro.cli.reading import blaming_the_data, open_data, open_known, read_again
    from aggro.cli.scoring import evaluate, task_of
    from aggro.cli.table_report import check_classes, check_usable

    task = task_of(new)
    if stream is None:

        def opened(paths: list[str], reading: Reading) -> Any:
            return open_data(paths, reading, task=task) if from_ is None else open_known(paths, reading, new, task=task)

        first = FIRST_ROWS if from_ is None else 1  # a model knows its columns
        stream = opened(data, reading) if live is None else LiveStream(live, reading, opened, first)
    # A new learner takes the columns of these data; one that goes on has its own.
    if from_ is None:
        new = for_data(new, stream, reading)
    elif stream.raw:
        with blaming_the_data():
            check_usable(stream)
    if not read_again(stream):
        again = {"--checkpoint": checkpoint, "--resume": resume, "--passes": passes > 1, "--dask": dask}
        for what, said in again.items():
            if said:
                raise Mistake(f"{what} reads the data more than once: save {stream.sources[0].title} to a file first.")
    if resume and checkpoint is None:
        raise Mistake("--resume needs --checkpoint: repeat the command that was stopped, and add --resume.")
    if test:
        open_data(test, reading, task=task)  # a mistake there should not cost the training
    how: dict[str, Any] = {"partition_bytes": partition_bytes or PARTITION_BYTES, "mix": mix or "rows"}
    # How models are mixed is part of the run: a resumed one must mix them alike.
    mixing = None if dask is None else f"by {how['mix']}, of partitions of {how['partition_bytes']:,} bytes"
    checkpoints = Checkpoints(model, checkpoint, stream, passes, reading, from_, mixing)
    if dask is None:
        run = Run(stream, new, passes, checkpoints, Saved(model, save_every, reading))
    else:
        from aggro.cli.dask_passes import DaskRun

        run = DaskRun(stream, new, passes, checkpoints, where=dask, **how, plugins=plugin or [])
    # Whatever stops it from here on, the user learns what is kept.
    with kept(checkpoints.left):
        if resume:
            run.resume()
        elif checkpoint is not None:
            # A run that starts anew must not be resumed from the checkpoint of an earlier one.
            checkpoints.forget()
        run.learn()
        # Before saving: a model of one class is no result.
        check_classes(run.learner, stream, task)
        save_model(run.learner, model, reading.for_later())
        checkpoints.saved = True
        # Tested after it was saved: a mistake in the test data must not cost the model.
        tested = evaluate(run.learner, test, reading) if test else None
        result = {"model": str(model), **run.result(), "test": tested}
        for line in tested["notes"] if tested else ():
            print(line, file=sys.stderr)
        print(json_text(result, indent=2) if as_json else summary(result))
        if tested and not as_json:
            print_by_class(tested)
        # Results that could not be written are an error before the checkpoint goes.
        sys.stdout.flush()
        checkpoints.forget()  # not before all is said: until then, the same command must not learn the rows again


def starting_learner(
    name: str | None, settings: list[str], model: Path | None, reading: Reading
) -> tuple[Any, Reading]:
    """A new learner, or one that goes on and brings along how its data were read."""
    # Settings of the encoder belong to what reads tables around the learner.
    if model is None:
        own, of_records = split_settings(name or "PAClassifier", settings)
        learner = make_learner(name or "PAClassifier", own)
        return (records_around(learner, of_records) if of_records else learner), reading
    if name or settings:
        raise Mistake("--from takes learner and parameters from the model: leave --learner and --set out.")
    return load_to_read(model, reading)


def for_data(learner: Any, stream: Any, reading: Reading) -> Any:
    """The learner as this stream needs it: tables are read by an encoder that is kept with the model."""
    if not stream.raw:
        # Settings of the encoder were given, and these data have no use for one.
        if hasattr(learner, "estimator"):
            raise Mistake(f"{stream.sources[0].title} is not a table: leave out --set {', '.join(OF_RECORDS)}.")
        return learner
    learner = learner if hasattr(learner, "estimator") else records_around(learner, [])
    from aggro.cli.reading import blaming_the_data
    from aggro.cli.table_report import check_usable

    # The words and marks of the command go into the model, so that predictions read cells alike.
    learner.na = list(reading.settings().get("na", ())) or None
    learner.decimal, learner.thousands, learner.dayfirst = reading.decimal, reading.thousands, reading.dayfirst
    with blaming_the_data():
        columns = stream.columns
        check_usable(stream)
        return learner.settle(columns)


def summary(result: dict[str, Any]) -> str:
    """The result for people."""
    from aggro.cli.progress_lines import candidate_lines, drift_line
    from aggro.cli.table_report import columns_line

    rows = result["rows"]
    passes = f" in {result['passes']} passes" if result["passes"] > 1 else ""
    # On partitions there is no first chunk to leave out of the rate.
    since = "" if "partitions" in result else " after the start"
    rate = f" ({result['rows_per_second']:,.0f} a second{since})" if result["rows_per_second"] else ""
    lines = {
        "learner": spelled(result["learner"], result["parameters"]),
        "rows": f"{rows:,}{passes}, {result['seconds']:.2f} s{rate}",
    }
    if result.get("partitions"):
        workers = f"{result['workers']:,} worker{'s' * (result['workers'] != 1)}"
        lines["partitions"] = f"{result['partitions']:,}, learned by {workers}"
    lines["mean loss"] = f"{result['mean_loss']:.6g}"
    if "error" in result:
        lines["mistakes"] = f"{result['mistakes']:,} ({result['error']:.2%}), before each row was learned"
    if "outside" in result:
        lines["outside"] = f"{result['outside']:,} ({result['share_outside']:.2%}), before each row was learned"
    lines["updates"] = f"{result['updates']:,} ({result['updates'] / rows:.2%})"
    if drift := drift_line(result):
        lines["drift"] = drift
    lines |= candidate_lines(result)
    lines["features"] = f"{result['features']:,}"
    if "columns" in result:
        lines["columns"] = columns_line(result["columns"])
    if "offset" in result:
        lines["offset"] = f"{result['offset']:.6g}; rows with a lower score are outside"
    if "classes" in result:
        lines["classes"] = listed(result["classes"])
    left_out = [f"{result[key]:,} {what}" for key, what in LEFT_OUT.items() if result[key]]
    if left_out:
        lines["left out"] = ", ".join(left_out)
    if result["test"] is not None:
        lines["test"] = test_line(result["test"])
    lines["model"] = f"{result['model']} ({os.path.getsize(result['model']):,} bytes)"
    return facts(lines)


def test_line(test: dict[str, Any]) -> str:
    from aggro.cli.table_report import MOSTLY_ONE_CLASS

    name = names_of(test["data"])
    if not test["rows"]:
        return f"{name} has no rows"
    if "error" in test:
        rare = ""
        # With one class nearly everywhere the error alone misleads.
        if test["majority"] > MOSTLY_ONE_CLASS:
            what = shown(test["majority_class"])
            rare = f", balanced {test['balanced_error']:.2%} ({test['majority']:.0%} of the rows are {what})"
        return f"{test['error']:.2%} error{rare} on the {test['rows']:,} rows of {name}"
    if "outside" in test:
        return f"{test['share_outside']:.2%} outside of the {test['rows']:,} rows of {name}"
    r2 = "undefined" if test["r2"] is None else f"{test['r2']:.4f}"
    return f"R² {r2}, mean absolute error {test['mae']:.6g} on the {test['rows']:,} rows of {name}"
