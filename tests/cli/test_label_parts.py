"""The parts of ``aggro label``: keys, estimates, the walk over rows, what is kept in memory."""

from __future__ import annotations

import math
from itertools import islice

import numpy as np
import pytest

from aggro import streams
from aggro.cli.console import Mistake
from aggro.cli.labelling.answers import CLASS, NEW_CLASS, QUIT, SKIP, UNDO, Choices, Reply, as_label, classes_given
from aggro.cli.labelling.estimate import Gain, mistakes_in
from aggro.cli.labelling.journal import Event, Journal
from aggro.cli.labelling.rows import Place, Walk
from aggro.cli.labelling.session import EVENTS_BETWEEN_COPIES, NEAR_COPIES, Session

pytestmark = pytest.mark.xdist_group("label")


def test_every_class_gets_a_key_of_its_own():
    choices = Choices()
    for name in ("yes", "no", "young", "s", "u", "q", 1, -1, "ü"):
        choices.add(name)
        choices.add(name)
    assert choices.keys == {
        "y": "yes",
        "n": "no",
        "o": "young",
        "1": "s",
        "2": "u",
        "3": "q",
        "4": 1,
        "-": -1,
        "ü": "ü",
    }
    for k in range(100):
        choices.add(f"class {k}")
    assert len(choices.keys) == len(set(choices.keys)) < 60
    assert choices.of_line("class 99") == Reply(CLASS, "class 99")  # there is no key for it, but its name
    assert all(choices.of_key(key) == Reply(CLASS, label) for key, label in choices.keys.items())
    assert {meaning for _, meaning in choices.shown()[-4:]} == {"skip", "undo", "new class", "quit"}


def test_a_class_may_have_the_key_of_a_command():
    choices = Choices()
    choices.add("spam", "s")
    assert choices.of_key("s") == choices.of_key("S") == Reply(CLASS, "spam")
    assert choices.of_key(" ") == Reply(SKIP)
    assert ("space", "skip") in choices.shown()
    assert [choices.of_key(key) for key in ("u", "\x7f", "+", "q", "\x04", "x")] == [
        Reply(UNDO), Reply(UNDO), Reply(NEW_CLASS), Reply(QUIT), Reply(QUIT), None
    ]  # fmt: skip
    assert choices.of_line("skip") == Reply(SKIP)
    assert choices.of_line("+") is None
    assert choices.of_line("+ ham ") == Reply(CLASS, "ham")


def test_classes_as_they_are_written():
    assert classes_given(None) == classes_given("") == []
    assert classes_given("ham=h, spam = s,other") == [("ham", "h"), ("spam", "s"), ("other", None)]
    assert classes_given("a=b=c") == [("a=b", "c")]
    for wrong in ("ham=", "=h", "ham,,spam", "ham=hh"):
        with pytest.raises(Mistake, match="--classes"):
            classes_given(wrong)
    assert [as_label("1", []), as_label("1", ["a"]), as_label("-1", [1]), as_label("a", [])] == [1, "1", -1, "a"]


def test_the_estimated_error_is_that_of_all_rows():
    """Rows are asked about with a probability that knows which are hard; the estimate does not mind."""
    rng = np.random.default_rng(0)
    found, within = [], 0
    for _ in range(300):
        hard = rng.random(1500) < 0.2
        wrong = rng.random(1500) < np.where(hard, 0.4, 0.02)
        p = np.where(hard, 0.8, 0.1)
        asked = rng.random(1500) < p
        events = [
            Event("answer", k, "a", "b" if wrong[k] else "a", float(p[k])) for k in np.flatnonzero(asked).tolist()
        ]
        estimate = mistakes_in([*events, Event("skip", 0)], "margin")
        found.append(estimate.share)
        within += abs(estimate.share - 0.096) < 2 * estimate.error
    assert np.mean(found) == pytest.approx(0.096, abs=0.002)  # those asked about: 0.27
    assert within / 300 > 0.9


def test_few_answers_and_thresholds_say_nothing():
    events = [Event("answer", k, "a", "b") for k in range(9)]
    assert math.isnan(mistakes_in(events, "margin").share)
    assert mistakes_in([*events, events[0]], "margin").share == 1.0
    assert math.isnan(mistakes_in(events * 5, "threshold").share)


@pytest.mark.parametrize(
    ("gain", "verdict"),
    [
        (Gain(100, 0.10, 0.05, 0.01, 0.3, True), "yes"),
        (Gain(100, 0.10, 0.05, 0.06, 0.3, True), "perhaps"),
        (Gain(100, 0.10, 0.10, 0.005, 0.3, True), "hardly"),
        (Gain(100, 0.10, 0.10, 0.005, 0.3, False), "perhaps"),
        (Gain(100, 0.10, 0.12, 0.005, 0.3, True), "hardly"),
        (Gain(100, 0.10, 0.005, 0.01, 0.3, True), "hardly"),  # there is nearly nothing left to gain
        (Gain(100, 0.10, 0.005, 0.01, 0.02, True), "yes"),  # there is, where one class is rare
        (Gain(100, 0.0, 0.0, 0.0, 0.3, True), "hardly"),
        (Gain(100, 0.10, 0.10, 0.005, 0.3, True, "spam"), "yes"),
    ],
)
def test_whether_more_labels_help(gain, verdict):
    assert gain.verdict == verdict
    assert gain.sentence().startswith(verdict)


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,w\n" + "".join(f"{k},{'x' if k % 2 else 'y'},{k % 5}\n" for k in range(500)))
    return path


def rows_after(walk, place):
    for start, chunk in walk.chunks(place):
        for i in range(start.within, chunk.n_rows):
            yield walk.row(start, chunk, i)


def test_a_walk_goes_on_from_any_place(rows):
    def walk():
        return Walk(streams.open(rows, label=False, weight="w", cells=True, chunk_bytes=400), hidden="b")

    every = list(rows_after(walk(), Place()))
    assert [row.number for row in every] == list(range(500))
    assert [row.x["a"] for row in every] == list(range(500))
    assert [row.seen for row in every[:2]] == [{"a": 0, "w": 0}, {"a": 1, "w": 1}]
    assert every[7].weight == 2.0
    back_and_forth = walk()
    for start in (0, 499, 3, 4, 250, 120, 490, 0):
        place = every[start].after
        some = [(row.number, row.x, row.after) for row in islice(rows_after(back_and_forth, place), 60)]
        assert some == [(row.number, row.x, row.after) for row in every[start + 1 : start + 61]]


def test_moments_are_kept_the_older_the_farther_apart(tmp_path):
    journal = Journal(tmp_path / "answers")
    session = Session(None, journal, dict, None, tmp_path / "m.aggro")
    session.active = type("Active", (), {})()
    for events in range(0, 5000, EVENTS_BETWEEN_COPIES):
        session.events = events
        session._keep()
        if events > 100:
            assert min(abs(moment.events - events / 2) for moment in session.moments) <= 0.1 * events
    assert len(session.moments) < 8 * NEAR_COPIES
    assert [moment.events for moment in session.moments[-NEAR_COPIES:]] == list(
        range(4960, 5000, EVENTS_BETWEEN_COPIES)
    )
    journal.close()
