"""Griffe takes the first of {"a", "b"} for a parameter's default, whatever follows: write such types without braces.

``{"a", "b"} or None, default=None`` becomes ``"a" or "b" or None, default=None``, of which Griffe reads the default.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

CHOICES = re.compile(r"(?m)^(\s*\w+ : )\{([^}\n]+)\}([^\n]*?)(?=, default=)")


def without_braces(match: re.Match[str]) -> str:
    return match[1] + f"{match[2]}{match[3]}".replace(", ", " or ")


class DefaultsAsWritten(griffe.Extension):
    def on_class_instance(self, *, cls: griffe.Class, **_: Any) -> None:
        if cls.docstring is not None:
            cls.docstring.value = CHOICES.sub(without_braces, cls.docstring.value)
