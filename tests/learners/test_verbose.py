"""How a long fit is shown: on stderr, after a while, and without a bit of difference to what is learned."""

from __future__ import annotations

import os
import pickle
import pty
import re
import subprocess
import sys

import numpy as np
import pytest
from helpers.variants import ALL, PLAIN, each
from scipy.sparse import csr_matrix
from sklearn.base import clone

import aggro
from aggro import ActiveLearner
from aggro.learners.base import progress
from aggro.learners.base.learner import Learner
from aggro.published import PAClassifier, PARegressor
from aggro.testing.variants import arrays, known, stream


@pytest.fixture
def hasty(monkeypatch):
    """Everything is worth a word at once, and a piece is a few rows."""
    monkeypatch.setattr(progress, "PROGRESS_AFTER", 0.0)
    monkeypatch.setattr(progress, "FIRST_PIECE", 5)
    monkeypatch.setattr(progress, "FRAME", 1e-9)


def bits(model):
    return [array.tobytes() for array in arrays(known(model).state)]


@each(ALL)
def test_what_is_learned_is_the_same_to_the_bit(variant, hasty, capsys):
    X, y = stream(variant, n=150)
    weights = np.random.default_rng(1).random(150)
    given = {"max_iter": 3, "random_state": 1, **variant.params}
    for form in (X, csr_matrix(X)):
        for call in (
            lambda model, form=form: model.fit(form, y),
            lambda model, form=form: model.set_params(shuffle=True).fit(form, y, sample_weight=weights),
            lambda model, form=form: model.partial_fit(form, y),
        ):
            silent, told = (call(getattr(aggro, variant.entry.name)(verbose=verbose, **given)) for verbose in (0, 1))
            assert bits(told) == bits(silent)
            assert told.n_iter_ == silent.n_iter_ if hasattr(silent, "n_iter_") else True
    said = capsys.readouterr()
    assert variant.entry.name in said.err
    assert not said.out


def test_an_active_learner_shows_how_its_estimator_goes(hasty, capsys):
    X, y = stream(PLAIN[0], n=400, classes=2)
    silent, told = (
        ActiveLearner(PAClassifier(verbose=v), delta=1.0, strategy="margin", replay=0, random_state=0).fit(X, y)
        for v in (0, 1)
    )
    assert bits(told) == bits(silent)
    assert told.n_queries_ == silent.n_queries_
    assert "PAClassifier" in capsys.readouterr().err


def test_lines_say_passes_rows_loss_and_rate(hasty, capsys):
    X, y = stream(PLAIN[0], n=300, classes=2)
    model = PAClassifier(max_iter=4, verbose=1).fit(X, y)
    first, *_, last = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"PAClassifier: pass 1 of 4, 5 of 300 rows, mean loss [\d.]+", first)
    assert re.fullmatch(r"PAClassifier: 4 passes over 300 rows in [\d.]+ s, mean loss [\d.e-]+\.", last)
    assert model.n_iter_ == 4
    model.partial_fit(np.vstack([X] * 20), np.tile(y, 20))
    lines = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"PAClassifier: [\d,]+ of 6,000 rows, mean loss [\d.]+, [\d.,]+( million)? rows/s", lines[-2])


def test_the_loss_is_that_of_the_pass(hasty, capsys):
    X, y = stream(PLAIN[1], n=200)
    model = PARegressor(max_iter=1, verbose=1).fit(X, y)
    shown = float(capsys.readouterr().err.splitlines()[-1].rpartition("loss ")[2].rstrip("."))
    assert shown == pytest.approx(known(model).state.tally.loss[0] / 200, rel=1e-3)
    longer = PARegressor(max_iter=2, verbose=1).fit(X, y)
    last = float(capsys.readouterr().err.splitlines()[-1].rpartition("loss ")[2].rstrip("."))
    total = known(longer).state.tally.loss[0] - known(model).state.tally.loss[0]
    assert last == pytest.approx(total / 200, rel=1e-3)


def test_a_short_fit_says_nothing(capsys):
    X, y = stream(PLAIN[0])
    PAClassifier().fit(X, y).partial_fit(X, y)  # which may compile
    PAClassifier(verbose=1).fit(X, y).partial_fit(X, y)
    assert capsys.readouterr() == ("", "")


def test_without_verbose_a_long_fit_says_nothing(hasty, capsys):
    X, y = stream(PLAIN[0])
    PAClassifier(max_iter=10).fit(X, y)
    assert capsys.readouterr() == ("", "")


