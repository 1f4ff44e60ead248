"""The files that a path, a folder or a glob stands for."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from typing import Any

STDIN = "-"
ANY_DEPTH = "**"

Paths = str | os.PathLike[Any] | Iterable[str | os.PathLike[Any]]


def find(path: Paths) -> list[str]:
    """The files that ``path`` stands for, in the order in which they are read.

    A folder stands for the files in it and a glob for those it matches, both in the order of their names;
    hidden files are left out. A file that a folder or a glob reaches under several names, through links, is one file,
    and is read once; a list may name a file as often as it likes. ``-`` is stdin.
    """
    if not isinstance(path, (str, os.PathLike)):
        paths = list(path)
        if not paths:
            raise ValueError("The list of files to read is empty.")
        return [name for one in paths for name in find(one)]
    name = os.fspath(path)
    # A name that exists is taken literally, even if it has the letters of a glob.
    if name == STDIN or os.path.isfile(name):
        return [name]
    # Sorted by _each_once: the order of listdir is up to the file system, and chunks must not depend on it.
    if os.path.isdir(name):
        found = [os.path.join(name, entry) for entry in os.listdir(name) if entry[0] != "."]
        found = [entry for entry in found if os.path.isfile(entry)]
        if not found:
            raise FileNotFoundError(f"The folder {name!r} has no files to read.")
        return _each_once(found)
    if os.path.exists(name):  # a pipe or a device
        return [name]
    found = [match for match in _matches(name) if os.path.isfile(match)]
    if not found:
        what = "No file matches" if glob.has_magic(name) else "There is no file or folder"
        raise FileNotFoundError(f"{what} {name!r} (looked in {os.getcwd()!r}).")
    return _each_once(found)


def _each_once(names: list[str]) -> list[str]:
    """The names in order; of those of one file, the one with the fewest folders."""
    chosen: dict[tuple[int, int], str] = {}
    # The shortest path wins, then the alphabet: the choice must not depend on the order of the disk.
    for name in sorted(names, key=lambda name: (name.count(os.sep), name)):
        status = os.stat(name)
        chosen.setdefault((status.st_dev, status.st_ino), name)
    return sorted(chosen.values())


def _matches(pattern: str) -> Iterator[str]:
    """What a glob matches. «**» is any number of folders, and goes into each but once, whatever links there are."""
    before, found, after = pattern.partition(ANY_DEPTH)
    # «**» counts only as a whole part of the path; anything else is left to glob.
    if not found or (before and not before.endswith(os.sep)) or (after and not after.startswith(os.sep)):
        yield from glob.glob(pattern)
        return
    rest = after.lstrip(os.sep) or "*"
    for top in glob.glob(before) if before else [""]:
        for folder in _folders(top):
            # The folder's own brackets and stars are escaped: they are a name here, no pattern.
            yield from _matches(os.path.join(glob.escape(folder), rest))


def _folders(top: str) -> Iterator[str]:
    """A folder and those below it, links among them; hidden ones are left out."""
    waiting, seen = [top], set()
    while waiting:
        folder = waiting.pop(0)
        status = os.stat(folder or os.curdir)
        # By device and inode: a link to a folder above would otherwise go round for ever.
        if (status.st_dev, status.st_ino) in seen:
            continue
        seen.add((status.st_dev, status.st_ino))
        yield folder
        below = [os.path.join(folder, name) for name in sorted(os.listdir(folder or os.curdir)) if name[0] != "."]
        waiting += [name for name in below if os.path.isdir(name)]
