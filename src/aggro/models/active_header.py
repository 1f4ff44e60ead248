"""What a file keeps of an :class:`ActiveLearner`, beside the learner inside: its parameters, gate, questions and rows.

A file of an active learner is the file of the learner inside, with one part more in its header, and arrays for the
answered rows that are kept.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np

from aggro.engine.fields import LARGEST_COUNT
from aggro.engine.gate import (
    ASKED,
    GATE_DELTA,
    GATE_MISTAKES,
    GATE_WEIGHT,
    LARGEST_SURPLUS,
    LAST_QUERY,
    OPEN,
    PASSED,
    SURPLUS,
    all_counts,
    all_sums,
)
from aggro.engine.rule import SEEN
from aggro.learners.active.learner import ActiveLearner
from aggro.learners.active.replay import REPLAYED_COUNTERS, Kept, Row
from aggro.learners.base.inside import constraints_of, least_value, model_of, parameters_of
from aggro.learners.model.features import MAX_FEATURES
from aggro.models.codec import decode, encode
from aggro.models.container import Container
from aggro.models.errors import Flaw

LARGEST_NUMBER = sys.float_info.max
ACTIVE_KEYS = {"parameters", "seed", "counts", "sums", "waiting", "gone"}
REPLAY = {"on", "room", "built", "seen", "extra"}
ROW_ARRAYS: dict[str, np.dtype[Any]] = {  # of the kept rows; ``dense`` says which are values in order
    "replay.dense": np.dtype(np.uint8),
    "replay.ends": np.dtype(np.int64),
    "replay.indices": np.dtype(np.uint32),
    "replay.data": np.dtype(np.float64),
    "replay.codes": np.dtype(np.int64),
    "replay.weights": np.dtype(np.float64),
}


def activity_of(active: ActiveLearner) -> dict[str, Any]:
    """The part of the header that is the active learner's own."""
    gate, room = active.gate, active.questions
    parameters = parameters_of(active)
    # A generator has drawn the seed; with it the learner goes on with the same numbers.
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
            "replay": _replay_of(active.kept),
        }
    except TypeError as error:
        raise Flaw(f"a question that waits cannot be stored ({error})") from error


def _replay_of(kept: Kept) -> dict[str, Any]:
    numbers = {name: int(getattr(kept, name)) for name in ("room", "built", "seen")}
    return {"on": kept.on, **numbers, "extra": kept.extra.tolist()}


def rows_of(active: ActiveLearner) -> dict[str, np.ndarray]:
    """The answered rows that are kept, as arrays."""
    kept = active.kept
    # Dense rows have no indices; an empty array keeps the two kinds in one form.
    pairs = [row if isinstance(row, tuple) else (np.empty(0, np.uint32), row) for row in kept.rows]
    none = [np.empty(0)]
    arrays = (
        [not isinstance(row, tuple) for row in kept.rows],
        np.cumsum([values.shape[0] for _, values in pairs]),
        np.concatenate([indices for indices, _ in pairs] or none),
        np.concatenate([values for _, values in pairs] or none),
        kept.codes,
        kept.weights,
    )
    return {name: np.asarray(array, kind) for (name, kind), array in zip(ROW_ARRAYS.items(), arrays, strict=True)}


def _row(x: Any) -> Any:
    """A row as text can hold it: an array as a list, a pair of arrays as a tuple of lists."""
    if isinstance(x, dict):
        return {name: value if isinstance(value, int) else float(value) for name, value in x.items()}
    return tuple(part.tolist() for part in x) if isinstance(x, tuple) else x.tolist()


def revived(inner: Any, part: Any, container: Container, shell: bool) -> ActiveLearner:
    """The active learner around a learner from a file."""
    if set(part) - {"replay"} != ACTIVE_KEYS or not isinstance(part["parameters"], dict):
        raise Flaw("what it says of its questions is not whole")
    kind = import_module("aggro.estimators").ActiveLearner if shell else ActiveLearner
    parameters = {name: decode(value) for name, value in part["parameters"].items()}
    unknown = sorted(set(parameters) - set(constraints_of(kind)))
    if unknown:
        raise Flaw(f"ActiveLearner has no parameter {unknown[0]!r}")
    # A file without kept rows is of a version that had neither replay nor other strategies.
    before = {} if "replay" in part else {"replay": 0, "strategy": "margin"}  # as it was when nothing was kept
    active: ActiveLearner = kind(type(inner)(**parameters_of(inner)), **{**before, **parameters})
    # The gate draws by this seed, so questions go on as they would have.
    seed = _whole(part["seed"], 2**63 - 1)
    try:
        active.go_on_with(inner, seed)
    except (TypeError, ValueError) as error:
        raise Flaw(str(error).rstrip(".")) from error
    # After go_on_with, which makes the gate and the room for questions that are filled here.
    _restore(active.gate, part)
    _refill(active, part)
    if "replay" in part:
        active.kept = _kept(part["replay"], container, inner)
    return active


