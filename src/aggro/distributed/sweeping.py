"""Many learners and settings over the same partitions, each of which is read once for all of them."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from aggro.distributed.executors import executor_for
from aggro.distributed.sources import Source, reading_for, sources_of
from aggro.distributed.tasks import Learners, Report
from aggro.distributed.training import Progress, Run, Watcher, check_learner
from aggro.evaluate.curve import Curve
from aggro.learners.base.inside import losses_of, model_of, task_of


@dataclass(frozen=True)
class Trial:
    """One of the learners of a sweep."""

    name: str
    learner: Any  # it has learned all passes
    error: float  # of the first pass: each row was predicted before it was learned
    curve: Curve
    seconds: float  # learning, of all partitions together
    mean_loss: float = 0.0  # of the first pass,
    updates: int = 0  # and in it

    @property
    def rows(self) -> int:
        """Rows of the first pass."""
        return self.curve.n_rows


class Sweep:
    """The result of a sweep: its trials, the best first.

    The error is progressive: in the first pass, each row was predicted before it was learned, by a model that had
    learned the earlier rows of the same partition. It is the share of mistakes for classifiers, the mean loss for
    regressors, and the share of rows outside for detectors.

    ``reports`` lists the reports of each partition, for each pass.
    """

    def __init__(self, trials: Sequence[Trial], reports: Sequence[Sequence[Report]] = ()) -> None:
        self.reports = reports
        # NaN compares with nothing; the flag puts trials without rows last. sorted is stable among equals.
        self.trials = sorted(trials, key=lambda trial: (np.isnan(trial.error), trial.error))

    @property
    def best(self) -> Trial:
        """The trial with the lowest error; among equals, the first one you named."""
        return self.trials[0]

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.trials)

    def __len__(self) -> int:
        return len(self.trials)

    def table(self) -> list[dict[str, Any]]:
        """A line for each trial, the best first."""
        return [{"name": one.name, "error": one.error, "rows": one.rows, "seconds": one.seconds} for one in self.trials]

    def __repr__(self) -> str:
        wide = max(len(one.name) for one in self.trials)
        lines = [f"{one.name:<{wide}}  {self._shown(one)}  {one.seconds:8.2f} s" for one in self.trials]
        return "\n".join([f"{'learner':<{wide}}     error      time", *lines])

    @staticmethod
    def _shown(one: Trial) -> str:
        return f"{one.error:8.4g}" if one.curve.measure == "loss" else f"{one.error:8.2%}"

    def plot(self, *, most: int = 12, ax: Any = None) -> Any:
        """Draw the progressive errors of the best trials with matplotlib.

        Parameters
        ----------
        most : int, default=12
            How many are drawn.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        ax : matplotlib Axes
            Where it was drawn.
        """
        from aggro.plot import curves

        return curves({one.name: one.curve for one in self.trials[:most]}, ax=ax)


def grid(learner: Any, **settings: Sequence[Any]) -> dict[str, Any]:
    """Make copies of a learner with all combinations of these settings, each under a name.

    Parameters
    ----------
    learner : learner
        The learner to copy.
    **settings : sequences
        Values of its parameters.

    Returns
    -------
    learners : dict
        For :func:`sweep`, such as {"PAClassifier(C=0.1)": …, "PAClassifier(C=1.0)": …}.

    Examples
    --------
    >>> from aggro import PAClassifier
    >>> from aggro.distributed import grid
    >>> list(grid(PAClassifier(), C=[0.1, 1.0]))
    ['PAClassifier(C=0.1)', 'PAClassifier(C=1.0)']
    """
    found = {}
    for name, values in settings.items():
        # A text is iterable as well, and would be tried letter by letter.
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise TypeError(f"{name} must be a list of values to try: {name}=[{values!r}].")
    for values in product(*settings.values()):
        chosen = dict(zip(settings, values, strict=True))
        said = ", ".join(f"{name}={value!r}" for name, value in chosen.items())
        found[f"{type(learner).__name__}({said})"] = copy.deepcopy(learner).set_params(**chosen)
    return found


def sweep(
    estimators: Mapping[str, Any] | Sequence[Any],
    data: Any,
    target: Any = None,
    *,
    sample_weight: Any = None,
    passes: int = 1,
    mix: str = "rows",
    client: Any = None,
    progress: Watcher | None = None,
    **reading: Any,
) -> Sweep:
    """Train several learners on the same partitions, and rank them by their error. Each partition is read once.

    Parameters
    ----------
    estimators : dict or list of learners
        Learners by name, see :func:`grid`. They are copied. You cannot mix a ``RecordLearner`` with other learners,
        because they read tables in different ways.
    data, target, sample_weight, passes, mix, client, progress, **reading
        As in :func:`aggro.distributed.fit`.

    Returns
    -------
    sweep : Sweep
        A trial for each learner, the best first: ``sweep.best.learner``, ``sweep.table()``, ``sweep.plot()``.

    Examples
    --------
    >>> import dask.array as da, numpy as np
    >>> from aggro import PAClassifier, distributed
    >>> X = np.random.default_rng(0).standard_normal((2000, 5))
    >>> y = (X @ [1, 2, 0, 0, 0] > 0).astype(int)
    >>> learners = distributed.grid(PAClassifier(step="pa1"), C=[1e-6, 0.1])
    >>> found = distributed.sweep(learners, da.from_array(X, chunks=(500, 5)), y)
    >>> found.best.name
    'PAClassifier(C=0.1)'
    """
    learners = _named(estimators)
    of_records = {hasattr(learner, "new_encoder") for learner in learners.values()}
    if len(of_records) > 1:
        raise ValueError("Learners of records and others read tables in different ways. Give them one after the other.")
    how = reading_for(next(iter(learners.values())), data, reading)
    return swept(learners, sources_of(data, target, sample_weight, **how), passes, mix, client, progress)


def swept(
    learners: Learners,
    sources: Sequence[Source],
    passes: int = 1,
    mix: str = "rows",
    client: Any = None,
    progress: Watcher | None = None,
) -> Sweep:
    """Train many learners on the same partitions, each read once for all of them, and compare them in a ``Sweep``.

    ``sweep`` calls it once the data are partitioned: ``sources`` are those partitions.
    """
    first: Learners = {}

    # The error is that of the first pass, so its learners are kept before they learn rows a second time.
    def watch(now: Progress) -> None:
        if now.learners is not None and not first:
            first.update(now.learners)
        if progress is not None:
            progress(now)

    run = Run(learners, sources, passes, mix, executor_for(client), watch)
    # With warm_start a learner has rows and errors from earlier, which are taken off.
    before = {name: suffered(learner) for name, learner in run.base.items()}
    run.learn()
    seconds = {name: sum(report.seconds.get(name, 0.0) for told in run.reports for report in told) for name in learners}
    trials = [trial_of(name, learners[name], before[name], first[name], seconds[name]) for name in learners]
    return Sweep(trials, run.reports)


def _named(estimators: Mapping[str, Any] | Sequence[Any]) -> Learners:
    if not isinstance(estimators, Mapping | list | tuple):
        raise TypeError(f"A sweep needs a dict or a list of learners, got {type(estimators).__name__}.")
    named = dict(estimators) if isinstance(estimators, Mapping) else {repr(one): one for one in estimators}
    if not named or (not isinstance(estimators, Mapping) and len(named) < len(estimators)):
        raise ValueError("A sweep needs learners, each once. Give a dict, to call them as you like.")
    for learner in named.values():
        check_learner(learner)
    if len({task_of(learner) for learner in named.values()}) > 1:
        raise ValueError("The errors of classifiers, regressors and detectors cannot be compared. Take one kind.")
    # Copies, since a run trains its learners in place.
    return {name: copy.deepcopy(learner) for name, learner in named.items()}


def measure_of(learner: Any) -> str:
    """What its error is made of."""
    return {"classification": "mistakes", "outlier": "outside"}.get(task_of(learner), "loss")


class Suffered(NamedTuple):
    """The rows that a learner has seen, and what they came to."""

    rows: int = 0
    errors: float = 0.0
    losses: float = 0.0
    updates: int = 0


def suffered(learner: Any) -> Suffered:
    """What a learner has met so far."""
    if model_of(learner) is None:
        return Suffered()
    losses = losses_of(learner)
    errors = losses if measure_of(learner) == "loss" else float(learner.n_mistakes_)
    return Suffered(int(learner.n_seen_), errors, losses, int(learner.n_updates_))


def trial_of(name: str, learner: Any, before: Suffered, first: Any, seconds: float) -> Trial:
    """What became of a learner that had suffered so much before, and was this after the first pass."""
    measure = measure_of(first)
    # No row was learned: NaN ranks last.
    if model_of(first) is None:
        empty = Curve(np.zeros(0, np.int64), np.zeros(0), seconds, measure)
        return Trial(name, learner, float("nan"), empty, seconds)
    history = first.history_
    now = suffered(first)
    n, new_rows = max(now.rows, 1), max(now.rows - before.rows, 1)
    # The history has points at powers of two; the last point is that of all rows.
    rows = np.append(history["rows"], n)
    errors = np.append(history["loss"] if measure == "loss" else history["mistakes"] / history["rows"], now.errors / n)
    # If the number of rows is a power of two itself, the history has that point already.
    new = np.append(np.diff(rows) > 0, True)
    curve = Curve(rows[new], errors[new], seconds, measure)
    error, loss = (now.errors - before.errors) / new_rows, (now.losses - before.losses) / new_rows
    return Trial(name, learner, error, curve, seconds, loss, now.updates - before.updates)
