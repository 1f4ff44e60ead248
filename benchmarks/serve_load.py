"""``aggro serve`` under load on loopback, beside an endpoint of the same framework that does nothing.

    python benchmarks/serve_load.py --seconds 3

Both servers run in processes of their own, with uvicorn's own settings. Rounds of each kind follow one another, so that
ratios are of the same minute; their median and their range are said. Requests, rows and the 99th percentile of the time
for an answer, at 1, 16 and 64 connections; singles, and batches of 100. On a busy machine throughput depends on what
else runs, so the processor time of the server for a request is measured too, where the system tells it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import aggro

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from serve.records import customers  # noqa: E402
from serve.server import Running, started  # noqa: E402

NOTHING = """
import socket, sys
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

async def nothing(request):
    await request.body()
    return JSONResponse({})

sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
sock.bind(("127.0.0.1", 0))
sock.listen(2048)
app = Starlette(routes=[Route("/nothing", nothing, methods=["POST"])])
config = uvicorn.Config(app, ws="none", lifespan="off", log_config=None, access_log=False)
print(sock.getsockname()[1], flush=True)
uvicorn.Server(config).run(sockets=[sock])
"""


async def ask(port: int, path: str, bodies: list[bytes], until: float, times: list[float]) -> None:
    """Requests on one connection, one after another."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: "
    k = 0
    while not k or time.perf_counter() < until:
        body = bodies[k % len(bodies)]
        k += 1
        began = time.perf_counter()
        writer.write(f"{head}{len(body)}\r\n\r\n".encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200"), answer
        length = int(answer.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        times.append(time.perf_counter() - began)
    writer.close()


async def load(port: int, path: str, bodies: list[bytes], connections: int, seconds: float) -> tuple[int, float, float]:
    """Requests, requests a second, and the 99th percentile in milliseconds."""
    times: list[float] = []
    began = time.perf_counter()
    await asyncio.gather(*(ask(port, path, bodies, began + seconds, times) for _ in range(connections)))
    took = time.perf_counter() - began
    return len(times), len(times) / took, 1000 * sorted(times)[int(0.99 * len(times))]


def processor_time(pid: int) -> float:
    """Seconds that a process has used; not a number where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Kind(NamedTuple):
    """What is asked of which server."""

    pid: int
    port: int
    path: str
    bodies: list[bytes]
    rows: int = 1


class Round(NamedTuple):
    """What one round gave."""

    rate: float  # requests a second
    late: float  # the 99th percentile of the time for an answer, in milliseconds
    busy: float  # microseconds of the server's processor for a request


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 16, 64])
    arguments = parser.parse_args()
    nothing = subprocess.Popen([sys.executable, "-c", NOTHING], stdout=subprocess.PIPE, text=True)
    assert nothing.stdout is not None
    idle = int(nothing.stdout.readline())
    with tempfile.TemporaryDirectory() as folder:
        server = started(Path(folder))
        try:
            kinds = {"nothing": Kind(nothing.pid, idle, "/nothing", bodies_of("record")), **prepared(server)}
            for connections in arguments.connections:
                report(kinds, connections, run(kinds, connections, arguments.rounds, arguments.seconds))
        finally:
            server.stop()
            nothing.kill()
            nothing.wait()


def bodies_of(*fields: str) -> list[bytes]:
    """Requests about one customer each, or about a hundred."""
    pairs = customers(2000)
    if fields[0] == "record":
        return [json.dumps(dict(zip(fields, pair, strict=False))).encode() for pair in pairs]
    parts = [zip(*pairs[k : k + 100], strict=True) for k in range(0, 2000, 100)]
    return [json.dumps(dict(zip(fields, part, strict=False))).encode() for part in parts]


def prepared(server: Running) -> dict[str, Kind]:
    """What is asked of the service, whose models have learned a little."""
    pid, port, model = server.process.pid, int(server.url.rpartition(":")[2]), "/v1/models/default"
    rows = np.random.default_rng(0).normal(size=(200, 20))
    plain = aggro.PAClassifier().fit(rows, rows[:, 0] > 0.0)
    numbers = [json.dumps({"record": row}).encode() for row in rows.tolist()]
    with tempfile.TemporaryDirectory() as folder, server.client() as http:
        plain.save(Path(folder, "plain.aggro"))
        file = Path(folder, "plain.aggro").read_bytes()
        octets = {"Content-Type": "application/octet-stream"}
        http.put("/v1/models/numbers", content=file, headers=octets).raise_for_status()
        http.post(f"{model}/learn", content=bodies_of("records", "labels")[0]).raise_for_status()
    return {
        "predict": Kind(pid, port, f"{model}/predict", bodies_of("record")),
        "numbers": Kind(pid, port, "/v1/models/numbers/predict", numbers),
        "learn": Kind(pid, port, f"{model}/learn", bodies_of("record", "label")),
        "predict 100": Kind(pid, port, f"{model}/predict", bodies_of("records"), 100),
        "learn 100": Kind(pid, port, f"{model}/learn", bodies_of("records", "labels"), 100),
    }


def run(kinds: dict[str, Kind], connections: int, rounds: int, seconds: float) -> dict[str, list[Round]]:
    """Rounds of all kinds, one after another."""
    found: dict[str, list[Round]] = {name: [] for name in kinds}
    for _ in range(rounds):
        for name, kind in kinds.items():
            before = processor_time(kind.pid)
            count, rate, late = asyncio.run(load(kind.port, kind.path, kind.bodies, connections, seconds))
            busy = 1e6 * (processor_time(kind.pid) - before) / count
            found[name].append(Round(rate, late, busy))
    return found


def report(kinds: dict[str, Kind], connections: int, measured: dict[str, list[Round]]) -> None:
    """Medians of the rounds, and ratios with their ranges."""
    print(f"\n{connections} connections")
    for name, found in measured.items():
        rate, late, busy = (statistics.median(values) for values in zip(*found, strict=True))
        rows = rate * kinds[name].rows
        print(f"  {name:12} {rate:7.0f} requests/s {rows:7.0f} rows/s  p99 {late:7.2f} ms  processor {busy:6.0f} us")
    ratio(measured, "predict", "nothing")
    ratio(measured, "numbers", "nothing")
    ratio(measured, "learn", "predict")
    for name in ("predict", "learn"):
        ratio(measured, f"{name} 100", name, 100)


def ratio(measured: dict[str, list[Round]], name: str, to: str, rows: int = 1) -> None:
    """How many rows one kind does beside another: in the same round, and by processor time."""
    pairs = list(zip(measured[name], measured[to], strict=True))
    found = [rows * one.rate / other.rate for one, other in pairs]
    busy = statistics.median(rows * other.busy / one.busy for one, other in pairs)
    middle, least, most = statistics.median(found), min(found), max(found)
    print(f"  {name} / {to}: {middle:.2f} ({least:.2f} - {most:.2f}); by processor time {busy:.2f}", flush=True)


if __name__ == "__main__":
    main()
