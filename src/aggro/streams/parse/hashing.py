"""A 64-bit hash of short texts, and a compiled table that numbers them.

The hash takes eight bytes at a time, the last ones filled up with zeros, in the manner of Murmur::

    mix(h)  = h·A;  h ^ (h >> 32);  h·B;  h ^ (h >> 29)        (all modulo 2^64, A and B odd)
    hash(s, seed) = h after  h ← mix(seed ^ length·B)  and  h ← mix(h ^ word)  for every word of s

A feature's column out of 2^bits is the first ``bits`` bits of its hash. It is not Vowpal Wabbit's hash.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import inline, kernel
from aggro.streams.parse.words64 import word

u8 = np.uint64

A, B = u8(0x9E3779B97F4A7C15), u8(0xD6E8FEB86659FD93)


@inline
def mix(h):
    h *= A
    h ^= h >> u8(32)
    h *= B
    return h ^ (h >> u8(29))


@inline
def hash_bytes(text, start, end, seed):
    """The hash of text[start:end]; seven bytes after it are read, and do not matter."""
    length = end - start
    # The length goes in first: without it, a text and the same text with zero bytes behind would be alike.
    h = mix(seed ^ (length * B))
    p = start
    while p + u8(8) <= end:
        h = mix(h ^ word(text, p))
        p += u8(8)
    left = end - p
    # Bytes behind the text are masked out, since the last word may reach beyond it.
    if left > u8(0):
        h = mix(h ^ (word(text, p) & ((u8(1) << (left << u8(3))) - u8(1))))
    return h


@inline
def hash_number(number, seed):
    """The hash of a whole number's decimal digits, as if they stood in the text."""
    # Digits are needed from the front, so the largest power of ten comes first.
    power, length = u8(1), u8(1)
    while number // power >= u8(10):
        power *= u8(10)
        length += u8(1)
    h = mix(seed ^ (length * B))
    letters, k = u8(0), u8(0)
    while power > u8(0):
        letters |= (u8(48) + number // power % u8(10)) << (k << u8(3))
        power //= u8(10)
        k += u8(1)
        # Eight digits fill a word, as in hash_bytes, so that both give the same hash.
        if k == u8(8) or power == u8(0):
            h = mix(h ^ letters)
            letters, k = u8(0), u8(0)
    return h


def new_scatter() -> np.ndarray:
    """Random numbers for :func:`scattered`. They only decide where a table keeps a key, never what it finds."""
    return np.random.default_rng().integers(2**32, size=(8, 256), dtype=np.uint32)


@inline
def scattered(scatter, key):
    """Where a hash table begins to look for a key: a number of 32 bits, one random summand for each of its bytes.

    The hashes above have no secret, so a stream may bring words whose hashes are alike. With summands that its author
    does not know, linear probing takes a constant expected number of steps for any set of keys (simple tabulation:
    Pătraşcu and Thorup, The power of simple tabulation hashing, 2012).
    """
    place = np.uint32(0)
    for byte in range(u8(8)):
        place ^= scatter[byte, (key >> (byte << u8(3))) & u8(255)]
    return u8(place)


def number_keys(keys: np.ndarray, columns: np.ndarray, firsts: np.ndarray) -> int:
    """Number equal keys alike, in the order in which they appear; how many different ones there are.

    ``columns[i]`` becomes the number of ``keys[i]``, ``firsts[c]`` where number c appeared first. Different
    texts with one 64-bit hash would be taken for one: among ten million that happens once in 400,000 files.
    """
    # At least twice as many slots as keys, so that probes stay short; a power of two, so that a mask is enough.
    size = 2 ** max(4, (2 * keys.shape[0] - 1).bit_length())
    return int(number_in(np.zeros(size, np.uint32), new_scatter(), keys, columns, firsts))


@kernel
def number_in(table, scatter, keys, columns, firsts):
    """Number the distinct keys in the order of their appearance, with an empty hash table; return how many there are.

    A slot of the table holds 0 if it is empty, else a number + 1. See ``number_keys`` for ``columns`` and ``firsts``.
    """
    mask = u8(table.shape[0]) - u8(1)
    n = u8(0)
    for i in range(u8(keys.shape[0])):
        # Linear probing. The whole key is compared, not only its slot.
        slot = scattered(scatter, keys[i]) & mask
        while table[slot] != np.uint32(0) and keys[firsts[u8(table[slot] - np.uint32(1))]] != keys[i]:
            slot = (slot + u8(1)) & mask
        # An empty slot: the key is new, and gets the next number.
        if table[slot] == np.uint32(0):
            firsts[n] = i
            n += u8(1)
            table[slot] = np.uint32(n)
        columns[i] = table[slot] - np.uint32(1)
    return np.int64(n)
