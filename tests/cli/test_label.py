"""``aggro label`` without a terminal: answers on stdin. What needs a terminal is in tests/e2e."""

from __future__ import annotations

import csv
import importlib
import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from helpers.runner import good, mistake, run

import aggro
from aggro.cli.labelling import journal as journals
from aggro.cli.labelling import session as sessions

pytestmark = pytest.mark.xdist_group("label")

ROWS = 120
command = importlib.import_module("aggro.cli.label")  # the name itself is the function


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """(a table without labels, the labels): two numbers, a colour, and some words."""
    rng = np.random.default_rng(0)
    lines, labels = ["x,z,colour,note"], []
    for i in range(ROWS):
        x, z = rng.standard_normal(2).round(3).tolist()
        labels.append("up" if x + 0.3 * z > 0 else "down")
        words = ("rising", "high") if x > 0 else ("falling", "low")
        lines.append(f"{x},{z},{'red' if i % 3 else 'blue'},a note of {rng.choice(words)} things")
    path = tmp_path_factory.mktemp("data") / "rows.csv"
    path.write_text("\n".join(lines) + "\n")
    return path, labels


@pytest.fixture
def says(monkeypatch):
    """Give these lines on stdin."""

    def give(*lines):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    return give


class Oracle(io.StringIO):
    """A stdin that knows the labels: each line read answers the question that was printed last."""

    def __init__(self, labels, most=10**9, changes=None):
        super().__init__()
        self.labels, self.most, self.changes, self.count = labels, most, changes or {}, 0

    def readline(self, *_):
        if self.count >= self.most:
            return ""
        self.count += 1
        if self.count in self.changes:
            return self.changes[self.count] + "\n"
        question = json.loads(sys.stdout.getvalue().splitlines()[-1])["question"]
        return self.labels[question["row"] - 1] + "\n"


@pytest.fixture
def label(data, tmp_path, monkeypatch):
    """Label the table by its labels; ``most`` lines of stdin, some of them changed."""
    path, labels = data

    def start(model="m.aggro", most=10**9, changes=None, options=(), given=path, labels=labels):
        monkeypatch.setattr(sys, "stdin", Oracle(labels, most, changes))
        ran = good("label", given, "--model", tmp_path / model, "--json", "--classes", "up,down", *options)
        questions = [json.loads(line) for line in ran.out.splitlines()]
        return questions[-1]["result"], [entry["question"] for entry in questions[:-1]], ran

    return start


def bytes_of(folder, *names):
    return [(folder / name).read_bytes() for name in names]


def test_from_nothing_to_a_model(label, data, tmp_path):
    result, questions, ran = label(options=["--delta", "1"])
    assert result["end"] == "data"
    assert result["rows"] == ROWS
    assert result["answered"] == len(questions) < ROWS
    assert result["classes"] == ["down", "up"]
    assert questions[0].get("guess") is None
    assert questions[0]["seen"].keys() == {"x", "z", "colour", "note"}
    assert questions[-1]["reasons"][0]["part"] != 0.0
    assert "text: 'note'" in ran.err
    predicted = good("predict", tmp_path / "m.aggro", data[0]).out.split()
    assert np.mean([a == b for a, b in zip(predicted, data[1], strict=True)]) > 0.85
    active = aggro.load(tmp_path / "m.aggro")
    assert (active.n_seen_, active.n_queries_) == (ROWS, result["answered"])
    assert active.progressive_error_ == pytest.approx(result["error"])


def test_the_answers_are_on_disk_with_the_rows(label, tmp_path):
    result, questions, _ = label(most=7, changes={3: "skip"})
    first, *events = [json.loads(line) for line in (tmp_path / "m.aggro.answers").read_text().splitlines()]
    assert "run" in first
    assert [event["do"] for event in events] == ["answer"] * 2 + ["skip"] + ["answer"] * 4
    assert [event["row"] + 1 for event in events] == [question["row"] for question in questions[:7]]
    assert [event["seen"] for event in events] == [question["seen"] for question in questions[:7]]
    assert (result["answered"], result["skipped"], result["end"]) == (6, 1, "quit")


