"""Questions as people see them, on stderr."""

from __future__ import annotations

import contextlib
import math
import sys
from typing import TYPE_CHECKING, Any

from aggro.cli.console import console, shown, visible
from aggro.cli.labelling.estimate import Gain, Mistakes
from aggro.cli.labelling.question import Question

if TYPE_CHECKING:
    from aggro.cli.labelling.choices import Choices
    from aggro.cli.labelling.session import Session

__all__ = ["Screen", "Standing", "error_text"]

SHORT = 12
COLUMNS, REASONS, CLASSES, LETTERS = 12, 6, 4, 4000  # the most that is shown of each


def short(text: str) -> str:
    return text[:LETTERS] + (" …" if len(text) > LETTERS else "")


def clean(text: str) -> str:
    """Running text of the data without what would move the cursor or change the terminal's colours."""
    return visible(short(text))


def line(value: Any) -> str:
    """A name, a label or a cell, on one line."""
    return shown(short(str(value)))


class Standing:
    """How far a session is."""

    def __init__(self, session: Session, mistakes: Mistakes, gain: Gain | None) -> None:
        self.mistakes, self.gain = mistakes, gain
        self.answered, self.budget, self.rows = session.answered, session.budget, session.place.row
        self.skipped = len(session.journal.events) - self.answered
        self.strategy = str(session.active.strategy)

    def counts(self) -> str:
        """The figures in one line."""
        of = f" of {self.budget:,}" if self.budget is not None else ""
        skipped = f", {self.skipped:,} skipped" if self.skipped else ""
        return f"{self.answered:,}{of} answered{skipped}"

    def helps(self) -> str:
        """Whether more labels help, in a sentence."""
        if self.gain is None:
            return "too early to say"
        return self.gain.sentence()


def error_text(mistakes: Mistakes, strategy: str) -> str:
    """An estimated error, no more exactly than it is known."""
    if strategy == "threshold":
        return "unknown: with a threshold, answers say nothing of the rows that are not asked about"
    if math.isnan(mistakes.error):
        return "too early to say"
    digits = 0 if mistakes.error >= 0.02 else 1
    text = f"about {mistakes.share:.{digits}%} (± {mistakes.error:.{digits}%}) of the guesses so far"
    worst = sorted(mistakes.missed.items(), key=lambda item: -item[1])[:CLASSES]
    return text + ("; lately of " + ", ".join(f"{label} {share:.0%}" for label, share in worst) if worst else "")


class Screen:
    """Writes questions; what cannot be written, because the terminal is gone, is no error."""

    def __init__(self) -> None:
        self.console = console(stderr=True)

    def say(self, text: str) -> None:
        """A line of its own."""
        with contextlib.suppress(OSError):
            self.console.print(clean(text), style="dim")

    def prompt(self, text: str) -> None:
        """Words at the end of which something is typed."""
        with contextlib.suppress(OSError):
            sys.stderr.write(f"\n{text}" if self.console.is_terminal else text)
            sys.stderr.flush()

    def echo(self, text: str) -> None:
        """What was answered: behind the keys, if it is as short as one."""
        alone = self.console.is_terminal and len(text) > SHORT
        with contextlib.suppress(OSError):
            self.console.print("\n" * alone + clean(text), style="bold")

    def leave(self) -> None:
        """End the line of keys."""
        if self.console.is_terminal:
            self.echo("")

    def ask(self, question: Question, choices: Choices, standing: Standing) -> None:
        """A question, and the keys that answer it."""
        with contextlib.suppress(OSError):
            self._ask(question, choices, standing)
            sys.stderr.flush()

    def _ask(self, question: Question, choices: Choices, standing: Standing) -> None:
        from rich.padding import Padding
        from rich.rule import Rule
        from rich.table import Table
        from rich.text import Text

        show = self.console.print
        show()
        show(Rule(Text(f"row {question.row + 1:,}  ·  {standing.counts()}"), align="left", style="dim"))
        for name, text in question.texts.items():
            show(Text(line(name), style="dim"))
            show(Padding(Text(clean(text) or "(empty)", overflow="fold"), (0, 2)))
        if question.columns:
            show(self._table(question))
        lines = Table.grid(padding=(0, 1))
        for title, text in self._lines(question, standing).items():
            lines.add_row(Text(title, style="dim"), Text(line(text), overflow="fold"))
        show(lines)
        keys = Text()
        for key, meaning in choices.shown():
            keys.append(f"[{line(key)}]", style="bold")
            keys.append(f" {line(meaning)}   ")
        if self.console.is_terminal:
            keys.append("› ")
        show(keys, end="" if self.console.is_terminal else "\n")

    def _table(self, question: Question) -> Any:
        from rich import box
        from rich.table import Table

        told = question.guess is not None and any(part is not None for *_, part in question.columns)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("column", overflow="fold")
        table.add_column("value", overflow="fold")
        if told:
            table.add_column(line(f"for {question.guess}"), justify="right")
        for name, value, part in question.columns[:COLUMNS]:
            cells = [line(name), "" if value is None else line(value)]
            table.add_row(*cells, *([f"{part or 0.0:+.3f}"] if told else []))
        if len(question.columns) > COLUMNS:
            table.caption = f"and {len(question.columns) - COLUMNS:,} more"
        return table

    def _lines(self, question: Question, standing: Standing) -> dict[str, str]:
        lines = {"guess": "none yet"}
        if question.guess is not None:
            lines["guess"] = f"{question.guess} (score {question.score:.2f})"
        reasons = [reason for reason in question.reasons if not reason.is_column]  # the table has those
        if question.texts and reasons:
            lines["because of"] = ", ".join(f"{what} {part:+.2f}" for what, part, _ in reasons[:REASONS])
        lines["error"] = error_text(standing.mistakes, standing.strategy)
        lines["more labels?"] = standing.helps()
        return lines
