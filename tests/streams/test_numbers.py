"""Text to float64: every bit as Python's float has it."""

from __future__ import annotations

import struct

import pytest
from helpers import hard_numbers

from aggro.streams.parse.numbers import FIVES, LEAST_POWER, parse_float

GOOD = ["0", "-0", "1", "-1", "+1", "1.", ".5", "-.5", "0.1", "1e5", "1E5", "1e+5", "1e-5", "1e-400", "1e-324"]
GOOD += ["4.9e-324", "2.4703282292062327e-324", "2.4703282292062328e-324"]  # the smallest float and half of it
GOOD += ["2.2250738585072014e-308", "2.2250738585072011e-308"]  # the smallest normal one
GOOD += ["1.7976931348623157e308", "1.7976931348623158e308"]  # the largest
GOOD += ["9007199254740993", "9007199254740993.00000000000000000000000000000000001", "70991401508866332.0"]
GOOD += ["123456789012345678901234567890", "0e99999999999999999999", "0000000000000000000000000000000001.5"]
GOOD += ["8.41e21", "9.5e22", "0.500000000000000166533453693773481063544750213623046875"]

BAD = ["", "+", "-", ".", "-.", "e5", "1e", "1e+", "1e-", "inf", "-inf", "nan", "infinity", "0x1p3", "1_0", "1.5.2"]
BAD += ["--1", "+-1", "1 ", " 1", "1,5", "1d5", "١", "1\x00"]


@pytest.mark.parametrize("text", [*GOOD, "0." + "0" * 400 + "1e400", "1" + "0" * 400 + "e-400", "0." + "3" * 5000])
def test_good_numbers(text):
    assert struct.pack("<d", parse_float(text.encode())) == struct.pack("<d", float(text))


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_number_is_refused(text):
    with pytest.raises(ValueError, match="not a decimal number"):
        parse_float(text.encode())


@pytest.mark.parametrize("text", ["1e309", "-1e309", "1.7976931348623159e308", "9" * 400, "1e99999999999999999999"])
def test_numbers_beyond_the_largest_float_are_refused(text):
    with pytest.raises(OverflowError, match="too large"):
        parse_float(text.encode())


def test_largest_float_and_the_first_refused_number():
    edge = 2**1024 - 2**970  # halfway to 2^1024: the tie goes to the even, infinite side
    assert parse_float(str(edge - 1).encode()) == float(edge - 1)
    with pytest.raises(OverflowError):
        parse_float(str(edge).encode())


def test_random_and_hard_numbers():
    assert hard_numbers.run(60_000, seed=1) >= 60_000


def test_powers_of_five_are_right():
    for q in (-342, -28, -27, -1, 0, 1, 27, 28, 55, 56, 308):
        high, low = (int(half) for half in FIVES[q - LEAST_POWER])
        bits = high << 64 | low
        power = 5 ** abs(q)
        assert bits >> 127 == 1
        if q >= 0:
            shift = power.bit_length() - 128
            assert bits == (power >> shift if shift > 0 else power << -shift)
        else:  # bits·5^|q| is a power of two but for one unit
            near = 1 << (bits * power - 1).bit_length()
            assert min(abs(bits * power - near), abs(bits * power - near // 2)) <= power
