"""The formats that ``aggro.streams.open`` knows: one entry for each, and how a file's format is found.

A format is known by the end of the file's name, compression endings aside; else by its first bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from aggro.streams.chunk import Chunk
from aggro.streams.io.files import Source

if TYPE_CHECKING:
    from aggro.streams.reader import Stream

COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zstd")
NUMBER = rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
SVMLIGHT_LINE = re.compile(rb"\s*" + NUMBER + rb"(\s+qid:\d+)?(\s+\d+:" + NUMBER + rb")*\s*(#.*)?")

VW_LINE = re.compile(rb"([^|,;\t\"{]*\s|'?[^|,;\s\"{]*)?\|([^\s|:]*(:" + NUMBER + rb")?\s|\s)")


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
    from aggro.streams.line_formats import read_lines
    from aggro.streams.parse import svmlight

    parse = partial(svmlight.parse, zero_based=stream.options["zero_based"], skip_bad=stream.skip_bad)
    return read_lines(stream, parse)


def _vw(stream: Stream) -> Iterator[Chunk]:
    from aggro.streams.line_formats import read_lines
    from aggro.streams.parse import vw

    bits, named = stream.options["bits"], stream.options["named"]
    words = vw.labels_are_words(stream.sources[0].head())
    parse = partial(vw.parse, bits=bits, named=named, words=words, skip_bad=stream.skip_bad)
    return read_lines(stream, parse, 0 if named else 2**bits)


def _table(module: str, reader: str) -> Callable[[Stream], Iterator[Chunk]]:
    """A reader that imports pyarrow, which takes its time, when it is first needed."""

    def read(stream: Stream) -> Iterator[Chunk]:
        try:
            return getattr(import_module(f"aggro.streams.tables.{module}"), reader)(stream)  # type: ignore[no-any-return]
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "pyarrow":
                raise
            raise ImportError(f"Reading {stream.format} files takes pyarrow: pip install pyarrow.") from error

    return read


TABLE = frozenset({"label", "weight", "text"})

FORMATS = {
    format.name: format
    for format in (
        Format(
            "parquet",
            (".parquet", ".pq"),
            lambda head: head.startswith(b"PAR1"),
            _table("parquet_arrow", "read_parquet"),
            TABLE,
        ),
        Format(
            "arrow",
            (".arrow", ".arrows", ".ipc", ".feather"),
            lambda head: head.startswith((b"ARROW1", b"\xff\xff\xff\xff")),
            _table("parquet_arrow", "read_arrow"),
            TABLE,
        ),
        Format(
            "jsonl",
            (".jsonl", ".ndjson"),
            lambda head: _first_line(head).startswith(b"{"),
            _table("json_tables", "read_json"),
            TABLE,
        ),
        Format(
            "svmlight",
            (".svm", ".svml", ".svmlight", ".libsvm"),
            lambda head: SVMLIGHT_LINE.fullmatch(_first_line(head)) is not None,
            _svmlight,
            frozenset({"zero_based", "n_features"}),
        ),
        Format(
            "vw",
            (".vw",),
            lambda head: VW_LINE.match(_first_line(head)) is not None,
            _vw,
            frozenset({"bits", "named"}),
        ),
        Format(
            "csv",
            (".csv", ".tsv"),
            lambda head: re.search(rb"[,;\t]", _first_line(head)) is not None and b"\0" not in head,
            _table("csv_tables", "read_csv"),
            TABLE | {"delimiter", "header"},
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
