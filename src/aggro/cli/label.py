"""``aggro label``: a person labels what the model asks about.

The way of one answer: ``Conversation.run`` asks the session for the next row that the model is unsure of
(``labelling.session``), shows it (``labelling.screen``) and waits for a key or a line (``labelling.answers``); what was
answered goes to ``Session.answer``, which lets the model learn it and writes it to the journal (``labelling.journal``).
"""

from __future__ import annotations

import math
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aggro.cli.console import Mistake, facts, json_text, kept, listed, shown
from aggro.cli.help import complete_learners, complete_settings
from aggro.cli.options import Data, Json, Plugins, Reading, reads_data
from aggro.cli.outputs import JOURNAL, LABELLED, MODEL_FILE, Reads, Writes
from aggro.learners.base.inside import parameters_of

if TYPE_CHECKING:
    from aggro.cli.labelling.answers import Reply
    from aggro.cli.labelling.estimate import Standing
    from aggro.cli.labelling.session import Session

ASKING = "Asking"
ANSWERS_SUFFIX, START_SUFFIX = ".answers", ".start"  # behind the model's name
STRATEGIES = ("margin", "sharp", "threshold", "random", "confidence")
ENDS = {
    "quit": "Stopped.",
    "data": "There are no more rows.",
    "budget": "You have given all answers of the budget.",
}
GO_ON = "The same command continues from here."


@reads_data
def label(
    data: Data,
    *,
    model: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Train this model; an existing one continues."),
        Writes(MODEL_FILE, beside={ANSWERS_SUFFIX: JOURNAL, START_SUFFIX: MODEL_FILE}, held=True),
    ],
    classes: Annotated[
        str | None, typer.Option(metavar="LIST", help="Name the classes and their keys: ham=h,spam=s.")
    ] = None,
    seed_labels: Annotated[
        list[str] | None,
        typer.Option(metavar="DATA", help="Train on these labelled rows first; repeatable."),
        Reads(data=True),
    ] = None,
    budget: Annotated[int | None, typer.Option(min=0, metavar="N", help="Stop after N answers.")] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            rich_help_panel=ASKING,
            help="Ask less with a smaller X.  [default: 0.1; 1 for confidence]",
        ),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=ASKING,
            autocompletion=lambda: list(STRATEGIES),
            help=f"Choose rows by {', '.join(STRATEGIES)}.  [default: margin]",
        ),
    ] = None,
    target_rate: Annotated[
        float | None,
        typer.Option(metavar="SHARE", rich_help_panel=ASKING, help="Ask about this share of the rows; sets delta."),
    ] = None,
    learner: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=complete_learners,
            help="Train this classifier; 'aggro learners' lists all.  [default: PAClassifier; for confidence "
            "AROWClassifier]",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            autocompletion=complete_settings,
            help="Set a parameter of the learner; repeatable.",
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the labelled rows to a .csv, .tsv or .jsonl file."),
        Writes(LABELLED),
    ] = None,
    plugin: Plugins = None,
    as_json: Json = False,
    reading: Reading,
) -> None:
    """Label rows by hand; the model asks about those it is unsure of, and learns each answer at once.

    Answer with one key; others skip, undo and quit. Each answer is saved in MODEL.answers before the next question,
    and the same command continues where you stopped. Without a terminal, aggro reads answers from stdin, one a line:
    a class, +NAME for a new one, skip, undo or quit. --json then prints each question and the result as a line of
    JSON.
    """
    from aggro.cli.labelling.answers import Interrupted, Interrupts, Keys, classes_given
    from aggro.cli.labelling.exporting import check_export
    from aggro.cli.labelling.exporting import export as write_rows
    from aggro.cli.labelling.journal import Journal
    from aggro.cli.labelling.run import Run, taken_up
    from aggro.cli.labelling.screen import Screen
    from aggro.cli.progress_lines import patience

    # What cannot work is refused before the model is loaded or the data are read.
    given = classes_given(classes)
    if export is not None:
        check_export(export)
    if strategy is not None and strategy not in STRATEGIES:
        raise Mistake(f"There is no strategy {strategy!r}. There are: {', '.join(STRATEGIES)}.")
    said = {"delta": delta, "strategy": strategy, "target_rate": target_rate}
    asking = {name: value for name, value in said.items() if value is not None}
    screen, interrupts = Screen(), Interrupts()
    journal = Journal(model.with_name(model.name + ANSWERS_SUFFIX))
    try:
        # Whatever stops it, the user learns that the answers are kept; signals wait for a good moment inside.
        with kept(lambda: f"Every answer is kept. {GO_ON}"), interrupts.caught():
            with patience(screen.say):
                run = Run(model, data, reading, learner, set_ or [], asking, seed_labels or [], journal, screen.say)
                session = taken_up(journal, run)
                session.budget, session.check = budget, interrupts.check
                session.resume()
            conversation = Conversation(session, screen, interrupts, given, as_json)
            conversation.greet()
            # A person must not wait for a compiler in the middle of the answers; a program may.
            if isinstance(conversation.answers, Keys):
                prepare_for_more_classes(session)
            with conversation.answers.held():
                end = conversation.run()
            # The journal has every answer; saving the model only spares the next start the way there.
            session.save()
            if export is not None:
                count = write_rows(export, session.journal.events, session.walk.stream, session.walk.hidden)
                screen.say(f"{count:,} labelled row{'s are' if count != 1 else ' is'} in {export}.")
            conversation.close(end)
    except Interrupted as stop:
        # The terminal is gone, so nothing may be written to it any more, also not at Python's end.
        if stop.number == getattr(signal, "SIGHUP", None):
            leave_terminal()
        raise SystemExit(128 + stop.number) from None
    finally:
        # Nothing was ever answered: the journal goes, and with it the model that only a journal needs.
        if not journal.close():
            model.with_name(model.name + START_SUFFIX).unlink(missing_ok=True)