def test_an_answer_is_forced_to_the_disk_before_the_next_question(label, monkeypatch):
    happened = []
    synced, asked = os.fsync, command.Conversation._ask
    monkeypatch.setattr(journals.os, "fsync", lambda fd: (happened.append("disk"), synced(fd))[1])
    monkeypatch.setattr(command.Conversation, "_ask", lambda *a: (happened.append("question"), asked(*a))[1])
    label("m.aggro", most=6, changes={2: "skip", 4: "undo"}, options=["--delta", "1"])
    between = "".join({"disk": "d", "question": "q"}[what] for what in happened).split("q")
    assert len(between) == 8
    assert all("d" in some for some in between[1:-1])


@pytest.mark.parametrize("few_rows", [0, 10**9])  # from the saved model; from the start
@pytest.mark.parametrize("setting", [[], ["--target-rate", "0.3"], ["--strategy", "random", "--delta", "0.4"]])
def test_stopped_anywhere_it_is_the_same_model(label, tmp_path, monkeypatch, few_rows, setting):
    monkeypatch.setattr(sessions, "REPLAYED_AT_START", few_rows)
    whole, questions, _ = label("whole.aggro", options=setting)
    asked = []
    for most in (1, 2, 7, 0, 3, 100):
        result, some, ran = label("pieces.aggro", most, options=setting)
        asked += [question["row"] for question in some[:most]]
        assert "Note" not in ran.err
        assert ("Continuing" in ran.err) == (most != 1)
    assert asked == [question["row"] for question in questions]
    assert result == {**whole, "model": result["model"], "answers": result["answers"], "gain": result["gain"]}
    assert (tmp_path / "pieces.aggro").read_bytes() == (tmp_path / "whole.aggro").read_bytes()


@pytest.mark.parametrize("few_rows", [0, 10**9])
def test_undo_leaves_no_trace_in_the_model(label, tmp_path, monkeypatch, few_rows):
    monkeypatch.setattr(sessions, "REPLAYED_AT_START", few_rows)
    label("never.aggro", most=9)
    _, questions, _ = label("undone.aggro", most=17, changes={11: "up", 12: "undo", 13: "skip", 14: "undo", 16: "undo"})
    rows = [question["row"] for question in questions]
    assert rows[10] == rows[12] == rows[14]  # asked again each time
    label("undone.aggro", most=2, changes={1: "undo", 2: "undo"})  # those of an earlier run as well
    assert (tmp_path / "undone.aggro").read_bytes() != b""
    never, _, _ = label("never.aggro")
    again, _, _ = label("undone.aggro")
    assert again["undone"] == 5
    assert {**again, "undone": 0, "model": "", "answers": ""} == {**never, "model": "", "answers": ""}
    assert (tmp_path / "undone.aggro").read_bytes() == (tmp_path / "never.aggro").read_bytes()


def test_undone_to_nine_answers_is_the_model_of_nine_answers(label, tmp_path):
    often = ["--delta", "1"]
    label("never.aggro", most=9, options=often)
    result, _, _ = label("undone.aggro", most=59, changes=dict.fromkeys(range(35, 60), "undo"), options=often)
    assert (result["answered"], result["undone"]) == (9, 25)
    assert (tmp_path / "undone.aggro").read_bytes() == (tmp_path / "never.aggro").read_bytes()


def test_undo_of_everything(label, tmp_path):
    _, before, _ = label("m.aggro", most=3)
    result, questions, ran = label("m.aggro", most=5, changes=dict.fromkeys(range(1, 5), "undo"))
    assert result["answered"] == 1
    assert "There is nothing to undo." in ran.err
    assert questions[:5] == [*before[::-1], before[0]]


def test_until_two_classes_are_known_every_row_is_asked_about(label, tmp_path):
    alike = ["up"] * 30 + ["down"] * (ROWS - 30)
    _, questions, _ = label("m.aggro", labels=alike, most=20)
    result, more, _ = label("m.aggro", labels=alike, most=20)
    rows = [question["row"] for question in [*questions[:20], *more]]
    assert rows[:31] == list(range(1, 32))
    assert rows[31:] != list(range(32, 32 + len(rows) - 31))
    active = aggro.load(tmp_path / "m.aggro")
    assert active.n_queries_ == result["answered"] > 31
    assert active.progressive_error_ == pytest.approx(result["error"])
    _, sparing, _ = label("t.aggro", labels=alike, most=10, options=["--target-rate", "0.2"])
    assert sparing[9]["row"] > 20


