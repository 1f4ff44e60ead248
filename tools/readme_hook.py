"""Gives package indexes the README with whole addresses: they show it away from the files that it links to.

The address is that of the repository, ``Source`` among the project's URLs, which stands in pyproject.toml alone.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(?<=\]\()(?!https?:|#|mailto:)([^)\s]+)")
PICTURE = re.compile(r"((?:src|srcset)=\")(?!https?:)([^\"]+)")


class Readme(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = for_an_index(text, metadata["urls"]["Source"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def for_an_index(text: str, source: str) -> str:
    """The text with links to pages of the repository, and pictures as the files that it serves."""
    text = LINK.sub(rf"{source}/blob/main/\1", text)
    return PICTURE.sub(rf"\1{source}/raw/main/\2", text)
