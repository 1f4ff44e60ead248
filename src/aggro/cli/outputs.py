"""Files that commands read and write, and what keeps the one from the other.

Each parameter that names a file says in its annotation whether it is read, ``Reads()``, or written, ``Writes(...)``.
By these every command is checked before it begins: nothing that it reads is written over, by whatever name or link,
nor is a file of another kind than what would be written. A file is replaced whole or not at all: see :func:`writing`.
"""

from __future__ import annotations

import inspect
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, BinaryIO, get_args, get_origin

from aggro.cli.console import Mistake, kept

Uses = Mapping[str, "Reads | Writes"]
Identity = tuple[int, int]  # of a file: its device and its number there

HEAD_BYTES, FOOT = 4096, 65536  # bytes at its ends that tell what a file is
PNG = b"\x89PNG\r\n\x1a\n"
OWN_PAGE = re.compile(rb"<footer>[^<]*\baggro \d")  # a page of ours
ANEW = "the same command starts again."
OTHER_FORMATS = (PNG, b"<!doctype html", b"<html", b'{"run":')  # text, some of it, but no predictions


# Kinds of files ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """What is written: its name, and whether a file is one, by the file's path."""

    name: str
    knows: Callable[[str], bool]
    streams: bool = False  # may be written to a device or a pipe


def head_of(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(HEAD_BYTES)


def is_model(path: str) -> bool:
    from aggro.models.container import CONTAINER_MAGIC

    return head_of(path)[8:].startswith(CONTAINER_MAGIC)


def is_page(path: str) -> bool:
    if not head_of(path).lower().startswith(b"<!doctype html"):
        return False
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - FOOT))
        # At the end of the file: only the footer tells our pages from others.
        return OWN_PAGE.search(file.read()) is not None


def is_plot(path: str) -> bool:
    return is_page(path) if path.lower().endswith(".html") else head_of(path).startswith(PNG)


def is_journal(path: str) -> bool:
    start = head_of(path)
    torn = not start.strip(b"\0")  # the disk had its length, and not yet what is in it
    return torn or start.startswith((b'{"run":', b'{"do":'))


def is_text(path: str) -> bool:
    start = head_of(path)
    return b"\0" not in start and not start.lower().startswith(OTHER_FORMATS)


def is_onnx(path: str) -> bool:
    """One that aggro has written: its format's version comes first, then who made it."""
    start = head_of(path)[:64]
    return start.startswith(b"\x08") and b"\x12\x05aggro" in start


MODEL_FILE = Kind("a model", is_model)
ONNX = Kind("an ONNX model that aggro has made", is_onnx)
JOURNAL = Kind("a journal of answers", is_journal)
PAGE = Kind("a page that aggro has made", is_page)
PLOT = Kind("a plot", is_plot)
PREDICTIONS = Kind("predictions", is_text, streams=True)
LABELLED = Kind("a table of labelled rows", is_text)


# What parameters say of themselves --------------------------------------------------------------------


@dataclass(frozen=True)
class Reads:
    """A parameter names what is read: a file, or data, which may be folders and globs, or a plugin."""

    data: bool = False


@dataclass(frozen=True)
class Writes:
    """A parameter names a file that is written."""

    kind: Kind
    beside: Mapping[str, Kind] = field(default_factory=dict)  # what else is written, by what its name adds
    over: tuple[str, ...] = ()  # parameters whose files it may replace
    held: bool = False  # by one process at a time
    unless: str = ""  # the switch by which nothing is written
    argument: str = ""  # what the help calls it, where it is no option

    def files(self, path: Path) -> dict[Path, Kind]:
        """Every file that is written, and its kind."""
        # A model can have files beside it, which are checked like the model.
        return {path: self.kind} | {path.with_name(path.name + end): kind for end, kind in self.beside.items()}


def uses_of(command: Callable[..., Any]) -> dict[str, Reads | Writes]:
    """What a command's parameters say."""
    found = {}
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        said = get_args(parameter.annotation) if get_origin(parameter.annotation) is Annotated else ()
        for use in said:
            if isinstance(use, Reads | Writes):
                found[name] = use
    return found


# The checks -------------------------------------------------------------------------------------------


def check_writable(path: Path, streams: bool = False) -> None:
    """Refuse a path that cannot be written, before any work is done for it."""
    if path.is_dir():
        raise Mistake(f"{path} is a folder; give the name of a file.")
    if not path.parent.is_dir():
        raise Mistake(f"{path} cannot be written: there is no folder {path.parent}.")
    # A pipe or a device can be written, but not replaced.
    special = path.exists() and not path.is_file()
    if special and not streams:
        raise Mistake(f"{path} is a device or a pipe; give the name of a file.")
    folder = Path(os.path.realpath(path)).parent  # of the file behind a link
    # A file is replaced by renaming, so the folder must be writable, too.
    if not os.access(path if path.exists() else folder, os.W_OK) or not (special or os.access(folder, os.W_OK)):
        raise Mistake(f"{path} cannot be written: permission denied.")


