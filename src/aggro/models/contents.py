"""What is in a model file, for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from aggro.engine.monitor.drift import N_CHANGES, N_MARKS
from aggro.engine.rule import MISTAKES, SEEN, UPDATES
from aggro.learners.base.drifts import drifts_in
from aggro.models.container import Container, Path, Spec, opened
from aggro.models.errors import Flaw
from aggro.models.header import Header
from aggro.models.loading import build
from aggro.models.names import read_names

COUNTERS_SPEC = Spec(np.dtype(np.int64), (5,))
DRIFT_MARKS = Spec(np.dtype(np.int64), (N_MARKS,))
NO_DRIFT = np.zeros(N_MARKS, np.int64)
NUMBER_SPEC = Spec(np.dtype(np.float64), (1,))


class Weight(NamedTuple):
    """One weight of the model that predicts: the feature, the class it speaks for (None in regression), the value."""

    feature: Any
    label: Any
    value: float


@dataclass(frozen=True)
class Contents:
    """The contents of a model file."""

    header: Header
    size: int  # bytes of the file
    arrays: dict[str, str]  # kind and shape of each
    n_seen: int
    n_updates: int
    n_mistakes: int
    mean_loss: float
    n_drifts: int  # how often the error was seen to rise; 0 in files of earlier versions
    drift_rows: list[int]  # where, the last times
    weights: list[Weight]  # the largest, in order


def describe(path: Path, *, weights: int = 10) -> Contents:
    """Describe the contents of a model file.

    Parameters
    ----------
    path : path
        A file written by ``save``.
    weights : int, default=10
        Number of largest weights to show.

    Returns
    -------
    contents : Contents
        The header, the types and shapes of the arrays, the counters, and the largest weights.

    Raises
    ------
    ModelFileError
        If the file is not a complete model.
    """
    with opened(path) as container:
        header = Header.parse(container.text)
        # Only counters are read here; the state itself is built for its weights below.
        rows = _read(container, "tally.rows", COUNTERS_SPEC).tolist()
        loss = float(_read(container, "tally.loss", NUMBER_SPEC)[0])
        # Files of earlier versions have no marks of drift.
        marks = _read(container, "tally.marks", DRIFT_MARKS) if "tally.marks" in container.specs else NO_DRIFT
        drifts, drift_rows = int(marks[N_CHANGES]), drifts_in(marks).tolist()
        return Contents(
            header=header,
            size=container.size,
            arrays={name: str(spec) for name, spec in sorted(container.specs.items())},
            n_seen=rows[SEEN],
            n_updates=rows[UPDATES],
            n_mistakes=rows[MISTAKES],
            mean_loss=loss / max(rows[SEEN], 1),
            n_drifts=drifts,
            drift_rows=drift_rows,
            weights=_largest(container, header, weights),
        )


def _read(container: Container, name: str, wanted: Spec) -> np.ndarray:
    if container.specs.get(name) != wanted:
        raise Flaw(f"the array {name!r} should be {wanted} and is {container.specs.get(name, 'absent')}")
    return container.read(name)


def _largest(container: Container, header: Header, count: int) -> list[Weight]:
    """The largest weights of the model that predicts, as the learner shows them; none if it has no such thing."""
    # bare: the weights are those of the innermost learner, and nothing around it need be rebuilt.
    learner = build(container, header, shell=False, bare=True)
    shown = getattr(learner, "coef_", None)
    if shown is None:
        shown = getattr(learner, "center_", None)
    mapped = getattr(learner, "features", None) is not None  # weights are of the map's features, which have no names
    if shown is None or mapped or not header.n_features:
        return []
    # One vector for two classes, or one row for each class.
    table = np.atleast_2d(shown)
    names = names_of(container, header)
    classes = learner.classes_.tolist() if header.classes else [None]
    found = []
    for place in _top(np.abs(table).ravel(), count):
        model, feature = divmod(place, table.shape[1])
        found.append(
            Weight(
                feature=names[feature] if feature < len(names) else feature,
                label=classes[-1] if table.shape[0] == 1 else classes[model],  # one vector speaks for the second class
                value=float(table[model, feature]),
            )
        )
    return found


def names_of(container: Container, header: Header) -> list[Any]:
    """The features' names, where they have any."""
    if header.records is not None:
        from aggro.models.record_header import names_in

        return names_in(header.records, container)
    return read_names(container) if header.named else []


def _top(values: np.ndarray, count: int) -> list[int]:
    """Where the largest values are, without zeros; equal ones in order."""
    places = np.flatnonzero(values)
    if count < places.size:
        # argpartition finds the largest without sorting all. Sorted by place, equal ones keep their order below.
        places = np.sort(places[np.argpartition(-values[places], count)[:count]])
    order: list[int] = places[np.argsort(-values[places], kind="stable")].tolist()
    return order
