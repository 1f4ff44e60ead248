"""The vocabulary: the features of cells, numbered in the order of their first appearance, with their names.

A feature is found by a 64-bit hash of its column and its text. Where the table keeps a hash depends on random numbers
that each vocabulary draws for itself: no stream can bring words that all go to one place. Up to ``most`` features are
told apart. Then the vocabulary is full, and a new text shares the number of one that is there, which its hash picks. So
memory is bounded, whatever comes, and every number has a name: that of the text that came first.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from aggro.engine.jit.compile import exact_part, kernel
from aggro.streams.parse.hashing import new_scatter, scattered

u8 = np.uint64

NUMBER_KIND, PART_KIND, CATEGORY_KIND, WORD_KIND, ABSENT_KIND = range(5)
"""What a feature is of: a number, a part of a date, a category, a word, or a cell that is missing."""

LONGEST_NAME = 100  # bytes of a text that are kept
FIRST_CAPACITY = 64


class Table(NamedTuple):
    """The vocabulary as compiled code reads it. Arrays may be longer than what they hold, which ``sizes`` says."""

    slots: np.ndarray  # by hash: 0 for empty, else number + 1; a power of two, at least twice as many as features
    keys: np.ndarray  # the hash of each feature
    kinds: np.ndarray  # what it is of
    columns: np.ndarray  # the column it comes from
    ends: np.ndarray  # where its name ends among the letters
    letters: np.ndarray  # the names, one after the other
    sizes: np.ndarray  # (features, letters, the most features)
    # What decides where a hash goes among the slots; it is not part of what was learned. Pickles of old have none.
    scatter: np.ndarray = np.zeros((0, 0), np.uint32)


N_FEATURES, NAME_BYTES, MAX_FEATURES_ALLOWED = range(3)


class Vocabulary:
    """A growing table of features, found by hash and numbered in order of appearance."""

    def __init__(self, most: int) -> None:
        self.table = Table(
            np.zeros(2 * FIRST_CAPACITY, np.uint32),
            np.zeros(FIRST_CAPACITY, np.uint64),
            np.zeros(FIRST_CAPACITY, np.uint8),
            np.zeros(FIRST_CAPACITY, np.uint32),
            np.zeros(FIRST_CAPACITY, np.int64),
            np.zeros(16 * FIRST_CAPACITY, np.uint8),
            np.array([0, 0, most], np.int64),
            new_scatter(),
        )

    def __len__(self) -> int:
        return int(self.table.sizes[N_FEATURES])

    @property
    def most(self) -> int:
        """The most features that are told apart; later ones share a number."""
        return int(self.table.sizes[MAX_FEATURES_ALLOWED])

    def add(self, key: int, kind: int, column: int, name: str) -> int:
        """Add a feature with this hash, even if the vocabulary is full; return its number."""
        text = name.encode("utf-8", "replace")[:LONGEST_NAME]
        self.make_room(1, len(text))
        table, n = self.table, len(self)
        start = int(table.sizes[NAME_BYTES])
        table.letters[start : start + len(text)] = np.frombuffer(text, np.uint8)
        enter(table, u8(key), kind, column, start + len(text))
        return n

    def make_room(self, features: int, letters: int) -> None:
        """Make room for this many more features and letters; compiled code cannot, and stops without it."""
        table, n = self.table, len(self)
        if n + features > table.keys.shape[0]:
            # Powers of two: the slots need them, and growing stays cheap on average.
            size = 2 ** int(np.ceil(np.log2(n + features)))
            table = table._replace(
                slots=np.zeros(2 * size, np.uint32),
                keys=grown(table.keys, n, size),
                kinds=grown(table.kinds, n, size),
                columns=grown(table.columns, n, size),
                ends=grown(table.ends, n, size),
            )
            # The slots depend on the size of the table, so all features are placed again.
            place_all(table)
        used = int(table.sizes[NAME_BYTES])
        if used + letters > table.letters.shape[0]:
            # Twice what is needed, so that names are copied rarely.
            table = table._replace(letters=grown(table.letters, used, 2 * (used + letters)))
        self.table = table

    def name(self, j: int) -> str:
        """The text of feature j, without its column."""
        # Names stand one behind the other, so each starts where the one before ends.
        start = int(self.table.ends[j - 1]) if j else 0
        return self.table.letters[start : self.table.ends[j]].tobytes().decode("utf-8", "replace")

    def kind(self, j: int) -> int:
        """The kind of feature j: NUMBER, PART, CATEGORY, WORD or ABSENT."""
        return int(self.table.kinds[j])

    def column(self, j: int) -> int:
        """The number of the column that feature j comes from."""
        return int(self.table.columns[j])

    def find(self, key: int) -> int:
        """The number of the feature with this hash; -1 if there is none."""
        return int(find(self.table, u8(key)))

    def mark(self) -> tuple[int, int]:
        """The current end of the vocabulary, for ``forget_from``."""
        return len(self), int(self.table.sizes[NAME_BYTES])

    def forget_from(self, mark: tuple[int, int]) -> None:
        """Remove the features that were added since the mark."""
        if len(self) < mark[0]:
            raise ValueError(f"The mark is of a vocabulary of {mark[0]:,} features, and there are {len(self):,}.")
        # Mostly nothing was added, and then there is nothing to do.
        if len(self) != mark[0]:
            self.table.sizes[:2] = mark
            # Open addressing cannot take out single keys: probes would end at the gap.
            self.table.slots[:] = 0
            place_all(self.table)

    def copy(self) -> Self:
        """An independent copy of the vocabulary: features added to one are not added to the other."""
        other = type(self)(self.most)
        other.table = Table(*(array.copy() for array in self.table))
        return other

    def arrays(self) -> dict[str, np.ndarray]:
        """Copies of the arrays to save in a file."""
        n, table = len(self), self.table
        return {
            "keys": table.keys[:n].copy(),
            "kinds": table.kinds[:n].copy(),
            "columns": table.columns[:n].copy(),
            "ends": table.ends[:n].copy(),
            "letters": table.letters[: table.sizes[NAME_BYTES]].copy(),
        }

    def __getstate__(self) -> dict[str, Any]:
        return {"most": self.most, **self.arrays()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "table" in state:  # of a version before the slots were scattered
            self.__dict__.update(state)
            # Saved again in the form of today.
            state = self.__getstate__()
        arrays = dict(state)
        self.table = self.from_arrays(arrays.pop("most"), arrays).table

    @classmethod
    def from_arrays(cls, most: int, arrays: dict[str, np.ndarray]) -> Self:
        """Restore the vocabulary that ``arrays`` saved. They must be checked already (``models.record_header``)."""
        new = cls(most)
        n, used = arrays["keys"].shape[0], arrays["letters"].shape[0]
        new.make_room(n, used)
        table = new.table
        for name, array in arrays.items():
            # The arrays are longer than what was saved; the rest stays zeros.
            getattr(table, name)[: array.shape[0]] = array
        table.sizes[:2] = n, used
        place_all(table)
        return new


def grown(array: np.ndarray, used: int, size: int) -> np.ndarray:
    """Copy the first ``used`` entries into a longer array of zeros."""
    new = np.zeros(size, array.dtype)
    new[:used] = array[:used]
    return new


@exact_part
def slot_of(table, key):
    """The slot that holds the key, or the empty slot where it belongs."""
    mask = u8(table.slots.shape[0]) - u8(1)
    # Linear probing from a place that only this vocabulary knows.
    slot = scattered(table.scatter, key) & mask
    while table.slots[slot] != np.uint32(0) and table.keys[u8(table.slots[slot]) - u8(1)] != key:
        slot = (slot + u8(1)) & mask
    return slot


@kernel
def place_all(table):
    """Insert all features into empty slots. Of two with one key, the first is found."""
    for j in range(u8(table.sizes[N_FEATURES])):
        slot = slot_of(table, table.keys[j])
        if table.slots[slot] == np.uint32(0):
            table.slots[slot] = np.uint32(j + u8(1))


@kernel
def find(table, key):
    """The number of the feature with this key; -1 if there is none."""
    return np.int64(table.slots[slot_of(table, key)]) - 1


@kernel
def enter(table, key, kind, column, end):
    """Append a feature whose letters are in place."""
    n = u8(table.sizes[N_FEATURES])
    table.keys[n], table.kinds[n], table.columns[n], table.ends[n] = key, kind, column, end
    slot = slot_of(table, key)
    # Two features may have one key, and the first keeps the slot.
    if table.slots[slot] == np.uint32(0):
        table.slots[slot] = np.uint32(n + u8(1))
    table.sizes[N_FEATURES] += 1
    table.sizes[NAME_BYTES] = end
