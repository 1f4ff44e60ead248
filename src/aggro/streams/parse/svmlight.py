"""svmlight (LIBSVM) text to sparse rows, compiled.

One example a line::

    label [qid:number] index:value index:value …   # comment

Numbers are separated by spaces or tabs. ``#`` starts a comment anywhere; lines without an example are
passed over; ``\\r`` before the end of a line is a blank. Labels and values are decimal numbers (see
``numbers``). A query id is read and forgotten. Indices count from 1, as the format says, and become
columns from 0; for files that count from 0 there is ``zero_based=True``. It is not guessed: a stream
cannot see the end of the file, and a wrong guess would shift every feature.

Rows come as they stand: indices that do not ascend, or come twice, are left to the caller.

Nothing else on offer is both fast and streaming, hence a parser of our own. Where words end is found for
the whole text first, so that no pair waits for the one before (``separators``). Pairs of short numbers are
then read eight digits at a time: signs and lengths, which no one can guess, are computed without a branch.
What is longer, has an exponent or is wrong goes the careful way, byte by byte.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import exact_part, inline, kernel
from aggro.engine.jit.intrinsics import trailing_zeros
from aggro.engine.jit.letters import no_digits
from aggro.streams import bad_lines
from aggro.streams.bad_lines import Problem
from aggro.streams.io.block import Block, Parsed
from aggro.streams.io.buffers import room, trimmed
from aggro.streams.parse.numbers import BAD, OK, TOO_LARGE, number, one_digit, short_number
from aggro.streams.parse.separators import find_separators, room_for_separators, separator_from
from aggro.streams.parse.words64 import eight_digits, four_digits, word

u8 = np.uint64

TAB, NEWLINE, RETURN, SPACE, HASH, MINUS, COLON, Q = 9, 10, 13, 32, 35, 45, 58, 113
ZERO, TEN = u8(48), u8(10)
QUERY = np.frombuffer(b"qid:", np.uint8)
INDEX_LIMIT = u8(bad_lines.LARGEST_INDEX + 1)
LONGEST_INDEX = u8(18)  # digits that are sure to fit 64 bits


@inline
def is_blank(letter):
    return letter in (SPACE, TAB, RETURN)


@exact_part
def skip_comment(text, p):
    """From «#» to the end of the line: (where, problem)."""
    while text[p] != NEWLINE:
        # A NUL byte is a sign of a binary file, and a comment must not hide it.
        if text[p] == 0:
            return p, bad_lines.HOLDS_NUL
        p += u8(1)
    return p, bad_lines.GOOD


@exact_part
def skip_query(text, p):
    """Over «qid:number»: (where, problem)."""
    start = p
    for k in range(u8(4)):
        if text[p] != QUERY[k]:
            return start, bad_lines.BAD_QUERY
        p += u8(1)
    first = p
    while u8(text[p]) - ZERO < TEN:
        p += u8(1)
    # The number must end here; «qid:1x» is an error, not a query id and a rest.
    if p == first or not (is_blank(text[p]) or text[p] == NEWLINE or text[p] == HASH):
        return start, bad_lines.BAD_QUERY
    return p, bad_lines.GOOD


@exact_part
def read_label(text, p):
    """(label, where it ends, problem)"""
    label, end, code = number(text, p)
    if code == TOO_LARGE:
        return label, p, bad_lines.LARGE_LABEL
    # The number must be a whole word: «1x» is no label.
    if code == OK and (is_blank(text[end]) or text[end] == NEWLINE or text[end] == HASH):
        return label, end, bad_lines.GOOD
    # With a colon behind it, it is the first pair of a line without a label.
    return label, p, bad_lines.NO_LABEL if code == OK and text[end] == COLON else bad_lines.BAD_LABEL


@exact_part
def pair_problem(text, p):
    """Why no pair starts at p."""
    if not is_blank(text[p - u8(1)]):
        return bad_lines.BAD_VALUE  # something is stuck to the number before
    if text[p] == MINUS and u8(text[p + u8(1)]) - ZERO < TEN:
        return bad_lines.NEGATIVE_INDEX
    return bad_lines.BAD_PAIR


