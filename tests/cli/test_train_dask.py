"""``aggro train --dask``: what one process learns, partitions learn side by side; and what goes wrong there."""

from __future__ import annotations

import gzip
import importlib.util
import io
import os
import subprocess
import sys

import numpy as np
import pytest
from helpers.apart import texts
from helpers.runner import good, mistake, run

from aggro.cli import checkpoints, cluster
from aggro.cli.console import Mistake
from aggro.cli.reading import LabelOrder
from aggro.models import load

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def scheduler():
    """The address of a cluster of two processes."""
    with cluster.quiet():
        found = cluster.local_cluster(2)
        yield found.scheduler_address
        found.close(timeout=10)


@pytest.fixture
def parts(svm, tmp_path):
    """The rows in three files, one of them compressed."""
    lines = svm.read_text().splitlines(keepends=True)
    folder = tmp_path / "parts"
    folder.mkdir()
    for k in range(2):
        (folder / f"{k}.svm").write_text("".join(lines[200 * k : 200 * k + 200]))
    with gzip.open(folder / "2.svm.gz", "wt") as file:
        file.writelines(lines[400:])
    return folder


@pytest.fixture
def small_chunks(monkeypatch):
    """Small files are cut too."""
    from aggro.streams import reader

    monkeypatch.setattr(reader.open, "__kwdefaults__", {**reader.open.__kwdefaults__, "chunk_bytes": 1000})


# What is learned --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ("svm", ["--passes", "2", "--set", "C=0.1"]),
        ("csv", []),
        ("numbers", ["--learner", "PARegressor"]),
    ],
)
def test_one_partition_is_what_one_process_learns_to_the_byte(data, options, request, scheduler, tmp_path):
    file, one, other = request.getfixturevalue(data), tmp_path / "one.aggro", tmp_path / "other.aggro"
    good("train", file, "--model", one, *options)
    good("train", file, "--model", other, *options, "--dask", scheduler)
    assert one.read_bytes() == other.read_bytes()
    good("train", file, "--from", one, "--model", one)
    good("train", file, "--from", other, "--model", other, "--dask", scheduler)
    assert one.read_bytes() == other.read_bytes()


def test_several_partitions_and_what_is_said_of_them(parts, svm, scheduler, tmp_path):
    model = tmp_path / "m.aggro"
    ran = good("train", parts, "--model", model, "--passes", 2, "--test", svm, "--dask", scheduler)
    told, head, *lines = ran.err.splitlines()
    assert told == "Learning 3 partitions on 2 workers."
    assert head.split()[:3] == ["rows", "mean", "loss"]
    assert [line.split()[0] for line in lines] == ["600", "1,200"]  # a line for each pass
    assert "partitions 3, learned by 2 workers" in ran.out
    assert "error on the 600 rows of rows.svm" in ran.out
    learner = load(model)
    assert lines[-1].split()[3] == f"{learner.n_mistakes_ / 1200:.2%}"
    before = model.read_bytes()
    result = good("train", parts, "--model", model, "--passes", 2, "--dask", scheduler, "--json").json
    assert (result["rows"], result["passes"], result["partitions"], result["workers"]) == (1200, 2, 3, 2)
    assert result["classes"] == [-1, 1]
    assert model.read_bytes() == before


def test_what_partitions_weigh(parts, scheduler, tmp_path):
    (tmp_path / "parts" / "3.svm").write_text("-1 1:1\n")
    models = {}
    for mix in ("rows", "uniform", "updates"):
        good("train", parts, "--model", tmp_path / mix, "--learner", "pa1", "--dask", scheduler, "--mix", mix)
        models[mix] = (tmp_path / mix).read_bytes()
    assert len(set(models.values())) == 3


def test_a_table_in_parts_is_mixed_by_its_columns(csv, scheduler, small_chunks, tmp_path):
    plain = good("train", csv, "--model", tmp_path / "p.aggro", "--test", csv, "--json").json
    command = ("train", csv, "--model", tmp_path / "m.aggro", "--test", csv, "--dask", scheduler)
    ran = good(*command, "--partition-bytes", "4kB", "--passes", 3)
    assert "categories: 'colour' (2 values)" in ran.err
    result = good(*command, "--partition-bytes", "4kB", "--passes", 3, "--json").json
    assert result["partitions"] == 4
    assert result["columns"] == plain["columns"]
    assert result["classes"] == ["down", "up"]
    assert result["test"]["error"] < plain["test"]["error"] + 0.05
    assert load(tmp_path / "m.aggro").predict_one({"x": "2", "z": "0", "colour": "red"}) == "up"


