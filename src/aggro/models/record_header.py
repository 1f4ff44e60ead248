"""What a file keeps of a :class:`RecordLearner`, beside the learner inside: its parameters and its encoder.

A file of a record learner is the file of the learner inside, with one part more in its header, and eight arrays more.
Compiled code reads the vocabulary without a check of its own, so everything is held against what an encoder can be.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from aggro.encoding.dates import CHOICES, DATE_NUMBERS
from aggro.encoding.encoder import Counts, Encoder
from aggro.encoding.layout import Slot
from aggro.encoding.vocabulary import ABSENT_KIND, NUMBER_KIND, PART_KIND, Vocabulary
from aggro.engine.fields import LARGEST_COUNT
from aggro.engine.prepare.moments import Moments
from aggro.learners.base.inside import constraints_of, parameters_of
from aggro.learners.records.learner import RecordLearner
from aggro.models.codec import decode, encode
from aggro.models.container import Container, Spec
from aggro.models.errors import Flaw
from aggro.streams.tables.roles import CELLS_LOOKED_AT, Column, Role

RECORDS_PREFIX = "records."
RECORD_KEYS = {"parameters", "columns", "numbers", "dates", "rows", "strays", "sample"}
VOCABULARY: dict[str, np.dtype[Any]] = {
    "keys": np.dtype(np.uint64),
    "kinds": np.dtype(np.uint8),
    "columns": np.dtype(np.uint32),
    "ends": np.dtype(np.int64),
    "letters": np.dtype(np.uint8),
}


def records_of(learner: RecordLearner) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The part of the header that is the record learner's own, and its arrays."""
    encoder = learner.encoder_
    part = {
        "parameters": {name: encode(value) for name, value in parameters_of(learner).items()},
        "columns": [[name, *_plain(encoder.columns[name])] for name in encoder.order],
        "numbers": [list(slot) for slot in encoder.numbers],
        "dates": sorted([column, first] for column, first in encoder.dates.items()),
        "rows": encoder.counts.rows,
        "strays": dict(encoder.counts.strays),
        "sample": {name: encode(cells) for name, cells in encoder.sample.items()},
    }
    arrays = {**encoder.vocabulary.arrays(), **encoder.moments._asdict()}
    return part, {RECORDS_PREFIX + name: array for name, array in arrays.items()}


def _plain(column: Column) -> list[Any]:
    return [str(column.role.value), column.why, column.said, column.pattern]


def with_records(inner: Any, part: Any, container: Container, shell: bool) -> RecordLearner:
    """The record learner around a learner from a file."""
    if set(part) != RECORD_KEYS or not isinstance(part["parameters"], dict):
        raise Flaw("what it says of its columns is not whole")
    # Without the shell, scikit-learn is not imported.
    kind = import_module("aggro.estimators").RecordLearner if shell else RecordLearner
    parameters = {name: decode(value) for name, value in part["parameters"].items()}
    unknown = sorted(set(parameters) - set(constraints_of(kind)))
    if unknown:
        raise Flaw(f"RecordLearner has no parameter {unknown[0]!r}")
    learner: RecordLearner = kind(_unlearned(inner), **parameters)
    # Encoders check their parts themselves; what they refuse is a fault of the file.
    try:
        encoder = learner.new_encoder()
        _fill(encoder, part, container)
        return learner.go_on_with(inner, encoder)
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise Flaw(f"its encoder cannot be ({str(error).rstrip('.')})") from error


def names_in(part: Any, container: Container) -> list[str]:
    """What the features are called, of an open file."""
    return with_records(None, part, container, shell=False).feature_names_


def _unlearned(inner: Any) -> Any:
    """The learner inside as a parameter."""
    if inner is None:
        return None
    given = (inner.__dict__["estimator"],) if "estimator" in inner.__dict__ else ()
    return type(inner)(*given, **parameters_of(inner))


def _fill(encoder: Encoder, part: Any, container: Container) -> None:
    """Let an encoder know what the file knows."""
    # Columns first: everything after refers to them by number.
    columns = part["columns"]
    if not isinstance(columns, list) or not all(isinstance(entry, list) and len(entry) == 5 for entry in columns):
        raise Flaw("its columns are not whole")
    for name, role, why, said, pattern in columns:
        if not all(isinstance(text, str) for text in (name, role, why, pattern)) or type(said) is not bool:
            raise Flaw(f"a column of it cannot be {str(name)[:60]!r}")
        encoder.columns[name] = Column(name, Role(role), why, said, pattern)
        encoder.order.append(name)
    if len(encoder.columns) != len(columns):
        raise Flaw("two columns of it have one name")
    # The vocabulary before the slots, since slots are checked against its features.
    encoder.counts = _counts(part, encoder)
    encoder.vocabulary = _vocabulary(container, encoder)
    encoder.numbers = [Slot(*_slot(entry, encoder)) for entry in _list(part["numbers"])]
    encoder.dates = dict(_date(entry, encoder) for entry in _list(part["dates"]))
    encoder.moments = _moments(container, len(encoder.numbers))
    _check_slots(encoder)
    encoder.sample = _sample(part, encoder)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list) or not all(isinstance(entry, list) for entry in value):
        raise Flaw("its columns are not whole")
    return value


def _whole(value: Any, most: int = LARGEST_COUNT) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise Flaw(f"what it says of its columns cannot be {str(value)[:60]}")
    return value


