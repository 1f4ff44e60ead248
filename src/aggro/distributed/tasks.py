"""What workers do: learn a partition, take models apart, add them up, put them together.

All of it is deterministic: a task that runs again, since its worker died, gives the same bits.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from aggro.distributed.sources import Pairs, Source, are_there
from aggro.learners.base.combined import settle
from aggro.learners.base.inside import begin_pass, innermost, model_of, prepare, task_of
from aggro.mixing.mixture import Known, Mixture, added_up, finished, has_learned, known_of, taken, union
from aggro.mixing.records import Unsettled

Learners = dict[str, Any]


class Start(NamedTuple):
    """What all partitions begin with, and how many rows of each went into it."""

    learners: Learners
    skipped: dict[int, int]  # by the number of the partition


class Learned(NamedTuple):
    """What became of the start in one partition."""

    learners: Learners
    report: Report


class Report(NamedTuple):
    """What is told of a partition: all but the models."""

    rows: int  # learned here
    bad_lines: int
    left_out: int  # rows without a target
    first_bad: str
    seconds: dict[str, float]  # of each learner, without reading
    more: Any = None  # what else the source has to tell of its rows


def same(value: Any) -> Any:
    """A value as the result of a task, which can be had again."""
    return value


def chunks_of(source: Source, pieces: Sequence[Any], skip: int = 0) -> Iterator[Any]:
    """The chunks of a partition that have rows, after so many rows."""
    for chunk in source.chunks(*pieces):
        n = _rows_in(chunk)
        # Rows that went into the common start have been learned by all.
        if n <= skip:
            skip -= n
            continue
        yield _some(chunk, slice(skip, None)) if skip else chunk
        skip = 0


def _rows_in(chunk: Any) -> int:
    return len(chunk.X) if isinstance(chunk.X, list) or not hasattr(chunk.X, "shape") else int(chunk.X.shape[0])


def _some(chunk: Any, rows: slice) -> Any:
    if hasattr(chunk.X, "iloc"):
        y = chunk.y.iloc[rows] if hasattr(chunk.y, "iloc") else chunk.y[rows] if chunk.y is not None else None
        weight = None if chunk.weight is None else chunk.weight[rows]
        return chunk._replace(X=chunk.X.iloc[rows], y=y, weight=weight)
    return chunk.some(rows)


def learn(learner: Any, chunk: Any) -> None:
    """One chunk, of any kind."""
    if task_of(learner) == "outlier":
        _learn(learner, chunk)
        return
    # Labels are looked at only once learning has failed: checking every chunk would slow all of them down.
    try:
        _learn(learner, chunk)
    except (TypeError, ValueError) as error:
        lacking = 0 if chunk.y is None else int((~are_there(chunk.y)).sum())
        if not lacking:
            raise
        rows = f"{lacking:,} of {_rows_in(chunk):,} rows have" if lacking > 1 else "a row has"
        raise ValueError(f"{rows} no label. Leave such rows out first, as aggro train does.") from error


def _learn(learner: Any, chunk: Any) -> None:
    if not isinstance(chunk, Pairs) or hasattr(learner, "new_encoder"):
        learner.learn_chunk(chunk)
        return
    targets = chunk.y if chunk.y is not None else [None] * len(chunk.X)
    for k, (row, target) in enumerate(zip(chunk.X, targets, strict=True)):
        # Detectors have no target.
        told = () if target is None else (target,)
        learner.learn_one(row, *told, weight=1.0 if chunk.weight is None else chunk.weight[k])


def begin_together(learners: Learners, rows: int, sources: Sequence[Source], *pieces: Any) -> Start:
    """Learn the first rows of the first partitions, in order: the common start of all."""
    learners = copy.deepcopy(learners)
    skipped: dict[int, int] = {}
    left = rows
    for number, source in enumerate(sources):
        # All pieces come in one list, in the order of the sources; each takes its own from the front.
        own, pieces = pieces[: len(source.pieces)], pieces[len(source.pieces) :]
        with _blamed(source):
            for chunk in chunks_of(source, own):
                # Exactly so many rows: the start must not depend on the length of chunks.
                n = min(left, _rows_in(chunk))
                some = _some(chunk, slice(0, n)) if n < _rows_in(chunk) else chunk
                for learner in learners.values():
                    learn(learner, some)
                skipped[number] = skipped.get(number, 0) + n
                left -= n
                if not left:
                    break
        if not left:
            break
    for learner in learners.values():
        settle(innermost(learner))  # rows that wait would be learned by every copy
        if hasattr(learner, "encoder_"):
            learner.encoder_.settle(dict(learner.encoder_.columns))  # each is what it is now, in all copies
    return Start(learners, skipped)


def learn_partition(start: Start, number: int, epoch: int, source: Source, *pieces: Any) -> Learned:
    """One pass over a partition, from the common start."""
    # Every partition begins with the same start, which several tasks of a worker may share.
    learners = copy.deepcopy(start.learners)
    seconds = dict.fromkeys(learners, 0.0)
    for learner in learners.values():
        if (model := model_of(learner)) is not None:
            prepare(innermost(learner), model)  # a copy has no settings yet, and the pass changes them
        begin_pass(learner, epoch)
    rows = 0
    with _blamed(source):
        for chunk in chunks_of(source, pieces, start.skipped.get(number, 0)):
            # Each chunk is read once, for all learners of a sweep.
            for name, learner in learners.items():
                began = time.perf_counter()
                learn(learner, chunk)
                seconds[name] += time.perf_counter() - began
            rows += _rows_in(chunk)
    # What the reader counted is complete only after the last chunk.
    stream = getattr(source.chunks, "stream", None)
    bad, first = getattr(stream, "bad_lines", 0), getattr(stream, "first_bad", None)
    left_out = getattr(source.chunks, "left_out", 0)
    more = getattr(source.chunks, "more", None)
    return Learned(learners, Report(rows, bad, left_out, str(first or ""), seconds, more))


class _blamed:
    """What goes wrong inside is wrong with this partition, unless the error says so itself."""

    def __init__(self, source: Source) -> None:
        self.title = source.title

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        # Exactly these types: a subclass may need other arguments, and says more by itself.
        if type(error) in (ValueError, TypeError) and not getattr(error, "told", False):
            said = type(error)(f"{self.title}: {error}")
            said.told = True  # type: ignore[attr-defined]
            raise said from error


def report_of(learned: Learned) -> Report:
    """What is told of a partition."""
    return learned.report


def knowledge_of(learned: Learned, start: Start) -> dict[str, Known | None]:
    """What each learner knows; None if it has learned nothing here."""
    return {
        name: known_of(learner, start.learners[name]) if has_learned(learner, start.learners[name]) else None
        for name, learner in learned.learners.items()
    }


def unite(start: Start, knowledge: Sequence[dict[str, Known | None]]) -> dict[str, Known] | Unsettled:
    """What all partitions know together; or what the start must know before they learn again."""
    found = {}
    for name, learner in start.learners.items():
        own = [part[name] for part in knowledge]
        try:
            found[name] = union(known_of(learner, learner), [one for one in own if one is not None])
        except Unsettled as new:
            return new
    return found


def mix_some(start: Start, known: dict[str, Known], mix: str, learned: Sequence[Learned]) -> dict[str, Mixture | None]:
    """Some partitions' models, added up."""
    sums: dict[str, Mixture | None] = {}
    for name, base in start.learners.items():
        own = [one.learners[name] for one in learned if has_learned(one.learners[name], base)]
        # Copies, since taking apart settles what waits.
        own = [copy.deepcopy(one) for one in own]  # another task may have the same
        sums[name] = added_up([taken(one, base, known[name], mix) for one in own]) if own else None
    return sums


def add_some(mixtures: Sequence[dict[str, Mixture | None]]) -> dict[str, Mixture | None]:
    """Mixtures, added up."""
    found: dict[str, Mixture | None] = {}
    for name in mixtures[0]:
        own = [part for one in mixtures if (part := one[name]) is not None]
        found[name] = added_up(own) if own else None
    return found


def finish(start: Start, known: dict[str, Known], mixture: dict[str, Mixture | None]) -> Learners:
    """The learners that the mixtures come to."""
    return {
        # A learner that learned nothing in any partition is the start.
        name: copy.deepcopy(base) if (mixed := mixture[name]) is None else finished(mixed, base, known[name])
        for name, base in start.learners.items()
    }


def alone(learned: Learned) -> Learners:
    """The learners of the only partition that has rows."""
    return learned.learners
