"""Work with every Python on this machine that aggro is for: those that its classifiers name.

    python tools/pythons.py test               # the core of the tests, with each Python but this one
    python tools/pythons.py wheel [PYTHON ...] # wheels into dist: one for all, and one with compiled kernels for each

Each Python but this one gets an environment of its own, ``.venv-3.12``. They are looked for on the path and in pyenv's
folder. This one is that of ``.venv``, whose tests have compiled most of its kernels already.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSIONS = [found[1] for line in PROJECT["classifiers"] if (found := re.fullmatch(r".* :: Python :: (3\.\d+)", line))]
TESTERS = ("pytest>", "hypothesis>", "pandas>")  # of the extra `test`: those that the core takes
PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")
HERE = "{}.{}".format(*sys.version_info)
# What another interpreter may change: dicts and texts that are read in place, compiled calls, classes, their sources.
CORE = (
    *(f"tests/engine/jit/test_{part}.py" for part in ("dicts", "letters", "pinned", "private_names")),
    *("tests/encoding", "tests/house/test_front_door.py", "tests/house/test_light.py"),
)


def version(python: str) -> str:
    """The minor version of an interpreter, as 3.12; empty if it does not run, or cannot make environments.

    pyenv puts names of all its versions on the path, and most do not run; some systems leave ``ensurepip`` out.
    """
    code = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"
    try:
        ran = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return ran.stdout.strip() if ran.returncode == 0 else ""


def patch(python: Path) -> tuple[int, ...]:
    """The numbers of a version of pyenv's, to find the newest."""
    return tuple(map(int, re.findall(r"\d+", python.parents[1].name)))


def installed() -> dict[str, str]:
    """An interpreter for each version that aggro is for and this machine has: this one for its own version."""
    found = {HERE: sys.executable}
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for wanted in VERSIONS:
        kept = sorted(pyenv.glob(f"{wanted}.*/bin/python"), key=patch, reverse=True)
        for python in (shutil.which(f"python{wanted}"), *map(str, kept)):
            if wanted not in found and python and version(python) == wanted:
                found[wanted] = python
    return {wanted: found[wanted] for wanted in VERSIONS if wanted in found}


def environment(wanted: str, python: str) -> str:
    """The interpreter of an environment in which aggro is installed for this Python; made where it is missing."""
    if wanted == HERE:
        return sys.executable
    folder = ROOT / f".venv-{wanted}"
    inside, stamp = str(folder / "bin" / "python"), folder / ".installed"
    if not stamp.exists() or stamp.stat().st_mtime < (ROOT / "pyproject.toml").stat().st_mtime:
        testers = [asked for asked in PROJECT["optional-dependencies"]["test"] if asked.startswith(TESTERS)]
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
        subprocess.run([inside, *PIP, "install", "--editable", f"{ROOT}[cli]", *testers], check=True)
        stamp.touch()
    return inside


def test() -> int:
    """Run the core of the tests with each Python but this one; how many failed."""
    failed = 0
    for wanted, python in installed().items():
        if wanted == HERE:
            continue
        inside = environment(wanted, python)
        print(f"Python {wanted}", flush=True)
        command = [inside, "-m", "pytest", "-p", "no:cacheprovider", *CORE]
        failed += subprocess.run(command, cwd=ROOT, check=False).returncode != 0
        command = [inside, "tests/smoke.py", str(Path(inside).with_name("aggro"))]
        failed += subprocess.run(command, cwd=ROOT, check=False).returncode != 0
    return failed


def wheel(pythons: dict[str, str]) -> int:
    """Make the wheel for all machines, and for each Python one with the kernels that it compiled."""
    dist = ROOT / "dist"
    for old in dist.glob("aggro-*.whl"):
        old.unlink()
    build = [sys.executable, *PIP, "wheel", "--no-deps", "--wheel-dir", str(dist), str(ROOT)]
    subprocess.run(build, check=True)
    for wanted, python in pythons.items():
        print(f"Python {wanted}", flush=True)
        kernels = ROOT / "build" / f"kernels-{wanted}"
        subprocess.run([environment(wanted, python), "tools/kernels.py", str(kernels)], cwd=ROOT, check=True)
        subprocess.run(build, env={**os.environ, "AGGRO_KERNELS": str(kernels)}, check=True)
    return 0


def main(command: str, *chosen: str) -> int:
    if command == "test":
        return test()
    return wheel({version(python): python for python in chosen} or installed())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
