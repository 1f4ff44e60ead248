"""Vowpal Wabbit text to sparse rows, compiled.

One example a line::

    [label [importance [base]]] ['tag]|namespace[:scale] feature[:value] … |namespace …

A row's value of a feature is value·scale, both 1 where not given; importance is its weight. The base (a
first prediction) and the tag are read and forgotten. As in Vowpal Wabbit the last word before the first
bar is the tag if it starts with ' or touches the bar, so ``1|a x`` has the tag 1 and no label; a line
without a label has y = NaN. Labels are single numbers: cost-sensitive and multi-line examples are refused.
Empty lines are passed over.

Features are hashed into 2^bits columns (see ``hashing``), or with ``named=True`` keep their names, as
«namespace^feature», and a chunk has just the columns that occur in it.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import exact_part, inline, kernel
from aggro.streams import bad_lines
from aggro.streams.bad_lines import Problem
from aggro.streams.io.block import Block, Parsed
from aggro.streams.io.buffers import copied, room
from aggro.streams.parse.hashing import hash_bytes, number_keys
from aggro.streams.parse.numbers import BAD, OK, number

u8 = np.uint64

NUL, TAB, NEWLINE, RETURN, SPACE, QUOTE, COLON, BAR = 0, 9, 10, 13, 32, 39, 58, 124

ENDS_NAME = np.zeros(256, np.bool_)
ENDS_NAME[[NUL, TAB, NEWLINE, RETURN, SPACE, COLON, BAR]] = True


@inline
def is_blank(letter):
    return letter in (SPACE, TAB, RETURN)


@inline
def ends_value(letter):
    return is_blank(letter) or letter in (NEWLINE, BAR)


@inline
def name_end(text, p):
    while not ENDS_NAME[u8(text[p])]:
        p += u8(1)
    return p


@exact_part
def read_head(text, p):
    """What stands before the first bar: (label, importance, where the bar is, problem)."""
    start = p
    label, importance = np.nan, np.nan
    count = 0
    while True:
        while is_blank(text[p]):
            p += u8(1)
        if text[p] == BAR:
            return label, importance, p, bad_lines.GOOD
        first = p
        while not (ends_value(text[p]) or text[p] == NUL):
            p += u8(1)
        if text[p] == NUL:
            return label, importance, p, bad_lines.NUL
        if text[p] == BAR:  # a word that touches the bar is a tag
            return label, importance, p, bad_lines.GOOD
        after = p
        while is_blank(text[after]):
            after += u8(1)
        if text[after] == NEWLINE:
            return label, importance, start, bad_lines.NO_BAR
        if text[first] == QUOTE and text[after] == BAR:
            return label, importance, after, bad_lines.GOOD
        value, end, code = number(text, first)
        if code != OK or end != p or count == 3 or (count == 1 and value < 0.0):
            return label, importance, first, bad_lines.BAD_HEAD
        if count == 0:
            label = value
        elif count == 1:
            importance = value
        count += 1


@inline
def read_value(text, p):
    """The number after a colon: (value, where it ends, problem)."""
    value, end, code = number(text, p)
    if code == BAD or (code == OK and not ends_value(text[end])):
        return value, p, bad_lines.BAD_VALUE
    return value, end, bad_lines.GOOD if code == OK else bad_lines.LARGE_VALUE


@inline
def read_features(text, p, k, keys, data, places):
    """All namespaces from the bar at p on: (where they end, number of features so far, problem)."""
    space_start, space_end = p, p
    seed = u8(0)
    scale = 1.0
    while True:
        letter = text[p]
        if is_blank(letter):
            p += u8(1)
        elif letter == NEWLINE:
            return p, k, bad_lines.GOOD
        elif letter == BAR:
            space_start = p + u8(1)
            space_end = name_end(text, space_start)
            seed = hash_bytes(text, space_start, space_end, u8(0))
            scale = 1.0
            p = space_end
            if text[p] == COLON:
                scale, p, problem = read_value(text, p + u8(1))
                if problem != bad_lines.GOOD:
                    return p, k, problem
            if not ends_value(text[p]):
                return p, k, bad_lines.BAD_NAMESPACE
        else:
            first = p
            end = name_end(text, p)
            if end == p:
                return p, k, bad_lines.LOST_TEXT
            keys[k] = hash_bytes(text, p, end, seed)
            if places.shape[0] > 0:
                places[k, u8(0)] = np.uint32(space_start)
                places[k, u8(1)] = np.uint32(space_end)
                places[k, u8(2)] = np.uint32(p)
                places[k, u8(3)] = np.uint32(end)
            p = end
            value = 1.0
            if text[p] == COLON:
                value, p, problem = read_value(text, p + u8(1))
                if problem != bad_lines.GOOD:
                    return p, k, problem
            value *= scale
            if not abs(value) < np.inf:
                return first, k, bad_lines.LARGE_VALUE
            data[k] = value
            k += u8(1)


@kernel
def parse_lines(text, size, skip_bad, labels, weights, indptr, keys, data, places):
    """Lines to rows: (rows, features, lines, any weights, bad lines, the first problem, its line, its byte)."""
    end = u8(size)
    p = u8(0)
    row = u8(0)
    k = u8(0)
    lines = 0
    bad = 0
    weighted = False
    first_problem, first_line, first_byte = bad_lines.GOOD, 0, 0
    indptr[u8(0)] = 0
    while p < end:
        while is_blank(text[p]):
            p += u8(1)
        if text[p] != NEWLINE:
            label, importance, p, problem = read_head(text, p)
            filled = k
            if problem == bad_lines.GOOD:
                p, filled, problem = read_features(text, p, k, keys, data, places)
            if problem == bad_lines.GOOD:
                labels[row] = label
                weights[row] = 1.0
                if importance == importance:
                    weights[row] = importance
                    weighted = True
                row += u8(1)
                k = filled
                indptr[row] = np.int64(k)
            else:
                if bad == 0:
                    first_problem, first_line, first_byte = problem, lines, np.int64(p)
                bad += 1
                if not skip_bad:
                    break
                while text[p] != NEWLINE:
                    p += u8(1)
        p += u8(1)
        lines += 1
    return row, k, lines, weighted, bad, first_problem, first_line, first_byte


def parse(block: Block, *, bits: int = 18, named: bool = False, skip_bad: bool = False) -> Parsed:
    """The rows of a block of whole lines."""
    most, n_lines = block.size // 2 + 1, block.most_lines()  # a feature is at least « a», a line «|\n»
    labels, weights, indptr = room(n_lines), room(n_lines), room(n_lines + 1, np.int64)
    keys, data, places = room(most, np.uint64), room(most), room(4 * most if named else 0, np.uint32).reshape(-1, 4)
    rows, n, lines, weighted, bad, code, line, byte = parse_lines(
        block.text, block.size, skip_bad, labels, weights, indptr, keys, data, places
    )
    if named:
        indices, names = _named(block, keys[:n], places)
    else:
        indices, names = copied(keys[:n] >> u8(64 - bits), np.uint32), None
    return Parsed(
        copied(labels[:rows]),
        copied(indptr[: rows + 1]),
        indices,
        copied(data[:n]),
        lines,
        bad,
        Problem(code, line, byte) if bad else None,
        copied(weights[:rows]) if weighted else None,
        names,
    )


def _named(block: Block, keys: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, list[str]]:
    columns, firsts = np.empty(keys.shape[0], np.uint32), np.empty(keys.shape[0], np.uint64)
    n = number_keys(keys, columns, firsts)
    text = block.bytes()
    names = [
        f"{_decoded(text[a:b])}^{_decoded(text[c:d])}" for a, b, c, d in places[firsts[:n].astype(np.int64)].tolist()
    ]
    known: dict[str, int] = {}
    for name in names:
        known.setdefault(name, len(known))
    if len(known) < n:  # «a^b» and «c» write the same name as «a» and «b^c»
        columns = np.array([known[name] for name in names], np.uint32)[columns]
    return columns, list(known)


def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")
