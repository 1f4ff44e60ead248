"""The layout of cells: the numbers, parts of dates and strings that each column gives, and their features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from aggro.encoding.cells import Texts
from aggro.encoding.dates import DATE_NUMBERS
from aggro.encoding.rows import Cells, Grams, key_of, seed_of
from aggro.streams.parse.words64 import PADDING
from aggro.streams.tables.roles import MISSING_MARKS, Column, Role

u8 = np.uint64


class Slot(NamedTuple):
    """A number that a column gives: its column, its name, and its feature."""

    column: int
    name: str
    feature: int


DATE_PARTS = 3  # choices that a date makes: month, weekday, hour
SIDES = ("below", "above")  # of a number that is a bound, such as <0.5: where the true value is


class Layout(NamedTuple):
    """Where the cells of each column go, and which features they become."""

    slots: list[int]  # the numbers in use, among all that there are
    numbers: list[tuple[str, int, str]]  # (column, place among the slots, pattern)
    dates: list[tuple[str, int, int]]  # (column, place of its first number, feature of its first choice)
    bounds: list[tuple[str, int, int]]  # (column of numbers, feature of «below», feature of «above»)
    strings: list[str]  # columns
    number_features: np.ndarray
    number_seeds: np.ndarray
    number_columns: np.ndarray
    seeds: np.ndarray
    columns: np.ndarray
    words: np.ndarray
    na_keys: np.ndarray
    na_longest: int
    grams: Grams
    blank: np.ndarray  # the numbers of a row that has none
    no_parts: np.ndarray

    def cells(self, numbers: np.ndarray, parts: np.ndarray, texts: Texts) -> Cells:
        """Put cells into the form that the compiled loop reads."""
        return Cells(
            numbers,
            self.number_features,
            self.number_seeds,
            self.number_columns,
            parts,
            *texts,
            self.seeds,
            self.columns,
            self.words,
            self.na_keys,
            self.na_longest,
        )


def seed_of_column(column: int) -> int:
    """The seed of the hashes of a column."""
    return int(seed_of(u8(column + 1)))


def key_of_text(text: str, seed: int) -> int:
    """The hash of a text, with the seed of its column."""
    letters = np.frombuffer(text.encode("utf-8", "replace") + bytes(PADDING), np.uint8)
    return int(key_of(letters, u8(letters.shape[0] - PADDING), u8(seed)))


def layout_of(
    columns: Mapping[str, Column],
    order: Sequence[str],
    numbers: Sequence[Slot],
    dates: Mapping[int, int],
    bounds: Mapping[int, tuple[int, int]],
    na: Sequence[str],
    ngrams: int,
) -> Layout:
    """Make the layout of these columns, given the features of their numbers, dates and bounds."""
    slots: list[int] = []
    of_numbers, of_dates, of_bounds, strings = [], [], [], []
    slots_of: dict[int, list[int]] = {}
    # A column has the slots of all roles that it had; those of its present role are in use.
    for k, slot in enumerate(numbers):
        slots_of.setdefault(slot.column, []).append(k)
    for number, name in enumerate(order):
        role = columns[name].role
        own = slots_of.get(number, [])
        if role is Role.NUMBER:
            of_numbers.append((name, len(slots), columns[name].pattern))
            # Two features mark a bound, and exist only in columns that have bounds.
            if number in bounds:
                of_bounds.append((name, *bounds[number]))
            slots += [k for k in own if not numbers[k].name]
        elif role is Role.DATE:
            of_dates.append((name, len(slots), dates[number]))
            slots += [k for k in own if numbers[k].name]
        elif role in (Role.CATEGORY, Role.TEXT):
            strings.append(number)
    # The empty text is missing anyway, so it needs no key.
    words = sorted(word for word in {*MISSING_MARKS, *na} if word)
    # Each column hashes with its own seed, so that one word is a feature for each column.
    seeds = [seed_of_column(number) for number in strings]
    leads = [slot.name in ("", DATE_NUMBERS[0]) for slot in numbers]  # one of each column tells that it is missing
    return Layout(
        slots=slots,
        numbers=of_numbers,
        dates=of_dates,
        bounds=of_bounds,
        strings=[order[number] for number in strings],
        number_features=np.array([numbers[k].feature for k in slots], np.uint32),
        number_seeds=np.array([seed_of_column(numbers[k].column) if leads[k] else 0 for k in slots], np.uint64),
        number_columns=np.array([numbers[k].column for k in slots], np.uint32),
        seeds=np.array(seeds, np.uint64),
        columns=np.array(strings, np.uint32),
        words=np.array([columns[order[number]].role is Role.TEXT for number in strings], bool),
        na_keys=np.array([[key_of_text(word, seed) for word in words] for seed in seeds], np.uint64).reshape(
            len(seeds), len(words)
        ),
        na_longest=max(len(word.encode()) for word in words),
        grams=Grams(np.zeros(ngrams, np.uint64), np.zeros(ngrams, np.uint64), ngrams),
        blank=np.full((1, len(slots)), np.nan),
        no_parts=np.full((1, DATE_PARTS * len(of_dates) + len(of_bounds)), -1, np.int64),
    )
