"""An upgrade, and an edit, run the new code: what was compiled of the old is not found."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
import zipfile

from helpers.pages import ROOT

import aggro

SCRIPT = """
import numpy as np
import aggro
from aggro.published import PARegressor
from aggro.engine.passes import run

model = PARegressor(1e9, epsilon=0.0, fit_intercept=False).partial_fit(np.ones((1, 1)), [1.0])
print(aggro.__version__, float(model.coef_[0]), sum(run.stats.cache_misses.values()), aggro.__file__)
"""
STEP = "return sign * step_size("
NEW_STEP = "return 0.5 * sign * step_size("


def wheel(folder, version: str, edits: dict[str, tuple[str, str]]):
    """A wheel of the package as it is, but for its version and some edits; all its files are of one time."""
    path = folder / f"aggro-{version}-py3-none-any.whl"
    info = f"aggro-{version}.dist-info"
    edits = {"aggro/__init__.py": (f'__version__ = "{aggro.__version__}"', f'__version__ = "{version}"'), **edits}
    files = {}
    for file in sorted((ROOT / "src").rglob("*.py")):
        name = file.relative_to(ROOT / "src").as_posix()
        text = file.read_text(encoding="utf-8")
        if name in edits:
            before, after = edits[name]
            assert before in text
            text = text.replace(before, after)
        files[name] = text
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: aggro\nVersion: {version}\n"
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    hashes = {name: hashlib.sha256(text.encode()).digest() for name, text in files.items()}
    record = [f"{name},sha256={base64.urlsafe_b64encode(hashes[name]).decode().rstrip('=')}," for name in files]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""])
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text)
    return path


def install(path, folder) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile"]
    command += ["--disable-pip-version-check", "--upgrade", "--target", str(folder), str(path)]
    subprocess.run(command, check=True, capture_output=True)


def start(folder, cache) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["NUMBA_CACHE_DIR"] = str(cache)
    run = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, cwd=cache)
    assert run.returncode == 0, run.stderr
    *found, file = run.stdout.split()
    assert file.startswith(str(folder))
    return found


def test_what_runs_is_what_is_installed(tmp_path):
    site, cache = tmp_path / "site", tmp_path / "cache"
    cache.mkdir()
    install(wheel(tmp_path, "0.1.0", {}), site)
    assert start(site, cache) == ["0.1.0", "1.0", "1"]
    install(wheel(tmp_path, "0.2.0", {"aggro/learners/linear/vector.py": (STEP, NEW_STEP)}), site)
    assert start(site, cache) == ["0.2.0", "0.5", "1"]

    # The same in place, as in a checkout: the file is as long as before, and not even its time tells.
    line = site / "aggro" / "learners" / "linear" / "vector.py"
    kept = line.stat()
    line.write_text(line.read_text(encoding="utf-8").replace("0.5 * sign", "0.7 * sign"), encoding="utf-8")
    os.utime(line, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert line.stat().st_size == kept.st_size
    assert start(site, cache) == ["0.2.0", "0.7", "1"]

    install(tmp_path / "aggro-0.1.0-py3-none-any.whl", site)  # and back: what was compiled then is still there
    assert start(site, cache) == ["0.1.0", "1.0", "0"]
