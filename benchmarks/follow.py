"""``aggro follow`` beside a bare consumer, its memory over a long stream, and killed again and again.

    python benchmarks/follow.py rate redis        # records a second, beside a consumer that only parses JSON
    python benchmarks/follow.py rate kafka        # on librdkafka's mock cluster, 5 MB a partition
    python benchmarks/follow.py memory            # of the process, over two million records from Redis
    python benchmarks/follow.py kills redis 200   # the same bits as a follower that nobody killed
    python benchmarks/follow.py merging           # error of consumers that merge, beside one, on drifting streams

Redis is a server that the benchmark starts on a free port, and needs ``redis-server``.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from interop.brokers import KafkaCluster, RedisServer
from interop.kill_followers import killed_and_whole
from serve.records import customers

from aggro.interop.brokers import follow

BATCH = 1000


def visits(n: int, seed: int = 0) -> list[dict[str, Any]]:
    """Records with two numbers, a category, a text of six words and a label."""
    rng = random.Random(seed)
    words = [f"word{i}" for i in range(2000)]
    found = []
    for _ in range(n):
        plan, note = rng.choice("abcde"), rng.choices(words, k=6)
        label = "yes" if (plan in "ab") != (note[0] < "word15") else "no"
        record = {"age": round(rng.gauss(40, 10), 1), "spent": rng.gauss(0, 1), "plan": plan, "note": " ".join(note)}
        found.append({**record, "label": label})
    return found


def bare_redis(server: RedisServer, batch: int) -> int:
    """Read a stream with redis-py, in a group, parse the JSON and acknowledge."""
    group, read = f"bare-{time.monotonic_ns()}", 0
    server.client.xgroup_create("visits", group, id="0")
    while answer := server.client.xreadgroup(group, "bare", {"visits": ">"}, count=batch):
        ((_, entries),) = answer
        for _, fields in entries:
            json.loads(fields[b"json"])
        server.client.xack("visits", group, *(id for id, _ in entries))
        read += len(entries)
    server.client.xgroup_destroy("visits", group)
    return read


def bare_kafka(cluster: KafkaCluster, batch: int) -> int:
    """Read a topic with confluent-kafka, parse the JSON and commit."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {"bootstrap.servers": cluster.address, "group.id": "bare", "enable.auto.commit": False, "log_level": 0}
    )
    partitions = consumer.list_topics("visits", timeout=10).topics["visits"].partitions
    last = sum(consumer.get_watermark_offsets(TopicPartition("visits", one), timeout=10)[1] for one in partitions)
    consumer.assign([TopicPartition("visits", one, 0) for one in partitions])
    read = 0
    while read < last:
        messages = consumer.consume(batch, 0.2)
        for message in messages:
            json.loads(message.value())
        read += len(messages)
    consumer.commit(
        offsets=[
            TopicPartition("visits", one.partition, one.offset) for one in consumer.position(consumer.assignment())
        ],
        asynchronous=False,
    )
    consumer.close()
    return read


class Timed:
    """When the last message was learned, so that waiting for the end does not count."""

    def __init__(self) -> None:
        self.records, self.at, self.work = 0, 0.0, 0.0

    def __call__(self, follower: Any) -> None:
        """Note the time if something came."""
        if follower.counts.records > self.records:
            self.records, self.at, self.work = follower.counts.records, time.perf_counter(), time.thread_time()