def test_a_torn_last_line_is_dropped(label, tmp_path):
    label("whole.aggro")
    label("torn.aggro", most=8)
    journal = tmp_path / "torn.aggro.answers"
    whole = journal.read_bytes()
    for torn in (whole[:-1], whole[:-20], whole + b'{"do":"ans', whole + b"\0" * 40 + b"\n"):
        journal.write_bytes(torn)
        kept = label("torn.aggro", most=0)[0]["answered"]
        assert kept == (8 if torn.startswith(whole) else 7)
        assert journal.read_bytes() == (whole if kept == 8 else b"".join(whole.splitlines(True)[:-1]))
    label("torn.aggro")
    assert (tmp_path / "torn.aggro").read_bytes() == (tmp_path / "whole.aggro").read_bytes()


def test_a_torn_first_line_is_a_new_beginning(label, tmp_path):
    label("m.aggro", most=1)
    journal = tmp_path / "m.aggro.answers"
    journal.write_bytes(journal.read_bytes()[:50])
    (tmp_path / "m.aggro").unlink()
    assert label("m.aggro", most=2)[0]["answered"] == 2


def test_a_damaged_journal_is_refused(label, data, tmp_path):
    label("m.aggro", most=4)
    journal = tmp_path / "m.aggro.answers"
    lines = journal.read_text().splitlines()
    for number, line in ((2, "{}"), (3, '{"do":"dance"}'), (2, '{"do":"undo"}'), (1, '{"do":"undo"}'), (3, lines[0])):
        journal.write_text("\n".join([*lines[: number - 1], line, *lines[number:]]) + "\n")
        said = mistake("label", data[0], "--model", tmp_path / "m.aggro")
        assert f"m.aggro.answers, line {number}" in said


def test_a_lost_model_is_made_again(label, tmp_path):
    label("m.aggro")
    model = tmp_path / "m.aggro"
    before = model.read_bytes()
    model.unlink()
    assert label("m.aggro")[1] == []
    assert model.read_bytes() == before


def test_a_model_that_something_else_wrote_is_not_touched(label, data, tmp_path):
    label("m.aggro", most=8)
    path, labels = data
    labelled = tmp_path / "labelled.csv"
    rows = path.read_text().splitlines()
    labelled.write_text("\n".join([f"{rows[0]},label", *(f"{r},{y}" for r, y in zip(rows[1:], labels, strict=True))]))
    good("train", labelled, "--text", "note", "--from", tmp_path / "m.aggro", "--model", tmp_path / "m.aggro")
    before = (tmp_path / "m.aggro").read_bytes()
    assert "is not the model that" in mistake("label", path, "--model", tmp_path / "m.aggro")
    assert (tmp_path / "m.aggro").read_bytes() == before
    (tmp_path / "m.aggro.answers").unlink()  # now it begins anew, with that model
    result, questions, _ = label("m.aggro", most=3)
    assert result["answered"] == 3
    assert questions[0]["guess"] in ("up", "down")


def test_a_model_that_is_there_goes_on(label, data, tmp_path, monkeypatch):
    path, labels = data
    rows = path.read_text().splitlines()
    few = tmp_path / "few.csv"
    few.write_text("\n".join([f"{rows[0]},label", *(f"{r},{y}" for r, y in zip(rows[1:21], labels[:20], strict=True))]))
    model = tmp_path / "m.aggro"
    good("train", few, "--text", "note", "--model", model, "--set", "C=0.5")
    monkeypatch.setattr(sessions, "SAVE", 10**9)
    assert "leave --learner and --set out" in mistake("label", path, "--model", model, "--set", "C=1")
    result, questions, ran = label("m.aggro", most=4)
    assert "text: 'note'" not in ran.err  # the model says which
    assert questions[0]["guess"] in ("up", "down")
    assert result["parameters"]["C"] == 0.5
    assert aggro.load(tmp_path / "m.aggro.start").n_seen_ == 0  # rows that came by since it asks
    # Undo goes back as far as the model that was there.
    undone, again, _ = label("m.aggro", most=4, changes=dict.fromkeys(range(1, 5), "undo"))
    assert undone["answered"] == 0
    assert again[-1] == questions[0]
    # Also when the run is taken up: the settings would not be taken.
    assert "leave --learner and --set out" in mistake("label", path, "--model", model, "--set", "C=1")
    learner, start = aggro.load(model), aggro.load(tmp_path / "m.aggro.start")
    assert np.array_equal(learner.estimator_.estimator_.coef_, start.estimator_.estimator_.coef_)


