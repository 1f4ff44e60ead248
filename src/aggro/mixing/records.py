"""Learners of records: what their encoders know, together.

The columns, and what each is for, must be the same in all: they are settled by the common start. Categories and words
are features that go by their hash, so the vocabulary of all is that of the start and then what each partition has more.
Counts, means and deviations of numbers are pooled.

A column that nobody had met at the start has a number that depends on when a partition met it. Where partitions do not
agree, ``NewColumns`` says which columns the start must know before they learn again. Where they have met more
categories and words than ``max_features``, ``NewWords`` says which of them it must know: the first, so that all others
share a place with the same ones in every partition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from aggro.encoding.encoder import Counts, Encoder
from aggro.encoding.layout import Slot
from aggro.encoding.vocabulary import CATEGORY_KIND, WORD_KIND, Vocabulary
from aggro.engine.prepare.moments import Moments
from aggro.mixing.parts import Parts, Value, total
from aggro.mixing.scaling import moments_of, power_sums
from aggro.streams.tables.roles import Column

Detail = tuple[int, int, int, str]  # (hash, kind, column, name) of a feature


class Structure(NamedTuple):
    """The columns of an encoder, and the features that it has beyond those of the common start."""

    order: tuple[str, ...]
    columns: Mapping[str, Column]
    numbers: tuple[Slot, ...]
    dates: Mapping[int, int]
    start: int
    most: int  # features, beyond which categories and words share them
    details: tuple[Detail, ...]  # of the features after ``start``


class Unsettled(ValueError):
    """The common start must know more before partitions learn from it."""

    def settle(self, encoder: Encoder) -> None:
        """Let the encoder of the start know it."""
        raise NotImplementedError


class NewColumns(Unsettled):
    """Partitions met columns that the common start did not know, and do not agree on them."""

    def __init__(self, columns: Mapping[str, Column]) -> None:
        names = ", ".join(map(repr, columns))
        super().__init__(
            f"Columns came that the common start had not met, in different order: {names}. Let one model meet them "
            "first, or say what they are."
        )
        self.columns = dict(columns)

    def settle(self, encoder: Encoder) -> None:
        """They have the use that they were met with."""
        if not self.columns:
            raise ValueError(
                "Partitions do not agree on what a column is for, although the common start knew it. Say it, such as "
                "RecordLearner(category=['zip'])."
            )
        encoder.settle(self.columns)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.columns,)


class NewWords(Unsettled):
    """Partitions met more categories and words than there may be, and so not the same ones."""

    def __init__(self, words: Sequence[Detail], met: int, most: int) -> None:
        super().__init__(
            f"Together they know {met:,} features, and max_features={most:,}: which categories and words share a place "
            "would not be the same. Raise max_features, or begin with one model that knows as many."
        )
        self.words, self.met, self.most = tuple(words), met, most

    def settle(self, encoder: Encoder) -> None:
        """These fill the vocabulary."""
        for detail in self.words:
            encoder.vocabulary.add(*detail)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.words, self.met, self.most)


def keys_from(encoder: Encoder, start: int) -> tuple[int, ...]:
    """The hashes of the features from number ``start`` on."""
    return tuple(encoder.vocabulary.table.keys[start : encoder.width].tolist())


def structure_of(encoder: Encoder, start: int) -> Structure:
    """What an encoder knows beyond the first ``start`` features."""
    words = encoder.vocabulary
    details = tuple(
        (key, words.kind(start + k), words.column(start + k), words.name(start + k))
        for k, key in enumerate(keys_from(encoder, start))
    )
    columns = tuple(encoder.order), dict(encoder.columns), tuple(encoder.numbers), dict(encoder.dates)
    return Structure(*columns, start, words.most, details)


def joined(structures: Sequence[Structure], keys: Sequence[int]) -> Structure:
    """That of all, with features in the order of these hashes; ``Unsettled`` if they do not go together."""
    longest = max(structures, key=lambda one: len(one.order))  # the first of these
    # Columns got different numbers in different partitions, so their features cannot be matched by number.
    if any(not _agree(one, longest) for one in structures):
        start = structures[0]
        known: dict[str, Column] = {}
        for one in structures:
            known |= {name: one.columns[name] for name in one.order if name not in known}
        raise NewColumns({name: column for name, column in known.items() if name not in start.columns})
    # A hash stands for one name; the first partition that knows it describes it.
    found: dict[int, tuple[int, int, int, str]] = {}
    for one in structures:
        for detail in one.details:
            found.setdefault(detail[0], detail)
    # Only categories and words share places when room is short; numbers and dates have places of their own.
    words = [found[key] for key in keys if found[key][1] in (CATEGORY_KIND, WORD_KIND)]
    room = max(0, longest.most - longest.start)
    if len(words) > room:
        raise NewWords(words[:room], longest.start + len(keys), longest.most)
    # New features get their numbers behind those of the start, in the order of all partitions.
    place = {key: longest.start + k for k, key in enumerate(keys)}
    own = {longest.start + k: detail[0] for k, detail in enumerate(longest.details)}

    # Features of the start kept their numbers; only later ones move.
    def moved(feature: int) -> int:
        return place[own[feature]] if feature in own else feature

    numbers = tuple(slot._replace(feature=moved(slot.feature)) for slot in longest.numbers)
    dates = {column: moved(first) for column, first in longest.dates.items()}
    return longest._replace(numbers=numbers, dates=dates, details=tuple(found[key] for key in keys))


def _agree(one: Structure, longest: Structure) -> bool:
    """Whether the columns of one are the first of the other, for the same use."""
    n = len(one.order)
    if one.order != longest.order[:n] or len(one.numbers) > len(longest.numbers):
        return False
    # Slots are compared without their feature numbers, which differ by what each partition met in between.
    slots = [(slot.column, slot.name) for slot in one.numbers]
    if slots != [(slot.column, slot.name) for slot in longest.numbers[: len(slots)]]:
        return False
    return all(
        (one.columns[name].role, one.columns[name].pattern)
        == (longest.columns[name].role, longest.columns[name].pattern)
        for name in one.order
    )


def take_encoder(encoder: Encoder, known: Structure) -> Parts:
    """The parts of an encoder."""
    # A partition that met fewer numbers has zeros for the rest, which add nothing to sums.
    counts, means, squares = (_longer(array, len(known.numbers)) for array in encoder.moments)
    # Means do not add up, but n·mean and the sums of squares do.
    first, second = power_sums(counts, means, squares)
    strays = np.array([float(encoder.counts.strays.get(name, 0)) for name in known.order])
    return {
        "records.rows": total(np.array([float(encoder.counts.rows)]), "."),
        "records.strays": total(strays, "."),
        "records.n": total(counts, "."),
        "records.first": total(first, "."),
        "records.second": total(second, "."),
    }


def _longer(array: np.ndarray, n: int) -> np.ndarray:
    return np.concatenate([array, np.zeros(n - array.shape[0])])


def put_encoder(learner: Any, values: Mapping[str, Value], known: Structure) -> None:
    """Let a copy of the common start know what all know."""
    before = learner.encoder_ if hasattr(learner, "encoder_") else None
    encoder = learner.new_encoder()
    encoder.columns, encoder.order = dict(known.columns), list(known.order)
    encoder.numbers, encoder.dates = list(known.numbers), dict(known.dates)
    # The start's vocabulary comes first: its features keep their numbers.
    words = Vocabulary(encoder.options.max_features) if before is None else before.vocabulary.copy()
    for key, kind, column, name in known.details:
        words.add(key, kind, column, name)
    encoder.vocabulary = words
    # Counts are whole numbers; rounding takes away what the division of sums has left.
    counts = np.rint(values["records.n"].high)
    means, squares = moments_of(counts, values["records.first"], values["records.second"])
    # A column without any number has no mean: 0 instead of 0/0.
    encoder.moments = Moments(counts, np.where(counts > 0.0, means, 0.0), np.where(counts > 0.0, squares, 0.0))
    encoder.counts = Counts()
    encoder.counts.rows = int(values["records.rows"].high[0])
    strays = np.rint(values["records.strays"].high).astype(int).tolist()
    encoder.counts.strays = {name: n for name, n in zip(known.order, strays, strict=True) if n}
    learner.go_on_with(learner.estimator_, encoder)
