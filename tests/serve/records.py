"""Records of customers, and what became of them; what tests of the service send."""

from __future__ import annotations

import random
from typing import Any

NOTES = {"leaves": ["wants a refund", "too slow for me"], "stays": ["happy with it", "asks how to add a user"]}


def customers(n: int, seed: int = 0) -> list[tuple[dict[str, Any], str]]:
    """Pairs of a record and its label."""
    rng = random.Random(seed)
    found = []
    for _ in range(n):
        label = rng.choice(["leaves", "stays"])
        record = {
            "plan": rng.choice(["basic", "pro"] if label == "leaves" else ["pro", "team"]),
            "age": round(rng.gauss(30 if label == "leaves" else 45, 8), 1),
            "note": rng.choice(NOTES[label]),
            "new": rng.random() < 0.5,
        }
        found.append((record, label))
    return found
