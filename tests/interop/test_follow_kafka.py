"""``follow`` on librdkafka's mock cluster, which speaks Kafka's protocol over sockets."""

from __future__ import annotations

import json

import pytest
from interop.brokers import KafkaCluster, without_repeats
from interop.kill_followers import bits, killed_and_whole
from serve.records import customers

from aggro.interop.brokers import SourceError, follow

kafka = pytest.importorskip("confluent_kafka", reason="aggro[kafka] is not installed")
pytestmark = pytest.mark.xdist_group("brokers")
BAD = [b"{oops", b"[1]", b""]


@pytest.fixture
def cluster():
    """A cluster of one broker, with nothing in it."""
    return KafkaCluster()


def visits(n, seed=0):
    return [{**record, "label": label} for record, label in customers(n, seed)]


def offsets(cluster, group, topic):
    """The committed offsets of a group, by partition."""
    consumer = kafka.Consumer({"bootstrap.servers": cluster.address, "group.id": group, "log_level": 0})
    partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
    found = consumer.committed([kafka.TopicPartition(topic, one) for one in partitions], timeout=10)
    consumer.close()
    return {one.partition: one.offset for one in found if one.offset >= 0}


def test_a_few_kills(cluster, tmp_path):
    rows = visits(3000)
    cluster.add("visits", rows[:1500] + BAD + rows[1500:])
    found = killed_and_whole(cluster, tmp_path, 3, [], 3003)
    assert found["written"] >= 2999
    dead = without_repeats(cluster.entries("visits-dead-letters"))
    assert sorted(entry["message"] for entry in dead) == ["", "[1]", "{oops"]
    assert offsets(cluster, "aggro-killed", "visits")[0] == 3003


def test_all_partitions_are_learned_each_in_its_order(cluster, tmp_path):
    for partition in range(4):
        cluster.add(
            "visits", [{"from": [partition, k], **row} for k, row in enumerate(visits(100, partition))], partition
        )
    path, seen = tmp_path / "m.aggro", []

    def decode(body):
        record = json.loads(body)
        seen.append(record.pop("from"))
        return record

    counts = follow(cluster.url("visits"), path, idle=1.5, predictions="out", decode=decode)
    assert counts.learned == counts.records == len(seen) == 400
    assert all([k for one, k in seen if one == partition] == list(range(100)) for partition in range(4))
    assert len({entry["key"] for entry in cluster.entries("out")}) == 399  # before the first there is no prediction
    for partition in range(4):
        cluster.add("visits", visits(25, seed=9 + partition), partition)
    assert follow(cluster.url("visits"), path, idle=1.5).learned == 500
    assert offsets(cluster, "aggro-m", "visits") == dict.fromkeys(range(4), 125)


def test_another_consumer_of_the_group_takes_nothing_away(cluster, tmp_path):
    """Somebody who joins the group and commits offsets in its name: the model's own place counts."""
    rows, path = visits(90), tmp_path / "m.aggro"
    cluster.add("visits", rows[:30])
    follow(cluster.url("visits"), path, idle=1.0)
    cluster.add("visits", rows[30:])
    how = {"bootstrap.servers": cluster.address, "group.id": "aggro-m", "log_level": 0, "auto.offset.reset": "earliest"}
    other = kafka.Consumer({**how, "enable.auto.commit": False})
    other.subscribe(["visits"])
    assert other.poll(10) is not None
    other.commit(offsets=[kafka.TopicPartition("visits", 0, 60)], asynchronous=False)
    counts = follow(cluster.url("visits"), path, idle=1.0)
    other.close()
    assert counts.learned == counts.records == 90
    whole = tmp_path / "whole.aggro"
    follow(cluster.url("visits"), whole, idle=1.0)
    assert bits(path) == bits(whole)


def test_a_topic_that_was_made_anew_is_said(cluster, tmp_path):
    path, notes = tmp_path / "m.aggro", []
    cluster.add("visits", visits(30))
    follow(cluster.url("visits"), path, idle=1.0)
    other = KafkaCluster()
    other.add("visits", visits(10, seed=1))
    counts = follow(other.url("visits"), path, idle=1.0, report=lambda one: notes.__setitem__(slice(None), one.notes))
    assert counts.learned == 40
    assert "was made anew" in " ".join(notes)


def test_a_slow_broker_loses_nothing(cluster, tmp_path):
    rows, slow = [*visits(60), *BAD, *visits(60, seed=1)], KafkaCluster(delay=150)
    for one, name in ((cluster, "fast"), (slow, "slow")):
        one.add("visits", rows)
        counts = follow(one.url("visits"), tmp_path / f"{name}.aggro", idle=2.0, batch=20, predictions="out")
        assert (counts.records, counts.learned, counts.dead_letters) == (123, 120, 3)
    assert bits(tmp_path / "slow.aggro") == bits(tmp_path / "fast.aggro")
    assert without_repeats(slow.entries("out")) == without_repeats(cluster.entries("out"))


def test_no_broker(tmp_path, monkeypatch):
    from aggro.interop.brokers import kafka_topics

    monkeypatch.setattr(kafka_topics, "KAFKA_TIMEOUT", 0.5)
    with pytest.raises(SourceError, match="cannot be reached"):
        follow("kafka://127.0.0.1:1/visits", tmp_path / "m.aggro", idle=0.1)
    with pytest.raises(SourceError, match="No such configuration property"):
        follow("kafka://127.0.0.1:1/visits?nonsense=1", tmp_path / "m.aggro", idle=0.1)
