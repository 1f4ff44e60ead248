"""Learn rows so that the model does not depend on how a stream was cut into batches.

A batch ends where time ran out, or the process was killed, so a batch must never show in the model. Records are learned
together only where that is sure to have the bits of one by one: when every column has its role for good, and none is
nested. Columns get their roles in their first rows, so these are learned one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from aggro.interop.brokers.records import one_line

PLAIN_CELLS = {str, int, float, bool, type(None)}  # cells that make one column, whatever the others are
REFUSALS = (ValueError, TypeError, OverflowError)  # what a learner raises for a row that it cannot learn


class Row(NamedTuple):
    """A record with its label."""

    record: dict[str, Any]
    label: Any


def learn(learner: Any, rows: Sequence[Row]) -> dict[int, str]:
    """Learn rows in order; for each that was refused, by its number, the reason."""
    refused: dict[int, str] = {}
    start = 0
    while start < len(rows):
        # Known columns may be learned together; the row after them may give a column its role, so it stands alone.
        stop = end_of_the_known(learner, rows, start)
        some = rows[start:stop]
        # All or nothing: after a refusal the same rows are learned one by one, to find the one to blame.
        if len(some) > 1 and learned_together(learner, [row.record for row in some], [row.label for row in some]):
            start = stop
            continue
        # At least one row each time, or the loop would not end where the first row is unknown.
        for k in range(start, max(stop, start + 1)):
            if (reason := learned(learner, rows[k])) is not None:
                refused[k] = reason
        start = max(stop, start + 1)
    return refused


def end_of_the_known(learner: Any, rows: Sequence[Row], start: int) -> int:
    """The row up to which all columns are known, and have their roles for good."""
    encoder = getattr(learner, "encoder_", None)
    # While the encoder still collects its sample, no role is final.
    if encoder is None or encoder.sample:
        return start
    columns = encoder.columns.keys()
    for k in range(start, len(rows)):
        record = rows[k].record
        # Nested cells become columns that the keys do not show.
        if not record.keys() <= columns or not PLAIN_CELLS.issuperset(map(type, record.values())):
            return k
    return len(rows)


def learned_together(learner: Any, records: Any, labels: Sequence[Any]) -> bool:
    """Learn records in one call; False if one of them was refused, and then none was learned."""
    try:
        if labels:
            learner.partial_fit(records, labels)
    except REFUSALS:
        return False
    return True


def learned(learner: Any, row: Row) -> str | None:
    """Learn one row; the reason if it was refused, and then nothing was learned."""
    try:
        learner.learn_one(row.record, row.label)
    except REFUSALS as error:
        return one_line(error)
    return None
