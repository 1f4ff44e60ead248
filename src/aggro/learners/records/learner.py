"""A learner for raw records, tables and texts: an encoder, and any learner behind it."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import Any, ClassVar, Self

import numpy as np

from aggro.encoding.cells import Columns, columns_of
from aggro.encoding.encoder import Encoded, Encoder, Options
from aggro.engine.frames import validated
from aggro.learners.base.attributes import Settable
from aggro.learners.base.available import available
from aggro.learners.base.detector import Detector
from aggro.learners.base.drifts import tells
from aggro.learners.base.formula import Formula
from aggro.learners.base.inputs import as_weights
from aggro.learners.base.inside import model_of, task_of
from aggro.learners.base.later import TakesLaterLabels, predict_for_later
from aggro.learners.base.learner import Learner
from aggro.learners.base.one_row import Explanation, as_weight
from aggro.learners.base.params import Choice, Constraint, Flag, Kind, Number, check_params
from aggro.learners.model.features import Ordered
from aggro.learners.model.forks import Turn, turn_of
from aggro.learners.records.answers import Answers, classifies, detects
from aggro.learners.records.formula import number_stages
from aggro.learners.records.given import (
    Rows,
    as_record,
    check_width,
    described,
    names_of,
    of_fractions,
    some_rows,
    taken,
    warn_of_numbers,
)
from aggro.streams.tables.flatten import flat_record
from aggro.streams.tables.roles import NOTHING_SAID, USED_ROLES, Column
from aggro.streams.tables.written_numbers import check_marks

NONE = Kind(None, "None")
PASSED_ON = ("forget", "asked", "as_asked", "flush")  # what is asked of an ActiveLearner inside as it is


def asks(learner: Any) -> bool:
    """Whether the learner inside asks for labels."""
    inner = learner.__dict__.get("estimator_") or learner.__dict__.get("estimator")
    return hasattr(inner, "query_one")


class Names:
    """A constraint: a name, several names, or None."""

    def accepts(self, value: Any) -> bool:
        if value is None or isinstance(value, str):
            return True
        return isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)

    def __str__(self) -> str:
        return "a name, a list of names or None"


class Optional:
    """A constraint: one of a few values, or None."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values

    def accepts(self, value: Any) -> bool:
        return value is None or any(type(value) is type(one) and value == one for one in self.values)

    def __str__(self) -> str:
        return f"one of {', '.join(map(repr, self.values))}, or None"


def of_scaled_numbers(learner: Any) -> Any:
    """Change a learner with ``scale="auto"`` to scale targets alone, since the encoder scales numbers already."""
    if learner.__dict__.get("scale") == "auto":
        learner.scale = "target" if task_of(learner) == "regression" else None
    return learner


