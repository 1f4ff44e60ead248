"""Files as people have them, and what a pipeline written by hand with pandas and scikit-learn gets out of each.

Each is made from the same kind of rows: numbers, categories and dates that decide the label together. What is nasty is
how they are written.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

TRAIN, TEST = 6000, 3000
CITIES = ["Köln", "Zürich", "Málaga", "Århus", "Gouda"]
PLANS = ["basic", "pro", "team"]
TAGS = ["new york", "refund", "late", "gift", "vip", "return"]


class Nasty(NamedTuple):
    """Two files, the options that one has to give, and the score of the pipeline by hand on the second."""

    train: Path
    test: Path
    options: list[str]
    by_hand: float


def _rows(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n = TRAIN + TEST
    frame = pd.DataFrame(
        {
            "amount": np.exp(rng.normal(6.5, 1.2, n)).round(2),
            "rate": rng.normal(0, 12, n).round(1),
            "visits": rng.integers(0, 60_000, n),
            "city": rng.choice(CITIES, n),
            "plan": rng.choice(PLANS, n),
        }
    )
    effect = frame["city"].map(dict(zip(CITIES, (1.5, -1.0, 0.5, -0.5, 0.0), strict=True)))
    effect += frame["plan"].map(dict(zip(PLANS, (-1.0, 0.2, 1.0), strict=True)))
    frame["signal"] = effect + frame["rate"] / 8 + (frame["visits"] - 30_000) / 20_000 - frame["amount"] / 2500
    frame["churned"] = np.where(frame["signal"] + rng.logistic(0, 0.5, n) > 0, "yes", "no")
    return frame


def _written(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


def _score(frame: pd.DataFrame, numbers: list[str], categories: list[str], target: str, dense: Any = None) -> float:
    """The pipeline by hand: numbers standardised, categories one-hot, a linear model."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    regression = frame[target].dtype.kind == "f"
    parts = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore"), categories),
    )
    model = make_pipeline(parts, Ridge() if regression else LogisticRegression(max_iter=1000))
    model.fit(frame[:TRAIN], frame[target][:TRAIN])
    return float(model.score(frame[TRAIN:], frame[target][TRAIN:]))


def german(folder: Path) -> Nasty:
    """Semicolons and decimal commas in Latin-1, points between thousands."""
    frame = _rows(1)

    def number(value: float, digits: int) -> str:
        return f"{value:,.{digits}f}".translate(str.maketrans(",.", ".,"))

    def text(part: pd.DataFrame) -> str:
        lines = ["betrag;rate;besuche;stadt;plan;gekündigt"]
        for row in part.itertuples():
            cells = number(row.amount, 2), f"{row.rate:.1f}".replace(".", ","), number(row.visits, 0), row.city
            lines.append(";".join((*cells, row.plan, row.churned)))
        return "\n".join(lines) + "\n"

    made = [_written(folder / f"{k}.csv", text(part), "latin-1") for k, part in enumerate(_halves(frame))]
    by_hand = _score(frame, ["amount", "rate", "visits"], ["city", "plan"], "churned")
    return Nasty(*made, ["--encoding", "latin-1"], by_hand)


def excel(folder: Path) -> Nasty:
    """An Excel export: a byte-order mark, tabs in a .csv, thousands with commas, parentheses, duplicate headers."""
    frame = _rows(2)

    def text(part: pd.DataFrame) -> str:
        lines = ["Amount\tRate\tVisits\tNote\tNote\tPlan\tChurned"]
        for row in part.itertuples():
            rate = f"({-row.rate:.1f})" if row.rate < 0 else f"{row.rate:.1f}"
            lines.append(
                "\t".join((f"{row.amount:,.2f}", rate, f"{row.visits:,}", row.city, "x", row.plan, row.churned))
            )
        return "\ufeff" + "\r\n".join(lines) + "\r\n"

    made = [_written(folder / f"{k}.csv", text(part)) for k, part in enumerate(_halves(frame))]
    return Nasty(*made, [], _score(frame, ["amount", "rate", "visits"], ["city", "plan"], "churned"))


