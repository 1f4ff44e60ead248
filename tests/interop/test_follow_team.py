"""Several consumers of one topic, which learn its partitions in parallel and merge: on librdkafka's mock cluster."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
import time

import pytest
from interop.brokers import KafkaCluster, RedisServer, without_repeats
from interop.kill_followers import bits, command, place_of
from serve.records import customers

import aggro
from aggro.interop.brokers import SourceError, follow

pytest.importorskip("confluent_kafka", reason="aggro[kafka] is not installed")
team = pytest.importorskip("aggro.interop.brokers.team")
pytestmark = [
    pytest.mark.xdist_group("team"),
    pytest.mark.skipif(os.name == "nt", reason="consumers share files by locks"),
]
N = 250  # records of a partition in a round
HURRY = "?session.timeout.ms=6000&heartbeat.interval.ms=300"  # longer than the cluster waits for others to join


def visits(n, seed=0):
    return [{**record, "label": label} for record, label in customers(n, seed)]


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A topic with four partitions, of which the first rows of one were learned, and that model's file."""
    cluster, path = KafkaCluster(), tmp_path_factory.mktemp("begun") / "m.aggro"
    cluster.add("visits", visits(1000))
    follow(cluster.url("visits"), path, idle=1.0)
    for partition in range(4):
        rows = [*visits(4 * N - 2, 1 + partition), b"{oops", b"[1]"]
        cluster.add("visits", rows, partition)
    return cluster, path


def together(cluster, start, folder, name, n, **options):
    """A team of threads learns to the end of the topic; what each of them reported last."""
    path, last, errors = folder / f"{name}.aggro", {}, []
    shutil.copy(start, path)

    def one(k):
        how = {"merge_every": N, "every": 60.0, "idle": 1.0, "group": name, **options}
        try:
            follow(cluster.url("visits") + HURRY, path, report=lambda member: last.__setitem__(k, member), **how)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=one, args=(k,)) for k in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
    return path, [*last.values()]


@pytest.fixture(scope="module")
def alone(begun, tmp_path_factory):
    """What one consumer learns, with merging."""
    path, (member,) = together(*begun, tmp_path_factory.mktemp("alone"), "alone", 1, predictions="alone-out")
    assert member.rounds == 4
    return path


def test_the_model_does_not_tell_how_many_learned_it(begun, alone, tmp_path):
    path, members = together(*begun, tmp_path, "three", 3, predictions="three-out")
    assert bits(path) == bits(alone)
    counts = members[0].counts
    assert (counts.records, counts.learned, counts.dead_letters) == (1000 + 16 * N, 992 + 16 * N, 8)
    assert sum(member.rounds for member in members) == 4
    written = without_repeats(begun[0].entries("three-out"))
    assert {entry["key"]: entry for entry in written} == {
        entry["key"]: entry for entry in without_repeats(begun[0].entries("alone-out"))
    }
    assert len(written) == 16 * N - 8
    dead = without_repeats(begun[0].entries("visits-dead-letters"))
    assert sorted(entry["message"] for entry in dead) == ["[1]"] * 4 + ["{oops"] * 4
    model = aggro.load(path)
    assert model.n_seen_ == 992 + 16 * N
    rows = customers(500, seed=99)
    assert sum(model.predict_one(record) == label for record, label in rows) > 450


def test_a_leader_that_is_killed_is_followed_by_another(begun, alone, tmp_path):
    """Two processes; the one that leads is killed, after it a third one joins: the bits are as if nothing was."""
    cluster, start = begun
    path = tmp_path / "m.aggro"
    shutil.copy(start, path)
    how = [
        "--merge-every",
        str(N),
        "--every",
        "60",
        "--batch",
        "20",
        "--group",
        "killed",
        "--predictions",
        "killed-out",
    ]
    line = [*command(cluster.url("visits") + HURRY, path, *how), "--idle", "2", "--json"]
    started = [subprocess.Popen(line, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    while place_of(path)[1] == 1000 and all(one.poll() is None for one in started):
        time.sleep(0.002)
    leader = next(one for one in started if holds(one.pid, tmp_path / "m.aggro.parts" / "leader"))
    leader.send_signal(signal.SIGKILL)
    leader.communicate()
    started = [one for one in started if one is not leader] + [
        subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    ]
    for one in started:
        said, _ = one.communicate(timeout=300)
        assert one.returncode == 0
        assert json.loads(said)["records"] == 1000 + 16 * N
    assert bits(path) == bits(alone)
    written = {entry["key"]: entry for entry in without_repeats(cluster.entries("killed-out"))}
    assert len(written) == 16 * N - 8


def holds(pid, file):
    """Whether a process has a lock on a file, as the system lists them."""
    with open("/proc/locks") as lines:
        return any(f" {pid} " in line and line.split()[5].endswith(f":{os.stat(file).st_ino}") for line in lines)


def test_columns_that_partitions_meet_in_different_order(begun, tmp_path):
    cluster = KafkaCluster()
    cluster.add("visits", visits(1000))
    for partition, names in enumerate((["a", "b"], ["b", "a"], ["c"], [])):
        rows = [{**row, **dict.fromkeys(names, k % 3)} for k, row in enumerate(visits(N, 7 + partition))]
        cluster.add("visits", rows, partition)
    path, members = together(cluster, begun[1], tmp_path, "columns", 2, every=1.0)
    assert members[0].counts.learned == 1000 + 4 * N
    assert {"a", "b", "c"} <= aggro.load(path).columns_.keys()


def test_the_first_rows_are_learned_by_one_alone(tmp_path):
    """Without a file: one learns until copies can go apart, and the others wait for it."""
    cluster = KafkaCluster()
    for partition in range(4):
        cluster.add("visits", visits(500, partition), partition)
    path, counts = tmp_path / "new.aggro", []

    def one():
        counts.append(follow(cluster.url("visits") + HURRY, path, merge_every=100, every=1.0, idle=1.5))

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.learned for one in counts] == [2000, 2000]
    assert aggro.load(path).n_seen_ == 2000
    assert follow(cluster.url("visits"), path, idle=0.5).learned == 2000  # and then one goes on alone


def test_what_cannot_be_shared_is_refused(tmp_path):
    with pytest.raises(ValueError, match="merge_every must be at least 1"):
        follow("kafka://127.0.0.1:1/visits", tmp_path / "m.aggro", merge_every=0)
    with pytest.raises(SourceError, match="not in another stream"):
        follow("kafka://127.0.0.1:1/a", tmp_path / "m.aggro", merge_every=9, labels="kafka://127.0.0.1:1/b")
    with pytest.raises(SourceError, match="lets several learners vote"):
        follow("kafka://127.0.0.1:1/a", tmp_path / "m.aggro", merge_every=9, learner=aggro.AutoClassifier())
    if RedisServer.there is not None:
        with pytest.raises(SourceError, match="a Redis stream has none"):
            follow("redis://127.0.0.1:1/visits", tmp_path / "m.aggro", merge_every=9)
