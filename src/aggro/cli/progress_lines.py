"""How learning goes: a line on stderr at each power of two of rows, and a bar on a terminal.

The columns are those that users of online learners know: rows so far, their mean loss, the mean loss since
the last line, and what share of the rows was predicted wrongly, or was outside, before it was learned.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from aggro.cli.console import bar as part
from aggro.cli.console import console, width_of, words
from aggro.learners.base.inside import model_of

NOW_AND_THEN = 20.0  # seconds
COUNTED_AS = {"classification": "mistakes", "outlier": "outside"}  # what a tally's mistakes are, where it has any


class Counts(NamedTuple):
    """What a learner has counted so far."""

    rows: int = 0
    loss: float = 0.0  # sum
    mistakes: int = 0
    updates: int = 0

    @property
    def mean_loss(self) -> float:
        return self.loss / self.rows if self.rows else 0.0

    @property
    def error(self) -> float:
        return self.mistakes / self.rows if self.rows else 0.0


def counts(learner: Any) -> Counts:
    model = model_of(learner)
    if model is None:
        return Counts()
    from aggro.engine.rule import MISTAKES, SEEN, UPDATES

    # One conversion for all counters, since each access of an array takes longer.
    rows = model.state.tally.rows.tolist()
    return Counts(rows[SEEN], float(model.state.tally.loss[0]), rows[MISTAKES], rows[UPDATES])


def drift_of(learner: Any) -> dict[str, Any]:
    """Where the error was seen to rise, and what it is now."""
    # NaN before the first row, which JSON has no word for.
    recent = learner.recent_error_
    rows = learner.drift_rows_.tolist()
    return {"recent_error": None if recent != recent else recent, "drifts": learner.n_drifts_, "drift_rows": rows}


def drift_line(result: dict[str, Any]) -> str:
    """The drifts seen, as a line of text to print: how often, and the last rows. Empty if there was no drift."""
    if not result["drifts"]:
        return ""
    times = "once" if result["drifts"] == 1 else f"{result['drifts']:,} times"
    return f"seen {times}, at row {', '.join(f'{row:,}' for row in result['drift_rows'][-3:])}"


def candidates_in(learner: Any) -> dict[str, Any]:
    """The candidates of a learner that lets several vote; nothing of others."""
    found = getattr(learner, "candidates_", None)
    return {} if found is None else {"candidates": [one._asdict() for one in found]}


def candidate_lines(result: dict[str, Any]) -> dict[str, str]:
    """The candidates as lines of text to print: what learns, its share of the vote, and its recent error."""
    lines = {}
    for k, one in enumerate(result.get("candidates", ()), 1):
        error = (
            f"recent error {one['recent_error']:.4g}" if one["recent_error"] == one["recent_error"] else "no rows yet"
        )
        stands = f"weight {one['weight']:.2f}" if one["stands"] == "votes" else one["stands"]
        lines[f"candidate {k}"] = f"{one['learner']}: {stands}, {error}"
    return lines


class Ledger:
    """Prints the lines; where they go is up to ``say``."""

    def __init__(self, say: Any, bar: Any, task: str) -> None:
        self.say, self._bar, self.counted = say, bar, COUNTED_AS.get(task)
        self._begun = False
        self._said = -1  # rows of the last line
        self._heard = math.inf  # when there was a line about partitions; from the first that is done on

    def note(self, learner: Any) -> None:
        """Rows were learned: if there are a power of two of them now, that is worth a line."""
        now = counts(learner)
        # A power of two has a single bit.
        if now.rows and now.rows & (now.rows - 1) == 0:
            self._line(now, learner.history_)

    def close(self, learner: Any) -> None:
        """The last line, unless it was said already."""
        now = counts(learner)
        # Not twice: a run may end at a power of two.
        if now.rows & (now.rows - 1) and now.rows != self._said:
            self._line(now, learner.history_)

    def passed(self, before: Counts, now: Counts) -> None:
        """A pass over all partitions is done."""
        self._cells(now, before.rows, before.loss)

    def parts(self, share: float, what: str) -> None:
        """So much is done of partitions: that moves the bar; without one it is a line now and then."""
        if self._bar is not None:
            self._bar(share, what)
            return
        now = time.monotonic()
        # Without a bar, lines are few, so that a log stays readable.
        if now - self._heard >= NOW_AND_THEN:
            self._heard = now
            self.say(what)
        # The clock starts with the first partition that is done.
        self._heard = min(self._heard, now)

    def _line(self, now: Counts, history: Any) -> None:
        # The last mark before this line, for the loss since then.
        earlier = history[history["rows"] < now.rows]
        rows, loss = (int(earlier["rows"][-1]), float(earlier["loss"][-1])) if len(earlier) else (0, 0.0)
        self._cells(now, rows, rows * loss)

    def _cells(self, now: Counts, rows: int, loss: float) -> None:
        """A line, where so many rows and the sum of their losses were the last one."""
        self._said = now.rows
        # Titles come with the first line, when it is certain that there is something to show.
        if not self._begun:
            self._begun = True
            names = [f"{self.counted:>10}"] if self.counted else []
            self._say([f"{'rows':>13}", f"{'mean loss':>12}", f"{'since last':>12}", *names, f"{'updates':>13}"])
        recent = (now.loss - loss) / max(now.rows - rows, 1)
        error = [f"{now.error:>10.2%}"] if self.counted else []
        losses = [f"{figure(now.mean_loss):>12}", f"{figure(recent):>12}"]
        self._say([f"{now.rows:>13,}", *losses, *error, f"{now.updates:>13,}"])

    def _say(self, cells: list[str]) -> None:
        for line in side_by_side(cells, width_of(sys.stderr)):
            self.say(line)

    def advance(self, done: float | None, what: str) -> None:
        """Move the bar to this share of the work (None: nobody knows)."""
        if self._bar is not None:
            self._bar(done, what)


def side_by_side(cells: list[str], limit: int | None) -> list[str]:
    """The cells in a line, or in more of them where it is narrow: those then stand below the second cell."""
    if limit is None or len("".join(cells)) <= limit:
        return ["".join(cells)]
    first, *others = cells
    # Below the first cell, if the widest cell fits there.
    below = " " * len(first) if max(map(len, cells)) + len(first) <= limit else ""
    wide = max(map(len, others)) if below else 0  # so that figures stand below figures
    lines = [first]
    for cell in others:
        if len(lines[-1]) + max(len(cell), wide) > limit:
            lines.append(below)
        lines[-1] += cell.rjust(wide)
    return [line if len(line) <= limit else line.strip() for line in lines]


def figure(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 1e5 else f"{value:.3e}"


@contextmanager
def ledger(task: str) -> Iterator[Ledger]:
    """A ledger on stderr. If nothing is heard for a while, it says why: kernels are compiled once."""
    bar: Any = None
    if sys.stderr.isatty():
        from rich.progress import Progress, TimeElapsedColumn

        screen = console(stderr=True)
        # On a terminal the bar stays at the end, and lines scroll above it.
        bars = Progress(part(screen, 32), words(), TimeElapsedColumn(), console=screen, transient=True)
        line = bars.add_task("getting ready", total=None)

        def bar(done: float | None, what: str) -> None:
            bars.update(line, total=None if done is None else 1.0, completed=done or 0.0, description=what)

        # Compilation speaks through the same screen, or it would break the bar.
        with bars, patience(lambda text: screen.print(text, style="dim")):
            yield Ledger(lambda text: screen.print(text), bar, task)
        return

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    with patience(say):
        yield Ledger(say, bar, task)


@contextmanager
def patience(say: Any) -> Iterator[None]:
    """Says after a while why nothing is seen, if compiling is the reason."""
    from aggro.engine.jit.announce import AT_EACH_START, through

    def compiling(text: str) -> None:
        how = "each start takes this long, as it cannot be stored here"
        how = how if AT_EACH_START in text else "only the first start takes this long"
        say(f"Compiling for this computer; {how} …")

    with through(compiling):
        yield
