"""Cells to sparse rows, compiled: every number, category and word of a row as a feature of the vocabulary.

Rows are gone through one after the other, and the cells of a row from left to right, so that features are numbered in
the order in which a stream brings them, however it is cut.

A word is a run of letters, digits and what is beyond ASCII, punctuation and signs there excepted; letters of ASCII and
Latin-1 are made small. An n-gram is n words that follow one another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggro.encoding.vocabulary import (
    ABSENT_KIND,
    CATEGORY_KIND,
    LONGEST_NAME,
    MAX_FEATURES_ALLOWED,
    N_FEATURES,
    NAME_BYTES,
    WORD_KIND,
    slot_of,
)
from aggro.engine.jit.compile import exact_part, kernel, quick
from aggro.streams.parse.bag_of_words import LOWER_CASE
from aggro.streams.parse.hashing import hash_bytes, mix

u8 = np.uint64

KNOWN_WORDS, UNKNOWN_WORDS = range(2)  # counts of categories and words
ABSENT_KEY = u8(0xA5A5A5A5A5A5A5A5)
GRAM_KEY = u8(0x632BE59BD9B4E019)
WORD_KEY = u8(0x8CB92BA72F3D8DD7)  # a column may have had categories before it turned out to be text


class Cells(NamedTuple):
    """The cells of some rows, in the form that the compiled loop reads."""

    numbers: np.ndarray  # (rows, numbers): NaN where missing
    number_features: np.ndarray  # the feature of each number
    number_seeds: np.ndarray  # of its column, for the feature «missing»; 0 if it has none
    number_columns: np.ndarray  # the column of each number
    parts: np.ndarray  # (rows, parts of dates): a feature, or -1
    letters: np.ndarray  # all strings, one column after the other; made small in place
    starts: np.ndarray  # (strings, rows): where each cell begins
    ends: np.ndarray  # (strings, rows): and where it ends
    absent: np.ndarray  # (strings, rows): true where there is no cell
    seeds: np.ndarray  # of each column of strings
    columns: np.ndarray  # its number
    words: np.ndarray  # whether it is text
    na_keys: np.ndarray  # (strings, words for «missing»): their hashes
    na_longest: int  # letters of the longest of them


class Grams(NamedTuple):
    """The last words, to make n-grams of."""

    keys: np.ndarray  # (n,): the hash of the 1-gram, 2-gram … that ends with the last word
    starts: np.ndarray  # (n,): where the last words begin, the last one first
    n: int


@exact_part
def separator(letters, p, end):
    """The number of bytes at p that separate words; 0 if a word begins or goes on there."""
    byte = letters[p]
    # ASCII by a table; letters and digits are not 0 there.
    if byte < 128:
        return u8(1) if LOWER_CASE[u8(byte)] == 0 else u8(0)
    if byte == 0xC2 and p + u8(1) < end:  # signs of Latin-1
        return u8(2)
    if byte == 0xE2 and p + u8(2) < end and 0x80 <= letters[p + u8(1)] <= 0x9F:  # dashes, quotes, arrows, shapes
        return u8(3)
    if byte == 0xE3 and p + u8(2) < end and letters[p + u8(1)] == 0x80:  # Chinese and Japanese punctuation
        return u8(3)
    return u8(0)


@exact_part
def end_of_word(letters, p, end):
    """The end of the word that begins at p; its letters are turned to lower case in place."""
    while p < end and separator(letters, p, end) == u8(0):
        byte = letters[p]
        if byte < 128:
            # Small in place: the letters are the encoder's own copy.
            letters[p] = LOWER_CASE[u8(byte)]
            p += u8(1)
        elif byte == 0xC3 and p + u8(1) < end:
            second = letters[p + u8(1)]
            # À to Þ without ×: in Latin-1 the small letter is 32 further on.
            if 0x80 <= second <= 0x9E and second != 0x97:
                letters[p + u8(1)] = second + 0x20
            p += u8(2)
        else:
            p += u8(1)
            while p < end and 0x80 <= letters[p] < 0xC0:  # the rest of this letter
                p += u8(1)
    return p


@exact_part
def feature_of(table, key, kind, column, letters, start, end, learning):
    """The number of a feature; with ``learning`` a new one is added. -1 if it is unknown.

    If the vocabulary is full, a new feature shares the number of another one.
    """
    slot = slot_of(table, key)
    found = np.int64(table.slots[slot])
    if found:
        return found - 1
    n = table.sizes[N_FEATURES]
    if n >= table.sizes[MAX_FEATURES_ALLOWED]:
        # Full: also while learning, a new text shares a number, so that memory is bounded.
        return shared(table, key)
    if not learning:
        return np.int64(-1)
    # Names are for people, so they are cut; the key is of the whole text.
    at, length = u8(table.sizes[NAME_BYTES]), min(end - start, u8(LONGEST_NAME))
    for k in range(length):
        table.letters[at + k] = letters[start + k]
    table.keys[n], table.kinds[n], table.columns[n] = key, kind, column
    table.ends[n] = np.int64(at + length)
    table.slots[slot] = np.uint32(n + 1)
    table.sizes[N_FEATURES] = n + 1
    table.sizes[NAME_BYTES] = np.int64(at + length)
    return n


@exact_part
def shared(table, key):
    """A category or word to use in place of a new one when the vocabulary is full; -1 if there is none."""
    n = u8(table.sizes[N_FEATURES])
    if n == u8(0):
        return np.int64(-1)
    # The hash picks where to begin, so one text always shares the same number.
    at = (key >> u8(20)) % n
    for _ in range(n):
        # Numbers and parts of dates have a meaning of their own, and are not shared.
        if table.kinds[at] == CATEGORY_KIND or table.kinds[at] == WORD_KIND:
            return np.int64(at)
        at = at + u8(1) if at + u8(1) < n else u8(0)
    return np.int64(-1)


@exact_part
def is_na(keys, key):
    found = False
    for k in range(u8(keys.shape[0])):
        found |= keys[k] == key
    return found


@exact_part
def begin_text(grams):
    for k in range(u8(grams.n)):
        grams.keys[k] = u8(0)


@exact_part
def next_word(grams, key, start):
    """Append a word: each n-gram becomes the one that ends with it; 0 where there are too few words."""
    # The longest first, because each is made of the one before it, which is replaced next.
    for k in range(u8(grams.n) - u8(1), u8(0), -1):
        before = grams.keys[u8(k) - u8(1)]
        # The key depends on the order of the words.
        grams.keys[u8(k)] = mix(before * GRAM_KEY ^ key) if before else u8(0)
        grams.starts[u8(k)] = grams.starts[u8(k) - u8(1)]
    grams.keys[u8(0)] = key
    grams.starts[u8(0)] = start


@exact_part
def has_room(table, cells, grams, i):
    """Whether the vocabulary has room for every feature and name that row i could add."""
    needed, letters = room_for(table, cells, grams, i)
    return (
        table.sizes[N_FEATURES] + needed <= table.keys.shape[0]
        and table.sizes[NAME_BYTES] + letters <= table.letters.shape[0]
    )


@exact_part
def room_for(table, cells, grams, i):
    """How many features row i could add to the vocabulary, and how many letters their names could have."""
    needed, letters = np.int64(cells.numbers.shape[1]), np.int64(0)
    for j in range(u8(cells.starts.shape[0])):
        length = cells.ends[j, i] - cells.starts[j, i]
        # A word takes a letter and a blank at least, and ends one n-gram of each length.
        needed += 1 + ((length + 1) // 2) * grams.n
        letters += length * (grams.n * (grams.n + 1) // 2)  # a letter is in one word, two pairs, three triples …
    # Not more than the vocabulary may still take.
    needed = min(needed, max(table.sizes[MAX_FEATURES_ALLOWED] - table.sizes[N_FEATURES], 0))
    return needed, min(letters, needed * LONGEST_NAME)


@kernel
def room_needed(table, cells, grams, i):
    """How many features, and letters of their names, row i could add to the vocabulary; to be called from Python."""
    return room_for(table, cells, grams, u8(i))


@kernel
def encode_rows(table, cells, grams, learning, start, indptr, indices, data, counts):
    """Write rows from ``start`` on; return the row before which the vocabulary needs room, or the number of rows."""
    n = cells.numbers.shape[0]
    used = u8(indptr[start])
    for i in range(u8(start), u8(n)):
        # Before the row, so that it is encoded in one go or not at all.
        if learning and not has_room(table, cells, grams, i):
            return np.int64(i)
        for j in range(u8(cells.numbers.shape[1])):
            z = cells.numbers[i, j]
            # NaN is a missing number, and alone differs from itself.
            if z == z:
                indices[used], data[used] = cells.number_features[j], z
                # A 0 is not stored: the entry is overwritten by the next one.
                used += u8(1) if z != 0.0 else u8(0)
            # A column with several numbers tells only once that it is missing.
            elif cells.number_seeds[j]:
                key, column = mix(cells.number_seeds[j] ^ ABSENT_KEY), cells.number_columns[j]
                feature = feature_of(table, key, ABSENT_KIND, column, cells.letters, u8(0), u8(0), learning)
                if feature >= 0:
                    indices[used], data[used] = feature, 1.0
                    used += u8(1)
        for j in range(u8(cells.parts.shape[1])):
            if cells.parts[i, j] >= 0:
                indices[used], data[used] = cells.parts[i, j], 1.0
                used += u8(1)
        for j in range(u8(cells.starts.shape[0])):
            p, end = u8(cells.starts[j, i]), u8(cells.ends[j, i])
            # Blanks and control characters around a cell are no part of it.
            while p < end and cells.letters[p] <= 32:
                p += u8(1)
            while p < end and cells.letters[end - u8(1)] <= 32:
                end -= u8(1)
            seed, column = cells.seeds[j], cells.columns[j]
            key = u8(0)
            missing = cells.absent[j, i] or p == end
            # A text is hashed as a whole only if it is short enough to be a word for «missing».
            if not missing and (not cells.words[j] or end - p <= u8(cells.na_longest)):
                key = hash_bytes(cells.letters, p, end, seed)
                missing = end - p <= u8(cells.na_longest) and is_na(cells.na_keys[j], key)
            if missing:
                key = mix(seed ^ ABSENT_KEY)
                # Missing is a feature of its own, in each column.
                feature = feature_of(table, key, ABSENT_KIND, column, cells.letters, u8(0), u8(0), learning)
                if feature >= 0:
                    indices[used], data[used] = feature, 1.0
                    used += u8(1)
            elif not cells.words[j]:
                feature = feature_of(table, key, CATEGORY_KIND, column, cells.letters, p, end, learning)
                if feature >= 0:
                    indices[used], data[used] = feature, 1.0
                    used += u8(1)
                    counts[KNOWN_WORDS] += 1
                else:
                    counts[UNKNOWN_WORDS] += 1
            else:
                # No n-gram reaches across cells.
                begin_text(grams)
                while p < end:
                    step = separator(cells.letters, p, end)
                    if step:
                        p += step
                        continue
                    first, p = p, end_of_word(cells.letters, p, end)
                    # Words have keys of their own, apart from those of categories of the same column.
                    next_word(grams, hash_bytes(cells.letters, first, p, seed ^ WORD_KEY), first)
                    for k in range(u8(grams.n)):
                        # Too few words so far for an n-gram of this length, and for any longer one.
                        if grams.keys[k] == u8(0):
                            break
                        text = cells.letters, grams.starts[k], p
                        feature = feature_of(table, grams.keys[k], WORD_KIND, column, *text, learning)
                        if feature >= 0:
                            indices[used], data[used] = feature, 1.0
                            used += u8(1)
                            counts[KNOWN_WORDS] += 1
                        else:
                            counts[UNKNOWN_WORDS] += 1
        indptr[i + u8(1)] = np.int64(used)
    return np.int64(n)


@quick
def key_of(letters, end, seed):
    """The hash of the first ``end`` letters of a padded text."""
    return hash_bytes(letters, u8(0), end, seed)


@quick
def seed_of(column):
    """The seed of the hashes of a column, in compiled code."""
    return mix(column)
