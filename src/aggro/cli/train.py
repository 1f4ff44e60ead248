"""``aggro train``: learn from files in one pass, or several, and save the model."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from aggro.cli.checkpoints import ENDING, Checkpoints, Place
from aggro.cli.console import Mistake, facts, json_text, kept, listed
from aggro.cli.help import complete_learners, complete_settings
from aggro.cli.learner_spec import OF_RECORDS, make_learner, records_around, spelled, split_settings
from aggro.cli.model_files import load_to_read, save_model
from aggro.cli.options import Data, Json, Plugins, Reading, reads_data
from aggro.cli.outputs import MODEL, Reads, Writes
from aggro.learners.shared.inside import begin_pass, innermost, model_of, parameters_of

LEFT_OUT = {"bad_lines": "malformed line(s)", "unlabelled": "row(s) without a label"}


@reads_data
def train(
    data: Data,
    *,
    model: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Where to save the model."),
        Writes(MODEL, beside={ENDING: MODEL}, over=("from_",), held=True),
    ],
    learner: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", autocompletion=complete_learners, help="One of those below.  [default: PAClassifier]"
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", autocompletion=complete_settings, help="A parameter of it; repeatable."
        ),
    ] = None,
    from_: Annotated[
        Path | None,
        typer.Option("--from", metavar="MODEL", help="Go on from this model instead of a new learner."),
        Reads(),
    ] = None,
    passes: Annotated[int, typer.Option(min=1, metavar="N", help="How often to go over the data.")] = 1,
    test: Annotated[
        list[str] | None,
        typer.Option(metavar="DATA", help="Test the model on these afterwards; repeatable."),
        Reads(data=True),
    ] = None,
    checkpoint: Annotated[
        int | None, typer.Option(min=1, metavar="ROWS", help="Save model and place in the data every so many rows.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint, if there is one.")] = False,
    plugin: Plugins = None,
    as_json: Json = False,
    reading: Reading,
) -> None:
    """Learn from files, in constant memory, and save the model.

    Progress goes to stderr, a line at each power of two of rows: their mean loss, the mean since the line
    before, and the share predicted wrongly before it was learned.
    """
    new, reading = starting_learner(learner, set_ or [], from_, reading)
    from aggro.cli.reading import blaming_the_data, open_data, open_known, read_again
    from aggro.cli.scoring import evaluate, task_of
    from aggro.cli.table_report import check_classes, check_usable

    task = task_of(new)
    stream = open_data(data, reading, task=task) if from_ is None else open_known(data, reading, new, task=task)
    if from_ is None:
        new = for_data(new, stream, reading)
    elif stream.raw:
        with blaming_the_data():
            check_usable(stream)
    if not read_again(stream):
        for said, what in ((checkpoint, "--checkpoint"), (resume, "--resume"), (passes > 1, "--passes")):
            if said:
                raise Mistake(f"{what} needs data that can be read again: save {stream.sources[0].title} as a file.")
    if resume and checkpoint is None:
        raise Mistake("--resume goes with --checkpoint: give the command that was stopped, and --resume.")
    if test:
        open_data(test, reading, task=task)  # a mistake there should not cost the training
    checkpoints = Checkpoints(model, checkpoint, stream, passes, reading, from_)
    run = Run(stream, new, passes, checkpoints)
    with kept(checkpoints.left):
        if resume:
            run.resume()
        elif checkpoint is not None:
            checkpoints.forget()
        run.learn()
        check_classes(run.learner, stream, task)
        save_model(run.learner, model, reading.for_later())
        checkpoints.saved = True
        tested = evaluate(run.learner, test, reading) if test else None
        result = {"model": str(model), **run.result(), "test": tested}
        for line in tested["notes"] if tested else ():
            print(line, file=sys.stderr)
        print(json_text(result, indent=2) if as_json else summary(result))
        sys.stdout.flush()
        checkpoints.forget()  # not before all is said: until then, the same command must not learn the rows again


def starting_learner(
    name: str | None, settings: list[str], model: Path | None, reading: Reading
) -> tuple[Any, Reading]:
    """A new learner, or one that goes on and brings along how its data were read."""
    if model is None:
        own, of_records = split_settings(name or "PAClassifier", settings)
        learner = make_learner(name or "PAClassifier", own)
        return (records_around(learner, of_records) if of_records else learner), reading
    if name or settings:
        raise Mistake("--from brings its learner and parameters along: leave --learner and --set out.")
    return load_to_read(model, reading)


def for_data(learner: Any, stream: Any, reading: Reading) -> Any:
    """The learner as this stream needs it: tables are read by an encoder that is kept with the model."""
    if not stream.raw:
        if hasattr(learner, "estimator"):
            raise Mistake(f"{stream.sources[0].title} is no table: leave --set {', '.join(OF_RECORDS)} out.")
        return learner
    learner = learner if hasattr(learner, "estimator") else records_around(learner, [])
    from aggro.cli.reading import blaming_the_data
    from aggro.cli.table_report import check_usable

    learner.na = list(reading.settings().get("na", ())) or None
    with blaming_the_data():
        columns = stream.columns
        check_usable(stream)
        return learner.settle(columns)


class Run:
    """The passes over the data."""

    def __init__(self, stream: Any, learner: Any, passes: int, checkpoints: Checkpoints) -> None:
        from aggro.cli.scoring import task_of

        self.stream, self.learner, self.passes, self.checkpoints = stream, learner, passes, checkpoints
        self.task = task_of(learner)
        self.place = Place()
        self.seconds = 0.0
        self.order: Any = None  # of the labels, if they come sorted
        self._warm: tuple[float, int] | None = None  # when the first chunk was learned, and the rows by then
        self._rate: float | None = None
        self._looked = False  # at the first rows, whether one column dominates
        self.sizes = sizes_of(stream.sources)

    def resume(self) -> None:
        found = self.checkpoints.resume(self.learner)
        if found is not None:
            self.learner, self.place = found

    def learn(self) -> None:
        from aggro.cli.progress_lines import ledger
        from aggro.cli.table_report import how_it_is_read, what_turned_out

        start = time.perf_counter()
        if self.stream.raw:
            self.stream.prepare = self.learner.encoder_.reader()
        with ledger(self.task) as lines:
            for line in how_it_is_read(self.stream) if self.stream.raw and self.place.stream is None else ():
                lines.say(line)
            if self.place.passes == self.passes:
                lines.say(f"Going on after {self.learner.n_seen_:,} rows, which are all.")
                return
            if self.place.stream is not None:
                lines.say(f"Going on after {self.learner.n_seen_:,} rows, in pass {self.place.passes + 1}.")
            for number in range(self.place.passes, self.passes):
                self._one_pass(number, lines)
            if model_of(self.learner) is None:
                raise Mistake(f"{self.stream.sources[0].title}: there is no row to learn from.")
            if hasattr(self.learner, "flush"):
                self.learner.flush()  # the data end here, as they do in fit
            self.checkpoints.finish(self.learner, self.place)
            lines.close(self.learner)
            if self.order is not None:
                lines.say(self.order.warning())
            for line in what_turned_out(self.learner) if self.stream.raw else ():
                lines.say(line)
        end = time.perf_counter()
        self.seconds = end - start
        if self._warm is not None and self.learner.n_seen_ > self._warm[1]:
            self._rate = (self.learner.n_seen_ - self._warm[1]) / max(end - self._warm[0], 1e-9)

    def _one_pass(self, number: int, lines: Any) -> None:
        from aggro.cli.progress_lines import counts
        from aggro.cli.reading import Rows
        from aggro.cli.table_report import dominating
        from aggro.evaluate.validation import blocks
        from aggro.streams import Position

        before = self.place if self.place.stream is not None else Place()  # what is left out is counted in each pass
        self.stream.start = before.stream or Position()
        rows = Rows(self.stream, self.task)
        begin_pass(self.learner, number)
        for chunk in rows:
            for block in blocks(chunk, counts(self.learner).rows):
                with rows.learned_from():
                    self.learner.learn_chunk(block)
                lines.note(self.learner)
            self.place = Place(
                number, chunk.position, before.bad_lines + self.stream.bad_lines, before.unlabelled + rows.unlabelled
            )
            if self.stream.raw and not self._looked and chunk.n_rows:
                self._looked = True
                for line in dominating(self.learner, chunk.X):
                    lines.say(line)
            if model_of(self.learner) is not None:
                self._warm = self._warm or (time.perf_counter(), self.learner.n_seen_)
                self.checkpoints.take(self.learner, self.place)
                lines.advance(self._share(number, chunk.position), self._what(number))
        if rows.order.is_sorted:
            self.order = rows.order
        self.place = Place(
            number + 1, None, before.bad_lines + self.stream.bad_lines, before.unlabelled + rows.unlabelled
        )

    def _share(self, number: int, at: Any) -> float | None:
        """How much of all passes is done, where the sizes of the files tell."""
        if self.sizes is None or not at.offset:
            return None
        share: float = (sum(self.sizes[: at.file]) + at.offset) / sum(self.sizes)
        return (number + share) / self.passes

    def _what(self, number: int) -> str:
        of = f", pass {number + 1} of {self.passes}" if self.passes > 1 else ""
        return f"{self.learner.n_seen_:,} rows{of}"

    def result(self) -> dict[str, Any]:
        from aggro.cli.progress_lines import counts, drift_of
        from aggro.cli.table_report import columns_of, missing_in

        learner, inner, now = self.learner, innermost(self.learner), counts(self.learner)
        columns = columns_of(learner)
        classifies, detects = self.task == "classification", self.task == "outlier"
        return {
            "learner": type(inner).__name__,
            "parameters": parameters_of(inner),
            "rows": now.rows,
            "passes": self.passes,
            "mean_loss": now.mean_loss,
            **({"mistakes": now.mistakes, "error": now.error} if classifies else {}),
            **({"outside": now.mistakes, "share_outside": now.error} if detects else {}),
            "updates": now.updates,
            **drift_of(inner),
            "features": inner.n_features_in_,
            **(
                {"columns": columns, "strays": learner.strays_, "missing": missing_in(learner.encoder_)}
                if columns is not None
                else {}
            ),
            **({"offset": learner.offset_} if detects else {}),
            **({"classes": learner.classes_.tolist()} if classifies else {}),
            **({"sorted_labels": self.order is not None} if classifies else {}),
            "bad_lines": self.place.bad_lines,
            "unlabelled": self.place.unlabelled,
            "seconds": self.seconds,
            "rows_per_second": self._rate,  # after the first chunk, when kernels are loaded; None if there was one
        }


def sizes_of(sources: list[Any]) -> list[int] | None:
    """The files' sizes; None where positions do not count the bytes on the disk, as in compressed files."""
    if not all(os.path.isfile(source.name) and source.is_plain() for source in sources):
        return None
    return [os.path.getsize(source.name) for source in sources]


