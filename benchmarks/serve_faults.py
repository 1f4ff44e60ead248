"""``aggro serve`` killed under load: no acknowledged example is lost or learned twice, and the model is the journal's.

    python benchmarks/serve_faults.py --kills 200

It starts a server, sends examples from several clients, kills it with SIGKILL at a random moment, starts it again, and
checks the journal after each kill; in the end the recovered model is compared with a replay, bit for bit.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from serve.killing import kill_repeatedly


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--clients", type=int, default=4)
    arguments = parser.parse_args()
    found = kill_repeatedly(arguments.kills, arguments.clients, say=print)
    print(", ".join(f"{value} {name}" for name, value in found.items()))


if __name__ == "__main__":
    main()