def test_seed_labels(label, data, tmp_path):
    path, labels = data
    rows = path.read_text().splitlines()
    seeds = tmp_path / "seeds.csv"
    seeds.write_text(
        "\n".join(
            [f"{rows[0]},label", *(f"{r},{y}" for r, y in zip(rows[1:11], labels[:10], strict=True)), "1,1,red,,"]
        )
    )
    _, questions, _ = label("m.aggro", most=5, options=["--seed-labels", seeds])
    assert questions[0]["guess"] in ("up", "down")
    assert aggro.load(tmp_path / "m.aggro").estimator_.n_kept_ == 15
    given = ("label", path, "--model", tmp_path / "m.aggro")
    assert "was begun with C=auto, not C=7" in mistake(*given, "--seed-labels", seeds, "--set", "C=7")
    assert "was begun with max_features=" in mistake(*given, "--seed-labels", seeds, "--set", "max_features=7")
    label("m.aggro", most=0, options=["--seed-labels", seeds, "--learner", "PAClassifier", "--set", "C=auto"])
    seeds.unlink()  # what was learned from it is kept
    (tmp_path / "m.aggro").unlink()
    assert label("m.aggro", most=0)[0]["answered"] == 5
    assert aggro.load(tmp_path / "m.aggro").estimator_.n_kept_ == 15


def test_a_budget_counts_answers(label):
    result, _, ran = label("m.aggro", changes={2: "skip"}, options=["--budget", "5"])
    assert (result["answered"], result["skipped"], result["end"]) == (5, 1, "budget")
    assert "all answers of the budget" in ran.err
    assert label("m.aggro", options=["--budget", "5"])[1] == []
    assert label("m.aggro", options=["--budget", "8"])[0]["answered"] == 8
    assert label("m.aggro", options=["--budget", "3"])[0]["answered"] == 8


def test_what_is_shown_and_the_summary(says, data, tmp_path):
    says("u", "down", "d", "s", "+sideways", "up")
    ran = good("label", data[0], "--model", tmp_path / "m.aggro", "--classes", "up=u,down")
    assert "[u] up   [d] down   [s] skip   [backspace] undo   [+] new class   [q] quit" in ran.err
    assert "a note of" in ran.err
    assert "guess        none yet" in ran.err
    assert "(every row)" in ran.err
    assert "[i] sideways" in ran.err
    assert "The same command continues from here." in ran.err
    assert "answers    5 " in ran.out
    assert "1 skipped" in ran.out
    assert "classes    down, sideways, up" in ran.out
    shown = good("show", tmp_path / "m.aggro").out
    assert "asked      about 6 of" in shown
    assert "labelling  after row" in shown
    assert "checkpoint" not in shown


def test_numbers_stay_numbers(says, tmp_path, svm):
    says("+1", "+-1", "-", "1")
    ran = good("label", svm, "--model", tmp_path / "m.aggro", "--json")
    assert json.loads(ran.out.splitlines()[-1])["result"]["classes"] == [-1, 1]
    says("up")
    assert "'up' is no answer" in mistake("label", svm, "--model", tmp_path / "m.aggro")
    says("+up")
    assert "a new one must be a whole number, not 'up'" in mistake("label", svm, "--model", tmp_path / "m.aggro")
    assert good("predict", tmp_path / "m.aggro", svm).out.split()[0] in ("1", "-1")


def test_vowpal_wabbit_text_keeps_its_names(says, tmp_path, vw):
    says("+a", "+b", "a", "b")
    ran = good("label", vw, "--model", tmp_path / "m.aggro", "--json")
    assert "n^x" in json.loads(ran.out.splitlines()[0])["question"]["seen"]
    assert len(good("predict", tmp_path / "m.aggro", vw).out.split()) == 600
    says("+a", "+b", "a", "b")
    good("label", vw, "--model", tmp_path / "hashed.aggro", "--hash", "10")
    hashed = aggro.load(tmp_path / "hashed.aggro")
    assert hashed.n_features_in_ == 2**10
    assert len(set(good("predict", tmp_path / "hashed.aggro", vw, "--scores").out.split())) > 100


def test_labels_among_the_data_are_not_shown(says, tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("size,label\n1,tiny\n2,large\n3,large\n")
    says("+a", "+b", "a")
    ran = good("label", secret, "--model", tmp_path / "m.aggro")
    assert "tiny" not in ran.err + ran.out + (tmp_path / "m.aggro.answers").read_text()
    named = tmp_path / "named.csv"
    named.write_text("kind,size\ntiny,1\nlarge,2\n")
    says("+a", "+b")
    ran = good("label", named, "--model", tmp_path / "n.aggro", "--label", "kind")
    assert "tiny" not in ran.err + ran.out + (tmp_path / "n.aggro.answers").read_text()


def test_text_cannot_command_the_terminal(says, tmp_path):
    evil = tmp_path / "evil.csv"
    evil.write_text('text\n"look \x1b[2J\x1b]0;gone\x07 at [bold]this[/bold] and \u202ethat"\n')
    says("+a")
    ran = good("label", evil, "--model", tmp_path / "m.aggro", "--text", "text")
    assert not {"\x1b", "\x07", "\u202e"} & set(ran.err)
    assert "[bold]this[/bold]" in ran.err


def test_other_tables_and_several_files(label, data, tmp_path):
    import pyarrow.csv
    import pyarrow.parquet

    table = pyarrow.csv.read_csv(data[0])
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    _, of_csv, _ = label("c.aggro")
    _, of_parquet, _ = label("p.aggro", given=tmp_path / "rows.parquet")
    assert of_parquet == of_csv
    folder = tmp_path / "two"
    folder.mkdir()
    head, *lines = data[0].read_text().splitlines(True)
    (folder / "a.csv").write_text(head + "".join(lines[:50]))
    (folder / "b.csv").write_text(head + "".join(lines[50:]))
    label("f.aggro", 30, given=folder)
    result, _, _ = label("f.aggro", given=folder)
    assert (result["rows"], result["end"]) == (ROWS, "data")
    assert result["answered"] == len(of_csv)


def test_a_kernel_learner(label, tmp_path):
    options = ["--learner", "KernelPAClassifier"]
    label("whole.aggro", 30, options=options)
    for most in (4, 6, 20):
        result, questions, _ = label("pieces.aggro", most, options=options)
    assert result["learner"] == "KernelPAClassifier"
    assert questions[-1]["guess"] in ("up", "down")
    assert questions[-1]["reasons"] == []  # its score is a sum over earlier rows, not over columns
    assert (tmp_path / "pieces.aggro").read_bytes() == (tmp_path / "whole.aggro").read_bytes()


def test_one_at_a_time(label, data, tmp_path):
    from aggro.cli.labelling.journal import Journal

    label("m.aggro", most=2)
    held = Journal(tmp_path / "m.aggro.answers")
    try:
        assert "is in use" in mistake("label", data[0], "--model", tmp_path / "m.aggro")
    finally:
        held.close()
    assert label("m.aggro", most=0)[0]["answered"] == 2


def test_another_run_is_refused(label, data, tmp_path):
    label("m.aggro", most=2)
    other = tmp_path / "other.csv"
    other.write_text("x,z,colour,note\n1,2,red,hello\n")
    model = tmp_path / "m.aggro"
    assert "has answers to other data" in mistake("label", other, "--model", model)
    assert "was begun with --label None, not x" in mistake("label", data[0], "--model", model, "--label", "x")
    assert "was begun with --delta 0.1, not 0.2" in mistake("label", data[0], "--model", model, "--delta", "0.2")
    assert "was begun with C=auto, not C=7. Repeat" in mistake("label", data[0], "--model", model, "--set", "C=7")
    said = mistake("label", data[0], "--model", model, "--learner", "arow")
    assert "was begun with --learner PAClassifier, not AROWClassifier. Repeat" in said
    assert label("m.aggro", 1, options=["--delta", "0.1", "--set", "C=auto"])[0]["answered"] == 3


def test_rows_that_are_not_those_answered_are_noticed(label, data, tmp_path):
    big = tmp_path / "big.csv"
    head, *lines = data[0].read_text().splitlines(True)
    filler = [f"0.5,0.5,blue,{'x' * 1000}\n" for _ in range(200)]  # the middle is not part of the checksum
    big.write_text(head + "".join([*filler, *lines, *filler]))
    labels = ["up"] * 200 + data[1] + ["up"] * 200
    label("m.aggro", 230, given=big, labels=labels, options=["--strategy", "random", "--delta", "1"])
    text = big.read_text()
    big.write_text(text.replace(lines[5], lines[5].replace("note", "tone")))
    said = mistake("label", big, "--model", tmp_path / "m.aggro")
    assert "row 206 of the data is not the one that was answered" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-"], "cannot be read again"),
        (["nothing.csv"], "There is no file or folder 'nothing.csv'"),
        (["{csv}", "--learner", "PARegressor"], "is not a classifier. Choose one of 'aggro learners'"),
        (["{csv}", "--learner", "PAClasifier"], "Did you mean 'PAClassifier'?"),
        (["{csv}", "--strategy", "guess"], "There is no strategy 'guess'"),
        (["{csv}", "--delta", "-1"], "delta"),
        (["{csv}", "--strategy", "random", "--delta", "2"], "delta=2.0"),
        (["{csv}", "--classes", "a=xy"], "name=key"),
        (["{csv}", "--classes", "a=x,b=x"], "The key 'x' is given to two classes"),
        (["{csv}", "--classes", "a,a"], "'a' is given twice"),
        (["{csv}", "--seed-labels", "nothing.csv"], "There is no file or folder 'nothing.csv'"),
        (["{csv}", "--text", "colours"], "has no column 'colours'"),
    ],
)
def test_mistakes(arguments, said, data, tmp_path, says):
    says()
    arguments = [argument.format(csv=data[0]) for argument in arguments]
    assert said in mistake("label", *arguments, "--model", tmp_path / "m.aggro")
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_line_keeps_the_answers_before_it(says, data, tmp_path):
    says("up", "down", "sideways", "up")
    said = mistake("label", data[0], "--model", tmp_path / "m.aggro", "--classes", "up,down")
    assert said.startswith("stdin, line 3: 'sideways' is no answer. Expected a class ('up', 'down'), +NAME")
    says()
    ran = good("label", data[0], "--model", tmp_path / "m.aggro", "--json")
    assert json.loads(ran.out.splitlines()[-1])["result"]["answered"] == 2


