"""The named data sets."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

from aggro import streams
from aggro.streams import datasets
from aggro.streams.io.fetch import digest_of

HAVE = os.environ.get("AGGRO_DATA") or next(
    (str(p) for p in [Path(__file__).parents[3] / "shared" / "data"] if p.is_dir()), None
)
PARTS = [(entry.name, part) for entry in datasets.DATA_SETS for part in entry.parts]
ABSENT = {"alpha", "delta", "gamma", "webspam"}
needs_data = pytest.mark.skipif(HAVE is None, reason="the data sets are not here: AGGRO_DATA names their folder")


@needs_data
@pytest.mark.parametrize(("name", "part"), [pair for pair in PARTS if pair[0] not in {*ABSENT, "mnist", "cbcl"}])
def test_a_loaded_set_is_what_it_should_be(name, part):
    entry = datasets.DATA_SET_BY_NAME[name]
    chunks = list(streams.load(name, part, data=HAVE))
    assert sum(len(chunk.y) for chunk in chunks) == entry.parts[part].rows
    y = np.concatenate([chunk.y for chunk in chunks])
    if entry.task != "regression":
        assert sorted(set(y.tolist())) == sorted(entry.classes)
        expected = len(y) * (1.0 - sum(np.mean(y == label) ** 2 for label in entry.classes))
        is_sorted = np.count_nonzero(y[1:] != y[:-1]) * 20 < expected
        assert is_sorted == ("orted by class" in entry.note and (name, part) != ("reuters_tick", "train"))
    if chunks[0].names is None:
        assert {chunk.X.shape[1] for chunk in chunks} == {entry.features}
    elif entry.features is not None:
        assert len({column for chunk in chunks for column in chunk.names}) == entry.features


@needs_data
@pytest.mark.parametrize("name", ["mnist", "cbcl"])
def test_the_large_ones_have_their_width(name):
    for part in datasets.DATA_SET_BY_NAME[name].parts:
        chunk = next(iter(streams.load(name, part, data=HAVE)))
        assert chunk.X.shape[1] == datasets.DATA_SET_BY_NAME[name].features


@needs_data
@pytest.mark.parametrize(("name", "part"), [p for p in PARTS if datasets.DATA_SET_BY_NAME[p[0]].parts[p[1]].sha256])
def test_checksums_are_those_of_the_files(name, part):
    known = datasets.DATA_SET_BY_NAME[name].parts[part]
    assert digest_of(datasets.path_of(name, part, HAVE)) == (known.sha256, known.rows)


def test_every_set_has_a_home_and_a_sensible_entry():
    for entry in datasets.DATA_SETS:
        assert re.match(r"https?://", entry.home)
        assert entry.task in ("binary", "classes", "regression", "outliers")
        assert (entry.task == "regression") == (not entry.classes)
        assert set(entry.parts) <= {"train", "test"}
        for part in entry.parts.values():
            assert part.rows > 0
            assert part.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", part.sha256)
    assert set(datasets.DATA_SET_BY_NAME) >= ABSENT


def test_a_set_may_be_packed_in_any_way(tmp_path, monkeypatch):
    import bz2

    lines = b"-1 3:1 123:1\n+1 1:1\n"
    (tmp_path / "a9a.svm.bz2").write_bytes(bz2.compress(lines))
    (tmp_path / "a9a.t.svm").write_bytes(lines)
    for part in ("train", "test"):
        (chunk,) = streams.load("a9a", part, data=tmp_path)
        assert chunk.X.shape == (2, 123)
    monkeypatch.setenv("AGGRO_DATA", str(tmp_path))
    assert len(list(streams.load("a9a", skip_bad=True))) == 1


def test_mistakes_say_what_to_do(tmp_path, monkeypatch):
    monkeypatch.delenv("AGGRO_DATA", raising=False)
    with pytest.raises(ValueError, match="Set AGGRO_DATA"):
        streams.load("a9a")
    with pytest.raises(ValueError, match="Did you mean 'ijcnn1'"):
        streams.load("ijcnn", data=tmp_path)
    with pytest.raises(ValueError, match="There are: a9a"):
        streams.load("qqqq", data=tmp_path)
    with pytest.raises(ValueError, match="no part 'test', only 'train'"):
        streams.load("sonar", "test", data=tmp_path)
    with pytest.raises(FileNotFoundError, match="aggro data fetch a9a"):
        streams.load("a9a", data=tmp_path)
    with pytest.raises(FileNotFoundError, match="Get it from http"):
        streams.load("alpha", data=tmp_path)
