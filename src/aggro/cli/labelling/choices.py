"""What can be answered: a key for each class, and those to skip, undo, name a class, and quit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from aggro.cli.console import Mistake

__all__ = ["CLASS", "NEW", "QUIT", "SKIP", "UNDO", "Choices", "Reply", "as_label", "classes_given"]

CLASS, SKIP, UNDO, NEW, QUIT = "class", "skip", "undo", "new", "quit"
COMMANDS = {SKIP: "s ", UNDO: "u\x7f\b", NEW: "+", QUIT: "q\x04"}  # the first that is free is shown
SHOWN = {" ": "space", "\x7f": "backspace", "\b": "backspace", "\x04": "Ctrl-D"}
TITLES = {SKIP: "skip", UNDO: "undo", NEW: "new class", QUIT: "quit"}
SPARE = "123456789abcdefghijklmnopqrstuvwxyz0"


class Reply(NamedTuple):
    """What was answered; ``label`` goes with CLASS."""

    what: str
    label: Any = None


class Choices:
    """Classes and their keys."""

    def __init__(self) -> None:
        self.keys: dict[str, Any] = {}  # class of each key
        self.classes: list[Any] = []

    def add(self, label: Any, key: str | None = None) -> None:
        """One more class, with this key or a free one."""
        if label in self.classes and key is None:
            return
        if key is not None:
            if self.keys.get(key, label) != label:
                raise Mistake(f"The key {key!r} is given to two classes, {self.keys[key]!r} and {label!r}.")
            self.keys = {k: c for k, c in self.keys.items() if c != label}
        if label not in self.classes:
            self.classes.append(label)
        key = key or self._free(str(label))
        if key:
            self.keys[key] = label

    def _free(self, name: str) -> str | None:
        """A letter of the name that no class has and no command, or any other; None if there is none left."""
        taken = set(self.keys) | set("".join(COMMANDS.values()))
        likely = (letter for letter in (*name.lower(), *SPARE) if len(letter) == 1 and letter.isprintable())
        return next((letter for letter in likely if letter not in taken), None)

    def of_key(self, key: str) -> Reply | None:
        """What a key means."""
        for spelling in dict.fromkeys((key, key.lower())):
            if spelling in self.keys:
                return Reply(CLASS, self.keys[spelling])
            for command, keys in COMMANDS.items():
                if spelling in keys:
                    return Reply(command)
        return None

    def of_line(self, line: str) -> Reply | None:
        """What a line means: the name of a class, +name for a new one, a command, or a key."""
        named = next((label for label in self.classes if str(label) == line), None)
        if named is not None:
            return Reply(CLASS, named)
        if line.startswith("+") and line[1:].strip():
            return Reply(CLASS, as_label(line[1:].strip(), self.classes))
        if line in TITLES and line != NEW:
            return Reply(line)
        reply = self.of_key(line) if len(line) == 1 else None
        return None if reply is not None and reply.what == NEW else reply

    def shown(self) -> list[tuple[str, str]]:
        """Each key and what it means, classes first."""
        classes = [(key, str(label)) for key, label in self.keys.items()]
        free = {command: next((k for k in keys if k not in self.keys), "") for command, keys in COMMANDS.items()}
        return classes + [(SHOWN.get(key, key), TITLES[command]) for command, key in free.items() if key]


def as_label(name: str, classes: Iterable[Any]) -> Any:
    """A name as a class like the others: a whole number if they are numbers, or if there are none yet."""
    known = list(classes)
    if any(isinstance(label, str) for label in known):
        return name
    try:
        return int(name)
    except ValueError:
        if not known:
            return name
        raise Mistake(f"The classes are numbers, and {name!r} is not a whole number.") from None


def classes_given(text: str | None) -> list[tuple[str, str | None]]:
    """``ham=h,spam=s`` or ``ham,spam`` as names and keys."""
    found: list[tuple[str, str | None]] = []
    for part in (text or "").split(","):
        name, equals, key = part.strip().rpartition("=") if "=" in part else (part.strip(), "", "")
        name, key = name.strip(), key.strip()
        if not name or (equals and (len(key) != 1 or not key.isprintable())):
            if not part.strip() and not text:
                continue
            raise Mistake(
                f"--classes {text!r}: write names, or name=key with one letter, between commas: ham=h,spam=s."
            )
        if name in dict(found):
            raise Mistake(f"--classes {text!r}: {name!r} is there twice.")
        found.append((name, key or None))
    return found
