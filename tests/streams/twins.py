"""Slow, literal twins of the compiled parsers: what the formats say, in regular expressions."""

from __future__ import annotations

import re
from math import isinf
from typing import NamedTuple

from aggro.streams import bad_lines

NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
BLANKS = re.compile(rb"[ \t\r]*")
PAIR = re.compile(rb"(\d*):?")
QUERY = re.compile(rb"qid:\d+(?=[ \t\r#]|$)")


class Rows(NamedTuple):
    """y and rows of (column or name, value); the problems as (code, line, byte of the text)."""

    y: list
    rows: list
    bad: list
    lines: int
    weights: list = []  # noqa: RUF012


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
        raise Wrong(bad_lines.HOLDS_NUL, nul)


def svmlight_line(line: bytes, base: int) -> tuple[float, list] | None:
    at = BLANKS.match(line).end()
    if at == len(line):
        return None
    if line[at : at + 1] == b"#":
        comment(line, at)
        return None
    label, end = number(line, at, bad_lines.BAD_LABEL, bad_lines.LARGE_LABEL)
    if line[end : end + 1] not in (b"", b" ", b"\t", b"\r", b"#"):
        raise Wrong(bad_lines.NO_LABEL if line[end : end + 1] == b":" else bad_lines.BAD_LABEL, at)
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
            raise Wrong(bad_lines.BAD_VALUE, at)
        if line[at : at + 1] == b"q" and not pairs and not queries:
            match = QUERY.match(line, at)
            if not match:
                raise Wrong(bad_lines.BAD_QUERY, at)
            queries, at = 1, match.end()
            continue
        if re.match(rb"-\d", line[at:]):
            raise Wrong(bad_lines.NEGATIVE_INDEX, at)
        match = PAIR.match(line, at)
        digits = match[1]
        if not digits or not match[0].endswith(b":"):
            raise Wrong(bad_lines.BAD_PAIR, at)
        if len(digits) > 18 or int(digits) - base > bad_lines.LARGEST_INDEX:
            raise Wrong(bad_lines.HUGE_INDEX, at)
        if int(digits) < base:
            raise Wrong(bad_lines.ZERO_INDEX, at)
        value, end = number(line, match.end(), bad_lines.BAD_VALUE, bad_lines.LARGE_VALUE)
        pairs.append((int(digits) - base, value))
        at = end


def read(text: bytes, line_reader, skip_bad: bool) -> Rows:
    """All lines of a text that ends with a newline."""
    y, rows, bad, weights = [], [], [], []
    start = 0
    lines = text.split(b"\n")[:-1]
    for n, line in enumerate(lines):
        try:
            row = line_reader(line)
        except Wrong as wrong:
            bad.append((wrong.code, n, start + wrong.at))
            if not skip_bad:
                return Rows(y, rows, bad, n, weights)
        else:
            if row is not None:
                y.append(row[0])
                rows.append(row[1])
                weights.append(row[2] if len(row) > 2 else 1.0)
        start += len(line) + 1
    return Rows(y, rows, bad, len(lines), weights)


def svmlight(text: bytes, zero_based: bool = False, skip_bad: bool = False) -> Rows:
    return read(text, lambda line: svmlight_line(line, 0 if zero_based else 1), skip_bad)


HEAD_WORD = re.compile(rb"[^ \t\r|\0]*")
NAME = re.compile(rb"[^ \t\r|:\0]*")
A, B, MASK = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 2**64 - 1


def hash_bytes(text: bytes, seed: int) -> int:
    def mix(h: int) -> int:
        h = h * A & MASK
        h ^= h >> 32
        h = h * B & MASK
        return h ^ h >> 29

    h = mix(seed ^ len(text) * B & MASK)
    for i in range(0, len(text), 8):
        h = mix(h ^ int.from_bytes(text[i : i + 8], "little"))
    return h


BEGINS_NUMBER = re.compile(rb"[+-]?(\d|\.\d)")
HOLLOW = re.compile(rb"[+-]?((nan|inf|infinity)|\.?(e[+-]?\d*)?)(?=[ \t\r|]|$)", re.IGNORECASE)
TEXT = re.compile(rb"[^ \t\r\0]*")


def is_word(line: bytes, at: int) -> bool:
    """Neither a number, nor the start of one, nor what is spelled like one without its digits."""
    return not BEGINS_NUMBER.match(line, at) and not HOLLOW.match(line, at)


