"""``aggro serve --follow``: a model of the service learns from a broker, each record once, also when it is killed."""

from __future__ import annotations

import signal
import time

import pytest
from interop.brokers import RedisServer, without_repeats
from serve.killing import replayed
from serve.records import customers
from serve.server import PATIENCE, started

import aggro

pytest.importorskip("redis", reason="aggro[redis] is not installed")
pytestmark = [
    pytest.mark.xdist_group("brokers"),
    pytest.mark.skipif(RedisServer.there is None, reason="there is no redis-server on this machine"),
]
BAD = [b"{oops", b"[1]", b'{"plan": "x", "label": [1]}', b'{"label": "stays"}']


@pytest.fixture
def broker(tmp_path):
    server = RedisServer(tmp_path)
    yield server
    server.stop()


def rows_of(http, wanted):
    """The rows that the model has learned, as soon as they are so many."""
    end = time.monotonic() + PATIENCE
    while (found := http.get("/v1/models/default").json()["rows"]) < wanted and time.monotonic() < end:
        time.sleep(0.02)
    return found


def test_a_service_that_is_killed_learns_each_record_once(broker, tmp_path):
    rows = [{**record, "label": label} for record, label in customers(1500)]
    broker.add("visits", rows[:700] + BAD + [{"plan": "pro"}] + rows[700:])
    folder, how = tmp_path / "served", ("--follow", broker.url("visits"))
    for kill in range(3):
        server = started(folder, *how, ready=False)
        with server.client() as http:
            rows_of(http, 1 + 500 * kill)
        server.stop(signal.SIGKILL)
    server = started(folder, *how)
    with server.client() as http:
        assert rows_of(http, 1500) == 1500
        end = time.monotonic() + PATIENCE
        while broker.client.xpending("visits", "aggro-default")["pending"] and time.monotonic() < end:
            time.sleep(0.02)
        found = http.get("/v1/models/default/download").content
        assert http.post("/v1/models/default/predict", json={"record": {"plan": "pro"}}).status_code == 200
        said = http.get("/metrics").text
    server.stop()
    assert 'aggro_follow_records_total{model="default",stream="visits"} 1505' in said
    assert 'aggro_follow_dead_letters_total{model="default",stream="visits"} 4' in said
    assert 'aggro_follow_unlabelled_total{model="default",stream="visits"} 1' in said
    assert 'aggro_follow_lag{model="default",stream="visits"} 0' in said
    assert found == replayed(folder)
    plain = aggro.RecordLearner(aggro.PAClassifier(random_state=0))
    for record, label in customers(1500):
        plain.learn_one(record, label)
    plain.save(tmp_path / "plain.aggro")
    assert found == (tmp_path / "plain.aggro").read_bytes()
    dead = without_repeats(broker.entries("visits-dead-letters"))
    assert [one["message"] for one in dead] == [bad.decode() for bad in BAD]
    assert dead[0]["reason"].startswith("it is not JSON")


def test_an_address_without_a_broker_is_refused_at_the_start(tmp_path):
    with pytest.raises(RuntimeError, match="ended with status 2"):
        started(tmp_path, "--follow", "redis://127.0.0.1:1/visits")
