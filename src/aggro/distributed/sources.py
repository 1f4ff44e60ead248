"""The partitions of data of all kinds: files, Dask arrays, dataframes and bags.

A source says how the rows of one partition are learned. What it needs of a Dask collection comes as pieces, which the
scheduler brings when the partition is learned, and lets go afterwards.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from aggro.learners.base.inside import task_of
from aggro.streams import Chunk


class Source(NamedTuple):
    """One partition: what it is called, what tells it apart, how its chunks come, and the pieces they are made of."""

    title: str
    key: str
    chunks: Callable[..., Iterable[Any]]  # (*pieces) -> chunks, as learners take them
    pieces: tuple[Any, ...] = ()


class Pairs(NamedTuple):
    """Rows one by one, as a bag has them."""

    X: list[Any]
    y: list[Any] | None
    weight: list[float] | None

    @property
    def n_rows(self) -> int:
        """How many."""
        return len(self.X)

    def some(self, rows: slice) -> Pairs:
        """These rows of it."""
        return Pairs(*(None if part is None else part[rows] for part in self))  # type: ignore[arg-type]


def sources_of(data: Any, target: Any = None, sample_weight: Any = None, **reading: Any) -> list[Source]:
    """The partitions of any data that ``fit`` takes."""
    # By the name of the module, so that Dask is not imported for files.
    kind = type(data).__module__.partition(".")[0]
    if isinstance(data, str | os.PathLike) or _all(data, str | os.PathLike):
        _no_target(target, sample_weight)
        from aggro.streams import partitions

        return [of_file(one) for one in partitions(data, **reading)]
    # Partitions that are open()ed by the workers carry their own way of reading.
    if isinstance(data, list | tuple) and data and all(hasattr(one, "open") for one in data):
        _no_target(target, sample_weight)
        # An option without effect is a mistake.
        if reading:
            raise TypeError(f"{next(iter(reading))}= has no effect on partitions that exist already. Leave it out.")
        return [of_file(one) for one in data]
    if reading:
        raise TypeError(f"{next(iter(reading))}= is for files, and the data are a {type(data).__name__}. Leave it out.")
    if kind == "dask" and hasattr(data, "to_delayed") and hasattr(data, "chunks"):
        return of_array(data, target, sample_weight)
    if kind.startswith("dask") and hasattr(data, "columns") and hasattr(data, "to_delayed"):
        return of_frame(data, target, sample_weight)
    if kind == "dask" and hasattr(data, "to_delayed"):
        _no_target(target, sample_weight)
        return of_bag(data)
    raise TypeError(
        f"data must be a Dask array, dataframe or bag, or files (a path, a glob, a list of them), got "
        f"{type(data).__name__}. An array in memory becomes one by dask.array.from_array, a frame by "
        "dask.dataframe.from_pandas."
    )


def reading_for(learner: Any, data: Any, reading: Mapping[str, Any]) -> dict[str, Any]:
    """How files are read for this learner: tables raw for one of records, in the way that it has learned."""
    if not hasattr(learner, "new_encoder") or not (
        isinstance(data, str | os.PathLike) or _all(data, str | os.PathLike)
    ):
        return dict(reading)
    labels = {"classification": "classes", "regression": "numbers"}.get(task_of(learner))
    # Columns that the learner knows keep their use in every partition.
    known = {"columns": learner.columns_} if hasattr(learner, "encoder_") and learner.columns_ else {}
    return {"raw": True, "labels": labels, **known, **reading}


def _all(data: Any, kinds: Any) -> bool:
    return isinstance(data, list | tuple) and bool(data) and all(isinstance(one, kinds) for one in data)


def _no_target(target: Any, sample_weight: Any) -> None:
    if target is not None or sample_weight is not None:
        raise TypeError("Rows of files and bags contain their targets. Leave target= and sample_weight= out.")


# Files ---------------------------------------------------------------------------------------------------------


def of_file(partition: Any, change: Callable[[Any], Iterable[Any]] = iter) -> Source:
    """A partition of ``aggro.streams.partitions``; ``change`` is what is made of its stream.

    Its key tells files that are read otherwise apart, too.
    """
    how = partition.how
    # The same file read otherwise gives other rows, so the way of reading is part of the key.
    read = (how.format, how.chunk_bytes, how.skip_bad, how.raw, sorted(how.options.items()))
    return Source(partition.title, f"{partition.key} {read!r}", OpenedFile(partition, change))


class OpenedFile:
    """Chunks of a part of a file, read where they are learned."""

    def __init__(self, partition: Any, change: Callable[[Any], Iterable[Any]]) -> None:
        self.partition, self.change = partition, change
        self.stream: Any = None

    def __call__(self) -> Iterator[Any]:
        """The chunks; ``stream`` is what they are read from."""
        # One thread each: the workers are the parallel part.
        self.stream = self.partition.open(threads=1)
        yield from self.change(self.stream)

    def __reduce__(self) -> tuple[Any, ...]:
        # An open stream does not travel; the copy opens its own.
        return type(self), (self.partition, self.change)


# Collections -----------------------------------------------------------------------------------------------------


def of_array(X: Any, y: Any, weight: Any) -> list[Source]:
    """Blocks of rows of a Dask array, or of one of sparse matrices."""
    if X.ndim != 2:
        raise ValueError(f"X must have two axes, rows and columns, got {X.ndim}.")
    if X.numblocks[1] > 1:
        # A row must be in one block to be learned.
        X = X.rechunk({1: -1})
    rows, width = X.to_delayed().reshape(-1), X.shape[1]
    columns = [_beside(X, given, what) for given, what in ((y, "target"), (weight, "sample_weight"))]
    return [
        Source(
            f"block {k} of the array",
            _key(block, *(c[k] for c in columns)),
            Block(width),
            (block, *(c[k] for c in columns)),
        )
        for k, block in enumerate(rows)
    ]


def _beside(X: Any, given: Any, what: str) -> list[Any]:
    """The blocks of what goes with the rows."""
    if given is None:
        return [None] * X.numblocks[0]
    import dask.array as da

    if isinstance(given, str):
        raise TypeError(f"An array has no column {given!r}: give {what} as an array beside it.")
    # Dask writes NaN for blocks whose lengths it does not know.
    known = not any(np.isnan(n) for n in X.chunks[0])
    if not isinstance(given, da.Array):
        if hasattr(given, "to_dask_array"):
            given = given.to_dask_array()
        elif not known:
            raise ValueError(f"The rows of X are not counted, so {what} must be a Dask array with the same blocks.")
        else:
            # An array in memory is cut like X, whose lengths are known.
            column = np.asarray(given)
            if column.shape[:1] != (sum(X.chunks[0]),):
                raise ValueError(f"X has {sum(X.chunks[0])} rows, and {what} has {len(column)}.")
            given = da.from_array(column, chunks=(X.chunks[0], *column.shape[1:]))
    if given.ndim != 1:
        raise ValueError(f"{what} must have one axis, got {given.ndim}.")
    # Blocks of known lengths can be rechunked; unknown ones can only be compared by number.
    if known and not any(np.isnan(n) for n in given.chunks[0]) and given.chunks[0] != X.chunks[0]:
        if sum(given.chunks[0]) != sum(X.chunks[0]):
            raise ValueError(f"X has {sum(X.chunks[0])} rows, and {what} has {sum(given.chunks[0])}.")
        given = given.rechunk((X.chunks[0],))
    # Blocks are paired by number; lengths that nobody knows are checked when they are learned.
    if given.numblocks[0] != X.numblocks[0]:
        raise ValueError(
            f"X has {X.numblocks[0]} blocks of rows, and {what} has {given.numblocks[0]}. Make them the same."
        )
    return list(given.to_delayed())


def _key(*pieces: Any) -> str:
    """What tells pieces of collections apart."""
    return " ".join(str(getattr(piece, "key", piece)) for piece in pieces)


@dataclass(frozen=True)
class Block:
    """Blocks of so many columns."""

    width: float

    def __call__(self, X: Any, y: Any = None, weight: Any = None) -> list[Chunk]:
        """A block as a chunk."""
        # NaN is not equal to itself: an unknown width is not checked.
        if X.shape[1] != self.width and self.width == self.width:  # NaN if nobody knows
            raise ValueError(f"the block has {X.shape[1]} columns, and the array says {self.width}.")
        return chunk_of_block(X, y, weight)


def chunk_of_block(X: Any, y: Any = None, weight: Any = None) -> list[Chunk]:
    """A block as a chunk."""
    return [Chunk(X, None if y is None else np.asarray(y), None if weight is None else np.asarray(weight, np.float64))]


def of_frame(frame: Any, target: Any, weight: Any) -> list[Source]:
    """Partitions of a Dask dataframe; target and weight are columns of it, by name, or series beside it."""
    # One piece a partition; series beside the frame are paired with it by number.
    pieces = frame.to_delayed()
    series = {}
    for what, given in (("target", target), ("sample_weight", weight)):
        if _is_name(given):
            if given not in frame.columns:
                raise ValueError(f"{what}={given!r} is no column of the frame: there are {list(frame.columns)[:10]}.")
        elif given is not None:
            # The target would be among its own features.
            if getattr(given, "name", None) in frame.columns:
                raise ValueError(
                    f"{given.name!r} would stay among the columns to learn from. Say {what}={given.name!r}."
                )
            if not hasattr(given, "to_delayed") or given.npartitions != frame.npartitions:
                raise ValueError(f"{what} must be the name of a column, or a Dask series with the same partitions.")
            series[what] = given.to_delayed()
    # Columns are taken by name inside the task; series come as pieces.
    of_target, of_weight = (given if _is_name(given) else None for given in (target, weight))
    columns = tuple(frame.columns)
    beside = [
        tuple(series[what][k] if what in series else None for what in ("target", "sample_weight"))
        for k in range(len(pieces))
    ]
    return [
        Source(
            f"partition {k} of the frame",
            f"{_key(piece, *beside[k])} {of_target!r} {of_weight!r}",
            FramePart(of_target, of_weight, columns),
            (piece, *beside[k]),
        )
        for k, piece in enumerate(pieces)
    ]


def _is_name(given: Any) -> bool:
    """Whether it is what a column may be called."""
    return isinstance(given, str | int | tuple)


@dataclass(frozen=True)
class FramePart:
    """Which columns of a frame are the target and the weight, by name."""

    target: Any
    weight: Any
    columns: tuple[Any, ...]  # all that there are, in order

    def __call__(self, frame: Any, y: Any = None, weight: Any = None) -> list[Chunk]:
        """A partition as a chunk."""
        missing = [name for name in self.columns if name not in frame.columns]
        if missing:
            raise ValueError(f"the partition lacks the columns {missing[:5]!r}, which the frame says that it has.")
        # Partitions may have their columns in another order; learners know them by place.
        if tuple(frame.columns) != self.columns:
            frame = frame[list(self.columns)]
        if self.target is not None:
            y = frame[self.target]
        if self.weight is not None:
            weight = frame[self.weight]
        aside = [name for name in (self.target, self.weight) if name is not None]
        rows = frame.drop(columns=aside) if aside else frame
        return [Chunk(rows, y, None if weight is None else np.asarray(weight, np.float64))]


def of_bag(bag: Any) -> list[Source]:
    """Partitions of a bag of (row, target) or (row, target, weight)."""
    return [
        Source(f"partition {k} of the bag", str(piece.key), pairs_of, (piece,))
        for k, piece in enumerate(bag.to_delayed())
    ]


def pairs_of(rows: Iterable[Any]) -> list[Pairs]:
    """A partition of a bag as rows one by one."""
    found = [row if isinstance(row, tuple | list) else (row, None) for row in rows]
    for row in found:
        if not 2 <= len(row) <= 3:
            raise ValueError(f"A row of the bag must be (row, target) or (row, target, weight), got {str(row)[:100]}.")
    if not found:
        return []
    # One row with a weight gives all rows one: 1 for those without.
    weight = [float(row[2]) if len(row) > 2 else 1.0 for row in found] if any(len(row) > 2 for row in found) else None
    return [Pairs([row[0] for row in found], [row[1] for row in found], weight)]


def are_there(labels: Any) -> np.ndarray:
    """Which are labels: not None, NaN or pandas' NA, which is equal to nothing, nor unequal."""
    labels = np.asarray(labels)
    # Integers and texts have no missing values.
    if labels.dtype.kind not in "fO":
        return np.ones(labels.shape[0], bool)
    same = [label is not None and label == label for label in labels]
    # Comparing pandas' NA gives NA, which is no bool: such a label is not there.
    return np.array([isinstance(one, bool | np.bool_) and bool(one) for one in same], bool)


def digest_of(sources: Sequence[Source]) -> str:
    """What tells these partitions apart from others, in their order."""
    import hashlib

    told = hashlib.sha256()
    for source in sources:
        # With the length in front, keys cannot run into one another.
        told.update(f"{len(source.key)} {source.key} ".encode())
    return told.hexdigest()[:32]