def summary(result: dict[str, Any]) -> str:
    """The result for people."""
    from aggro.cli.progress_lines import drift_line
    from aggro.cli.table_report import columns_line

    rows = result["rows"]
    passes = f" in {result['passes']} passes" if result["passes"] > 1 else ""
    rate = f" ({result['rows_per_second']:,.0f} a second after the start)" if result["rows_per_second"] else ""
    lines = {
        "learner": spelled(result["learner"], result["parameters"]),
        "rows": f"{rows:,}{passes}, {result['seconds']:.2f} s{rate}",
        "mean loss": f"{result['mean_loss']:.6g}",
    }
    if "error" in result:
        lines["mistakes"] = f"{result['mistakes']:,} ({result['error']:.2%}), before each row was learned"
    if "outside" in result:
        lines["outside"] = f"{result['outside']:,} ({result['share_outside']:.2%}), before each row was learned"
    lines["updates"] = f"{result['updates']:,} ({result['updates'] / rows:.2%})"
    if drift := drift_line(result):
        lines["drift"] = drift
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
    name = ", ".join(os.path.basename(path) for path in test["data"])
    if not test["rows"]:
        return f"{name} has no rows"
    if "error" in test:
        return f"{test['error']:.2%} error on the {test['rows']:,} rows of {name}"
    if "outside" in test:
        return f"{test['share_outside']:.2%} outside of the {test['rows']:,} rows of {name}"
    r2 = "undefined" if test["r2"] is None else f"{test['r2']:.4f}"
    return f"R² {r2}, mean absolute error {test['mae']:.6g} on the {test['rows']:,} rows of {name}"
