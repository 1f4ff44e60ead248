"""Answers: what can be answered, and how it comes, as keys of a terminal or as lines of stdin.

There is a key for each class, and keys to skip, undo, name a class, and quit. Signals wait for a good moment.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from aggro.cli.console import Mistake

CLASS, SKIP, UNDO, NEW_CLASS, QUIT = "class", "skip", "undo", "new", "quit"
COMMANDS = {SKIP: "s ", UNDO: "u\x7f\b", NEW_CLASS: "+", QUIT: "q\x04"}  # the first that is free is shown
KEY_NAMES = {" ": "space", "\x7f": "backspace", "\b": "backspace", "\x04": "Ctrl-D"}
ACTION_TITLES = {SKIP: "skip", UNDO: "undo", NEW_CLASS: "new class", QUIT: "quit"}
SPARE_KEYS = "123456789abcdefghijklmnopqrstuvwxyz0"
ESCAPE = "\x1b"
ESCAPE_TIMEOUT = 0.1  # seconds within which the rest of an arrow key comes
ENTER_KEYS, ERASE_KEYS, ERASE_WORD, ERASE_ALL, END_KEY = "\r\n", "\x7f\b", "\x17", "\x15", "\x04"


class Reply(NamedTuple):
    """What was answered; ``label`` goes with CLASS."""

    what: str
    label: Any = None
    typed: bool = False  # its name stands on the screen already


class Choices:
    """Classes and their keys."""

    def __init__(self) -> None:
        self.keys: dict[str, Any] = {}  # class of each key
        self.classes: list[Any] = []
        self.given: list[Any] = []  # those that stay, whatever is answered

    def add(self, label: Any, key: str | None = None) -> None:
        """One more class, with this key or a free one."""
        if label in self.classes and key is None:
            return
        # A key that was asked for goes to its class, and the class loses the key that it had.
        if key is not None:
            if self.keys.get(key, label) != label:
                raise Mistake(f"The key {key!r} is given to two classes, {self.keys[key]!r} and {label!r}.")
            self.keys = {k: c for k, c in self.keys.items() if c != label}
        if label not in self.classes:
            self.classes.append(label)
        # A class without a free key can still be named.
        key = key or self._free(str(label))
        if key:
            self.keys[key] = label

    def drop(self, label: Any) -> None:
        """A class that nothing speaks for any more leaves, unless it was given."""
        if label in self.classes and label not in self.given:
            self.classes.remove(label)
            self.keys = {k: c for k, c in self.keys.items() if c != label}

    def _free(self, name: str) -> str | None:
        """A letter of the name that no class has and no command, or any other; None if there is none left."""
        taken = set(self.keys) | set("".join(COMMANDS.values()))
        # Letters of the name first, because they are easy to remember.
        likely = (letter for letter in (*name.lower(), *SPARE_KEYS) if len(letter) == 1 and letter.isprintable())
        return next((letter for letter in likely if letter not in taken), None)

    def of_key(self, key: str) -> Reply | None:
        """What a key means."""
        # As it was typed first: «h» and «H» may be two classes.
        for spelling in dict.fromkeys((key, key.lower())):
            # Classes before commands: a class may have been given the key of a command.
            if spelling in self.keys:
                return Reply(CLASS, self.keys[spelling])
            for command, keys in COMMANDS.items():
                if spelling in keys:
                    return Reply(command)
        return None

    def of_line(self, line: str) -> Reply | None:
        """What a line means: the name of a class, +name for a new one, a command, or a key."""
        # Names first: a class may be called «skip» or «undo».
        named = next((label for label in self.classes if str(label) == line), None)
        if named is not None:
            return Reply(CLASS, named)
        if line.startswith("+") and line[1:].strip():
            return Reply(CLASS, as_label(line[1:].strip(), self.classes))
        if line in ACTION_TITLES and line != NEW_CLASS:
            return Reply(line)
        # A single letter is taken for a key, except for the one that would ask for a name.
        reply = self.of_key(line) if len(line) == 1 else None
        return None if reply is not None and reply.what == NEW_CLASS else reply

    def shown(self) -> list[tuple[str, str]]:
        """Each key and what it means, classes first."""
        classes = [(key, str(label)) for key, label in self.keys.items()]
        # Of each command the first key that no class has taken.
        free = {command: next((k for k in keys if k not in self.keys), "") for command, keys in COMMANDS.items()}
        return classes + [(KEY_NAMES.get(key, key), ACTION_TITLES[command]) for command, key in free.items() if key]


def as_label(name: str, classes: Iterable[Any]) -> Any:
    """A name as a class like the others: a whole number if they are numbers, or if there are none yet."""
    known = list(classes)
    # Classes are all words or all numbers, as the model holds them in one array.
    if any(isinstance(label, str) for label in known):
        return name
    try:
        return int(name)
    except ValueError:
        if not known:
            return name
        raise Mistake(f"The classes are numbers, so a new one must be a whole number, not {name!r}.") from None


def classes_given(text: str | None) -> list[tuple[str, str | None]]:
    """``ham=h,spam=s`` or ``ham,spam`` as names and keys."""
    found: list[tuple[str, str | None]] = []
    for part in (text or "").split(","):
        # From the right: a name may contain «=».
        name, equals, key = part.strip().rpartition("=") if "=" in part else (part.strip(), "", "")
        name, key = name.strip(), key.strip()
        if not name or (equals and (len(key) != 1 or not key.isprintable())):
            # An empty option is no list of classes.
            if not part.strip() and not text:
                continue
            raise Mistake(
                f"--classes {text!r}: write names, or name=key with one letter, between commas: ham=h,spam=s."
            )
        if name in dict(found):
            raise Mistake(f"--classes {text!r}: {name!r} is given twice.")
        found.append((name, key or None))
    return found


def choices_of(given: list[tuple[str, str | None]], known: list[Any]) -> Choices:
    """The classes that were given with ``--classes``, and those that the model knows."""
    # Numbers only if all names are numbers, and only for a model that knows no words.
    alike = known or ([0] if given and all(name.removeprefix("-").isdecimal() for name, _ in given) else [""])
    choices = Choices()
    labels = [(as_label(name, alike), key) for name, key in given]
    # Keys that were asked for go first, so that no other class gets them.
    for label, key in labels:
        if key is not None:
            choices.add(label, key)
    for label in (*(label for label, _ in labels), *known):
        choices.add(label)
    choices.given = [label for label, _ in labels]
    return choices


# Where they come from ---------------------------------------------------------------------------------


class Interrupted(BaseException):
    """A signal says to stop."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Interrupts:
    """Signals that end the program, between rows or while it waits for a key, and never in the midst of an answer.

    A second Ctrl-C ends it at once. What is on disk is good at any moment.
    """

    def __init__(self) -> None:
        self.number = 0
        self._waiting = False
        self._woken = -1  # can be read when a signal has come

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Catch them inside."""
        if threading.current_thread() is not threading.main_thread():  # which alone can
            yield
            return
        names = ("SIGINT", "SIGTERM", "SIGHUP")
        numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
        # A pipe to wake the main thread: it sleeps in select, which other threads' signals would not end.
        self._woken, wake = os.pipe()
        # Not blocking, so that a handler can never be held up by a full pipe.
        os.set_blocking(self._woken, False)
        os.set_blocking(wake, False)
        before = {number: signal.signal(number, self._come) for number in numbers}
        waker = signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        try:
            yield
        finally:
            # In reverse order: nothing may write to the pipe when it is closed.
            signal.set_wakeup_fd(waker)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(wake)
            os.close(self._woken)

    def wait(self, fd: int) -> None:
        """Until there is something to read. A signal may come to any thread, and wakes this one, which handles it."""
        while fd not in select.select([fd, self._woken], [], [])[0]:
            os.read(self._woken, 64)

    def _come(self, number: int, frame: Any) -> None:
        # Again Ctrl-C before the good moment came: it ends at once.
        if self.number and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.number = number
        if self._waiting:
            raise Interrupted(number)

    def check(self) -> None:
        """Stop here, if a signal has come."""
        if self.number:
            raise Interrupted(self.number)

    @contextmanager
    def welcome(self) -> Iterator[None]:
        """A signal may stop what is inside."""
        try:
            # Set before the check: a signal between the two would otherwise wait for the next key.
            self._waiting = True
            self.check()
            yield
        finally:
            self._waiting = False


def answers_of(interrupts: Interrupts, say: Callable[[str], None]) -> Keys | Lines:
    """Keys of the person at the terminal, or else lines of stdin."""
    return Keys(interrupts, say) if has_keys() else Lines(interrupts)


def has_keys() -> bool:
    """Is there a person at a terminal whose keys can be read one by one?"""
    try:
        import termios  # noqa: F401
    except ImportError:
        return False
    # Questions go to stderr, so a person must see that as well.
    return sys.stdin.isatty() and sys.stderr.isatty()


class Keys:
    """Keys of the terminal on stdin."""

    def __init__(self, interrupts: Interrupts, say: Callable[[str], None]) -> None:
        self.interrupts, self.say = interrupts, say
        self.fd = sys.stdin.fileno()
        self._pending = b""
        self._escaped = False  # was the last key Esc?
        self._usual: list[Any] = []

    def forget(self) -> None:
        """Keys that were pressed before the question was seen are no answer to it."""
        import termios

        self._pending = b""
        with contextlib.suppress(termios.error, OSError):
            # What the terminal has already collected goes as well.
            termios.tcflush(self.fd, termios.TCIFLUSH)

    def reply(self, choices: Choices) -> Reply:
        """Wait for a key that means something."""
        while True:
            key = self._key()
            # The end of input: the terminal is gone, and there is no use in asking again.
            if key == "":
                self._gone()
            if key == ESCAPE:
                self.say(nothing_to_cancel(choices))
            reply = choices.of_key(key)
            if reply is not None and reply.what == NEW_CLASS:
                reply = self._named(choices)
            if reply is not None:
                return reply

    def _gone(self) -> None:
        """The terminal is closed."""
        raise Interrupted(getattr(signal, "SIGHUP", signal.SIGTERM))

    def _named(self, choices: Choices) -> Reply | None:
        self.say("Name of the class, then Enter (Esc to go back): ")
        name = " ".join((self._line() or "").split())
        if not name:
            self.say("Back to the question: ")
            return None
        # A wrong name is said beside the question, which stays open.
        try:
            return Reply(CLASS, as_label(name, choices.classes), typed=True)
        except Mistake as error:
            self.say(f"{error} ")
            return None

    def _key(self) -> str:
        """One letter, or Esc; '' at the end of input. Arrow keys, which begin as Esc does, are passed over."""
        while True:
            letter = self._letter()
            # An arrow key is several letters; on a slow line they may come one by one, after Esc was taken for itself.
            slow, self._escaped = self._escaped and letter == "[", False  # the rest of an arrow that came late
            if slow:
                self._rest("[")
            elif letter != ESCAPE:
                return letter
            elif not self._soon():
                self._escaped = True
                return letter
            else:
                self._rest(self._letter())

    def _soon(self) -> bool:
        """Does more come at once, as with a key that sends several letters?"""
        if self._pending:
            return True
        # No more than a moment: a person does not type so fast after Esc.
        with self.interrupts.welcome():
            return bool(select.select([self.fd], [], [], ESCAPE_TIMEOUT)[0])

    def _rest(self, letter: str) -> None:
        """Pass over what is left of a key, after Esc and this letter."""
        if letter == "[":
            while self._soon() and (letter := self._letter()) and not "@" <= letter <= "~":
                pass
        elif letter == "O" and self._soon():
            self._letter()

    def _letter(self) -> str:
        """One letter, of as many bytes as it takes."""
        while True:
            # A letter may be cut between its bytes: what is not whole yet waits for the next byte.
            text = self._pending.decode("utf-8", "ignore")
            if text:
                self._pending = self._pending[len(text[0].encode()) :]
                return text[0]
            # UTF-8 has letters of at most four bytes.
            if len(self._pending) >= 4:
                self._pending = b""  # no letter begins like this
            more = self._read(1)
            if not more:
                return ""
            self._pending += more

    def _read(self, n: int) -> bytes:
        # Here a signal may come: nothing is half done while it waits for a key.
        with self.interrupts.welcome():
            try:
                self.interrupts.wait(self.fd)
                return os.read(self.fd, n)
            # A terminal that has gone away reads as an error; to the caller it is the end of input.
            except OSError:
                return b""

    def _line(self) -> str | None:
        """What is typed until Enter, with the keys that mend it; None after Esc."""
        typed: list[str] = []
        while (key := self._key()) not in ENTER_KEYS or not key:
            if key == "":
                self._gone()
            if key == ESCAPE or (key == END_KEY and not typed):
                return None
            if key in ERASE_KEYS:
                self._erase(typed, 1)
            elif key == ERASE_WORD:
                # Blanks at the end go with the word before them, as shells do it.
                bare = "".join(typed).rstrip()
                self._erase(typed, len(typed) - (bare.rfind(" ") + 1))
            elif key == ERASE_ALL:
                self._erase(typed, len(typed))
            elif key.isprintable():
                typed.append(key)
                draw(key)
        return "".join(typed)

    def _erase(self, typed: list[str], count: int) -> None:
        from rich.cells import cell_len

        for _ in range(min(count, len(typed))):
            # A wide letter takes two cells, so two are wiped.
            draw("\b \b" * cell_len(typed.pop()))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Inside, keys come one by one and are not shown."""
        import termios

        self._usual = termios.tcgetattr(self.fd)
        # After Ctrl-Z and fg the shell may have set the terminal otherwise.
        continued = signal.signal(signal.SIGCONT, self._one_by_one)
        try:
            self._one_by_one()
            yield
        finally:
            signal.signal(signal.SIGCONT, continued)
            self._set(self._usual)

    def _one_by_one(self, *_: Any) -> None:
        import termios

        # A copy: the usual settings must come back unchanged.
        settings = [*self._usual[:6], list(self._usual[6])]
        # Line mode and echo are off; signals stay on, so Ctrl-C still stops.
        settings[3] &= ~(termios.ICANON | termios.ECHO)
        settings[6][termios.VMIN], settings[6][termios.VTIME] = 1, 0
        self._set(settings)

    def _set(self, settings: list[Any]) -> None:
        import termios

        with contextlib.suppress(termios.error):  # a terminal that is gone
            termios.tcsetattr(self.fd, termios.TCSANOW, settings)


