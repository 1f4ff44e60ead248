"""The map of the package in CONTRIBUTING.md, from the layers that ``test_imports.py`` holds.

    python tests/house/layer_map.py     # write it anew

Each part of the package stands below all that it imports, with the first sentence of its docstring.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- map: python tests/house/layer_map.py -->\n", "<!-- end of map -->"


def summary(tree: ast.Module) -> str:
    """The first sentence of a module's docstring."""
    doc = " ".join((ast.get_docstring(tree) or "").partition("\n\n")[0].split())
    return re.split(r"(?<=[^.])\.(?:\s|$)|[:;]\s", doc, maxsplit=1)[0].replace("``", "`")


def table() -> str:
    from house.source import modules
    from house.test_imports import LAYERS

    trees, rows, left = modules(), [], [part for part in LAYERS if part not in ("", "learners")]
    while left:  # those first that import none of the others
        ready = sorted(part for part in left if not (LAYERS[part][0] & set(left)) - {part})
        for part in ready:
            tree = trees[f"aggro.{part}"]
            is_file = not any(name.startswith(f"aggro.{part}.") for name in trees)
            place = part.replace(".", "/") + (".py" if is_file else "/")
            rows.append(f"| `{place}` | {summary(tree)} |")
        left = [part for part in left if part not in ready]
    return "\n".join(["| in `src/aggro` | |", "|---|---|", *rows]) + "\n"


def page_with(new: str) -> str:
    text = PAGE.read_text(encoding="utf-8")
    start, stop = text.index(BEGIN) + len(BEGIN), text.index(END)
    return text[:start] + new + text[stop:]


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]
    PAGE.write_text(page_with(table()), encoding="utf-8")
