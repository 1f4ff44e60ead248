"""Questions as people see them, on stderr: a row, what the model guesses, and what speaks for the guess."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from aggro.cli.console import console, shown, visible
from aggro.cli.tables import Column, print_table
from aggro.cli.tables import Row as TableRow
from aggro.learners.base.inside import innermost

if TYPE_CHECKING:
    from aggro.cli.labelling.answers import Choices
    from aggro.cli.labelling.estimate import Standing
    from aggro.cli.labelling.rows import Row

EVERY_ROW = "(every row)"  # the intercept
SHORT_VALUE = 12
RULE = 4  # the least of a line behind words
FACTS_SHOWN, MOST_REASONS, MOST_LETTERS = 12, 6, 4000  # the most that is shown of each


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


def question_of(active: Any, row: Row, texts: tuple[str, ...]) -> Question:
    """Everything about a row."""
    seen = dict(row.seen)
    # Running text has its own place, below its name.
    words = {name: str(seen.pop(name) or "") for name in texts if name in seen}
    guess, score = None, 0.0
    parts: dict[Any, float] = {}
    inner = getattr(active, "estimator_", None)
    if inner is not None:
        guess, score, parts = guess_of(active if hasattr(active, "columns_") else inner, row.x)
    # A kernel's score is a sum over rows; no part of it belongs to a column.
    reasons = [] if hasattr(innermost(active), "kernel") else reasons_of(parts, words)
    columns = [(name, value, part_of(name, value, parts) if reasons else None) for name, value in seen.items()]
    # The largest parts first, whatever their sign.
    columns.sort(key=lambda column: -abs(column[2] or 0.0))
    return Question(row.number, columns, words, guess, score, sorted(reasons, key=lambda reason: -abs(reason.part)))


def guess_of(inner: Any, x: Any) -> tuple[Any, float, dict[Any, float]]:
    """The guess, its score, and each feature's part in it."""
    guess = inner.predict_one(x)
    if guess is None:
        return None, 0.0, {}
    scores = inner.decision_one(x)
    if hasattr(innermost(inner), "kernel"):  # a sum over earlier rows says nothing of columns
        # The two best scores, from the end of the sorted ones: how far the guess is ahead.
        best, second = (abs(scores), 0.0) if isinstance(scores, float) else sorted(scores.tolist())[:-3:-1]
        return guess, best - second, {}
    explained = inner.explain_one(x)
    if isinstance(scores, float):
        sign = 1.0 if explained.label == guess else -1.0  # it may be told of the other class
        parts = {**explained, EVERY_ROW: explained.intercept}
        return guess, sign * explained.score, {name: sign * part for name, part in parts.items()}
    best, second = sorted(scores.tolist())[:-3:-1]
    return guess, best - second, {**explained, EVERY_ROW: explained.intercept}


def reasons_of(parts: dict[Any, float], texts: dict[str, str]) -> list[Reason]:
    """The parts by what people see: words instead of the places they are hashed to."""
    from aggro.streams.parse.bag_of_words import places_of
    from aggro.streams.tables.encode import WORD_BITS

    words: dict[str, str] = {}
    # Two ways of words: named by the encoder, or hashed to places; several words may share a place.
    for column, text in texts.items():
        of = "" if len(texts) == 1 else f"{column} "
        named = [part for part in parts if isinstance(part, str) and part.startswith(f"{column}:")]
        words.update((part, f"{of}“{part.removeprefix(f'{column}:')}”") for part in named)
        # The first word stays: which of those that share the place it was cannot be told.
        for word, place in places_of(text, WORD_BITS).items():
            words.setdefault(f"{column}~{place}", f"{of}“{word.lower()}”")
    reasons = []
    for feature, part in parts.items():
        if part:
            # Features without a name have their number.
            name = feature if isinstance(feature, str) else f"feature {feature}"
            reasons.append(Reason(words.get(name, name), part, name not in words and name != EVERY_ROW))
    return reasons


def part_of(name: str, value: Any, parts: dict[Any, float]) -> float:
    """The part of a column, whatever features it has become."""
    # A number, a category, a missing cell, or a feature by its number; a date has several.
    keys = (name, f"{name}={value}", f"{name}=missing", int(name) if name.isdecimal() else name)
    of_a_date = [key for key in parts if isinstance(key, str) and key.startswith(f"{name}:")]
    return sum(parts[key] for key in dict.fromkeys((*keys, *of_a_date)) if key in parts)


