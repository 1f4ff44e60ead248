"""``aggro serve`` when things go wrong: killed under load, a full disk, more connections than it serves.

    python benchmarks/serve_faults.py --kills 200 --connections 10000

It starts a server, sends examples from several clients, kills it with SIGKILL at a random moment, starts it again, and
checks the journal after each kill: no acknowledged example is lost or learned twice. In the end the recovered model is
compared with a replay, bit for bit. Then the disk is full for a while; then many connections are open at once.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from serve.faults import allow_files, crowd, fill_disk
from serve.killing import kill_repeatedly
from serve.server import started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--connections", type=int, default=10_000)
    arguments = parser.parse_args()
    if arguments.kills:
        found = kill_repeatedly(arguments.kills, arguments.clients, say=print)
        print(", ".join(f"{value} {name}" for name, value in found.items()), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        found = fill_disk(Path(folder))
    print("full disk: " + ", ".join(f"{value} {name}" for name, value in found.items()), flush=True)
    crowded(arguments.connections)


def crowded(n: int) -> None:
    """Open many connections, and ask on another one meanwhile."""
    if not allow_files(n + 100):
        print(f"This process may not have {n} open files.")
        return
    with tempfile.TemporaryDirectory() as folder:
        server = started(Path(folder))
        try:
            with server.client() as http:
                http.get("/health").raise_for_status()
                host, port = server.url.removeprefix("http://").split(":")
                began = time.perf_counter()
                found = crowd((host, int(port)), n)
                took = time.perf_counter() - began
                http.get("/health").raise_for_status()  # on the connection that was there before
            told = ", ".join(f"{count} got {status or 'no answer'}" for status, count in sorted(found.items()))
            print(f"{n} connections in {took:.1f} s: {told}")
        finally:
            server.stop()


if __name__ == "__main__":
    main()
