"""Compiled code that comes with the package: used where it was made for, never where it was not."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
import zlib

import numba
import numpy as np
import pytest

from aggro.engine.jit import cache_folder, prebuilt
from aggro.engine.jit.built import facts
from aggro.engine.jit.compile import kernel
from aggro.engine.jit.private import disk_cache as keeping
from aggro.engine.rows import pointers_ascend

SIGNATURE = (numba.typeof(np.array([0, 2, 5])),)
ours = pytest.mark.skipif(prebuilt.level() == "", reason="there is no level for machines of this kind")
pytestmark = [ours, pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")]


def start() -> tuple[int, int]:
    """Run a small entry point as a new process does; how often its code was found, and how often compiled."""
    prebuilt.prebuilt.cache_clear()
    keeping.came.cache_clear()
    fresh = kernel(pointers_ascend.py_func)
    assert fresh(np.array([0, 2, 5])) is True
    assert fresh(np.array([0, 2, 1])) is False
    return sum(fresh.stats.cache_hits.values()), sum(fresh.stats.cache_misses.values())


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A file of compiled code, under the name that it has in a wheel."""
    kept, made = tmp_path_factory.mktemp("kept"), tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(keeping, "home", lambda: kept)
        fresh = kernel(pointers_ascend.py_func)
        fresh(np.array([0, 2, 5]))
        (path,) = kept.glob("*.code")
        payload = path.read_bytes()[len(keeping.CODE_MAGIC) + keeping.CHECKSUM_BYTES :]
        name = fresh._cache.shipped(SIGNATURE, fresh.targetctx.codegen())
    (made / name).write_bytes(keeping.CODE_MAGIC + keeping.checked(name, payload) + payload)
    return made / name


@pytest.fixture
def package(compiled, tmp_path, monkeypatch):
    """A folder of kernels as a wheel has it, and an empty one for what is compiled."""
    folder, kept = tmp_path / "kernels", tmp_path / "kept"
    folder.mkdir(mode=0o755)
    kept.mkdir()
    shutil.copy(compiled, folder)
    monkeypatch.setattr(prebuilt, "KERNEL_FOLDER", folder)
    monkeypatch.setattr(keeping, "home", lambda: kept)
    monkeypatch.setattr(cache_folder, "WARNED", set())
    monkeypatch.delenv("AGGRO_NATIVE", raising=False)
    write_list(folder)
    yield folder
    monkeypatch.undo()
    prebuilt.prebuilt.cache_clear()
    keeping.came.cache_clear()


def write_list(folder, **changed):
    made_for = prebuilt.made_for(keeping.SOURCES, tuple(map(repr, keeping.COMPILE_WAYS))) | changed
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.code")}
    (folder / prebuilt.KERNEL_LIST).write_text(json.dumps({"made for": made_for, "files": sums}))


def test_it_is_used_and_nothing_is_compiled(package):
    assert start() == (1, 0)
    assert not list((package.parent / "kept").iterdir())
    assert facts()["compiled code"] == f"1 kernels came with this package, for {prebuilt.level()}"


def test_no_folder_is_looked_for_where_nothing_is_compiled(package, monkeypatch, recwarn):
    """On a read-only file system that would warn of compiling, though nothing is compiled."""
    monkeypatch.setattr(keeping, "home", lambda: pytest.fail("a folder was looked for"))
    prebuilt.prebuilt.cache_clear()
    keeping.came.cache_clear()
    fresh = kernel(pointers_ascend.py_func)
    assert fresh._cache.is_there(SIGNATURE, fresh.targetctx.codegen())
    assert fresh(np.array([0, 2, 5]))
    assert not recwarn.list


@pytest.mark.parametrize("name", prebuilt.made_for("", ()))
def test_what_was_made_for_something_else_is_not_used_and_that_is_said(package, name):
    write_list(package, **{name: "another"})
    with pytest.warns(cache_folder.CompiledCodeWarning, match="is not used, and code is compiled here, since"):
        assert start() == (0, 1)
    assert name in facts()["compiled code"]


def test_native_code_can_be_asked_for(package, monkeypatch, recwarn):
    monkeypatch.setenv("AGGRO_NATIVE", "1")
    assert start() == (0, 1)
    assert "AGGRO_NATIVE" in facts()["compiled code"]
    assert not recwarn.list


@pytest.mark.parametrize(("name", "features"), [("generic", ""), (None, "-avx2"), (prebuilt.level(), "-avx2")])
def test_code_for_another_processor_can_be_asked_for(package, monkeypatch, recwarn, name, features):
    monkeypatch.setattr(numba.config, "CPU_NAME", name)
    monkeypatch.setattr(numba.config, "CPU_FEATURES", features)
    prebuilt.prebuilt.cache_clear()
    found = prebuilt.prebuilt(keeping.SOURCES, tuple(map(repr, keeping.COMPILE_WAYS)))
    assert not found.files
    assert "NUMBA_CPU" in found.why
    assert not recwarn.list


