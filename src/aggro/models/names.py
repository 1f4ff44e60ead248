"""Feature names as an array of bytes: JSON text, outside the header, which has no room for many millions."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.models.codec import decode, dumps, encode, is_name, loads
from aggro.models.container import Container
from aggro.models.errors import Flaw

NAMES_ENTRY = "features.names"


def packed_names(names: list[Any]) -> np.ndarray:
    """The names as text; nearly all are text already, and there may be millions."""
    return np.frombuffer(dumps([name if type(name) is str else _coded(name) for name in names]).encode(), np.uint8)


def _coded(name: Any) -> Any:
    try:
        return encode(name)
    except TypeError as error:
        raise Flaw(f"its feature {name!r} cannot be stored ({error})") from error


def read_names(container: Container) -> list[Any]:
    """The names in an open file."""
    spec = container.specs.get(NAMES_ENTRY)
    if spec is None or spec.dtype != np.uint8 or len(spec.shape) != 1:
        raise Flaw(f"the array {NAMES_ENTRY!r} should hold the features' names and is {spec or 'absent'}")
    coded = loads(container.read(NAMES_ENTRY).tobytes(), "the list of feature names")
    if not isinstance(coded, list):
        raise Flaw("the feature names are not a list")
    # Texts need no decoding; of millions of names nearly all are texts.
    names = [name if type(name) is str else decode(name) for name in coded]
    if not all(type(name) is str or is_name(name) for name in names) or len(set(names)) != len(names):
        raise Flaw("the feature names are not all names, or one comes twice")
    return names
