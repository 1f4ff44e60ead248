"""Numbers that are hard to round, and a long comparison with Python's float.

``python tests/helpers/hard_numbers.py MILLIONS`` compares that many millions.
"""

from __future__ import annotations

import random
import struct
import sys
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from math import isfinite

import numpy as np

from aggro.streams.io.block import Block
from aggro.streams.parse import svmlight


def float_of(bits: int) -> float:
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def middle(bits: int) -> Decimal:
    """The number halfway between a float and its successor, exactly."""
    exact = (Fraction(float_of(bits)) + Fraction(float_of(bits + 1))) / 2
    with localcontext() as context:
        context.prec = 1200
        return Decimal(exact.numerator) / Decimal(exact.denominator)


def some_bits(rng: random.Random) -> int:
    """A positive finite float: anything, a denormal, one near 1, one near the ends."""
    return rng.choice(
        [
            rng.randrange(0x7FEFFFFFFFFFFFFF),
            rng.getrandbits(52),
            rng.randrange(50),
            0x3FF0000000000000 + rng.randrange(-(2**54), 2**54),
            0x7FEFFFFFFFFFFFFE - rng.randrange(50),
            0x0010000000000000 + rng.randrange(-50, 50),
        ]
    )


def halfway(rng: random.Random) -> str:
    """A middle of two floats, or a number a hair beside it."""
    exact = middle(some_bits(rng))
    text = f"{exact:f}" if rng.random() < 0.5 else f"{exact:e}"
    mantissa, _, exponent = text.partition("e")
    if "." not in mantissa:
        mantissa += "."
    kind = rng.randrange(5)
    if kind == 1:
        mantissa += "0" * rng.randrange(900) + "1"
    elif kind == 2 and mantissa[-1] in "123456789":
        mantissa = mantissa[:-1] + str(int(mantissa[-1]) - 1) + "9" * rng.randrange(900)
    elif kind == 3:
        mantissa = mantissa[: mantissa.index(".") + rng.randrange(1, 40)]
    elif kind == 4:
        mantissa = "0" * rng.randrange(30) + mantissa
    return mantissa + ("e" + exponent if exponent else "")


def digits(rng: random.Random) -> str:
    n = rng.choice([1, 2, 6, 8, 9, 15, 16, 17, 18, 19, 20, 21, 30, 100])
    text = "".join(rng.choices("0123456789", k=n))
    if rng.random() < 0.7:
        at = rng.randrange(n + 1)
        text = text[:at] + "." + text[at:]
    if rng.random() < 0.4:
        text += rng.choice("eE") + rng.choice(["", "+", "-"]) + str(rng.randrange(rng.choice([30, 400])))
    return text


def numbers(rng: random.Random, n: int) -> Iterator[str]:
    for _ in range(n):
        kind = rng.random()
        if kind < 0.2:
            text = repr(float_of(rng.getrandbits(63)))
            text = "1" if text in ("inf", "nan") else text
        elif kind < 0.3:
            text = f"{rng.gauss(0, 1) * 10 ** rng.randrange(-8, 8):.{rng.randrange(1, 20)}g}"
        elif kind < 0.9:
            text = digits(rng)
        else:
            text = halfway(rng)
        yield rng.choice(["", "", "-", "+"]) + text.lstrip("-")


def compare(texts: list[str]) -> None:
    """Parse them as the values of one svmlight row and compare every bit."""
    expected = np.array([float(text) for text in texts])
    good = np.isfinite(expected)
    kept = [text for text, is_good in zip(texts, good, strict=True) if is_good]
    row = svmlight.parse(Block.of(("0 " + " ".join(f"1:{text}" for text in kept)).encode()))
    assert row.problem is None, kept
    wrong = np.flatnonzero(row.data.view(np.uint64) != expected[good].view(np.uint64))
    assert not wrong.size, f"{kept[wrong[0]]} was read as {row.data[wrong[0]]!r}"
    large = [text for text, is_good in zip(texts, good, strict=True) if not is_good]
    if large:
        block = Block.of("".join(f"{text}\n" for text in large).encode())
        assert svmlight.parse(block, skip_bad=True).bad == len(large)


def run(n: int, seed: int) -> int:
    rng = random.Random(seed)
    done = 0
    while done < n:
        compare(list(numbers(rng, 10_000)))
        done += 10_000
    return done


if __name__ == "__main__":
    assert isfinite(float_of(1))
    wanted = int(float(sys.argv[1]) * 1_000_000) if len(sys.argv) > 1 else 1_000_000
    print(f"{run(wanted, random.SystemRandom().getrandbits(32)):,} numbers agree with float() to the bit")
