"""Compile every kernel of the library for a level of processors, and put them into a folder for a wheel.

    NUMBA_CPU_NAME=x86-64-v3 NUMBA_CPU_FEATURES= python tools/kernels.py FOLDER

``make wheel`` does. What is in the cache already, from tests with the same settings, is not compiled again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from importlib.metadata import distribution
from pathlib import Path


def tag() -> str:
    """The tag of the wheel: this Python, and the platforms that Numba's own wheel is for, which the kernels need."""
    lines = (distribution("llvmlite").read_text("WHEEL") or "").splitlines()
    platforms = [line.rpartition("-")[2] for line in lines if line.startswith("Tag:")]
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-{python}-{'.'.join(sorted(set(platforms)))}"


def main(folder: Path) -> None:
    import numba

    import aggro.engine.passes  # noqa: F401  # what decorators were given is known now
    from aggro.engine.jit.prebuilt import KERNEL_LIST, level, made_for
    from aggro.engine.jit.private.disk_cache import COMPILE_WAYS, SOURCES
    from aggro.warm import jobs, together

    if (level(), "") != (numba.config.CPU_NAME, numba.config.CPU_FEATURES):
        sys.exit(
            f"Set NUMBA_CPU_NAME to {level()!r} and NUMBA_CPU_FEATURES to nothing: kernels are for all of a level."
        )
    used: set[str] = set()
    chosen = jobs()
    for number, (job, files) in enumerate(together(chosen, os.cpu_count() or 1), 1):
        used.update(files)
        print(f"{number}/{len(chosen)} {job}: {len(used)} kernels", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sums = {}
    for path in map(Path, sorted(used)):
        data = path.read_bytes()
        (folder / path.name).write_bytes(data)
        sums[path.name] = hashlib.sha256(data).hexdigest()
    about = {"made for": made_for(SOURCES, tuple(map(repr, COMPILE_WAYS))), "tag": tag(), "files": sums}
    (folder / KERNEL_LIST).write_text(json.dumps(about, indent=1))
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{len(sums)} kernels, {size / 1e6:.0f} MB, in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