def test_partitions_that_are_larger_than_asked_for_are_said(svm, scheduler, small_chunks, tmp_path):
    for command in (("train", svm, "--model", tmp_path / "m.aggro"), ("sweep", svm, "--learners", "pa1,pa2")):
        where = (*command, "--dask", scheduler, "--partition-bytes")
        assert "Note: files are cut between pieces of 1,000 bytes, so no partition" in good(*where, 500).err
        assert "Note:" not in good(*where, 501).err


def test_what_is_left_out_is_counted_on_all_workers(scheduler, tmp_path):
    for k in range(3):
        rows = "".join(f"{x},{'a' if x % 2 else 'b'}\n" for x in range(40)) + "1,\n" * k
        (tmp_path / f"{k}.csv").write_text("x,label\n" + rows)
        (tmp_path / f"{k}.svm").write_text("1 1:1\n-1 1:-1\n" * 20 + "1 1:x\n" * k)
    options = ("--model", tmp_path / "m.aggro", "--dask", scheduler, "--passes", 2, "--json")
    assert good("train", tmp_path / "*.csv", *options).json["unlabelled"] == 3
    assert good("train", tmp_path / "*.svm", *options, "--skip-bad").json["bad_lines"] == 3


@pytest.mark.parametrize("passes", [1, 2])
def test_max_features_bounds_the_words_of_all_partitions(scheduler, tmp_path, passes):
    """The columns are settled before, and no row is common to all: each partition fills a vocabulary of its own."""
    paths, model = [texts(tmp_path / f"{k}.csv", 100, k) for k in range(3)], tmp_path / "m.aggro"
    where = ("--dask", scheduler, "--passes", passes, "--test", paths[0], "--json")
    found = good("train", *paths, "--model", model, "--set", "max_features=300", *where).json
    assert found["rows"] == 300 * passes
    assert 300 <= load(model).encoder_.width <= 310  # a column of numbers has features of its own
    assert found["test"]["error"] < 0.3


def many_classes(path, rows, classes, seed):
    rng = np.random.default_rng(seed)
    lines = [f"{rng.standard_normal():.3f},{rng.standard_normal():.3f},k{rng.integers(classes)}" for _ in range(rows)]
    path.write_text("a,b,label\n" + "\n".join(lines) + "\n")
    return path


def test_a_small_partition_may_have_nearly_as_many_classes_as_rows(scheduler, tmp_path):
    paths = [many_classes(tmp_path / f"{n}.csv", n, 120, n) for n in (1000, 80)]
    model = tmp_path / "m.aggro"
    found = good("train", *paths, "--model", model, "--dask", scheduler, "--json").json
    assert found["rows"] == 1080
    assert len(load(model).classes_) == 120
    good("sweep", *paths, "--learners", "pa1,pa2", "--dask", scheduler)


def test_more_classes_than_can_be_meant_over_all_partitions(scheduler, tmp_path):
    paths = [many_classes(tmp_path / f"{n}.csv", n, 10**6, n) for n in (300, 80)]
    for command in (("train", *paths, "--model", tmp_path / "m.aggro"), ("sweep", *paths, "--learners", "pa1,pa2")):
        assert "has 380 classes in 380 rows, so it is probably not" in mistake(*command, "--dask", scheduler)
    assert not (tmp_path / "m.aggro").exists()


def test_labels_that_come_sorted_over_all_partitions(svm, scheduler, tmp_path):
    lines = sorted(svm.read_text().splitlines(keepends=True))
    for k in range(3):
        (tmp_path / f"{k}.svm").write_text("".join(lines[200 * k : 200 * k + 200]))
    ran = good("train", tmp_path / "*.svm", "--model", tmp_path / "m.aggro", "--dask", scheduler)
    assert "Note: the labels come sorted (changes in 600 rows: 1)" in ran.err


def test_the_order_of_labels_in_parts_is_that_of_all():
    labels = np.random.default_rng(0).integers(0, 3, 100)
    for cuts in ([50], [0, 10, 10, 99], [100]):
        whole, together = LabelOrder(), LabelOrder()
        whole.add(labels)
        for part in np.split(labels, cuts):
            own = LabelOrder()
            own.add(part)
            together = together.then(own)
        assert (together.changes, together.counts) == (whole.changes, whole.counts)


