"""``aggro train``: what it learns, what it says, and what it refuses."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest
from helpers.runner import good, mistake, run

import aggro
from aggro.models import load


def test_it_learns_what_the_library_learns(svm, tmp_path):
    good("train", svm, "--model", tmp_path / "m.aggro", "--set", "C=0.1", "--set", "step=pa2")
    X = np.zeros((600, 3))
    y = np.zeros(600, int)
    for i, line in enumerate(svm.read_text().splitlines()):
        label, *pairs = line.split()
        y[i] = int(label)
        for pair in pairs:
            j, v = pair.split(":")
            X[i, int(j) - 1] = float(v)
    expected = aggro.PAClassifier(C=0.1, step="pa2").partial_fit(X, y)
    found = load(tmp_path / "m.aggro")
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-12)
    assert found.classes_.tolist() == [-1, 1]
    assert found.classes_.dtype.kind == "i"
    assert found.n_mistakes_ == expected.n_mistakes_


@pytest.mark.parametrize("written", ["0.01,1", "[0.01, 1]", "[0.01,1.0]"])
def test_several_values_of_c_and_they_are_kept_with_the_model(svm, tmp_path, written):
    model = tmp_path / "m.aggro"
    good("train", svm, "--model", model, "--set", f"C={written}")
    found = load(model)
    assert found.C == [0.01, 1.0]
    assert found.grid_["C"].tolist() == [0.01, 1.0] * 2  # the last iterates, then the means
    good("train", svm, "--from", model, "--model", tmp_path / "more.aggro")
    assert load(tmp_path / "more.aggro").n_seen_ == 2 * found.n_seen_
    assert "'C'" in mistake("train", svm, "--model", model, "--set", "C=0.1,-1")


def test_progress_at_powers_of_two_goes_to_stderr_and_the_summary_to_stdout(svm, tmp_path):
    ran = good("train", svm, "--model", tmp_path / "m.aggro", "--test", svm)
    head, *lines = ran.err.splitlines()
    assert head.split() == ["rows", "mean", "loss", "since", "last", "mistakes", "updates"]
    assert [int(line.split()[0].replace(",", "")) for line in lines] == [*(2**k for k in range(10)), 600]
    _, mean, since, error, updates = lines[-1].split()
    learner = load(tmp_path / "m.aggro")
    assert error == f"{learner.n_mistakes_ / 600:.2%}"
    assert int(updates) == learner.n_updates_
    before = float(lines[-2].split()[1]) * 512
    assert float(since) == pytest.approx((float(mean) * 600 - before) / 88, abs=1e-2)
    assert "600" in ran.out
    assert "test" in ran.out


def test_json_says_all_of_it(svm, tmp_path):
    result = good("train", svm, "--model", tmp_path / "m.aggro", "--json", "--passes", 3, "--test", svm).json
    assert result["rows"] == 1800
    assert result["passes"] == 3
    assert result["classes"] == [-1, 1]
    assert result["features"] == 3
    assert 0 < result["mistakes"] < 300
    assert result["test"]["rows"] == 600
    assert result["test"]["error"] < 0.1


def test_numbers_are_predicted_too(numbers, tmp_path):
    arguments = ("--learner", "PARegressor", "--set", "step=pa", "--set", "epsilon=0")
    result = good("train", numbers, "--model", tmp_path / "m.aggro", *arguments, "--test", numbers, "--json").json
    assert result["test"]["r2"] > 0.999
    assert result["test"]["mae"] < 0.01
    assert "mistakes" not in result
    ran = good("train", numbers, "--model", tmp_path / "m.aggro", *arguments, "--test", numbers)
    assert "R² 1.0" in ran.out
    assert "mistakes" not in ran.err


def test_r2_is_scikit_learns(numbers, tmp_path):
    from sklearn.metrics import mean_absolute_error, r2_score

    from aggro.cli.scoring import Gaps

    rng = np.random.default_rng(0)
    y = 1e6 + rng.standard_normal(1000)
    guess = y + 0.5 * rng.standard_normal(1000)
    gaps = Gaps()
    for part in np.split(np.arange(1000), [1, 10, 500]):
        gaps.add(guess[part], y[part])
    result = gaps.result()
    assert result["r2"] == pytest.approx(r2_score(y, guess))
    assert result["mae"] == pytest.approx(mean_absolute_error(y, guess))


def test_the_same_command_gives_the_same_bytes(csv, tmp_path):
    for name in ("a", "b"):
        good("train", csv, "--model", tmp_path / name, "--passes", 2)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_going_on_from_a_model_is_learning_both_files(svm, tmp_path):
    lines = svm.read_text().splitlines(keepends=True)
    first, second = tmp_path / "1.svm", tmp_path / "2.svm"
    first.write_text("".join(lines[:100]))
    second.write_text("".join(lines[100:]))
    good("train", first, "--model", tmp_path / "half.aggro", "--set", "C=0.3")
    good("train", second, "--from", tmp_path / "half.aggro", "--model", tmp_path / "whole.aggro")
    good("train", first, second, "--model", tmp_path / "both.aggro", "--set", "C=0.3")
    whole, both = load(tmp_path / "whole.aggro"), load(tmp_path / "both.aggro")
    assert whole.coef_.tobytes() == both.coef_.tobytes()
    assert whole.n_seen_ == 600
    assert "--set" in mistake("train", second, "--from", tmp_path / "half.aggro", "--set", "C=1", "--model", "x")


def test_a_folder_a_glob_and_stdin(svm, tmp_path, monkeypatch):
    lines = svm.read_text().splitlines(keepends=True)
    (tmp_path / "parts").mkdir()
    for k in range(3):
        (tmp_path / "parts" / f"{k}.svm").write_text("".join(lines[200 * k : 200 * k + 200]))
    for k, data in enumerate((svm, tmp_path / "parts", tmp_path / "parts" / "*.svm")):
        good("train", data, "--model", tmp_path / f"{k}.aggro")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(svm.read_bytes())))
    good("train", "-", "--model", tmp_path / "3.aggro")
    models = {load(tmp_path / f"{k}.aggro").coef_.tobytes() for k in range(4)}
    assert len(models) == 1


def test_text_weights_and_names(tmp_path):
    path = tmp_path / "mail.tsv"
    path.write_text("w\tbody\tlabel\n" + "1\twin money now\tspam\n1\tsee you soon\tham\n0\tsee money\tspam\n" * 5)
    good("train", path, "--model", tmp_path / "m.aggro", "--text", "body", "--weight", "w")
    learner = load(tmp_path / "m.aggro")
    assert learner.n_seen_ == 10
    assert all(name.startswith("body:") for name in learner.feature_names_)
    assert good("predict", tmp_path / "m.aggro", path).out.split()[:2] == ["spam", "ham"]


def test_unlabelled_rows_are_left_out_and_counted(tmp_path):
    path = tmp_path / "some.vw"
    path.write_text("1 |a x\n|a x y\n-1 |a y\n")
    result = good("train", path, "--model", tmp_path / "m.aggro", "--json").json
    assert (result["rows"], result["unlabelled"]) == (2, 1)
    path = tmp_path / "some.csv"
    path.write_text("x,y\n1,a\n2,\n3,b\n")
    result = good("train", path, "--model", tmp_path / "m.aggro", "--json").json
    assert (result["rows"], result["unlabelled"]) == (2, 1)


@pytest.mark.parametrize("passes", [1, 2])
def test_skip_bad_counts_each_line_once(svm, tmp_path, passes):
    path = tmp_path / "bad.svm"
    path.write_text(svm.read_text() + "1 x:1\n1 1:y\n")
    assert "bad.svm, line 601" in mistake("train", path, "--model", tmp_path / "m.aggro")
    result = good("train", path, "--model", tmp_path / "m.aggro", "--skip-bad", "--passes", passes, "--json").json
    assert result["bad_lines"] == 2
    assert "2 malformed" in good("train", path, "--model", tmp_path / "m.aggro", "--skip-bad").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--learner", "PAClasifier"], "Did you mean 'PAClassifier'?"),
        (["--learner", "pa3"], "Did you mean 'pa"),
        (["--learner", "zebra"], "There are: PAClassifier"),
        (["--learner", "pa("], "is not a learner"),
        (["--set", "stp=pa"], "Did you mean 'step'?"),
        (["--set", "c=1"], "Did you mean 'C'?"),
        (["--set", "step=pa11"], "Did you mean 'pa1'?"),
        (["--set", "C=-1"], "Got -1 instead"),
        (["--set", "C=much"], "Got 'much' instead"),
        (["--set", "C"], "name=value"),
        (["--set", "max_iter=3"], "--passes"),
        (["--set", "shuffle=true"], "shuffle them first"),
        (["--passes", "0"], "--passes"),
        (["--hash", "20"], "--hash 20 means nothing for svmlight"),
        (["--format", "xml"], "--format"),
        (["--resume"], "--checkpoint"),
        (["--test", "nowhere.svm"], "There is no file or folder 'nowhere.svm'"),
    ],
)
def test_mistakes_in_the_command(svm, tmp_path, arguments, said):
    assert said in mistake("train", svm, "--model", tmp_path / "m.aggro", *arguments)
    assert not (tmp_path / "m.aggro").exists()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.svm", "1 1:1\n-1 1:2\n1 1:x\n", "a.svm, line 3"),
        ("a.svm", "", "no rows to learn from"),
        ("a.csv", "x,y\n1,u\n3,v,w\n", "a.csv, line 3"),
        ("a.jsonl", '{"x": 1, "y": "u"}\n{"x": 2, "y"\n', "a.jsonl, line 2"),
        ("a.txt", "what is this\n", "a.txt is plain text, a message on each line, and has no label column"),
        ("a.dat", "what is this\n", "--format"),
    ],
)
def test_mistakes_in_the_data(tmp_path, name, content, said):
    (tmp_path / name).write_text(content)
    assert said in mistake("train", tmp_path / name, "--model", tmp_path / "m.aggro")


def test_classes_are_whole_numbers(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n0.5 1:2\n")
    said = mistake("train", tmp_path / "a.svm", "--model", tmp_path / "m.aggro", "--task", "classification")
    assert "a.svm, line 2: the label 0.5 is not a whole number. To predict numbers, use --task regression" in said


def test_a_regressor_wants_numbers(csv, tmp_path):
    said = mistake("train", csv, "--model", tmp_path / "m.aggro", "--learner", "PARegressor")
    assert "rows.csv, line 2: the label" in said


def test_where_it_cannot_write(svm, tmp_path):
    assert "there is no folder" in mistake("train", svm, "--model", tmp_path / "no" / "m.aggro")
    assert "is a folder" in mistake("train", svm, "--model", tmp_path)


def test_named_sets_are_not_files(svm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "$(aggro data path a9a)" in mistake("train", "a9a", "--model", "m.aggro")


def test_settings_of_every_kind(svm, tmp_path):
    sets = ["C=2", "average=yes", "n_features=9", "class_weight=1:2,-1:0.5", "random_state=7", "fit_intercept=false"]
    arguments = [part for one in sets for part in ("--set", one)]
    parameters = good("train", svm, "--model", tmp_path / "m.aggro", "--json", *arguments).json["parameters"]
    assert parameters["C"] == 2
    assert parameters["average"] is True
    assert parameters["class_weight"] == {"1": 2.0, "-1": 0.5}
    assert load(tmp_path / "m.aggro").class_weight == {1: 2.0, -1: 0.5}
    short = good("train", svm, "--model", tmp_path / "m.aggro", "--learner", "pa2(C=0.5)", "--json").json
    assert (short["parameters"]["step"], short["parameters"]["C"]) == ("pa2", 0.5)


@pytest.mark.parametrize(
    ("short", "name"), [("pamo", "PAMOClassifier"), ("KernelPA", "KernelPAClassifier"), ("pa1", "PAClassifier")]
)
def test_classifiers_go_by_short_names_too(short, name):
    from aggro.cli.learner_spec import entry_of

    assert entry_of(short)[0].name == name


def test_train_and_predict_start_without_scikit_learn(svm, csv, tmp_path):
    m, c = str(tmp_path / "m.aggro"), str(tmp_path / "c.aggro")
    script = f"""
