"""The task of a command: as said, as the learner has it, or as the labels show; and the learner for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aggro.cli.console import Mistake
from aggro.cli.live import LiveStream
from aggro.cli.options import Reading

if TYPE_CHECKING:
    from aggro.streams import Stream
    from aggro.streams.tables.task import Task

AUTO_TASK = "auto"
TASK_NAMES = CLASSIFICATION, REGRESSION = "classification", "regression"  # as the registry of learners calls them
DEFAULT_LEARNERS = {CLASSIFICATION: "PAClassifier", REGRESSION: "PARegressor"}
COMPARED_LEARNERS = {
    CLASSIFICATION: ("PAClassifier", "pa1", "arow", "fogd"),
    REGRESSION: ("PARegressor", "AROWRegressor"),
}
LABELS_LOOKED_AT = 1000  # rows, to see what the labels are


def complete_tasks(incomplete: str) -> list[str]:
    return [name for name in (AUTO_TASK, *DEFAULT_LEARNERS) if name.startswith(incomplete)]


TaskOption = Annotated[
    str,
    typer.Option(
        "--task",
        metavar="NAME",
        autocompletion=complete_tasks,
        help="classification, regression, or auto: as the learner or the labels say.",
    ),
]


def check_task(said: str) -> None:
    if said not in (AUTO_TASK, *DEFAULT_LEARNERS):
        raise Mistake(f"--task {said} is not known. Expected {AUTO_TASK}, {', '.join(DEFAULT_LEARNERS)}.")


def check_agrees(said: str, learner: Any) -> None:
    """Refuse a learner of another task than was said."""
    from aggro.learners.base.inside import innermost, task_of

    check_task(said)
    # The learner's task is a fact; the said one must agree.
    task = task_of(learner)
    if said not in (AUTO_TASK, task):
        name = type(innermost(learner)).__name__
        raise Mistake(f"--task {said} and {name}, which is for {task}, contradict each other. Leave one out.")


def open_and_decide(
    data: Sequence[str], reading: Reading, said: str, settings: Sequence[str] = (), live: int | None = None
) -> tuple[Any, Task]:
    """The stream, and its task where no learner was named: as said, as settings need it, or by the labels.

    ``live`` is the number of a pipe that is read as lines come.
    """
    from aggro.cli.reading import blaming_the_data, open_data
    from aggro.streams.tables.task import Task

    check_task(said)
    # Some settings exist for one task only, and so tell it.
    if said == AUTO_TASK:
        said = task_of_settings(settings) or AUTO_TASK
    how: dict[str, Any] = {"labels": "either"} if said == AUTO_TASK else {"task": said}

    def opened(paths: Sequence[str], reading: Reading) -> Any:
        # Also for each batch of a pipe, which is opened in the same way.
        return open_data(paths, reading, **how)

    stream: Any = opened(data, reading) if live is None else LiveStream(live, reading, opened, LABELS_LOOKED_AT)
    if said != AUTO_TASK:
        decided = Task(said, "set by you")
        # Nothing to decide; the columns are settled all the same, for their errors belong here.
        if stream.raw:
            with blaming_the_data():
                _ = stream.columns
    else:
        with blaming_the_data():
            decided = stream_task(stream)
    # Kept at the stream: partitions and messages take it from there.
    stream.settled.task = decided
    if stream.raw:
        stream.options["labels"] = decided.labels
    return stream, decided


def stream_task(stream: Stream) -> Task:
    """What the labels of a stream make."""
    from aggro.cli.reading import missing
    from aggro.streams.tables.task import Task, task_of_labels

    if stream.raw:
        return stream.task or Task(CLASSIFICATION, "no label was found")
    # Looking at labels would lose rows of a pipe.
    if not stream.can_be_read_again():
        return Task(CLASSIFICATION, "the data are read once, so the labels were not looked at")
    first = next(iter(stream), None)
    if first is None or first.y is None:
        return Task(CLASSIFICATION, "no label was found")
    # In these formats classes are numbers, so whole numbers count as codes.
    return task_of_labels(first.y[~missing(first.y)][:LABELS_LOOKED_AT].tolist(), codes=True)


def task_of_settings(settings: Sequence[str]) -> str | None:
    """The task of the one usual learner that has all these settings; None if both have them, or none."""
    from aggro.learners.base.inside import constraints_of
    from aggro.learners.registry import find

    names = {setting.partition("=")[0].strip() for setting in settings}
    # A learner fits if it has all of these parameters.
    fits = [task for task, name in DEFAULT_LEARNERS.items() if names <= {*constraints_of(find(name).load())}]
    return fits[0] if names and len(fits) == 1 else None


def task_lines(stream: Stream, task: str) -> list[str]:
    """Lines that say what is predicted, and why."""
    decided: Task | None = stream.settled.task
    if decided is None or task not in DEFAULT_LEARNERS:
        return []
    # What goes without saying is not said.
    if decided.name == task == "classification" and not stream.raw and not decided.doubtful:
        return []  # the labels of such a file are classes
    if decided.name == task:
        return [f"task: {decided}"]
    return [
        f"Note: the learner is for {task}, but the label looks like {decided.name} ({decided.why}): leave --learner "
        f"out, or take --learner {DEFAULT_LEARNERS[decided.name]}."
    ]
