"""Iterative parameter mixing: each partition learns a pass from the mixed model, the models are combined, and again.

    start ──► partition 1 ──► model ─┐
          ──► partition 2 ──► model ─┤ eights are added up, in a tree ──► mixed model ──► the next pass
          ──► …                      ┘

The result depends on the partitions and their order alone: not on the workers, nor on who had what, nor on which of
them ended first (``mixing.exact_sums``). One partition gives what learning without a cluster gives, to the bit.

What must be the same in all models before they go apart (a kernel's γ, random features, the columns of a table) is
settled by a common start: the first rows of the first partition, which are not learned again in that pass.

References
----------
R. McDonald, K. Hall, G. Mann. Distributed training strategies for the structured perceptron. 2010.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from aggro.distributed.executors import ClusterLost, Executor, executor_for
from aggro.distributed.sources import Source, digest_of, reading_for, sources_of
from aggro.distributed.tasks import (
    Learners,
    Report,
    Start,
    add_some,
    alone,
    begin_together,
    finish,
    knowledge_of,
    learn_partition,
    mix_some,
    report_of,
    same,
    unite,
)
from aggro.learners.base.combined import blank, common_start, seed_for, settle
from aggro.learners.base.inside import give_model, innermost, model_of, settings_of
from aggro.mixing.mixture import MIXES_BY, check_is_one, mix_of
from aggro.mixing.records import Unsettled

MERGED_TOGETHER = 8  # models that a task adds up


class Progress(NamedTuple):
    """The progress of a run: passes, partitions and rows done so far."""

    epoch: int  # the pass, from 0
    passes: int
    done: int  # partitions of this pass
    partitions: int
    rows: int  # learned in this pass
    learners: Learners | None = None  # the mixed ones, when the pass is done


Watcher = Callable[[Progress], None]


def fit(
    estimator: Any,
    data: Any,
    target: Any = None,
    *,
    sample_weight: Any = None,
    passes: int = 1,
    mix: str = "rows",
    client: Any = None,
    checkpoint: Any = None,
    resume: bool = False,
    progress: Watcher | None = None,
    **reading: Any,
) -> Any:
    """Train on partitions in parallel, on a Dask cluster.

    In each pass, every partition is learned from a copy of the same model, and the resulting models are combined. The
    next pass starts from the combined model. The result depends only on the partitions and their order, and not on the
    workers. With one partition it is bit-for-bit the model that you get without a cluster.

    Parameters
    ----------
    estimator : learner
        Any learner of this library, also a ``RecordLearner``. It is trained in place. What it had learned before is
        forgotten, unless its ``warm_start`` is True.
    data : Dask array, dataframe or bag, or files
        Files are a path, a folder, a glob or a list of these, in any format that ``aggro.streams.open`` reads; a large
        one is cut into partitions at its lines. Workers must see them under the same path. A bag has (row, target)
        or (row, target, weight).
    target : Dask array or series, or name, default=None
        What to predict: beside an array; the name of a column of a frame, or a series beside it.
    sample_weight : Dask array or series, or name, default=None
        Weights of rows, likewise.
    passes : int, default=1
        How often to go over the data. Combining models loses some accuracy, and more passes recover it.
    mix : {"rows", "uniform", "updates"}, default="rows"
        The weight of a partition when models are averaged: its rows, the same for all, or its updates.
    client : distributed.Client, default=None
        The cluster. None for the current client; if there is none, partitions are learned here, one after another.
    checkpoint : path, default=None
        A file that stores the combined model after each pass.
    resume : bool, default=False
        Continue from ``checkpoint``, if the file exists.
    progress : function, default=None
        Called with a ``Progress`` whenever a partition is done.
    **reading
        For files: ``partition_bytes`` and the parameters of ``aggro.streams.open``, such as ``label="outcome"``.

    Returns
    -------
    estimator : learner
        The estimator itself, trained.

    Examples
    --------
    >>> import numpy as np
    >>> from aggro import PAClassifier
    >>> from aggro import distributed
    >>> X = np.random.default_rng(0).standard_normal((1000, 3))
    >>> import dask.array as da
    >>> model = distributed.fit(PAClassifier(), da.from_array(X, chunks=(250, 3)), (X[:, 0] > 0).astype(int), passes=2)
    >>> model.n_seen_, bool(model.score(X, X[:, 0] > 0) > 0.95)
    (2000, True)
    """
    check_learner(estimator)
    # The reading of files depends on what the learner knows of its columns.
    base = begun(estimator, True)
    sources = sources_of(data, target, sample_weight, **reading_for(base, data, reading))
    run = Run({"": estimator}, sources, passes, mix, executor_for(client), progress)
    if checkpoint is not None:
        run.keep_in(checkpoint, resume)
    elif resume:
        raise ValueError("resume=True needs the checkpoint to go on from: say checkpoint=path.")
    run.learn()
    return estimator


def check_learner(learner: Any) -> None:
    """Refuse what cannot be combined."""
    if isinstance(learner, type):
        raise TypeError(f"{learner.__name__} is a class. Make a learner of it: {learner.__name__}().")
    if not hasattr(learner, "learn_chunk"):
        raise TypeError(f"{type(learner).__name__} is no learner of aggro.")
    if any(hasattr(one, "query_one") for one in (learner, learner.__dict__.get("estimator"))):
        raise TypeError(
            "An ActiveLearner asks for one label after another, so it cannot train on partitions in parallel. "
            "Give the learner inside."
        )


def check_mixes(learner: Any) -> None:
    """Refuse a learner whose models cannot be combined, before anything is learned."""
    inner = innermost(learner)
    check_is_one(inner)
    model = model_of(inner) or blank(inner)
    try:
        # Before the first pass, which may take hours.
        mix = mix_of(type(model.state))
        if mix.check is not None:
            mix.check(model.state, model.params)
    except ValueError as error:
        raise ValueError(f"{type(inner).__name__}: {error}") from error


class Run:
    """Passes over partitions, by one learner or by several that go over them together.

    The learners have what was mixed last, also if the run ends with an error.
    """

    def __init__(
        self,
        learners: Learners,
        sources: Sequence[Source],
        passes: int,
        mix: str,
        executor: Executor,
        progress: Watcher | None = None,
        fresh: bool = True,
    ) -> None:
        if mix not in MIXES_BY:
            raise ValueError(f"mix={mix!r} is not known. Expected one of {', '.join(MIXES_BY)}.")
        if isinstance(passes, bool) or not isinstance(passes, int | np.integer) or passes < 1:
            raise ValueError(f"passes must be a whole number from 1 on, got {passes!r}.")
        if not sources:
            raise ValueError("There are no partitions: the data are empty.")
        self.learners, self.sources, self.passes, self.mix = learners, list(sources), int(passes), mix
        self.executor, self.progress = executor, progress
        # Each with a fixed seed: all copies draw the same numbers, also when a task runs again.
        self.base = {name: seeded(begun(learner, fresh)) for name, learner in learners.items()}
        # A single partition is not mixed, so any learner will do.
        if len(self.sources) > 1:
            for learner in self.base.values():
                check_mixes(learner)
        self.done = 0
        self.reports: list[list[Report]] = []  # of each pass
        self.checkpoint: Any = None

    def keep_in(self, path: Any, resume: bool) -> None:
        """Save the mixed model after each pass, and go on from there."""
        import os

        from aggro.models.atomic import check_place

        if len(self.learners) > 1:
            raise ValueError("A checkpoint holds one model.")
        check_place(os.fspath(path))  # that it cannot be written should not be found out after a pass
        self.checkpoint = path
        if not resume or not os.path.exists(path):
            return
        from aggro.models import load_checkpoint

        learner, place = load_checkpoint(path)
        told = place if isinstance(place, dict) else {}
        (name, own), *_ = self.base.items()
        # A run is a function of these four; with any other, the passes left would not belong to those done.
        for what, then, now in (
            ("partitions", told.get("partitions"), digest_of(self.sources)),
            ("mix", told.get("mix"), self.mix),
            ("learners", _names(learner), _names(own)),
            ("parameters", settings_of(learner), settings_of(own)),
        ):
            if then != now:
                raise ValueError(
                    f"{os.fspath(path)} is the checkpoint of another run: its {what} differ. Give the same data and "
                    "settings again, or leave resume out."
                )
        # Passes cannot be taken back.
        if int(told["passes"]) > self.passes:
            raise ValueError(f"{os.fspath(path)} has {told['passes']} passes, more than the {self.passes} asked for.")
        self.done = int(told["passes"])
        self.base = {name: learner}
        # The user's learner has what was mixed last, also if nothing is left to do.
        self._hand_over()

    def learn(self) -> None:
        """All passes that are left."""
        import aggro

        # Versions first: a model of another version would give other bits, or none.
        self.executor.check(aggro.__version__)
        try:
            while self.done < self.passes:
                self.base = self._one_pass()
                self.done += 1
                if self.done == self.passes:
                    for learner in self.base.values():
                        settle(innermost(learner))  # the data end here, as they do in fit
                # After each pass, so that an error later leaves what was mixed.
                self._hand_over()
                if self.checkpoint is not None:
                    self._save()
        except ClusterLost as error:
            kept = f" The model mixed after pass {self.done} of {self.passes} is kept." if self.done else ""
            raise ClusterLost(f"{error}{kept}") from error
        if all(model_of(learner) is None for learner in self.learners.values()):
            raise ValueError("The partitions have no row to learn from.")

    def _one_pass(self) -> Learners:
        start = self._start()
        # Repeated only if partitions met columns or words that the start must know; each time it knows more.
        while True:
            found = self._learned_from(start)
            if not isinstance(found, Unsettled):
                return found
            learners = self.executor.result(start).learners
            for learner in learners.values():
                found.settle(learner.encoder_)
            # The rows of the start stay skipped: the start has learned them already.
            start = self.executor.submit(same, Start(learners, self.executor.result(start).skipped))

    def _start(self) -> Any:
        """What all partitions begin with."""
        run, rows = self.executor, 0
        # Only learners without a model need a common start; others begin from what they have.
        if not any(model_of(learner) is not None for learner in self.base.values()):
            rows = max(common_start(learner) for learner in self.base.values())
        # One partition learns its rows in order anyway.
        if not rows or len(self.sources) == 1:
            return run.submit(same, Start(self.base, {}))
        # Few partitions will do: they are tried until there are rows enough.
        n = 1
        while True:
            pieces = [piece for source in self.sources[:n] for piece in source.pieces]
            # Sources go without their pieces, which are separate arguments so that Dask brings them.
            plain = [source._replace(pieces=(None,) * len(source.pieces)) for source in self.sources[:n]]
            start = run.submit(begin_together, self.base, rows, plain, *pieces)
            if n == len(self.sources) or sum(run.result(start).skipped.values()) >= rows:
                return run.submit(same, run.result(start))
            # Doubling keeps the number of attempts small, whatever the size of partitions.
            n = min(2 * n, len(self.sources))

    def _learned_from(self, start: Any) -> Learners | Unsettled:
        run = self.executor
        tasks = [
            (start, number, self.done, source._replace(pieces=()), *source.pieces)
            for number, source in enumerate(self.sources)
        ]
        learned = run.submit_all(learn_partition, tasks)
        # Reports are small and come to this process; the models stay with the workers.
        reports = [run.submit(report_of, one) for one in learned]
        found: dict[int, Report] = {}
        rows = 0
        for number, report in run.as_completed(reports):
            found[number] = report
            rows += report.rows
            self._tell(len(found), rows)
        # In the order of partitions, whichever ended first.
        told = [found[k] for k in range(len(learned))]
        mixed: Learners
        # A partition without rows would count as a copy of the start.
        with_rows = [one for one, report in zip(learned, told, strict=True) if report.rows]
        if not with_rows:
            mixed = run.result(start).learners
        # A single model is handed over as it is: mixed with nothing, it keeps every bit.
        elif len(with_rows) == 1:
            mixed = run.result(run.submit(alone, with_rows[0]))
        else:
            knowledge = [run.submit(knowledge_of, one, start) for one in with_rows]
            known = run.submit(unite, start, knowledge)
            # A small task asks first, so that the knowledge itself stays on the cluster.
            if isinstance(new := run.result(run.submit(unsettled, known)), Unsettled):
                return new
            mixed = run.result(self._tree(start, known, with_rows))
        self.reports.append(told)
        self._tell(len(told), sum(one.rows for one in told), mixed)
        return mixed

    def _tree(self, start: Any, known: Any, learned: Sequence[Any]) -> Any:
        """The models of all partitions, added up by eights."""
        run = self.executor
        level = [run.submit(mix_some, start, known, self.mix, some) for some in _groups(learned)]
        # Exact sums: any tree gives the same bits, and this one keeps each task small.
        while len(level) > 1:
            level = [run.submit(add_some, some) for some in _groups(level)]
        return run.submit(finish, start, known, level[0])

    def _tell(self, done: int, rows: int, learners: Learners | None = None) -> None:
        if self.progress is not None:
            self.progress(Progress(self.done, self.passes, done, len(self.sources), rows, learners))

    def _hand_over(self) -> None:
        """Let the user's learners know what was mixed."""
        for name, learner in self.learners.items():
            take_over(learner, self.base[name])

    def _save(self) -> None:
        from aggro.models import save

        (learner,) = self.base.values()
        if model_of(learner) is None:
            return
        place = {"passes": self.done, "partitions": digest_of(self.sources), "mix": self.mix}
        save(learner, self.checkpoint, place)


