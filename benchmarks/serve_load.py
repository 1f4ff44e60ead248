"""``aggro serve`` under load on loopback, beside an endpoint of the same framework that does nothing.

    python benchmarks/serve_load.py --seconds 3

Both servers run in processes of their own, with the same uvicorn settings. Rounds of each kind follow one another, so
that ratios are of the same minute. Requests, rows and the 99th percentile of the time for an answer, at 1, 16 and 64
connections; singles, and batches of 100.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from serve.records import customers  # noqa: E402
from serve.server import started  # noqa: E402

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
    while time.perf_counter() < until:
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


async def load(port: int, path: str, bodies: list[bytes], connections: int, seconds: float) -> tuple[float, float]:
    """Requests a second, and the 99th percentile in milliseconds."""
    times: list[float] = []
    began = time.perf_counter()
    await asyncio.gather(*(ask(port, path, bodies, began + seconds, times) for _ in range(connections)))
    took = time.perf_counter() - began
    return len(times) / took, 1000 * sorted(times)[int(0.99 * len(times))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    pairs = customers(2000)
    many = [pairs[k : k + 100] for k in range(0, 2000, 100)]
    predict = [json.dumps({"record": r}).encode() for r, _ in pairs]
    learn = [json.dumps({"record": r, "label": y}).encode() for r, y in pairs]
    predict_many = [json.dumps({"records": [r for r, _ in part]}).encode() for part in many]
    learn_many = [json.dumps({"records": [r for r, _ in p], "labels": [y for _, y in p]}).encode() for p in many]
    nothing = subprocess.Popen([sys.executable, "-c", NOTHING], stdout=subprocess.PIPE, text=True)
    assert nothing.stdout is not None
    idle = int(nothing.stdout.readline())
    with tempfile.TemporaryDirectory() as folder:
        server = started(Path(folder))
        port = int(server.url.rpartition(":")[2])
        model = "/v1/models/default"
        kinds = {
            "nothing": (idle, "/nothing", predict, 1),
            "predict": (port, f"{model}/predict", predict, 1),
            "learn": (port, f"{model}/learn", learn, 1),
            "predict 100": (port, f"{model}/predict", predict_many, 100),
            "learn 100": (port, f"{model}/learn", learn_many, 100),
        }
        try:
            with server.client() as http:
                http.post(f"{model}/learn", content=learn_many[0]).raise_for_status()
            for connections in (1, 16, 64):
                measured = run(kinds, connections, arguments.rounds, arguments.seconds)
                report(kinds, connections, measured)
        finally:
            server.stop()
            nothing.kill()
            nothing.wait()


def run(kinds: dict, connections: int, rounds: int, seconds: float) -> dict[str, list[tuple[float, float]]]:
    """Rounds of all kinds, one after another."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
    for _ in range(rounds):
        for name, (port, path, bodies, _) in kinds.items():
            found[name].append(asyncio.run(load(port, path, bodies, connections, seconds)))
    return found


def report(kinds: dict, connections: int, measured: dict[str, list[tuple[float, float]]]) -> None:
    """Medians of the rounds, and the ratios."""
    rates = {name: statistics.median(rate for rate, _ in found) for name, found in measured.items()}
    print(f"\n{connections} connections")
    for name, found in measured.items():
        rows = rates[name] * kinds[name][3]
        p99 = statistics.median(late for _, late in found)
        print(f"  {name:12} {rates[name]:9.0f} requests/s {rows:10.0f} rows/s   p99 {p99:8.2f} ms")
    print(f"  predict / nothing      {rates['predict'] / rates['nothing']:.2f}")
    print(f"  learn / predict        {rates['learn'] / rates['predict']:.2f}")
    for name in ("predict", "learn"):
        print(f"  {name} 100 / {name}  {100 * rates[f'{name} 100'] / rates[name]:.1f} rows")


if __name__ == "__main__":
    main()
