"""What each part of ``engine/jit`` buys: the figures of docs/numba.md.

``python benchmarks/jit.py compile`` compiles some learners in processes of their own, with all parts and without one;
the figures are seconds of processor time, the least of several runs that take turns. ``python benchmarks/jit.py run``
times what is compiled, as ratios of times taken a moment apart.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

WARM = """
import numpy as np, aggro
for name in aggro.__all__:  # imports are not counted
    getattr(aggro, name)
X = np.random.default_rng(0).standard_normal((60, 5))
"""
TWO, THREE = "np.arange(60) % 2", "np.arange(60) % 3"
FIRST_CALLS = {
    "PAClassifier.fit, two classes": f"aggro.PAClassifier().fit(X, {TWO})",
    "PAClassifier.fit, three classes": f"aggro.PAClassifier().fit(X, {THREE})",
    'PARegressor(C="auto").fit': 'aggro.PARegressor(C="auto").fit(X, X[:, 0])',
    "PAClassifier(batch_size=4).fit": f"aggro.PAClassifier(batch_size=4).fit(X, {TWO})",
    "KernelPAClassifier.fit": f"aggro.KernelPAClassifier().fit(X, {TWO})",
    "PAMOClassifier.fit": f"aggro.PAMOClassifier().fit(X, {THREE})",
    "PAClassifier.learn_one, dicts": """
model = aggro.PAClassifier()
for k in range(20):
    model.learn_one({"a": 1.0, "b": k}, k % 2)
    model.predict_one({"a": 1.0, "b": k})
""",
}
# A name that no Numba has makes the plain way the only one: see ``engine.jit.private.names``.
WITHOUT = "from aggro.engine.jit import private_names\nprivate_names.{}.append('numba:gone')\n"
NO_DICTS = "from aggro.engine.jit import dicts\ndicts.CAN_READ_DICTS = False\n"
QUIET = "import warnings\nwarnings.simplefilter('ignore')\n"
TIMED = "{}import time\nbegin = time.process_time()\n{}\nprint(time.process_time() - begin)\n"
PARTS = ("", "PARTIAL", "ADDRESSES")


def seconds(code: str, without: str, folder: str) -> float:
    """Processor time of a call in a process of its own."""
    before = WITHOUT.format(without) if without else ""
    command = [sys.executable, "-c", TIMED.format(QUIET + before + WARM, code)]
    environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
    return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def compile_times(names: list[str], repeat: int) -> None:
    for name, code in FIRST_CALLS.items():
        if names and not any(one in name for one in names):
            continue
        least: dict[str, float] = {}
        for _ in range(repeat):
            for part in PARTS:
                with tempfile.TemporaryDirectory() as folder:
                    took = seconds(code, part, folder)
                    least[part] = min(took, least.get(part, took))
                    if not part:
                        took = seconds(code, part, folder)
                        least["from disk"] = min(took, least.get("from disk", took))
        print(json.dumps({name: {part or "all": round(took, 2) for part, took in least.items()}}), flush=True)


def best(*jobs: Callable[[], Any], repeat: int = 30) -> list[float]:
    """The best time of each job, the jobs taking turns."""
    times = [float("inf")] * len(jobs)
    for _ in range(repeat):
        for k, job in enumerate(jobs):
            start = time.perf_counter()
            job()
            times[k] = min(times[k], time.perf_counter() - start)
    return times


ONE_ROW = """{}
import json, time
import numpy as np, aggro
rng = np.random.default_rng(0)
X = rng.standard_normal((2000, 22))
rows = [dict(zip("abcdefghijklmnopqrstuv", map(float, x))) for x in X]
told = {{}}
for kind, given in (("array", list(X)), ("dict", rows)):
    model = aggro.PAClassifier()
    for k, x in enumerate(given): model.learn_one(x, k % 2)
    took = []
    for _ in range(15):
        begin = time.process_time()
        for x in given: model.learn_one(x, 1)
        took.append(time.process_time() - begin)
    told[kind] = min(took) / 2000 * 1e6
