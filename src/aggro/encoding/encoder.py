"""The encoder turns the columns of a table into rows of numbers, and learns while they stream by.

======== =====================================================================================================
role     features
======== =====================================================================================================
number   «age», standardised by mean and deviation so far (``scale``); a missing one is 0, the mean
category «plan=basic», 1
text     «note:refund», how often the word comes (``counts``), or 1 (``presence``); n-grams as «note:a refund»
date     «since:days» and «since:year» as numbers; «since:month=March», «since:weekday=Monday», «since:hour=9», 1
number   «lead:below», 1, in a column where some cells are bounds such as <0.5; «lead:above» for >0.5
any      «age=missing», 1 where there is no cell; words for that, and stray words among numbers, are missing cells
======== =====================================================================================================

Ids, and columns to ignore, have none. Features are numbered in the order in which they first appear, and up to
``max_features`` are told apart (see ``vocabulary``), so memory is bounded.

Columns get their roles when they first come, from the rows that came with them: see ``streams.tables.roles``. Where
those were few, the rule looks again when a column has been there for 10, 100 and 1,000 rows, and one that turns out
otherwise is read so from there on. With the same roles, the same rows make the same features to the bit, however they
are cut.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from aggro.encoding.cells import (
    Columns,
    Ready,
    Strings,
    as_moments,
    as_numbers,
    as_strings,
    columns_of,
    joined,
    no_strings,
    number_in,
    plain,
    sample_of,
    spelled,
)
from aggro.encoding.dates import CHOICES, DATE_NUMBERS, parts_of, parts_of_one, seconds_of
from aggro.encoding.layout import DATE_PARTS, SIDES, Layout, Slot, key_of_text, layout_of, seed_of_column
from aggro.encoding.one_record import OneRecord
from aggro.encoding.rows import Cells, encode_rows, room_needed
from aggro.encoding.vocabulary import ABSENT_KIND, CATEGORY_KIND, NUMBER_KIND, PART_KIND, WORD_KIND, Vocabulary
from aggro.engine.prepare.moments import Moments, standardise
from aggro.streams.parse.sort_rows import tidy
from aggro.streams.tables.flatten import flat
from aggro.streams.tables.roles import (
    CELLS_LOOKED_AT,
    ISO,
    NOTHING_SAID,
    USED_ROLES,
    Column,
    Role,
    Said,
    as_number,
    guess,
    is_missing,
    settle,
)
from aggro.streams.tables.written_numbers import has_bounds

LOOKS = (10, 100, CELLS_LOOKED_AT)  # rows after which columns that were guessed from fewer are looked at again

FEWEST_LETTERS = 256  # that there is room for in the memory for one record
MOST_COLUMNS = 2**16

u8 = np.uint64


class Options(NamedTuple):
    """How cells become features."""

    scale: bool = True
    words: str = "counts"
    ngrams: int = 1
    max_features: int = 2**20


class Counts:
    """The counters of the encoder; all are sums over rows."""

    def __init__(self) -> None:
        self.rows = 0
        self.strays: dict[str, int] = {}  # cells of number and date columns that were neither that nor missing

    def copy(self) -> Counts:
        other = Counts()
        other.rows, other.strays = self.rows, dict(self.strays)
        return other


class Encoded(NamedTuple):
    """Encoded rows, and how many of their categories and words were known or unknown.

    Rows are sparse, always: a sum over a dense row rounds otherwise, and then cuts would tell.
    """

    X: Any
    known: int
    unknown: int


class Mark(NamedTuple):
    """A snapshot of the encoder, from which ``restore`` takes back what was learned since."""

    vocabulary: tuple[int, int]
    moments: Moments
    counts: Counts
    columns: dict[str, Column]
    numbers: list[Slot]
    dates: dict[int, int]
    order: list[str]
    sample: dict[str, list[Any]]
    lengths: list[int]  # of the samples, which only grow


class Encoder:
    """Encode columns of raw cells as sparse rows of features, learning new features in a single pass."""

    def __init__(self, said: Said, options: Options) -> None:
        self.said, self.options = said, options
        self.columns: dict[str, Column] = {}  # by name, in the order in which they came
        self.order: list[str] = []  # the number of a column is its place here
        self.vocabulary = Vocabulary(options.max_features)
        self.moments = Moments.of(0)
        self.numbers: list[Slot] = []
        self.dates: dict[int, int] = {}  # by column: the feature of its first choice
        self.counts = Counts()
        self.sample: dict[str, list[Any]] = {}  # the first cells of columns whose roles may change
        self._layout: Layout | None = None
        self._one: OneRecord | None = None  # the memory for one record; made when one comes
        self._shared = False  # whether a mark has the same containers of columns: then they are copied before a change

    def flat(self, columns: Any) -> Any:
        """Flatten nested cells into columns, using the columns known so far."""
        return columns if isinstance(columns, Ready) else flat(columns, self.columns)

    # Columns --------------------------------------------------------------------------------------

    def settle(self, columns: Mapping[str, Column]) -> None:
        """Fix the roles of these columns, as a stream has found them; roles that the user gave take precedence."""
        said = self.said.roles()
        for name, column in columns.items():
            # What the user said wins over what the stream found.
            if said.get(name, column.role) is not column.role:
                column = Column(name, said[name], "set by you", True, ISO if said[name] is Role.DATE else "")
            self._assign(name, column)
        # Settled roles are not guessed again.
        self.sample = {name: cells for name, cells in self.sample.items() if name not in columns}

    def _meet(self, name: str, cells: list[Any]) -> None:
        """Assign a role to a new column, from what the user said or else from its first cells."""
        if len(self.columns) >= MOST_COLUMNS:
            raise ValueError(
                f"There are more than {MOST_COLUMNS:,} columns; the next is {name[:60]!r}. Names of fields that never "
                "end are data: put them into a field of text."
            )
        role = self.said.roles().get(name)
        # A role that was said is settled by the rule, which then finds the pattern of dates or numbers.
        if role in (*USED_ROLES, Role.IGNORE):
            marks = ("decimal", "thousands", "dayfirst")
            one: dict[str, Any] = {role.value: (name,), **{mark: getattr(self.said, mark) for mark in marks}}
            self._assign(name, settle({name: cells}, NOTHING_SAID._replace(**one))[name])
        # A list of texts has one column, without a name.
        elif not name and all(cell is None or isinstance(cell, str) for cell in cells):
            self._assign(name, Column(name, Role.TEXT, "texts alone"))
        else:
            column = guess(name, cells, self.na, self.said)
            self._assign(name, column)
            # Cells of a type without encoding: the user should know that they are left out.
            if column.role is Role.IGNORE and column.why.startswith("holds"):
                warnings.warn(
                    f"Column {name!r} is left out: it {column.why}. Name it in ignore=, or make numbers or text of it.",
                    UserWarning,
                    stacklevel=6,
                )
            # Its role may change with more rows. A new dictionary, since a mark may hold the old one.
            self.sample = {**self.sample, name: []}

    def _assign(self, name: str, column: Column) -> None:
        """Set the role of a column, and add the features that this role needs from the start."""
        self._unshare()
        new = name not in self.columns
        if new:
            self.order.append(name)
        # A column keeps its number for ever: it is part of the keys of its features.
        number = len(self.order) - 1 if new else self.order.index(name)
        self.columns[name], self._layout = column, None
        # A column that was numbers before has its slot still, with its moments.
        if column.role is Role.NUMBER and (new or not self._slots(number)):
            self._new_slot(number, "")
        if column.role is Role.NUMBER and has_bounds([column.pattern]) and self._bound(number, SIDES[0]) < 0:
            seed = seed_of_column(number)
            for side in SIDES:
                self.vocabulary.add(key_of_text(f"\0{side}", seed), PART_KIND, number, side)
        # Numbered in a row, so that the number of the first choice is enough to find all.
        if column.role is Role.DATE and number not in self.dates:
            for part in DATE_NUMBERS:
                self._new_slot(number, part)
            seed = seed_of_column(number)
            made = [self.vocabulary.add(key_of_text(f"\0{text}", seed), PART_KIND, number, text) for text in CHOICES]
            self.dates[number] = made[0]

    def _bound(self, number: int, side: str) -> int:
        """The feature that marks a cell of this number column as a bound, such as <0.5; -1 if there is none."""
        found = self.vocabulary.find(key_of_text(f"\0{side}", seed_of_column(number)))
        # Another feature could have that key; only one of the right kind counts.
        return found if found >= 0 and self.vocabulary.kind(found) == PART_KIND else -1

    def _bounds(self) -> dict[int, tuple[int, int]]:
        """The number columns in which some cells are bounds, by number, with the two features that mark them."""
        marked = [number for number, name in enumerate(self.order) if has_bounds([self.columns[name].pattern])]
        found = {number: (self._bound(number, SIDES[0]), self._bound(number, SIDES[1])) for number in marked}
        return {number: sides for number, sides in found.items() if min(sides) >= 0}

    def _unshare(self) -> None:
        """Copy the containers that a mark shares, before one of them is changed."""
        if self._shared:
            self.columns, self.dates, self.order = dict(self.columns), dict(self.dates), list(self.order)
            self._shared = False

    def _new_slot(self, column: int, name: str) -> None:
        key = key_of_text(f"\0{name}", seed_of_column(column))
        # The feature is never a shared one: ``add`` makes it even if the vocabulary is full.
        feature = self.vocabulary.add(key, PART_KIND if name else NUMBER_KIND, column, name)
        self.numbers = [*self.numbers, Slot(column, name, feature)]
        self.moments = self.moments.widened(1)

    def _slots(self, column: int) -> list[int]:
        return [k for k, slot in enumerate(self.numbers) if slot.column == column and not slot.name]

    def _look_again(self, met: Iterable[str]) -> None:
        """Guess the roles of sampled columns again, from more rows; columns that were met just now are left out."""
        # Exactly at the stated numbers of rows: what a role becomes must not depend on how rows are cut.
        for name, cells in self.sample.items():
            if len(cells) in LOOKS and name not in met:
                found, column = guess(name, cells, self.na, self.said), self.columns[name]
                # A new role drops the layout; a new reason alone does not.
                if found.role is not column.role or found.pattern != column.pattern:
                    self._assign(name, found)
                self._unshare()
                self.columns[name] = found  # the reason may be another
        # The sample is full, so the role stays.
        if any(len(cells) >= CELLS_LOOKED_AT for cells in self.sample.values()):
            self.sample = {name: cells for name, cells in self.sample.items() if len(cells) < CELLS_LOOKED_AT}

    # Rows -----------------------------------------------------------------------------------------

    def learn(self, columns: Columns | Ready, n: int) -> Encoded:
        """Encode rows, and learn their new columns, features and moments.

        A column is met at the first row in which its cell is not missing; before that it has no features.
        """
        if isinstance(columns, Ready):
            encoded = self._encode(columns, n, learning=True)
            self.counts.rows += n
            return encoded
        # Rows are encoded in pieces. A new piece begins where a column is met, or where roles are guessed again: so the
        # result does not depend on how the stream is chunked.
        # Where the first cell of each new column is: the column exists from that row on.
        starts = {name: first_there(column, n, self.na) for name, column in columns.items() if name not in self.columns}
        pieces = []
        edges = sorted({0, n, *self._looks(n), *(at for at in starts.values() if at < n)})
        for start, stop in pairwise(edges):
            for name, at in starts.items():
                # The guess sees the rows of this call, from the first cell on.
                if at == start:
                    self._meet(name, sample_of(cut(columns[name], start, n)))
            # Columns that are not met yet are missing from the whole piece, so they are left out.
            here = {name: cut(columns[name], start, stop) for name in columns if name in self.columns}
            if self.sample:
                self._remember(here, stop - start)
            pieces.append(self._encode(here, stop - start, learning=True))
            self.counts.rows += stop - start
            if self.sample:
                self._look_again(starts)
        return pieces[0] if len(pieces) == 1 else stacked(pieces, self.width)

    def transform(self, columns: Columns | Ready, n: int) -> Encoded:
        """Encode rows without learning anything."""
        return self._encode(columns, n, learning=False)

    @property
    def width(self) -> int:
        """The number of features."""
        return len(self.vocabulary)

    def _looks(self, n: int) -> list[int]:
        """The places among the next n rows at which the roles of sampled columns are guessed again."""
        lengths = {len(cells) for cells in self.sample.values()}
        # Places inside of these rows only: at their end the roles are looked at anyway.
        return [look - length for length in lengths for look in LOOKS if length < look < length + n]

    @property
    def na(self) -> tuple[str, ...]:
        """The user's words for missing cells, in addition to the built-in ones."""
        return self.said.na

    def _remember(self, columns: Columns, n: int) -> None:
        """Add rows to the samples. These are new lists, since ``restore`` may need the old ones."""
        sample: dict[str, list[Any]] = {}
        for name, before in self.sample.items():
            # Just as many rows as are still needed; a column that is absent has missing cells.
            room = CELLS_LOOKED_AT - len(before)
            sample[name] = before + (sample_of(columns[name], room) if name in columns else [None] * min(n, room))
        self.sample = sample

    def _encode(self, columns: Columns | Ready, n: int, learning: bool) -> Encoded:
        indptr, indices, data, counts = self._sparse(self._cells(columns, n, learning), n, learning)
        # Imported here: SciPy takes its time, and single records do not need it.
        from scipy.sparse import csr_array

        X = csr_array((data, indices, indptr), shape=(n, max(self.width, 1)))
        return Encoded(X, int(counts[0]), int(counts[1]))

    def reader(self) -> Callable[[Any], Ready]:
        """A function that reads the cells of a table for ``learn`` or ``transform``; any thread may call it.

        It is valid until a column gets another role.
        """
        self.layout()  # made here, once: those who call must all have the same

        def read(table: Any) -> Ready:
            columns, n = columns_of(table)
            return self._read(flat(columns, self.columns), n)

        return read

    def _read(self, columns: Columns, n: int) -> Ready:
        layout = self.layout()
        numbers = np.full((n, len(layout.slots)), np.nan)
        parts = np.full((n, layout.no_parts.shape[1]), -1, np.int64)
        strings: list[Strings] = []
        strays: dict[str, int] = {}
        sides: dict[str, np.ndarray] = {}
        # Whatever is not set below stays missing: a column may be absent from this table.
        for name, at, pattern in layout.numbers:
            if name in columns:
                found = as_numbers(columns[name], self.na, pattern)
                numbers[:, at] = found.values
                strays[name] = found.strays
                if found.sides is not None:
                    sides[name] = found.sides
        # A bound such as <0.5 is its number and a feature for the side; places of these follow the parts of dates.
        for k, (name, below, above) in enumerate(layout.bounds, DATE_PARTS * len(layout.dates)):
            if name in sides:
                parts[:, k] = np.choose(sides[name] + 1, (below, -1, above))
        # A date is numbers, which are standardised, and choices, which are features of their own.
        for k, (name, at, first) in enumerate(layout.dates):
            if name in columns:
                moments = as_moments(columns[name], self.columns[name], self.na)
                of_dates = parts_of(moments.values)
                numbers[:, at : at + len(DATE_NUMBERS)] = of_dates.numbers
                choices = of_dates.choices
                parts[:, DATE_PARTS * k : DATE_PARTS * (k + 1)] = np.where(choices >= 0, choices + first, -1)
                strays[name] = moments.strays
        # Strings are joined, since the compiled loop reads all of them from one array of letters.
        for name in layout.strings:
            strings.append(as_strings(columns[name]) if name in columns else no_strings(n))
        return Ready(layout, frozenset(columns), numbers, parts, joined(strings, n), strays)

    def _cells(self, columns: Columns | Ready, n: int, learning: bool) -> Cells:
        read = columns if isinstance(columns, Ready) else self._read(columns, n)
        # Rows that were read by an old layout have their cells in other places.
        if read.layout is not self.layout():
            raise ValueError("These rows were made ready for an encoder with other columns. Give the table itself.")
        if learning:
            self._count_strays(read.strays)
        return read.layout.cells(self._scaled(read.numbers, learning), read.parts, read.texts)

    def _count_strays(self, strays: Mapping[str, int]) -> None:
        for name, count in strays.items():
            if count:
                self.counts.strays[name] = self.counts.strays.get(name, 0) + count

    def _scaled(self, numbers: np.ndarray, learning: bool) -> np.ndarray:
        """The numbers of the layout, standardised if ``scale`` is set; with ``learning``, update the moments."""
        if not self.options.scale:
            return numbers
        slots = self.layout().slots
        # Columns that are no numbers any more keep their moments, but have no place in the rows.
        whole = len(slots) == len(self.numbers)
        moments = self.moments if whole else Moments(*(array[slots] for array in self.moments))
        scaled = np.empty_like(numbers)
        standardise(moments, float(learning), numbers, scaled)
        # The copies were updated, so they go back to their places.
        if not whole and learning:
            for of_all, some in zip(self.moments, moments, strict=True):
                of_all[slots] = some
        return scaled

    def layout(self) -> Layout:
        """The layout, which says where the cells of each column go; it is made again when a role has changed."""
        if self._layout is None:
            known = self.columns, self.order, self.numbers, self.dates, self._bounds()
            self._layout = layout_of(*known, self.na, self.options.ngrams)
        return self._layout

    # One row --------------------------------------------------------------------------------------

    def learn_one(self, record: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """Encode one record as (features, values), and learn its new columns, features and moments."""
        # A new column goes the way of a table, which knows how to meet it.
        if not self._knows(record):
            X = self.learn({name: [cell] for name, cell in record.items()}, 1).X
            return X.indices, X.data
        self.counts.rows += 1
        # Nothing left to guess: the usual case, without any sample to keep.
        if not self.sample:
            return self._encode_one(record, True)
        # In place: a mark keeps the lengths, and restore cuts the lists back.
        for name, cells in self.sample.items():
            cells.append(plain(record.get(name)))
        row = self._encode_one(record, True)
        self._look_again(())
        return row

    def _knows(self, record: Mapping[str, Any]) -> bool:
        """Whether every column with a cell that is not missing in this record is known."""
        new = [record[name] for name in record if name not in self.columns]
        return not new or all(is_missing(cell, self.na) for cell in new)

    def transform_one(self, record: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """Encode one record as (features, values), without learning anything."""
        return self._encode_one(record, False)

    def _encode_one(self, record: Mapping[str, Any], learning: bool) -> tuple[np.ndarray, np.ndarray]:
        """Encode one record as (features, values), without the tables that ``_encode`` needs for many rows."""
        layout, na = self.layout(), self.na
        cells = [record.get(name) for name in layout.strings]
        texts = [(cell if type(cell) is str else spelled(cell)).encode("utf-8", "replace") for cell in cells]
        one = self._one_record(layout, sum(map(len, texts)))
        one.write(texts)
        row, parts = one.numbers, one.parts
        row[:], parts[:] = one.blank, one.no_parts
        strays: dict[str, int] = {}
        sides: dict[str, int] = {}
        # Numbers: plain floats and integers, by far the most common, skip the test for words that mean «missing».
        for name, at, pattern in layout.numbers:
            cell = record.get(name)
            if type(cell) is float and cell - cell == 0.0:  # finite
                row[at] = cell
                continue
            if cell is None or (type(cell) is not float and type(cell) is not int and is_missing(cell, na)):
                continue
            if type(cell) is str:
                number, side = number_in(cell, pattern)
                if side:
                    sides[name] = side
            else:
                number = as_number(cell)
            if number is not None:
                row[at] = number
            elif cell == cell:  # NaN is missing, infinity is not
                strays[name] = 1
        # Bounds are rare, so their places are looked for only if there is one.
        if sides:
            for k, (name, below, above) in enumerate(layout.bounds, DATE_PARTS * len(layout.dates)):
                parts[k] = {-1: below, 1: above}.get(sides.get(name, 0), -1)
        # Dates, with the same numbers and choices as in a table: a model must not depend on how its rows came.
        for k, (name, at, first) in enumerate(layout.dates):
            cell = record.get(name)
            if not is_missing(cell, na):
                found = parts_of_one(seconds_of(cell, self.columns[name].pattern or ISO))
                if found is None:
                    strays[name] = 1
                    continue
                for place, number in enumerate(found[0], at):
                    row[place] = number
                for place, choice in enumerate(found[1], DATE_PARTS * k):
                    parts[place] = choice + first if choice >= 0 else -1
        # Learn only after every cell was read: a record with a cell that raises an error is not half learned.
        if learning and strays:
            self._count_strays(strays)
        scale, presence = self.options.scale, self.options.words == "presence"
        while (n := one.encode(learning, scale, presence)) < 0:
            self._make_room(one.cells, 0)
            one = one.with_table(self.vocabulary.table)
            self._one = one
        # Copies: the next record uses the same memory.
        return one.indices[:n].copy(), one.data[:n].copy()

    def _one_record(self, layout: Layout, letters: int) -> OneRecord:
        """The memory for a record with so many letters."""
        one, table = self._one, self.vocabulary.table
        if one is None or not one.fits(layout, table, self.moments, letters):
            # Room for twice as many letters, so that longer records rarely need new memory.
            self._one = one = OneRecord(layout, table, self.moments, max(2 * letters, FEWEST_LETTERS))
        return one

    def _sparse(self, cells: Cells, n: int, learning: bool) -> tuple[np.ndarray, ...]:
        """Write cells as sparse rows: (row pointers, features, values, counts), features ascending in each row."""
        # An upper bound for the entries: one for each number, part and string, and n-grams for every second letter.
        options, strings = self.options, cells.starts.shape[0]
        most = n * (cells.numbers.shape[1] + cells.parts.shape[1] + strings)
        letters = int((cells.ends - cells.starts).sum())  # those of the cells: a row may be there twice
        most += options.ngrams * ((letters + n * strings) // 2 + 1)
        indptr, counts = np.zeros(n + 1, np.int64), np.zeros(2, np.int64)
        indices, data = np.empty(most + 1, np.int32), np.empty(most + 1)
        grams = self.layout().grams
        # Compiled code cannot enlarge the vocabulary: it stops before the row that may not fit, and goes on from there.
        row = 0
        while True:
            row = encode_rows(self.vocabulary.table, cells, grams, learning, row, indptr, indices, data, counts)
            if row == n:
                break
            self._make_room(cells, row)
        # Words that repeat in a row become one entry, in ascending order, as learners need it.
        used = int(indptr[-1])
        indices, data = indices[:used], data[:used]
        kept = int(tidy(indptr, indices, data))
        indices, data = indices[:kept], data[:kept]
        if options.words == "presence" and kept:
            data[(self.vocabulary.table.kinds[indices] == WORD_KIND) & (data > 1.0)] = 1.0
        return indptr, indices, data, counts

    def _make_room(self, cells: Cells, row: int) -> None:
        features, letters = room_needed(self.vocabulary.table, cells, self.layout().grams, row)
        self.vocabulary.make_room(int(features), int(letters))

    # All or nothing -------------------------------------------------------------------------------

    def mark(self) -> Mark:
        """Take a snapshot, to go back to with ``restore``."""
        # The containers are not copied unless one is changed: most marks are never used.
        self._shared = True
        return Mark(
            self.vocabulary.mark(),
            # Moments and counts are changed in place, so they are copied at once.
            self.moments.copy(),
            self.counts.copy(),
            self.columns,
            self.numbers,
            self.dates,
            self.order,
            self.sample,
            [len(cells) for cells in self.sample.values()],
        )

    def restore(self, mark: Mark) -> None:
        """Go back to a snapshot: forget what was learned since."""
        self.vocabulary.forget_from(mark.vocabulary)
        self.moments, self.counts, self.columns = mark.moments, mark.counts, mark.columns
        self.numbers, self.dates, self.order = mark.numbers, mark.dates, mark.order
        # The containers belong to the mark as well, so the next change must copy them.
        self.sample, self._layout, self._shared = mark.sample, None, True
        for cells, length in zip(mark.sample.values(), mark.lengths, strict=True):
            del cells[length:]

    def copy(self) -> Self:
        """An independent copy of the encoder: learning with one does not change the other."""
        other = type(self)(self.said, self.options)
        # The vocabulary first: restoring forgets nothing in a copy of the same size.
        other.vocabulary = self.vocabulary.copy()
        other.restore(self.mark())  # which has copies of the moments and the counts
        other.sample = {name: list(cells) for name, cells in self.sample.items()}
        return other

    def __getstate__(self) -> dict[str, Any]:
        # Layouts and memory for records are made again, from what is kept.
        return {name: value for name, value in self.__dict__.items() if not isinstance(value, Layout | OneRecord)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._layout = self._one = None
        self.__dict__.update(state)  # arrays that come from elsewhere may be read-only
        self.vocabulary, self.moments = self.vocabulary.copy(), self.moments.copy()

    # Names ----------------------------------------------------------------------------------------

    def name(self, j: int) -> str:
        """The name of feature j, such as «age» or «plan=basic»."""
        column, text = self.order[self.vocabulary.column(j)], self.vocabulary.name(j)
        kind = self.vocabulary.kind(j)
        if kind == CATEGORY_KIND:
            return f"{column}={text}" if column else text
        if kind == ABSENT_KIND:
            return f"{column}=missing" if column else "missing"
        if kind == NUMBER_KIND:
            return column
        return f"{column}:{text}" if column else text

    def values_of(self, name: str) -> int:
        """The number of known categories of a column."""
        table, n = self.vocabulary.table, self.width
        return int(((table.columns[:n] == self.order.index(name)) & (table.kinds[:n] == CATEGORY_KIND)).sum())


def first_there(column: Any, n: int, na: Iterable[str]) -> int:
    """The first row in which a column's cell is not missing; n if there is none."""
    # In pieces, because turning a whole column into Python's values would be slow if the first cell is there.
    for start in range(0, n, CELLS_LOOKED_AT):
        for i, cell in enumerate(sample_of(cut(column, start, n))):
            if not is_missing(cell, na):
                return start + i
    return n


def cut(column: Any, start: int, stop: int) -> Any:
    """Select the rows from ``start`` to ``stop`` of a column."""
    if start == 0 and stop == len(column):
        return column
    return column.slice(start, stop - start) if hasattr(column, "to_pylist") else column[start:stop]


def stacked(pieces: list[Encoded], width: int) -> Encoded:
    """Stack pieces of a table, each encoded by itself; earlier pieces may have fewer features."""
    from scipy.sparse import csr_array

    parts = [piece.X for piece in pieces]
    # 64 bits: the entries of all pieces may be too many for 32.
    indptr = [parts[0].indptr.astype(np.int64)]
    for part in parts[1:]:
        indptr.append(part.indptr[1:] + indptr[-1][-1])
    X = csr_array(
        (
            np.concatenate([part.data for part in parts]),
            np.concatenate([part.indices for part in parts]),
            np.concatenate(indptr),
        ),
        shape=(sum(part.shape[0] for part in parts), max(width, 1)),
    )
    return Encoded(X, sum(piece.known for piece in pieces), sum(piece.unknown for piece in pieces))
