"""Which compiled code this process uses, in words: ``aggro show --build``."""

from __future__ import annotations

import platform
import sys

import llvmlite
import numba
import numpy as np
from llvmlite import binding

from aggro.engine.jit.compile import ON_DISK


def facts() -> dict[str, str]:
    """Versions, the processor, what came with the package, and where the rest is kept."""
    known = {
        "Python": platform.python_version() + f" ({sys.implementation.cache_tag})",
        "NumPy": np.__version__,
        "Numba": f"{numba.__version__}, llvmlite {llvmlite.__version__}",
        "processor": f"{platform.machine()}, {binding.get_host_cpu_name()}",
    }
    if numba.config.DISABLE_JIT:
        return known | {"compiled code": "none: NUMBA_DISABLE_JIT is set"}
    if not ON_DISK:
        return known | {"compiled code": "made in each process: this Numba is not built as expected"}
    from aggro.engine.jit.private.disk_cache import came, home

    found, folder = came(), home()
    return known | {
        "compiled code": found.why if found.files else f"compiled for this processor, since {found.why}",
        "kept in": str(folder) if folder else "nowhere: each process compiles",
    }
