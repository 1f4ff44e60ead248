"""Vowpal Wabbit text to sparse rows, compiled.

One example a line::

    [label [importance [base]]] ['tag]|namespace[:scale] feature[:value] … |namespace …

A row's value of a feature is value·scale, both 1 where not given; importance is its weight. The base (a
first prediction) and the tag are read and forgotten. As in Vowpal Wabbit the last word before the first
bar is the tag if it starts with ' or touches the bar, so ``1|a x`` has the tag 1 and no label; a line
without a label has y = NaN. Labels are single numbers, or with ``words=True`` single words (None where there is
none): cost-sensitive, multi-label and multi-line examples are refused. Empty lines are passed over.

A value without a name, ``:0.3``, is that of the feature 0, 1, 2 …, counted from the bar on. A value that is a
text, ``colour:red``, makes a feature of name and text together, whose value is 1 whatever the scale.

Features are hashed into 2^bits columns (see ``hashing``), or with ``named=True`` keep their names, as
«namespace^feature» or «namespace^feature:text», and a chunk has just the columns that occur in it. A ^ in the
namespace is written \\^ there, so that «a^b» and «c» are told from «a» and «b^c».
"""

from __future__ import annotations

import re

import numpy as np

from aggro.engine.jit.compile import exact_part, inline, kernel
from aggro.engine.jit.intrinsics import trailing_zeros
from aggro.engine.jit.letters import name_ends, no_digits
from aggro.streams import bad_lines
from aggro.streams.bad_lines import Problem
from aggro.streams.io.block import Block, Parsed
from aggro.streams.io.buffers import room, trimmed
from aggro.streams.parse.hashing import hash_bytes, hash_number, number_keys
from aggro.streams.parse.numbers import (
    BAD,
    LETTER_E,
    MINUS,
    OK,
    PLUS,
    POINT,
    TO_LOWER,
    ZERO,
    number,
    one_digit,
    short_number,
)
from aggro.streams.parse.separators import find_separators, room_for_separators, separator_from

u8 = np.uint64

NUL, TAB, NEWLINE, RETURN, SPACE, QUOTE, COMMA, COLON, BAR = 0, 9, 10, 13, 32, 39, 44, 58, 124
SPECIAL_LETTERS = np.frombuffer(b"naninfinity", np.uint8)  # nan, inf, infinity
UNNAMED = np.uint32(2**32 - 1)  # in the place of a name's end: the name is the number in the place of its start

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


@inline
def is_digit(letter):
    return u8(letter) - ZERO < u8(10)


@exact_part
def spells(text, p, first, count):
    """Whether this many of LETTERS, from the first on, stand at p, small or capital, and the value ends there."""
    for k in range(u8(count)):
        if text[p + k] | TO_LOWER != SPECIAL_LETTERS[u8(first) + k]:
            return False
    return ends_value(text[p + u8(count)])


@exact_part
def is_no_number(text, p):
    """Whether a word, not a number nor what Vowpal Wabbit would take for one, stands at p.

    It reads what has no digits, such as - or e5, as 0; NaN and infinity are no numbers to learn from.
    """
    if text[p] == MINUS or text[p] == PLUS:
        p += u8(1)
    # Vowpal Wabbit reads these as floats; they are no words, and no numbers to learn from, either.
    if spells(text, p, 0, 3) or spells(text, p, 3, 3) or spells(text, p, 3, 8):
        return False
    if text[p] == POINT:
        p += u8(1)
    if is_digit(text[p]):
        return False
    # A bare exponent is 0 to Vowpal Wabbit, so it is no word.
    if text[p] | TO_LOWER == LETTER_E:
        after = p + u8(1)
        if text[after] == MINUS or text[after] == PLUS:
            after += u8(1)
        while is_digit(text[after]):
            after += u8(1)
        if ends_value(text[after]):
            return False
    # A sign or a point alone is no word.
    return not ends_value(text[p])


@exact_part
def has_letter(text, p, end, first, second):
    while p < end:
        if text[p] == first or text[p] == second:
            return True
        p += u8(1)
    return False


