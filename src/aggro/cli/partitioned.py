"""Data in partitions, each read by whoever learns it, with labels put in order as in one piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from aggro.cli.console import Mistake
from aggro.cli.reading import LabelOrder, Rows, blaming_the_data
from aggro.evaluate.validation import blocks

if TYPE_CHECKING:
    from aggro.distributed.sources import Source
    from aggro.distributed.tasks import Report
    from aggro.streams import Chunk, Stream


CLASS_CHECK_ROWS = 10_000  # of a partition: whether there are too many classes is known when all of them are counted


class Labelled:
    """The rows of a partition, as commands learn them. It goes to a worker, and is read there.

    They come in the pieces in which a run in one process would learn them, after the rows that the learner has
    ``learned`` before: that tells in how much room a model reserves, and in nothing else.
    """

    few: int | None = CLASS_CHECK_ROWS

    def __init__(self, open: Callable[[], Stream], task: str, learned: int = 0) -> None:
        self.open, self.task, self.learned = open, task, learned
        self.stream: Stream | None = None
        self.rows: Rows | None = None

    def __call__(self) -> Iterator[Chunk]:
        """The chunks."""
        # Opened where it is read: on a worker, from the options alone.
        with blaming_the_data():
            self.stream = self.open()
        self.rows, seen = Rows(self.stream, self.task, few=self.few), self.learned
        for chunk in self.rows:
            # The same blocks as in one process, or the room that a model reserves would differ.
            for block in blocks(chunk, seen):
                yield block
                seen += block.n_rows

    @property
    def left_out(self) -> int:
        """Rows without a label, of those that were read."""
        return 0 if self.rows is None else self.rows.unlabelled

    @property
    def more(self) -> LabelOrder | None:
        """The order of the labels that were read."""
        return None if self.rows is None else self.rows.order

    def __reduce__(self) -> tuple[Any, ...]:
        # Only what opens it travels; the stream stays where it was read.
        return type(self), (self.open, self.task, self.learned)


def partitions_of(stream: Stream, task: str, partition_bytes: int, learned: int = 0) -> list[Source]:
    """The partitions of what a stream reads, each read as the stream would."""
    from aggro.distributed.sources import Source
    from aggro.streams import partitions

    with blaming_the_data():
        # The options of the stream that was looked at, so that the partitions are read as it is.
        parts = partitions(
            stream.files,
            partition_bytes=partition_bytes,
            format=stream.format,
            chunk_bytes=stream.chunk_bytes,
            skip_bad=stream.skip_bad,
            cells=stream.cells,
            raw=stream.raw,
            **stream.options,
        )
    return [Source(part.title, part.key, Labelled(part.open, task, learned)) for part in parts]


def cut_line(stream: Stream, partition_bytes: int) -> list[str]:
    """That partitions are much larger than was asked for, if they are."""
    # A partition is a multiple of a chunk, so this matters only if much less was asked for.
    if 2 * partition_bytes > stream.chunk_bytes:
        return []
    return [
        f"Note: files are cut between pieces of {stream.chunk_bytes:,} bytes, so no partition is smaller than that but "
        "the last of a file."
    ]


def in_one_piece(stream: Stream, task: str, tell: Callable[[int], None]) -> list[Source]:
    """All that a stream reads, as one partition, for this process alone; ``tell`` hears how many rows are learned."""
    from aggro.distributed.sources import Source

    title = stream.sources[0].title
    return [Source(title, title, Told(lambda: stream, task, tell))]


class Told(Labelled):
    """Labelled chunks of a stream that report progress: after each chunk, ``tell`` is called with the rows so far."""

    few = None

    def __init__(self, open: Callable[[], Stream], task: str, tell: Callable[[int], None]) -> None:
        super().__init__(open, task)
        self.tell = tell

    def __call__(self) -> Iterator[Chunk]:
        """The chunks."""
        rows = 0
        # Told after the block was learned: the caller asks for the next one then.
        for block in super().__call__():
            yield block
            rows += block.n_rows
            self.tell(rows)


@contextmanager
def blaming_the_cluster(kept: Callable[[], str]) -> Iterator[None]:
    """What goes wrong inside, here or on a worker, in one line; ``kept`` is what is left if the cluster is lost."""
    from aggro.distributed.executors import ClusterLost

    try:
        with blaming_the_data():
            yield
    except ClusterLost as error:
        lost = error.__cause__ if isinstance(error.__cause__, ClusterLost) else error  # without what Python would keep
        raise Mistake(f"{lost} {kept()}") from error
    except RuntimeError as error:  # of a worker: another version of something, or a package that is not there
        raise Mistake(f"--dask: {' '.join(str(error).split()) or type(error).__name__}") from error


def order_in(reports: Sequence[Report]) -> LabelOrder:
    """The order of all labels, partition after partition."""
    order = LabelOrder()
    for report in reports:
        # In the order of the partitions, which is that of the data.
        order = order.then(report.more or LabelOrder())
    return order
