"""Prometheus' text format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

Sample = tuple[dict[str, Any], float]


def family(name: str, kind: str, text: str, samples: Iterable[Sample]) -> Iterator[str]:
    """The lines of one metric: what it is, and its samples."""
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        inside = ",".join(f'{label}="{escaped(str(one))}"' for label, one in labels.items())
        yield f"{name}{{{inside}}} {whole(value)}" if inside else f"{name} {whole(value)}"


def whole(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