def test_a_plugin_goes_to_the_workers(scheduler, tmp_path):
    plugin = tmp_path / "plugged_on_dask.py"
    plugin.write_text("import aggro\n@aggro.step\ndef far(loss, q, C):\n    return min(C, loss / q)\n")
    with cluster.connected(scheduler, [str(plugin), "aggro.published"]) as client:
        assert list(client.run(steps).values()) == [["far"]] * 2
    plugin.write_text("1 / 0")
    loaded = cluster.connected(scheduler, [str(plugin)])
    with pytest.raises(Mistake, match=r"cannot be loaded by the workers: .*division by zero"), loaded:
        pass


def steps():
    """What a worker knows of steps from outside."""
    return list(sys.modules["aggro.engine.user_steps"].OWN_STEPS)


# Checkpoints ------------------------------------------------------------------------------------------


def test_a_checkpoint_is_a_pass_and_the_same_command_goes_on(parts, scheduler, tmp_path, monkeypatch):
    whole, model = tmp_path / "whole.aggro", tmp_path / "m.aggro"
    options = ("--passes", 3, "--dask", scheduler)
    good("train", parts, "--model", whole, *options)
    command = ("train", parts, "--model", model, *options, "--checkpoint", 1)
    real, kept = checkpoints.Checkpoints.keep, []

    def keep(self, learner, place):
        real(self, learner, place)
        kept.append(place.passes)
        if len(kept) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints.Checkpoints, "keep", keep)
        ran = run(*command)
    assert ran.status == 130
    assert f"1,200 rows are saved in {model}.checkpoint: add --resume to the same command to continue." in ran.err
    assert not model.exists()
    for other in (["--mix", "uniform"], ["--partition-bytes", "1MB"]):
        assert "its mixing was 'by rows, of partitions of 67,108,864 bytes'" in mistake(*command, "--resume", *other)
    here = ("train", parts, "--model", model, "--passes", 3, "--checkpoint", 1)
    assert "belongs to another run" in mistake(*here, "--resume")
    assert "Continuing after 1,200 rows, in pass 3." in good(*command, "--resume").err
    assert model.read_bytes() == whole.read_bytes()
    assert not (tmp_path / "m.aggro.checkpoint").exists()


def test_a_table_goes_on_after_a_pass_to_the_byte(scheduler, tmp_path, monkeypatch):
    """Its words too, and what was found out about its columns."""
    paths = [texts(tmp_path / f"{k}.csv", 700, k) for k in range(3)]
    whole, model = tmp_path / "whole.aggro", tmp_path / "m.aggro"
    options = ("--passes", 2, "--dask", scheduler)
    good("train", *paths, "--model", whole, *options)
    real = checkpoints.Checkpoints.keep

    def keep(self, learner, place):
        real(self, learner, place)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints.Checkpoints, "keep", keep)
        assert run("train", *paths, "--model", model, *options, "--checkpoint", 1).status == 130
    good("train", *paths, "--model", model, *options, "--checkpoint", 1, "--resume")
    assert model.read_bytes() == whole.read_bytes()


# What goes wrong --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--mix", "rows"], "--mix needs --dask"),
        (["--partition-bytes", "1MB"], "--partition-bytes needs --dask"),
        (["--dask", "local", "--mix", "some"], "There are: rows, uniform, updates."),
        (["--dask", "local", "--partition-bytes", "3 apples"], "'3 apples' is not a size"),
        (["--dask", "local", "--partition-bytes", "0"], "less than a byte"),
        (["--dask", "somewhere"], "'somewhere' is not a scheduler. Expected local, "),
        (["--dask", "scheduler.json"], "there is no file 'scheduler.json'"),
        (["--dask", "local:0"], "'local:0' is not a scheduler. Expected local, "),
        (["--dask", __file__], "is not a scheduler file, which holds an address. Expected local, "),
        (["--dask", "local", "--resume"], "--resume needs --checkpoint"),
    ],
)
def test_mistakes(svm, tmp_path, options, said):
    assert said in mistake("train", svm, "--model", tmp_path / "m.aggro", *options)


def test_a_scheduler_that_is_not_there_is_one_line(svm, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "SCHEDULER_TIMEOUT", 0.2)
    said = mistake("train", svm, "--model", tmp_path / "m.aggro", "--dask", "tcp://127.0.0.1:9")
    assert said.startswith("--dask: there is no scheduler at tcp://127.0.0.1:9 (")
    (tmp_path / "other.json").write_text("{}")
    said = mistake("train", svm, "--model", tmp_path / "m.aggro", "--dask", tmp_path / "other.json")
    assert "is not a scheduler file" in said
    (tmp_path / "other.json").write_text('{"address": "tcp://127.0.0.1:9"}')
    said = mistake("train", svm, "--model", tmp_path / "m.aggro", "--dask", tmp_path / "other.json")
    assert "there is no scheduler at" in said