@exact_part
def index_problem(text, p, index, digits):
    """Why the index that ends before p is refused."""
    if text[p] != COLON or digits == u8(0):
        return bad_lines.BAD_PAIR
    # Too many digits may have wrapped to 0, so only a short index is called 0.
    return bad_lines.ZERO_INDEX if index == u8(0) and digits <= LONGEST_INDEX else bad_lines.HUGE_INDEX


@inline
def usual_pairs(text, p, ends, j, base, k, indices, data, top, last, ascending):
    """Pairs of short numbers with a space between them, as far as there are any.

    Where they end, and what is known then: (where, j, number of pairs so far, largest column, the last, order).
    """
    # The end of the word is known beforehand, so a pair does not wait for the one before it.
    while True:
        end = u8(ends[j])
        marks = no_digits(text, p)
        length = trailing_zeros(marks)
        # Length 0 wraps to a huge number: one comparison refuses both no index and a long one.
        if length - u8(1) >= u8(8) or text[p + length] != COLON:
            break
        value, stop, is_short = short_number(text, p + length + u8(1), marks >> (length + u8(1)))
        # The value must end where the word ends; anything else is for the careful way.
        if not is_short or stop != end:
            break
        letters = word(text, p)
        # Most indices have at most four digits, and a shorter chain of multiplications reads those.
        if length <= u8(4):
            column = four_digits(letters << (u8(32) - (length << u8(3)))) - base
        else:
            column = eight_digits(letters << (u8(64) - (length << u8(3)))) - base
        # An index 0 of a file that counts from 1 wraps to a huge column, and is refused here.
        if column >= INDEX_LIMIT:
            break
        data[k] = value
        indices[k] = np.uint32(column)
        # The order is noted on the way: rows that ascend need no sorting later.
        ascending &= np.int64(column) > last
        last = np.int64(column)
        top = max(top, last)
        k += u8(1)
        p = end
        # A tab, a comment or the line's end is left to the careful way.
        if text[p] != SPACE:
            break
        p += u8(1)
        j += u8(1)
    return p, j, k, top, last, ascending


@inline
def read_pairs(text, p, ends, j, base, k, indices, data):
    """The pairs of a line: (where they end, j, number of pairs so far, problem, largest column, whether they ascend).

    ``ends`` is where words end, the first j of which stand before p.
    """
    # A query id may only come before the first pair, and once.
    begin = k
    queries = 0
    top, last, ascending = np.int64(-1), np.int64(-1), True
    while True:
        letter = text[p]
        digit = u8(letter) - ZERO
        if digit >= TEN:
            if is_blank(letter):
                p += u8(1)
                continue
            if letter == NEWLINE:
                return p, j, k, bad_lines.GOOD, top, ascending
            if letter == HASH:
                p, problem = skip_comment(text, p)
                if problem == bad_lines.GOOD:
                    continue
                return p, j, k, problem, top, ascending
            if letter == Q and k == begin and queries == 0:
                p, problem = skip_query(text, p)
                if problem == bad_lines.GOOD:
                    queries = 1
                    continue
                return p, j, k, problem, top, ascending
            return p, j, k, pair_problem(text, p), top, ascending
        # First all pairs of the usual form at once; the careful way takes only the one that stopped them.
        start, j = p, separator_from(p, ends, j)
        p, j, k, top, last, ascending = usual_pairs(text, p, ends, j, base, k, indices, data, top, last, ascending)
        if p > start:
            continue
        # The careful way: an index of any length. It may wrap; the length is checked below.
        index = u8(0)
        while digit < TEN:
            index = index * TEN + digit
            p += u8(1)
            digit = u8(text[p]) - ZERO
        column = index - base  # wraps to a huge number where it would be negative
        # Beyond 18 digits the index may have wrapped, whatever it looks like.
        if text[p] != COLON or column >= INDEX_LIMIT or p - start > LONGEST_INDEX:
            return start, j, k, index_problem(text, p, index, p - start), top, ascending
        value, p, code = number(text, p + u8(1))
        if code != OK:
            return p, j, k, bad_lines.BAD_VALUE if code == BAD else bad_lines.LARGE_VALUE, top, ascending
        ascending &= np.int64(column) > last
        last = np.int64(column)
        top = max(top, last)
        indices[k] = np.uint32(column)
        data[k] = value
        k += u8(1)


