"""What the first rows of a stream show, found out once: so that every part of the stream is read alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aggro.streams.tables.encode import Roles
    from aggro.streams.tables.roles import Column


@dataclass
class Settled:
    """None is for what was not looked at yet, or is not there."""

    layout: Any = None  # CSV: delimiter, header and names
    columns: dict[str, Column] | None = None  # raw tables: what each column is for
    raw_types: dict[str, Any] | None = None  # raw JSON Lines: the types of the fields; raw CSV: of label and weight
    nested: bool = False  # raw JSON Lines: whether some values are nested, and rows are flattened
    nested_types: dict[str, Any] | None = None  # the types of their fields before that, where pyarrow can read them
    roles: Roles | None = None  # other tables: label, weight and texts
    types: Any = None  # other CSV and JSON Lines: the types of the columns
    task: Any = None  # raw tables with labels="either": whether the label is a class or a number, and why
    words: bool | None = None  # Vowpal Wabbit text: are the labels words?
    first: bool = True  # was it the stream's first file that showed all this?
