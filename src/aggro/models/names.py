"""Feature names as an array of bytes: JSON text, outside the header, which has no room for many millions."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.models.codec import decode, dumps, encode, is_name, loads
from aggro.models.container import Container
from aggro.models.errors import Flaw

__all__ = ["NAMES", "packed_names", "read_names"]

NAMES = "features.names"


def packed_names(names: list[Any]) -> np.ndarray:
    coded = []
    for name in names:
        try:
            coded.append(encode(name))
        except TypeError as error:
            raise Flaw(f"its feature {name!r} cannot be stored ({error})") from error
    return np.frombuffer(dumps(coded).encode(), np.uint8)


def read_names(container: Container) -> list[Any]:
    spec = container.specs.get(NAMES)
    if spec is None or spec.dtype != np.uint8 or len(spec.shape) != 1:
        raise Flaw(f"the array {NAMES!r} should hold the features' names and is {spec or 'absent'}")
    coded = loads(container.read(NAMES).tobytes(), "the list of feature names")
    names = decode(coded) if isinstance(coded, list) else [[]]
    if not all(map(is_name, names)) or len(set(names)) != len(names):
        raise Flaw("the feature names are not all names, or one comes twice")
    return list(names)
