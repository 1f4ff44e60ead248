"""Downloads that can be interrupted: resumed where they stopped, checked, and put in place in one step.

What has come so far is in «file.part», with what the server said of its version in «file.part.tag». A part is
gone on with if the server still has that version and can serve the rest; else it starts anew. Nothing takes
the file's name before it is whole and its checksum is right.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from aggro.streams.files import Source

__all__ = ["Digest", "FetchError", "digest_of", "fetch"]

BLOCK = 1 << 18
TIMEOUT = 30.0
ATTEMPTS = 3  # that bring nothing new
SCHEMES = ("http://", "https://")

Report = Callable[[int, int | None], None]


class FetchError(OSError):
    """A download that did not succeed; the message says why, and what is left."""


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
    if not url.startswith(SCHEMES):
        raise FetchError(f"{url} is neither http nor https.")
    partial = f"{target}.part"
    _complete(url, partial, report or (lambda done, total: None))
    wrong = check(partial) if check is not None else None
    if wrong is not None:
        _discard(partial)
        raise FetchError(f"{url}: {wrong}. It was thrown away.")
    os.replace(partial, target)
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
        except urllib.error.HTTPError as error:
            raise FetchError(f"{url}: the server says {error.code} {error.reason}.") from error
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, FetchError) or _is_disk(error):
                raise
            why = str(getattr(error, "reason", None) or error or type(error).__name__)
        idle = idle + 1 if _size(partial) <= before else 0
        if idle >= ATTEMPTS:
            kept = f" {_size(partial):,} bytes are kept; try again to go on." if _size(partial) else ""
            raise FetchError(f"{url}: {why}.{kept}")


def _ask(url: str, partial: str, report: Report) -> bool:
    """One request; True if the file is whole after it."""
    have = _size(partial)
    tag = _read(f"{partial}.tag")
    request = urllib.request.Request(url, headers={"User-Agent": "aggro", "Accept-Encoding": "identity"})
    if have and tag:
        request.add_header("Range", f"bytes={have}-")
        request.add_header("If-Range", tag)
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
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
    goes_on = answer.status == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")
    done = have if goes_on else 0
    length = answer.headers.get("Content-Length")
    total = done + int(length) if length is not None else None
    if not goes_on:
        _write(f"{partial}.tag", answer.headers.get("ETag") or answer.headers.get("Last-Modified") or "")
    with open(partial, "r+b" if goes_on else "wb") as file:
        file.seek(done)
        report(done, total)
        while True:
            try:
                block = answer.read1(BLOCK)
            except http.client.IncompleteRead as error:
                block = error.partial
            if not block:
                break
            with _writing(partial):
                file.write(block)
                file.flush()
            done += len(block)
            report(done, total)
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


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.exists(path) else 0


def _read(path: str) -> str:
    with suppress(FileNotFoundError), open(path, encoding="latin-1") as file:
        tag = file.read()
        return "" if tag.startswith("W/") else tag  # a weak tag does not promise the same bytes
    return ""


def _write(path: str, text: str) -> None:
    with _writing(path), open(path, "w", encoding="latin-1") as file:
        file.write(text)


def _discard(partial: str) -> None:
    for path in (partial, f"{partial}.tag"):
        with suppress(FileNotFoundError):
            os.unlink(path)


def digest_of(path: str | os.PathLike) -> Digest:
    """The checksum and the lines of a file's text, decompressed on the way."""
    digest, lines, last = hashlib.sha256(), 0, b"\n"
    with Source(os.fspath(path)).open() as file:
        while block := file.read(BLOCK):
            digest.update(block)
            lines += block.count(b"\n")
            last = block[-1:]
    return Digest(digest.hexdigest(), lines + (last != b"\n"))
