"""A name for all that compiled code depends on: two processes with the same stamp compile the same.

Numba stamps what it keeps with the one file that defines an entry point, and knows nothing of the files of what that
calls. Here it is every file of the package but those ``NOT_COMPILED``, by its content: neither sizes nor times tell
two wheels apart.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np

PACKAGE = Path(__file__).resolve().parents[2]
# Folders and files from which nothing is compiled, and which nothing that is compiled imports: a test sees to it.
NOT_COMPILED = {
    *("cli", "distributed", "estimators", "evaluate", "export", "interop", "mixing", "plot", "published"),
    *("serve", "testing", "theory"),
    *("warm.py", "client.py", "prototype.py", "__main__.py"),
}
STAMP_FORMAT = 1  # of what is kept; a change of ``engine.jit.private.disk_cache`` alone is one of the package too

# Settings of Numba that do not reach the code. All others do, as far as is known here, also those that are yet to come.
QUIET_SETTINGS = (
    *("CACHE_", "COLOR_SCHEME", "DEBUG_CACHE", "DUMP_", "FULL_TRACEBACKS", "GDB_", "HIGHLIGHT_", "SHOW_HELP", "_"),
    *("CUDA_", "DISABLE_CUDA", "ENABLE_CUDASIM", "FORCE_CUDA", "NVIDIA_", "NUM", "THREADING_"),
)


def files(folder: str, inside: str = "") -> Iterator[tuple[str, str]]:
    """The files that Python reads a package from, in a fixed order: their paths, and their names in the package."""
    with os.scandir(folder) as found:
        # Sorted, since the order of a folder is not the same everywhere.
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from files(entry.path, f"{inside}{entry.name}/")
        elif entry.name.endswith((".py", ".pyc")):
            yield entry.path, inside + entry.name


def content(path: str) -> bytes:
    """All of a file; plainly, since there are many and each process reads them."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        parts = []
        while part := os.read(file, 1 << 20):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(file)


def sources(package: Path = PACKAGE) -> str:
    """A hash of a package's files but those aside, or of the archive that it is in; empty if neither can be read."""
    told = hashlib.sha256()
    try:
        try:
            found = [(path, name) for path, name in files(str(package)) if name.partition("/")[0] not in NOT_COMPILED]
        except NotADirectoryError:
            found = [(str(parent), parent.name) for parent in package.parents if parent.is_file()]
        for path, name in found:
            text = content(path)
            # Names and lengths keep files apart: moving text from one to the next changes the hash.
            told.update(f"{len(name)} {name} {len(text)} ".encode())
            told.update(text)
    except OSError:
        return ""
    return told.hexdigest() if found else ""


def settings() -> dict[str, Any]:
    """The settings of Numba, by name."""
    plain = (int, float, str, type(None))
    named = {name: value for name, value in vars(numba.config).items() if name.isupper() and isinstance(value, plain)}
    return {name: value for name, value in sorted(named.items()) if not name.startswith(QUIET_SETTINGS)}


def stamp(code: str, *ways: object) -> str:
    """One name for a package's code, the versions and settings that it is compiled with, and the ways it is."""
    versions = (sys.implementation.cache_tag, sys.version, numba.__version__, llvmlite.__version__, np.__version__)
    told = repr((STAMP_FORMAT, code, versions, settings(), ways))
    return hashlib.sha256(told.encode()).hexdigest()[:24]
