"""Downloads that can be interrupted: resumed where they stopped, checked, and put in place in one step.

What has come so far is in «file.part», with what the server said of its version in «file.part.tag». A part is
gone on with if the server still has that version and can serve the rest; else it starts anew. Nothing takes
the file's name before it is whole and its checksum is right.

Neither a server nor the folder is trusted: redirects lead to http or https, and from https to https alone; parts are
plain files with one name, made by us, and never links.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import stat
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from aggro.streams.bad_lines import printable, reason_of
from aggro.streams.io.files import Source

FETCHED_BYTES = 1 << 18
TIMEOUT = 30.0
FETCH_ATTEMPTS = 3  # that bring nothing new
SCHEMES = ("http://", "https://")
LONGEST_TAG = 1000  # letters

Report = Callable[[int, int | None], None]


class FetchError(OSError):
    """A download that did not succeed; the message says why, and what is left."""


class SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects as long as they are as safe as what was asked for."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        # A transfer that began with https is not downgraded to http.
        allowed = SCHEMES[1:] if req.full_url.lower().startswith(SCHEMES[1]) else SCHEMES
        if not newurl.lower().startswith(allowed):
            raise FetchError(
                f"{printable(req.full_url)}: the server sends us to {printable(newurl)}, which is not "
                f"{' or '.join(allowed)}. That is not followed."
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class Digest(NamedTuple):
    """A checksum and the number of lines of a file's decompressed text."""

    sha256: str
    lines: int


def fetch(
    url: str,
    path: str | os.PathLike,
    *,
    check: Callable[[str], str | None] | None = None,
    report: Report | None = None,
) -> None:
    """Download a file.

    Parameters
    ----------
    url : str
        Where from: http or https.
    path : path
        Where to. It appears when all is there and checked.
    check : function, default=None
        Gets the path of what was downloaded, and says what is wrong with it, or None.
    report : function, default=None
        Is called with the bytes so far and those to come in all (None if the server does not say).

    Raises
    ------
    FetchError
        It did not succeed. What has come so far is kept and used by the next call, unless it was wrong.
    """
    target = os.fspath(path)
    # Other schemes, such as file:, would let an address read the local disk.
    if not url.lower().startswith(SCHEMES):
        raise FetchError(f"{url} is neither http nor https.")
    partial = f"{target}.part"
    # Downloaded, checked, then renamed: whoever sees the name sees the whole file.
    _complete(url, partial, report or (lambda done, total: None))
    wrong = check(partial) if check is not None else None
    if wrong is not None:
        _discard(partial)
        raise FetchError(f"{url}: {wrong}. It was thrown away.")
    os.replace(partial, target)
    # The rename took the part; only its tag is left to be removed.
    _discard(partial)


def _complete(url: str, partial: str, report: Report) -> None:
    """Ask until all is there; give up when several attempts in a row bring nothing."""
    idle = 0
    while True:
        before = _size(partial)
        try:
            if _ask(url, partial, report):
                return
            why = "the connection ended early"
        # The server has answered, and says no: only broken connections are tried again.
        except urllib.error.HTTPError as error:
            raise FetchError(f"{url}: the server says {error.code} {reason_of(error.reason)}.") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            # A full disk or a refused redirect does not get better by trying again.
            if isinstance(error, FetchError) or _is_disk(error):
                raise
            why = reason_of(getattr(error, "reason", None) or error) or type(error).__name__
        # Only attempts without progress count, so that a slow connection may break as often as it likes.
        idle = idle + 1 if _size(partial) <= before else 0
        if idle >= FETCH_ATTEMPTS:
            kept = f" {_size(partial):,} bytes are kept; try again to go on." if _size(partial) else ""
            raise FetchError(f"{url}: {why}.{kept}")


