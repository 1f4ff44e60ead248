"""What a file keeps of rows that wait for their labels (``learners.base.later``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from aggro.encoding.cells import spelled
from aggro.encoding.dates import in_reach
from aggro.engine.fields import LARGEST_COUNT
from aggro.learners.base.later import Store, Waiting, give_store, waiting_in
from aggro.models.codec import decode, encode
from aggro.models.errors import Flaw
from aggro.streams.tables.roles import as_number, is_missing

COUNTS = ("asked", "labelled", "mistakes", "counted", "expired")
LATER_KEYS = {*COUNTS, "most", "within", "absolute", "rows"}

# Cells that JSON has no word for, as a tuple of the kind and a text, from which the same cell is made again. A date is
# not simply its text, since its column may be one in which dates are written otherwise.
KINDS: dict[str, Callable[[str], Any]] = {
    "float": float,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "Decimal": Decimal,
    "Fraction": lambda text: Fraction(*map(int, text.split("/"))),  # not «1e999999999», which would take for ever
}
DATE_TYPES: tuple[Any, ...] = (datetime, date, time)  # a datetime is a date, too


def later_of(learner: Any) -> dict[str, Any] | None:
    """The part of the header for a learner's rows that wait; None if it never had one."""
    store = waiting_in(learner)
    if store is None:
        return None
    content = store.__getstate__()
    try:
        rows = [[encode(id), encode(_row(w.row)), encode(w.prediction), w.number] for id, w in content["rows"].items()]
    except TypeError as error:
        raise Flaw(f"a row that waits for its label cannot be stored ({error})") from error
    counts = {name: content[name] for name in (*COUNTS, "most", "within")}
    return {**counts, "absolute": float(content["absolute"]), "rows": rows}


def with_later(learner: Any, part: Any) -> Any:
    """The learner from a file, with its rows that wait."""
    store = Store()
    if set(part) != LATER_KEYS or not all(_whole(part[name]) for name in COUNTS) or not _is_sum(part["absolute"]):
        raise Flaw("what it says of rows that wait for labels is not whole")
    if not _whole(part["most"]) or not (part["within"] is None or _whole(part["within"])):
        raise Flaw("what it says of rows that wait for labels is not whole")
    if not isinstance(part["rows"], list) or not all(isinstance(row, list) and len(row) == 4 for row in part["rows"]):
        raise Flaw("what it says of rows that wait for labels is not whole")
    for name in (*COUNTS, "most", "within", "absolute"):
        setattr(store, name, part[name])
    # Ids are keys of the store: each must be hashable and come once.
    for id, row, prediction, number in part["rows"]:
        found, row = decode(id), decode(row)
        if not isinstance(found, str | int) or not _whole(number) or found in store.rows:
            raise Flaw(f"a row that waits for its label cannot have the id {str(id)[:60]}")
        store.rows[found] = Waiting(_as_row(row), decode(prediction), number)
    give_store(learner, store)
    return learner


def _row(x: Any) -> Any:
    """A row as text can hold it: a record by its cells, an array as a list, a pair of arrays as a tuple of lists."""
    if isinstance(x, np.ndarray):
        return x.tolist()
    if isinstance(x, tuple):
        return tuple(_row(part) for part in x)
    return {name: _cell(value) for name, value in x.items()} if isinstance(x, Mapping) else x


def _cell(x: Any) -> Any:
    """One cell as text can hold it; what is no number, text or moment is the text that a category is known by."""
    # Moments of NumPy go first, since item() would turn some of them into plain numbers.
    if isinstance(x, np.datetime64):
        x = None if np.isnat(x) else in_reach(np.array([x]))[0].item()
    elif isinstance(x, np.generic) or (isinstance(x, np.ndarray) and not x.ndim):
        x = x.item()
    if isinstance(x, Mapping):
        return {name: _cell(value) for name, value in x.items()}
    # Sorted, so that the same cell gives the same bytes.
    if isinstance(x, set | frozenset):
        x = sorted(x, key=str)
    if isinstance(x, list | tuple | np.ndarray):
        return [_cell(value) for value in (x.ravel().tolist() if isinstance(x, np.ndarray) else x)]
    # JSON has no NaN; as a tuple it comes back as the missing cell that it was.
    if isinstance(x, float):
        return ("float", str(float(x))) if math.isnan(x) else float(x)
    if x is None or isinstance(x, str | int | bytes):
        return x
    if is_missing(x):
        return None
    # datetime first, for it is a date as well.
    for kind in DATE_TYPES:
        if isinstance(x, kind):
            return kind.__name__, kind.isoformat(x)
    if isinstance(x, Decimal | Fraction):
        return type(x).__name__, str(x)
    # Anything else is known to the encoder by its number or by its text, so that is what is kept.
    number = as_number(x)
    return spelled(x) if number is None else number


def _as_row(x: Any) -> Any:
    if isinstance(x, str):
        return x
    if isinstance(x, dict):
        return {name: _as_cell(value) for name, value in x.items()}
    try:
        if isinstance(x, tuple) and len(x) == 2:
            return np.asarray(x[0], np.int64), np.asarray(x[1], np.float64)
        if isinstance(x, list):
            return np.asarray(x, np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise Flaw(f"a row that waits for its label cannot be {str(x)[:60]}")


def _as_cell(x: Any) -> Any:
    if isinstance(x, dict):
        return {name: _as_cell(value) for name, value in x.items()}
    if isinstance(x, list):
        return [_as_cell(value) for value in x]
    if not isinstance(x, tuple):
        return x
    # Only these kinds, each by a function of the table: a file cannot call anything else.
    if len(x) == 2 and x[0] in KINDS and isinstance(x[1], str):
        try:
            return KINDS[x[0]](x[1])
        except (ValueError, TypeError, ArithmeticError):
            pass
    raise Flaw(f"a row that waits for its label cannot have the cell {str(x)[:60]}")


def _whole(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LARGEST_COUNT


def _is_sum(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf
