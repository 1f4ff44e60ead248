"""Compiled code that came with the package, so that a first call compiles nothing.

It is made once, for a level of processors that nearly all have (``CPU_LEVELS``), and is the same machine code
everywhere: what is learned with it is the same on all of them. It stands in a folder of the package beside a list of
what it was made for, its sources, Python, Numba, and of each file's checksum. It is used if all of that is so here,
and if nobody but those who can change the package itself can change it. Otherwise the code is compiled, as without
it, and ``why`` says what for. ``AGGRO_NATIVE=1`` asks for code that is compiled for this processor.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sysconfig
from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite
import numba
import numpy as np
from llvmlite import binding

from aggro.engine.jit.cache_folder import exposed
from aggro.engine.jit.stamp import PACKAGE, settings

KERNEL_FOLDER = PACKAGE / "kernels"
KERNEL_LIST = "made-for.json"
KERNEL_FORMAT = 1
V3 = "avx avx2 bmi bmi2 cx16 f16c fma lzcnt movbe popcnt sahf sse3 sse4.1 sse4.2 ssse3 xsave".split()  # noqa: SIM905
CPU_LEVELS: dict[str, tuple[str, list[str]]] = {  # by machine: the name that LLVM has for a level, and what it takes
    "x86_64": ("x86-64-v3", V3),
    "AMD64": ("x86-64-v3", V3),
    "aarch64": ("generic", []),
    "arm64": ("generic", []),
}


def level() -> str:
    """The level that code is made for on machines of this kind; empty if there is none."""
    return CPU_LEVELS.get(platform.machine(), ("", []))[0]


def missing() -> list[str]:
    """What this processor lacks of the level."""
    has = binding.get_host_cpu_features()
    return [feature for feature in CPU_LEVELS[platform.machine()][1] if not has.get(feature, False)]


def made_for(code: str, ways: Any) -> dict[str, Any]:
    """What prebuilt code depends on, by names that a person knows: here, in this process."""
    given = {name: value for name, value in settings().items() if name not in ("CPU_NAME", "CPU_FEATURES")}
    told = repr((KERNEL_FORMAT, code, given, ways))
    return {
        "aggro's code": hashlib.sha256(told.encode()).hexdigest(),
        "Python": str(sysconfig.get_config_var("SOABI")),
        "Numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "NumPy": np.__version__.partition(".")[0],
        "processors": level(),
    }


@dataclass(frozen=True)
class Prebuilt:
    """The files that may be used, with their checksums; and why there are none, or which there are."""

    files: dict[str, str]
    why: str
    is_wrong: bool = False  # somebody should know: they are there, and cannot be used


@cache
def prebuilt(code: str, ways: tuple[Any, ...]) -> Prebuilt:
    """What came with this package and may be used in this process, for this code, compiled in these ways."""
    try:
        listed = json.loads((KERNEL_FOLDER / KERNEL_LIST).read_bytes())
        wanted, files = dict(listed["made for"]), dict(listed["files"])
    except FileNotFoundError:
        return Prebuilt({}, "this package came without compiled code")
    except (OSError, ValueError, KeyError, TypeError) as error:
        return Prebuilt({}, f"{KERNEL_FOLDER / KERNEL_LIST} cannot be read ({error})", True)
    # What the user asks for comes before what fits.
    if os.environ.get("AGGRO_NATIVE", "") not in ("", "0"):
        return Prebuilt({}, "AGGRO_NATIVE is set")
    asked = numba.config.CPU_NAME, numba.config.CPU_FEATURES
    if asked not in ((None, None), (level(), "")):
        return Prebuilt({}, "NUMBA_CPU_NAME or NUMBA_CPU_FEATURES is set")
    # Sources, Python, Numba, llvmlite, NumPy and the level must all be the same.
    here = made_for(code, ways)
    for name, value in here.items():
        if wanted.get(name) != value:
            said = "" if name == "aggro's code" else f" {wanted.get(name)}, and this is {value}"
            return Prebuilt({}, f"the compiled code of this package is for another {name}{said or ' than this'}", True)
    # The code would stop with an illegal instruction.
    if lacks := missing():
        return Prebuilt({}, f"this processor lacks {', '.join(lacks)}, which the compiled code of this package uses")
    try:
        # Machine code is run as it is: nobody but the owner of the package may be able to change it.
        reason = exposed((KERNEL_FOLDER / KERNEL_LIST).resolve(), (PACKAGE / "__init__.py").stat().st_uid)
    except OSError as error:
        reason = str(error)
    if reason:
        return Prebuilt({}, f"the compiled code of this package cannot be trusted: {reason}", True)
    return Prebuilt(files, f"{len(files)} kernels came with this package, for {level()}")


def content(found: Prebuilt, name: str) -> bytes | None:
    """What is in a file; None if there is none of this name, or its content is not the one that is listed."""
    if name not in found.files:
        return None
    try:
        data = (KERNEL_FOLDER / name).read_bytes()
    except OSError:
        return None
    # The list says what each file must be: a file that was cut or changed is not used.
    return data if hashlib.sha256(data).hexdigest() == found.files[name] else None
