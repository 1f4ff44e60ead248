"""The rows that were labelled, as a table: their columns as they are in the data, and the labels that were given."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from aggro.cli.console import Mistake, json_text
from aggro.cli.labelling.journal import ANSWER, Event
from aggro.cli.outputs import writing
from aggro.cli.prediction_tables import delimiter_for

LABEL_COLUMN = "label"


def check_export(path: Path) -> None:
    if delimiter_for(path.name) is None:
        raise Mistake(f"{path}: labelled rows are written as .csv, .tsv or .jsonl.")


def export(path: Path, events: Iterable[Event], stream: Any, hidden: str | None) -> int:
    """Write the rows that were answered, in the order of the data; how many there are.

    The label's column has the name of the one that people did not see, if there was one.
    """
    # By row: an answer that was given again counts as it was last.
    labels = {event.row: event.label for event in events if event.do == ANSWER}
    rows = [dict(row, **{hidden or LABEL_COLUMN: labels[number]}) for number, row in _found(labels, stream, hidden)]
    delimiter = delimiter_for(path.name)
    out = io.StringIO()
    if delimiter:
        # The fields of all rows, in the order of their first appearance; the label comes last.
        names = [
            name for name in dict.fromkeys(name for row in rows for name in row) if name != (hidden or LABEL_COLUMN)
        ]
        writer = csv.DictWriter(out, [*names, hidden or LABEL_COLUMN], delimiter=delimiter, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    else:
        out.write("".join(json_text(row) + "\n" for row in rows))
    with writing(path, "the labelled rows") as file:
        file.write(out.getvalue().encode())
    return len(rows)


def _found(labels: dict[int, Any], stream: Any, hidden: str | None) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows with these numbers, as they stand in the data."""
    from aggro.cli.labelling.rows import row_of
    from aggro.streams import Position

    # From the start again: rows were passed over in between.
    stream.start = Position()
    first, last = 0, max(labels, default=-1)
    for chunk in stream:
        # In the order of the data, not of the answers.
        for number in sorted(number for number in labels if first <= number < first + chunk.n_rows):
            i = number - first
            if chunk.cells is not None:
                names = [name for name in chunk.cells.column_names if name != hidden]
                yield number, {name: chunk.cells.column(name)[i].as_py() for name in names}
            else:
                x, _ = row_of(chunk, i)
                by_name = zip(x[0].tolist(), x[1].tolist(), strict=True) if isinstance(x, tuple) else x.items()
                yield number, {str(name): value for name, value in by_name}
        first += chunk.n_rows
        # No row behind the last answered one is needed.
        if first > last:
            return
