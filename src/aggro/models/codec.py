"""Python values as JSON that comes back as it was: parameters, labels and feature names.

Text, numbers, booleans and None are themselves. What JSON has no word for is an object with one key that
says what it is: ``{"tuple": […]}``, ``{"dict": [[key, value], …]}``, ``{"bytes": "…"}``, ``{"float": "inf"}``.
A step of one's own is its name, to which it is equal.
"""

from __future__ import annotations

import json
import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from aggro.engine.user_steps import OwnStep
from aggro.models.errors import Flaw


def encode(value: Any) -> Any:
    """The value as JSON; ``TypeError`` for what would not come back equal."""
    # NumPy's numbers come back as Python's, to which they are equal.
    if isinstance(value, np.generic):
        value = value.item()
    # bool before Integral, of which it is a kind.
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        number = float(value)
        if math.isnan(number):
            raise TypeError("nan is not equal to itself, so it could not be found again")
        return number if math.isfinite(number) else {"float": str(number)}
    if isinstance(value, OwnStep):
        return value.__name__
    if isinstance(value, bytes):
        # latin-1 maps each byte to one character, and back.
        return {"bytes": value.decode("latin-1")}
    if isinstance(value, tuple):
        return {"tuple": [encode(part) for part in value]}
    if isinstance(value, list):
        return [encode(part) for part in value]
    if isinstance(value, dict):
        # Sorted by text, as keys of several kinds have no order of their own.
        return {"dict": sorted(([encode(k), encode(v)] for k, v in value.items()), key=dumps)}
    if callable(value):
        raise TypeError(
            "a function is code, and a model file holds none. Use one of the named kernels, or pickle the learner "
            "where you trust the file"
        )
    raise TypeError(f"a {type(value).__name__} is neither text, a number, a boolean, None, nor made of these")


def decode(coded: Any) -> Any:
    """The value that ``encode`` was given."""
    if isinstance(coded, list):
        return [decode(part) for part in coded]
    if isinstance(coded, dict):
        # Exactly one key: everything else was not written by encode.
        if len(coded) == 1:
            ((kind, content),) = coded.items()
            if kind == "tuple" and isinstance(content, list):
                return tuple(decode(part) for part in content)
            # JSON's own numbers are finite; only the two infinities come this way.
            if kind == "float" and content in ("inf", "-inf"):
                return float(content)
            if kind == "bytes" and isinstance(content, str) and max(content, default="") <= "\xff":
                return content.encode("latin-1")
            if kind == "dict" and isinstance(content, list):
                return _decode_dict(content)
        raise Flaw(f"the header holds {str(coded)[:60]!r} where a value was expected")
    # 1e999 is valid JSON, and Python reads it as infinity.
    if isinstance(coded, float) and not math.isfinite(coded):
        raise Flaw("the header holds a number that is not finite")
    return coded


def _decode_dict(pairs: list) -> dict:
    for pair in pairs:
        if not (isinstance(pair, list) and len(pair) == 2):
            raise Flaw("the header holds a mapping that is not made of pairs")
    values = {}
    for key, value in pairs:
        name = decode(key)
        # Keys must be hashable; lists and dicts are refused here and not by an error of Python.
        if not is_name(name) or name in values:
            raise Flaw(f"the header holds a mapping with the key {str(name)[:60]!r} twice, or of a wrong kind")
        values[name] = decode(value)
    return values


def is_name(value: Any) -> bool:
    """May this name a feature: text, a number, a boolean, None, or a tuple of those?"""
    if isinstance(value, tuple):
        return all(is_name(part) for part in value)
    return value is None or isinstance(value, str | bytes | int | float)


def dumps(value: Any) -> str:
    """JSON text: one spelling for one value, ASCII only."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def loads(text: str | bytes, what: str) -> Any:
    """The value of JSON text; nothing beyond the standard is read."""

    # Two readers could take different values for a key that comes twice.
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a key comes twice")
        return found

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is not JSON")

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=refuse)
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are among them
        raise Flaw(f"{what} cannot be read as JSON ({error})") from error
