"""Draw the pictures of the page on plots, by its own examples.

python docs/figures/plots.py
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from draw import Theme, save

PAGE = Path(__file__).parent.parent / "concepts" / "plots.md"
PICTURES = ("history", "curves", "weights", "confusion")


def main() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    for name, code in zip(PICTURES, blocks, strict=True):

        def picture(_: Theme, code: str = code) -> Any:
            exec("\n".join(blocks[: blocks.index(code) + 1]), space := {"__name__": "page"})
            figure = space["ax"].figure
            for number in plt.get_fignums():
                if plt.figure(number) is not figure:
                    plt.close(number)
            return figure

        save(f"plot-{name}", picture)


if __name__ == "__main__":
    main()
