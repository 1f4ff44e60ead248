"""A person at a real pseudo-terminal: sees what ``aggro label`` shows, presses keys, pulls plugs.

Runs one of the plays below and prints as JSON what came of it. The commands are forks of this process, which has loaded
everything already: starting Python for each would take most of the time.
"""

from __future__ import annotations

import json
import os
import pty
import random
import re
import select
import signal
import sys
import termios
import threading
import time
from contextlib import suppress
from pathlib import Path

from aggro import cli

PROMPT = "› "
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
PATIENCE = 60.0  # seconds until a test gives up


class Person:
    """One run of the command, on a terminal of its own."""

    def __init__(self, *arguments: str) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            status = 70
            try:
                cli.main([str(argument) for argument in arguments])
            except SystemExit as end:
                status = end.code or 0
            except BaseException as error:
                print("Traceback", repr(error))
            finally:
                with suppress(BaseException):
                    sys.stdout.flush()
                os._exit(status)
        self.seen = ""  # since the last look

    def look(self, wanted: str = PROMPT) -> str:
        """Wait for words on the screen; all that came until then."""
        end = time.monotonic() + PATIENCE
        while wanted not in self.seen:
            if time.monotonic() > end:
                raise TimeoutError(f"no {wanted!r} in {self.seen!r}")
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    more = os.read(self.fd, 65536)
                except OSError:
                    more = b""
                if not more:
                    raise EOFError(self.seen)
                self.seen += ESCAPES.sub("", more.decode("utf-8", "replace"))
        before, _, self.seen = self.seen.rpartition(wanted)
        return before

    def row(self) -> int:
        """The row that is asked about, counted from 1."""
        return int(re.findall(r"row ([\d,]+)  ·", self.look())[-1].replace(",", ""))

    def press(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def end(self) -> int:
        """Read what is left; how it ended."""
        with suppress(EOFError):
            self.look("\0 never comes \0")
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def key_of(plan: dict, row: int) -> str:
    """What this person would say about a row; some rows it does not know."""
    return "s" if row % 17 == 0 else plan["labels"][row - 1][0]


def answered(plan: dict, model: str) -> list[tuple[int, str]]:
    """What a journal holds: rows and keys."""
    events: list[tuple[int, str]] = []
    for line in Path(f"{model}.answers").read_text().splitlines()[1:]:
        entry = json.loads(line)
        if entry["do"] == "undo":
            events.pop()
        else:
            events.append((entry["row"] + 1, "s" if entry["do"] == "skip" else entry["label"][0]))
    return events


def whole(plan: dict) -> dict:
    """From the first question to the last, with nothing in between."""
    person = Person(*plan["arguments"], "--model", plan["model"])
    pressed = []
    while True:
        try:
            row = person.row()
        except EOFError:
            break
        pressed.append((row, key_of(plan, row)))
        person.press(pressed[-1][1])
    return {"status": person.end(), "pressed": pressed, "kept": answered(plan, plan["model"]), "screen": person.seen}


def killed(plan: dict) -> dict:
    """Killed with -9 at any moment, begun again, until the data end."""
    moments = random.Random(plan["seed"])
    known: list[tuple[int, str]] = []  # answers after which another question was seen
    kills = lost = 0
    while True:
        person = Person(*plan["arguments"], "--model", plan["model"])
        last, until = None, moments.randrange(1, 12)
        try:
            if moments.random() < 0.2:  # while it starts
                time.sleep(moments.uniform(0.0, 0.2))
                raise InterruptedError
            for _ in range(until):
                row = person.row()
                if last is not None:
                    known.append(last)
                last = row, key_of(plan, row)
                person.press(last[1])
            time.sleep(moments.choice((0.0, 0.001, 0.003, 0.01)))
            raise InterruptedError
        except InterruptedError:
            person.kill()
            kills += 1
        except EOFError:
            status = person.end()
            known.append(last)
            break
        kept = answered(plan, plan["model"]) if os.path.exists(plan["model"] + ".answers") else []
        lost += kept[: len(known)] != known
        known = kept  # the last answer may be there or not: nobody has seen that it was taken
    return {"status": status, "kills": kills, "lost": lost, "kept": answered(plan, plan["model"])}


def stopped(plan: dict) -> dict:
    """Three answers each, and then Ctrl-C, a closed terminal, and a polite request to end."""
    result = {}
    for name in ("interrupt", "hangup", "terminate"):
        person = Person(*plan["arguments"], "--model", plan["model"])
        for _ in range(3):
            person.press(key_of(plan, person.row()))
        open_row = person.row()
        if name == "interrupt":
            person.press("\x03")
        elif name == "hangup":
            os.close(person.fd)
        else:
            os.kill(person.pid, signal.SIGTERM)
        status = os.waitstatus_to_exitcode(os.waitpid(person.pid, 0)[1]) if name == "hangup" else person.end()
        again = Person(*plan["arguments"], "--model", plan["model"])
        same = again.row() == open_row
        again.press("q")
        ended = again.end()
        result[name] = {
            "status": status,
            "same question": same,
            "quit": ended,
            "kept": len(answered(plan, plan["model"])),
        }
    return result


def keys(plan: dict) -> dict:
    """Keys that mean nothing, keys that come too early, undo, and a new class."""
    person = Person(*plan["arguments"], "--model", plan["model"])
    first = person.row()
    person.press("\x1b[A")  # an arrow: its last letter is that of no class
    person.press("\x1bOD")
    person.press("z")
    time.sleep(0.2)
    person.press("u")  # before the first answer there is nothing to undo
    shown = person.look("There is nothing to undo.")
    again = person.row()
    person.press("d")
    second = person.row()
    # Ctrl-Z and fg: the shell has set the terminal as it likes it.
    os.kill(person.pid, signal.SIGSTOP)
    os.waitpid(person.pid, os.WUNTRACED)
    settings = termios.tcgetattr(person.fd)
    settings[3] |= termios.ICANON | termios.ECHO
    termios.tcsetattr(person.fd, termios.TCSANOW, settings)
    os.kill(person.pid, signal.SIGCONT)
    end = time.monotonic() + PATIENCE
    while termios.tcgetattr(person.fd)[3] & termios.ICANON and time.monotonic() < end:
        time.sleep(0.01)
    person.press("U")  # capital letters are the same keys
    back = person.row()
    person.press("+")
    person.look("Enter")
    person.press("sideways\n")
    person.row()
    person.press("+")
    person.look("Enter")
    person.press("\n")
    person.look("Back to the question")
    person.press("\x04")
    screen = ""
    with suppress(EOFError):
        person.look("\0 never comes \0")
    screen = person.seen
    return {
        "rows": [first, again, second, back],
        "early": "took back" in shown,
        "status": os.waitstatus_to_exitcode(os.waitpid(person.pid, 0)[1]),
        "kept": [json.loads(line) for line in Path(plan["model"] + ".answers").read_text().splitlines()[1:]],
        "screen": screen,
    }


def escape(plan: dict) -> dict:
    """Esc at a question, and while the name of a class is typed; arrows, which begin as Esc does; mended names."""
    person = Person(*plan["arguments"], "--model", plan["model"])
    rows = [person.row()]
    person.press("\x1b")
    hint = person.look("There is nothing to cancel.") + person.look(": ")
    for typed in ("side\x1b", "\x1b", "\x04"):
        person.press("+")
        person.look("Enter")
        person.press(typed)
        person.look("Back to the question")
    person.press("+")
    person.look("Enter")
    person.press("to\x1b[A\x1bOD\x1b[1;5C\x1b[3~p go\x17wn\x7f\x7fdown\x15\x1b[Dtürm雪\x7f\x7f\n")  # türm, less its m
    rows.append(person.row())
    person.press("\x1b")
    person.look("There is nothing to cancel.")
    person.press("[D")  # an arrow that came in two pieces: it ends in a letter that is a key
    person.press("\x1b[D\x1bOD")
    person.press("z")
    person.press("s")
    rows.append(person.row())
    person.press("q")
    status = person.end()
    kept = [json.loads(line) for line in Path(plan["model"] + ".answers").read_text().splitlines()[1:]]
    return {"rows": rows, "hint": hint, "status": status, "kept": kept}


def undone(plan: dict) -> dict:
    """New classes whose answers are taken back; what the keys then are."""
    person = Person(*plan["arguments"], "--model", plan["model"])
    menus = [person.look()]
    for key, typed in (
        ("+", "sideways\n"),
        ("+", "another class of rows\n"),
        ("u", ""),
        ("u", ""),
        ("d", ""),
        ("u", ""),
    ):
        person.press(key)
        if typed:
            person.look("Enter")
            person.press(typed)
        menus.append(person.look())
    person.press("q")
    return {"menus": menus, "status": person.end()}


PLAYS = {play.__name__: play for play in (whole, killed, stopped, keys, escape, undone)}

if __name__ == "__main__":
    plan = json.loads(sys.argv[1])
    os.environ["TERM"] = "xterm-256color"
    with open(os.devnull) as nothing:  # loads what is loaded once
        os.dup2(nothing.fileno(), 0)
        with suppress(SystemExit):
            cli.main([*plan["arguments"], "--model", plan["warm"]])
    while threading.active_count() > 1:
        time.sleep(0.01)
    print(json.dumps(PLAYS[plan["play"]](plan)))
