"""One record at a time: its cells are written to memory that compiled code has at hand.

A call from Python unpacks each array that it hands over, and an encoder has some thirty. Here they are packed once
(``engine.jit.pinned``), and packed again when the layout, the vocabulary's table or the moments are other arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from aggro.encoding.cells import Texts
from aggro.encoding.layout import Layout
from aggro.encoding.rows import Cells, Grams, encode_rows, has_room
from aggro.encoding.vocabulary import WORD_KIND, Table
from aggro.engine.jit.compile import direct, kernel
from aggro.engine.jit.pinned import Pinned, content
from aggro.engine.prepare.moments import Moments, standardise_row
from aggro.streams.parse.sort_rows import tidy
from aggro.streams.parse.words64 import PADDING

u8 = np.uint64
NO_LETTERS = bytes(PADDING)


class Packed(NamedTuple):
    """What compiled code needs for one record."""

    table: Table
    cells: Cells
    grams: Grams
    moments: Moments
    numbers: np.ndarray  # as they were read; ``cells.numbers`` has them standardised
    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    counts: np.ndarray


@kernel
def encode_record(packed, learning, scale, presence):
    """Encode the cells that were written; return the number of entries, -1 if the vocabulary needs room first."""
    one = content(packed)
    # Asked before anything is learned, or the moments of a refused row would count twice.
    if learning and not has_room(one.table, one.cells, one.grams, u8(0)):
        return np.int64(-1)
    if scale:
        standardise_row(one.moments, 1.0 if learning else 0.0, one.numbers, one.cells.numbers[0])
    else:
        one.cells.numbers[0] = one.numbers
    encode_rows(one.table, one.cells, one.grams, learning, 0, one.indptr, one.indices, one.data, one.counts)
    # Words that repeat become one entry, in ascending order, as learners need it.
    kept = tidy(one.indptr, one.indices[: one.indptr[1]], one.data[: one.indptr[1]])
    if presence:
        for k in range(u8(kept)):
            if one.table.kinds[one.indices[k]] == WORD_KIND:
                one.data[k] = min(one.data[k], 1.0)
    return np.int64(kept)


ENCODE_RECORD_CODE: list[Any] = []  # the machine code of ``encode_record``, once it is there


class OneRecord:
    """The memory for one record: cells to write to, and the row that comes of them."""

    def __init__(self, layout: Layout, table: Table, moments: Moments, letters: int) -> None:
        self.layout, self.table, self.moments, self.room = layout, table, moments, letters
        strings, slots = len(layout.strings), layout.blank.shape[1]
        raw, parts = np.empty(slots), np.empty(layout.no_parts.shape[1], np.int64)
        text, starts, ends = (
            np.zeros(letters + PADDING, np.uint8),
            np.zeros(strings, np.int64),
            np.zeros(strings, np.int64),
        )
        absent = np.zeros((strings, 1), bool)  # a missing text is empty
        texts = Texts(text, starts.reshape(strings, 1), ends.reshape(strings, 1), absent)
        cells = layout.cells(np.empty((1, slots)), parts.reshape(1, -1), texts)
        # An entry for each number, part and string, and n-grams for every second letter.
        most = slots + len(parts) + strings + layout.grams.n * ((letters + strings) // 2 + 1) + 1
        self.indices, self.data = np.empty(most, np.int32), np.empty(most)
        # The moments of the numbers in use: the encoder's own, unless a column has stopped being numbers.
        self.slots = None if len(layout.slots) == moments.counts.shape[0] else layout.slots
        self.own = moments if self.slots is None else Moments.of(slots)
        rest = np.zeros(2, np.int64), self.indices, self.data, np.zeros(2, np.int64)
        self.packed = Pinned(Packed(table, cells, layout.grams, self.own, raw, *rest), "one record")
        self.cells = cells
        # Python writes single numbers into memory in a third of the time that it takes to write them into an array.
        views: tuple[Any, ...] = raw.data, parts.data, text.data, starts.data, ends.data
        self.numbers, self.parts, self.text, self.starts, self.ends = views
        self.blank, self.no_parts = layout.blank[0].data, layout.no_parts[0].data

    def fits(self, layout: Layout, table: Table, moments: Moments, letters: int) -> bool:
        """Whether this is the memory for such a record."""
        same = layout is self.layout and table is self.table and moments is self.moments
        return same and letters <= self.room

    def with_table(self, table: Table) -> OneRecord:
        """This record in new memory, for a vocabulary whose table has grown."""
        other = OneRecord(self.layout, table, self.moments, self.room)
        for mine, theirs in zip(self.written(), other.written(), strict=True):
            theirs[:] = mine
        return other

    def written(self) -> tuple[Any, ...]:
        """All that is written of a record."""
        return self.numbers, self.parts, self.text, self.starts, self.ends

    def write(self, texts: Sequence[bytes]) -> None:
        """Write the strings, one after the other."""
        at = 0
        for k, text in enumerate(texts):
            self.starts[k] = at
            self.text[at : at + len(text)] = text
            at += len(text)
            self.ends[k] = at
        self.text[at : at + PADDING] = NO_LETTERS

    def encode(self, learning: bool, scale: bool, presence: bool) -> int:
        """Encode what was written; return the number of entries, -1 if the vocabulary needs room first."""
        # Moments of columns that changed their role have no place here, so the ones in use are copied.
        if self.slots is not None:
            for some, of_all in zip(self.own, self.moments, strict=True):
                some[:] = of_all[self.slots]
        # Compiled once for the process, and then called without the dispatch of Numba.
        if not ENCODE_RECORD_CODE:
            ENCODE_RECORD_CODE.append(direct(encode_record, self.packed, False, False, False))
        n: int = ENCODE_RECORD_CODE[0](self.packed, learning, scale, presence)
        # Nothing was learned if there was no room.
        if self.slots is not None and learning and n >= 0:
            for some, of_all in zip(self.own, self.moments, strict=True):
                of_all[self.slots] = some
        return n