import sys
from aggro import cli
for arguments in (
    ["train", {str(svm)!r}, "--model", {m!r}, "--checkpoint", "100", "--test", {str(svm)!r}],
    ["predict", {m!r}, {str(svm)!r}], ["show", {m!r}],
    ["train", {str(csv)!r}, "--model", {c!r}], ["predict", {c!r}, {str(csv)!r}, "--scores"],
    ["compare", {str(svm)!r}],
):
    try:
        cli.main(arguments)
    except SystemExit as end:
        assert end.code == 0, arguments
print("sklearn" in sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "False"


# Checkpoints ----------------------------------------------------------------------------------------


@pytest.fixture
def stopped(csv, tmp_path, monkeypatch):
    """A run that fails after its first pass, and leaves a checkpoint."""
    train = import_module("aggro.cli.train")
    real = train.Run._one_pass

    def fail_in_pass_2(self, number, lines):
        if number == 1:
            raise KeyboardInterrupt
        real(self, number, lines)

    data = tmp_path / "data.csv"
    shutil.copy(csv, data)
    arguments = ["train", str(data), "--model", str(tmp_path / "m.aggro"), "--passes", "2", "--checkpoint", "10"]
    with monkeypatch.context() as patch:
        patch.setattr(train.Run, "_one_pass", fail_in_pass_2)
        assert run(*arguments).status == 130
    assert (tmp_path / "m.aggro.checkpoint").exists()
    assert not (tmp_path / "m.aggro").exists()
    return arguments


def test_resume_goes_on(stopped, csv, tmp_path):
    shown = good("show", tmp_path / "m.aggro.checkpoint").out
    assert "not finished: pass 1, after row 600" in shown
    assert "Continuing after 600 rows" in good(*stopped, "--resume").err
    good("train", csv, "--model", tmp_path / "other.aggro", "--passes", 2)
    assert (tmp_path / "m.aggro").read_bytes() == (tmp_path / "other.aggro").read_bytes()
    assert not (tmp_path / "m.aggro.checkpoint").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda a: [*a, "--passes", "3"], "passes was 2, now 3"),
        (lambda a: [*a, "--set", "C=2"], "'C' among the parameters was 'auto', now it is 2"),
        (lambda a: [*a, "--learner", "PARegressor"], "learner was 'PAClassifier', now 'PARegressor'"),
        (lambda a: [*a, "--skip-bad"], "'skip_bad' among the options was False, now it is True"),
    ],
)
def test_another_run_is_not_resumed(stopped, change, said):
    assert said in mistake(*change(stopped), "--resume")


