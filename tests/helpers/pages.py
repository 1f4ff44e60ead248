"""What the pages of the docs hold: Python and what it prints, files to save, commands and what they print.

A ``python`` block that begins with a comment such as ``# my_steps.py`` is a file of that name.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.M | re.S)
FILE = re.compile(r"# ([\w/]+\.py)\n")


class Example(NamedTuple):
    code: str
    line: int
    output: str | None

    @property
    def file(self) -> str | None:
        """The name to save it under; None for what is to be run."""
        named = FILE.match(self.code)
        return named and named[1]


def examples(page: Path) -> list[Example]:
    text = page.read_text(encoding="utf-8")
    return [Example(m[1], text.count("\n", 0, m.start()) + 2, m[2]) for m in BLOCK.finditer(text)]


def save_files(page: Path, folder: Path) -> list[str]:
    """Save the files of a page; the names of the modules they are."""
    files = [example for example in examples(page) if example.file]
    for example in files:
        (folder / example.file).write_text(example.code, encoding="utf-8")
    return [Path(example.file).stem for example in files]