def check(uses: Uses, values: Mapping[str, Any]) -> None:
    """Refuse what would be written over."""
    # Files are told apart by device and inode: a link or another spelling is the same file.
    inputs = {name: read_by(use, values.get(name)) for name, use in uses.items() if isinstance(use, Reads)}
    taken: dict[Identity, str] = {}
    for name, path, use in outputs_of(uses, values):
        check_writable(path, use.kind.streams)
        said = use.argument or option(name)
        for file, kind in use.files(path).items():
            identity = identity_of(file)
            # A file that is not there cannot be lost.
            if identity is None:
                continue
            for read, files in inputs.items():
                # Some outputs may replace their input, such as a model that goes on learning.
                if identity in files and not (read in use.over and file == path):
                    raise Mistake(f"{clash(file, path, said, files[identity])} Choose another name for {said}.")
            # Two outputs of one command must not be one file.
            if identity in taken:
                raise Mistake(
                    f"{file} would be written twice, also by {taken[identity]}. Choose another name for one of them."
                )
            taken[identity] = said
            # An empty file holds nothing to lose.
            if file.is_file() and file.stat().st_size and not kind.knows(os.fspath(file)):
                raise Mistake(f"{file} exists and is not {kind.name}. Move it away, or give another {said}.")
    # The last check: output that feeds its own input would never end.
    check_streams(inputs)


def outputs_of(uses: Uses, values: Mapping[str, Any]) -> Iterator[tuple[str, Path, Writes]]:
    for name, use in uses.items():
        if isinstance(use, Writes) and values.get(name) is not None and not values.get(use.unless):
            yield name, values[name], use


def clash(file: Path, path: Path, said: str, read: str) -> str:
    beside = "" if file == path else f", which goes with {said},"
    same = "" if os.fspath(file) == read else f" (it is the same file as {read})"
    return f"{file}{beside} would be written over, and is read{same}."


def option(name: str) -> str:
    return f"--{name.strip('_').replace('_', '-')}"


def check_streams(inputs: Mapping[str, Mapping[Identity, str]]) -> None:
    """Refuse stdout and stderr that are appended to what is read: there would be no end to it."""
    for stream in (sys.stdout, sys.stderr):
        try:
            status = os.fstat(stream.fileno())
        except (AttributeError, OSError, ValueError):
            continue
        identity = status.st_dev, status.st_ino
        for files in inputs.values():
            # A pipe or a terminal may well be both.
            if stat.S_ISREG(status.st_mode) and identity in files:
                raise Mistake(f"{files[identity]} is read, and written to at the same time. Print to another file.")


def read_by(use: Reads, value: Any) -> dict[Identity, str]:
    """The files that a parameter names, and how it calls them."""
    from aggro.streams.io.find import STDIN, find

    found: dict[Identity, str] = {}
    for name in value if isinstance(value, list | tuple) else [] if value is None else [value]:
        try:
            names = find(name) if use.data else [os.fspath(name), *file_of_module(name)]
        except (OSError, ValueError):  # the command itself says what is wrong with it
            continue
        for file in names:
            # «-» is stdin, and stdin may be a file.
            identity = identity_of_stdin() if file == STDIN and use.data else identity_of(file)
            if identity is not None:
                found[identity] = "stdin" if file == STDIN and use.data else file
    return found


def file_of_module(name: Any) -> list[str]:
    """The file of a plugin that is named as a module."""
    file = getattr(sys.modules.get(name), "__file__", None) if isinstance(name, str) else None
    return [] if file is None else [file]


def identity_of(path: str | Path) -> Identity | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def identity_of_stdin() -> Identity | None:
    try:
        status = os.fstat(sys.stdin.fileno())
    except (AttributeError, OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


# Around a command -------------------------------------------------------------------------------------


@contextmanager
def saying_what_is_left(uses: Uses, values: Mapping[str, Any]) -> Iterator[None]:
    """If the user stops what is inside, they hear which of its files are as they were."""
    # Taken before the command begins: a replaced file is another inode.
    before = {path: identity_of(path) for _, path, _ in outputs_of(uses, values)}

    def left() -> str:
        if not before:
            return f"Nothing is kept: {ANEW}"
        now = {path: identity_of(path) for path in before}
        said = (
            # Three cases: replaced, never there, or untouched.
            f"{path} {'is written' if now[path] != was else 'was not written' if was is None else 'is as it was'}."
            for path, was in before.items()
        )
        return " ".join((*said, ANEW.capitalize())) if now == before else " ".join(said)

    with kept(left):
        yield


@contextmanager
def checked(uses: Uses, values: Mapping[str, Any]) -> Iterator[None]:
    """Inside, nothing is written over that should not be, and nobody else writes what takes long to write."""
    check(uses, values)
    # Held until the command ends, all or none.
    with ExitStack() as stack:
        for name, path, use in outputs_of(uses, values):
            # Only what takes long to write is held, so that two processes do not spend hours for one file.
            if use.held:
                from aggro.models.atomic import Held, holding

                try:
                    stack.enter_context(holding(os.fspath(path)))
                except Held:
                    wait = f"Wait until it is done, or give another {use.argument or option(name)}."
                    raise Mistake(f"{path} is in use: another aggro is writing it. {wait}") from None
                except OSError as error:
                    raise Mistake(f"{path} cannot be written: {error.strerror}.") from error
        yield


# Writing ----------------------------------------------------------------------------------------------


@contextmanager
def writing(path: Path, what: str) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of ``path`` when the block ends without an error.

    A device or a pipe is written to as it is.
    """
    from aggro.models.atomic import replacing

    try:
        # A device cannot be replaced, so it is written directly.
        if path.exists() and not path.is_file():
            with open(path, "wb") as file:
                yield file
        else:
            with replacing(os.fspath(path), what) as file:
                yield file
    except OSError as error:
        raise Mistake(f"{path}: {error.strerror or error}.") from error