def test_without_dask_it_is_said_how_to_get_it(svm, tmp_path, monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "distributed" else real(name))
    said = mistake("train", svm, "--model", tmp_path / "m.aggro", "--dask", "local")
    assert said == "--dask needs Dask: pip install 'aggro[dask]'."


def test_stdin_is_refused(svm, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(svm.read_bytes())))
    said = mistake("train", "-", "--model", tmp_path / "m.aggro", "--dask", "local")
    assert said == "--dask reads the data more than once: save stdin to a file first."


def test_what_a_worker_finds_wrong_is_said_with_file_and_line(svm, scheduler, small_chunks, tmp_path):
    lines = svm.read_text().splitlines()
    options = ("--model", tmp_path / "m.aggro", "--dask", scheduler, "--partition-bytes", "4kB")
    for bad, said in (("1.5 1:1", "line 501: the label 1.5 is not a whole number"), ("1 1:x", "line 501, column 5")):
        path = tmp_path / "bad.svm"
        path.write_text("\n".join([*lines[:500], bad, *lines[500:]]) + "\n")
        assert f"bad.svm, {said}" in mistake("train", path, *options)
    (tmp_path / "one.svm").write_text("1 1:1\n" * 5)
    assert "every row has the label 1" in mistake("train", tmp_path / "one.svm", *options)
    (tmp_path / "none.csv").write_text("x,label\n1,\n2,\n")
    assert "no row to learn from" in mistake("train", tmp_path / "none.csv", *options)
    assert os.listdir(tmp_path).count("m.aggro") == 0


def test_a_cluster_that_goes_away(parts, scheduler, tmp_path, monkeypatch):
    from aggro.distributed.executors import ClusterLost, OnDask

    real, calls = OnDask.as_completed, []

    def lost_in_pass_2(self, handles):
        calls.append(len(handles))
        if len(calls) == 2:
            raise ClusterLost("The cluster tcp://far does not answer any more (closed).")
        return real(self, handles)

    model = tmp_path / "m.aggro"
    command = ("train", parts, "--model", model, "--passes", 3, "--dask", scheduler)
    for more, said in (
        ([], f"{model} was not written. Use --checkpoint"),
        (
            ["--checkpoint", 1],
            f"600 rows are saved in {model}.checkpoint: add --resume to the same command to continue.",
        ),
    ):
        calls.clear()
        with monkeypatch.context() as patch:
            patch.setattr(OnDask, "as_completed", lost_in_pass_2)
            assert mistake(*command, *more).startswith(
                f"The cluster tcp://far does not answer any more (closed). {said}"
            )
    good(*command, "--checkpoint", 1, "--resume")


def test_another_version_on_the_workers(parts, scheduler, tmp_path, monkeypatch):
    import aggro

    monkeypatch.setattr(aggro, "__version__", "9.9")
    said = mistake("train", parts, "--model", tmp_path / "m.aggro", "--dask", scheduler)
    assert "and the client has 9.9" in said
    assert "Install the same version everywhere." in said


# The cluster ------------------------------------------------------------------------------------------


def test_what_is_written_here_is_what_the_library_has():
    from aggro.mixing.mixture import MIXES_BY
    from aggro.streams.partition import PARTITION_BYTES

    assert sorted(cluster.MERGE_WEIGHTS) == sorted(MIXES_BY)
    assert cluster.PARTITION_BYTES == PARTITION_BYTES


def test_sizes():
    sizes = {"7": 7, "64MB": 64_000_000, "64 MiB": 2**26, "1.5k": 1500, "2g": 2_000_000_000, "3b": 3}
    assert {text: cluster.size(text) for text in sizes} == sizes


def test_processes_on_this_computer(parts, tmp_path):
    """As a user types it, in a process of its own: it ends, and leaves nothing but the model."""
    model = tmp_path / "m.aggro"
    command = [sys.executable, "-m", "aggro", "train", str(parts), "--model", str(model), "--dask", "local:1"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.startswith("Learning 3 partitions on 1 worker.\n")
    assert load(model).n_seen_ == 600
    assert sorted(os.listdir(tmp_path)) == ["m.aggro", "parts"]
