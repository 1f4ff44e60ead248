"""Where compiled code is kept: a folder that nobody else can write to, or none; and not for ever."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numba
import pytest

import aggro
from aggro.engine.jit import cache_folder as folders
from aggro.engine.jit.cache_folder import CompiledCodeWarning, exposed, folder_for
from aggro.engine.jit.stamp import PACKAGE, settings, sources, stamp

posix = pytest.mark.skipif(os.name != "posix", reason="owners and permissions are POSIX's")


@pytest.fixture(autouse=True)
def nothing_was_said(monkeypatch):
    monkeypatch.setattr(folders, "WARNED", set())


@pytest.fixture
def root(tmp_path, monkeypatch):
    """The folder that the user names."""
    (tmp_path / "given").mkdir(mode=0o755)
    (tmp_path / "temporary").mkdir(mode=0o700)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "given"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "given"


def quietly(name: str) -> Path | None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return folder_for(name)


def test_the_named_folder_is_used(root):
    made = quietly("one")
    assert made == (root / "aggro" / "one").resolve()
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert quietly("one") == made


def test_without_a_name_it_is_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    if sys.platform == "linux":
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert quietly("one") == (tmp_path / "aggro" / "one").resolve()
        monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert folders.user_cache().is_relative_to(Path.home())


@posix
@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757])
def test_a_folder_that_others_can_write_to_is_not_used(root, mode, monkeypatch):
    monkeypatch.setattr(folders, "own_group", lambda gid: False)
    root.chmod(mode)
    with pytest.warns(CompiledCodeWarning, match=f"other users can write to {root}") as said:
        made = folder_for("one")
    assert made.parent.parent == Path(tempfile.gettempdir()).resolve()
    assert "NUMBA_CACHE_DIR" in str(said[0].message)
    assert quietly("one") == made  # it is said once


@posix
def test_in_a_sticky_folder_ones_own_is_safe(root):
    root.chmod(0o1777)
    assert quietly("one").parent.parent == root.resolve()
    (root / "aggro").chmod(0o1777)  # but it must be one's own to write to
    assert exposed((root / "aggro").resolve())


@posix
def test_the_group_of_a_user_alone_may_write(root, monkeypatch):
    monkeypatch.setattr(folders, "own_group", lambda gid: True)
    root.chmod(0o775)
    assert quietly("one").parent.parent == root.resolve()


@posix
def test_a_folder_of_another_user_is_not_used(root, monkeypatch):
    (root / "aggro").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    if os.getuid() == 0:  # whose folders anybody can trust
        os.chown(root / "aggro", 12345, 12345)
    with pytest.warns(CompiledCodeWarning, match="belongs to another user"):
        made = folder_for("one")
    assert made is None or root not in made.parents


@posix
def test_where_nothing_can_be_written_nothing_is_kept(root, monkeypatch):
    """A hardened container; for root, files stand in for folders that cannot be written to."""
    (root / "aggro").write_text("")
    monkeypatch.setattr(tempfile, "tempdir", str(root / "aggro"))
    with pytest.warns(CompiledCodeWarning, match="so each process compiles it again") as said:
        assert folder_for("one") is None
    assert str(root / "aggro") in str(said[0].message)


HARDENED = """
import numpy as np
from aggro.engine.rows import pointers_ascend
assert pointers_ascend(np.array([0, 2, 5]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_where_no_home_can_be_written_to_it_runs_and_says_so(tmp_path):
    """A hardened container: the import does not look for a place, and the first call finds one."""
    (tmp_path / "file").write_text("")
    unset = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    told = {**unset, "XDG_CACHE_HOME": str(tmp_path / "file"), "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", HARDENED], env=told, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("CompiledCodeWarning") == 1
    assert f"Compiled code is stored in {tmp_path}/aggro-{os.geteuid()}, since {tmp_path}/file" in done.stderr
    assert list(tmp_path.glob("aggro-*/*/pointers_ascend-*.code"))


def test_a_folder_to_be_read_alone_is_used(root, monkeypatch):
    """One that was filled when a container was built."""
    made = quietly("one")
    open_ = os.open

    def read_only(path, flags, *rest):
        if flags & (os.O_RDWR | os.O_WRONLY):
            raise OSError(30, "Read-only file system", str(path))
        return open_(path, flags, *rest)

    monkeypatch.setattr(os, "open", read_only)
    assert quietly("one") == made


def test_old_folders_are_taken_away_but_not_those_in_use(root, monkeypatch):
    held = quietly("held by this process")
    unheld = []
    for k in range(folders.FOLDERS + 3):
        made = root / "aggro" / f"old {k}"
        made.mkdir()
        (made / "run.code").write_bytes(b"code")
        (made / "in-use").touch()
        os.utime(made / "in-use", ns=(k, k))
        unheld.append(made)
    os.utime(held / "in-use", ns=(0, 0))  # the longest ago
    strange = root / "aggro" / "of somebody"
    strange.mkdir()
    quietly("new")
    assert held.exists()
    assert strange.exists()
    assert [made.exists() for made in unheld] == [False] * 3 + [True] * folders.FOLDERS


def test_a_folder_that_is_taken_away_while_it_is_asked_for_is_made_again(root, monkeypatch):
    made = quietly("one")
    lock, raced = folders.fcntl.flock, []

    def slow(file, how):
        if not raced:
            raced.append(True)
            folders.shutil.rmtree(made)
        return lock(file, how)

    monkeypatch.setattr(folders.fcntl, "flock", slow)
    assert quietly("one") == made
    assert (made / "in-use").exists()


# The stamp -------------------------------------------------------------------------------------------------


def test_the_stamp_is_of_the_whole_package():
    assert (PACKAGE / "__init__.py").samefile(aggro.__file__)


def test_every_file_of_the_package_is_in_the_stamp(tmp_path):
    (tmp_path / "inner").mkdir()
    file, inner = tmp_path / "a.py", tmp_path / "inner" / "b.py"
    file.write_text("x = 1")
    inner.write_text("y = 1")
    seen = {sources(tmp_path)}
    for changed, text in ((file, "x = 2"), (inner, "y = 2")):
        kept = changed.stat()
        changed.write_text(text)
        os.utime(changed, ns=(kept.st_atime_ns, kept.st_mtime_ns))  # neither size nor time tells
        seen.add(sources(tmp_path))
    inner.rename(tmp_path / "inner" / "c.py")
    seen.add(sources(tmp_path))
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_text("")
    seen.add(sources(tmp_path))
    assert len(seen) == 4


def test_a_package_in_an_archive_has_a_stamp(tmp_path):
    archive = tmp_path / "all.zip"
    archive.write_bytes(b"one")
    before = sources(archive / "aggro")
    archive.write_bytes(b"two")
    assert before
    assert sources(archive / "aggro") != before
    assert sources(tmp_path / "nowhere") == ""


@pytest.mark.parametrize(
    "name", ["BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "CPU_NAME", "DEBUGINFO_DEFAULT"]
)
def test_settings_that_change_the_code_change_the_stamp(name, monkeypatch):
    before = stamp("code")
    monkeypatch.setattr(numba.config, name, 7)
    assert stamp("code") != before


def test_settings_that_do_not_leave_it(monkeypatch):
    before = stamp("code")
    for name in ("CACHE_DIR", "NUM_THREADS", "NUMBA_NUM_THREADS", "THREADING_LAYER", "DUMP_ASSEMBLY", "COLOR_SCHEME"):
        monkeypatch.setattr(numba.config, name, "7", raising=False)
    assert stamp("code") == before
    assert stamp("other code") != before
    assert stamp("code", "another way") != before
    assert "OPT" in settings()


@pytest.mark.parametrize("what", ["numba", "llvmlite", "numpy", "python"])
def test_versions_change_the_stamp(what, monkeypatch):
    from aggro.engine.jit import stamp as module

    before = stamp("code")
    owner, name = {
        "numba": (module.numba, "__version__"),
        "llvmlite": (module.llvmlite, "__version__"),
        "numpy": (module.np, "__version__"),
        "python": (module.sys, "version"),
    }[what]
    monkeypatch.setattr(owner, name, "0.0")
    assert stamp("code") != before
