"""A run of ``aggro train`` in this process: passes over the data, checkpoints, and what came of it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from aggro.cli.checkpoints import Checkpoints, Place
from aggro.cli.console import Mistake
from aggro.cli.model_files import save_model
from aggro.cli.options import Reading
from aggro.learners.base.inside import begin_pass, innermost, model_of, parameters_of


class Saved:
    """Saves the model meanwhile, each time so many rows more are learned and a chunk ends."""

    def __init__(self, model: Path, every: int | None, reading: Reading) -> None:
        self.model, self.every, self.reading, self.rows = model, every, reading, 0

    def take(self, learner: Any) -> None:
        """Save, if enough was learned since the last time."""
        # Counted in rows learned, as in checkpoints.
        if self.every is not None and learner.n_seen_ - self.rows >= self.every:
            save_model(learner, self.model, self.reading.for_later())
            self.rows = learner.n_seen_


class Run:
    """The passes over the data."""

    def __init__(
        self, stream: Any, learner: Any, passes: int, checkpoints: Checkpoints, saved: Saved | None = None
    ) -> None:
        from aggro.cli.reading import blaming_the_data
        from aggro.cli.scoring import task_of

        self.stream, self.learner, self.passes, self.checkpoints = stream, learner, passes, checkpoints
        self.saved = saved
        self.task = task_of(learner)
        self.place = Place()
        self.seconds = self._began = 0.0
        self.order: Any = None  # of the labels, if they come sorted
        self.labels: Any = {}  # how often each class came
        self._warm: tuple[float, int] | None = None  # when the first chunk was learned, and the rows by then
        self._rate: float | None = None
        self._looked = False  # at the first rows, whether one column dominates
        with blaming_the_data():  # which may be damaged
            self.sizes = sizes_of(stream.sources)

    def resume(self) -> None:
        """Go on from the checkpoint, if there is one."""
        found = self.checkpoints.resume(self.learner)
        if found is not None:
            self.learner, self.place = found

    def learn(self) -> None:
        """All passes that are left, and what there is to say of them."""
        from aggro.cli.progress_lines import ledger
        from aggro.cli.table_report import how_it_is_read, rare_classes, what_turned_out
        from aggro.cli.tasks import task_lines

        # The clock starts here: opening the data is left out.
        self._began = time.perf_counter()
        with ledger(self.task) as lines:
            # A resumed run has said this before.
            if self.place.stream is None:
                for line in how_it_is_read(self.stream) if self.stream.raw else ():
                    lines.say(line)
                for line in task_lines(self.stream, self.task):
                    lines.say(line)
            # Nothing to learn: only saving and testing are left.
            if self.place.passes == self.passes:
                lines.say(f"Continuing after {self.learner.n_seen_:,} rows, which is all of them.")
                return
            if self.place.stream is not None:
                lines.say(f"Continuing after {self.learner.n_seen_:,} rows, in pass {self.place.passes + 1}.")
            self._all_passes(lines)
            # Not a single row: the file is probably the wrong one.
            if model_of(self.learner) is None:
                raise Mistake(f"{self.stream.sources[0].title}: there are no rows to learn from. Is it the right file?")
            if hasattr(self.learner, "flush"):
                self.learner.flush()  # the data end here, as they do in fit
            # Kept before the model is written: a stop in between does not learn again.
            self.checkpoints.keep(self.learner, self.place)
            lines.close(self.learner)
            if self.order is not None:
                lines.say(self.order.warning())
            for line in rare_classes(self.labels) if self.task == "classification" else ():
                lines.say(line)
            for line in what_turned_out(self.learner) if self.stream.raw else ():
                lines.say(line)
        end = time.perf_counter()
        self.seconds = end - self._began
        # The rate leaves out the first chunk, in which kernels are loaded.
        if self._warm is not None and self.learner.n_seen_ > self._warm[1]:
            self._rate = (self.learner.n_seen_ - self._warm[1]) / max(end - self._warm[0], 1e-9)

    def _all_passes(self, lines: Any) -> None:
        # Tables are read by the threads with the encoder's layout, which is settled by then.
        if self.stream.raw:
            self.stream.prepare = self.learner.encoder_.reader()
        for number in range(self.place.passes, self.passes):
            self._one_pass(number, lines)

    def _one_pass(self, number: int, lines: Any) -> None:
        from aggro.cli.progress_lines import counts
        from aggro.cli.reading import Rows
        from aggro.cli.table_report import dominating
        from aggro.evaluate.validation import blocks
        from aggro.streams import Position

        # Only a pass that was interrupted goes on with its counts.
        before = self.place if self.place.stream is not None else Place()  # what is left out is counted in each pass
        self.stream.start = before.stream or Position()
        rows = Rows(self.stream, self.task)
        begin_pass(self.learner, number)
        for chunk in rows:
            # Blocks end at powers of two, at which the progress has its lines.
            for block in blocks(chunk, counts(self.learner).rows):
                with rows.learned_from():
                    self.learner.learn_chunk(block)
                lines.note(self.learner)
            # The place is that after the chunk, and belongs to the learner as it is now.
            self.place = Place(
                number, chunk.position, before.bad_lines + self.stream.bad_lines, before.unlabelled + rows.unlabelled
            )
            # After the first chunk: a column that dominates shows in its rows.
            if self.stream.raw and not self._looked and chunk.n_rows:
                self._looked = True
                for line in dominating(self.learner, chunk.X):
                    lines.say(line)
            if model_of(self.learner) is not None:
                # The first chunk warms up; the rate is counted from its end.
                self._warm = self._warm or (time.perf_counter(), self.learner.n_seen_)
                self.checkpoints.take(self.learner, self.place)
                if self.saved is not None:
                    self.saved.take(self.learner)
                lines.advance(self._share(number, chunk.position), self._what(number))
        if rows.order.is_sorted:
            self.order = rows.order
        self.labels = rows.order.counts
        self.place = Place(
            number + 1, None, before.bad_lines + self.stream.bad_lines, before.unlabelled + rows.unlabelled
        )

    def _share(self, number: int, at: Any) -> float | None:
        """How much of all passes is done, where the sizes of the files tell."""
        # Positions count decompressed bytes, which say nothing where sizes are of packed ones.
        if self.sizes is None or not at.offset:
            return None
        share: float = (sum(self.sizes[: at.file]) + at.offset) / sum(self.sizes)
        return (number + share) / self.passes

    def _what(self, number: int) -> str:
        of = f", pass {number + 1} of {self.passes}" if self.passes > 1 else ""
        return f"{self.learner.n_seen_:,} rows{of}"

    def result(self) -> dict[str, Any]:
        """What came of it, for JSON."""
        from aggro.cli.progress_lines import candidates_in, counts, drift_of
        from aggro.cli.table_report import columns_of, missing_in

        learner, inner, now = self.learner, innermost(self.learner), counts(self.learner)
        columns = columns_of(learner)
        classifies, detects = self.task == "classification", self.task == "outlier"
        return {
            "learner": type(inner).__name__,
            "task": self.task,
            "parameters": parameters_of(inner),
            "rows": now.rows,
            "passes": self.passes,
            "mean_loss": now.mean_loss,
            **({"mistakes": now.mistakes, "error": now.error} if classifies else {}),
            **({"outside": now.mistakes, "share_outside": now.error} if detects else {}),
            "updates": now.updates,
            **drift_of(inner),
            **candidates_in(inner),
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