def rate(which: str, n: int, rounds: int, batch: int) -> None:
    """Print records a second of both, turn by turn."""
    folder = Path(tempfile.mkdtemp())
    broker: Any = RedisServer(folder) if which == "redis" else KafkaCluster()
    bare = bare_redis if which == "redis" else bare_kafka
    rows = visits(n)
    for k, start in enumerate(range(0, n, 5000)):
        where = () if which == "redis" else (k % 4,)
        broker.add("visits", rows[start : start + 5000], *where)
    follow(broker.url("visits"), folder / "warm.aggro", idle=1.0, group="warm")  # compiles
    ratios, works = [], []
    for k in range(rounds):
        start, work = time.perf_counter(), time.thread_time()
        read = bare(broker, batch)
        alone, alone_work = read / (time.perf_counter() - start), time.thread_time() - work
        timed, start, work = Timed(), time.perf_counter(), time.thread_time()
        counts = follow(broker.url("visits"), folder / f"{k}.aggro", idle=0.5, group=f"g{k}", batch=batch, report=timed)
        ours = counts.records / (timed.at - start)
        assert read == counts.learned == n, (read, counts)
        ratios.append(ours / alone)
        works.append(alone_work / (timed.work - work))  # of this thread alone, whatever else the machine does
        line = f"bare {alone:9,.0f} records/s   follow {ours:9,.0f} records/s   {ratios[-1]:.2f}"
        print(f"{line}   by processor time {works[-1]:.2f}", flush=True)
    middle, of_work = sorted(ratios)[len(ratios) // 2], sorted(works)[len(works) // 2]
    print(f"follow / bare, batches of {batch:,}: {middle:.2f}, by processor time {of_work:.2f} (medians of {rounds})")
    if which == "redis":
        broker.stop()


def memory(n: int) -> None:
    """Print the peak memory of a follower as the stream goes on."""
    folder = Path(tempfile.mkdtemp())
    server = RedisServer(folder)
    server.client.config_set("appendonly", "no")
    rows = visits(100_000)
    said = [0]

    def report(follower: Any) -> None:
        if follower.counts.records >= said[0]:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{follower.counts.records:10,} records   {peak:8,.1f} MB at most", flush=True)
            said[0] += 200_000

    start = time.perf_counter()
    for _ in range(n // len(rows)):
        server.client.delete("visits")
        for k in range(0, len(rows), 5000):
            server.add("visits", rows[k : k + 5000])
        counts = follow(server.url("visits"), folder / "m.aggro", idle=0.3, report=report)
    print(f"{counts.learned:,} learned in {time.perf_counter() - start:,.0f} s, the writing of the stream included")
    server.stop()


def kills(which: str, n: int) -> None:
    """Kill a follower that often; what was found wrong is raised."""
    folder = Path(tempfile.mkdtemp())
    broker: Any = RedisServer(folder) if which == "redis" else KafkaCluster()
    rows: list[Any] = [
        {**record, "label": label} for record, label in customers(150 * n if which == "redis" else 20_000)
    ]
    for k in range(0, len(rows), 997):
        rows.insert(k, b"{no record")
    for k in range(0, len(rows), 5000):
        broker.add("visits", rows[k : k + 5000])
    found = killed_and_whole(broker, folder, n, [], len(rows), lambda text: print(text, flush=True))
    print(found, "the same bits")
    if which == "redis":
        broker.stop()


def turning(n: int, turns: float, seed: int = 0) -> list[dict[str, Any]]:
    """Records of ten numbers. The line between the classes turns round so often; one label in twenty is wrong."""
    rng, found = random.Random(seed), []
    for k in range(n):
        angle = 2 * math.pi * turns * k / n
        x = [round(rng.gauss(0, 1), 3) for _ in range(10)]  # short, since the mock cluster keeps 5 MB a partition
        right = x[0] * math.cos(angle) + x[1] * math.sin(angle) > 0
        label = "yes" if right != (rng.random() < 0.05) else "no"
        found.append({**{f"x{j}": value for j, value in enumerate(x)}, "label": label})
    return found


def merging(n: int) -> None:
    """Print the error of predictions before their records were learned, by one consumer and by four partitions.

    How many consumers share the partitions makes no difference (``tests/interop/test_follow_team.py``), so here it is
    one: partitions learn side by side, round by round.
    """
    print("the line turns   one consumer   " + "".join(f"   4 x {each:5,}" for each in ROUNDS))
    for turns in (0.0, 1.0, 4.0):
        rows, errors = turning(n, turns), []
        for each in (None, *ROUNDS):
            cluster, path = KafkaCluster(), Path(tempfile.mkdtemp()) / "m.aggro"
            cluster.add("visits", rows[:1000])
            follow(cluster.url("visits"), path, idle=0.5)
            for k in range(4):
                for start in range(1000 + k, n, 4):
                    cluster.producer.poll(0)
                    coded = json.dumps(rows[start]).encode()
                    cluster.producer.produce("visits", coded, partition=0 if each is None else k)
                    if each is None and k == 0:
                        for more in rows[start + 1 : start + 4]:
                            cluster.producer.produce("visits", json.dumps(more).encode(), partition=0)
                if each is None:
                    break
            cluster.producer.flush(60)
            counts = follow(cluster.url("visits"), path, idle=1.0, predictions="out", merge_every=each, every=5.0)
            assert counts.learned == n, counts
            written = cluster.entries("out", wait=30.0)
            assert len(written) == n - 1000, len(written)
            errors.append(sum(one["prediction"] != one["label"] for one in written) / len(written))
        print(
            f"{turns:9g} times   {errors[0]:12.3f}   " + "".join(f"   {error:9.3f}" for error in errors[1:]), flush=True
        )


ROUNDS = (25, 100, 400, 1600)  # records of a partition in a round


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["rate", "memory", "kills", "merging"])
    parser.add_argument("which", nargs="?", default="redis", choices=["redis", "kafka"])
    parser.add_argument("count", nargs="?", type=int)
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    if given.what == "rate":
        rate(given.which, given.count or (200_000 if given.which == "redis" else 160_000), given.rounds, given.batch)
    elif given.what == "memory":
        memory(given.count or 2_000_000)
    elif given.what == "merging":
        merging(given.count or 20_000)
    else:
        kills(given.which, given.count or 200)