def _kept(part: Any, container: Container, inner: Any) -> Kept:
    """The rows in a file; compiled code reads them without a check of its own."""
    if not isinstance(part, dict) or set(part) != REPLAY or type(part["on"]) is not bool:
        raise Flaw("what it says of its kept rows is not whole")
    model = model_of(inner)
    assert model is not None
    kept = Kept(_whole(part["room"], 2**30), part["on"])
    kept.built, kept.seen = _whole(part["built"]), _whole(part["seen"])
    extra, counted = part["extra"], model.state.tally.rows
    if (
        not isinstance(extra, list)
        or len(extra) != 3
        or not all(type(n) is int and abs(n) <= LARGEST_COUNT for n in extra)
    ):
        raise Flaw("what it says of its kept rows is not whole")
    kept.extra[:] = extra
    # The replayed rows' counters are part of the model's own, and cannot exceed them.
    if (kept.extra > counted[REPLAYED_COUNTERS]).any() or (kept.on and kept.seen != counted[SEEN]):
        raise Flaw("its counters do not fit its kept rows")
    # All arrays are read before any is believed; the lengths below tie them together.
    dense, ends, indices, data, codes, weights = (_read(container, name, kind) for name, kind in ROW_ARRAYS.items())
    n = dense.shape[0]
    if any(array.shape[0] != n for array in (ends, codes, weights)) or n > kept.room or (n and not kept.on):
        raise Flaw("its kept rows are not whole")
    starts = np.concatenate([np.zeros(1, np.int64), ends])
    # Ends must rise and end with the data, and only sparse rows have indices.
    fits = starts[-1] == data.shape[0] and (np.diff(starts) >= 0).all() and dense.max(initial=0) <= 1
    if not fits or indices.shape[0] != int(np.diff(starts)[dense == 0].sum()) or kept.built > n:
        raise Flaw("its kept rows are not whole")
    known = len(model.labels.codes)
    # Every class must have a kept row: the buffer holds at least one of each.
    if n and (codes.min() < 0 or codes.max() >= known or (kept.on and np.unique(codes).shape[0] != known)):
        raise Flaw("its kept rows are of other classes than the model")
    if not np.isfinite(data).all() or not (np.isfinite(weights) & (weights > 0.0)).all():
        raise Flaw("its kept rows hold what is no number")
    kept.rows, kept.codes, kept.weights = [], codes.tolist(), weights.tolist()
    place, width = 0, model.features.n
    # Copies: views would keep the whole array in memory after a row is dropped.
    for k in range(n):
        values = data[starts[k] : starts[k + 1]].copy()
        row: Row = values
        if not dense[k]:
            # place runs over the indices of sparse rows alone.
            row = indices[place : place + values.shape[0]].copy(), values
            place += values.shape[0]
            if (row[0] >= width).any():
                raise Flaw("a kept row has features that the model does not know")
        elif not values.shape[0] or values.shape[0] > width:
            raise Flaw("a kept row has features that the model does not know")
        if (values < least_value(inner)).any():
            raise Flaw("its kept rows hold what the learner does not take")
        kept.rows.append(row)
    return kept


def _read(container: Container, name: str, kind: np.dtype) -> np.ndarray:
    spec = container.specs.get(name)
    if spec is None or spec.dtype != kind or len(spec.shape) != 1:
        raise Flaw(f"the array {name!r} is {spec or 'absent'}, which no kept rows have")
    return container.read(name)


def _whole(value: Any, most: int = LARGEST_COUNT) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise Flaw(f"what it says of its questions cannot be {str(value)[:60]}")
    return value


def _restore(gate: Any, part: Any) -> None:
    counts, sums = part["counts"], part["sums"]
    if not isinstance(counts, list) or len(counts) not in (2, 3):
        raise Flaw("its counts of questions are not whole")
    gate.counts[:] = all_counts([_whole(count) for count in counts])
    # Each of these counts is part of the next one.
    if not gate.counts[ASKED] <= gate.counts[OPEN] <= gate.counts[PASSED]:
        raise Flaw(f"it has asked about {gate.counts[ASKED]} of {gate.counts[PASSED]} rows")
    good = isinstance(sums, list) and len(sums) in (SURPLUS, SURPLUS + 1)
    if not good or not all(isinstance(value, int | float) and -1e300 < value < 1e300 for value in sums):
        raise Flaw("its sums over questions cannot be")
    gate.sums[:] = all_sums(sums)
    # Only the surplus may be negative.
    if (gate.sums[:SURPLUS] < 0.0).any() or abs(gate.sums[SURPLUS]) > LARGEST_SURPLUS:
        raise Flaw("its sums over questions cannot be")
    begun = gate.sums[GATE_DELTA] > 0.0 or gate.target > 0.0
    if not begun or gate.sums[LAST_QUERY] > 1.0 or gate.sums[GATE_MISTAKES] > gate.sums[GATE_WEIGHT]:
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
        # The same check as when a question is put; a file may not hold what the learner would refuse.
        try:
            room.check(id, x)
        except (TypeError, ValueError) as error:
            raise Flaw(str(error).rstrip(".")) from error
        room.put(id, x, float(p), active.waiting)


def _as_row(x: Any) -> Any:
    """A row as it was asked about: numbers by name, in order, or as (indices, values)."""
    # Whatever its form, the values must be finite numbers before any array is made.
    values = x.values() if isinstance(x, dict) else x[-1] if isinstance(x, tuple) and len(x) == 2 else x
    good = isinstance(x, dict) or isinstance(values, list)
    if not good or not all(
        isinstance(value, int | float) and -LARGEST_NUMBER <= value <= LARGEST_NUMBER for value in values
    ):
        raise Flaw(f"a question that waits is about {str(x)[:60]}, which is no row of numbers")
    if isinstance(x, dict):
        return x
    if isinstance(x, list):
        return np.array(x, float)
    # A bound on indices: a kernel would write to them.
    places = x[0]
    fits = isinstance(places, list) and len(places) == len(values)
    if not fits or not all(type(j) is int and 0 <= j < MAX_FEATURES for j in places):
        raise Flaw(f"a question that waits is about {str(x)[:60]}, which is no row of numbers")
    return np.array(places, np.int64), np.array(values, float)
