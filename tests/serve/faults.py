"""What goes wrong around a server: a disk that is full, too many connections, a client that stalls."""

from __future__ import annotations

import resource
import select
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from serve.killing import Load, check_journal, replayed
from serve.records import customers
from serve.server import Running, started

from aggro.serve import Limits, Models
from aggro.serve.web.server import bound, server_of
from aggro.serve.web.service import Service

OTHERS = {"predict": {"record": {"age": 1.0}, "id": "x"}, "undo": {"id": "0-0"}, "snapshot": {}}  # that write
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


@contextmanager
def serving(folder: Path, limits: Limits) -> Iterator[tuple[str, int]]:
    """A server with limits of its own, in a thread of this process; its address."""
    with Models(folder, limits) as models:
        sock, listens = bound("127.0.0.1", 0), threading.Event()
        server = server_of(Service(models), listens.set)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
        thread.start()
        try:
            assert listens.wait(60)
            yield sock.getsockname()
        finally:
            server.should_exit = True
            thread.join()


def answer_on(connection: socket.socket, request: bytes = HEALTH) -> int:
    """The status of the answer to a request; 0 if there is none."""
    connection.settimeout(60)
    with suppress(OSError):
        connection.sendall(request)
        head = connection.recv(65_536)
        return int(head.split(b" ", 2)[1]) if head.startswith(b"HTTP/1.1 ") else 0
    return 0


def crowd(address: tuple[str, int], n: int, batch: int = 500) -> Counter[int]:
    """Open so many connections and keep them; each sends a request: how many got which status."""
    found: Counter[int] = Counter()
    held: list[socket.socket] = []
    try:
        for begin in range(0, n, batch):
            fresh = [socket.create_connection(address, timeout=60) for _ in range(min(batch, n - begin))]
            held += fresh
            found.update(answer_on(one) for one in fresh)
    finally:
        for one in held:
            one.close()
    return found


def allow_files(n: int) -> bool:
    """Let this process have so many open files; whether the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < n:
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, n), hard))
    return True


def fill_disk(folder: Path, room: int = 2**20) -> dict[str, int]:
    """Learn until nothing can be written any more, predict, make room, learn again; then compare with the journal.

    The system refuses the server's writes beyond a size, as a full disk does.
    """
    server = started(folder)
    load = Load(0)
    refused = 0
    try:
        with server.client() as http:
            limit(server, room)
            for record, label in customers(20_000, seed=1):
                refused += not learned(http, load, record, label)
                if refused == 20:
                    break
            assert refused == 20, "the disk was never full"
            before = http.get("/v1/models/default").json()["rows"]
            assert before == len(load.acknowledged)
            answer = http.post("/v1/models/default/predict", json={"record": customers(1)[0][0]})
            assert answer.json()["prediction"] in ("leaves", "stays")
            limit(server, 1)  # a small change might still have fitted
            for path, body in OTHERS.items():
                assert stored(http.post(f"/v1/models/default/{path}", json=body)) is False, path
            limit(server, resource.RLIM_INFINITY)
            deadline = time.monotonic() + 60
            while not learned(http, load, *customers(1, seed=2)[0]):  # that may take a moment
                assert time.monotonic() < deadline, "it does not go on when there is room"
                time.sleep(0.1)
            for record, label in customers(200, seed=3):
                assert learned(http, load, record, label)
    finally:
        server.stop()
    known = check_journal(folder, [load])
    assert {*known} == load.acknowledged
    server = started(folder)
    try:
        with server.client() as http:
            data = http.get("/v1/models/default/download").content
    finally:
        server.stop()
    assert data == replayed(folder), "the model is not the journal's"
    return {"refused": refused, "acknowledged": len(load.acknowledged)}


def limit(server: Running, size: int) -> None:
    """Let a server write no file beyond a size."""
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def learned(http, load: Load, record: dict, label: str) -> bool:
    """Whether an example was acknowledged; if not, the server must say that it could not be stored."""
    id = f"0-{len(load.sent)}"
    load.sent.add(id)
    done = stored(http.post("/v1/models/default/learn", json={"record": record, "label": label, "id": id}))
    if done:
        load.acknowledged.add(id)
    return done


def stored(answer) -> bool:
    """Whether something was done; if not, the server must say that the disk is to blame."""
    if answer.status_code == 200:
        return True
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "not_stored"), answer.text
    return False


def closed_within(connection: socket.socket, seconds: float) -> bool:
    """Whether the other side ends a connection in that time."""
    ready, _, _ = select.select([connection], [], [], seconds)
    return bool(ready) and connection.recv(1) == b""
