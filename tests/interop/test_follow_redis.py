"""``follow`` on a real Redis server."""

from __future__ import annotations

import json
import threading
import time

import pytest
from interop.brokers import RedisServer, without_repeats
from interop.kill_followers import bits, followed, killed_and_whole
from serve.records import customers

import aggro
from aggro.interop import brokers
from aggro.interop.brokers import SourceError, follow

redis = pytest.importorskip("redis", reason="aggro[redis] is not installed")
pytestmark = [
    pytest.mark.xdist_group("brokers"),
    pytest.mark.skipif(RedisServer.there is None, reason="there is no redis-server on this machine"),
]
BAD = [b"{oops", b"[1]"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server that the tests share, each after a flush."""
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()


@pytest.fixture
def redis_server(server):
    server.client.flushall()
    return server


def visits(n, seed=0):
    return [{**record, "label": label} for record, label in customers(n, seed)]


def test_a_few_kills(redis_server, tmp_path):
    rows = visits(3000)
    redis_server.add("visits", rows[:1500] + BAD + rows[1500:])
    found = killed_and_whole(redis_server, tmp_path, 4, [], 3002)
    assert found["written"] >= 2999
    dead = without_repeats(redis_server.entries("visits-dead-letters"))
    assert [entry["message"] for entry in dead] == ["{oops", "[1]"]
    assert redis_server.client.xpending("visits", "aggro-killed")["pending"] == 0


def test_a_few_kills_with_labels_that_come_by_themselves(redis_server, tmp_path):
    rows = [{"id": k, **row} for k, row in enumerate(visits(1500))]
    labels = [{"id": row["id"], "label": row.pop("label")} for row in rows]
    labels = [label for k in range(0, 1500, 50) for label in reversed(labels[k : k + 50])]
    redis_server.add("visits", rows)
    redis_server.add("labels", labels)
    killed_and_whole(redis_server, tmp_path, 3, ["--labels", redis_server.url("labels")], 1500)
    assert bits(tmp_path / "whole.aggro")[1]["learned"] == 1500


def test_the_group_shows_how_far_the_model_is(redis_server, tmp_path):
    redis_server.add("visits", visits(50))
    lags = []
    follow(redis_server.url("visits"), tmp_path / "m.aggro", idle=0.3, report=lambda one: lags.append(one.lag()))
    (group,) = redis_server.client.xinfo_groups("visits")
    assert (group["name"], group["pending"], group["lag"], lags[-1]) == (b"aggro-m", 0, 0, 0)
    redis_server.add("visits", visits(7))
    (group,) = redis_server.client.xinfo_groups("visits")
    assert group["lag"] == 7


def test_entries_of_several_fields_are_records(redis_server, tmp_path):
    for k in range(30):
        redis_server.client.xadd(
            "visits", {"plan": "pro" if k % 2 else "basic", "age": str(20 + k), "left": str(k % 2)}
        )
    counts = follow(redis_server.url("visits"), tmp_path / "m.aggro", label="left", idle=0.3)
    assert counts.learned == 30
    assert aggro.load(tmp_path / "m.aggro").predict_one({"plan": "pro", "age": 33}) == "1"


def test_a_server_that_restarts(redis_server, tmp_path):
    """The connection is lost in the middle; what comes afterwards is learned, and nothing twice."""
    rows = visits(400)
    redis_server.add("visits", rows[:200])
    path, notes = tmp_path / "m.aggro", []

    def restart():
        time.sleep(0.5)
        redis_server.stop()
        time.sleep(0.3)
        redis_server.start()
        redis_server.add("visits", rows[200:])

    thread = threading.Thread(target=restart)
    thread.start()
    counts = follow(
        redis_server.url("visits"), path, idle=3.0, report=lambda one: notes.__setitem__(slice(None), one.notes)
    )
    thread.join()
    assert counts.learned == counts.records == 400
    assert "cannot be reached" in " ".join(notes)
    whole = tmp_path / "whole.aggro"
    follow(redis_server.url("visits"), whole, idle=0.5)
    assert bits(path) == bits(whole)


def test_a_slow_server_loses_nothing(redis_server, tmp_path):
    """It answers nobody for a while, again and again."""
    redis_server.add("visits", visits(300) + BAD)
    paused, last = threading.Event(), []

    def report(one):
        last[:] = [one]
        if one.counts.records < 300:
            redis_server.client.client_pause(300)
            paused.set()

    follow(redis_server.url("visits"), tmp_path / "m.aggro", idle=0.5, batch=100, every=0.0, report=report)
    assert paused.is_set()
    assert (last[0].counts.records, last[0].counts.learned) == (302, 300)
    whole = tmp_path / "whole.aggro"
    follow(redis_server.url("visits"), whole, idle=0.3)
    assert bits(tmp_path / "m.aggro") == bits(whole)


def test_a_group_that_is_gone_or_elsewhere(redis_server, tmp_path):
    """Others may delete the group, move it, or read in its name: the model's own place counts."""
    rows, path, group = visits(90), tmp_path / "m.aggro", "aggro-m"
    redis_server.add("visits", rows[:30])
    follow(redis_server.url("visits"), path, idle=0.3)
    redis_server.client.xgroup_destroy("visits", group)
    redis_server.add("visits", rows[30:60])
    assert follow(redis_server.url("visits"), path, idle=0.3).learned == 60
    redis_server.add("visits", rows[60:])
    redis_server.client.xreadgroup(group, "another", {"visits": ">"}, count=20)
    assert follow(redis_server.url("visits"), path, idle=0.3).learned == 90
    assert redis_server.client.xpending("visits", group)["pending"] == 0


def test_one_process_learns_a_model(redis_server, tmp_path):
    from aggro.models.atomic import holding

    path = tmp_path / "m.aggro"
    with holding(str(path)), pytest.raises(SourceError, match="in use"):
        follow(redis_server.url("visits"), path, idle=0.1)


def test_what_is_no_stream(redis_server, tmp_path):
    redis_server.client.set("visits", "a text")
    with pytest.raises(SourceError, match="WRONGTYPE"):
        follow(redis_server.url("visits"), tmp_path / "m.aggro", idle=0.1)
    with pytest.raises(SourceError, match="cannot be reached"):
        follow("redis://127.0.0.1:1/visits", tmp_path / "m.aggro", idle=0.1)


def test_a_database_by_its_number(redis_server, tmp_path):
    other = redis.Redis(port=redis_server.port, db=2)
    other.xadd("visits", {"json": json.dumps({"a": 1, "label": "x"})})
    url = redis_server.url("visits").replace("/visits", "/2/visits")
    assert follow(url, tmp_path / "m.aggro", idle=0.2).learned == 1
    assert brokers.open_source(url, "g").name == "visits"


def test_the_command_says_what_came(redis_server, tmp_path):
    redis_server.add("visits", visits(300) + BAD)
    said = followed(redis_server.url("visits"), tmp_path / "m.aggro", "--json")
    found = json.loads(said)
    assert (found["records"], found["learned"], found["dead_letters"], found["lag"]) == (302, 300, 2, 0)
    said = followed(redis_server.url("visits"), tmp_path / "m.aggro")
    assert said.startswith("records    302, 300 learned\nset aside  2 messages that cannot be learned\n")
