"""``aggro data``."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from helpers.runner import good, mistake

from aggro.streams import datasets

TEXT = b"+1 1:1 3:1\n-1 2:1\n"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def tiny(monkeypatch):
    """A data set of two rows, whose checksum is known."""
    digest = hashlib.sha256(TEXT).hexdigest()
    part = datasets.Part("tiny.svm", 2, "http://nowhere.invalid/tiny", digest)
    entry = datasets.DataSet("tiny", "binary", 3, (-1, 1), {"train": part}, "http://nowhere.invalid")
    monkeypatch.setitem(datasets.DATA_SET_BY_NAME, "tiny", entry)
    return entry


@pytest.fixture
def served(tmp_path):
    folder = tmp_path / "served"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_the_list(tmp_path, monkeypatch):
    monkeypatch.delenv("AGGRO_DATA", raising=False)
    (tmp_path / "a9a.svm.gz").write_bytes(b"")
    for arguments in (["data"], ["data", "list"]):
        out = good(*arguments).out
        assert "webspam" in out
        assert "AGGRO_DATA" in out
    lines = {
        line.split()[0]: line for line in good("data", "list", "--data", tmp_path).out.splitlines() if line.split()
    }
    assert "partly" in lines["a9a"]
    assert "can be fetched" in lines["ijcnn1"]
    assert lines["alpha"].split()[-1] == "no"
    sets = {entry["name"]: entry for entry in good("data", "list", "--json", "--data", tmp_path).json}
    assert sets["a9a"]["features"] == 123
    assert sets["a9a"]["paths"] == {"train": str(tmp_path / "a9a.svm.gz"), "test": None}


def test_where_things_are(tmp_path, monkeypatch):
    monkeypatch.setenv("AGGRO_DATA", str(tmp_path))
    (tmp_path / "a9a.t.svm").write_bytes(TEXT)
    assert good("data", "path").out == f"{tmp_path}\n"
    assert good("data", "path", "a9a", "--test").out == f"{tmp_path / 'a9a.t.svm'}\n"
    assert "aggro data fetch a9a" in mistake("data", "path", "a9a")
    assert "Did you mean 'a9a'?" in mistake("data", "path", "a9b")
    monkeypatch.delenv("AGGRO_DATA")
    assert "give --data" in mistake("data", "path")


def test_fetching(tiny, served, tmp_path):
    folder, url = served
    (folder / "tiny.svm").write_bytes(TEXT)
    ran = good("data", "fetch", "tiny", "--url", f"{url}/%s", "--data", tmp_path / "new")
    assert ran.out == f"{tmp_path / 'new' / 'tiny.svm'}\n"
    assert "Fetching tiny.svm" in ran.err
    (chunk,) = datasets.load("tiny", data=tmp_path / "new")
    assert chunk.X.shape == (2, 3)
    (folder / "tiny.svm").unlink()
    assert good("data", "fetch", "tiny", "--url", f"{url}/%s", "--data", tmp_path / "new").err == ""  # it is there
    said = mistake("data", "fetch", "tiny", "--url", f"{url}/%s", "--data", tmp_path / "new", "--again")
    assert "404" in said


def test_what_comes_is_checked(tiny, served, tmp_path, monkeypatch):
    folder, url = served
    (folder / "tiny.svm").write_bytes(TEXT.replace(b"3", b"4"))
    arguments = ("data", "fetch", "tiny", "--url", f"{url}/%s", "--data", tmp_path / "new")
    assert "checksum" in mistake(*arguments)
    (folder / "tiny.svm.gz").write_bytes(b"\x1f\x8b not really")
    assert "damaged" in mistake(*arguments[:-3], f"{url}/%s.gz", *arguments[-2:])
    unknown = replace(tiny, parts={"train": replace(tiny.parts["train"], sha256=None)})
    monkeypatch.setitem(datasets.DATA_SET_BY_NAME, "tiny", unknown)
    (folder / "tiny.svm").write_bytes(TEXT[:11])
    assert "has 1 lines, and should have 2" in mistake(*arguments)
    assert list((tmp_path / "new").iterdir()) == []


def test_what_cannot_be_fetched(tmp_path):
    assert "Get it from http" in mistake("data", "fetch", "alpha", "--data", tmp_path)
    assert "Did you mean" in mistake("data", "fetch", "webspan", "--data", tmp_path)
