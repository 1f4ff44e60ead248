"""Text to float64, correctly rounded, in compiled code.

The grammar is ``[+-] digits [. digits] [e [+-] digits]``, with at least one digit before or after the
point. That is what svmlight and Vowpal Wabbit files hold; ``inf``, ``nan``, hexadecimals and underscores
are refused, and so is a number that rounds to infinity.

A number is w·10^q. There are four roads, each taken only if the one before is not sure to be right:

1. w < 2^53 and 0 ≤ −q ≤ 22: both w and 10^−q are floats, so one division rounds correctly (Clinger 1990).
2. w < 10^19: multiply w by the first 128 bits of 5^q; the 53 bits wanted are at the top of the product
   and what was cut off can be shown never to matter (Eisel and Lemire 2021; Mushtak and Lemire 2023).
3. More than 19 digits: w·10^q ≤ the number < (w+1)·10^q. Where both ends round to one float, that is it.
4. Otherwise two neighbouring floats are left, and whole numbers of any length decide: see ``decimals``.

References
----------
D. Lemire, Number parsing at a gigabyte per second, Software: Practice and Experience 51 (2021).
N. Mushtak and D. Lemire, Fast number parsing without fallback, ibid. 53 (2023).
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import exact, exact_part, inline, kernel
from aggro.engine.jit.intrinsics import bits_of, high_half, leading_zeros, trailing_zeros
from aggro.streams.parse.decimals import side_of_middle
from aggro.streams.parse.words64 import PADDING, digit_run, eight_digits, word

u8 = np.uint64

OK, BAD, TOO_LARGE = 0, 1, 2

MINUS, PLUS, POINT, ZERO = 45, 43, 46, u8(48)
LETTER_E, TO_LOWER = 101, 32

POWERS_OF_TEN = np.array([10.0**k for k in range(23)])  # all of them exact
WHOLE_TENS = np.array([10**k for k in range(20)], np.uint64)

LEAST_POWER, MOST_POWER = -342, 308  # below w·10^-342 everything is 0, above w·10^308 everything is infinite
FRACTION = u8(2**52)
EXACT_SIGNIFICAND = u8(2**53)
INFINITY_BITS = u8(0x7FF0000000000000)
SIGN = u8(63)
ALL_BITS = u8(2**64 - 1)
FAR_EXPONENT = 10**15  # an exponent beyond any that a line of text can make good


def _powers_of_five() -> np.ndarray:
    """The first 128 bits of 5^q for every q that matters.

    They are cut off, except that −27 ≤ q < 0 is rounded up: there w·10^q can be halfway between two
    floats, and the product must not fall short of it.
    """
    rows = []
    # The exponent of 5 alone: 10^q is 5^q·2^q, and the power of two only moves the float's exponent.
    for q in range(LEAST_POWER, MOST_POWER + 1):
        power = 5 ** abs(q)
        # For negative q the reciprocal, with bits to spare; then exactly 128 bits are kept.
        bits = (1 << power.bit_length() + 255) // power if q < 0 else power << 128
        bits >>= bits.bit_length() - 128
        bits += -27 <= q < 0
        rows.append((bits >> 64, bits & (2**64 - 1)))
    return np.array(rows, np.uint64)


FIVES = _powers_of_five()


@inline
def nearest(w, q):
    """The bits of the float64 nearest to w·10^q; those of infinity where that is too large."""
    # 0, or too small for any float.
    if w == u8(0) or q < LEAST_POWER:
        return u8(0)
    if q > MOST_POWER:
        return INFINITY_BITS
    # Normalised, so that the leading 1 of the product is in the highest bit or the one below it.
    zeros = leading_zeros(w)
    w <<= zeros
    k = u8(q - LEAST_POWER)
    # The upper 64 bits of 5^q are enough, unless a carry from the lower ones could reach the bits that count.
    top, low = high_half(w, FIVES[k, u8(0)]), w * FIVES[k, u8(0)]
    if top & u8(511) == u8(511):  # the nine bits below the 55 that count are ones: a carry would matter
        more = high_half(w, FIVES[k, u8(1)])
        low += more
        top += u8(low < more)
    # 54 bits are kept: the 53 of the significand and one to round by.
    leads = top >> SIGN
    shift = leads + u8(9)
    m = top >> shift  # 53 bits and the one that rounds
    exponent = ((217706 * q) >> 16) + 63 + 1023 + np.int64(leads) - np.int64(zeros)  # 217706 ≈ 2^16·log2(10)
    if exponent <= 0:
        # A shift by 64 bits or more is undefined; the number is 0 there in any case.
        if exponent <= -63:
            return u8(0)
        # A subnormal number has fewer bits: it is shifted into place before it is rounded.
        m >>= u8(1 - exponent)
        m += m & u8(1)
        return m >> u8(1)  # 2^52 here is the bit pattern of the smallest normal number, as it should be
    # Halfway exactly, which only small powers can be, goes to the even neighbour.
    if low <= u8(1) and q >= -4 and q <= 23 and m & u8(3) == u8(1) and m << shift == top:
        m -= u8(1)
    # Half up: a 1 in the rounding bit carries into the significand.
    m += m & u8(1)
    m >>= u8(1)
    # The carry made a 54th bit: the significand is 2^52 again, and the exponent one more.
    if m >= EXACT_SIGNIFICAND:
        m = FRACTION
        exponent += 1
    if exponent >= 2047:
        return INFINITY_BITS
    # The leading 1 is implied in a float64, so it is taken off.
    return (m - FRACTION) | (u8(exponent) << u8(52))


@exact
def quotient(w, k):
    return np.float64(np.int64(w)) / POWERS_OF_TEN[k]


@exact_part
def careful(text, p):
    """Any number at all, digit by digit: (value, where it ends, OK or what is wrong)."""
    start = p
    negative = text[p] == MINUS
    if negative or text[p] == PLUS:
        p += u8(1)
    first = p
    # 19 digits always fit 64 bits. Further ones only move the exponent, and whether any is not 0 is kept.
    w = u8(0)
    kept = 0
    q = 0
    points = 0
    more = False  # a digit other than 0 beyond the 19 that w has
    while True:
        digit = u8(text[p]) - ZERO
        if digit < u8(10):
            if kept < 19:
                w = w * u8(10) + digit
                kept += w > u8(0)
                q -= points
            else:
                # A digit that is dropped before the point makes the number ten times as large.
                more |= digit > u8(0)
                q += 1 - points
        elif text[p] == POINT and points == 0:
            points = 1
        else:
            break
        p += u8(1)
    if np.int64(p - first) == points:
        return 0.0, start, BAD
    shift = 0
    # With the bit of small letters set, E and e are one letter.
    if text[p] | TO_LOWER == LETTER_E:
        p += u8(1)
        down = text[p] == MINUS
        if down or text[p] == PLUS:
            p += u8(1)
        # An exponent without a digit is not part of the grammar.
        if u8(text[p]) - ZERO >= u8(10):
            return 0.0, start, BAD
        while u8(text[p]) - ZERO < u8(10):
            # Bounded, so that a long exponent cannot overflow into a small one.
            shift = min(shift * 10 + np.int64(text[p]) - 48, FAR_EXPONENT)
            p += u8(1)
        if down:
            shift = -shift
    bits = nearest(w, q + shift)
    # w and w + 1 bracket the number. If they round alike, the digits left out do not matter.
    if more and bits != nearest(w + u8(1), q + shift):
        side = side_of_middle(text, first, shift, bits)
        # Above the middle the next float is nearer; at the middle, the even one.
        bits += u8(side > 0 or (side == 0 and bits & u8(1) == u8(1)))
    if bits >= INFINITY_BITS:
        return 0.0, start, TOO_LARGE
    return u8(bits | (u8(negative) << SIGN)).view(np.float64), p, OK


@exact_part
def product(w, places, negative):
    """±w·10^−places where division is not exact."""
    return u8(nearest(w, -np.int64(places)) | (negative << SIGN)).view(np.float64)


@inline
def number(text, p):
    """The number that starts at p: (value, where it ends, OK or what is wrong).

    Fast for the usual ``-12.345``; a plus, an exponent or a twentieth digit takes the careful road. The
    fraction's length is found without a branch, because no processor can guess it.
    """
    start = p
    negative = u8(text[p] == MINUS)
    p += negative
    first = p
    # No check for overflow in the loop: the digits are counted afterwards, and too many take the careful road.
    w = u8(0)
    digit = u8(text[p]) - ZERO
    while digit < u8(10):
        w = w * u8(10) + digit
        p += u8(1)
        digit = u8(text[p]) - ZERO
    places = u8(0)
    if text[p] == POINT:
        p += u8(1)
        point = p
        # Eight digits of the fraction at a time; the mask of digits tells where it ends.
        letters = word(text, p)
        run = digit_run(letters)
        while run == u8(8):
            w = w * u8(100_000_000) + eight_digits(letters)
            p += u8(8)
            letters = word(text, p)
            run = digit_run(letters)
        # Two shifts, because one by 64 bits is undefined.
        w = w * WHOLE_TENS[run] + eight_digits((letters << (u8(56) - (run << u8(3)))) << u8(8))
        p += run
        places = p - point
        # The point stands among the letters and is no digit.
        first += u8(1)
    # p - first is the number of digits; 0 wraps to a huge one.
    if p - first - u8(1) >= u8(19) or text[p] | TO_LOWER == LETTER_E:
        return careful(text, start)
    # Clinger's case: both w and the power of ten are exact floats, so one division rounds correctly.
    if w < EXACT_SIGNIFICAND and places <= u8(22):
        value = quotient(w, places)
        return -value if negative else value, p, OK
    return product(w, places, negative), p, OK


@inline
def short_number(text, p, marks):
    """A number of at most eight digits, of which less than eight stand before its point: (value, its end, is it one?).

    ``marks`` has bit k set where byte p + k is no digit (``no_digits``). What follows the number is for the caller to
    judge: it may be an exponent, or nonsense. No branch depends on the sign or on how many digits there are.
    """
    # The sign is a number, 0 or 1, and moves the start: random signs cost no branch.
    negative = u8(text[p] == MINUS)
    first = p + negative
    marks >>= negative
    whole = trailing_zeros(marks)
    if whole >= u8(8):
        return 0.0, p, False
    digits = whole
    letters = word(text, first)
    end = first + whole
    # The next mark after the point ends the number. The digits before and behind it are joined by a mask.
    if text[end] == POINT:
        digits = trailing_zeros(marks & (marks - u8(1))) - u8(1)
        end = first + digits + u8(1)
        behind = ALL_BITS << (whole << u8(3))
        letters = (letters & ~behind) | (word(text, first + u8(1)) & behind)
    # No digit wraps to a huge number, so one comparison finds both too few and too many.
    if digits - u8(1) >= u8(8):
        return 0.0, p, False
    # Shifted to the top of the word: the bytes below become zeros, which read as leading zeros.
    w = eight_digits(letters << (u8(64) - (digits << u8(3))))
    # At most eight digits and a power of ten up to 10^8: both are exact floats, and one division rounds correctly.
    bits = u8(bits_of(quotient(w, digits - whole))) | negative << SIGN
    return u8(bits).view(np.float64), end, True


@inline
def one_digit(text, p):
    """A number of one digit, with a sign or without, as most labels are: (value, its end, is it one?)."""
    negative = u8(text[p] == MINUS)
    first = p + (negative | u8(text[p] == PLUS))
    digit = u8(text[first]) - ZERO
    # Whatever the letter is, a float is made of it: the caller looks at the flag.
    bits = u8(bits_of(np.float64(np.int64(digit)))) | negative << SIGN
    return u8(bits).view(np.float64), first + u8(1), digit < u8(10)


@kernel
def _parse(text):
    return number(text, u8(0))


def parse_float(text: bytes) -> float:
    """The float that ``text`` writes; the compiled parsers' way with numbers, for one of them.

    >>> parse_float(b"-1.5e3")
    -1500.0
    """
    value, end, code = _parse(np.frombuffer(text + bytes(PADDING), np.uint8))
    if code == TOO_LARGE:
        raise OverflowError(f"{text!r} is too large for a float64.")
    if code == BAD or end != len(text):
        raise ValueError(f"{text!r} is not a decimal number such as -1, 0.5 or 2e-3.")
    return float(value)
