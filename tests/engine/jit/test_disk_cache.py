"""Compiled code on disk: whatever happens to the files, what runs is right."""

from __future__ import annotations

import gc
import os
import pickle
import random
import shutil
import warnings

import numba
import numpy as np
import pytest

from aggro.engine.jit.compile import kernel
from aggro.engine.jit.private import disk_cache as keeping
from aggro.engine.rows import pointers_ascend

KINDS = {
    "empty": lambda content: b"",
    "one byte": lambda content: content[:1],
    "cut in the name": lambda content: content[: len(keeping.CODE_MAGIC) - 1],
    "cut in the checksum": lambda content: content[: len(keeping.CODE_MAGIC) + 5],
    "nothing but the checksum": lambda content: content[: len(keeping.CODE_MAGIC) + keeping.CHECKSUM_BYTES],
    "half": lambda content: content[: len(content) // 2],
    "all but a byte": lambda content: content[:-1],
    "longer": lambda content: content + b"\0",
    "zeros": lambda content: bytes(len(content)),
    "another checksum": lambda content: flipped(content, len(keeping.CODE_MAGIC) + 3),
    "another byte in the middle": lambda content: flipped(content, len(content) // 2),
    "another last byte": lambda content: flipped(content, -1),
    "text": lambda content: b"<html>404</html>",
    "a pickle": lambda content: pickle.dumps(("numba", 1)),
}


def flipped(content: bytes, at: int) -> bytes:
    changed = bytearray(content)
    changed[at] ^= 0x10
    return bytes(changed)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder for compiled code."""
    monkeypatch.setattr(keeping, "home", lambda: tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with one file, which is as it was written."""
    made = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(keeping, "home", lambda: made)
        assert start() == (0, 1)
    return made


def start() -> tuple[int, int]:
    """Run a small entry point as a new process does; how often its code was found, and how often compiled."""
    fresh = kernel(pointers_ascend.py_func)
    assert fresh(np.array([0, 2, 5])) is True
    assert fresh(np.array([0, 2, 1])) is False
    return sum(fresh.stats.cache_hits.values()), sum(fresh.stats.cache_misses.values())


def entry(folder):
    (found,) = folder.glob("*.code")
    return found


def found_whole(folder):
    """Whether what is in the folder would be used, without compiling if not."""
    fresh = kernel(pointers_ascend.py_func)
    signature = (numba.typeof(np.array([0, 2, 5])),)
    return fresh._cache.load_overload(signature, fresh.targetctx) is not None


def test_what_was_compiled_is_found(whole, folder):
    shutil.copytree(whole, folder, dirs_exist_ok=True)
    assert start() == (1, 0)
    assert entry(folder).stat().st_mode & 0o077 == 0
    assert not list(folder.glob("*.tmp"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_found_out(whole, folder, kind):
    shutil.copytree(whole, folder, dirs_exist_ok=True)
    entry(folder).write_bytes(KINDS[kind](entry(folder).read_bytes()))
    assert not found_whole(folder)


def test_any_byte_counts(whole, folder):
    shutil.copytree(whole, folder, dirs_exist_ok=True)
    content = entry(folder).read_bytes()
    places = random.Random(0).sample(range(len(content)), 300)
    for at in (*range(60), *places):
        entry(folder).write_bytes(flipped(content, at))
        assert not found_whole(folder), at
    entry(folder).write_bytes(content)
    assert found_whole(folder)


@pytest.mark.parametrize("kind", ["empty", "half", "another byte in the middle"])
def test_a_damaged_file_is_made_again(whole, folder, kind):
    shutil.copytree(whole, folder, dirs_exist_ok=True)
    entry(folder).write_bytes(KINDS[kind](entry(folder).read_bytes()))
    assert start() == (0, 1)
    assert start() == (1, 0)


def test_a_file_in_the_place_of_another_is_found_out(whole, folder):
    """The code for other types, which is whole in itself."""
    shutil.copytree(whole, folder, dirs_exist_ok=True)
    content = entry(folder).read_bytes()
    entry(folder).unlink()
    fresh = kernel(pointers_ascend.py_func)
    assert fresh(np.array([0, 2, 5], np.uint8)) is True
    entry(folder).write_bytes(content)
    again = kernel(pointers_ascend.py_func)
    assert again(np.array([0, 2, 5], np.uint8)) is True
    assert sum(again.stats.cache_misses.values()) == 1


class Trap:
    """A pickle that makes a folder when it is read."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_a_pickle_that_nobody_vouches_for_is_not_read(whole, folder):
    shutil.copytree(whole, folder, dirs_exist_ok=True)
    trap, head = folder / "sprung", len(keeping.CODE_MAGIC) + keeping.CHECKSUM_BYTES
    content = entry(folder).read_bytes()
    for bad in (pickle.dumps(Trap(trap)), content[:head] + pickle.dumps(Trap(trap))):
        entry(folder).write_bytes(bad)
        assert not found_whole(folder)
    assert not trap.exists()


def test_what_cannot_be_replaced_is_compiled_and_said(whole, folder):
    shutil.copytree(whole, folder, dirs_exist_ok=True)
    place = entry(folder)
    place.unlink()
    (place / "occupied").mkdir(parents=True)
    with pytest.warns(UserWarning, match="cannot be stored in"):
        assert start() == (0, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is said once
        assert start() == (0, 1)
    assert not list(folder.glob("*.tmp"))


def test_a_folder_that_was_taken_away_is_made_again(whole, folder, monkeypatch):
    home = folder / "deleted"
    monkeypatch.setattr(keeping, "home", lambda: home)
    assert start() == (0, 1)
    assert start() == (1, 0)


def test_code_from_other_files_than_those_on_disk_is_not_kept(folder, monkeypatch):
    """The package was upgraded while this process was running."""
    monkeypatch.setattr(keeping, "SOURCES", "what was imported")
    assert start() == (0, 1)
    assert not list(folder.glob("*.code"))


def test_code_from_outside_the_package_is_not_kept(folder):
    @kernel
    def twice(x):
        return 2 * x

    assert twice(2) == 4
    assert not list(folder.iterdir())


def looked_at(x):
    return x


def test_garbage_is_collected_after_compiling_if_it_was_before(folder):
    """Also where compiling fails; and not meanwhile."""
    meanwhile = []

    @numba.extending.overload(looked_at)
    def looks(x):
        meanwhile.append(gc.isenabled())
        return lambda x: x

    good, bad, was = kernel(lambda x: looked_at(x) + x), kernel(lambda x: x.no_such_thing), gc.isenabled()
    try:
        for number, collects, switch in ((1.0, True, gc.enable), (1, False, gc.disable)):
            switch()
            assert good(number) == 2
            assert gc.isenabled() == collects
            with pytest.raises(numba.core.errors.TypingError):
                bad(number)
            assert gc.isenabled() == collects
    finally:
        (gc.enable if was else gc.disable)()
    assert len(meanwhile) >= 2
    assert not any(meanwhile)
