"""``follow``: learn from a broker, and keep the model and its place in one file."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from functools import partial
from typing import Any, cast
from urllib.parse import urlsplit

from aggro.interop.brokers.follower import Follower
from aggro.interop.brokers.intake import Counts, Options
from aggro.interop.brokers.records import Decode
from aggro.interop.brokers.source import Source, SourceError, Unreachable, without_password
from aggro.learners.base.inside import task_of
from aggro.learners.records import RecordLearner
from aggro.models import load_checkpoint
from aggro.models.atomic import Held, check_place, holding


def open_source(url: str, group: str) -> Source:
    """The source that an address names; nothing is connected yet.

    Parameters
    ----------
    url : str
        ``redis://host:port/stream``, with a database as ``redis://host:port/2/stream``, or
        ``kafka://host:port,host:port/topic``. What follows a ``?`` is passed on to the client.
    group : str
        The consumer group.
    """
    parts = urlsplit(url)
    if parts.scheme in ("redis", "rediss"):
        # Each client is an extra, imported only by who uses it.
        from aggro.interop.brokers.redis_streams import RedisStream

        return RedisStream(parts, group)
    if parts.scheme == "kafka":
        from aggro.interop.brokers.kafka_topics import KafkaTopic

        return KafkaTopic(parts, group)
    raise SourceError(
        f"{without_password(url)!r} is not a source. Give redis://host:6379/stream or kafka://host:9092/topic."
    )


def follow(
    source: str,
    model: Any,
    *,
    label: str = "label",
    labels: str | None = None,
    id: str = "id",
    predictions: str | None = None,
    dead_letters: str | None = None,
    learner: Any = None,
    decode: Decode | None = None,
    group: str | None = None,
    batch: int = 1000,
    every: float = 1.0,
    merge_every: int | None = None,
    idle: float | None = None,
    report: Callable[[Any], None] | None = None,
) -> Counts:
    """Learn the records of a broker as they come, each of them once.

    The model and its place in the stream are saved in one file. A process that is killed at any moment goes on from
    that file, and the model is bit for bit the one that was never interrupted.

    Parameters
    ----------
    source : str
        Where the records are: ``redis://host:6379/stream`` or ``kafka://host:9092/topic``.
    model : path
        The model's file. If there is none, a new model begins with the oldest record of the stream.
    label : str, default="label"
        The field that holds the label. Records without it are not learned.
    labels : str, default=None
        Another stream, if labels come by themselves: records with an id and a label, in any order.
    id : str, default="id"
        The field by which records and the labels of another stream are matched.
    predictions : str, default=None
        A stream, or topic, of the same broker for the prediction of each record, made before it was learned.
    dead_letters : str, default=None
        A stream of the same broker for messages that cannot be learned, with the reason. None for the name of the
        source with "-dead-letters" behind it.
    learner : learner, default=None
        What a new model learns with: a ``RecordLearner``, or what is to be inside one. None for ``PAClassifier()``, or
        ``PARegressor()`` if the first label is a number with a fraction. Without a seed it has ``random_state=0``.
    decode : callable, default=None
        Makes a record of a message's bytes; None for JSON.
    group : str, default=None
        The consumer group. None for "aggro-" and the name of the model's file.
    batch : int, default=1000
        The most messages that are read at once.
    every : float, default=1.0
        Seconds between two saves, while messages come.
    merge_every : int, default=None
        Share a Kafka topic with other processes that follow it with the same file, and merge the models after so many
        records of each partition, or after ``every`` seconds. None to learn all partitions in this process.
    idle : float, default=None
        Return when nothing came for so many seconds; None to go on for ever.
    report : callable, default=None
        Called after each batch with the follower, which has ``counts``, ``learner``, ``notes`` and ``lag()``.

    Returns
    -------
    counts : Counts
        What became of all messages that the model has ever been given.
    """
    if batch < 1 or not every >= 0:
        raise ValueError(f"batch must be at least 1, and every at least 0; got {batch!r} and {every!r}.")
    if merge_every is not None and merge_every < 1:
        raise ValueError(f"merge_every must be at least 1, got {merge_every!r}.")
    path = os.fspath(model)
    # A file that cannot be written should fail now, and not with the first save.
    check_place(path)
    name = os.path.splitext(os.path.basename(path))[0]
    group = group or f"aggro-{name}"
    first = open_source(source, group)
    options = Options(label, id, predictions, dead_letters or f"{first.name}-dead-letters", decode, batch, every)
    try:
        # Several processes share the file, so none may hold it alone.
        if merge_every is not None:
            check_shareable(first, labels)
            from aggro.interop.brokers.team import learn_together

            new = partial(model_in, path, learner)
            return learn_together(path, cast(Any, first), new, options, merge_every, idle, report)
        # Held from the first read on: two processes would overwrite each other's model.
        with holding(path):
            loaded, position = model_in(path, learner)
            second = None if labels is None else open_source(labels, group)
            return Follower(loaded, path, first, second, options, position).run(idle, report)
    except Held:
        raise SourceError(
            f"{path} is in use: another process learns it. Stop that one, or give another file."
        ) from None
    except Unreachable as error:
        raise SourceError(f"{without_password(source)} cannot be reached: {error}. Is the broker running?") from error


def check_shareable(source: Source, labels: str | None) -> None:
    """Refuse a stream that several consumers of one model cannot share."""
    # By its methods, so that the clients need not be imported to be told apart.
    if not hasattr(source, "share"):
        raise SourceError(
            "merge_every shares the partitions of a Kafka topic, and a Redis stream has none. Leave it out."
        )
    if labels is not None:
        raise SourceError("merge_every needs the label in each record, not in another stream. Leave labels out.")


def model_in(path: str, learner: Any) -> tuple[Any, Any]:
    """The model in a file and its position, or a new one."""
    if os.path.exists(path):
        found, position = load_checkpoint(path, shell=False)
        if not isinstance(found, RecordLearner):
            raise SourceError(f"{path} learns rows of numbers, and a stream holds records. Give a new file.")
        position = position if isinstance(position, dict) else {}
    else:
        found, position = new_learner(learner), {}
    if task_of(found) == "outlier":
        raise SourceError("follow learns labels, and an outlier detector has none. Take a classifier or a regressor.")
    return found, position


def new_learner(learner: Any) -> Any:
    """A learner that has learned nothing, with a seed: a process that starts again must draw the same numbers."""
    found = copy.deepcopy(learner) if isinstance(learner, RecordLearner) else RecordLearner(copy.deepcopy(learner))
    # Also where the user left the seed open: without one, a restart before the first save gives other bits.
    if found.estimator is not None and found.estimator.__dict__.get("random_state", 0) is None:
        found.estimator.random_state = 0
    return found
