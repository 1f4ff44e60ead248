"""The figures that the papers print, from ``published/``: one file a table, numbers as printed."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path


@cache
def lines(table: str) -> tuple[dict[str, str], ...]:
    """A table by its name, without an ending: a dict a line."""
    text = (Path(__file__).parent / "published" / f"{table}.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def number(text: str) -> float | None:
    """A printed number; None where none is printed."""
    return float(text) if text else None