def draw(text: str) -> None:
    """Show what is typed, as it is: the cursor moves back where something is erased."""
    # Around the door: codes that move the cursor are our own here.
    raw = getattr(sys.stderr, "raw", sys.stderr)
    with contextlib.suppress(OSError):
        raw.write(text)
        raw.flush()


def nothing_to_cancel(choices: Choices) -> str:
    """What Esc says at a question: nothing is open that it could close."""
    keys = {meaning: key for key, meaning in choices.shown()}
    ways = [
        (keys.get(ACTION_TITLES[UNDO]), "takes the last answer back"),
        (keys.get(ACTION_TITLES[QUIT]), "stops; all is kept"),
    ]
    return "There is nothing to cancel. " + ", ".join(f"[{key}] {what}" for key, what in ways if key) + ": "


class Lines:
    """Lines of stdin, an answer on each."""

    def __init__(self, interrupts: Interrupts) -> None:
        self.interrupts = interrupts
        self.number = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nothing to prepare."""
        yield

    def forget(self) -> None:
        """Lines may well come before their question."""

    def reply(self, choices: Choices) -> Reply:
        """The next line; the end of input quits."""
        while True:
            with self.interrupts.welcome():
                # readline and not iteration, which would read ahead of what the other side has sent.
                line = sys.stdin.readline()
            self.number += 1
            if not line:
                return Reply(QUIT)
            if not line.strip():
                continue
            reply = choices.of_line(line.strip())
            if reply is None:
                known = ", ".join(map(repr, map(str, choices.classes))) or "none yet"
                raise Mistake(
                    f"stdin, line {self.number}: {line.strip()!r} is no answer. Expected a class ({known}), +NAME for "
                    "a new class, skip, undo or quit. The answers before it are kept."
                )
            return reply