print(json.dumps(told))
"""


def one_row(repeat: int) -> None:
    """Microseconds of processor time of ``learn_one`` with a row of 22, with all parts and without some."""
    ways = {"all": "", "without dicts": NO_DICTS, "without addresses": WITHOUT.format("ADDRESSES")}
    least: dict[str, dict[str, float]] = {}
    for _ in range(repeat):
        for way, before in ways.items():
            done = subprocess.run(
                [sys.executable, "-c", ONE_ROW.format(before)], capture_output=True, text=True, check=True
            )
            for kind, took in json.loads(done.stdout).items():
                row = least.setdefault(way, {})
                row[kind] = min(took, row.get(kind, took))
    for way, row in least.items():
        print(f"learn_one, 22 features, {way}: " + ", ".join(f"{kind} {took:.2f} µs" for kind, took in row.items()))


def many_models() -> None:
    """Sixteen models on one row: vectors of eight beside plain loops that LLVM makes vectors of."""
    import numpy as np

    from aggro.engine.jit.compile import inline, kernel
    from aggro.engine.jit.lanes import LANES, load, madd, spread, store

    u8 = np.uint64

    @inline
    def by_lanes(W, X, i, out):
        models = u8(W.shape[1])
        for at in range(u8(0), models, u8(LANES)):
            sums = spread(0.0)
            for j in range(u8(X.shape[1])):
                sums = madd(spread(X[i, j]), load(W, j * models + at), sums)
            store(out, at, sums)

    @inline
    def plainly(W, X, i, out):
        for k in range(u8(W.shape[1])):
            out[k] = 0.0
        for j in range(u8(X.shape[1])):
            for k in range(u8(W.shape[1])):
                out[k] += X[i, j] * W[j, k]

    def over_rows(score: Any) -> Any:
        @kernel
        def all_rows(W, X, out):
            top = 0.0
            for i in range(u8(X.shape[0])):
                score(W, X, i, out)
                top += out[u8(0)]
            return top

        return all_rows

    rng = np.random.default_rng(0)
    W, X, out = rng.standard_normal((22, 16)), rng.standard_normal((20_000, 22)), np.zeros(16)
    lanes, plain = over_rows(by_lanes), over_rows(plainly)
    lanes(W, X, out), plain(W, X, out)
    fast, slow = best(lambda: lanes(W, X, out), lambda: plain(W, X, out))
    print(f"scores of sixteen models, 22 columns: plain loops take {slow / fast:.1f} × the time of lanes")


def exponentials() -> None:
    """e^x of many numbers, eight at once beside one by one."""
    import math

    import numpy as np

    from aggro.engine.jit.compile import kernel
    from aggro.engine.jit.lane_math import exponential
    from aggro.engine.jit.lanes import LANES, load, store

    u8 = np.uint64

    @kernel
    def by_lanes(values, out):
        for at in range(u8(0), u8(values.shape[0]), u8(LANES)):
            store(out, at, exponential(load(values, at)))

    @kernel
    def plainly(values, out):
        for k in range(u8(values.shape[0])):
            out[k] = math.exp(values[k])

    values = np.random.default_rng(0).uniform(-30.0, 0.0, 4096)
    out = np.zeros(4096)
    by_lanes(values, out), plainly(values, out)
    fast, slow = best(lambda: by_lanes(values, out), lambda: plainly(values, out), repeat=300)
    print(f"e^x of 4096 numbers: one by one takes {slow / fast:.1f} × the time of lanes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["compile", "run"])
    parser.add_argument("names", nargs="*", help="of first calls to compile, or parts of them; all if not given")
    parser.add_argument("--repeat", type=int, default=2)
    given = parser.parse_args()
    if given.what == "compile":
        compile_times(given.names, given.repeat)
        return
    many_models()
    exponentials()
    one_row(given.repeat)


if __name__ == "__main__":
    main()