def report(folder: Path) -> Nasty:
    """Title lines above the header, currency, percent, bounds and dates in two formats."""
    frame = _rows(3)
    days = np.random.default_rng(3).integers(0, 700, len(frame))
    moments = pd.Timestamp("2023-01-01") + pd.to_timedelta(days, "D")
    frame["month"] = moments.month.astype(str)
    frame["days"] = days
    low = frame["amount"] < 200
    frame["bounded"] = low.astype(float)
    frame["shown"] = frame["amount"].clip(lower=200)
    frame["signal"] += np.where(days > 350, 1.0, -1.0)
    frame["churned"] = np.where(
        frame["signal"] + np.random.default_rng(4).logistic(0, 0.5, len(frame)) > 0, "yes", "no"
    )

    def text(part: pd.DataFrame) -> str:
        lines = ["Quarterly report", "Made by the finance team, 2024", "", "since,amount,rate,visits,city,plan,churned"]
        for row in part.itertuples():
            moment = moments[row.Index]
            since = f"{moment:%Y-%m-%d}" if row.Index % 3 else f"{moment:%d/%m/%Y}"
            amount = "<$200.00" if row.bounded else f'"${row.amount:,.2f}"'
            cells = since, amount, f"{row.rate:.1f}%", f'"{row.visits:,}"', row.city, row.plan, row.churned
            lines.append(",".join(cells))
        return "\n".join(lines) + "\n"

    made = [_written(folder / f"{k}.csv", text(part)) for k, part in enumerate(_halves(frame))]
    numbers = ["shown", "bounded", "rate", "visits", "days"]
    return Nasty(*made, [], _score(frame, numbers, ["city", "plan", "month"], "churned"))


def nested(folder: Path) -> Nasty:
    """JSON Lines with objects, lists of words and vectors."""
    frame = _rows(5)
    rng = np.random.default_rng(6)
    vectors = rng.normal(size=(len(frame), 6))
    bags = rng.random((len(frame), len(TAGS))) < 0.3
    frame["signal"] += vectors @ [1.0, -1.0, 0.5, 0.0, 0.0, 0.8] + bags @ [1.5, -2.0, -1.0, 0.5, 2.0, -0.5]
    frame["churned"] = np.where(frame["signal"] + rng.logistic(0, 0.5, len(frame)) > 0, "yes", "no")

    def text(part: pd.DataFrame) -> str:
        lines = []
        for row in part.itertuples():
            user = {"city": row.city, "plan": {"name": row.plan}}
            tags = [tag for tag, there in zip(TAGS, bags[row.Index], strict=True) if there]
            told = {"user": user, "rate": row.rate, "visits": row.visits, "amount": row.amount, "tags": tags}
            lines.append(
                json.dumps({**told, "embedding": vectors[row.Index].round(4).tolist(), "churned": row.churned})
            )
        return "\n".join(lines) + "\n"

    made = [_written(folder / f"{k}.jsonl", text(part)) for k, part in enumerate(_halves(frame))]
    names = [f"v{k}" for k in range(6)] + [f"b{k}" for k in range(len(TAGS))]
    wide = pd.concat([frame, pd.DataFrame(np.hstack([vectors, bags]), columns=names)], axis=1)
    return Nasty(*made, [], _score(wide, ["amount", "rate", "visits", *names], ["city", "plan"], "churned"))


def parquet(folder: Path) -> Nasty:
    """Parquet with lists, vectors and a record in a column."""
    frame = _rows(7)
    rng = np.random.default_rng(8)
    vectors = rng.normal(size=(len(frame), 5))
    bags = rng.random((len(frame), len(TAGS))) < 0.3
    frame["signal"] += vectors @ [1.0, -1.0, 0.5, 0.0, 1.5] + bags @ [1.5, -2.0, -1.0, 0.5, 2.0, -0.5]
    frame["churned"] = np.where(frame["signal"] + rng.logistic(0, 0.5, len(frame)) > 0, "yes", "no")
    table = frame[["amount", "rate", "visits"]].assign(
        user=[{"city": city, "plan": plan} for city, plan in zip(frame["city"], frame["plan"], strict=True)],
        tags=[[tag for tag, there in zip(TAGS, row, strict=True) if there] for row in bags],
        embedding=list(vectors),
        churned=frame["churned"],
    )
    made = []
    for k, part in enumerate(_halves(table)):
        part.to_parquet(folder / f"{k}.parquet")
        made.append(folder / f"{k}.parquet")
    names = [f"v{k}" for k in range(5)] + [f"b{k}" for k in range(len(TAGS))]
    wide = pd.concat([frame, pd.DataFrame(np.hstack([vectors, bags]), columns=names)], axis=1)
    return Nasty(*made, [], _score(wide, ["amount", "rate", "visits", *names], ["city", "plan"], "churned"))


def house(folder: Path) -> Nasty:
    """A price in the last column, with thousands of different values."""
    frame = _rows(9)
    noise = np.random.default_rng(10).normal(0, 30_000, len(frame))
    frame["price"] = (250_000 + 60_000 * frame["signal"] + noise).round(-2)
    table = frame[["amount", "rate", "visits", "city", "plan", "price"]]
    made = []
    for k, part in enumerate(_halves(table)):
        part.to_csv(folder / f"{k}.csv", index=False)
        made.append(folder / f"{k}.csv")
    return Nasty(*made, [], _score(frame, ["amount", "rate", "visits"], ["city", "plan"], "price"))


def _halves(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    return frame[:TRAIN], frame[TRAIN:]


FILES: dict[str, Callable[[Path], Nasty]] = {
    "german": german,
    "excel": excel,
    "report": report,
    "nested": nested,
    "parquet": parquet,
    "house": house,
}
