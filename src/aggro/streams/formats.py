"""The formats that ``aggro.streams.open`` knows: one entry for each, and how a file's format is found.

A format is known by the end of the file's name, compression endings aside; else by its first bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from aggro.streams.chunk import Chunk
from aggro.streams.files import Source

if TYPE_CHECKING:
    from aggro.streams.reader import Stream

__all__ = ["FORMATS", "Format", "find_format"]

COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zstd")
NUMBER = rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
SVMLIGHT_LINE = re.compile(rb"\s*" + NUMBER + rb"(\s+qid:\d+)?(\s+\d+:" + NUMBER + rb")*\s*(#.*)?")


class Format(NamedTuple):
    """How to know a format and how to read it.

    ``options`` are the parameters of ``open`` that mean something to it, besides those for all formats.
    """

    name: str
    endings: tuple[str, ...]
    looks_so: Callable[[bytes], bool]
    read: Callable[[Stream], Iterator[Chunk]]
    options: frozenset[str]


def _first_line(head: bytes) -> bytes:
    lines = (line.strip() for line in head.removeprefix(b"\xef\xbb\xbf").split(b"\n"))
    return next((line for line in lines if line and not line.startswith(b"#")), b"")


def _svmlight(stream: Stream) -> Iterator[Chunk]:
    from aggro.streams import svmlight
    from aggro.streams.text import read_lines

    parse = partial(svmlight.parse, zero_based=stream.options["zero_based"], skip_bad=stream.skip_bad)
    return read_lines(stream, parse)


FORMATS = {
    format.name: format
    for format in (
        Format(
            "svmlight",
            (".svm", ".svml", ".svmlight", ".libsvm"),
            lambda head: SVMLIGHT_LINE.fullmatch(_first_line(head)) is not None,
            _svmlight,
            frozenset({"zero_based", "n_features"}),
        ),
    )
}


def find_format(source: Source, said: str | None) -> Format:
    """The format that was said, or that the file's name or content shows."""
    if said is not None:
        if said not in FORMATS:
            raise ValueError(
                f"format={said!r} is not known. Expected one of {', '.join(FORMATS)}, or None to find out."
            )
        return FORMATS[said]
    name = source.name.lower()
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    for format in FORMATS.values():
        if name.endswith(format.endings):
            return format
    head = source.head()
    for format in FORMATS.values():
        if head and format.looks_so(head):
            return format
    shown = _first_line(head)[:60].decode("utf-8", "replace")
    raise ValueError(
        f"{source.title}: neither the name nor the content shows the format; it starts with {shown!r}. "
        f"Say it: format= one of {', '.join(FORMATS)}."
    )