# On the screen ---------------------------------------------------------------------------------------


def short(text: str) -> str:
    return text[:MOST_LETTERS] + (" …" if len(text) > MOST_LETTERS else "")


def clean(text: str) -> str:
    """Running text of the data without what would move the cursor or change the terminal's colours."""
    return visible(short(text))


def line(value: Any) -> str:
    """A name, a label or a cell, on one line."""
    return shown(short(str(value)))


class Screen:
    """Writes questions; what cannot be written, because the terminal is gone, is no error."""

    def __init__(self) -> None:
        self.console = console(stderr=True)
        self.is_terminal = self.console.is_terminal

    def _show(self, *things: Any, **options: Any) -> None:
        with contextlib.suppress(OSError):
            self.console.print(*things, **options)

    def say(self, text: str) -> None:
        """A line of its own."""
        self._show(clean(text), style="dim")

    def prompt(self, text: str) -> None:
        """Words at the end of which something is typed."""
        with contextlib.suppress(OSError):
            sys.stderr.write(f"\n{text}" if self.is_terminal else text)
            sys.stderr.flush()

    def echo(self, text: str) -> None:
        """What was answered: behind the keys, if it is as short as one."""
        # A long answer gets a line of its own; a short one stands behind the keys.
        alone = self.is_terminal and len(text) > SHORT_VALUE
        self._show("\n" * alone + clean(text), style="bold")

    def leave(self) -> None:
        """End the line of keys."""
        if self.is_terminal:
            self.echo("")

    def ask(self, question: Question, choices: Choices, standing: Standing) -> None:
        """A question, and the keys that answer it."""
        from rich.padding import Padding
        from rich.rule import Rule
        from rich.table import Table
        from rich.text import Text

        show = self._show
        # An empty line between the last answer and the next question.
        show()
        head = Text(f"row {question.row + 1:,}  ·  {standing.counts}")
        fits = head.cell_len + RULE <= self.console.width  # else it would cut the figures
        show(Rule(head, align="left", style="dim") if fits else head)
        for name, text in question.texts.items():
            show(Text(line(name), style="dim"))
            show(Padding(Text(clean(text) or "(empty)", overflow="fold"), (0, 2)))
        if question.columns:
            with contextlib.suppress(OSError):
                # The terminal may go away while the table is drawn.
                self._table(question)
        lines = Table.grid(padding=(0, 1))
        for title, text in self._lines(question, standing).items():
            lines.add_row(Text(title, style="dim"), Text(line(text), overflow="fold"))
        show(lines)
        keys, used = Text(), 0
        for key, meaning in choices.shown():
            one = Text.assemble((f"[{line(key)}]", "bold"), f" {line(meaning)}")
            if used and used + one.cell_len > self.console.width:  # a key stays beside what it means
                keys.append("\n")
                used = 0
            keys.append(one).append("   ")
            # Counted in cells, with the three blanks between keys.
            used += one.cell_len + 3
        if self.is_terminal:
            keys.append("\n› " if used + 2 > self.console.width else "› ")
        show(keys, end="" if self.is_terminal else "\n")
        with contextlib.suppress(OSError):
            sys.stderr.flush()

    def _table(self, question: Question) -> None:
        from rich.text import Text

        # Parts are shown only if there are any.
        told = question.guess is not None and any(part is not None for *_, part in question.columns)
        columns = [Column("column"), Column("value")]
        if told:
            columns.append(Column(line(f"for {question.guess}"), number=True))
        rows = []
        for name, value, part in question.columns[:FACTS_SHOWN]:
            cells = [line(name), "" if value is None else line(value)]
            rows.append(TableRow([*cells, *([f"{part or 0.0:+.3f}"] if told else [])]))
        print_table(self.console, columns, rows, edge=False)
        if len(question.columns) > FACTS_SHOWN:
            self.console.print(Text(f"and {len(question.columns) - FACTS_SHOWN:,} more", style="dim italic"))

    def _lines(self, question: Question, standing: Standing) -> dict[str, str]:
        lines = {"guess": "none yet"}
        if question.guess is not None:
            lines["guess"] = f"{question.guess} (score {question.score:.2f})"
        reasons = [reason for reason in question.reasons if not reason.is_column]  # the table has those
        if question.texts and reasons:
            lines["because of"] = ", ".join(f"{what} {part:+.2f}" for what, part, _ in reasons[:MOST_REASONS])
        lines["error"] = standing.error
        lines["more labels?"] = standing.helps
        return lines