def unsettled(known: Any) -> Any:
    """What the start must know, if that is what was found."""
    return known if isinstance(known, Unsettled) else None


def _groups(handles: Sequence[Any]) -> list[list[Any]]:
    return [list(handles[k : k + MERGED_TOGETHER]) for k in range(0, len(handles), MERGED_TOGETHER)]


def _names(learner: Any) -> tuple[str, str]:
    return type(learner).__name__, type(innermost(learner)).__name__


def begun(learner: Any, fresh: bool) -> Any:
    """What a run begins with: a copy, without what was learned before if it is to begin anew."""
    if fresh and not learner.__dict__.get("warm_start", False) and model_of(learner) is not None:
        from sklearn.base import clone

        learner = clone(learner)
    else:
        learner = copy.deepcopy(learner)
    if hasattr(learner, "new_encoder") and not hasattr(learner, "encoder_"):
        learner.settle({})  # the learner inside is made
    return learner


def seeded(learner: Any) -> Any:
    """With a seed of its own, so that a task that runs again gives the same bits."""
    inner = innermost(learner)
    # None or a generator would draw anew in each copy.
    if model_of(inner) is None and not isinstance(inner.random_state, int | np.integer):
        inner.random_state = seed_for(inner)
    return learner


def take_over(learner: Any, mixed: Any) -> None:
    """Let a learner of the user's know what another knows; its parameters stay."""
    model = model_of(mixed)
    if model is None:
        return
    if hasattr(learner, "new_encoder"):
        # Copies, so that the user's learner and the next pass do not share arrays.
        learner.go_on_with(copy.deepcopy(mixed.estimator_), mixed.encoder_.copy())
    else:
        give_model(learner, model.copy())
