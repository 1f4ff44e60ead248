"""A file that is replaced whole or not at all.

The new bytes go into a temporary file in the same folder, are forced to the disk, and take the old file's
name in one step. Whatever happens in between, the old file is as it was.

A process that is killed cannot take its temporary file away. It holds a lock on it, though, which dies with
it: the next one that saves in the folder takes away every temporary file that nobody holds. A file that is
written over a long time is held in the same way, by one process at a time.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex
from typing import BinaryIO

if sys.platform == "win32":  # no such lock there, and nothing is swept

    def lock(fd: int, wait: bool) -> None:
        """Nothing to do."""

else:
    import fcntl

    def lock(fd: int, wait: bool) -> None:
        """Hold the file until it is closed; without ``wait``, an OSError if another process does."""
        fcntl.flock(fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


TEMPORARY_PREFIX, TEMPORARY_SUFFIX = ".aggro-", ".tmp"
HOLD_ATTEMPTS, HOLD_PAUSE = 20, 0.01  # seconds, to hold a file
WRITE_ADVICE = {
    errno.ENOSPC: "Free some space, or save elsewhere",
    errno.EDQUOT: "Free some space, or save elsewhere",
    errno.EFBIG: "Raise the limit on the size of files (ulimit -f), or save elsewhere",
    errno.EACCES: "Save where you may write, or change the folder's permissions",
    errno.EPERM: "Save where you may write, or change the folder's permissions",
    errno.EROFS: "Save where you may write",
    errno.ENOENT: "Make the folder first",
    errno.ENOTDIR: "Save into a folder",
    errno.EISDIR: "Give the name of a file",
}


class Held(Exception):
    """Another process holds the file."""


@contextmanager
def holding(path: str) -> Iterator[None]:
    """Nobody else holds ``path`` inside; it need not exist. Raises :class:`Held` if another process does.

    Where there are no such locks, nothing is held.
    """
    # The real path, so that two links to one file exclude each other.
    target = os.path.realpath(path)
    # A name of fixed length: that of the file itself may be as long as the system allows.
    mark = hashlib.sha256(os.fsencode(os.path.basename(target))).hexdigest()[:16]
    name = os.path.join(os.path.dirname(target), f"{TEMPORARY_PREFIX}{mark}{TEMPORARY_SUFFIX}")
    fd = _mark(name)
    try:
        yield
    finally:
        if fd is not None:
            with contextlib.suppress(OSError):
                os.unlink(name)  # still locked: whoever waits for it sees that it is gone
            os.close(fd)


def _mark(name: str) -> int | None:
    """An open file of this name with a lock on it; None where there are no locks."""
    if sys.platform == "win32":
        return None
    for _ in range(HOLD_ATTEMPTS):
        # O_NOFOLLOW: nobody can lead the mark to another file by a link.
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            lock(fd, wait=False)
        except BlockingIOError:  # for a moment, it may be one that sweeps or that is about to let go
            os.close(fd)
            time.sleep(HOLD_PAUSE)
            continue
        except OSError:  # a disk without locks
            with contextlib.suppress(OSError):
                os.unlink(name)
            os.close(fd)
            return None
        # Between open and lock the holder before may have deleted the name; a lock on that file guards nothing.
        if _is_named(fd, name):
            return fd
        os.close(fd)  # taken away by the one that held it before
    raise Held(name)


def _is_named(fd: int, name: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(name))
    except FileNotFoundError:
        return False


@contextmanager
def replacing(path: str, what: str = "the model") -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of ``path`` when the block ends without an error."""
    target = os.path.realpath(path)  # through a link, it is the file behind it that is replaced
    folder = os.path.dirname(target)
    temporary = ""
    try:
        # The new file gets the permissions of the old one.
        mode = _mode_of(target)
        # What killed processes left goes before more is written.
        _sweep(folder)
        fd, temporary = _create(folder)
        with os.fdopen(fd, "wb") as file:
            yield file
            # Python's buffer, then the permissions, then the disk: only a complete file takes the name.
            file.flush()
            if mode is not None:
                os.chmod(temporary, mode)
            os.fsync(fd)
            if sys.platform != "win32":
                os.replace(temporary, target)  # still locked, so that nobody sweeps it away
        if sys.platform == "win32":
            os.replace(temporary, target)  # an open file cannot be renamed there
        temporary = ""
    except OSError as error:
        raise _told(error, path, what) from error
    finally:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
    # The file is on the disk; this puts its new name there as well.
    sync_folder(folder)


def check_place(path: str, what: str = "the model") -> None:
    """Refuse a path that cannot be written, as ``replacing`` would, before there is anything to write."""
    target = os.path.realpath(path)
    try:
        _mode_of(target)
        # The only sure test is to create a file there.
        fd, temporary = _create(os.path.dirname(target))
        os.close(fd)
        os.unlink(temporary)
    except OSError as error:
        raise _told(error, path, what) from error


def _told(error: OSError, path: str, what: str) -> OSError:
    advice = WRITE_ADVICE.get(error.errno or 0, "Try again, or save elsewhere")
    said = f"Could not save {what}: {error.strerror or error}. {advice}; what was there before is unchanged"
    return OSError(error.errno or errno.EIO, said, path)


def _mode_of(target: str) -> int | None:
    """The permissions to keep; None for a new file, which gets what the umask says."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):  # replacing /dev/null would be a disaster
        raise OSError(errno.EINVAL, "It is a device or a pipe, not a file")
    return stat.S_IMODE(mode)


def _create(folder: str) -> tuple[int, str]:
    while True:
        name = os.path.join(folder, f"{TEMPORARY_PREFIX}{token_hex(8)}{TEMPORARY_SUFFIX}")
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        with contextlib.suppress(OSError):  # without locks nothing is swept, and all else is as it should be
            lock(fd, wait=True)
        # The lock came after the creation, so a sweep may have been faster.
        if os.path.exists(name):
            return fd, name
        os.close(fd)  # swept away by another process before it was locked


def _sweep(folder: str) -> None:
    """Take away what killed processes have left."""
    if sys.platform == "win32":
        return
    try:
        left = [
            name for name in os.listdir(folder) if name.startswith(TEMPORARY_PREFIX) and name.endswith(TEMPORARY_SUFFIX)
        ]
    except OSError:  # a folder that may be written to and not be read
        return
    for name in (os.path.join(folder, name) for name in left):
        with contextlib.suppress(OSError):  # held by a process that is saving, or already gone
            fd = os.open(name, os.O_WRONLY | os.O_NOFOLLOW)
            try:
                # A lock that is free says that the process that made the file is gone.
                lock(fd, wait=False)
                os.unlink(name)
            finally:
                os.close(fd)


def sync_folder(folder: str) -> None:
    """Force the new name to the disk, where the system can do that."""
    try:
        fd = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(fd)
