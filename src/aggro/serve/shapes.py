"""The shapes of requests: one record or many, their labels, weights and ids.

``{"record": ..., "label": ..., "id": ..., "weight": ...}`` is one example,
``{"records": [...], "labels": [...], "ids": [...], "weights": [...]}`` are many.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from aggro.serve.limits import Limits
from aggro.serve.problems import Problem, short

LARGEST_VALUE_SENT = 1e150  # of a number in a record or of a target: its square is finite
LARGEST_WHOLE = 2**63 - 1
MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MADE = "_"  # ids that the service makes begin with it


@dataclass
class Examples:
    """Records and what belongs to them; every list that is not empty is as long as ``records``."""

    records: list[Any]
    one: bool  # sent as one record, and answered so
    labels: list[Any] = field(default_factory=list)
    ids: list[str | None] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)


def read_examples(body: Any, limits: Limits, allowed: Collection[str], *, by_id: bool = False) -> Examples:
    """The examples that a body holds; ``by_id`` allows ids without records, which wait under these ids."""
    if not isinstance(body, dict):
        raise Problem(422, "not_an_object", f'Expected an object such as {{"record": {{...}}}}, got {kind(body)}.')
    if body.keys() == {"record"} and "record" in allowed:  # most requests
        check_record(body["record"], limits)
        return Examples([body["record"]], one=True)
    many = {"records", "labels", "ids", "weights"} & body.keys()
    one = {"record", "label", "id", "weight"} & body.keys()
    # A singular beside a plural field would leave open which record it belongs to.
    if many and one:
        raise Problem(422, "mixed", f"Send one record or many: {min(one)!r} and {min(many)!r} do not go together.")
    # Only fields of this operation are known; a misspelt or misplaced one must not be ignored in silence.
    known = set(allowed) | {plural(name) for name in allowed if plural(name) in ("records", "labels", "ids", "weights")}
    unknown = sorted(body.keys() - known)
    if unknown:
        raise Problem(422, "unknown_field", f"There is no field {short(unknown[0])} here. There are: {listed(known)}.")
    found = many_of(body, limits) if many else one_of(body)
    if not found.records and not (by_id and found.ids):
        what = "records" if many else "record"
        raise Problem(422, "no_record", f"The field {what!r} is missing" + (", or an id." if by_id else "."))
    # Everything is checked before anything is learned, so a batch is accepted whole or not at all.
    for i, record in enumerate(found.records):
        check_record(record, limits, where(i, found.one))
    for i, label in enumerate(found.labels):
        check_label(label, limits, where(i, found.one))
    for i, id in enumerate(found.ids):
        if id is not None:
            check_id(id, limits, where(i, found.one))
    for i, weight in enumerate(found.weights):
        if not is_number(weight) or not 0.0 <= weight <= 1e9:
            raise Problem(422, "bad_weight", f"The weight{where(i, found.one)} must be a number from 0 to 1e9.")
    # Two rows of one id in a batch would both claim the same waiting record.
    given = [id for id in found.ids if id is not None]
    if len({*given}) != len(given):
        twice = next(id for k, id in enumerate(given) if id in given[:k])
        raise Problem(422, "duplicate_id", f"The id {short(twice)} comes twice.")
    return found


def one_of(body: dict[str, Any]) -> Examples:
    return Examples(
        records=[body["record"]] if "record" in body else [],
        one=True,
        labels=[body["label"]] if "label" in body else [],
        ids=[body["id"]] if body.get("id") is not None else [],
        weights=[body["weight"]] if "weight" in body else [],
    )


def many_of(body: dict[str, Any], limits: Limits) -> Examples:
    lists = {name: body[name] for name in ("records", "labels", "ids", "weights") if name in body}
    for name, values in lists.items():
        if not isinstance(values, list):
            raise Problem(422, "not_a_list", f"{name!r} must be a list, got {kind(values)}.")
        # Before the lengths are compared and the records read: an oversized request costs little.
        if len(values) > limits.batch:
            advice = "Send several requests, or stream NDJSON."
            raise Problem(413, "batch_too_large", f"{name!r} has {len(values):,} items; {limits.batch:,} fit. {advice}")
    lengths = {len(values) for values in lists.values()}
    if len(lengths) > 1:
        found = ", ".join(f"{len(values):,} {name}" for name, values in lists.items())
        raise Problem(422, "lengths_differ", f"The lists must be of the same length, got {found}.")
    if not lengths or lengths == {0}:
        raise Problem(422, "no_record", "The lists are empty.")
    return Examples(one=False, **{"records": [], **lists})


def plural(name: str) -> str:
    return f"{name}s"


def where(i: int, one: bool) -> str:
    """Which record of a batch, for a message; records are counted from 1."""
    return "" if one else f" of record {i + 1:,}"


def check_record(record: Any, limits: Limits, of: str = "") -> None:
    """Refuse what cannot be a record: an object, which may hold objects and lists, a text, or a list of numbers."""
    # __class__ instead of isinstance, and the commonest types first: this runs over every cell of every request.
    if isinstance(record, dict):
        if len(record) > limits.columns:
            raise Problem(422, "too_many_columns", f"{len(record):,} fields{of}; {limits.columns:,} are allowed.")
        for name, value in record.items():
            if len(name) > limits.name:
                raise Problem(422, "name_too_long", f"A field's name{of} has {len(name):,} characters.")
            if value.__class__ is float:
                # One comparison for both signs. NaN and infinity fail it as well.
                if not -LARGEST_VALUE_SENT < value < LARGEST_VALUE_SENT:
                    raise too_large(name, of)
            elif value.__class__ is str:
                if len(value) > limits.text:
                    raise Problem(422, "text_too_long", f"{short(name)}{of} has {len(value):,} characters.")
            elif value.__class__ is dict or value.__class__ is list:
                check_nested(value, name, limits, of)
            # bool is a class of its own here, so true and false pass.
            elif value.__class__ is int:
                if not -LARGEST_WHOLE <= value <= LARGEST_WHOLE:
                    raise too_large(name, of)
    elif isinstance(record, str):
        if len(record) > limits.text:
            raise Problem(422, "text_too_long", f"The text{of} has {len(record):,} characters; {limits.text:,} fit.")
    # A list is a row of numbers, with neither missing cells nor words.
    elif isinstance(record, list):
        if len(record) > limits.columns:
            raise Problem(422, "too_many_columns", f"{len(record):,} numbers{of}; {limits.columns:,} are allowed.")
        for value in record:
            if not (value.__class__ is float and -LARGEST_VALUE_SENT < value < LARGEST_VALUE_SENT) and not is_number(
                value
            ):
                raise Problem(422, "not_a_number", f"A list{of} must hold finite numbers only, got {short(value)}.")
    else:
        what = "an object, a text or a list of numbers"
        raise Problem(422, "not_a_record", f"A record must be {what}; the one{of} is {kind(record)}.")
    if isinstance(record, dict | list) and not record:
        raise Problem(422, "empty_record", f"The record{of} is empty.")


def check_nested(value: Any, name: str, limits: Limits, of: str) -> None:
    """Refuse an object or a list in a record that is too deep, too large, or holds what a record must not."""
    level, count = [value], 0
    # Level by level in a loop: recursion would let the sender choose the depth of our stack.
    for _ in range(limits.depth):
        inner: list[Any] = []
        for one in level:
            if one.__class__ is dict:
                check_names(one, limits, of)
                inner += one.values()
            elif one.__class__ is list:
                inner += one
            elif one is not None and one.__class__ is not bool:
                check_cell(one, name, limits, of)
        # The sum over all levels is bounded, since every leaf may become a column.
        count += len(inner)
        if count > limits.columns:
            text = f"{short(name)}{of} has more than {limits.columns:,} values inside."
            raise Problem(422, "too_many_columns", text)
        if not inner:
            return
        level = inner
    raise Problem(422, "too_deep", f"{short(name)}{of} is nested deeper than {limits.depth} levels.")


def check_names(fields: dict[str, Any], limits: Limits, of: str) -> None:
    for name in fields:
        if len(name) > limits.name:
            raise Problem(422, "name_too_long", f"A field's name{of} has {len(name):,} characters.")


def check_cell(value: Any, name: str, limits: Limits, of: str) -> None:
    if value.__class__ is str:
        if len(value) > limits.text:
            raise Problem(422, "text_too_long", f"{short(name)}{of} has {len(value):,} characters.")
    elif not is_number(value):
        raise too_large(name, of)


def check_label(label: Any, limits: Limits, of: str = "") -> None:
    if isinstance(label, str):
        if len(label) > limits.name:
            raise Problem(422, "label_too_long", f"The label{of} has {len(label):,} characters; {limits.name} fit.")
    elif not isinstance(label, bool) and not is_number(label):
        raise Problem(422, "bad_label", f"The label{of} must be a text or a finite number, got {short(label)}.")


def check_id(id: Any, limits: Limits, of: str = "") -> None:
    if not isinstance(id, str) or not 0 < len(id) <= limits.name or not id.isprintable():
        raise Problem(422, "bad_id", f"The id{of} must be a text of 1 to {limits.name} printable characters.")


def check_name(name: str) -> None:
    """Refuse what cannot be a model's name."""
    if not MODEL_NAME.fullmatch(name):
        what = "letters, digits, '.', '_' and '-', at most 64, beginning with a letter or digit"
        raise Problem(422, "bad_name", f"{short(name)} cannot name a model: use {what}.")


def is_number(value: Any) -> bool:
    if value.__class__ is float:
        return math.isfinite(value) and abs(value) < LARGEST_VALUE_SENT
    return value.__class__ is int and -LARGEST_WHOLE <= value <= LARGEST_WHOLE


def too_large(name: str, of: str) -> Problem:
    return Problem(422, "number_too_large", f"{short(name)}{of} is too large a number.")


def kind(value: Any) -> str:
    """What JSON calls a value."""
    if value is None:
        return "null"
    words = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a text",
        list: "a list",
        dict: "an object",
    }
    return words.get(type(value), type(value).__name__)


def listed(names: Collection[str]) -> str:
    return ", ".join(map(repr, sorted(names)))
