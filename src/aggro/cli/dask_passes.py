"""A run of ``aggro train --dask``: partitions are learned side by side, and the models mixed after each pass."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from aggro.cli.checkpoints import Checkpoints, Place
from aggro.cli.cluster import connected
from aggro.cli.passes import Run


class DaskRun(Run):
    """The passes over the partitions."""

    def __init__(
        self,
        stream: Any,
        learner: Any,
        passes: int,
        checkpoints: Checkpoints,
        *,
        where: str,
        partition_bytes: int,
        mix: str,
        plugins: Sequence[str],
    ) -> None:
        super().__init__(stream, learner, passes, checkpoints)
        self.where, self.partition_bytes, self.mix, self.plugins = where, partition_bytes, mix, plugins
        self.partitions = self.workers = 0

    def _all_passes(self, lines: Any) -> None:
        from aggro.cli.partitioned import blaming_the_cluster, cut_line, partitions_of
        from aggro.cli.progress_lines import counts
        from aggro.distributed.executors import OnDask
        from aggro.distributed.training import Run as Mixing

        before = counts(self.learner)
        # The partitions are cut before workers are asked for: what is wrong with the data is said at once.
        sources = partitions_of(self.stream, self.task, self.partition_bytes, before.rows)
        self.partitions = len(sources)
        for line in cut_line(self.stream, self.partition_bytes):
            lines.say(line)
        lines.advance(None, "asking for workers")
        with connected(self.where, self.plugins) as client, blaming_the_cluster(self.checkpoints.left):
            executor = OnDask(client)
            # Workers may come later; those that are there now are said.
            self.workers = len(client.nthreads())
            lines.say(where_line(self.partitions, self.workers))
            # The clock starts when there is something to learn, and leaves out rows that a resumed run had.
            self._began, self._warm = time.perf_counter(), (time.perf_counter(), before.rows)
            # The mixing goes on with the learner itself, not with a fresh one.
            mixing = Mixing({"": self.learner}, sources, self.passes, self.mix, executor, fresh=False)
            mixing.done = self.place.passes
            mixing.progress = Watch(self, mixing, lines, before)
            mixing.learn()
            self.workers = max(self.workers, len(client.nthreads()))

    def keep_pass(self, learner: Any, done: int, reports: Sequence[Any]) -> None:
        """A pass is done, which is what a checkpoint holds on Dask."""
        from aggro.cli.partitioned import order_in
        from aggro.cli.reading import check_label
        from aggro.streams import Position

        # Sortedness is known only when all partitions are done.
        order = order_in(reports)
        check_label(order, self.stream)
        self.order = order if order.is_sorted else None
        bad, unlabelled = sum(one.bad_lines for one in reports), sum(one.left_out for one in reports)
        # A checkpoint on Dask is a whole pass, so there is no place inside of it.
        self.place = Place(done, Position() if done < self.passes else None, bad, unlabelled)
        if done < self.passes:
            self.checkpoints.keep(learner, self.place)  # the last is saved when all is done

    def first_look(self, learner: Any) -> list[str]:
        """What the first rows tell of a table, now that there is a model: whether one column dominates."""
        from aggro.cli.reading import Rows
        from aggro.cli.table_report import dominating

        # Once for a run, and only tables have columns that can dominate.
        if not self.stream.raw or self._looked:
            return []
        self._looked = True
        first = next((chunk for chunk in Rows(self.stream, self.task, count=False) if chunk.n_rows), None)
        return [] if first is None else dominating(learner, first.X)

    def result(self) -> dict[str, Any]:
        """What came of it, for JSON."""
        return {**super().result(), "partitions": self.partitions, "workers": self.workers}


class Watch:
    """Is told how far a run on partitions is, says so, and keeps what a pass came to."""

    def __init__(self, run: DaskRun, mixing: Any, lines: Any, before: Any) -> None:
        self.run, self.mixing, self.lines, self.before = run, mixing, lines, before

    def __call__(self, now: Any) -> None:
        """A partition is done, or a pass."""
        from aggro.cli.progress_lines import counts
        from aggro.learners.base.inside import model_of

        # No learners: a partition is done, but not yet a pass.
        if now.learners is None:
            self.lines.parts(*how_far(now))
            return
        (learner,) = now.learners.values()
        if model_of(learner) is None:
            return  # there was no row
        after = counts(learner)
        # Each pass is reported by its difference to the one before.
        self.lines.passed(self.before, after)
        self.before = after
        for line in self.run.first_look(learner):
            self.lines.say(line)
        self.run.keep_pass(learner, now.epoch + 1, self.mixing.reports[-1])


def how_far(now: Any) -> tuple[float, str]:
    """The share of all passes that is done, and how to say it."""
    of = f", pass {now.epoch + 1} of {now.passes}" if now.passes > 1 else ""
    said = f"{now.done:,} of {now.partitions:,} partitions, {now.rows:,} rows{of}"
    return (now.epoch + now.done / now.partitions) / now.passes, said


def where_line(partitions: int, workers: int) -> str:
    """Who learns what."""
    pieces = f"{partitions:,} partition{'s' * (partitions != 1)}"
    if not workers:
        return f"Learning {pieces}. Waiting for workers …"
    return f"Learning {pieces} on {workers:,} worker{'s' * (workers != 1)}."
