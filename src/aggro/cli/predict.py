"""``aggro predict``: predict a label or a number for each row."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from aggro.cli.console import Door, Mistake, json_text
from aggro.cli.live import LiveStream, pipe_of
from aggro.cli.model_files import load_to_read
from aggro.cli.options import Data, Model, Plugins, Reading, reads_data
from aggro.cli.outputs import PREDICTIONS, Writes, writing
from aggro.cli.prediction_tables import PredictionTable, delimiter_for
from aggro.learners.base.inside import model_of


@reads_data
def predict(
    model: Model,
    data: Data,
    *,
    scores: Annotated[bool, typer.Option("--scores", help="Print scores instead of labels.")] = False,
    proba: Annotated[bool, typer.Option("--proba", help="Print the probability of each class.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write to this file; .csv, .tsv and .jsonl get a table."),
        Writes(PREDICTIONS),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="Write a table with these columns (* for all) and the predictions."),
    ] = None,
    plugin: Plugins = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object for each row: label and scores.")
    ] = False,
    reading: Reading,
) -> None:
    """Predict a label or a number for each row, one a line.

    With --keep, or an output file named .csv, .tsv or .jsonl, aggro writes a table: the columns to keep, the
    prediction, and the probability of each class. It answers lines from a pipe (-) at once.

    The data are read like those that the model was trained on. aggro ignores a label column, and leaves out and
    counts features that the model does not know; if it knows none of them, that is an error.
    """
    learner, reading = load_to_read(model, reading)

    from aggro.cli.known import Known
    from aggro.cli.reading import blaming_the_data, chunks_of

    kept = [name for names in keep or () for name in names.split(",")]
    delimiter = delimiter_for(None if output is None else output.name)
    # A table was asked for by --keep, and needs a form.
    if kept and delimiter is None:
        delimiter = ","
    if delimiter is not None and (proba or scores or as_json):
        raise Mistake("A table already has probabilities: leave out --proba, --scores and --json.")

    def opened(paths: list[str], reading: Reading) -> Any:
        found = open_as_learned(paths, reading, learner)
        if kept and not found.raw:
            # Other formats have no columns to keep.
            raise Mistake(f"--keep needs a table, and {found.sources[0].title} is {found.format} text.")
        found.cells = bool(kept)
        return found

    # A pipe is answered line by line; all else is read as one stream.
    pipe = pipe_of(data)
    stream: Any = opened(data, reading) if pipe is None else LiveStream(pipe, reading, opened)
    if proba and scores:
        raise Mistake("Give --scores or --proba, not both.")
    if proba and not hasattr(learner, "proba_chunk"):
        raise Mistake(f"{model} is not a classifier, so it has no probabilities. Leave --proba out.")
    lines: Any = json_lines if as_json else score_lines if scores else label_lines
    if proba:
        lines = json_proba_lines if as_json else proba_lines
    known = Known(learner, stream)
    # The roles are settled before the first prediction is written, so that their errors leave no output.
    if stream.raw:
        with blaming_the_data():
            _ = stream.columns
        for note in stream.notes:
            print(f"Note: {note}.", file=sys.stderr)
    table = None if delimiter is None else PredictionTable(known.model, delimiter, kept, shares=True)
    with written_to(output) as write:
        for chunk in chunks_of(stream):
            with blaming_the_data():
                # Looked at and encoded once; the predictions take the encoded rows.
                seen = known.look(chunk)
                if table is None:
                    text = "\n".join(lines(known.model, seen)) + "\n"
                else:
                    text = table.text(known.model, chunk, seen)
            write(text)
            # Whoever feeds the pipe waits for the answer.
            if pipe is not None:
                sys.stdout.flush()
    if not known.rows:
        print(f"Note: {stream.sources[0].title} has no rows.", file=sys.stderr)
    for line in known.lines():
        print(line, file=sys.stderr)
    if stream.bad_lines:
        print(f"Skipped {stream.bad_lines:,} malformed lines.", file=sys.stderr)


def open_as_learned(data: list[str], reading: Reading, learner: Any) -> Any:
    """The data, read in the way that the model's features tell."""
    from aggro.cli.reading import open_known, text_columns

    stream = open_known(data, reading, learner)
    if stream.raw:
        return stream
    model = model_of(learner)
    assert model is not None  # a file has what was learned
    features = model.features
    if stream.format == "vw":
        # Read as in training: the same names, or hashed to as many columns.
        stream.options["named"] = features.names is not None
        if reading.hash is None:
            stream.options["bits"] = max(1, features.n.bit_length() - 1)
    elif stream.format != "svmlight":
        # A label in the data is not needed, but must not be taken for a feature.
        stream.options["label"] = reading.label or False
        if not reading.text:
            stream.options["text"] = text_columns(features)
    return stream


@contextmanager
def written_to(output: Path | None) -> Iterator[Callable[[str], Any]]:
    """Where predictions go. A person sees what cannot be seen otherwise; a program gets labels as they are."""
    if output is not None:
        with writing(output, "the predictions") as file:
            yield lambda text: file.write(text.encode())
        return
    # To a terminal through the door, which makes control characters visible; to a program as they are.
    yield sys.stdout.raw.write if isinstance(sys.stdout, Door) and not sys.stdout.isatty() else sys.stdout.write


def label_lines(learner: Any, chunk: Any) -> Iterator[str]:
    """A label a line: one that has line breaks itself has them spelled."""
    labels = map(str, learner.predict_chunk(chunk).tolist())
    # One line for each row, whatever the labels hold.
    return (label.replace("\n", "\\n").replace("\r", "\\r") for label in labels)


def score_lines(learner: Any, chunk: Any) -> Iterator[str]:
    rows = learner.decision_chunk(chunk).tolist()
    return ("\t".join(map(repr, row)) if isinstance(row, list) else repr(row) for row in rows)


def proba_lines(learner: Any, chunk: Any) -> Iterator[str]:
    """The probabilities of all classes, in the order in which ``aggro show`` names them."""
    return ("\t".join(map(repr, row)) for row in learner.proba_chunk(chunk).tolist())


def json_proba_lines(learner: Any, chunk: Any) -> Iterator[str]:
    labels, shares = learner.predict_chunk(chunk).tolist(), learner.proba_chunk(chunk).tolist()
    names = [str(name) for name in learner.classes_.tolist()]
    for label, row in zip(labels, shares, strict=True):
        yield json_text({"label": label, "probabilities": dict(zip(names, row, strict=True))})


def json_lines(learner: Any, chunk: Any) -> Iterator[str]:
    from aggro.cli.scoring import task_of

    labels = learner.predict_chunk(chunk).tolist()
    task = task_of(learner)
    if task == "regression":
        yield from (json_text({"value": label}) for label in labels)
        return
    scored = zip(labels, learner.decision_chunk(chunk).tolist(), strict=True)
    if task == "outlier":
        yield from (json_text({"label": label, "score": score}) for label, score in scored)
        return
    names = [str(name) for name in learner.classes_.tolist()]
    for label, score in scored:
        # Two classes have one score, which is that of the second.
        scores = zip(names, score, strict=True) if isinstance(score, list) else [(names[-1], score)]
        yield json_text({"label": label, "scores": dict(scores)})
