"""What a file keeps of an :class:`ActiveLearner`, beside the learner inside: its parameters, its gate, its questions.

A file of an active learner is the file of the learner inside, with one part more in its header.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np

from aggro.engine.fields import COUNTED
from aggro.engine.gate import ASKED, DELTA, LAST, OPEN, PASSED, WEIGHT, WRONG, all_counts
from aggro.learners.active.learner import ActiveLearner
from aggro.learners.shared.features import MAX_FEATURES
from aggro.learners.shared.inside import constraints_of, parameters_of
from aggro.models.codec import decode, encode
from aggro.models.errors import Flaw

LARGEST = sys.float_info.max
KEYS = {"parameters", "seed", "counts", "sums", "waiting", "gone"}


def activity_of(active: ActiveLearner) -> dict[str, Any]:
    """The part of the header that is the active learner's own."""
    gate, room = active.gate, active.questions
    parameters = parameters_of(active)
    if isinstance(parameters["random_state"], np.random.RandomState | np.random.Generator):
        parameters["random_state"] = gate.seed
    try:
        return {
            "parameters": {name: encode(value) for name, value in parameters.items()},
            "seed": gate.seed,
            "counts": gate.counts.tolist(),
            "sums": gate.sums.tolist(),
            "waiting": [[encode(id), encode(_row(x)), p] for id, x, p in room.items()],
            "gone": room.gone,
        }
    except TypeError as error:
        raise Flaw(f"a question that waits cannot be stored ({error})") from error


def _row(x: Any) -> Any:
    """A row as text can hold it: an array as a list, a pair of arrays as a tuple of lists."""
    if isinstance(x, dict):
        return x
    return tuple(part.tolist() for part in x) if isinstance(x, tuple) else x.tolist()


def revived(inner: Any, part: Any, shell: bool) -> ActiveLearner:
    """The active learner around a learner from a file."""
    if set(part) != KEYS or not isinstance(part["parameters"], dict):
        raise Flaw("what it says of its questions is not whole")
    kind = import_module("aggro.estimators").ActiveLearner if shell else ActiveLearner
    parameters = {name: decode(value) for name, value in part["parameters"].items()}
    unknown = sorted(set(parameters) - set(constraints_of(kind)))
    if unknown:
        raise Flaw(f"ActiveLearner has no parameter {unknown[0]!r}")
    active: ActiveLearner = kind(type(inner)(**parameters_of(inner)), **parameters)
    seed = _whole(part["seed"], 2**63 - 1)
    try:
        active.go_on_with(inner, seed)
    except (TypeError, ValueError) as error:
        raise Flaw(str(error).rstrip(".")) from error
    _restore(active.gate, part)
    _refill(active, part)
    return active


def _whole(value: Any, most: int = COUNTED) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise Flaw(f"what it says of its questions cannot be {str(value)[:60]}")
    return value


def _restore(gate: Any, part: Any) -> None:
    counts, sums = part["counts"], part["sums"]
    if not isinstance(counts, list) or len(counts) not in (2, 3):
        raise Flaw("its counts of questions are not whole")
    gate.counts[:] = all_counts([_whole(count) for count in counts])
    if not gate.counts[ASKED] <= gate.counts[OPEN] <= gate.counts[PASSED]:
        raise Flaw(f"it has asked about {gate.counts[ASKED]} of {gate.counts[PASSED]} rows")
    good = isinstance(sums, list) and len(sums) == gate.sums.shape[0]
    if not good or not all(isinstance(value, int | float) and 0.0 <= value < 1e300 for value in sums):
        raise Flaw("its sums over questions cannot be")
    gate.sums[:] = sums
    if not gate.sums[DELTA] > 0.0 or gate.sums[LAST] > 1.0 or gate.sums[WRONG] > gate.sums[WEIGHT]:
        raise Flaw("its sums over questions cannot be")


def _refill(active: ActiveLearner, part: Any) -> None:
    room = active.questions
    room.gone = _whole(part["gone"])
    if not isinstance(part["waiting"], list) or len(part["waiting"]) > active.waiting:
        raise Flaw("there are more questions than may wait")
    for entry in part["waiting"]:
        if not isinstance(entry, list) or len(entry) != 3:
            raise Flaw("a question that waits is not whole")
        id, x, p = decode(entry[0]), _as_row(decode(entry[1])), entry[2]
        if not isinstance(p, int | float) or not 0.0 < p <= 1.0:
            raise Flaw(f"a question that waits was asked with the probability {str(p)[:60]}")
        try:
            room.check(id, x)
        except (TypeError, ValueError) as error:
            raise Flaw(str(error).rstrip(".")) from error
        room.put(id, x, float(p), active.waiting)


def _as_row(x: Any) -> Any:
    """A row as it was asked about: numbers by name, in order, or as (indices, values)."""
    values = x.values() if isinstance(x, dict) else x[-1] if isinstance(x, tuple) and len(x) == 2 else x
    good = isinstance(x, dict) or isinstance(values, list)
    if not good or not all(isinstance(value, int | float) and -LARGEST <= value <= LARGEST for value in values):
        raise Flaw(f"a question that waits is about {str(x)[:60]}, which is no row of numbers")
    if isinstance(x, dict):
        return x
    if isinstance(x, list):
        return np.array(x, float)
    places = x[0]
    fits = isinstance(places, list) and len(places) == len(values)
    if not fits or not all(type(j) is int and 0 <= j < MAX_FEATURES for j in places):
        raise Flaw(f"a question that waits is about {str(x)[:60]}, which is no row of numbers")
    return np.array(places, np.int64), np.array(values, float)