def prepare_for_more_classes(session: Session) -> None:
    """Load, or compile, what a third class needs, while the first rows are read: it must not stop the screen later."""
    # A model of three classes has had that code already.
    if session.learned and len(session.active.classes_) > 2:
        return
    from threading import Thread

    from aggro.cli.labelling.session import asker_of

    # The learner inside decides which code that is.
    active = asker_of(session.active)
    inner = getattr(active, "estimator_", active.estimator)
    Thread(target=learn_three_classes, args=(inner,), name="aggro-more-classes", daemon=True).start()


def learn_three_classes(learner: Any) -> None:
    """Let a new learner of these parameters learn three classes."""
    import contextlib

    from aggro.learners.base.inside import parameters_of

    with contextlib.suppress(Exception):  # whatever is wrong is said when a row is really learned
        other = type(learner)(**parameters_of(learner))
        for k in range(6):
            row = {"a": 1.0 + k, f"b{k % 3}": 1.0}
            other.predict_one(row)
            # The third class comes with the third row; the others repeat all three.
            other.learn_one(row, f"class {k % 3}")


class Conversation:
    """Questions and answers until somebody has enough."""

    def __init__(self, session: Session, screen: Any, interrupts: Any, given: list[Any], as_json: bool) -> None:
        from aggro.cli.labelling.answers import Keys, answers_of, choices_of

        self.session, self.screen, self.as_json = session, screen, as_json
        self.answers = answers_of(interrupts, screen.prompt)
        # Lines of JSON go to programs; a person at keys sees the questions on the screen also with --json.
        self.prints = as_json and not isinstance(self.answers, Keys)
        self.choices = choices_of(given, self._known())

    def _known(self) -> list[Any]:
        """The classes that the model knows."""
        return self.session.active.classes_.tolist() if self.session.learned else []

    def greet(self) -> None:
        """Where it goes on."""
        session, say = self.session, self.screen.say
        if session.events:
            say(f"Continuing after {session.answered:,} answers, at row {session.place.row + 1:,} of the data.")
        if session.otherwise:
            say(f"Note: {session.otherwise:,} rows are asked about otherwise than when they were answered.")

    def run(self) -> str:
        """Go on until the end; which end it was."""
        from aggro.cli.labelling.answers import QUIT, Interrupted
        from aggro.cli.labelling.screen import question_of
        from aggro.cli.progress_lines import patience

        session = self.session
        # Found once: columns of text are shown in full, apart from the others.
        texts = text_columns(session.walk.stream)
        while True:
            try:
                with patience(self.screen.say):
                    row = session.next()
                if row is None:
                    # Not a single row: the file is probably the wrong one.
                    if session.end == "data" and not session.place.row:
                        raise Mistake(f"{session.walk.stream.sources[0].title}: there is no row to label.")
                    return session.end
                question = question_of(session.active, row, texts)
                self._ask(question)
                reply = self.answers.reply(self.choices)
            # Stopped while waiting: everything answered is learned, so the model is saved before the error goes on.
            except (Interrupted, Mistake) as stop:
                session.save()
                if isinstance(stop, Interrupted):
                    self.screen.echo(f"Stopped. Every answer is kept. {GO_ON}")
                raise
            if reply.what == QUIT:
                self.screen.leave()
                return "quit"
            with patience(self.screen.say):
                self._take(reply, question.guess)

    def _ask(self, question: Any) -> None:
        self.answers.forget()
        # Flushed: a program waits for the question before it answers.
        if self.prints:
            print(json_text({"question": question.as_json()}), flush=True)
        else:
            self.screen.ask(question, self.choices, self._standing())

    def _take(self, reply: Reply, guess: Any) -> None:
        from aggro.cli.labelling.answers import SKIP, UNDO

        if reply.what == SKIP:
            self.session.skip(guess)
            self._echo("skipped")
        elif reply.what == UNDO:
            self._undo()
        else:
            # Written to the journal before the class gets a key, so that a refused answer leaves no key behind.
            self.session.answer(reply.label, guess)
            self.choices.add(reply.label)
            if reply.typed:
                self.screen.leave()
            else:
                self._echo(shown(reply.label))

    def _echo(self, text: str) -> None:
        if not self.prints:
            self.screen.echo(text)

    def _undo(self) -> None:
        event = self.session.undo()
        if event is None:
            self.screen.echo("There is nothing to undo.")
        else:
            # Its class may have come with this answer alone, and then its key goes with it.
            if event.do == "answer" and event.label not in self._known():
                self.choices.drop(event.label)  # it was the only one
            what = f"the answer {shown(event.label)}" if event.do == "answer" else "a skip"
            self.screen.echo(f"took back {what}")

    def _standing(self) -> Standing:
        from aggro.cli.labelling.estimate import Standing

        return Standing(self.session)

    def close(self, end: str) -> None:
        """The result, on stdout."""
        standing = self._standing()
        result = self._result(end, standing)
        if self.prints:
            print(json_text({"result": result}))
        elif self.as_json:
            # One result for the whole run: a person has answered with keys, so no questions were printed.
            print(json_text(result, indent=2))
        else:
            print(summary(result, standing))
        go_on = f" {GO_ON}" if end != "data" else ""
        self.screen.say(f"{ENDS[end]} Every answer is kept.{go_on}")

    def _result(self, end: str, standing: Standing) -> dict[str, Any]:
        from aggro.cli.labelling.session import asker_of

        session, gain, mistakes = self.session, standing.gain, standing.mistakes
        active = asker_of(session.active)
        inner = getattr(active, "estimator_", active.estimator)
        # Without an estimate of its error, the share says nothing.
        known = math.isfinite(mistakes.error)
        return {
            "model": str(session.model) if session.learned else None,
            "answers": str(session.journal.path),
            "end": end,
            "learner": type(inner).__name__,
            "parameters": parameters_of(inner),
            "asking": {name: active.__dict__[name] for name in ("delta", "strategy", "target_rate")},
            "rows": session.place.row,
            "answered": standing.answered,
            "skipped": standing.skipped,
            "undone": session.journal.undone,
            "error": mistakes.share if known else None,
            "error_deviation": mistakes.error if known else None,
            "more_labels_help": None if gain is None else gain.verdict,
            "gain": None if gain is None else gain._asdict(),
            "missed": [{"class": name, "share": share} for name, share in mistakes.missed.items()],
            "classes": inner.classes_.tolist() if session.learned else [],
            "bad_lines": session.walk.stream.bad_lines,
        }


