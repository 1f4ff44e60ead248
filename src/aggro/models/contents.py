"""What is in a model file, for people: read from the header and the arrays, without building a learner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from aggro.engine.rule import MISTAKES, SEEN, UPDATES
from aggro.models.container import Container, Path, Spec, opened
from aggro.models.errors import Flaw
from aggro.models.header import Header
from aggro.models.names import read_names

__all__ = ["Contents", "Weight", "describe"]

COUNTERS = Spec(np.dtype(np.int64), (5,))
LOSS = Spec(np.dtype(np.float64), (1,))


class Weight(NamedTuple):
    """One weight of the model that predicts: the feature, the class it speaks for (None in regression), the value."""

    feature: Any
    label: Any
    value: float


@dataclass(frozen=True)
class Contents:
    """What is in a model file."""

    header: Header
    size: int  # bytes of the file
    arrays: dict[str, str]  # kind and shape of each
    n_seen: int
    n_updates: int
    n_mistakes: int
    mean_loss: float
    weights: list[Weight]  # the largest, in order


def describe(path: Path, *, weights: int = 10) -> Contents:
    """What is in a model file.

    Parameters
    ----------
    path : path
        A file that ``save`` has written.
    weights : int, default=10
        How many of the largest weights to show.

    Returns
    -------
    contents : Contents
        The header, the arrays' kinds and shapes, the counters, and the largest weights.

    Raises
    ------
    ModelFileError
        The file is not a whole model.
    """
    with opened(path) as container:
        header = Header.parse(container.text)
        rows = _read(container, "tally.rows", COUNTERS).tolist()
        loss = float(_read(container, "tally.loss", LOSS)[0])
        return Contents(
            header=header,
            size=container.size,
            arrays={name: str(spec) for name, spec in sorted(container.specs.items())},
            n_seen=rows[SEEN],
            n_updates=rows[UPDATES],
            n_mistakes=rows[MISTAKES],
            mean_loss=loss / max(rows[SEEN], 1),
            weights=_largest(container, header, weights, max(rows[SEEN], 1)),
        )


def _read(container: Container, name: str, wanted: Spec) -> np.ndarray:
    if container.specs.get(name) != wanted:
        raise Flaw(f"the array {name!r} should be {wanted} and is {container.specs.get(name, 'absent')}")
    return container.read(name)


def _largest(container: Container, header: Header, count: int, seen: int) -> list[Weight]:
    """The largest numbers in the array of weights, which by habit is called w or W and has a row for each feature.

    Where an average predicts, what makes it of the last iterate is called u or U: w − u/T after T rows.
    """
    name, lag = ("W", "U") if "W" in container.specs else ("w", "u")
    spec = container.specs.get(name)
    if spec is None or len(spec.shape) not in (1, 2) or spec.shape[0] != header.width or not spec.nbytes:
        return []
    table = container.read(name)
    if header.parameters.get("average") and container.specs.get(lag) == spec:
        table = table - container.read(lag) / seen
    table = table.reshape(header.width, -1)[: header.n_features]
    names = read_names(container) if header.named else []
    found = []
    for place in _top(np.abs(table).ravel(), count):
        feature, model = divmod(place, table.shape[1])
        code = 1 if table.shape[1] == 1 else model  # one vector for two classes speaks for the second
        found.append(
            Weight(
                feature=names[feature] if feature < len(names) else feature,
                label=header.classes[code] if code < len(header.classes) else None,
                value=float(table[feature, model]),
            )
        )
    return found


def _top(values: np.ndarray, count: int) -> list[int]:
    """Where the largest values are, without zeros; equal ones in order."""
    places = np.flatnonzero(values)
    if count < places.size:
        places = np.sort(places[np.argpartition(-values[places], count)[:count]])
    order: list[int] = places[np.argsort(-values[places], kind="stable")].tolist()
    return order
