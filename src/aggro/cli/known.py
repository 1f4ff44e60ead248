"""How much of some data a model knows: what it does not know cannot count, and must not go unsaid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aggro.cli.console import Mistake
from aggro.cli.reading import names_listed
from aggro.learners.base.inside import model_of

if TYPE_CHECKING:
    from aggro.streams import Chunk, Stream

MANY_UNKNOWN = 0.25  # words and categories that are not known are said if they are this share of all


class Known:
    """Looks at chunks before they are predicted. Data of which nothing is known are refused."""

    def __init__(self, learner: Any, stream: Stream) -> None:
        self.learner, self.stream = learner, stream
        self.model = learner.estimator_ if hasattr(learner, "columns_") else learner  # what takes the rows of ``look``
        self.rows = 0
        self.known = self.unknown = 0  # features that the rows have
        self.columns: tuple[list[str], list[str]] = ([], [])  # of a table: those that it lacks, and those not known

    def look(self, chunk: Chunk) -> Chunk:
        """Count what is known of these rows, and give them as ``model`` takes them."""
        # Nothing to look at; the chunk still carries its position.
        if not chunk.n_rows:
            return chunk
        self.rows += chunk.n_rows
        if chunk.columns is not None:
            chunk = self._look_at_table(chunk)
        else:
            self._look_at_features(chunk)
        # Not one known feature so far: any prediction would be that of an empty row.
        if self.unknown and not self.known:
            raise Mistake(
                f"{self.stream.sources[0].title}: the model knows none of the features of these rows, so it cannot "
                f"predict them. {self._expected()}"
            )
        return chunk

    def _expected(self) -> str:
        columns = getattr(self.learner, "columns_", None)
        if columns is not None:
            return f"It was trained on the columns {names_listed(columns)}."
        features = self._features()
        if features.names is None:
            what = f"It was trained on {features.n:,} features by number."
            return f"{what} Is this the right model, and do the data need --zero-based?"
        return f"It was trained on {names_listed(map(str, features.names))}. Are the columns the same?"

    def _features(self) -> Any:
        model = model_of(self.learner)
        assert model is not None
        return model.features

    def _look_at_table(self, chunk: Chunk) -> Chunk:
        from aggro.streams.tables.roles import USED_ROLES

        columns = self.learner.columns_
        used = [name for name, column in columns.items() if column.role in USED_ROLES]
        # A table that was read in a thread is ready cells, and lists its columns by itself.
        there = set(chunk.X if hasattr(chunk.X, "some") else chunk.X.column_names)
        lacking = [name for name in used if name not in there]
        strange = [name for name, column in self.stream.columns.items() if name not in columns]
        self.columns = lacking, strange
        # Not one column of the model: probably another file, or a header taken for a row.
        if used and len(lacking) == len(used):
            file = names_listed(self.stream.columns)
            raise Mistake(
                f"{self.stream.sources[0].title} has none of the columns that the model was trained on: expected "
                f"{names_listed(used)}; it has {file}. Is it the right file, and is its first line a header "
                "(--header, --no-header)?"
            )
        # Encoded once, for looking and for predicting.
        found = self.learner.encoded(chunk.X)
        # Tables of numbers alone have no words to count, so their entries stand for them.
        self.known += found.known + found.X.nnz * (found.known == 0)  # numbers are known
        self.unknown += found.unknown
        return chunk._replace(X=found.X, columns=None)

    def _look_at_features(self, chunk: Chunk) -> None:
        features, X = self._features(), chunk.X
        if chunk.names is not None:
            known = np.array([name in features.index for name in chunk.names], bool)
        else:
            known = np.arange(X.shape[1]) < features.n
        # Entries that are not 0, column by column; dense rows have all of them.
        if hasattr(X, "indptr"):
            counts = np.bincount(X.indices, minlength=X.shape[1])
        else:
            counts = np.full(X.shape[1], X.shape[0])
        self.known += int(counts[known].sum())
        self.unknown += int(counts[~known].sum())

    def lines(self) -> list[str]:
        """What there is to say, once all rows have been looked at."""
        lines = []
        lacking, strange = self.columns
        if lacking:
            lines.append(
                f"Note: the data lack {len(lacking):,} of the columns that the model has learned from, and these count "
                f"as missing: {names_listed(lacking)}."
            )
        if strange:
            lines.append(
                f"Note: {len(strange):,} column(s) are unknown to the model and were ignored: {names_listed(strange)}."
            )
        total = self.known + self.unknown
        if self.unknown >= MANY_UNKNOWN * total and self.unknown:
            what = "words and categories" if hasattr(self.learner, "columns_") else "features"
            lines.append(
                f"Note: {self.unknown:,} of {total:,} {what} ({self.unknown / total:.0%}) are not known to the model."
            )
        return lines
