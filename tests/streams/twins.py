"""Slow, literal twins of the compiled parsers: what the formats say, in regular expressions."""

from __future__ import annotations

import re
from math import isinf
from typing import NamedTuple

from aggro.streams import problems

NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
BLANKS = re.compile(rb"[ \t\r]*")
PAIR = re.compile(rb"(\d*):?")
QUERY = re.compile(rb"qid:\d+(?=[ \t\r#]|$)")


class Rows(NamedTuple):
    """y and rows of (column, value); the problems as (code, line, byte of the text)."""

    y: list
    rows: list
    bad: list
    lines: int


class Wrong(Exception):
    def __init__(self, code: int, at: int) -> None:
        self.code, self.at = code, at


def number(line: bytes, at: int, bad: int, large: int) -> tuple[float, int]:
    match = NUMBER.match(line, at)
    if match is None or (not match[2] and line[match.end() : match.end() + 1] in (b"e", b"E")):
        raise Wrong(bad, at)
    value = float(match[0])
    if isinf(value):
        raise Wrong(large, at)
    return value, match.end()


def comment(line: bytes, at: int) -> None:
    nul = line.find(b"\0", at)
    if nul >= 0:
        raise Wrong(problems.NUL, nul)


def svmlight_line(line: bytes, base: int) -> tuple[float, list] | None:
    at = BLANKS.match(line).end()
    if at == len(line):
        return None
    if line[at : at + 1] == b"#":
        comment(line, at)
        return None
    label, end = number(line, at, problems.BAD_LABEL, problems.LARGE_LABEL)
    if line[end : end + 1] not in (b"", b" ", b"\t", b"\r", b"#"):
        raise Wrong(problems.NO_LABEL if line[end : end + 1] == b":" else problems.BAD_LABEL, at)
    at = end
    pairs: list = []
    queries = 0
    while True:
        at = BLANKS.match(line, at).end()
        if at == len(line):
            return label, pairs
        if line[at : at + 1] == b"#":
            comment(line, at)
            return label, pairs
        if pairs and at == end and not line[at : at + 1].isdigit():
            raise Wrong(problems.BAD_VALUE, at)
        if line[at : at + 1] == b"q" and not pairs and not queries:
            match = QUERY.match(line, at)
            if not match:
                raise Wrong(problems.BAD_QUERY, at)
            queries, at = 1, match.end()
            continue
        if re.match(rb"-\d", line[at:]):
            raise Wrong(problems.NEGATIVE_INDEX, at)
        match = PAIR.match(line, at)
        digits = match[1]
        if not digits or not match[0].endswith(b":"):
            raise Wrong(problems.BAD_PAIR, at)
        if len(digits) > 18 or int(digits) - base > problems.LARGEST_INDEX:
            raise Wrong(problems.HUGE_INDEX, at)
        if int(digits) < base:
            raise Wrong(problems.ZERO_INDEX, at)
        value, end = number(line, match.end(), problems.BAD_VALUE, problems.LARGE_VALUE)
        pairs.append((int(digits) - base, value))
        at = end


def read(text: bytes, line_reader, skip_bad: bool) -> Rows:
    """All lines of a text that ends with a newline."""
    y, rows, bad = [], [], []
    start = 0
    lines = text.split(b"\n")[:-1]
    for n, line in enumerate(lines):
        try:
            row = line_reader(line)
        except Wrong as wrong:
            bad.append((wrong.code, n, start + wrong.at))
            if not skip_bad:
                return Rows(y, rows, bad, n)
        else:
            if row is not None:
                y.append(row[0])
                rows.append(row[1])
        start += len(line) + 1
    return Rows(y, rows, bad, len(lines))


def svmlight(text: bytes, zero_based: bool = False, skip_bad: bool = False) -> Rows:
    return read(text, lambda line: svmlight_line(line, 0 if zero_based else 1), skip_bad)
