"""A name for all that compiled code depends on: two processes with the same stamp compile the same.

Numba stamps what it keeps with the one file that defines an entry point, and knows nothing of the files of what that
calls. Here it is every file of the package, by its content: neither sizes nor times tell two wheels apart.
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

__all__ = ["PACKAGE", "settings", "sources", "stamp"]

PACKAGE = Path(__file__).resolve().parent.parent
FORMAT = 1  # of what is kept; a change of ``engine.keeping`` alone is one of the package too

# Settings of Numba that do not reach the code. All others do, as far as is known here, also those that are yet to come.
ELSEWHERE = (
    *("CACHE_", "COLOR_SCHEME", "DEBUG_CACHE", "DUMP_", "FULL_TRACEBACKS", "GDB_", "HIGHLIGHT_", "SHOW_HELP", "_"),
    *("CUDA_", "DISABLE_CUDA", "ENABLE_CUDASIM", "FORCE_CUDA", "NVIDIA_", "NUM", "THREADING_"),
)


def files(folder: str) -> Iterator[str]:
    """The files that Python reads a package from, in a fixed order."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from files(entry.path)
        elif entry.name.endswith((".py", ".pyc")):
            yield entry.path


def sources(package: Path = PACKAGE) -> str:
    """A hash of a package's files, or of the archive that it is in; empty if neither can be read."""
    found = hashlib.sha256()
    try:
        names = list(files(str(package)))
    except NotADirectoryError:
        names = [str(parent) for parent in package.parents if parent.is_file()]
    except OSError:
        names = []
    if not names:
        return ""
    for name in names:
        try:
            with open(name, "rb", buffering=0) as file:
                content = file.read()
        except OSError:
            return ""
        inside = os.path.relpath(name, package)
        found.update(f"{len(inside)} {inside} {len(content)} ".encode())
        found.update(content)
    return found.hexdigest()


def settings() -> dict[str, Any]:
    """The settings of Numba, by name."""
    plain = (int, float, str, type(None))
    named = {name: value for name, value in vars(numba.config).items() if name.isupper() and isinstance(value, plain)}
    return {name: value for name, value in sorted(named.items()) if not name.startswith(ELSEWHERE)}


def stamp(code: str, *ways: object) -> str:
    """One name for a package's code, the versions and settings that it is compiled with, and the ways it is."""
    versions = (sys.implementation.cache_tag, sys.version, numba.__version__, llvmlite.__version__, np.__version__)
    told = repr((FORMAT, code, versions, settings(), ways))
    return hashlib.sha256(told.encode()).hexdigest()[:24]
