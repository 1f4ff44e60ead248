"""The data to label: opened so that people can be shown what stands in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aggro.cli.console import Mistake
from aggro.cli.options import Reading
from aggro.cli.predict import WORDS_OF_TEXT
from aggro.cli.reading import blaming_the_data, open_data, read_again

if TYPE_CHECKING:
    from aggro.streams import Stream

__all__ = ["hidden_column", "open_rows"]

WORDS, LOOKED_AT = 3.0, 1000  # running text has so many words in a cell, on average of the first cells


def open_rows(
    data: list[str], reading: Reading, learner: Any, begun: dict[str, Any] | None, say: Callable[[str], None]
) -> Stream:
    """The stream, read as in the run that was ``begun``, or as ``learner`` has learned, if there is one.

    A column called label, target, y or class, or the one that was named, is not shown. Columns of running text are
    found, unless they are named.
    """
    stdin = "-" in data  # where answers come from
    stream = None if stdin else open_data(data, reading, cells=True)
    if stream is None or not read_again(stream):
        title = "stdin" if stream is None else stream.sources[0].title
        raise Mistake(f"Rows are labelled over several starts, and {title} cannot be read again: save it as a file.")
    features = None if learner is None else getattr(learner, "estimator_", learner)._model.features
    if begun is not None:
        stream.options["text"], stream.options["named"] = begun["text"], begun["named"]
    if stream.format == "vw":
        named = reading.hash is None if features is None else features.names is not None
        stream.options["named"] = named
        if features is not None and not named and reading.hash is None:
            stream.options["bits"] = max(1, features.n.bit_length() - 1)
    elif stream.format != "svmlight":
        stream.options["label"] = reading.label or True
        if begun is not None or reading.text:
            return stream
        if features is not None:
            names = (WORDS_OF_TEXT.fullmatch(name) for name in features.names or () if isinstance(name, str))
            stream.options["text"] = sorted({match[1] for match in names if match})
        else:
            stream.options["text"] = running_text(stream)
            for name in stream.options["text"]:
                say(f"Reading column {name!r} as text.")
    return stream


def running_text(stream: Stream) -> list[str]:
    """The columns whose cells are sentences rather than words."""
    first = first_chunk(stream)
    if first is None:
        return []
    hidden, cells = hidden_column(stream), first.cells.slice(0, LOOKED_AT)
    return [
        name
        for name in cells.column_names
        if name not in (hidden, stream.options["weight"]) and words_in(cells.column(name).to_pylist()) >= WORDS
    ]


def words_in(cells: list[Any]) -> float:
    """Words in a cell on average; 0 if the cells are not text."""
    texts = [cell for cell in cells if cell is not None]
    if not texts or not all(isinstance(text, str) for text in texts):
        return 0.0
    return sum(len(text.split()) for text in texts) / len(texts)


def first_chunk(stream: Stream) -> Any:
    with blaming_the_data():
        return next(iter(stream), None)


def hidden_column(stream: Stream) -> str | None:
    """The column with labels, which people must not see."""
    if stream.format in ("svmlight", "vw"):
        return None
    from aggro.streams.tables.encode import Roles

    first = first_chunk(stream)
    if first is None:
        return None
    with blaming_the_data():
        return Roles.find(first.cells.column_names, stream.options["label"], None, (), stream.sources[0].title).label
