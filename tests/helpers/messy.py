"""A messy table, as it comes out of a database nobody prepared: made here, the same each time."""

from __future__ import annotations

import csv
import math
import random
from datetime import datetime, timedelta
from pathlib import Path

CITIES = ("Köln", "São Paulo", "Berlin", "New York, NY", "Łódź", "東京", "Paris")
PLANS = {"basic": 0.8, "pro": 0.0, "team": -0.8}
WORDS = {
    "refund": 2.0, "cancel": 2.5, "slow": 1.0, "thanks": -1.0, "love": -1.5, "works": -1.0, "invoice": 0.2,
    "account": 0.1, "please": 0.0, "the": 0.0, "a": 0.0, "my": 0.0, "is": 0.0, "very": 0.0,
}  # fmt: skip
COLUMNS = ("id", "signup", "age", "income", "city", "plan", "country", "note", "churn")
START = datetime(2023, 1, 1)


def messy_rows(n: int, seed: int = 0) -> list[dict[str, str]]:
    """Records of text: an id, a date, numbers with gaps and stray words, categories, a constant, notes, a label."""
    rng = random.Random(seed)
    rows = []
    for i in range(n):
        age, income = rng.randint(18, 80), math.exp(rng.gauss(10.3, 0.6))
        city, plan = rng.choice(CITIES), rng.choice(list(PLANS))
        when = START + timedelta(days=rng.randint(0, 700), hours=rng.randint(0, 23), minutes=rng.randint(0, 59))
        words = [rng.choice(list(WORDS)) for _ in range(rng.randint(4, 9))]
        score = -0.03 * (age - 45) - 0.8 * (math.log(income) - 10.3) + PLANS[plan] - 1.0
        score += 0.6 * sum(WORDS[word] for word in words) + (0.6 if city in ("Köln", "Paris") else -0.2)
        score += 0.5 * (when.weekday() >= 5) + 0.001 * (350 - (when - START).days)
        told = [str(100_000 + i), when.strftime("%Y-%m-%d %H:%M:%S")]
        told.append(str(age) if rng.random() > 0.03 else rng.choice(["", "?"]))
        told.append(f"{income:.2f}" if rng.random() > 0.03 else rng.choice(["n/a", "-", "unknown", ""]))
        told += [city if rng.random() > 0.02 else "", plan, "EU"]
        told.append(" ".join(words) + rng.choice(["", "!", ", really", "…"]))
        told.append("yes" if rng.random() < 1 / (1 + math.exp(-1.5 * score)) else "no")
        rows.append(dict(zip(COLUMNS, told, strict=True)))
    return rows


def write_csv(path: Path, rows: list[dict[str, str]], columns: tuple[str, ...] = COLUMNS) -> Path:
    """These columns of the rows as a CSV file, quoted where need be."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path
