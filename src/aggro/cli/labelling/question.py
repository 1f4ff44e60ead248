"""What there is to say about a row: its columns and words, and how much each speaks for the model's guess."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from aggro.cli.labelling.walk import Row

__all__ = ["Question", "Reason", "question_of"]

EVERY_ROW = "(every row)"  # the intercept


class Reason(NamedTuple):
    """Something in a row, and its part in the score: positive if it speaks for the guess."""

    what: str
    part: float
    is_column: bool = False


class Question(NamedTuple):
    """A row to ask about, as people see it."""

    row: int  # in the data, from 0
    columns: list[tuple[str, Any, float | None]]  # name, value and part; the largest parts first
    texts: dict[str, str]
    guess: Any  # None if the model has none yet
    score: float  # for the guess; how far it is ahead, of several classes
    reasons: list[Reason]  # the largest first

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        seen = {name: value for name, value, _ in self.columns} | self.texts
        reasons = [{"what": reason.what, "part": reason.part} for reason in self.reasons]
        guessed = {"guess": self.guess, "score": self.score, "reasons": reasons} if self.guess is not None else {}
        return {"row": self.row + 1, "seen": seen, **guessed}


def question_of(active: Any, row: Row, hidden: str | None, texts: tuple[str, ...]) -> Question:
    """Everything about a row."""
    seen = row.seen(hidden)
    words = {name: str(seen.pop(name) or "") for name in texts if name in seen}
    guess, score = None, 0.0
    parts: dict[Any, float] = {}
    inner = active.__dict__.get("estimator_")
    if inner is not None and "_model" in inner.__dict__:
        guess, score, parts = guess_of(inner, row.x)
    reasons = reasons_of(parts, words) if inner is None or "kernel" not in inner._constraints else []
    columns = [(name, value, part_of(name, value, parts) if reasons else None) for name, value in seen.items()]
    columns.sort(key=lambda column: -abs(column[2] or 0.0))
    return Question(row.number, columns, words, guess, score, sorted(reasons, key=lambda reason: -abs(reason.part)))


def guess_of(inner: Any, x: Any) -> tuple[Any, float, dict[Any, float]]:
    """The guess, its score, and each feature's part in it."""
    guess = inner.predict_one(x)
    if guess is None:
        return None, 0.0, {}
    explained, scores = inner.explain_one(x), inner.decision_one(x)
    if isinstance(scores, float):
        sign = 1.0 if explained.label == guess else -1.0  # it may be told of the other class
        parts = {**explained, EVERY_ROW: explained.intercept}
        return guess, sign * scores, {name: sign * part for name, part in parts.items()}
    best, second = sorted(scores.tolist())[:-3:-1]
    return guess, best - second, {**explained, EVERY_ROW: explained.intercept}


def reasons_of(parts: dict[Any, float], texts: dict[str, str]) -> list[Reason]:
    """The parts by what people see: words instead of the places they are hashed to."""
    from aggro.streams.parse.bag_of_words import places_of
    from aggro.streams.tables.encode import WORD_BITS

    words: dict[str, str] = {}
    for column, text in texts.items():
        for word, place in places_of(text, WORD_BITS).items():
            of = "" if len(texts) == 1 else f"{column} "
            words.setdefault(f"{column}~{place}", f"{of}“{word.lower()}”")
    reasons = []
    for feature, part in parts.items():
        if part:
            name = feature if isinstance(feature, str) else f"feature {feature}"
            reasons.append(Reason(words.get(name, name), part, name not in words and name != EVERY_ROW))
    return reasons


def part_of(name: str, value: Any, parts: dict[Any, float]) -> float:
    """The part of a column, whatever features it has become."""
    keys = (name, f"{name}={value}", f"{name}=missing", int(name) if name.isdecimal() else name)
    return sum(parts[key] for key in dict.fromkeys(keys) if key in parts)
