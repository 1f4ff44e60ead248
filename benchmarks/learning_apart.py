"""Learning in partitions, beside learning in one piece.

``python benchmarks/learning_apart.py error``
    test error in per cent after mixing 2, 8 and 32 partitions, beside one, at the same number of passes; nothing set,
    rows in random order, mean and spread over seeds. Sets are read from $AGGRO_DATA.
``python benchmarks/learning_apart.py partitions``
    the same for 1 to 256 partitions and 1 to 8 passes, into docs/figures/partitions.csv (``docs/figures/partitions.py``
    draws it).
``python benchmarks/learning_apart.py speed``
    20 million generated rows in files: two processes beside one, and the memory of each worker.
``python benchmarks/learning_apart.py overhead``
    what a small partition costs beside its learning, on a cluster of two processes: 64 of them.
``python benchmarks/learning_apart.py bytes``
    what goes over the network in a pass: a model to each partition and back, and sums along the tree.

Errors do not depend on who learns, so they are found in this process. Speed is that of the public call, alternately on
one process and on two, on files that are in the system's cache; kernels are compiled before.
"""

from __future__ import annotations

import csv
import os
import pickle
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack

from aggro import PAClassifier, streams
from aggro.distributed.executors import Here
from aggro.distributed.sources import Source, chunk_of_block
from aggro.distributed.training import Run

SETS = ("ijcnn1", "a9a", "w8a", "mnist")
SEEDS = (1, 2, 3)
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "partitions.csv"


def table(name: str, part: str) -> tuple[Any, np.ndarray]:
    """All rows of a set."""
    chunks = list(streams.load(name, part))
    y = np.concatenate([chunk.y for chunk in chunks]).astype(np.int64)
    widest = max(chunk.X.shape[1] for chunk in chunks)
    parts = [csr_matrix((c.X.data, c.X.indices, c.X.indptr), (c.X.shape[0], widest)) for c in chunks]
    return vstack(parts, format="csr"), y


def same_width(X: Any, width: int) -> Any:
    return csr_matrix((X.data, X.indices, X.indptr), (X.shape[0], width))


def errors(name: str, partitions: int, passes: int, seed: int, learner: Any = None, mix: str = "rows") -> list[float]:
    """The test error after each pass, rows in random order."""
    (X, y), (X_test, y_test) = SETS_READ.setdefault(name, (table(name, "train"), table(name, "test")))
    width = max(X.shape[1], X_test.shape[1])
    X, X_test = same_width(X, width), same_width(X_test, width)
    order = np.random.default_rng(seed).permutation(X.shape[0])
    shares = np.array_split(order, partitions)
    sources = [Source(str(k), str(k), chunk_of_block, (X[share], y[share])) for k, share in enumerate(shares)]
    found: list[float] = []

    def note(progress: Any) -> None:
        if progress.learners is not None:
            found.append(100.0 * float(np.mean(progress.learners[""].predict(X_test) != y_test)))

    learner = PAClassifier(random_state=0) if learner is None else learner
    Run({"": learner}, sources, passes, mix, Here(), note).learn()
    return found


SETS_READ: dict[str, Any] = {}


def show_errors() -> None:
    print(f"{'set':<8} passes {'one':>13} {'2':>13} {'8':>13} {'32':>13}   (mean ± spread over {len(SEEDS)} seeds)")
    for name in SETS:
        found = {p: np.array([errors(name, p, 4, seed) for seed in SEEDS]) for p in (1, 2, 8, 32)}
        for passes in (1, 2, 4):
            cells = [f"{e[:, passes - 1].mean():6.2f} ± {e[:, passes - 1].std():4.2f}" for e in found.values()]
            print(f"{name:<8} {passes:>6} " + " ".join(cells), flush=True)


def write_partitions() -> None:
    with FIGURE.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["set", "partitions", "passes", "seed", "error"])
        for name in SETS:
            for partitions in (1, 2, 4, 8, 16, 32, 64, 128, 256):
                for seed in SEEDS[:2]:
                    for number, error in enumerate(errors(name, partitions, 8, seed)):
                        out.writerow([name, partitions, number + 1, seed, f"{error:.3f}"])
                print(name, partitions, f"{error:.2f}", flush=True)


# Time and memory ------------------------------------------------------------------------------------------------


