"""Labels that are text, numbered by compiled code: those of arrays of letters or of objects, and of pyarrow's columns.

Objects are looked up in the dict of the labels' numbers, through CPython's documented C API. Letters have a table:
each known label is an entry, as the words of memory that it is made of. A label is found by a sum over its
words, each times a number of its own, and then compared word by word. What is not known is looked at by Python,
which adds it; so the loops stop there, and go on behind it.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from aggro.engine.jit.compile import inline, kernel, quick
from aggro.engine.jit.dicts import CAN_READ_DICTS, PyDict_GetItemWithError, PyLong_AsLongLong, type_of
from aggro.engine.jit.intrinsics import word_at

u8 = np.uint64
TABLE_ENTRIES = 512  # more labels are looked up by Python
SLOTS_LOG = 12
LABEL_WORDS = 64  # of a label, or letters; longer ones are compared by Python
SHIFT = u8(64 - SLOTS_LOG)
MASK = u8(2**SLOTS_LOG - 1)
LATELY = 256  # objects that are known by their addresses
LABELS_AT_ONCE = 2**20  # labels, after which other threads may run
TEXT_TYPE = id(str)
CAN_READ_TEXT = CAN_READ_DICTS and sys.byteorder == "little"


def odd_numbers(count: int) -> np.ndarray:
    """Odd numbers of 64 bits whose products spread well."""
    return np.random.default_rng(0).integers(2**62, size=count, dtype=np.uint64) * u8(4) + u8(2**61 + 1)


class Table(NamedTuple):
    """The labels that are known, for compiled code: rows of letters, or bytes."""

    slots: np.ndarray  # by the upper bits of the sum: the number of an entry, -1 for none; then those behind it
    words: np.ndarray  # (entries, words); a word is a letter, or eight bytes
    codes: np.ndarray  # the label's number
    lengths: np.ndarray  # of each entry, in bytes
    odd: np.ndarray  # a factor for each word
    columns: np.ndarray  # of letters: how many of them are summed up, and then which


@inline
def sum_of(rows, i, table):
    """The sum over the letters of row i that tell the known labels apart."""
    total = u8(0)
    for c in range(u8(table.columns[0])):
        total += u8(rows[i, u8(table.columns[c + u8(1)])]) * table.odd[c]
    return total


@kernel
def add_letters(table, n):
    """Put the label that stands behind the n others of the table where it will be found."""
    # A label's slot is a sum over few letters: only as many as tell the known labels apart.
    for entry in range(u8(n)):
        differs, told = u8(0), False
        for c in range(u8(table.columns[0])):
            j = u8(table.columns[c + u8(1)])
            told |= table.words[entry, j] != table.words[u8(n), j]
        if not told:  # one letter more is needed
            while table.words[entry, differs] == table.words[u8(n), differs]:
                differs += u8(1)
            table.columns[0] += 1
            table.columns[u8(table.columns[0])] = differs
    # Another letter changes the sums of all labels, so all of them are placed again.
    table.slots[:] = -1
    for entry in range(u8(n) + u8(1)):
        slot = sum_of(table.words, entry, table) >> SHIFT
        # Open addressing: a slot that is taken sends the label to the next one.
        while table.slots[slot] >= 0:
            slot = (slot + u8(1)) & MASK
        table.slots[slot] = entry


@kernel
def number_letters(letters, weights, table, codes, start):
    """Number rows of letters from ``start`` on; the first that is not in the table, or how many there are."""
    width = u8(letters.shape[1])
    for i in range(u8(start), u8(letters.shape[0])):
        if weights.shape[0] and weights[i] == 0.0:
            codes[i] = 0.0
            continue
        slot = sum_of(letters, i, table) >> SHIFT
        while True:
            entry = table.slots[slot]
            if entry < 0:
                return np.int64(i)
            # Labels may share a slot: the whole row of letters is compared, without a branch for each.
            other = np.uint32(0)
            for j in range(width):
                other |= letters[i, j] ^ table.words[u8(entry), j]
            if other == 0:
                break
            slot = (slot + u8(1)) & MASK
        # The table's numbers are in the order of the table; the label's own number may be another one.
        codes[i] = table.codes[u8(entry)]
    return np.int64(letters.shape[0])


@inline
def place_of(object_):
    """The slot of an object in the cache of objects met recently, by its address."""
    return u8(object_ >> 5) & u8(LATELY - 1)


@quick
def number_objects(address, stride, n, weights, known, lately, lately_codes, codes, start, text):
    """Number the objects whose addresses are ``stride`` bytes apart; the first that is not known, or the end.

    ``known`` is the address of the dict of numbers, and ``text`` that of the type that all objects must have.
    The same object often comes again, and is known by its address: nobody else runs meanwhile, so it is still there.
    """
    # Addresses of an earlier call mean nothing: an object may be gone, and another one in its place.
    lately[:] = 0
    for i in range(start, n):
        if weights.shape[0] and weights[u8(i)] == 0.0:
            codes[u8(i)] = 0.0
            continue
        # An empty place of an object array has no address.
        found = word_at(address + i * stride)
        if found == 0:
            return np.int64(i)
        place = place_of(found)
        # The dict is asked only for objects that were not met recently.
        if lately[place] != found:
            # Exactly ``str``: a subclass may compare by code of its own.
            if type_of(found) != text:
                return np.int64(i)
            number = PyDict_GetItemWithError(known, found)
            if number == 0:
                return np.int64(i)
            lately[place], lately_codes[place] = found, np.float64(PyLong_AsLongLong(number))
        codes[u8(i)] = lately_codes[place]
    return np.int64(n)


@inline
def word_of(letters, address, p, stop):
    """The next eight bytes of letters[p:stop], which are at an address, as a word; bytes beyond the end are 0."""
    total, n = u8(0), min(stop - p, u8(8))
    # One read of eight bytes where the buffer goes on; the bytes beyond the label are shifted out.
    if p + u8(8) <= u8(letters.shape[0]):
        unused = (u8(8) - n) << u8(3)
        total = u8(word_at(address + np.int64(p))) << unused >> unused
    else:
        for k in range(n):
            total |= u8(letters[p + k]) << (k << u8(3))
    return total


@inline
def slot_of_bytes(letters, address, p, stop, first, odd):
    """The slot at which to search for the label letters[p:stop]; ``first`` is its first word."""
    # The length is part of the sum: labels of zeros would differ by nothing else.
    total, j = stop - p + first * odd[u8(0)], u8(1)
    while p + u8(8) < stop:
        p += u8(8)
        total += word_of(letters, address, p, stop) * odd[j]
        j += u8(1)
    return (total * odd[u8(LABEL_WORDS)]) >> SHIFT


@kernel
def number_bytes(letters, address, bounds, table, n_known, codes, start):
    """Number the texts between the bounds from ``start`` on; the first that is not in the table, or how many there are.

    That one is put there, with the next number, unless it is too long or there is no room. The answer is -1 if the
    bounds do not ascend, or leave the letters.
    """
    for i in range(u8(start), u8(codes.shape[0])):
        # The bounds come from another library's memory, and compiled code reads whatever they say.
        if not 0 <= bounds[i] <= bounds[i + u8(1)] <= letters.shape[0]:
            return np.int64(-1)
        p, stop = u8(bounds[i]), u8(bounds[i + u8(1)])
        length = stop - p
        if length > u8(LABEL_WORDS):
            return np.int64(i)
        first = word_of(letters, address, p, stop) if p < stop else u8(0)
        slot = slot_of_bytes(letters, address, p, stop, first, table.odd)
        entry = table.slots[slot]
        while entry >= 0:
            # Length and first word are known already and tell most labels apart.
            other = (u8(table.lengths[u8(entry)]) ^ length) | (table.words[u8(entry), u8(0)] ^ first)
            for j in range(u8(1), (length + u8(7)) >> u8(3)):
                other |= word_of(letters, address, p + (j << u8(3)), stop) ^ table.words[u8(entry), j]
            if other == u8(0):
                break
            slot = (slot + u8(1)) & MASK
            entry = table.slots[slot]
        # Not found: the slot is where it belongs. Its words are written here, and Python adds the name.
        if entry < 0:
            if n_known < table.lengths.shape[0]:
                table.slots[slot], table.lengths[u8(n_known)] = n_known, np.int64(length)
                for j in range((length + u8(7)) >> u8(3)):
                    table.words[u8(n_known), j] = word_of(letters, address, p + (j << u8(3)), stop)
            return np.int64(i)
        codes[i] = entry
    return np.int64(codes.shape[0])


@quick
def first_other(address, stride, start, stop, text, lately):
    """The first of some objects that is not of a type, or ``stop``."""
    for i in range(start, stop):
        # An object met recently is of the right type, without a look at its memory.
        found = word_at(address + i * stride)
        if found != 0 and lately[place_of(found)] == found:
            continue
        if found == 0 or type_of(found) != text:
            return np.int64(i)
        lately[place_of(found)] = found
    return np.int64(stop)


def all_texts(y: np.ndarray) -> bool:
    """Whether the objects of an array are all plain texts; False if compiled code cannot tell."""
    if not CAN_READ_TEXT:
        return False
    # In pieces, so that other threads may run between them.
    address, stride = y.__array_interface__["data"][0], y.strides[0]
    ends = [min(start + LABELS_AT_ONCE, y.shape[0]) for start in range(0, y.shape[0], LABELS_AT_ONCE)]
    lately = (np.zeros(LATELY, np.int64) for _ in ends)  # of one call: between two, an object may go
    return all(
        first_other(address, stride, max(0, end - LABELS_AT_ONCE), end, TEXT_TYPE, next(lately)) == end for end in ends
    )


class TextTable:
    """The table of letters, to which Python adds."""

    def __init__(self, width: int, letters: bool) -> None:
        self.n = 0
        self.arrays = Table(
            np.full(2**SLOTS_LOG, -1, np.int64),
            np.zeros((TABLE_ENTRIES, width), np.uint32 if letters else np.uint64),
            np.zeros(TABLE_ENTRIES),
            np.zeros(TABLE_ENTRIES, np.int64),
            ODD,
            np.zeros(width + 1, np.int64),
        )

    def put_letters(self, letters: Any, code: int) -> bool:
        """Add a label as a row of letters; False if there is no room."""
        if self.n == TABLE_ENTRIES:
            return False
        self.arrays.words[self.n, : len(letters)] = letters
        self.arrays.codes[self.n] = code
        add_letters(self.arrays, self.n)
        self.n += 1
        return True


ODD = odd_numbers(LABEL_WORDS + 1)


class Numbered(NamedTuple):
    """Numbers of labels, the labels that are new, and where those first appear."""

    codes: np.ndarray
    added: list[str]
    firsts: list[int]


def number_array(y: np.ndarray, weights: np.ndarray, known: dict[Any, int]) -> Numbered | None:
    """Number an array of letters; None if there are too many labels, or too long ones."""
    width = max(y.dtype.itemsize // 4, 1)
    if width > LABEL_WORDS:
        return None
    # The array as rows of 32-bit letters, in this machine's byte order.
    letters = np.ascontiguousarray(y, f"=U{width}").view(np.uint32).reshape(-1, width)
    table = TextTable(width, True)
    for label, code in known.items():  # an array holds no longer ones, and none with a NUL at the end
        if isinstance(label, str) and len(label) <= width and label[-1:] != "\0":
            if not table.put_letters([ord(letter) for letter in label], code):
                return None
    codes, added, firsts = np.empty(y.shape[0]), list[str](), list[int]()
    start, n = 0, y.shape[0]
    # Compiled code stops at each label that is new, Python adds it, and the loop goes on from there.
    while (start := int(number_letters(letters, weights, table.arrays, codes, start))) < n:
        if not table.put_letters(letters[start], len(known) + len(added)):
            return None
        added.append(str(y[start]))
        firsts.append(start)
    return Numbered(codes, added, firsts)


def number_texts(y: np.ndarray, weights: np.ndarray, known: dict[Any, int]) -> Numbered | None:
    """Number an array of objects; None if some are not plain texts."""
    if not CAN_READ_TEXT or y.ndim != 1 or not y.shape[0]:
        return None
    codes, added, firsts = np.empty(y.shape[0]), list[str](), list[int]()
    numbers, lately, lately_codes = dict(known), np.zeros(LATELY, np.int64), np.zeros(LATELY)
    start, n = 0, y.shape[0]
    while start < n:
        # The dict of numbers and the array are read by address, past the interpreter; both are kept alive here.
        address, stride = y.__array_interface__["data"][0], y.strides[0]
        end = min(start + LABELS_AT_ONCE, n)
        work = id(numbers), lately, lately_codes, codes, start, TEXT_TYPE
        stop = int(number_objects(address, stride, end, weights, *work))
        if stop < end:
            label = y[stop]
            # A subclass of ``str``, or no text at all: Python's own loop numbers those.
            if type(label) is not str:
                return None
            if label not in numbers:  # else it was put there by another thread
                numbers[label] = len(numbers)
                added.append(label)
                firsts.append(stop)
        start = stop
    return Numbered(codes, added, firsts)


def texts_of(column: Any) -> np.ndarray | None:
    """The labels in a column of pyarrow's as objects, one for all labels that are the same; None if that takes longer.

    It does if some are missing, or too long, or too many are different, or they are not in one piece.
    """
    kind = str(getattr(column, "type", ""))
    # Nulls and several chunks are rare; the ordinary way handles them.
    if kind not in ("string", "large_string") or column.null_count or getattr(column, "num_chunks", 1) != 1:
        return None
    if not CAN_READ_TEXT:
        return None
    piece = column.chunk(0) if hasattr(column, "num_chunks") else column
    _, offsets, data = piece.buffers()
    if offsets is None or data is None:
        return None
    # A sliced column begins behind the start of its buffers.
    bounds = np.frombuffer(offsets, np.int64 if kind == "large_string" else np.int32)
    bounds = bounds[piece.offset : piece.offset + len(piece) + 1].astype(np.int64, copy=False)
    letters, table, names = np.frombuffer(data, np.uint8), TextTable(LABEL_WORDS // 8, False).arrays, list[str]()
    address, codes, start = letters.__array_interface__["data"][0], np.empty(len(piece), np.int64), 0
    while (start := int(number_bytes(letters, address, bounds, table, len(names), codes, start))) < codes.shape[0]:
        # Too many labels, or too long ones: the ordinary way handles them.
        if start < 0 or len(names) == TABLE_ENTRIES or bounds[start + 1] - bounds[start] > LABEL_WORDS:
            return None
        try:
            names.append(letters[bounds[start] : bounds[start + 1]].tobytes().decode())
        except UnicodeDecodeError:
            # Bytes that are not UTF-8 cannot be named; the ordinary way reports them.
            return None
    return np.array(names, object)[codes]