def vw_head(line: bytes, at: int, words: bool) -> tuple[float | bytes, float, int]:
    """(label, importance, where the bar is)"""
    start = at
    given: list = []
    while True:
        at = BLANKS.match(line, at).end()
        first, at = at, HEAD_WORD.match(line, at).end()
        if not given:
            start = first
        if line[at : at + 1] == b"\0":
            raise Wrong(bad_lines.HOLDS_NUL, at)
        after = BLANKS.match(line, at).end()
        if after == len(line):
            raise Wrong(bad_lines.NO_BAR, start)
        if line[at : at + 1] == b"|" or (line[first : first + 1] == b"'" and line[after : after + 1] == b"|"):
            at = after
            break
        word = line[first:at]
        is_number = NUMBER.fullmatch(word) is not None and not isinf(float(word))
        if not given and not is_number and (b":" in word or b"," in word):
            raise Wrong(bad_lines.SEVERAL_LABELS, first)
        if not given and words and (is_number or is_word(line, first)):
            given.append(word)
            continue
        if not given and not words and not is_number and is_word(line, first):
            raise Wrong(bad_lines.WORD_LABEL, first)
        if not is_number or len(given) == 3:
            raise Wrong(bad_lines.BAD_HEAD, first)
        if len(given) == 1 and float(word) < 0:
            raise Wrong(bad_lines.NEGATIVE_IMPORTANCE, first)
        given.append(float(word))
    if tab := re.search(rb"[\t\r]", line[:at]):
        raise Wrong(bad_lines.TAB_BEFORE_BAR, tab.start())
    nan = float("nan")
    return given[0] if given else None if words else nan, given[1] if len(given) > 1 else nan, at


def vw_value(line: bytes, at: int) -> tuple[float, int]:
    value, end = number(line, at, bad_lines.BAD_VALUE, bad_lines.LARGE_VALUE)
    if line[end : end + 1] not in (b"", b" ", b"\t", b"\r", b"|"):
        raise Wrong(bad_lines.BAD_VALUE, at)
    return value, end


def vw_line(line: bytes, words: bool) -> tuple[float | bytes, list, float] | None:
    """Features are (namespace, name) or (namespace, name, text)."""
    at = BLANKS.match(line).end()
    if at == len(line):
        return None
    label, importance, at = vw_head(line, 0, words)
    features: list = []
    space, scale, unnamed = b"", 1.0, 0
    while True:
        at = BLANKS.match(line, at).end()
        if at == len(line):
            return label, features, importance
        if line[at : at + 1] == b"|":
            match = NAME.match(line, at + 1)
            space, at, scale, unnamed = match[0], match.end(), 1.0, 0
            if line[at : at + 1] == b":":
                if not space:
                    raise Wrong(bad_lines.BAD_NAMESPACE, at)
                scale, at = vw_value(line, at + 1)
            if line[at : at + 1] not in (b"", b" ", b"\t", b"\r", b"|"):
                raise Wrong(bad_lines.BAD_NAMESPACE, at)
            continue
        match = NAME.match(line, at)
        name, end = match[0], match.end()
        if not name and line[at : at + 1] != b":":
            raise Wrong(bad_lines.LOST_TEXT, at)
        if name and line[end : end + 1] == b":" and is_word(line, end + 1):
            match = TEXT.match(line, end + 1)
            end = match.end()
            if line[end : end + 1] == b"\0":
                raise Wrong(bad_lines.HOLDS_NUL, end)
            features.append(((space, name, match[0]), 1.0))
            at = end
            continue
        value = 1.0
        if line[end : end + 1] == b":":
            value, end = vw_value(line, end + 1)
        if isinf(value * scale):
            raise Wrong(bad_lines.LARGE_VALUE, at)
        if not name:
            name, unnamed = str(unnamed).encode(), unnamed + 1
        features.append(((space, name), value * scale))
        at = end


def vw_key(feature: tuple[bytes, ...]) -> int:
    """The 64-bit hash of a feature: of its last part, seeded by that of the parts before."""
    h = 0
    for part in feature:
        h = hash_bytes(part, h)
    return h


def vw_name(feature: tuple[bytes, ...]) -> str:
    space = feature[0].replace(b"\\", b"\\\\").replace(b"^", b"\\^")
    return f"{space.decode('utf-8', 'backslashreplace')}^{b':'.join(feature[1:]).decode('utf-8', 'backslashreplace')}"


def vw(text: bytes, skip_bad: bool = False, words: bool = False) -> Rows:
    return read(text, lambda line: vw_line(line, words), skip_bad)