@exact_part
def read_head(text, p, words):
    """What stands before the first bar: (label, where it starts and ends, importance, where the bar is, problem)."""
    start, tab = p, p
    label, importance = np.nan, np.nan
    from_, to = p, p
    tabs = False
    count = 0
    while True:
        # Vowpal Wabbit splits the head at spaces only, so a tab would join two words. It is refused below.
        while is_blank(text[p]):
            if text[p] != SPACE and not tabs:
                tabs, tab = True, p
            p += u8(1)
        first = p
        # The error of a line without a bar points to its first word.
        if count == 0:
            start = p
        while not (ends_value(text[p]) or text[p] == NUL):
            p += u8(1)
        if text[p] == NUL:
            return label, from_, to, importance, p, bad_lines.HOLDS_NUL
        after = p
        while is_blank(text[after]):
            if text[after] != SPACE and not tabs:
                tabs, tab = True, after
            after += u8(1)
        # The line ends without a bar, so it is no example.
        if text[after] == NEWLINE:
            return label, from_, to, importance, start, bad_lines.NO_BAR
        # A word that touches the bar is a tag, and so is one with a quote before it.
        if text[p] == BAR or (text[first] == QUOTE and text[after] == BAR):
            if tabs:
                return label, from_, to, importance, tab, bad_lines.TAB_BEFORE_BAR
            return label, from_, to, importance, after, bad_lines.GOOD
        value, end, code = number(text, first)
        is_number = code == OK and end == p
        # A colon or comma in the label: costs, actions or several classes, which are refused by name.
        if count == 0 and not is_number and has_letter(text, first, p, COLON, COMMA):
            return label, from_, to, importance, first, bad_lines.SEVERAL_LABELS
        # Labels are words: a number is a word, too, but what Vowpal Wabbit would read as a broken number is not.
        if count == 0 and words:
            if not is_number and not is_no_number(text, first):
                return label, from_, to, importance, first, bad_lines.BAD_HEAD
            from_, to = first, p
        # The labels are numbers here, so a word has an error of its own: the data mix both.
        elif count == 0 and not is_number and is_no_number(text, first):
            return label, from_, to, importance, first, bad_lines.WORD_LABEL
        elif not is_number or count == 3:
            return label, from_, to, importance, first, bad_lines.BAD_HEAD
        elif count == 0:
            label = value
        # The second number is the importance. The third, the base, is checked and forgotten.
        elif count == 1:
            if value < 0.0:
                return label, from_, to, importance, first, bad_lines.NEGATIVE_IMPORTANCE
            importance = value
        count += 1


@inline
def read_value(text, p):
    """The number after a colon: (value, where it ends, problem)."""
    value, end, code = number(text, p)
    # The value must be a whole word: «1x» is no number.
    if code == BAD or (code == OK and not ends_value(text[end])):
        return value, p, bad_lines.BAD_VALUE
    return value, end, bad_lines.GOOD if code == OK else bad_lines.LARGE_VALUE


@exact_part
def text_end(text, p):
    """Where a text ends that is a feature's value: at a blank. Bars and colons are part of it."""
    while not (is_blank(text[p]) or text[p] == NEWLINE or text[p] == NUL):
        p += u8(1)
    return p


@inline
def usual_features(text, p, ends, j, seed, scale, shift, k, columns, data):
    """Features with short numbers and a space between them, as far as there are any; for hashed columns.

    Where they end, and what is known then: (where, j, number of features so far).
    """
    while True:
        end = u8(ends[j])
        length = trailing_zeros(name_ends(text, p))
        # Length 0 wraps to a huge number: one comparison refuses both no name and one beyond the window.
        if length - u8(1) >= u8(31) or text[p + length] != COLON:
            break
        at = p + length + u8(1)
        value, stop, is_short = short_number(text, at, no_digits(text, at))
        value *= scale
        is_last = text[end] == NEWLINE
        # Anything but a short number up to the word's end is for the careful way, and so is a product that overflows.
        if not is_short or stop != end or not (is_last or text[end] == SPACE) or not abs(value) < np.inf:
            break
        # The namespace's hash is the seed, so that a name in two namespaces is two features.
        columns[k] = np.uint32(hash_bytes(text, p, p + length, seed) >> shift)
        data[k] = value
        k += u8(1)
        p = end
        # The newline stays for the caller, which ends the row there.
        if is_last:
            break
        p += u8(1)
        j += u8(1)
    return p, j, k


