"""Predictions as a table: columns of the data that are kept, the prediction, and probabilities or a score."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from aggro.cli.console import Mistake, json_text
from aggro.learners.base.inside import task_of

TABLES = {".csv": ",", ".tsv": "\t", ".jsonl": "", ".ndjson": ""}  # what separates cells; "" for JSON Lines
ALL_COLUMNS = "*"
PREDICTION, PROBABILITY, SCORE = "prediction", "probability_{}", "score"


class PredictionTable:
    """Makes the text of a table, chunk by chunk."""

    def __init__(self, learner: Any, delimiter: str, keep: Sequence[str], shares: bool) -> None:
        self.delimiter, self.keep = delimiter, list(keep)
        self.task = task_of(learner)
        self.shares = shares and self.task == "classification" and hasattr(learner, "proba_chunk")
        self._begun = False

    def text(self, model: Any, chunk: Any, seen: Any) -> str:
        """The rows of a chunk; ``seen`` is the chunk as the model takes it."""
        # Kept columns from the data as they stand, predictions from the rows as encoded.
        columns = self._kept(chunk)
        names = self._names(columns, model)
        cells = [*columns.values(), *self._predicted(model, seen)]
        rows = zip(*cells, strict=True)
        if not self.delimiter:
            return "".join(json_text(dict(zip(names, row, strict=True))) + "\n" for row in rows)
        out = io.StringIO()
        writer = csv.writer(out, delimiter=self.delimiter, lineterminator="\n")
        # The header once, above the first rows.
        if not self._begun:
            writer.writerow(names)
            self._begun = True
        writer.writerows(rows)
        return out.getvalue()

    def _names(self, columns: dict[str, Any], model: Any) -> list[str]:
        """The columns of the table; those kept that have the name of one made here come with a star."""
        made = [PREDICTION]
        if self.shares:
            made += [PROBABILITY.format(label) for label in model.classes_.tolist()]
        elif self.task == "outlier":
            made += [SCORE]
        # A kept column must not hide the prediction.
        return [f"{name}*" if name in made else name for name in columns] + made

    def _predicted(self, model: Any, seen: Any) -> list[list[Any]]:
        found = [model.predict_chunk(seen).tolist()]
        if self.shares:
            found += model.proba_chunk(seen).T.tolist()
        elif self.task == "outlier":
            found.append(model.decision_chunk(seen).tolist())
        return found

    def _kept(self, chunk: Any) -> dict[str, list[Any]]:
        if not self.keep:
            return {}
        there = chunk.cells.column_names
        # «*» means all columns only if it stands alone.
        names = there if self.keep == [ALL_COLUMNS] else self.keep
        missing = [name for name in names if name not in there]
        if missing:
            raise Mistake(f"--keep: the data have no column {missing[0]!r}. Their columns are {', '.join(there[:30])}.")
        return {name: chunk.cells.column(name).to_pylist() for name in names}


def delimiter_for(name: str | None) -> str | None:
    """What separates the cells of a table in this file, "" for JSON Lines; None if its name is of no table."""
    ending = "." + (name or "").lower().rpartition(".")[2]
    return TABLES.get(ending)
