"""Text columns as bags of hashed words, compiled.

A word is a run of letters, digits and bytes beyond ASCII; ASCII letters are made small. Its place among
2^bits is the first bits of its hash (see ``hashing``), its value how often it comes in the row.
"""

from __future__ import annotations

import re

import numpy as np

from aggro.engine.jit.compile import kernel
from aggro.streams.parse.hashing import hash_bytes, number_keys
from aggro.streams.parse.words64 import PADDING

u8 = np.uint64
WORD_PATTERN = re.compile(rb"[0-9A-Za-z\x80-\xff]+")

LOWER_CASE = np.zeros(256, np.uint8)  # what a byte becomes as part of a word; 0 for one between words
# Bytes beyond ASCII are parts of UTF-8 letters: they count as letters and keep their case.
for _letter in range(256):
    if _letter >= 128 or chr(_letter).isalnum():
        LOWER_CASE[_letter] = ord(chr(_letter).lower()) if _letter < 128 else _letter


@kernel
def hash_words(text, bounds, bits, indptr, places):
    """Row i is text[bounds[i]:bounds[i + 1]], which is made small; how many words there are."""
    n = u8(0)
    indptr[u8(0)] = 0
    # The upper bits of the hash are the place: its multiplications mix into those.
    shift = u8(64) - u8(bits)
    for i in range(u8(bounds.shape[0] - 1)):
        p, end = u8(bounds[i]), u8(bounds[i + u8(1)])
        while p < end:
            start = p
            # Made small in place, for the hash reads words of the text; the text is a private copy.
            while p < end and LOWER_CASE[u8(text[p])] != 0:
                text[p] = LOWER_CASE[u8(text[p])]
                p += u8(1)
            if p > start:
                places[n] = hash_bytes(text, start, p, u8(0)) >> shift
                n += u8(1)
            else:
                p += u8(1)
        indptr[i + u8(1)] = np.int64(n)
    return np.int64(n)


def bag_of_words(text: bytes, bounds: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(row pointers, column of each word, hashed place of each column); columns are those that occur."""
    letters = np.frombuffer(bytearray(text + bytes(PADDING)), np.uint8)
    indptr = np.empty(bounds.shape[0], np.int64)
    # At most one word for two bytes, and one more for each row that ends with a word.
    places = np.empty(len(text) // 2 + bounds.shape[0] + 1, np.uint64)
    places = places[: hash_words(letters, np.ascontiguousarray(bounds, np.int64), bits, indptr, places)]
    columns, firsts = np.empty(places.shape[0], np.uint32), np.empty(places.shape[0], np.uint64)
    # Few of 2^bits places occur, so columns are numbered by appearance; the places are kept for each once.
    n = number_keys(places, columns, firsts)
    return indptr, columns, places[firsts[:n].astype(np.int64)]


def places_of(text: str, bits: int) -> dict[str, int]:
    """The words of a text, as they stand in it, and the place of each."""
    letters = text.encode("utf-8", "replace")
    words = [word.decode("utf-8", "replace") for word in WORD_PATTERN.findall(letters)]
    # The words and the compiled loop must agree on what a word is: both are runs of the same bytes.
    _, columns, places = bag_of_words(letters, np.array([0, len(letters)]), bits)
    return dict(zip(words, places[columns].tolist(), strict=True))
