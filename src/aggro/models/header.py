"""The header of a model file: everything about a model that is not an array."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Self

from aggro.learners.model.features import MAX_FEATURES
from aggro.models.codec import decode, dumps, encode, loads
from aggro.models.errors import UPGRADE, Flaw

FORMAT = 4  # raised when an older aggro could not read the file; the container and this key stay
WITHOUT = 1  # the format of files without records and kept rows, which older ones can read
RECORDS_FORMAT = 2  # that of files with these, and without rows that wait for labels
LATER_FORMAT = 3  # that of files with those, and without candidates that vote
HEADER_PARTS = (
    "active",
    "records",
    "later",
    "candidates",
)  # of what is around a learner; absent where there is no such thing
PUBLISHED = "published."


@dataclass(frozen=True)
class Header:
    """What a model file says of its model."""

    aggro: str  # version of the library that wrote it
    learner: str  # name in the registry, after PUBLISHED for a class of ``aggro.published``
    parameters: dict[str, Any]
    classes: list[Any]  # in order of first appearance
    reserved_classes: list[Any]
    n_features: int
    reserved_features: int | None
    named: bool  # whether features have names; those are an array, since there may be many millions
    width: int  # room for features
    seed: int
    n_iter: int
    state: str  # name of the state's type
    position: Any = None  # of a checkpoint: where its stream stands, any JSON
    active: Any = None  # of a learner inside an ActiveLearner: see ``models.active_header``; else absent
    records: Any = None  # of a learner inside a RecordLearner: see ``models.record_header``; else absent

    later: Any = None  # rows that wait for their labels: see ``models.later_header``; else absent
    candidates: Any = None  # of learners that vote: see ``models.candidates_header``; else absent

    @property
    def entry(self) -> str:
        """The learner's name in the registry."""
        return self.learner.removeprefix(PUBLISHED)

    @property
    def format(self) -> int:
        """The format of the file: the first that can say all that is in it."""
        if self.candidates is not None:
            return FORMAT
        if self.later is not None:
            return LATER_FORMAT
        return RECORDS_FORMAT if self.records is not None or self.keeps_rows else WITHOUT

    @property
    def keeps_rows(self) -> bool:
        """Whether there are arrays for the answered rows that an ActiveLearner keeps."""
        return self.active is not None and "replay" in self.active

    def text(self) -> str:
        """The header as JSON."""
        content = {field.name: getattr(self, field.name) for field in fields(self)}
        # Left out where absent, so that an older aggro can read the file.
        for part in HEADER_PARTS:
            if content[part] is None:
                del content[part]
        parameters = self.parameters.items()
        content["parameters"] = {name: _encoded(value, f"its parameter {name!r}") for name, value in parameters}
        for name in ("classes", "reserved_classes"):
            content[name] = [_encoded(label, f"its class {label!r}") for label in content[name]]
        try:
            # Sorted keys and one spelling: the same model gives the same bytes.
            return dumps({"format": self.format, **content})
        except (TypeError, ValueError, RecursionError) as error:
            raise Flaw(f"its header or position is not JSON ({error})") from error

    @classmethod
    def parse(cls, text: str) -> Self:
        """The header that was written as this text."""
        content = loads(text, "the header")
        if not isinstance(content, dict) or type(content.get("format")) is not int:
            raise Flaw("the header does not say which format it has")
        # The version is looked at first: fields of a newer format must not be called damage.
        version = content.pop("format")
        if version > FORMAT:
            writer = str(content.get("aggro"))[:40]
            raise Flaw(
                f"it was written by a newer aggro ({writer}, format {version}; this one reads {FORMAT})", UPGRADE
            )
        if version < WITHOUT or {*content, *HEADER_PARTS} != set(HEADER_CHECKS):
            raise Flaw(f"the header is not one of format {FORMAT}")
        for part in HEADER_PARTS:
            content.setdefault(part, None)
        # Types before decode(), which expects plain JSON of the right shape.
        for name, good in HEADER_CHECKS.items():
            if not good(content[name]):
                raise Flaw(f"the header's {name!r} cannot be {str(content[name])[:60]}")
        content["parameters"] = {name: decode(value) for name, value in content["parameters"].items()}
        for name in ("classes", "reserved_classes"):
            content[name] = decode(content[name])
        header = cls(**content)
        # The lowest format that holds all parts: a file that says another was not written by save.
        if header.format != version:
            raise Flaw(f"the header is not one of format {version}")
        return header


def _encoded(value: Any, what: str) -> Any:
    try:
        return encode(value)
    except TypeError as error:
        raise Flaw(f"{what} cannot be stored ({error})") from error


def _whole(most: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and 0 <= value <= most


def _of(kind: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is kind


HEADER_CHECKS: dict[str, Callable[[Any], bool]] = {
    "aggro": _of(str),
    "learner": _of(str),
    "parameters": _of(dict),
    "classes": _of(list),
    "reserved_classes": _of(list),
    "n_features": _whole(MAX_FEATURES),
    "reserved_features": lambda value: value is None or (_whole(MAX_FEATURES)(value) and value > 0),
    "named": _of(bool),
    "width": _whole(MAX_FEATURES),
    "seed": _whole(2**64 - 1),
    "n_iter": _whole(2**63 - 1),
    "state": _of(str),
    "position": lambda value: True,
    "active": lambda value: value is None or isinstance(value, dict),
    "records": lambda value: value is None or isinstance(value, dict),
    "later": lambda value: value is None or isinstance(value, dict),
    "candidates": lambda value: value is None or isinstance(value, dict),
}