def test_other_data_are_not_resumed(stopped, tmp_path):
    with open(tmp_path / "data.csv", "a") as file:
        file.write("1,2,red,up\n")
    assert "data.csv had" in mistake(*stopped, "--resume")
    assert good(*stopped).status == 0  # without --resume it starts anew


def test_a_model_is_no_checkpoint_and_a_damaged_one_is_an_error(stopped, model, tmp_path):
    checkpoint = tmp_path / "m.aggro.checkpoint"
    shutil.copy(model, checkpoint)
    assert "not a checkpoint" in mistake(*stopped, "--resume")
    checkpoint.write_bytes(checkpoint.read_bytes()[:-1])
    assert "m.aggro.checkpoint: the file is" in mistake(*stopped, "--resume")


def test_resume_without_a_checkpoint_starts(svm, tmp_path):
    ran = good("train", svm, "--model", tmp_path / "m.aggro", "--checkpoint", 100, "--resume")
    assert "Continuing" not in ran.err


def test_compressed_data_are_read_again(svm, tmp_path, monkeypatch):
    data = tmp_path / "data.svm.gz"
    with gzip.open(data, "wb") as file:
        file.write(svm.read_bytes())
    from aggro.streams import reader

    whole, pieces = tmp_path / "whole", tmp_path / "pieces"
    monkeypatch.setattr(reader.open, "__kwdefaults__", {**reader.open.__kwdefaults__, "chunk_bytes": 1000})
    good("train", data, "--model", whole, "--passes", 2)
    from aggro.cli import checkpoints

    real, taken = checkpoints.Checkpoints.take, []

    def take(self, learner, place):
        real(self, learner, place)
        taken.append(place)
        if len(taken) == 7:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints.Checkpoints, "take", take)
        assert run("train", data, "--model", pieces, "--passes", 2, "--checkpoint", 1).status == 130
    good("train", data, "--model", pieces, "--passes", 2, "--checkpoint", 1, "--resume")
    assert pieces.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("option", ["--checkpoint", "--passes"])