@kernel
def parse_lines(text, size, base, skip_bad, ends, labels, indptr, indices, data):
    """Lines to rows: (rows, pairs, lines, bad lines, the first problem, its line, its byte, largest column, order).

    ``text`` ends with a newline at ``size - 1`` and has padding after it. The first problem is kept; without
    ``skip_bad`` it ends the parsing.
    """
    end = u8(size)
    base = u8(base)
    # All ends of words are found first, in windows of 64 bytes.
    find_separators(text, end, ends)
    p = u8(0)
    j = u8(0)
    row = u8(0)
    k = u8(0)
    lines = 0
    bad = 0
    first_problem, first_line, first_byte = bad_lines.GOOD, 0, 0
    top, ascending = np.int64(-1), True
    indptr[u8(0)] = 0
    while p < end:
        while is_blank(text[p]):
            p += u8(1)
        # Blank lines count as lines, so that later errors name the right one, but not as rows.
        if text[p] == NEWLINE:
            p += u8(1)
            lines += 1
            continue
        is_row = text[p] != HASH
        if is_row:
            # Most labels are one digit; all others take the way of any number.
            label, after, is_digit = one_digit(text, p)
            if is_digit and is_blank(text[after]):
                p, problem = after, bad_lines.GOOD
            else:
                label, p, problem = read_label(text, p)
        else:
            label = 0.0
            p, problem = skip_comment(text, p)
        # k moves on only after the whole line is good, so the pairs of a bad line are overwritten.
        filled, highest, ordered = k, np.int64(-1), True
        if problem == bad_lines.GOOD and is_row:
            p, j, filled, problem, highest, ordered = read_pairs(text, p, ends, j, base, k, indices, data)
        if problem != bad_lines.GOOD:
            # Only the first problem is kept: its place makes the message, and the others are counted.
            if bad == 0:
                first_problem, first_line, first_byte = problem, lines, np.int64(p)
            bad += 1
            if not skip_bad:
                break
            # To the end of the bad line, from wherever it was given up.
            while text[p] != NEWLINE:
                p += u8(1)
        elif is_row:
            labels[row] = label
            row += u8(1)
            # Also the largest column and the order are those of good rows alone.
            k = filled
            top = max(top, highest)
            ascending &= ordered
            indptr[row] = np.int64(k)
        p += u8(1)
        lines += 1
    return row, k, lines, bad, first_problem, first_line, first_byte, top, ascending


def parse(block: Block, *, zero_based: bool = False, skip_bad: bool = False) -> Parsed:
    """The rows of a block of whole lines."""
    # Rooms for the worst case, so that the compiled loop needs no checks of bounds.
    n_pairs, n_lines = block.size // 4 + 1, block.most_lines()  # at most: «1:1 » and «1\n»
    labels, indptr = room(n_lines), room(n_lines + 1, np.int64)
    indices, data = room(n_pairs, np.uint32), room(n_pairs)
    rows, pairs, lines, bad, code, line, byte, top, ascending = parse_lines(
        block.text,
        block.size,
        0 if zero_based else 1,
        skip_bad,
        room_for_separators(block.size),
        labels,
        indptr,
        indices,
        data,
    )
    return Parsed(
        trimmed(labels, rows),
        trimmed(indptr, rows + 1),
        trimmed(indices, pairs),
        trimmed(data, pairs),
        lines,
        bad,
        Problem(code, line, byte) if bad else None,
        top=top,
        ascending=ascending,
    )
