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

# Whatever is compiled is found by a stamp of all sources, so what compiles in no time does.
SCRIPT = """
import numpy as np
import aggro
from aggro.engine.random import permutation

order = "".join("abcdefghijklmnop"[k] for k in permutation(16, np.uint64(7)))
compiled = sum(permutation.stats.cache_misses.values()) if hasattr(permutation, "stats") else "none"
print(aggro.__version__, order, compiled, aggro.__file__)
"""
BITS, NEW_BITS, NEWER_BITS = "u8(0x94D049BB133111EB)", "u8(0x94D049BB133111E7)", "u8(0x94D049BB133111E3)"


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


def start(folder, cache, **more) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **more}
    environment["NUMBA_CACHE_DIR"] = str(cache)
    run = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, cwd=cache)
    assert run.returncode == 0, run.stderr
    *found, file = run.stdout.split()
    assert file.startswith(str(folder))
    return found


def test_what_runs_is_what_is_installed(tmp_path):
    site, cache = tmp_path / "site", tmp_path / "cache"
    cache.mkdir()

    def meant() -> str:
        """The order as the sources say it, read by Python."""
        _, order, compiled = start(site, cache, NUMBA_DISABLE_JIT="1")
        assert compiled == "none"
        return order

    install(wheel(tmp_path, "0.1.0", {}), site)
    first = meant()
    assert start(site, cache) == ["0.1.0", first, "1"]
    install(wheel(tmp_path, "0.2.0", {"aggro/engine/random.py": (BITS, NEW_BITS)}), site)
    second = meant()
    assert start(site, cache) == ["0.2.0", second, "1"]

    # The same in place, as in a checkout: the file is as long as before, and not even its time tells.
    source = site / "aggro" / "engine" / "random.py"
    kept = source.stat()
    source.write_text(source.read_text(encoding="utf-8").replace(NEW_BITS, NEWER_BITS), encoding="utf-8")
    os.utime(source, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert source.stat().st_size == kept.st_size
    third = meant()
    assert start(site, cache) == ["0.2.0", third, "1"]
    assert len({first, second, third}) == 3

    install(tmp_path / "aggro-0.1.0-py3-none-any.whl", site)  # and back: what was compiled then is still there
    assert start(site, cache) == ["0.1.0", first, "0"]