def test_stdin_cannot_be_read_again(svm, tmp_path, monkeypatch, option):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(svm.read_bytes())))
    assert "stdin" in mistake("train", "-", "--model", tmp_path / "m.aggro", option, 5)


def test_help_fits_two_screens_with_the_options_first():
    lines = good("train", "--help").out.splitlines()
    assert len(lines) <= 72
    assert max(map(len, lines)) <= 80
    titles = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["Arguments:", "Options:", "On Dask:", "Reading the data:"]
    assert any("--skip-bad" in line for line in lines)
    assert "'aggro learners' lists all" in " ".join(lines)


def test_json_is_json(svm, tmp_path):
    json.loads(good("train", svm, "--model", tmp_path / "m.aggro", "--json").out)


@pytest.mark.xdist_group("minibatch")
def test_rows_in_groups(svm, tmp_path):
    settings = ("--set", "batch_size=7", "--set", "step=pa2")
    good("train", svm, "--model", tmp_path / "m.aggro", *settings)
    found = load(tmp_path / "m.aggro")
    assert found.n_seen_ == 600
    assert found._model.state.group.facts[0] == 0  # 600 = 85·7 + 5: the last five do not wait
    one_pass = aggro.PAClassifier(batch_size=7, step="pa2")
    for chunk in aggro.streams.open(svm):
        one_pass.learn_chunk(chunk)
    assert one_pass._model.state.group.facts[0] == 5
    np.testing.assert_array_equal(one_pass.flush().coef_, found.coef_)
    assert "cannot learn batch_size=7" in mistake("train", svm, "--model", "x", *settings[:2], "--set", "step=pa")
