"""Reads a file with a line of 100 MB, in a process of its own: see test_long_lines.py."""

from __future__ import annotations

import json
import resource
import sys

import numpy as np

import aggro.streams

DIGITS = {"svmlight": 8, "vw": 40}  # of a feature's name; VW names may be long
SIZE = 100_000_000


def records(format: str) -> int:
    return SIZE // (DIGITS[format] + 3) + 1


def long_line(format: str) -> bytes:
    """A line of 100 MB: the features 10000001, 10000002, … with the value 1."""
    n, digits = records(format), DIGITS[format]
    letters = np.full((n, digits + 3), ord(" "), np.uint8)
    letters[:, :digits] = ord("0")
    numbers = 10_000_001 + np.arange(n)
    for place in range(8):
        letters[:, digits - 1 - place] += (numbers // 10**place % 10).astype(np.uint8)
    letters[:, digits : digits + 2] = list(b":1")
    return {"svmlight": b"+1 ", "vw": b"1 |f "}[format] + letters.tobytes().rstrip()


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main(format: str, path: str) -> None:
    short = {"svmlight": b"-1 1:2\n", "vw": b"-1 |f 1:2\n"}[format]
    line = long_line(format)
    with open(path, "wb") as file:
        file.writelines([short, line, b"\n", short])
    found: dict = {"before": peak()}
    rows = [
        (row, y) for chunk in aggro.streams.open(path, format=format) for row, y in zip(chunk.X, chunk.y, strict=True)
    ]
    found["good"] = [[int(row.nnz), float(row.sum()), float(y)] for row, y in rows]
    del rows
    with open(path, "wb") as file:
        file.writelines([short, line, {"svmlight": b" 3:x\n", "vw": b" |:2 x\n"}[format], short])
    try:
        list(aggro.streams.open(path, format=format))
    except aggro.streams.BadLine as error:
        found["error"] = str(error)
    stream = aggro.streams.open(path, format=format, skip_bad=True)
    found["skipped"] = [sum(len(chunk.y) for chunk in stream), stream.bad_lines]
    found["after"] = peak()
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