def text_columns(stream: Any) -> tuple[str, ...]:
    """The columns of running text."""
    # The roles of a table were found out or said; other formats have what the options say.
    if stream.raw:
        return tuple(column.name for column in stream.columns.values() if column.role == "text")
    return tuple(stream.options["text"])


def summary(result: dict[str, Any], standing: Standing) -> str:
    """The result for people."""
    from aggro.cli.learner_spec import spelled

    share = result["answered"] / max(result["rows"], 1)
    skipped = f", {result['skipped']:,} skipped" if result["skipped"] else ""
    asking = ", ".join(f"{name}={value}" for name, value in result["asking"].items() if value is not None)
    lines = {
        "learner": f"{spelled(result['learner'], result['parameters'])}, asking with {asking}",
        "rows": f"{result['rows']:,}",
        "answers": f"{result['answered']:,} ({share:.1%} of the rows){skipped}",
        "error": standing.error,
        "more help?": standing.helps,
        "classes": listed(result["classes"]),
    }
    if result["bad_lines"]:
        lines["left out"] = f"{result['bad_lines']:,} malformed line(s)"
    size = f"{result['model']} ({os.path.getsize(result['model']):,} bytes)" if result["model"] else "none yet"
    lines["model"] = f"{size}; the answers are in {result['answers']}"
    return facts(lines)


def leave_terminal() -> None:
    """The terminal is gone: nothing that is still to be written must reach it."""
    # The descriptors themselves: whatever Python still flushes goes nowhere.
    for stream in (sys.stdout, sys.stderr):
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        except (OSError, ValueError):
            continue
