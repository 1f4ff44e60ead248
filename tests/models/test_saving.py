"""Saving replaces a file whole or not at all, and refuses what could not be loaded."""

from __future__ import annotations

import errno
import os
import resource
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import forge

import aggro
from aggro.models import atomic
from aggro.published import PAClassifier, PARegressor
from aggro.testing.variants import learn_rows

OLD, NEW = "PARegressor", "PAClassifier"


@pytest.fixture
def path(tmp_path) -> Path:
    """A saved model."""
    forge.fitted(OLD).save(tmp_path / "m.aggro")
    return tmp_path / "m.aggro"


def untouched(path, before):
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("step", ["listdir", "open", "fsync", "replace", "write", "chmod"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EIO])
def test_a_failure_at_any_step(step, code, path, monkeypatch):
    before = path.read_bytes()
    model = forge.fitted(NEW)

    def fail(*args, **kwargs):
        raise OSError(code, os.strerror(code))

    if step == "write":
        monkeypatch.setattr(
            "aggro.models.saving.write", lambda file, *rest: (file.write(b"half"), file.flush(), fail())
        )
    else:
        monkeypatch.setattr(atomic.os, step, fail)
    if step == "listdir":  # a folder that cannot be listed can be written to all the same
        model.save(path)
        monkeypatch.undo()
        assert type(aggro.load(path)).__name__ == NEW
        return
    with pytest.raises(OSError, match="Could not save the model") as caught:
        model.save(path)
    monkeypatch.undo()
    assert caught.value.errno == code
    assert str(path) in str(caught.value)
    assert "is unchanged" in str(caught.value)
    assert "\n" not in str(caught.value)
    untouched(path, before)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interruption_while_writing(error, path, monkeypatch):
    before = path.read_bytes()

    def interrupted(file, *rest):
        file.write(b"half")
        raise error

    monkeypatch.setattr("aggro.models.saving.write", interrupted)
    with pytest.raises(error):
        forge.fitted(NEW).save(path)
    untouched(path, before)


def in_a_process(code: str, *args: object, **options: object) -> subprocess.CompletedProcess:
    paths = [str(Path(__file__).parent.parent), str(Path(aggro.__file__).parent.parent)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, **options)


def test_a_full_disk(path):
    """The system's own refusal, in the middle of a large array."""
    before = path.read_bytes()
    code = (
        "import sys, numpy as np; from aggro import PARegressor\n"
        "model = PARegressor().fit(np.ones((1, 100_000)), [1.0])\n"
        "try: model.save(sys.argv[1])\n"
        "except OSError as error: print(error.errno, error)"
    )
    done = in_a_process(code, path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000)))
    assert done.stdout.startswith(str(errno.EFBIG)), done.stderr
    untouched(path, before)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written(path):
    before = path.read_bytes()
    path.parent.chmod(0o555)
    try:
        with pytest.raises(PermissionError, match="Save where you may write"):
            forge.fitted(NEW).save(path)
        untouched(path, before)
    finally:
        path.parent.chmod(0o755)


@pytest.mark.parametrize("step", ["os.fsync", "os.replace", "aggro.models.saving.write"])
def test_a_killed_process_leaves_the_old_model(step, path):
    """What it leaves behind, the next save takes away."""
    before = path.read_bytes()
    home = step.rpartition(".")[0]
    code = (
        f"import os, signal, sys, {home}; from helpers import forge\n"
        f"model = forge.fitted({NEW!r})\n"
        f"{step} = lambda *args: os.kill(os.getpid(), signal.SIGKILL)\n"
        "model.save(sys.argv[1])"
    )
    done = in_a_process(code, path)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert path.read_bytes() == before
    assert len(os.listdir(path.parent)) == 2
    forge.fitted(NEW).save(path)
    assert type(aggro.load(path)).__name__ == NEW
    assert os.listdir(path.parent) == [path.name]