class RecordLearner(Answers, TakesLaterLabels, Settable):
    """Learn from raw records, tables or texts: numbers, categories, text and dates, without preparation.

    aggro works out the role of each column from its first rows. It scales numbers, turns categories and words into
    features as they appear, splits dates into parts, and leaves out ids. It learns all of this in the same pass as
    the model, saves it with the model, and uses it for every prediction.

    Parameters
    ----------
    estimator : learner, default=None
        The learner to train; aggro copies it. Any learner of this library works, including an ``ActiveLearner``.
        None means ``PAClassifier()``, or ``PARegressor()`` if the first labels are numbers with fractions.
    number, category, text, date, ignore : str or list of str, default=None
        Columns with these roles. aggro guesses the roles of all other columns from their names and first values.
    na : str or list of str, default=None
        Words that mean a missing value, in addition to the usual ones ("", "?", "NA", "n/a", "null" …). In a column
        of numbers every word means a missing value.
    decimal, thousands : str, default=None
        Decimal and thousands marks of numbers in text, such as decimal="," and thousands="." for 60.355,18. With
        None, aggro guesses them for each column.
    dayfirst : bool, default=None
        Whether 03/04/2024 is the third of April. With None, aggro guesses it for each column.
    scale : bool, default=True
        Whether to standardise numbers with their mean and standard deviation so far.
    words : {"counts", "presence"}, default="counts"
        Whether a word counts as often as it occurs in a text, or once.
    ngrams : int, default=1
        Longest sequence of consecutive words that becomes a feature.
    max_features : int, default=2**20
        Maximum number of categories and words with a feature of their own. Later ones share a feature with an
        earlier one.

    Attributes
    ----------
    estimator_ : learner
        The learner inside. Its counters and weights are also available here: ``n_seen_``, ``classes_``, ``coef_``
        ….
    columns_ : dict
        Role of each column, and the reason for it.
    feature_names_ : list of str
        Names of the features made from the columns, such as "age", "plan=basic", "note:refund",
        "since:weekday=Monday".
    strays_ : dict
        Number of cells in each number or date column that held something else and counted as missing.
    n_features_in_ : int
        Number of known columns.

    Examples
    --------
    >>> from aggro import RecordLearner
    >>> model = RecordLearner()
    >>> tickets = [
    ...     ({"plan": "basic", "age": 23, "note": "wants a refund"}, "leaves"),
    ...     ({"plan": "pro", "age": 51, "note": "asks how to add a user"}, "stays"),
    ...     ({"plan": "basic", "age": 35, "note": "second refund this year"}, "leaves"),
    ...     ({"plan": "pro", "age": None, "note": "happy with the service"}, "stays"),
    ... ]
    >>> for record, outcome in tickets:
    ...     model = model.learn_one(record, outcome)
    >>> model.predict_one({"plan": "basic", "note": "a refund please"})
    'leaves'
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "number": Names(),
        "category": Names(),
        "text": Names(),
        "date": Names(),
        "ignore": Names(),
        "na": Names(),
        "decimal": Optional((",", ".")),
        "thousands": Optional((",", ".", " ", "'", "")),
        "dayfirst": Optional((True, False)),
        "scale": Flag(),
        "words": Choice(("counts", "presence")),
        "ngrams": Number(1, 8, integer=True),
        "max_features": Number(1, 2**30, integer=True),
    }
    estimator_: Any
    _encoder: Encoder
    _lock: Turn

    def __init__(
        self,
        estimator: Any = None,
        *,
        number: str | Sequence[str] | None = None,
        category: str | Sequence[str] | None = None,
        text: str | Sequence[str] | None = None,
        date: str | Sequence[str] | None = None,
        ignore: str | Sequence[str] | None = None,
        na: str | Sequence[str] | None = None,
        decimal: str | None = None,
        thousands: str | None = None,
        dayfirst: bool | None = None,
        scale: bool = True,
        words: str = "counts",
        ngrams: int = 1,
        max_features: int = 2**20,
    ) -> None:
        self.estimator = estimator
        self.number = number
        self.category = category
        self.text = text
        self.date = date
        self.ignore = ignore
        self.na = na
        self.decimal = decimal
        self.thousands = thousands
        self.dayfirst = dayfirst
        self.scale = scale
        self.words = words
        self.ngrams = ngrams
        self.max_features = max_features

    # One record -----------------------------------------------------------------------------------

    @tells
    def learn_one(self, x: Any, y: Any = None, weight: float = 1.0) -> Self:
        """Learn one record.

        Parameters
        ----------
        x : dict or str
            The record: its fields by name, with numbers, text, dates, truth values or None; or a text.
        y : label or float
            Its target; none for an outlier detector.
        weight : float, default=1.0
            How much the record counts: it scales C.
        """
        record = as_record(x)
        self._turn_to_take().alone(self._learn_record, record, y, weight)
        return self

    def _learn_record(self, record: Any, y: Any, weight: float) -> None:
        encoder, inner = self._encoder, self.estimator_
        # A record of weight 0 is not there: the encoder does not see it either.
        if as_weight(weight) == 0.0:
            return
        record = flat_record(record, encoder.columns)
        # The encoder learns first and grows; if the learner inside refuses the row, both are as before.
        mark = encoder.mark()
        try:
            row = Ordered(*encoder.learn_one(record))
            inner = self._suit(inner, y)
            if isinstance(inner, Detector):
                inner.learn_one(row, weight=weight)
            else:
                inner.learn_one(row, y, weight)
        except BaseException:
            encoder.restore(mark)
            raise

    def predict_one(self, x: Any, id: Any = None) -> Any:
        """Predict the label, or the number, of one record; None before the first record is learned.

        With an ``id``, aggro keeps the record for ``label(id, y)``.
        """
        if id is not None:
            return predict_for_later(self, x, id)
        record = as_record(x)
        # Nothing is known: as the learner inside answers before its first row.
        if "_encoder" not in self.__dict__:
            self._check_params()
            return self._copy_of_estimator().predict_one({})
        return self._turn_to_take().alone(self._predict_record, record)

    def _predict_record(self, record: Any) -> Any:
        record = flat_record(record, self._encoder.columns)
        self._check_known(self._encoder, record, "record has no field")
        return self.estimator_.predict_one(Ordered(*self._encoder.transform_one(record)))

    def decision_one(self, x: Any) -> Any:
        """Compute the score of one record, with the learner inside."""
        record = as_record(x)
        with self._asked(record) as (inner, row):
            return inner.decision_one(row)

    @available(detects)
    def score_one(self, x: Any) -> float:
        """Score how usual one record is; needs an outlier detector inside."""
        with self._asked(as_record(x)) as (inner, row):
            return float(inner.score_one(row))

    def explain_one(self, x: Any, label: Any = None) -> Explanation:
        """Explain the score of one record by the contributions of its cells, categories and words.

        Parameters
        ----------
        x : dict or str
            The record.
        label : label, default=None
            The class whose score to explain. None means the predicted class.

        Returns
        -------
        explanation : Explanation
            Contributions by feature, the largest first: "age", "plan=basic", "note:refund". With ``intercept`` they
            sum to ``score``.
        """
        record = as_record(x)
        with self._asked(record) as (inner, row):
            if label is None and task_of(inner) == "classification":
                # Without a label the predicted class is explained, by the same row and model.
                label = inner.predict_one(row)
            found = inner.explain_one(row, *(() if label is None else (label,)))
            parts: dict[str, float] = {}
            # Cells of a column may be several features: their parts are added under one name.
            for feature, part in found.items():
                name = self._encoder.name(feature)
                parts[name] = parts.get(name, 0.0) + part
        return Explanation(parts, found.intercept, found.score, found.label)

    @contextmanager
    def _asked(self, record: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
        """A context for one record: the learner inside and the encoded record, while no other thread learns."""
        if "_encoder" not in self.__dict__:
            self._check_params()
            yield self._copy_of_estimator(), {}
            return
        with self._turn() as (encoder, inner):
            record = flat_record(record, encoder.columns)
            self._check_known(encoder, record, "record has no field")
            yield inner, Ordered(*encoder.transform_one(record))

    @available(classifies)
    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Estimate the probability of each class for one record, as a dict; it is empty before the first record."""
        record = as_record(x)
        if "_encoder" not in self.__dict__:
            self._check_params()
            return {}
        with self._asked(record) as (inner, row):
            return dict(inner.predict_proba_one(row))

    # Many -----------------------------------------------------------------------------------------

    @tells
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train from scratch.

        Parameters
        ----------
        X : frame, list of records, list of texts, or array
            The rows, raw: a frame of pandas, polars or pyarrow, dicts, or strings.
        y : array of shape (n_samples,)
            Their labels, or the numbers to predict.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row, which scales C. A row of weight 0 is skipped.

        Returns
        -------
        self : object
            The learner.
        """
        self._check_params()
        inner = self._copy_of_estimator(y)
        # Inside, a warm start would go on with features that a new encoder numbers differently.
        if inner.__dict__.get("warm_start"):
            raise ValueError(
                "fit starts from scratch, so warm_start=True inside has no effect. Call partial_fit to continue."
            )
        # A new encoder and a new learner, beside those in use.
        encoder = self.new_encoder()
        rows = self._learned(encoder, X, y, sample_weight)
        if task_of(inner) == "classification":
            warn_of_numbers(rows.y)
        given = (rows.X,) if task_of(inner) == "outlier" else (rows.X, rows.y)
        inner.fit(*given, sample_weight=rows.weight)
        # Published together: features mean nothing without the encoder that numbers them.
        with self._turn():
            self.__dict__.update(_encoder=encoder, estimator_=inner)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue training with one pass over these rows, in order.

        Parameters
        ----------
        X : frame, list of records, list of texts, or array
            The rows, raw. Columns may be new, missing or in another order.
        y : array of shape (n_samples,)
            Their labels, or the numbers to predict.
        classes : array, default=None
            Classes that may appear later, to list in ``classes_`` from the start.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row, which scales C. A row of weight 0 is skipped.

        Returns
        -------
        self : object
            The learner.
        """
        return self._go_on(X, y, classes, sample_weight, {})

    @tells
    def _go_on(self, X: Any, y: Any, classes: Any, sample_weight: Any, columns: Mapping[str, Column]) -> Self:
        with self._turn() as (encoder, inner):
            # The encoder grows before the learner inside has accepted the rows.
            mark = encoder.mark()
            try:
                # The roles that a stream names hold from the first chunk on.
                if columns and not encoder.columns:
                    encoder.settle(columns)
                rows = self._learned(encoder, X, y, sample_weight)
                inner = self._suit(inner, y) if classes is None else inner
                if classes is None:
                    inner.learn_chunk(rows)
                # ``classes`` are names to reserve: only ``_partial_fit`` takes them.
                elif isinstance(inner, Learner) and task_of(inner) == "classification":
                    inner._partial_fit(rows.X, rows.y, rows.weight, classes, None, True)
                else:
                    raise ValueError(f"{type(inner).__name__} finds new classes by itself: leave classes= out.")
            except BaseException:
                encoder.restore(mark)
                raise
        return self

    def learn_chunk(self, chunk: Any) -> Self:
        """Learn a raw chunk of a stream: ``aggro.streams.open(path, raw=True)``."""
        return self._go_on(chunk.X, chunk.y, None, chunk.weight, getattr(chunk, "columns", None) or {})

    def encoded(self, X: Any) -> Encoded:
        """Encode rows as the learner inside sees them, and count their known and unknown categories and words."""
        self._known()
        columns, n = self._table(X)
        with self._turn() as (encoder, _):
            # An array has no names, so its width is all there is to know it by.
            check_width(self, encoder, X)
            columns = encoder.flat(columns)
            self._check_known(encoder, columns, "table has no column")
            return encoder.transform(columns, n)

    def _table(self, X: Any) -> tuple[Columns, int]:
        columns, n = columns_of(X)
        if not n:
            raise ValueError(f"Found array with 0 sample(s) while a minimum of 1 is required by {type(self).__name__}.")
        return columns, n

    @contextmanager
    def _asked_about(self, X: Any) -> Iterator[tuple[Any, Rows]]:
        """A context for many rows: the learner inside and the encoded rows, while no other thread learns."""
        if model_of(self) is None:
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit', 'partial_fit' or 'learn_one' with "
                "appropriate arguments before using this estimator."
            )
        columns, n = self._table(X)
        with self._turn() as (encoder, inner):
            check_width(self, encoder, X)
            columns = encoder.flat(columns)
            self._check_known(encoder, columns, "table has no column")
            self._warn_of_missing(encoder, columns)
            yield inner, Rows(encoder.transform(columns, n).X)

    @staticmethod
    def _warn_of_missing(encoder: Encoder, names: Columns) -> None:
        # Columns that were left out of learning are not missed.
        missing = [name for name, column in encoder.columns.items() if column.role in USED_ROLES and name not in names]
        if missing:
            shown = ", ".join(map(repr, missing[:5])) + (" …" if len(missing) > 5 else "")
            warnings.warn(
                f"The table lacks {len(missing)} of the columns that the model was trained on; they count as missing: "
                f"{shown}.",
                UserWarning,
                stacklevel=5,
            )

    def _learned(self, encoder: Encoder, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Encode rows, and let the encoder learn from them; rows of weight 0 are left out."""
        columns, n = self._table(X)
        check_width(self, encoder, X)
        y = validated(y)
        columns = encoder.flat(columns)
        # The length of y is checked before the encoder learns anything.
        if y is not None and hasattr(y, "__len__") and len(y) != n:
            raise ValueError(f"Found input variables with inconsistent numbers of samples: [{n}, {len(y)}]")
        weights = as_weights(sample_weight, n)
        # Rows of weight 0 are left out before the encoder counts their categories.
        if weights.shape[0] and not weights.all():
            there = np.flatnonzero(weights)
            if not there.size:
                raise ValueError("Every sample_weight is zero: there is nothing to learn from.")
            columns = some_rows(columns, there)
            y = None if y is None else taken(y if isinstance(y, list) else np.asarray(y), there)
            weights, n = weights[there], there.size
        X = encoder.learn(columns, n).X
        # Without a feature there is nothing to learn from, and roles can be named.
        if not encoder.width:
            raise ValueError(
                f"None of the columns can be learned from: {described(encoder.columns)}. Say what they are, such as "
                "category=['zip']."
            )
        return Rows(X, y, weights if weights.shape[0] else None)

    @staticmethod
    def _check_known(encoder: Encoder, columns: Columns | Mapping[str, Any], what: str) -> None:
        """Refuse rows without a single column that the model has learned from."""
        met = encoder.columns
        if any(name in met and met[name].role in USED_ROLES for name in columns):
            return
        known = [name for name, column in met.items() if column.role in USED_ROLES]
        # Before anything was learned, any record will do.
        if not known:
            return
        wanted = ", ".join(map(repr, known[:10])) + (" …" if len(known) > 10 else "")
        given = ", ".join(map(repr, [*columns][:10])) or "nothing"
        raise ValueError(f"The {what} that the model has learned from. Expected {wanted}; got {given}.")

    # What is known --------------------------------------------------------------------------------

    @property
    def columns_(self) -> dict[str, Column]:
        """The known columns and their roles."""
        return dict(self._known().columns)

    @property
    def strays_(self) -> dict[str, int]:
        """Number of cells in each number or date column that held something else."""
        return dict(self._known().counts.strays)

    @property
    def n_features_in_(self) -> int:
        """The number of known columns."""
        return len(self._known().columns)

    @property
    def encoder_(self) -> Encoder:
        """The encoder, which turns cells into features."""
        return self._known()

    def _known(self) -> Encoder:
        if "_encoder" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has seen nothing yet")
        return self._encoder

    def __getattr__(self, name: str) -> Any:
        """Fitted attributes of the learner inside, and the methods of an active learner."""
        inner = self.__dict__.get("estimator_")
        # Names that copying and pickling look up before ``__init__`` must not be searched for inside.
        if name.startswith("__") or name in ("estimator_", "_encoder", "_lock"):
            raise AttributeError(name)
        # Fitted attributes end in an underscore, as in scikit-learn.
        if name.endswith("_") and inner is not None:
            return getattr(inner, name)
        if name in PASSED_ON and hasattr(inner, name) and "estimator_" in self.__dict__:
            return getattr(inner, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # Asking, with an ActiveLearner inside ---------------------------------------------------------

    @available(asks)
    def query_one(self, x: Any) -> bool:
        """Decide whether to ask for the label of one record; needs an ``ActiveLearner`` inside."""
        record = as_record(x)
        with self._turn() as (encoder, inner):
            record = flat_record(record, encoder.columns)
            self._check_known(encoder, record, "record has no field")
            return bool(inner.query_one(encoder.transform_one(record)))

    @available(asks)
    def ask(self, id: Any, x: Any) -> bool:
        """Decide whether to ask for the label of one record; if so, keep it for ``answer``."""
        record = as_record(x)
        with self._turn() as (encoder, inner):
            record = flat_record(record, encoder.columns)
            self._check_known(encoder, record, "record has no field")
            return bool(inner.ask(id, encoder.transform_one(record)))

    @available(asks)
    @tells
    def answer(self, id: Any, y: Any, weight: float = 1.0) -> Self:
        """Learn a record that waits for its label. Answers may arrive in any order."""
        self.estimator_.answer(id, y, weight)
        return self

    @available(asks)
    def query_chunk(self, chunk: Any, start: int = 0, stop: int | None = None, *, insist: bool = False) -> int | None:
        """Find the first row of a raw chunk to ask about, and pass over the rows before it."""
        with self._turn() as (encoder, inner):
            # The roles that a stream names hold from the first chunk on.
            if not encoder.columns and getattr(chunk, "columns", None):
                encoder.settle(chunk.columns)
            columns, n = columns_of(chunk.X)
            # Encoded without learning: what is asked about is not learned yet.
            rows = Rows(encoder.transform(encoder.flat(columns), n).X, weight=chunk.weight)
            found: int | None = inner.query_chunk(rows, start, stop, insist=insist)
            return found

    # The parts ------------------------------------------------------------------------------------

    def settle(self, columns: Mapping[str, Column]) -> Self:
        """Set the roles of all columns for good, before anything is learned.

        Parameters
        ----------
        columns : dict of Column
            The columns of a stream: ``aggro.streams.open(path, raw=True).columns``.
        """
        with self._turn() as (encoder, _):
            if encoder.counts.rows:
                raise ValueError("Rows have been learned already: the columns have their roles.")
            encoder.settle(columns)
        return self

    def go_on_with(self, learner: Any, encoder: Encoder) -> Self:
        """Continue with a trained learner and a trained encoder; they are not copied."""
        if learner is not None:
            self._check_inner(learner)
        self._check_params()
        # Both at once, under the turn: a call in between would mix old features with a new learner.
        with turn_of(self).lock:
            self.__dict__.update(estimator_=learner, _encoder=encoder)
        return self

    def save(self, path: Any) -> None:
        """Save the encoder and the learner in a file, completely or not at all; ``aggro.load(path)`` loads them."""
        from aggro.models import save

        save(self, path)

    @contextmanager
    def turn(self) -> Iterator[Any]:
        """The learner inside, while no other thread learns or asks."""
        with self._turn() as (_, inner):
            yield inner

    @contextmanager
    def _turn(self) -> Iterator[tuple[Encoder, Any]]:
        turn = self._turn_to_take()
        with turn.lock:
            turn.thread = get_ident()
            with turn.in_call:
                yield self._encoder, self.estimator_

    def _turn_to_take(self) -> Turn:
        """The turn to take before a call. Makes the encoder and the learner inside, if there are none yet."""
        turn = turn_of(self)
        turn.check_free()
        if "_encoder" not in self.__dict__:
            # A second check under the lock: another thread may have made both since.
            with turn.lock:
                if "_encoder" not in self.__dict__:
                    self._check_params()
                    self.__dict__.update(_encoder=self.new_encoder(), estimator_=self._copy_of_estimator())
        return turn

    def new_encoder(self) -> Encoder:
        """Make an empty encoder, with the current parameters."""
        said_of = ("number", "category", "text", "date", "ignore", "na")
        roles: dict[str, Any] = {role: names_of(getattr(self, role)) for role in said_of}
        said = NOTHING_SAID._replace(**roles)
        said = said._replace(decimal=self.decimal, thousands=self.thousands, dayfirst=self.dayfirst)
        said.roles()  # refuses a column with two of them
        check_marks(said.decimal, said.thousands)
        return Encoder(said, Options(bool(self.scale), self.words, int(self.ngrams), int(self.max_features)))

    def _copy_of_estimator(self, y: Any = None) -> Any:
        """Make an untrained learner to put inside; without an ``estimator``, its task follows from the labels y."""
        inner = self._unlearned(y)
        return of_scaled_numbers(inner) if self.scale else inner

    def _suit(self, inner: Any, y: Any) -> Any:
        """The learner inside; without an ``estimator``, a regressor replaces it if the first labels have fractions."""
        if self.estimator is None and y is not None and model_of(inner) is None and of_fractions(y):
            inner = self.estimator_ = self._copy_of_estimator(y)
        return inner

    def _unlearned(self, y: Any = None) -> Any:
        if self.estimator is None:
            from aggro import estimators

            return estimators.PARegressor() if y is not None and of_fractions(y) else estimators.PAClassifier()
        # A learner that has learned nothing is copied whole; of a trained one only the parameters are taken.
        if "_model" not in self.estimator.__dict__ and "estimator_" not in self.estimator.__dict__:
            return copy.deepcopy(self.estimator)
        from sklearn.base import clone  # without what it has learned

        return clone(self.estimator)

    def _check_params(self) -> None:
        check_params(type(self).__name__, self._constraints, self.__dict__)
        if self.estimator is not None:
            self._check_inner(self.estimator)

    def _check_inner(self, inner: Any) -> None:
        name = type(self).__name__
        if isinstance(inner, RecordLearner) or not (isinstance(inner, Learner) or hasattr(inner, "query_one")):
            raise TypeError(f"The 'estimator' parameter of {name} must be a learner of aggro, got {inner!r}.")
        if inner.__dict__.get("kernel") == "precomputed":
            raise ValueError(f"{name} makes features of records, and kernel='precomputed' has none.")

    def _encoded_numbers(self, n: int) -> tuple[Formula, list[str]]:
        """The stages from cells to the first n features, and the columns of these cells. Needs the turn."""
        return number_stages(self._encoder, n)

    def _begin_pass(self, model: Any, number: int) -> None:
        self.estimator_._begin_pass(model, number)

    def __sklearn_is_fitted__(self) -> bool:
        return model_of(self) is not None

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        parent = getattr(super(), "__getstate__", None)
        state = dict(parent() if parent is not None else self.__dict__)
        # A lock belongs to one process.
        state.pop("_lock", None)
        return state
