"""``aggro predict``: what a model says of each row, one a line."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from aggro.cli.console import Mistake, check_writable
from aggro.cli.options import Data, Plugins, Reading, reads_data
from aggro.cli.show import Model, load_model

__all__ = ["predict"]

WORDS_OF_TEXT = re.compile(r"([^=]*)~\d+")  # how the features of a text column are called


@reads_data
def predict(
    model: Model,
    data: Data,
    *,
    scores: Annotated[bool, typer.Option("--scores", help="Print scores instead of labels.")] = False,
    output: Annotated[Path | None, typer.Option(help="Write to this file instead of stdout.")] = None,
    plugin: Plugins = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print an object for each row: label and scores.")] = False,
    reading: Reading,
) -> None:
    """Predict each row: one label a line, or one score, or tab-separated scores of all classes.

    A label column among the data is not looked at. Features that the model does not know are left out.
    """
    if output is not None:
        check_writable(output)
    learner = load_model(model)

    from aggro.cli.reading import blaming_the_data, chunks_of

    stream = open_as_learned(data, reading, learner)
    lines = json_lines if as_json else score_lines if scores else label_lines
    with written_to(output) as file:
        for chunk in chunks_of(stream):
            with blaming_the_data():
                text = "\n".join(lines(learner, chunk)) + "\n"
            file.write(text)
    if stream.bad_lines:
        print(f"Left out {stream.bad_lines:,} malformed lines.", file=sys.stderr)


def open_as_learned(data: list[str], reading: Reading, learner: Any) -> Any:
    """The data, read in the way that the model's features tell."""
    from aggro.cli.reading import open_data

    stream = open_data(data, reading)
    features = learner._model.features
    if stream.format == "vw":
        stream.options["named"] = features.names is not None
        if reading.hash is None:
            stream.options["bits"] = max(1, features.n.bit_length() - 1)
    elif stream.format != "svmlight":
        stream.options["label"] = reading.label or False
        if not reading.text:
            names = (WORDS_OF_TEXT.fullmatch(name) for name in features.names or () if isinstance(name, str))
            stream.options["text"] = sorted({match[1] for match in names if match})
    return stream


@contextmanager
def written_to(output: Path | None) -> Iterator[IO[str]]:
    if output is None:
        yield sys.stdout
        return
    try:
        with open(output, "w", encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise Mistake(f"{output} cannot be written: {error.strerror}.") from error


def label_lines(learner: Any, chunk: Any) -> Iterator[str]:
    return map(str, learner.predict_chunk(chunk).tolist())


def score_lines(learner: Any, chunk: Any) -> Iterator[str]:
    rows = learner.decision_chunk(chunk).tolist()
    return ("\t".join(map(repr, row)) if isinstance(row, list) else repr(row) for row in rows)


def json_lines(learner: Any, chunk: Any) -> Iterator[str]:
    from aggro.cli.scoring import task_of

    labels = learner.predict_chunk(chunk).tolist()
    task = task_of(learner)
    if task == "regression":
        yield from (json.dumps({"value": label}) for label in labels)
        return
    scored = zip(labels, learner.decision_chunk(chunk).tolist(), strict=True)
    if task == "outlier":
        yield from (json.dumps({"label": label, "score": score}) for label, score in scored)
        return
    names = [str(name) for name in learner.classes_.tolist()]
    for label, score in scored:
        scores = zip(names, score, strict=True) if isinstance(score, list) else [(names[-1], score)]
        yield json.dumps({"label": label, "scores": dict(scores)}, ensure_ascii=False)
