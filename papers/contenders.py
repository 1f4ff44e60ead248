"""The learners that stand in the last row of the tables: as they come, with nothing chosen."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.paper import Found

CONTENDERS: dict[str, tuple[str, dict[str, Any]]] = {
    "PAClassifier": ("PAClassifier", {}),
    "PAMOClassifier": ("PAMOClassifier", {}),
    "KernelPAClassifier": ("KernelPAClassifier", {}),
    "PAClassifier, Fourier": ("PAClassifier", {"features": "fourier"}),
}


def the_one(found: Found, prefix: str, wrong: str) -> tuple[str, Any]:
    """Of these learners the one with the fewest mistakes while it learned, so that test rows choose nothing.

    Its name and what its job gave; None where one of them was not run.
    """
    of = {title: found.get(f"{prefix}{title}") for title in CONTENDERS}
    if any(one is None for one in of.values()):
        return "", None
    title = min(of, key=lambda title: float(np.mean(of[title][wrong])))  # type: ignore[index]
    return title, of[title]
