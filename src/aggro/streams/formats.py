"""The formats that ``aggro.streams.open`` knows: one entry for each, and how a file's format is found.

A format is known by the end of the file's name, compression endings aside; else by its first bytes. A .txt file that
looks like none of them is text, a message on each line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from aggro.streams.chunk import Chunk
from aggro.streams.io.files import Source

if TYPE_CHECKING:
    from aggro.streams.io.cuts import Span
    from aggro.streams.reader import Stream
    from aggro.streams.tables.roles import Column

COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zstd")
NUMBER_PATTERN = rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
SVMLIGHT_LINE = re.compile(rb"\s*" + NUMBER_PATTERN + rb"(\s+qid:\d+)?(\s+\d+:" + NUMBER_PATTERN + rb")*\s*(#.*)?")

VW_NAMESPACE = rb"\|([^\s|:]*(:" + NUMBER_PATTERN + rb")?\s|\s)"
VW_LINE = re.compile(
    rb"([^|,;\t\"{]*\s|'?[^|,;\s\"{]*)?" + VW_NAMESPACE
    # Numbers and a tag that touches the bar; a table with bars has others without a space before them.
    + rb"|" + NUMBER_PATTERN + rb"(\s+" + NUMBER_PATTERN + rb"){0,2}\s+'?[^|,;\s\"{]+"
    + VW_NAMESPACE + rb"[^|]*(\s\|[^|]*)*$"
)  # fmt: skip


class Format(NamedTuple):
    """How to know a format and how to read it.

    ``options`` are the parameters of ``open`` that mean something to it, besides those for all formats. ``columns``
    settles what the columns of a table are for; None where there is no table. ``header`` is whether
    the first line is one, where there may be one. ``settle`` finds out what the first rows show, where reading depends
    on it. ``spans`` cuts a large file, by its number, into parts of so many bytes; there are none where it cannot.
    """

    name: str
    endings: tuple[str, ...]
    looks_so: Callable[[bytes], bool]
    read: Callable[[Stream], Iterator[Chunk]]
    options: frozenset[str]
    columns: Callable[[Stream], dict[str, Column]] | None = None
    header: Callable[[Stream], bool] | None = None
    settle: Callable[[Stream], Any] | None = None
    spans: Callable[[Stream, int, int], list[Span]] | None = None


def _first_line(head: bytes) -> bytes:
    lines = (line.strip() for line in head.removeprefix(b"\xef\xbb\xbf").split(b"\n"))
    return next((line for line in lines if line and not line.startswith(b"#")), b"")


def _svmlight(stream: Stream) -> Iterator[Chunk]:
    # Imported on use: the parsers are compiled, and a stream of another format does not need them.
    from aggro.streams.line_formats import read_lines
    from aggro.streams.parse import svmlight

    parse = partial(svmlight.parse, zero_based=stream.options["zero_based"], skip_bad=stream.skip_bad)
    return read_lines(stream, parse)


def _vw(stream: Stream) -> Iterator[Chunk]:
    from aggro.streams.line_formats import read_lines
    from aggro.streams.parse import vw

    bits, named = stream.options["bits"], stream.options["named"]
    parse = partial(vw.parse, bits=bits, named=named, words=_vw_words(stream), skip_bad=stream.skip_bad)
    return read_lines(stream, parse, 0 if named else 2**bits)


def _vw_words(stream: Stream) -> bool:
    from aggro.streams.parse import vw

    # The first label decides for the whole stream, so that all partitions read labels in one way.
    if stream.settled.words is None:
        stream.settled.words = vw.labels_are_words(stream.sources[0].head())
    return stream.settled.words


def _at_newlines(stream: Stream, number: int, size: int) -> list[Span]:
    from aggro.streams.io.cuts import newline_cuts, spans_of_text

    source = stream.sources[number]
    # Only a plain file of known size can be sought, and so be read from the middle.
    if not source.is_plain() or source.stamp is None:
        return []
    return spans_of_text(newline_cuts(source, size, source.stamp.size), source.stamp.size)


def _table(module: str, function: str) -> Callable[..., Any]:
    """A function of a module that imports pyarrow, which takes its time, when it is first needed."""

    def call(stream: Stream, *more: Any) -> Any:
        try:
            import pyarrow  # noqa: F401  # now: what reads may be a generator, which would find out later
        except ModuleNotFoundError as error:
            # A module that pyarrow itself lacks is another problem, and keeps its own message.
            if error.name != "pyarrow":
                raise
            said = f"Reading {stream.format} files needs pyarrow. Install it with: pip install 'aggro[files]'"
            raise ImportError(said) from error
        return getattr(import_module(f"aggro.streams.tables.{module}"), function)(stream, *more)

    return call


RAW_ONLY = frozenset(
    {"number", "category", "date", "ignore", "na", "columns", "labels", "decimal", "thousands", "dayfirst"}
)
TABLE = frozenset({"label", "weight", "text"}) | RAW_ONLY

FORMATS = {
    format.name: format
    for format in (
        Format(
            "parquet",
            (".parquet", ".pq"),
            lambda head: head.startswith(b"PAR1"),
            _table("parquet_arrow", "read_parquet"),
            TABLE,
            _table("parquet_arrow", "parquet_columns"),
            settle=_table("parquet_arrow", "settle_parquet"),
            spans=_table("parquet_arrow", "parquet_spans"),
        ),
        Format(
            "arrow",
            (".arrow", ".arrows", ".ipc", ".feather"),
            lambda head: head.startswith((b"ARROW1", b"\xff\xff\xff\xff")),
            _table("parquet_arrow", "read_arrow"),
            TABLE,
            _table("parquet_arrow", "arrow_columns"),
            settle=_table("parquet_arrow", "settle_arrow"),
        ),
        Format(
            "jsonl",
            (".jsonl", ".ndjson"),
            lambda head: _first_line(head).startswith(b"{"),
            _table("json_tables", "read_json"),
            TABLE | {"encoding"},
            _table("json_tables", "json_columns"),
            settle=_table("json_tables", "settle_json"),
            spans=_at_newlines,
        ),
        Format(
            "svmlight",
            (".svm", ".svml", ".svmlight", ".libsvm"),
            lambda head: SVMLIGHT_LINE.fullmatch(_first_line(head)) is not None,
            _svmlight,
            frozenset({"zero_based", "n_features", "encoding"}),
            spans=_at_newlines,
        ),
        Format(
            "vw",
            (".vw",),
            lambda head: VW_LINE.match(_first_line(head)) is not None,
            _vw,
            frozenset({"bits", "named", "encoding"}),
            settle=_vw_words,
            spans=_at_newlines,
        ),
        Format(
            "csv",
            (".csv", ".tsv"),
            lambda head: re.search(rb"[,;\t|]", _first_line(head)) is not None and b"\0" not in head,
            _table("csv_tables", "read_csv"),
            TABLE | {"delimiter", "header", "skip_rows", "encoding"},
            _table("csv_tables", "csv_columns"),
            _table("csv_tables", "csv_header"),
            _table("csv_tables", "settle_csv"),
            _table("csv_tables", "csv_spans"),
        ),
        Format(
            "text",
            (),
            lambda head: False,
            _table("text_lines", "read_text"),
            TABLE | {"encoding"},
            _table("text_lines", "text_columns"),
            spans=_at_newlines,
        ),
    )
}


TEXT_SUFFIXES = (".txt", ".text")
CONVERT = "Save it as CSV, JSON Lines or Parquet."
OTHERS: tuple[tuple[re.Pattern[bytes], str], ...] = (  # what people have, too, and what to do with it
    (re.compile(rb"(?s)PK\x03\x04.*(xl/|\[Content_Types\])"), f"an Excel workbook. {CONVERT}"),
    (re.compile(rb"PK\x03\x04"), "a ZIP archive. Unpack it, and name the files in it."),
    (re.compile(rb"\xd0\xcf\x11\xe0"), f"an Excel workbook. {CONVERT}"),
    (re.compile(rb"SQLite format 3\0"), f"a SQLite database. {CONVERT}"),
    (re.compile(rb"\x80[\x02-\x05]"), f"a pickle, which runs code when it is loaded. {CONVERT}"),
    (re.compile(rb"\x89HDF"), f"an HDF5 file. {CONVERT}"),
    (re.compile(rb"\x93NUMPY"), f"a NumPy array. {CONVERT}"),
    (re.compile(rb"Obj\x01"), f"an Avro file. {CONVERT}"),
    (re.compile(rb"(?i)\s*(<!doctype html|<html|<\?xml)"), f"a page of HTML or XML. {CONVERT}"),
    (re.compile(rb"(?is)(\s*%[^\n]*\n)*\s*@relation\b"), f"an ARFF file. {CONVERT}"),
)


def _is_prose(format: Format, head: bytes) -> bool:
    """Is what looks like CSV only text with commas?"""
    from aggro.streams.tables.csv_shape import looks_like_a_table

    return format.name == "csv" and not looks_like_a_table(head)


def find_format(source: Source, said: str | None) -> Format:
    """The format that was said, or that the file's name or content shows."""
    if said is not None:
        if said not in FORMATS:
            raise ValueError(
                f"format={said!r} is not known. Expected one of {', '.join(FORMATS)}, or None to find out."
            )
        return FORMATS[said]
    # The name decides first: it costs nothing, and a file with this ending is rarely of another format.
    name = source.name.lower()
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    for format in FORMATS.values():
        if name.endswith(format.endings):
            return format
    # Known files that aggro cannot read come before the guesses, for the guesses would take some of them for text.
    head = source.head()
    other = next((what for begins, what in OTHERS if begins.match(head)), None)
    if other is not None:
        raise ValueError(f"{source.title} is {other}")
    # The order of FORMATS matters: exact magic bytes first, and CSV last, because a comma is a weak sign.
    for format in FORMATS.values():
        if head and format.looks_so(head) and not (name.endswith(TEXT_SUFFIXES) and _is_prose(format, head)):
            return format
    # Whatever no table or line format recognises in a .txt file is text, a message on each line.
    if head and name.endswith(TEXT_SUFFIXES):
        return FORMATS["text"]
    shown = _first_line(head)[:60].decode("utf-8", "replace")
    raise ValueError(
        f"{source.title}: neither the name nor the content shows the format; it starts with {shown!r}. "
        f"Say it: format= one of {', '.join(FORMATS)}."
    )