def test_processes_killed_at_any_moment(path):
    """The file is always one of the two models that were being saved in turn."""
    code = (
        "import sys; from helpers import forge\n"
        "models = [forge.fitted(name, random_state=0) for name in forge.NAMES]\n"
        "for i in range(10**9):\n"
        "    models[i % 2].save(sys.argv[1])\n"
        "    print(i, flush=True)"
    )
    good = set()
    for name in forge.NAMES:
        forge.fitted(name, random_state=0).save(path)
        good.add(path.read_bytes())
    paths = [str(Path(__file__).parent.parent), str(Path(aggro.__file__).parent.parent)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    for rounds in (1, 2, 5):
        process = subprocess.Popen([sys.executable, "-c", code, str(path)], env=environment, stdout=subprocess.PIPE)
        for _ in range(rounds):
            process.stdout.readline()
        process.kill()
        process.communicate()
        assert path.read_bytes() in good
    forge.fitted(NEW).save(path)
    assert os.listdir(path.parent) == [path.name]


def test_two_processes_that_save_at_once_do_not_disturb_each_other(path):
    """One has its temporary file open and locked; the other's sweep leaves it alone."""
    with atomic.replacing(str(path)) as file:
        file.write(b"first")
        done = in_a_process(
            "import sys; from helpers import forge; forge.fitted('PAClassifier').save(sys.argv[1])", path
        )
        assert done.returncode == 0, done.stderr
        assert type(aggro.load(path)).__name__ == NEW
    assert path.read_bytes() == b"first"
    assert os.listdir(path.parent) == [path.name]


def test_permissions_are_kept_and_new_files_follow_the_umask(path):
    path.chmod(0o640)
    forge.fitted(NEW).save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    before = os.umask(0o027)
    try:
        forge.fitted(NEW).save(path.with_name("new.aggro"))
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.with_name("new.aggro").stat().st_mode) == 0o640


def test_a_link_stays_a_link(path):
    link = path.with_name("latest.aggro")
    link.symlink_to(path.name)
    forge.fitted(NEW).save(link)
    assert link.is_symlink()
    assert type(aggro.load(path)).__name__ == NEW


def test_names_of_every_kind(tmp_path, monkeypatch):
    model = forge.fitted(NEW)
    monkeypatch.chdir(tmp_path)
    for name in ("plain", b"bytes", "ü ☃", "x" * 255, tmp_path / "sub.dir.aggro"):
        model.save(name)
        aggro.load(name)


def test_what_cannot_be_saved_to(path, tmp_path):
    model = forge.fitted(NEW)
    for target, kind, match in [
        (tmp_path, IsADirectoryError, "Give the name of a file"),
        (tmp_path / "no" / "m.aggro", FileNotFoundError, "Make the folder first"),
        (path / "m.aggro", NotADirectoryError, "Save into a folder"),
    ]:
        with pytest.raises(kind, match=match):
            model.save(target)
    os.mkfifo(tmp_path / "pipe")
    for target in (tmp_path / "pipe", "/dev/null"):
        with pytest.raises(OSError, match="device or a pipe"):
            model.save(target)
        assert not stat.S_ISREG(os.stat(target).st_mode)


def test_what_cannot_be_saved(path):
    before = path.read_bytes()

    class Mine(aggro.PAClassifier):
        pass

    overflown = PARegressor().fit(np.eye(2), [1.0, 2.0])
    overflown._model.state.w[0] = np.inf
    late = PAClassifier().fit(np.eye(2), [0, 1]).set_params(average=True)
    strange = PAClassifier(class_weight={0: object()}).partial_fit(np.eye(2), [1, 2])
    cases = {
        "has learned nothing yet": PAClassifier(),
        "not one of the learners": Mine().fit(np.eye(2), [0, 1]),
        "'w' holds inf at .0., and should hold finite numbers": overflown,
        "average=True was set after learning began": late,
        "'C' parameter": PAClassifier().fit(np.eye(2), [0, 1]).set_params(C=-1.0),
        "parameter 'class_weight' cannot be stored": strange,
    }
    for match, model in cases.items():
        with pytest.raises(ValueError, match=match):
            model.save(path)
        untouched(path, before)


@pytest.mark.parametrize("name", [frozenset("x"), float("nan"), ("a", frozenset())], ids=str)
def test_names_that_cannot_be_saved_are_not_learned(name):
    with pytest.raises(TypeError, match="which no model file could hold"):
        PARegressor().learn_one({name: 1.0}, 1.0)


def test_a_model_that_was_saved_goes_on_undisturbed(path):
    X = np.random.default_rng(0).standard_normal((20, 3))
    y = np.arange(20) % 3
    plain = learn_rows(PAClassifier(), X, y)
    saved = PAClassifier()
    for row, target in zip(X, y, strict=True):
        saved.learn_one(row, target).save(path)
    assert saved.coef_.tobytes() == plain.coef_.tobytes()