def test_a_processor_below_the_level_compiles(package, monkeypatch, recwarn):
    monkeypatch.setattr(prebuilt.binding, "get_host_cpu_features", lambda: {"sse3": True})
    if not prebuilt.CPU_LEVELS[prebuilt.platform.machine()][1]:
        pytest.skip("all processors of this kind have the level")
    assert start() == (0, 1)
    assert "avx2" in facts()["compiled code"]
    assert not recwarn.list


def flipped(content: bytes) -> bytes:
    return content[:-9] + bytes([content[-9] ^ 4]) + content[-8:]


@pytest.mark.parametrize("damage", [flipped, lambda _: b"", lambda content: content[:-1]], ids=["bit", "empty", "cut"])
def test_a_file_that_is_not_the_listed_one_is_not_read(package, damage):
    (path,) = package.glob("*.code")
    path.write_bytes(damage(path.read_bytes()))
    assert start() == (0, 1)
    assert start() == (1, 0)  # what was compiled is kept, and found


class Trap:
    """A pickle that makes a folder when it is read."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("listed", [False, True])
def test_a_file_that_is_whole_in_itself_must_be_the_listed_one(package, tmp_path, listed):
    """Its own checksum is no proof: whoever writes the file writes that too. The list is what is trusted."""
    (path,) = package.glob("*.code")
    payload = zlib.compress(pickle.dumps(Trap(tmp_path / "sprung")))
    path.write_bytes(keeping.CODE_MAGIC + keeping.checked(path.name, payload) + payload)
    if listed:
        write_list(package)
    assert start() == (0, 1)
    assert (tmp_path / "sprung").exists() == listed


def test_a_file_that_is_gone_is_compiled(package):
    (path,) = package.glob("*.code")
    path.unlink()
    assert start() == (0, 1)


def test_a_listed_file_under_the_name_of_another_is_not_used(package):
    (path,) = package.glob("*.code")
    path.write_bytes(keeping.CODE_MAGIC + keeping.checked("another", b"x") + b"x")
    write_list(package)
    assert start() == (0, 1)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"made for": 3, "files": {}}', '{"files": {}}'])
def test_a_list_that_cannot_be_read_is_said(package, text):
    (package / prebuilt.KERNEL_LIST).write_text(text)
    with pytest.warns(cache_folder.CompiledCodeWarning, match="cannot be read"):
        assert start() == (0, 1)


@pytest.mark.skipif(os.name != "posix", reason="of POSIX")
@pytest.mark.parametrize("what", ["the folder", "the list"])
def test_what_others_can_write_is_not_used(package, what):
    (package if what == "the folder" else package / prebuilt.KERNEL_LIST).chmod(0o777)
    with pytest.warns(cache_folder.CompiledCodeWarning, match="other users can write"):
        assert start() == (0, 1)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give files away")
def test_what_belongs_to_another_user_is_not_used(package):
    os.chown(package / prebuilt.KERNEL_LIST, 12345, -1)
    with pytest.warns(cache_folder.CompiledCodeWarning, match="belongs to another user"):
        assert start() == (0, 1)


def test_a_package_without_kernels_compiles_and_says_nothing(package, recwarn):
    shutil.rmtree(package)
    assert start() == (0, 1)
    assert not recwarn.list
    assert "came without" in facts()["compiled code"]


def test_warming_a_learner_leaves_nothing_to_compile(tmp_path):
    """What ``aggro warm`` compiles is all that the learner asks for later, in each form of rows; counted."""
    program = (
        "import sys, numpy as np, scipy.sparse as sp\n"
        "from numba.core import event\n"
        "if sys.argv[1] == 'warm':\n"
        "    from aggro.warm import warm\n"
        "    assert warm('MultiplicativePARegressor')\n"
        "    sys.exit()\n"
        "with event.install_recorder('numba:compile') as found:\n"
        "    from aggro import MultiplicativePARegressor\n"
        "    X = np.abs(np.random.default_rng(0).standard_normal((70, 9)))\n"
        "    y = X[:, 0]\n"
        "    for rows in (X, X.astype(np.float32), sp.csr_matrix(X)):\n"
        "        MultiplicativePARegressor().fit(rows, y).predict(rows)\n"
        "    one = MultiplicativePARegressor()\n"
        "    for k in range(9):\n"
        "        one.learn_one({'a': 1.0, 'b': k}, 1.0).predict_one({'a': 1.0})\n"
        "assert not found.buffer, len(found.buffer)\n"
    )
    for what in ("warm", "use"):
        subprocess.run([sys.executable, "-c", program, what], check=True, capture_output=True, text=True)