def test_nothing_was_answered(says, data, tmp_path):
    says()
    ran = good("label", data[0], "--model", tmp_path / "m.aggro")
    assert "model      none yet" in ran.out
    assert list(tmp_path.iterdir()) == []
    says("+a")
    assert run("label", data[0], "--model", tmp_path / "m.aggro", "--delta", "0.3").status == 0


def test_a_full_disk(data, tmp_path):
    """The answer that does not fit is not kept; those before it are."""
    limit = "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    limit += "resource.setrlimit(resource.RLIMIT_FSIZE, (2500, 2500))\nfrom aggro.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", limit, "label", str(data[0]), "--model", str(tmp_path / "m.aggro")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(
        [*command, "--classes", "up,down"], input="up\ndown\n" * 20, capture_output=True, text=True, env=environment
    )
    assert ran.returncode == 2, ran.stderr
    assert "The last answer is not kept" in ran.stderr.splitlines()[-1]
    assert (tmp_path / "m.aggro.answers").read_bytes().endswith(b"\n")


def test_by_confidence_it_takes_a_learner_that_knows_it(label, data):
    result, questions, _ = label(options=("--strategy", "confidence"))
    assert 10 < len(questions) < ROWS  # neither none nor every row
    asked = aggro.load(result["model"])
    inside = asked.estimator_
    assert (type(inside.estimator_).__name__, inside.strategy, inside.delta) == ("AROWClassifier", "confidence", 1.0)
    said = mistake("label", data[0], "--model", "n.aggro", "--strategy", "confidence", "--learner", "pamo")
    assert "got a PAMOClassifier" in said


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_what_was_labelled_is_exported(label, data, tmp_path, ending):
    out = tmp_path / f"labelled.{ending}"
    result, questions, ran = label(most=9, changes={3: "skip"}, options=["--export", str(out)])
    text = out.read_text()
    found = list(csv.DictReader(text.splitlines())) if ending == "csv" else [json.loads(x) for x in text.splitlines()]
    assert len(found) == result["answered"] == 8
    asked = [question["row"] - 1 for k, question in enumerate(questions[:9], 1) if k != 3]
    names = [name for name in found[0] if name in questions[0]["seen"]]
    assert set(names) == set(questions[0]["seen"])
    (label_name,) = set(found[0]) - set(names)
    assert [row[label_name] for row in found] == [data[1][row] for row in asked]
    assert f"8labelledrowsarein{out}" in "".join(ran.err.split())  # lines are as wide as the terminal
    assert ".csv, .tsv or .jsonl" in mistake(
        "label", data[0], "--model", tmp_path / "n", "--export", tmp_path / "x.txt"
    )