def write_files(folder: str, rows: int, files: int) -> list[str]:
    """Generated rows of 13 numbers in svmlight text, in files of the same size."""
    rng = np.random.default_rng(0)
    w = rng.standard_normal(13)
    X = rng.standard_normal((20_000, 13)).round(4)
    y = np.where(X @ w + rng.standard_normal(X.shape[0]) > 0, 1, -1)
    lines = [f"{t} " + " ".join(f"{j + 1}:{v:g}" for j, v in enumerate(x)) for x, t in zip(X, y, strict=True)]
    block = ("\n".join(lines) + "\n").encode()
    names = [os.path.join(folder, f"part{k:02d}.svm") for k in range(files)]
    for name in names:
        with open(name, "wb") as file:
            for _ in range(rows // files // len(lines)):
                file.write(block)
    return names


def show_speed(rows: int = 20_000_000, rounds: int = 3) -> None:
    from distributed import Client, LocalCluster

    from aggro import distributed

    with tempfile.TemporaryDirectory() as folder:
        names = write_files(folder, rows, 16)
        size = sum(os.path.getsize(name) for name in names)
        ratios: dict[bool, list[float]] = {True: [], False: []}
        for turn in range(rounds):
            for held in (True, False):
                seconds = {}
                for workers in (1, 2) if turn % 2 == 0 else (2, 1):
                    with (
                        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
                        Client(cluster) as client,
                    ):
                        if held:
                            for k, worker in enumerate(client.nthreads()):
                                client.run(os.sched_setaffinity, 0, {k}, workers=[worker])
                        distributed.fit(PAClassifier(random_state=0), names[:2], client=client)  # kernels are loaded
                        began = time.perf_counter()
                        model = distributed.fit(PAClassifier(random_state=0), names, client=client)
                        seconds[workers] = time.perf_counter() - began
                        most = max(client.run(peak_memory).values())
                    print(
                        f"{workers} process(es){', each held to a core' * held}: {seconds[workers]:.1f} s, "
                        f"{model.n_seen_:,} rows of {size / 1e9:.1f} GB, at most {most / 1e6:.0f} MB a worker",
                        flush=True,
                    )
                ratios[held].append(seconds[2] / seconds[1])
        print("two processes take, of one, each held to a core:", ", ".join(f"{a:.2f}" for a in ratios[True]))
        print("two processes take, of one that reads in a second thread:", ", ".join(f"{a:.2f}" for a in ratios[False]))


def peak_memory() -> int:
    """Bytes that this process had at most."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def show_overhead(rounds: int = 5) -> None:
    import dask.array as da
    from distributed import Client, LocalCluster

    from aggro import distributed

    rng = np.random.default_rng(0)
    X = rng.standard_normal((6400, 22))
    y = (X[:, 0] > 0).astype(int)
    blocks = da.from_array(X, chunks=(100, 22))
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        distributed.fit(PAClassifier(random_state=0), blocks, y, client=client)
        for _ in range(rounds):
            began = time.perf_counter()
            distributed.fit(PAClassifier(random_state=0), blocks, y, client=client)
            whole = time.perf_counter() - began
            began = time.perf_counter()
            PAClassifier(random_state=0).partial_fit(X, y)
            learning = time.perf_counter() - began
            print(f"{1e3 * (whole - learning) / 64:.1f} ms a partition, beside {1e3 * learning / 64:.2f} of learning")


def show_bytes() -> None:
    from aggro.mixing.mixture import known_of, taken, union

    print("features  classes    model, bytes    sums, bytes")
    for features, classes in ((22, 2), (300, 2), (780, 10), (10_000, 2)):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((200, features))
        model = PAClassifier(random_state=0).partial_fit(X, rng.integers(classes, size=200))
        start = PAClassifier(random_state=0)
        known = union(known_of(start, start), [known_of(model, start)])
        sums = taken(model, start, known, "rows")
        print(f"{features:>8} {classes:>8} {len(pickle.dumps(model)):>15,} {len(pickle.dumps(sums)):>14,}")


if __name__ == "__main__":
    jobs = {
        "error": show_errors,
        "partitions": write_partitions,
        "speed": show_speed,
        "overhead": show_overhead,
        "bytes": show_bytes,
    }
    if len(sys.argv) != 2 or sys.argv[1] not in jobs:
        sys.exit(f"usage: python benchmarks/learning_apart.py {'|'.join(jobs)}")
    jobs[sys.argv[1]]()