def _counts(part: Any, encoder: Encoder) -> Counts:
    counts = Counts()
    counts.rows = _whole(part["rows"])
    if not isinstance(part["strays"], dict) or not set(part["strays"]) <= set(encoder.columns):
        raise Flaw("it counts stray words in columns that it does not have")
    counts.strays = {name: _whole(count) for name, count in part["strays"].items()}
    return counts


def _read(container: Container, name: str, dtype: np.dtype, length: int | None = None) -> np.ndarray:
    spec = container.specs.get(RECORDS_PREFIX + name)
    good = spec is not None and spec.dtype == dtype and len(spec.shape) == 1
    if not good or (length is not None and spec != Spec(dtype, (length,))):
        raise Flaw(f"the array {RECORDS_PREFIX + name!r} is {spec or 'absent'}, which no encoder has")
    return container.read(RECORDS_PREFIX + name)


def _vocabulary(container: Container, encoder: Encoder) -> Vocabulary:
    keys = _read(container, "keys", VOCABULARY["keys"])
    n = keys.shape[0]
    arrays = {"keys": keys, "letters": _read(container, "letters", VOCABULARY["letters"])}
    arrays |= {name: _read(container, name, VOCABULARY[name], n) for name in ("kinds", "columns", "ends")}
    # Names lie one behind the other; compiled code slices them by these ends without a check.
    ends = np.concatenate([[0], arrays["ends"]])
    if n >= 2**31 - 1 or (n and (arrays["kinds"] > ABSENT_KIND).any()):
        raise Flaw("a feature of it is of no kind")
    if n and int(arrays["columns"].max()) >= len(encoder.order):
        raise Flaw("a feature of it is of no column")
    if (ends[1:] < ends[:-1]).any() or ends[-1] != arrays["letters"].shape[0]:
        raise Flaw("the names of its features do not fit together")
    # The table is found by hash; the same key twice would hide one of the two features.
    if np.unique(keys).shape[0] < n:
        raise Flaw("two features of it are one")
    return Vocabulary.from_arrays(encoder.options.max_features, arrays)


def _slot(entry: list[Any], encoder: Encoder) -> tuple[int, str, int]:
    column, name, feature = entry
    if name not in ("", *DATE_NUMBERS):
        raise Flaw(f"a number of it cannot be {str(name)[:60]!r}")
    column, feature = _whole(column, len(encoder.order) - 1), _whole(feature, encoder.width - 1)
    kind = NUMBER_KIND if name == "" else PART_KIND
    # A slot that names a foreign feature would let numbers overwrite the weights of words.
    if encoder.vocabulary.kind(feature) != kind or encoder.vocabulary.column(feature) != column:
        raise Flaw("a number of it has the feature of something else")
    return column, name, feature


def _date(entry: list[Any], encoder: Encoder) -> tuple[int, int]:
    column, first = entry
    column = _whole(column, len(encoder.order) - 1)
    # A date has a run of features; all of them must lie within the vocabulary.
    first = _whole(first, encoder.width - len(CHOICES))
    for feature in range(first, first + len(CHOICES)):
        if encoder.vocabulary.kind(feature) != PART_KIND or encoder.vocabulary.column(feature) != column:
            raise Flaw("a date of it has the feature of something else")
    return column, first


def _moments(container: Container, n: int) -> Moments:
    moments = Moments(*(_read(container, name, np.dtype(np.float64), n) for name in Moments._fields))
    if not all(np.isfinite(array).all() for array in moments) or min(moments.counts.min(initial=0), 0) < 0:
        raise Flaw("the means of its numbers cannot be")
    if (moments.squares < 0).any():
        raise Flaw("the deviations of its numbers cannot be")
    return moments


def _check_slots(encoder: Encoder) -> None:
    """Each column of a role has the numbers that it needs, and once."""
    slots = [(slot.column, slot.name) for slot in encoder.numbers]
    if len(set(slots)) < len(slots) or len({slot.feature for slot in encoder.numbers}) < len(slots):
        raise Flaw("a number of it comes twice")
    for number, name in enumerate(encoder.order):
        role = encoder.columns[name].role
        needed = [""] if role is Role.NUMBER else list(DATE_NUMBERS) if role is Role.DATE else []
        # Names of dates are not empty, and a number's name is, which tells the two apart.
        there = [slot for slot in slots if slot[0] == number and bool(slot[1]) == (role is Role.DATE)]
        if needed and there != [(number, wanted) for wanted in needed]:
            raise Flaw(f"its column {name[:60]!r} lacks its numbers")
        if role is Role.DATE and number not in encoder.dates:
            raise Flaw(f"its column {name[:60]!r} lacks its parts")


def _sample(part: Any, encoder: Encoder) -> dict[str, list[Any]]:
    sample: Any = part["sample"]
    if not isinstance(sample, dict) or not set(sample) <= set(encoder.columns):
        raise Flaw("its sample is of columns that it does not have")
    cells = {name: decode(column) for name, column in sample.items()}
    for column in cells.values():
        # A sample of full length would already have settled its column.
        if not isinstance(column, list) or len(column) >= CELLS_LOOKED_AT or not all(map(_is_cell, column)):
            raise Flaw("its sample is not whole")
    return cells


def _is_cell(cell: Any) -> bool:
    return cell is None or isinstance(cell, str | bool | int | float) or (isinstance(cell, list) and len(cell) == 1)
