"""A server that is killed again and again under load, and what must be true afterwards.

Clients learn, predict with ids and label those later. They note what was acknowledged. After each kill the next server
must know every acknowledged example exactly once, and none that was not sent; and at the end the model must be, bit for
bit, what a learner is that is given the journal's entries in order.
"""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from serve.records import customers
from serve.server import started

from aggro.client import Client, ServeError
from aggro.serve import learners
from aggro.serve.journal import LEARN, as_entry
from aggro.serve.recovery import learn_rows


class Load:
    """One client in a thread."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.sent: set[str] = set()
        self.acknowledged: set[str] = set()
        self.open: tuple[str, dict, str] | None = None  # was sent, and not answered: it is sent again
        self.errors: list[str] = []

    def run(self, url: str, stop: threading.Event, count: list[int]) -> None:
        """Send examples until the server is gone."""
        client, rng = Client(url, timeout=30.0, retries=0), random.Random(self.number + count[0])
        while not stop.is_set():
            if self.open is None:
                record, label = customers(1, seed=rng.randrange(10**9))[0]
                self.open = (f"{self.number}-{len(self.sent)}", record, label)
            id, record, label = self.open
            self.sent.add(id)
            try:
                if rng.random() < 0.3:
                    client.call("POST", "/v1/models/default/predict", {"record": record, "id": id})
                    client.call("POST", "/v1/models/default/learn", {"id": id, "label": label}, key=f"key {id}")
                else:
                    body = {"record": record, "label": label, "id": id}
                    client.call("POST", "/v1/models/default/learn", body, key=f"key {id}")
            except ServeError as error:
                if error.status == 409 and error.code == "already_learned":
                    self.acknowledged.add(id)  # learned before the kill, and sent again in another way
                    self.open = None
                elif error.status not in (0, 422, 503) or (error.status == 422 and error.code != "key_reused"):
                    self.errors.append(f"{id}: {error}")
                    return
                elif error.status == 422:  # learned before the kill, under the same key
                    self.acknowledged.add(id)
                    self.open = None
                elif error.status == 0:
                    return
                continue
            self.acknowledged.add(id)
            self.open = None
            count[0] += 1


def kill_repeatedly(
    kills: int, clients: int = 4, folder: Path | None = None, say: Callable[[str], None] = lambda text: None
) -> dict[str, int]:
    """Kill servers that often; what was found wrong is raised."""
    folder = folder or Path(tempfile.mkdtemp())
    loads = [Load(number) for number in range(clients)]
    rng = random.Random(0)
    count = [0]
    for kill in range(kills):
        server = started(folder, ready=kill == 0)
        stop = threading.Event()
        before = count[0]
        threads = [threading.Thread(target=load.run, args=(server.url, stop, count)) for load in loads]
        for thread in threads:
            thread.start()
        wanted = before + rng.randrange(1, 60)
        while count[0] < wanted and any(thread.is_alive() for thread in threads):
            time.sleep(0.002)
        server.stop(signal.SIGKILL)
        stop.set()
        for thread in threads:
            thread.join()
        errors = [error for load in loads for error in load.errors]
        assert not errors, errors
        check_journal(folder, loads)
        say(f"kill {kill + 1}: {count[0]} acknowledged")
    server = started(folder)
    try:
        with server.client() as http:
            rows = http.get("/v1/models/default").json()["rows"]
            data = http.get("/v1/models/default/download").content
    finally:
        server.stop()
    learned = check_journal(folder, loads)
    assert rows == len(learned), (rows, len(learned))
    assert data == replayed(folder), "the recovered model is not the journal's"
    return {"kills": kills, "acknowledged": sum(len(load.acknowledged) for load in loads), "learned": rows}


def journal(folder: Path) -> list:
    database = sqlite3.connect(folder / "aggro.db")
    try:
        sql = "SELECT position, kind, time, body, undone FROM journal WHERE model = 1 ORDER BY position"
        return [as_entry(*row) for row in database.execute(sql)]
    finally:
        database.close()


def check_journal(folder: Path, loads: list[Load]) -> list[str]:
    """Every acknowledged example is there once, and nothing that was not sent."""
    learned = [entry.id_of(0) for entry in journal(folder) if entry.kind == LEARN]
    assert len({*learned}) == len(learned), "learned twice"
    acknowledged = {id for load in loads for id in load.acknowledged}
    assert acknowledged <= {*learned}, f"lost: {sorted(acknowledged - {*learned})[:5]}"
    assert {*learned} <= {id for load in loads for id in load.sent}, "learned what nobody sent"
    return learned


def replayed(folder: Path) -> bytes:
    """The model of the journal alone, as a file."""
    database = sqlite3.connect(folder / "aggro.db")
    (spec,) = database.execute("SELECT spec FROM models WHERE name = 'default'").fetchone()
    database.close()
    learner = learners.make(json.loads(spec))
    for entry in journal(folder):
        learn_rows(learner, entry)
    return learners.as_file(learner)
