"""Mutated text through a compiled parser and its twin: both must see the same rows and the same problems.

``NUMBA_BOUNDSCHECK=1 python tests/helpers/fuzz.py svmlight 10`` runs ten million mutations on the parser with
bounds checks.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from streams import twins

from aggro.streams.io.block import Block, Parsed
from aggro.streams.parse import svmlight, vw

SEEDS = {
    "svmlight": [
        b"+1 1:0.5 2:-1.25e-3 17:3\n-1 2:1 # comment\n",
        b"0.5 qid:12 1:1 2:2\r\n\r\n\t-3\t4:5 \n# only a comment\n1\n",
        b"1 1:123456789012345678901234567890.5 2147483647:1\n2 0:1\n",
        b"1 3:1e308 4:.5 5:5. 5:1 2:0\n",
        b"-1 1:0.00000000000000000001 2:12345678.12345678\n",
        b"+1 1:0.12573 2:-0.132105 10:-1 12345:0.041326 123456789:7\n-1 1:-2.32503 3:99999999 12345678:1234567.8 \n",
    ],
    "vw": [
        b"1 2.0 0.5 'tag|a x:2 y |b:0.5 z:3 x\n-1 |a x\n",
        b"|  u v:1e-3\r\n\r\n'only| w\n1|a x\n",
        b"-1 0.25 |longnamespace averylongfeaturename:0.125 exactly8 a\tb|c d:1 \n",
        b"0.5 |f 1:1e200 |g:1e200 2:1e200 \xc3\xa9:1\n1\t|a b\n",
        b"spam 2 |a^b :1 :0.5 colour:red |c:3 town:Nancy :2 t:x|y:z\nham -1 |a b^c :1\n1,2 | a\n0:1:0.5 | a\n",
        b"+1 |f 1:0.12573 2:-0.132105 exactly8:-1 alongerfeaturename:0.041326 thirtyoneletters_thirtyone_____:1 x:7\n",
        b"| :1 :1 :1 :1 :1 :1 :1 :1 :1 :1 :1 x:e5 y:- z:nan u:-.e w:infinity v:+x\n",
    ],
}
PIECES = {
    "svmlight": b"\n|\r\n| |\t|#|:|-|+|.|e|E|0|1|9|00000000|99999999|1e999|1e-999|nan|inf|qid:1|qid:|q|\0|1:1 | 2:2|"
    b"2147483647:|2147483648:|99999999999999999999:|\xff|18446744073709551616|.5|5.|0x1|1_1".split(b"|"),
    "vw": b"\n,\r\n, ,\t,|,|a ,|a:2 ,:,',-,+,.,e,0,1,99999999,1e999,nan,1e200,\0,\xff,'t|,a:1 ,|:,||,a^b,a,:1 ,"
    b":x,b:x,nan,inf,Infinity,spam ,1:2 ,-1 ,\\,E5,+.".split(b","),
}


def mutate(rng: random.Random, seeds: list[bytes], pieces: list[bytes]) -> bytes:
    text = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at = rng.randrange(len(text) + 1)
        kind = rng.randrange(6)
        if kind == 0:
            text[at:at] = rng.choice(pieces)
        elif kind == 1:
            del text[at : at + rng.choice((1, 1, 2, 5))]
        elif kind == 2:
            text[at : at + 1] = bytes((rng.randrange(256),))
        elif kind == 3:
            text[at : at + rng.randrange(4)] = rng.choice(pieces)
        elif kind == 4:
            text[at:at] = text[rng.randrange(len(text) + 1) :][: rng.randrange(20)]
        else:
            text[at:] = rng.choice(seeds)[rng.randrange(20) :]
    return bytes(text) if text.endswith(b"\n") else bytes(text) + b"\n"


def seen(parsed: Parsed) -> tuple:
    """What a parser saw, as a twin says it."""
    pairs = list(zip(parsed.indices.tolist(), parsed.data.view(np.uint64).tolist(), strict=True))
    rows = [pairs[a:b] for a, b in zip(parsed.indptr[:-1], parsed.indptr[1:], strict=True)]
    problem = None if parsed.problem is None else tuple(parsed.problem)
    return parsed.y.view(np.uint64).tolist(), rows, parsed.bad, problem, parsed.lines


def expected(twin: twins.Rows) -> tuple:
    def bits(values: list) -> list:
        return np.array(values, float).view(np.uint64).tolist()

    rows = [list(zip((j for j, _ in row), bits([v for _, v in row]), strict=True)) for row in twin.rows]
    return bits(twin.y), rows, len(twin.bad), twin.bad[0] if twin.bad else None, twin.lines


def check_svmlight(text: bytes, zero_based: bool, skip_bad: bool) -> None:
    ours = seen(svmlight.parse(Block.of(text), zero_based=zero_based, skip_bad=skip_bad))
    theirs = expected(twins.svmlight(text, zero_based, skip_bad))
    assert ours == theirs, f"{text!r} (zero_based={zero_based}, skip_bad={skip_bad})\n{ours}\n{theirs}"


def check_vw(text: bytes, named: bool, skip_bad: bool) -> None:
    words = len(text) % 3 == 0
    parsed = vw.parse(Block.of(text), named=named, bits=20, words=words, skip_bad=skip_bad)
    twin = twins.vw(text, skip_bad, words)
    if named:
        names = [twins.vw_name(feature) for feature in features(twin)]
        assert [parsed.names[j] for j in parsed.indices] == names, repr(text)
        assert parsed.names == list(dict.fromkeys(names)), repr(text)
    else:
        columns = [twins.vw_key(feature) >> 44 for feature in features(twin)]
        assert parsed.indices.tolist() == columns, repr(text)
    if words:
        labels = [None if y is None else y.decode("utf-8", "backslashreplace") for y in twin.y]
        assert parsed.y.tolist() == labels, repr(text)
        zeros = np.zeros(len(labels))
        parsed, twin = parsed._replace(y=zeros), twin._replace(y=zeros.tolist())
    columns = iter(parsed.indices.tolist())
    twin = twin._replace(rows=[[(next(columns), value) for _, value in row] for row in twin.rows])
    assert seen(parsed) == expected(twin), f"{text!r} (skip_bad={skip_bad})\n{seen(parsed)}\n{expected(twin)}"
    weights = [1.0 if weight != weight else weight for weight in twin.weights]
    assert parsed.weight is None or parsed.weight.tolist() == weights, repr(text)
    assert (parsed.weight is None) == all(weight != weight for weight in twin.weights), repr(text)


def features(twin: twins.Rows) -> list:
    return [feature for row in twin.rows for feature, _ in row]


CHECKS: dict[str, Callable[..., Any]] = {"svmlight": check_svmlight, "vw": check_vw}


def run(name: str, n: int, seed: int) -> int:
    rng = random.Random(seed)
    check, seeds, pieces = CHECKS[name], SEEDS[name], PIECES[name]
    for _ in range(n):
        check(mutate(rng, seeds, pieces), rng.random() < 0.3, rng.random() < 0.7)
    return n


if __name__ == "__main__":
    which, millions = sys.argv[1], float(sys.argv[2])
    start = time.monotonic()
    for part in range(int(millions * 100)):
        run(which, 10_000, random.SystemRandom().getrandbits(63))
        if part % 25 == 24:
            print(f"{(part + 1) / 100:.2f} million in {time.monotonic() - start:.0f} s", flush=True)
