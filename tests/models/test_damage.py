"""A file that is not a whole model is refused, by name, with what is wrong and what to do."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest
from helpers import forge

import aggro
from aggro import models
from aggro.models import ModelFileError


@pytest.fixture(scope="module", params=["PAClassifier", "KernelPARegressor"])
def content(request, tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("good") / "m.aggro"
    forge.fitted(request.param, random_state=0).save(path)
    return path.read_bytes()


def refused(path, match=None):
    """Every way to read the file refuses it with one line."""
    faults = []
    for read in (aggro.load, models.load_checkpoint, models.describe, lambda p: models.load(p, shell=False)):
        with pytest.raises(ModelFileError, match=match) as caught:
            read(path)
        faults.append(str(caught.value))
    assert len(set(faults)) == 1
    assert faults[0].startswith(f"{path}: ")
    assert "\n" not in faults[0]
    return caught.value


def test_every_truncation(content, tmp_path):
    path = tmp_path / "cut.aggro"
    for n in range(len(content)):
        path.write_bytes(content[:n])
        with pytest.raises(ModelFileError):
            models.load(path, shell=False)
    refused(path, "checksum is wrong")


def test_a_flipped_bit_in_every_byte(content, tmp_path):
    path = tmp_path / "flipped.aggro"
    bits = np.random.default_rng(0).integers(0, 8, len(content)).tolist()
    for place, bit in enumerate(bits):
        damaged = bytearray(content)
        damaged[place] ^= 1 << bit
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError):
            models.load(path, shell=False)


def test_random_damage(content, tmp_path):
    """Runs of bytes that are lost, doubled, zeroed or foreign, and bytes appended."""
    path = tmp_path / "damaged.aggro"
    rng = np.random.default_rng(0)
    for _ in range(200):
        a, b = sorted(rng.integers(0, len(content), 2).tolist())
        for middle in (b"", content[a:b] * 2, bytes(b - a), rng.bytes(b - a)):
            damaged = content[:a] + middle + content[b:]
            if damaged != content:
                path.write_bytes(damaged)
                with pytest.raises(ModelFileError):
                    models.load(path, shell=False)
    refused(forge.write(path, content + b"\0"), "checksum is wrong")


@pytest.mark.parametrize(
    ("strange", "fault"),
    [
        (b"", "is empty"),
        (b"\n", "not an aggro model"),
        (b"PK\x03\x04" + bytes(1000), "not an aggro model"),
        (b"+1 1:0.5 2:1\n" * 100, "not an aggro model"),
        (pickle.dumps([1, 2, 3] * 100), "not an aggro model"),
        (bytes(5000), "not an aggro model"),
        (b"\x02\0\0\0\0\0\0\0{}", "not an aggro model"),
        (b'\x10\0\0\0\0\0\0\0{"w":{"dtype":"F64"}}' + bytes(40), "not an aggro model"),
        (
            (2**64 - 1).to_bytes(8, "little") + forge.CONTAINER_MAGIC + bytes(100),
            "claims to have 18446744073709551615 bytes",
        ),
        ((10**8).to_bytes(8, "little") + forge.CONTAINER_MAGIC + bytes(100), "cut off"),
        ((5).to_bytes(8, "little") + forge.CONTAINER_MAGIC + bytes(100), "claims to have 5 bytes"),
    ],
    ids=range(11),
)
def test_files_that_are_no_models(strange, fault, tmp_path):
    refused(forge.write(tmp_path / "strange", strange), fault)


def test_what_is_no_file(tmp_path):
    refused(tmp_path, "this is a folder")
    refused("/dev/null", "a device or a pipe")
    with pytest.raises(FileNotFoundError, match="There is no such model file"):
        aggro.load(tmp_path / "absent.aggro")


def test_the_error_has_parts_and_can_be_pickled(tmp_path):
    error = refused(forge.write(tmp_path / "empty", b""))
    assert (error.file, error.fault) == (str(tmp_path / "empty"), "the file is empty")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert isinstance(error, ValueError)


def test_a_huge_sparse_file_takes_no_memory(content, tmp_path):
    """A terabyte of holes behind a header that claims it: refused for the header, before it is read."""
    path = tmp_path / "huge"
    try:
        with open(path, "wb") as file:
            file.write((2**40).to_bytes(8, "little") + forge.CONTAINER_MAGIC)
            os.truncate(path, 2**40)
    except OSError:
        pytest.skip("the file system has no room for holes")
    refused(path, "claims to have")
