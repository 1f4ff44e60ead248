"""Griffe takes the first of {"a", "b"} for a parameter's default: put the one first that the text names."""

from __future__ import annotations

import re
from typing import Any

import griffe

CHOICES = re.compile(r'\{([^}]+)\}([^,\n]*), default=("[^"]*")')


def default_first(match: re.Match[str]) -> str:
    words = match[1].split(", ")
    words.sort(key=lambda word: word != match[3])
    return "{" + ", ".join(words) + "}" + match[2]


class DefaultFirst(griffe.Extension):
    def on_class_instance(self, *, cls: griffe.Class, **_: Any) -> None:
        if cls.docstring is not None:
            cls.docstring.value = CHOICES.sub(default_first, cls.docstring.value)
