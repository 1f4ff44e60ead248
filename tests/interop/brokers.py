"""Brokers for tests: a Redis server of this machine on a free port, and the mock cluster that librdkafka brings."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PATIENCE = 30.0  # seconds


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class RedisServer:
    """A Redis server in a process of its own, which keeps its data when it is started again."""

    there = shutil.which("redis-server")

    def __init__(self, folder: Path) -> None:
        import redis

        self.folder, self.port = folder, free_port()
        self.client: Any = redis.Redis(port=self.port, protocol=2)
        self.start()

    def start(self) -> None:
        """Start, and wait until it answers."""
        command = [str(self.there), "--port", str(self.port), "--dir", str(self.folder), "--bind", "127.0.0.1"]
        command += ["--appendonly", "yes", "--appendfsync", "always", "--save", ""]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                self.client.ping()
                return
            except Exception:
                time.sleep(0.02)
        raise RuntimeError("redis-server does not answer")

    def stop(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait()

    def url(self, stream: str) -> str:
        """The address of a stream."""
        return f"redis://127.0.0.1:{self.port}/{stream}"

    def add(self, stream: str, values: Iterable[Any]) -> None:
        """Append values as JSON; bytes as they are."""
        pipe = self.client.pipeline(transaction=False)
        for value in values:
            pipe.xadd(stream, {"json": value if isinstance(value, bytes) else json.dumps(value)})
        pipe.execute()

    def entries(self, stream: str) -> list[dict[str, str]]:
        """The entries of a stream, as text."""
        found = self.client.xrange(stream)
        return [{name.decode(): value.decode() for name, value in fields.items()} for _, fields in found]


class KafkaCluster:
    """librdkafka's mock cluster: one broker, which speaks Kafka's protocol on a socket of this process."""

    def __init__(self, delay: int = 0) -> None:
        """``delay`` is the milliseconds that the broker takes for each answer."""
        from confluent_kafka import Producer

        how = {"test.mock.num.brokers": 1, "test.mock.broker.rtt": delay, "log_level": 0, "bootstrap.servers": ""}
        self.producer = Producer(how)
        found = self.producer.list_topics(timeout=PATIENCE).brokers
        (broker,) = found.values()
        self.address = f"{broker.host}:{broker.port}"

    def url(self, topic: str) -> str:
        """The address of a topic."""
        return f"kafka://{self.address}/{topic}"

    def add(self, topic: str, values: Iterable[Any], partition: int = 0) -> None:
        """Produce values as JSON; bytes as they are."""
        for value in values:
            coded = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.producer.produce(topic, coded, partition=partition)
            self.producer.poll(0)
        assert self.producer.flush(PATIENCE) == 0

    def entries(self, topic: str, wait: float = 3.0) -> list[dict[str, Any]]:
        """The messages of a topic, in the order of each partition."""
        from confluent_kafka import Consumer, TopicPartition

        how = {"bootstrap.servers": self.address, "group.id": "reader", "log_level": 0}
        reader = Consumer({**how, "enable.auto.commit": False, "auto.offset.reset": "earliest"})
        partitions = reader.list_topics(topic, timeout=PATIENCE).topics[topic].partitions
        reader.assign([TopicPartition(topic, one, 0) for one in partitions])
        found: list[Any] = []
        end = time.monotonic() + wait
        while time.monotonic() < end:
            some = reader.consume(1000, 0.3)
            found += some
            if found and not some:
                break
        reader.close()
        assert all(message.error() is None for message in found)
        found.sort(key=lambda message: (message.partition(), message.offset()))
        assert all(json.loads(message.value())["key"].encode() == message.key() for message in found)
        return [json.loads(message.value()) for message in found]


def without_repeats(entries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries, each key once, as a reader drops repeats; those with the same key must be the same."""
    found: dict[str, dict[str, Any]] = {}
    for entry in entries:
        assert found.setdefault(entry["key"], entry) == entry, "the same key, and another entry"
    return list(found.values())
