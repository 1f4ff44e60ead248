"""Messages as records with labels, or a reason why they are none."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

Decode = Callable[[bytes], Any]
LONGEST_REASON = 60  # characters of a value in a reason


class Malformed(ValueError):
    """A message is no record; the text says why."""


def not_a_number(name: str) -> Any:
    raise Malformed(f"{name} is not a JSON number")


STRICT_JSON = json.JSONDecoder(parse_constant=not_a_number)


def record_of(body: Any, decode: Decode | None) -> dict[str, Any]:
    """The record that a message holds: a JSON object, what ``decode`` makes of it, or the fields of a Redis entry."""
    try:
        if isinstance(body, Mapping):
            return {name.decode(): value.decode() for name, value in body.items()}
        found = STRICT_JSON.decode(body.decode()) if decode is None else decode(body)
    # A ValueError too, but its text is ready; the branches below would wrap it.
    except Malformed:
        raise
    except UnicodeDecodeError as error:
        raise Malformed(f"it is not UTF-8: byte {error.start} is not valid") from error
    except json.JSONDecodeError as error:
        raise Malformed(f"it is not JSON: {error.msg} at column {error.colno}") from error
    except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:  # of a user's function, above all
        raise Malformed(f"it cannot be read: {one_line(error)}") from error
    # A decode function may return anything.
    if not isinstance(found, dict):
        raise Malformed(f"it is {kind(found)}, and no object")
    return found


def label_in(record: dict[str, Any], field: str, numbers: bool = False) -> Any:
    """The label of a record, which is taken out of it; None if it has none. ``numbers`` reads texts as numbers."""
    label = record.pop(field, None)
    if numbers and isinstance(label, str):  # the fields of a Redis entry are texts
        try:
            label = float(label)
        except ValueError:
            raise Malformed(f"its label {field!r} is no number: {shortened(label)}") from None
    # bool before the numbers below: it is a kind of int, and is a class here.
    if label is None or isinstance(label, str | bool):
        return label
    if not isinstance(label, int | float) or (isinstance(label, float) and not math.isfinite(label)):
        raise Malformed(f"its label {field!r} is {kind(label)}: {shortened(label)}")
    return label


def id_in(record: dict[str, Any], field: str) -> str:
    """The id of a record as text, so that 7 and "7" are the same; it is taken out of the record."""
    id = record.pop(field, None)
    if isinstance(id, bool) or not isinstance(id, str | int):
        raise Malformed(f"it has no {field!r}" if id is None else f"its {field!r} is no text and no whole number")
    return str(id)


def text_of(body: Any) -> str:
    """A message as text, for the dead letters."""
    if isinstance(body, Mapping):
        return json.dumps({text_of(name): text_of(value) for name, value in body.items()}, ensure_ascii=False)
    return body if isinstance(body, str) else str(body.decode("utf-8", "backslashreplace"))


def one_line(error: BaseException) -> str:
    """The message of an error, in one line."""
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_REASON else f"{text[:LONGEST_REASON]}…"


def kind(value: Any) -> str:
    """What JSON calls a value."""
    words = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a text",
        list: "a list",
        dict: "an object",
    }
    return "null" if value is None else words.get(type(value), type(value).__name__)