@inline
def read_features(text, p, ends, j, shift, k, keys, columns, data, places):
    """All namespaces from the bar at p on: (where they end, j, number of features so far, problem).

    ``ends`` is where words end, the first j of which stand before p.
    """
    # The first letter is a bar, which sets all these.
    space_start, space_end = p, p
    seed = u8(0)
    scale = 1.0
    unnamed = u8(0)
    while True:
        letter = text[p]
        if is_blank(letter):
            p += u8(1)
        elif letter == NEWLINE:
            return p, j, k, bad_lines.GOOD
        elif letter == BAR:
            space_start = p + u8(1)
            space_end = name_end(text, space_start)
            # The namespace is hashed once; its features take the hash as their seed.
            seed = hash_bytes(text, space_start, space_end, u8(0))
            # Scale and count are those of one namespace, and start again at each bar.
            scale = 1.0
            unnamed = u8(0)
            p = space_end
            if text[p] == COLON:
                # A scale needs a name: «
                # :2» is malformed.
                if space_end == space_start:
                    return p, j, k, bad_lines.BAD_NAMESPACE
                scale, p, problem = read_value(text, p + u8(1))
                if problem != bad_lines.GOOD:
                    return p, j, k, problem
            if not ends_value(text[p]):
                return p, j, k, bad_lines.BAD_NAMESPACE
        else:
            first = p
            # The usual form is read in one go where columns are hashed; names need the places of each feature.
            if places.shape[0] == 0:
                j = separator_from(p, ends, j)
                p, j, k = usual_features(text, p, ends, j, seed, scale, shift, k, columns, data)
                if p > first:
                    continue
            end = name_end(text, p)
            # Neither a name nor a colon: a NUL byte.
            if end == p and letter != COLON:
                return p, j, k, bad_lines.LOST_TEXT
            key = hash_bytes(text, p, end, seed)
            p = end
            value = 1.0
            if text[p] == COLON:
                value, p, problem = read_value(text, p + u8(1))
                # A value that is a word joins the name: «colour:red» is a feature of its own with the value 1.
                if problem == bad_lines.BAD_VALUE and end > first and is_no_number(text, p):
                    value, problem = 1.0, bad_lines.GOOD
                    end = text_end(text, p)
                    # The name's hash is the seed for the text, so «a:b» differs from «ab».
                    key = hash_bytes(text, p, end, key)
                    p = end
                    # A NUL ends a text, but it never belongs into one.
                    if text[p] == NUL:
                        return p, j, k, bad_lines.HOLDS_NUL
                else:
                    value *= scale
                if problem != bad_lines.GOOD:
                    return p, j, k, problem
            else:
                value = scale
            # The product of value and scale can overflow, although both are finite.
            if not abs(value) < np.inf:
                return first, j, k, bad_lines.LARGE_VALUE
            unnamed_here = end == first
            # Its number is hashed as its digits, so that «:0.3» and «0:0.3» are one feature.
            if unnamed_here:
                key = hash_number(unnamed, seed)
            # Only places are kept: a name is decoded later, once for each different key.
            if places.shape[0] > 0:
                places[k, u8(0)] = np.uint32(space_start)
                places[k, u8(1)] = np.uint32(space_end)
                places[k, u8(2)] = np.uint32(unnamed if unnamed_here else first)
                places[k, u8(3)] = UNNAMED if unnamed_here else np.uint32(end)
                keys[k] = key
            else:
                columns[k] = np.uint32(key >> shift)
            unnamed += u8(unnamed_here)
            data[k] = value
            k += u8(1)


@kernel
def parse_lines(text, size, skip_bad, ends, shift, labels, words, weights, indptr, keys, columns, data, places):
    """Lines to rows: (rows, features, lines, any weights, bad lines, the first problem, its line, its byte).

    ``words`` has room for where each row's label starts and ends, or none at all where labels are numbers. ``keys``
    and ``places`` have room for features that keep their names, ``columns`` for those that are hashed.
    """
    end = u8(size)
    shift = u8(shift)
    # All ends of words are found first, in windows of 64 bytes.
    find_separators(text, end, ends)
    p = u8(0)
    j = u8(0)
    row = u8(0)
    k = u8(0)
    lines = 0
    bad = 0
    weighted = False
    first_problem, first_line, first_byte = bad_lines.GOOD, 0, 0
    indptr[u8(0)] = 0
    while p < end:
        begin = p
        while is_blank(text[p]):
            p += u8(1)
        if text[p] != NEWLINE:
            label, after, is_digit = one_digit(text, p)
            # The usual head is one digit, a space and the bar. All else is read word by word, from the line's start.
            if is_digit and words.shape[0] == 0 and text[after] == SPACE and text[after + u8(1)] == BAR and begin == p:
                first, last, importance, p, problem = p, p, np.nan, after + u8(1), bad_lines.GOOD
            else:
                label, first, last, importance, p, problem = read_head(text, begin, words.shape[0] > 0)
            # k moves on only after the whole line is good, so the features of a bad line are overwritten.
            filled = k
            if problem == bad_lines.GOOD:
                p, j, filled, problem = read_features(text, p, ends, j, shift, k, keys, columns, data, places)
            if problem == bad_lines.GOOD:
                if words.shape[0] > 0:
                    words[row, u8(0)] = np.uint32(first)
                    words[row, u8(1)] = np.uint32(last)
                else:
                    labels[row] = label
                weights[row] = 1.0
                # NaN means that no importance was given. It alone differs from itself.
                if importance == importance:
                    weights[row] = importance
                    weighted = True
                row += u8(1)
                k = filled
                indptr[row] = np.int64(k)
            else:
                # Only the first problem is kept: its place makes the message, and the others are counted.
                if bad == 0:
                    first_problem, first_line, first_byte = problem, lines, np.int64(p)
                bad += 1
                if not skip_bad:
                    break
                # To the end of the bad line, from wherever it was given up.
                while text[p] != NEWLINE:
                    p += u8(1)
        p += u8(1)
        lines += 1
    return row, k, lines, weighted, bad, first_problem, first_line, first_byte


