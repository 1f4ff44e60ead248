"""Where compiled code is kept between processes, and when it may not be.

What is kept are pickles and machine code: whoever can write there can run anything here. So a folder is used only if
nobody else can change what is in it or put another in its place. The user's own cache folder comes first, then one
of this user's in the system's folder for temporary files, and then none: the code is compiled in each process.

There is a folder for each stamp (see ``engine.jit.stamp``). Those of versions that are gone are taken away when a new
one is made, but for the last few and for those in use: a process holds a lock on the folder that it uses.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numba

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FOLDERS = 8  # of other stamps stay
IN_USE = "in-use"
CACHE_DIR_ADVICE = "Set NUMBA_CACHE_DIR to a folder that only you can write to"


class CompiledCodeWarning(UserWarning):
    """Compiled code is made or kept in another way than usual: it costs time, and results are the same."""


WARNED: set[str] = set()
LOCKS: list[int] = []  # open files, for as long as the process lives


def say(text: str) -> None:
    """Warn of something once in a process."""
    if text not in WARNED:
        WARNED.add(text)
        warnings.warn(text, CompiledCodeWarning, stacklevel=2)


def user_cache() -> Path:
    """The folder that the system has for what can be made again."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    given = os.environ.get("XDG_CACHE_HOME", "")
    return Path(given) if os.path.isabs(given) else Path.home() / ".cache"


def candidates() -> Iterator[Path]:
    """Folders to try, the best first."""
    with contextlib.suppress(RuntimeError):  # no home
        yield (Path(numba.config.CACHE_DIR).absolute() if numba.config.CACHE_DIR else user_cache()) / "aggro"
    user = f"-{os.geteuid()}" if hasattr(os, "geteuid") else ""
    with contextlib.suppress(FileNotFoundError):  # no folder for temporary files either
        yield Path(tempfile.gettempdir()).absolute() / f"aggro{user}"


def own_group(gid: int) -> bool:
    """Whether a group is this user's alone, as most systems make one for each user."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    return user.pw_gid == gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def exposed(folder: Path, *owners: int) -> str:
    """Why others could change what is in a folder, whose path has no links; empty if they cannot.

    Others are all but this user, root, and the ``owners``.
    """
    if os.name != "posix":
        return ""
    us = os.geteuid()
    # Whoever can write to a parent can put another folder in this place.
    for place in (folder, *folder.parents):
        facts = place.lstat()
        if facts.st_uid not in (us, 0, *owners):
            return f"{place} belongs to another user"
        # A group that is this user's alone does not count as others.
        others = facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if others == stat.S_IWGRP and own_group(facts.st_gid):
            others = 0
        # In a parent with the sticky bit, like /tmp, others cannot rename or remove what is ours.
        if others and (place == folder or not facts.st_mode & stat.S_ISVTX):
            return f"other users can write to {place}"
    return ""


def folder_for(stamp: str) -> Path | None:
    """The folder of a stamp, made and held; None, and a warning, if there is none that can be trusted."""
    reasons: list[str] = []
    for root in candidates():
        try:
            # For this user alone from the beginning.
            if not root.is_dir():
                root.mkdir(mode=0o700, parents=True, exist_ok=True)
            root = root.resolve()  # a link may be changed later
            reason = exposed(root)
            folder = root / stamp
            if not reason:
                # The folder itself is looked at after it is made: another user may have made it first.
                is_new = not folder.is_dir()
                if is_new:
                    folder.mkdir(mode=0o700, exist_ok=True)
                reason = exposed(folder)
            if not reason:
                hold(folder)
                # Old folders are looked for only when a new one was made, and not at every start.
                if is_new:
                    sweep(root, stamp)
                if reasons:
                    say(f"Compiled code is stored in {root}, since {' and '.join(reasons)}. {CACHE_DIR_ADVICE}.")
                return folder
        except OSError as error:
            reason = f"{error.filename or root} cannot be used ({error.strerror or error})"
        reasons.append(reason)
    why = " and ".join(reasons) or "there is no folder for it"
    say(f"Compiled code cannot be stored, so each process compiles it again: {why}. {CACHE_DIR_ADVICE}.")
    return None


def hold(folder: Path) -> None:
    """Mark a folder as used now, and as in use until this process ends."""
    path = folder / IN_USE
    # Again if the file was taken away between opening and locking it.
    while True:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            if error.errno in (errno.EROFS, errno.EACCES):  # to be read alone: nobody takes it away
                return
            raise
        os.utime(path)
        if fcntl is None:
            os.close(file)
            return
        with contextlib.suppress(OSError):  # no locks there: then nothing is taken away either
            fcntl.flock(file, fcntl.LOCK_SH)
        # The lock counts only if the file is still the one at this path.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file), os.stat(path)):
                LOCKS.append(file)
                return
        os.close(file)  # it was taken away meanwhile
        folder.mkdir(mode=0o700, exist_ok=True)


def sweep(root: Path, stamp: str) -> None:
    """Take away the folders of other stamps, but for the last used and those in use."""
    marks = []
    for folder in root.iterdir():
        with contextlib.suppress(OSError):
            if folder.name != stamp:
                marks.append(((folder / IN_USE).stat().st_mtime_ns, folder))
    # The last used come first, and stay.
    for _, folder in sorted(marks, reverse=True)[FOLDERS:]:
        with contextlib.suppress(OSError):
            remove_unused(folder)


def remove_unused(folder: Path) -> None:
    """Take a folder away unless a process holds it."""
    # An exclusive lock that is refused means that a process uses the folder; the error ends this.
    file = os.open(folder / IN_USE, os.O_RDWR)
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(folder / IN_USE)  # first: who comes now makes a new one, and loses no more than time
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(file)
    if fcntl is None:
        shutil.rmtree(folder, ignore_errors=True)
