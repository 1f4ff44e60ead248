"""The files beside a model that is labelled: nothing else is taken for them, and nothing else is replaced by them."""

from __future__ import annotations

import io
import os
import sys

import pytest
from helpers.runner import good, mistake

from aggro.models import atomic

pytestmark = pytest.mark.xdist_group("label")


@pytest.fixture
def label(csv, tmp_path, monkeypatch):
    """The command, and how to run it with answers."""
    command = ("label", csv, "--classes", "up,down", "--delta", "1", "--model", tmp_path / "m.aggro")

    def start(*options):
        monkeypatch.setattr(sys, "stdin", io.StringIO("up\ndown\nquit\n"))
        return good(*command, *options)

    return command, start


@pytest.mark.parametrize("text", [b"notes\n", b"notes", b"two\nlines of notes\n", b'{"a": 1}\n', b"\x89PNG\r\n\x1a\n"])
def test_what_is_no_journal_is_not_touched(label, tmp_path, text):
    notes = tmp_path / "m.aggro.answers"
    notes.write_bytes(text)
    assert f"{notes} exists and is not a journal of answers" in mistake(*label[0])
    assert notes.read_bytes() == text
    assert os.listdir(tmp_path) == [notes.name]


@pytest.mark.parametrize("text", [b"", b"\0" * 50, b'{"run":{"data":[[12', b'{"run":'])
def test_a_journal_whose_first_line_is_torn_is_begun_anew(label, tmp_path, text):
    (tmp_path / "m.aggro.answers").write_bytes(text)
    label[1]()
    assert (tmp_path / "m.aggro.answers").read_bytes().count(b"\n") == 3


def test_another_model_at_the_start_is_refused(label, csv, model, tmp_path):
    command, start = label
    start("--seed-labels", csv)
    whole = (tmp_path / "m.aggro.start").read_bytes()
    (tmp_path / "m.aggro.start").write_bytes(model.read_bytes())
    os.unlink(tmp_path / "m.aggro")
    before = (tmp_path / "m.aggro.answers").read_bytes()
    assert "m.aggro.start is not the model that" in mistake(*command, "--seed-labels", csv)
    assert (tmp_path / "m.aggro.answers").read_bytes() == before
    (tmp_path / "m.aggro.start").write_bytes(whole)
    assert "Continuing after 2 answers" in start("--seed-labels", csv).err


def test_the_name_of_a_new_journal_is_forced_to_the_disk(label, tmp_path, monkeypatch):
    folders = []
    real = atomic.sync_folder
    monkeypatch.setattr(atomic, "sync_folder", lambda folder: (folders.append(folder), real(folder)))
    label[1]("--budget", "0")
    assert folders[0] == str(tmp_path)