def _ask(url: str, partial: str, report: Report) -> bool:
    """One request; True if the file is whole after it."""
    have = _size(partial)
    tag = _read(f"{partial}.tag")
    # No compression on the way: ranges and lengths count the bytes of the file itself.
    request = urllib.request.Request(url, headers={"User-Agent": "aggro", "Accept-Encoding": "identity"})
    # Without a tag nothing tells the version, and the whole file is asked for. With If-Range, the server sends the rest
    # only of the same version.
    if have and tag:
        request.add_header("Range", f"bytes={have}-")
        request.add_header("If-Range", tag)
    try:
        with urllib.request.build_opener(SafeRedirects).open(request, timeout=TIMEOUT) as answer:
            return _take(answer, partial, have, report)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not have:
            raise
        # Nothing after what we have: it is whole, or not what the server has now.
        if error.headers.get("Content-Range", "").endswith(f"/{have}"):
            return True
        _discard(partial)
        return False


def _take(answer: Any, partial: str, have: int, report: Report) -> bool:
    # A server may ignore the range or send another one; then its answer starts at byte 0.
    goes_on = answer.status == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")
    done = have if goes_on else 0
    length = answer.headers.get("Content-Length")
    # The header is text from outside: int() would also take signs, blanks and digits of other scripts.
    if length is not None and not (length.isascii() and length.isdigit() and len(length) < 20):
        raise FetchError(
            f"{printable(answer.url)}: the server says that the length is {printable(length)!r}, which is no number."
        )
    total = done + int(length) if length is not None else None
    # The tag is stored before the first byte of the part, so that no part has the tag of another version.
    if not goes_on:
        _discard(partial)
        tag = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
        with _writing(f"{partial}.tag"), _opened(f"{partial}.tag", new=True) as file:
            file.write(tag.encode("latin-1", "replace"))
    with _opened(partial, new=not goes_on) as file:
        file.seek(done)
        report(done, total)
        # read1 returns what has come, without waiting for a full block: little is lost if the connection breaks.
        while True:
            try:
                block = answer.read1(FETCHED_BYTES)
            # The bytes before the break are good; the next attempt goes on after them.
            except http.client.IncompleteRead as error:
                block = error.partial
            if not block:
                break
            # Flushed block by block: the next attempt goes on from the size that the disk shows.
            with _writing(partial):
                file.write(block)
                file.flush()
            done += len(block)
            report(done, total)
        # On the disk before the rename, or a crash could leave a whole name with half a file.
        with _writing(partial):
            os.fsync(file.fileno())
    return total is None or done == total


@contextmanager
def _writing(path: str) -> Iterator[None]:
    """An error inside is the disk's, and names the file."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error


def _is_disk(error: BaseException) -> bool:
    """Did writing fail, rather than reading?"""
    return isinstance(error, OSError) and error.filename is not None


def _is_ours(path: str) -> bool:
    """Is this a plain file with one name? A link would have us write, or read, somewhere else."""
    with suppress(FileNotFoundError):
        status = os.lstat(path)
        return stat.S_ISREG(status.st_mode) and status.st_nlink == 1
    return False


def _size(path: str) -> int:
    return os.lstat(path).st_size if _is_ours(path) else 0


def _opened(path: str, new: bool) -> Any:
    """The file, for writing; a new one must not be there."""
    # O_EXCL and O_NOFOLLOW refuse a file or a link that somebody put there after the check.
    flags = os.O_CREAT | os.O_EXCL if new else 0
    flags |= os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, 0o666), "r+b")


def _read(path: str) -> str:
    if not _is_ours(path):
        return ""
    with open(path, encoding="latin-1") as file:
        tag = file.read(LONGEST_TAG)
    return "" if tag.startswith("W/") or not tag.isprintable() else tag  # a weak tag does not promise the same bytes


def _discard(partial: str) -> None:
    for path in (partial, f"{partial}.tag"):
        with suppress(FileNotFoundError):
            os.unlink(path)


def digest_of(path: str | os.PathLike) -> Digest:
    """The checksum and the lines of a file's text, decompressed on the way."""
    digest, lines, last = hashlib.sha256(), 0, b"\n"
    source, view = Source(os.fspath(path)), memoryview(bytearray(FETCHED_BYTES))
    with source.open() as file:
        while got := source.fill(file, view):
            block = view[:got].tobytes()
            digest.update(block)
            # A last line without a newline counts as a line, too.
            lines += block.count(b"\n")
            last = block[-1:]
    return Digest(digest.hexdigest(), lines + (last != b"\n"))