def parse(block: Block, *, bits: int = 18, named: bool = False, words: bool = False, skip_bad: bool = False) -> Parsed:
    """The rows of a block of whole lines."""
    most, n_lines = block.size // 2 + 1, block.most_lines()  # a feature is at least « a», a line «|\n»
    labels, weights, indptr = room(0 if words else n_lines), room(n_lines), room(n_lines + 1, np.int64)
    # Room only for what will be written: labels as numbers or words, columns by hash or by name.
    spans = room(2 * n_lines if words else 0, np.uint32).reshape(-1, 2)
    keys, places = room(most if named else 0, np.uint64), room(4 * most if named else 0, np.uint32).reshape(-1, 4)
    columns, data, ends = room(0 if named else most, np.uint32), room(most), room_for_separators(block.size)
    rows, n, lines, weighted, bad, code, line, byte = parse_lines(
        *(block.text, block.size, skip_bad, ends, 64 - bits),
        *(labels, spans, weights, indptr, keys, columns, data, places),
    )
    indices, names = _named(block, keys[:n], places) if named else (trimmed(columns, n), None)
    return Parsed(
        _words(block, spans[:rows]) if words else trimmed(labels, rows),
        trimmed(indptr, rows + 1),
        indices,
        trimmed(data, n),
        lines,
        bad,
        Problem(code, line, byte) if bad else None,
        trimmed(weights, rows) if weighted else None,
        names,
    )


def _named(block: Block, keys: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, list[str]]:
    columns, firsts = np.empty(keys.shape[0], np.uint32), np.empty(keys.shape[0], np.uint64)
    n = number_keys(keys, columns, firsts)
    text = block.bytes()
    # Names are decoded once for each different key, not for each feature.
    names = [
        f"{_decoded(escaped(text[a:b]))}^{c if d == UNNAMED else _decoded(text[c:d])}"
        for a, b, c, d in places[firsts[:n].astype(np.int64)].tolist()
    ]
    known: dict[str, int] = {}
    for name in names:
        known.setdefault(name, len(known))
    if len(known) < n:  # bytes that are no UTF-8 are written as escapes, and those may stand there as they are
        columns = np.array([known[name] for name in names], np.uint32)[columns]
    return columns, list(known)


def escaped(namespace: bytes) -> bytes:
    """A namespace whose end can be told from what follows the ^ after it."""
    return namespace.replace(b"\\", b"\\\\").replace(b"^", b"\\^")


def _words(block: Block, spans: np.ndarray) -> np.ndarray:
    """The labels as texts; objects, with None, where any are missing."""
    text = block.bytes()
    labels = [_decoded(text[a:b]) or None for a, b in spans.tolist()]
    # None fits only into an array of objects.
    return np.array(labels, object if None in labels or not labels else None)


def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")


VW_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
NOT_A_WORD = re.compile(rb"[+-]?((nan|inf|infinity)$|\.?(\d|(e[+-]?\d*)?$))", re.IGNORECASE)


def labels_are_words(head: bytes) -> bool:
    """Whether the first label of a file is a word, by its first bytes: then all its labels are read as words."""
    for line in head.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        before, bar, _ = line.partition(b"|")
        given = before.split(b" ")
        tag = given.pop() if bar else b"'"  # nothing, if a blank stands before the bar
        given = [word for word in given if word]
        # Behind a blank, the last word is the tag only if it starts with a quote.
        if not tag and given and given[-1].startswith(b"'"):
            given.pop()
        # A line that the parser would refuse does not decide.
        if bar and given and len(given) <= 3 and all(map(VW_NUMBER.fullmatch, given[1:])):
            label = given[0]
            if VW_NUMBER.fullmatch(label):
                return False
            if not re.search(rb"[:,\s\0]", label) and not NOT_A_WORD.match(label):
                return True
    return False
