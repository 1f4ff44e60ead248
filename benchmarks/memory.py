"""How much memory ``aggro train`` takes, for files of several sizes: it must not grow with them.

``make bench-memory`` writes svmlight files of 0.3, 1 and 3 GB into a temporary folder, one after the other, trains on
each in a process of its own, and prints the process's peak beside that of one that only imports and loads the same
code. The files are deleted in the end; ``--folder`` says where they go (the system's folder for such things by
default), and needs 3 GB of room.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from jobs.rows import narrow, text_lines

SIZES = (0.3, 1.0, 3.0)
LIMIT = 150  # MB above what the imports take
IMPORTS = (
    "import aggro.cli.train, aggro.cli.passes, aggro.cli.reading, aggro.cli.progress_lines, aggro.cli.scoring, "
    "aggro.evaluate, aggro.models, aggro.learners.linear.estimators, aggro.streams.parse.svmlight, "
    "aggro.streams.line_formats, scipy.sparse"
)
TRAIN = "import runpy; runpy.run_module('aggro.cli', run_name='__main__')"
# At its end a process says itself what it held at most: the system counts in what its parent held when it was born.
TELL = """
import atexit, re, sys
atexit.register(lambda: print(re.findall(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[0], file=sys.stderr))
"""


def peak(code: str, *arguments: str) -> tuple[float, float]:
    """The most memory that a Python process held, in MB, and the seconds it took."""
    start = time.perf_counter()
    command = [sys.executable, "-c", TELL + code, *arguments]
    run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    return int(run.stderr.split()[-1]) / 1024, time.perf_counter() - start


def train(path: Path) -> tuple[float, float]:
    return peak(TRAIN, "train", str(path), "--model", str(path.with_suffix(".aggro")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--sizes", type=float, nargs="+", default=SIZES, metavar="GB")
    chosen = parser.parse_args()
    piece = text_lines(*narrow(50_000)).encode()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as name:
        path = Path(name) / "rows.svm"
        path.write_bytes(piece)
        train(path)  # compiles, if need be
        imports, _ = peak(IMPORTS)
        print("| | peak, MB | above the imports, MB | target | |\n|---|---|---|---|---|")
        print(f"| imports alone | {imports:.0f} | | | |")
        for size in (len(piece) / 1e9, *chosen.sizes):
            with path.open("wb") as file:
                for _ in range(round(size * 1e9 / len(piece))):
                    file.write(piece)
            most, seconds = train(path)
            met = "met" if most - imports <= LIMIT else "missed"
            what = f"aggro train, {size:.2g} GB ({size * 1000 / seconds:.0f} MB/s, start included)"
            print(f"| {what} | {most:.0f} | {most - imports:.0f} | ≤ {LIMIT} | {met} |", flush=True)


if __name__ == "__main__":
    main()
