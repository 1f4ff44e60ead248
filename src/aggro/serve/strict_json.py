"""JSON as the standard says: UTF-8, finite numbers, no key twice.

Python's parser is more generous, and what it lets through (NaN, the last of two equal keys, halves of surrogate
pairs) would fail later and further inside.
"""

from __future__ import annotations

import json
import math
from typing import Any

from aggro.serve.problems import Problem, short

MAX_DEPTH = 64


def parse(body: bytes, digits: int = 400) -> Any:
    """The value that a body holds."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Problem(400, "not_utf8", f"The body is not UTF-8: byte {error.start} is not valid.") from None
    return parse_text(text, digits)


def parse_text(text: str, digits: int = 400) -> Any:
    """The value that a text holds."""

    # A hook for whole numbers slows every one of them down, and few texts have a number that long.
    long = len(text) > digits and has_long_number(text, digits)
    decoder = json.JSONDecoder(**HOOKS, parse_int=Whole(digits)) if long else DECODER
    try:
        value = decoder.decode(text)
    except RecursionError:
        raise Problem(400, "too_deep", "The JSON is nested too deeply.") from None
    # Before ValueError, whose subclass it is: this one knows line and column.
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise Problem(400, "not_json", f"The body is not JSON: {error.msg} at {where}.") from None
    except ValueError as error:
        raise Problem(400, "not_json", f"The body is not JSON: {short(str(error))}.") from None
    # Valid UTF-8 holds no surrogates, so only an escape can have made one.
    if "\\u" in text:
        check_unicode(value)
    return value


class Whole:
    """Whole numbers of at most so many digits."""

    def __init__(self, digits: int) -> None:
        self.digits = digits

    def __call__(self, number: str) -> int:
        """The number that a text spells."""
        if len(number) > self.digits:
            raise Problem(400, "number_too_large", f"A number has {len(number):,} digits; {self.digits} are allowed.")
        return int(number)


def has_long_number(text: str, digits: int) -> bool:
    """Whether there may be a whole number of more than so many digits: looks at every so many-th character only."""
    # A run of more than so many digits cannot fit between two probes. A false hit only costs time.
    return any(text[i].isdigit() for i in range(0, len(text), digits))


def as_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    # The culprit is searched for only once the lengths differ; nearly always they agree.
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise Problem(400, "duplicate_key", f"The key {short(twice)} comes twice in one object.")
    return found


def not_a_number(name: str) -> Any:
    raise Problem(
        400, "not_finite", f"{name} is not a JSON number. Leave the field out, or send null, if it is missing."
    )


def check_unicode(value: Any) -> None:
    """Refuse halves of surrogate pairs, which no text can hold; and what is nested too deeply to be looked at."""
    # A stack of our own instead of recursion, so that deep JSON cannot exhaust Python's.
    waiting = [(value, 0)]
    while waiting:
        one, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise Problem(400, "too_deep", f"The JSON is nested deeper than {MAX_DEPTH} levels.")
        if isinstance(one, str):
            check_text(one)
        elif isinstance(one, dict):
            waiting += [(key, depth + 1) for key in one]
            waiting += [(inner, depth + 1) for inner in one.values()]
        elif isinstance(one, list):
            waiting += [(inner, depth + 1) for inner in one]


def check_text(text: str) -> None:
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise Problem(400, "not_unicode", f"{short(text)} has half of a surrogate pair.") from None


def dump(value: Any) -> bytes:
    """A value as JSON; numbers that are not finite become null."""
    try:
        return ENCODER.encode(value).encode()
    # NaN is rare, so the fast encoder tries first, and the value is only copied if it fails.
    except ValueError:
        return ENCODER.encode(finite(value)).encode()


def finite(value: Any) -> Any:
    """The value with null in place of NaN and infinity."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return value


HOOKS: dict[str, Any] = {"object_pairs_hook": as_object, "parse_constant": not_a_number}
DECODER = json.JSONDecoder(**HOOKS)
ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