def test_pieces_take_about_a_tenth_of_a_second_each(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: clock[0])
    sizes = []
    for first, last in progress.Watch("x", 10**7, 1).pieces(0, 10**7):
        clock[0] += (last - first) * 1e-6  # a million rows a second
        sizes.append(last - first)
    assert sum(sizes) == 10**7
    assert sizes[0] == progress.FIRST_PIECE
    assert all(90_000 <= size <= 110_000 for size in sizes[4:-1])


def test_lines_come_at_ever_longer_times(monkeypatch, capsys):
    clock = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: clock[0])
    tally = known(PAClassifier().fit(*stream(PLAIN[0]))).state.tally
    with progress.Watch("x", 600, 1) as watch:
        watch.begin(0, tally)
        for row in range(600):
            clock[0] += 0.1
            watch.note(row, tally)
    rows = [int(re.search(r"(\d+) of 600", line)[1]) for line in capsys.readouterr().err.splitlines()[:-1]]
    np.testing.assert_allclose(rows, [10, 20, 40, 80, 160, 260, 360, 460, 560], rtol=0.15)


@pytest.mark.parametrize("call", ["fit", "partial_fit"])
def test_an_interrupted_call_leaves_the_model_as_it_was(call, hasty, monkeypatch, capsys):
    X, y = stream(PLAIN[0], n=500, classes=2)
    model = PAClassifier(verbose=1).fit(X, y)
    before = bits(model)
    note, left = progress.Watch.note, [3]

    def interrupted(self, row, tally):
        note(self, row, tally)
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    monkeypatch.setattr(progress.Watch, "note", interrupted)
    with pytest.raises(KeyboardInterrupt):
        getattr(model, call)(X, y)
    assert bits(model) == before
    assert "broken off" in capsys.readouterr().err.splitlines()[-1]
    monkeypatch.setattr(progress.Watch, "note", note)
    assert model.partial_fit(X, y).n_seen_ == 1000


def test_rows_that_are_not_finite_are_named_as_ever(hasty):
    X, y = stream(PLAIN[0], n=100)
    X[70, 2] = np.inf
    for model in (PAClassifier(), PAClassifier(verbose=1)):
        with pytest.raises(ValueError, match="row 70"):
            model.fit(X, y)


@pytest.mark.parametrize("verbose", [-1, 0.5, "yes", None])
def test_what_verbose_may_be(verbose):
    with pytest.raises(ValueError, match="'verbose'"):
        PAClassifier(verbose=verbose).fit(np.eye(2), [0, 1])
    assert PAClassifier(verbose=True).fit(np.eye(2), [0, 1]).verbose is True


@each(PLAIN)
def test_it_is_a_parameter_but_not_in_files(variant, tmp_path):
    X, y = stream(variant)
    model = getattr(aggro, variant.entry.name)(verbose=1).fit(X, y)
    assert clone(model).get_params()["verbose"] == 1
    model.save(tmp_path / "m.aggro")
    assert b"verbose" not in (tmp_path / "m.aggro").read_bytes()
    assert aggro.load(tmp_path / "m.aggro").get_params()["verbose"] == 0
    old = pickle.loads(pickle.dumps(model))
    del old.__dict__["verbose"]  # as a pickle of an earlier version comes back
    assert old.get_params()["verbose"] == Learner.verbose == 0
    old.partial_fit(X, y)


SLOW = """
import numpy as np
from aggro import PAClassifier
from aggro.learners.base import progress
progress.PROGRESS_AFTER = 0.0
X = np.random.default_rng(0).standard_normal((20_000, 20))
PAClassifier(max_iter=20, verbose=1).fit(X, X[:, 0] > 0)
"""


def test_on_a_terminal_there_is_a_bar():
    main, other = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", SLOW], stderr=other, stdout=subprocess.PIPE, env={**os.environ, "TERM": "xterm"}
    ) as process:
        os.close(other)
        shown = b""
        while True:
            try:
                more = os.read(main, 65536)
            except OSError:
                break
            if not more:
                break
            shown += more
        out = process.stdout.read()
    os.close(main)
    text = shown.decode()
    assert process.returncode == 0
    assert out == b""
    assert "━" in text
    assert re.search(r"pass \d+ of 20, [\d,]+ of 20,000 rows", text)
    assert re.search(r"PAClassifier: 20 passes over 20,000 rows in [\d.]+ s", text)
