"""Write what learners say about the parameters and attributes that they share into their docstrings.

Each text stands once, in ``parameters.toml``, with the learners that have it. The docstrings hold copies, because
editors show a docstring as it is in the file. Run this after a change of a text; a test fails if you forget.
"""

from __future__ import annotations

import ast
import re
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path

TOOLS = Path(__file__).parent
LEARNERS = TOOLS.parent / "src" / "aggro" / "learners"
SECTION = re.compile(r"(?s)(?<=\n)    (?:Parameters|Attributes)\n    -+\n(.*?)(?=\n\n    \w+\n    ---|\n    \Z|\Z)")
ENTRY = re.compile(r"(?m)^    (\S.*) : (.*)\n((?:        .*\n?)+)")
WIDTH = 120


def shared() -> dict[tuple[str, str], str]:
    """The shared texts, by the learner and the name of the parameter."""
    table = tomllib.loads((TOOLS / "parameters.toml").read_text(encoding="utf-8"))["text"]
    texts: dict[tuple[str, str], str] = {}
    for row in table:
        for learner in row["learners"].split():
            key = learner, row["name"]
            if key in texts:
                raise ValueError(f"{row['name']} of {learner} has two texts in parameters.toml. Delete one.")
            texts[key] = row["text"]
    return texts


def docstrings(path: Path) -> Iterator[tuple[str, str]]:
    """The classes of a file and their docstrings, as they stand in it."""
    text = path.read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef) and ast.get_docstring(node):
            segment = ast.get_source_segment(text, node.body[0])
            if segment is not None and "\n    Parameters\n" in segment:
                yield node.name, segment


def entries(docstring: str) -> Iterator[tuple[str, str, str]]:
    """The names, types and texts of the parameters and attributes that a docstring lists."""
    for section in SECTION.finditer(docstring):
        for entry in ENTRY.finditer(section[1] + "\n"):
            yield entry[1], entry[2], " ".join(entry[3].split())


def written(learner: str, docstring: str, texts: dict[tuple[str, str], str]) -> str:
    """A docstring with the shared texts in their places."""

    def filled(entry: re.Match[str]) -> str:
        text = texts.get((learner, entry[1]))
        if text is None:
            return entry[0]
        indent = " " * 8
        lines = textwrap.wrap(
            text,
            WIDTH,
            initial_indent=indent,
            subsequent_indent=indent,
            break_on_hyphens=False,
            break_long_words=False,
        )
        return f"    {entry[1]} : {entry[2]}\n" + "\n".join(lines) + "\n"

    return SECTION.sub(lambda section: ENTRY.sub(filled, section[0] + "\n")[:-1], docstring)


def main() -> None:
    """Write the shared texts into all docstrings."""
    texts = shared()
    for path in sorted(LEARNERS.rglob("*.py")):
        before = after = path.read_text(encoding="utf-8")
        for learner, docstring in docstrings(path):
            after = after.replace(docstring, written(learner, docstring, texts))
        if after != before:
            path.write_text(after, encoding="utf-8")
            print(f"wrote {path}")


if __name__ == "__main__":
    main()
