"""What a file keeps of rows that wait for their labels (``learners.shared.later``)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from aggro.engine.fields import COUNTED
from aggro.learners.shared.later import Store, Waiting, give_store, waiting_in
from aggro.models.codec import decode, encode
from aggro.models.errors import Flaw

COUNTS = ("asked", "labelled", "mistakes", "counted", "expired")
KEYS = {*COUNTS, "most", "within", "absolute", "rows"}


def later_of(learner: Any) -> dict[str, Any] | None:
    """The part of the header for a learner's rows that wait; None if it never had one."""
    store = waiting_in(learner)
    if store is None:
        return None
    with store.lock:
        try:
            rows = [[encode(id), encode(_row(w.row)), encode(w.prediction), w.number] for id, w in store.rows.items()]
        except TypeError as error:
            raise Flaw(f"a row that waits for its label cannot be stored ({error})") from error
        counts = {name: getattr(store, name) for name in (*COUNTS, "most", "within")}
        return {**counts, "absolute": float(store.absolute), "rows": rows}


def with_later(learner: Any, part: Any) -> Any:
    """The learner from a file, with its rows that wait."""
    store = Store()
    if set(part) != KEYS or not all(_whole(part[name]) for name in COUNTS) or not _is_sum(part["absolute"]):
        raise Flaw("what it says of rows that wait for labels is not whole")
    if not _whole(part["most"]) or not (part["within"] is None or _whole(part["within"])):
        raise Flaw("what it says of rows that wait for labels is not whole")
    if not isinstance(part["rows"], list) or not all(isinstance(row, list) and len(row) == 4 for row in part["rows"]):
        raise Flaw("what it says of rows that wait for labels is not whole")
    for name in (*COUNTS, "most", "within", "absolute"):
        setattr(store, name, part[name])
    for id, row, prediction, number in part["rows"]:
        found, row = decode(id), decode(row)
        if not isinstance(found, str | int) or not _whole(number) or found in store.rows:
            raise Flaw(f"a row that waits for its label cannot have the id {str(id)[:60]}")
        store.rows[found] = Waiting(_as_row(row), decode(prediction), number)
    give_store(learner, store)
    return learner


def _row(x: Any) -> Any:
    """A row as text can hold it: an array as a list, a pair of arrays as a tuple of lists, moments as text."""
    if isinstance(x, np.ndarray):
        return x.tolist()
    if isinstance(x, tuple):
        return tuple(_row(part) for part in x)
    if isinstance(x, dict):
        return {name: _row(value) for name, value in x.items()}
    if isinstance(x, list):
        return [_row(value) for value in x]
    if hasattr(x, "isoformat"):
        return x.isoformat()
    return None if isinstance(x, float) and math.isnan(x) else x


def _as_row(x: Any) -> Any:
    if isinstance(x, dict | str):
        return x
    try:
        if isinstance(x, tuple) and len(x) == 2:
            return np.asarray(x[0], np.int64), np.asarray(x[1], np.float64)
        if isinstance(x, list):
            return np.asarray(x, np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise Flaw(f"a row that waits for its label cannot be {str(x)[:60]}")


def _whole(value: Any) -> bool:
    return type(value) is int and 0 <= value <= COUNTED


def _is_sum(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf
