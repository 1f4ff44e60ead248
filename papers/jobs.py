"""The work of a report: jobs that stand alone, done on all cores, each kept when it is done.

A job is a function of a module here and its arguments, all of which JSON can hold. What it gives is written to a file
at once, under its name and the code that made it, so that a run that was interrupted goes on where it stopped, and code
that was changed is run anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

from aggro.engine.jit.stamp import PACKAGE, content, files
from aggro.engine.processes import pool

HERE = Path(__file__).parent
# Each process has one core: libraries that would take all of them make each other wait.
ALONE = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "LOKY_MAX_CPU_COUNT")


class Job(NamedTuple):
    """Something to be done."""

    key: str  # its name: "pamo/table 1/ijcnn1/AROW"
    call: str  # "papers.pamo:test_errors"
    arguments: dict[str, Any]
    cost: float = 1.0  # about how many seconds it takes: the longest are begun first


@cache
def code_of(module: str) -> str:
    """A hash of all that a job of this module may run: the library, the sets, and the module; no other paper."""
    library = [(path, name) for path, name in files(str(PACKAGE)) if name.partition("/")[0] != "cli"]
    of_job = {"baselines.py", "sets.py", f"{module.rpartition('.')[2]}.py"}
    own = [(path, name) for path, name in files(str(HERE)) if name in of_job]
    told = sha256()
    for path, name in (*library, *own):
        told.update(f"{name}\n".encode())
        told.update(content(path))
    return told.hexdigest()


class Kept:
    """What was done before, in a file with a line for each job."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, Any] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    said = json.loads(line)
                    self.found[said["job"]] = said["gave"]
                except (ValueError, KeyError, TypeError):
                    continue  # the line that was being written when it was stopped

    def name(self, job: Job) -> str:
        """What a job is known by: its function, its arguments, and the code that it runs."""
        return f"{job.call} {json.dumps(job.arguments, sort_keys=True)} {code_of(job.call.partition(':')[0])}"

    def has(self, job: Job) -> bool:
        return self.name(job) in self.found

    def add(self, job: Job, gave: Any, seconds: float) -> None:
        """Keep what a job gave, on disk before the next is begun; how long it took is for who reads the file."""
        self.found[self.name(job)] = gave
        line = json.dumps({"key": job.key, "seconds": round(seconds, 3), "job": self.name(job), "gave": gave})
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
            file.flush()
            os.fsync(file.fileno())

    def of(self, jobs: Sequence[Job]) -> dict[str, Any]:
        """What these jobs gave, by their keys."""
        return {job.key: self.found[self.name(job)] for job in jobs}


def function_of(call: str) -> Callable[..., Any]:
    module, _, name = call.partition(":")
    return getattr(import_module(module), name)  # type: ignore[no-any-return]


def done(call: str, arguments: dict[str, Any]) -> tuple[Any, float]:
    """Do a job, in whichever process: what it gave, and the seconds of processor time that it took."""
    start = process_time()
    return function_of(call)(**arguments), process_time() - start


def do(jobs: Sequence[Job], kept: Kept, workers: int) -> Iterator[Job]:
    """Do what is not done yet, the longest first; each job when it is done and kept."""
    waiting = sorted((job for job in jobs if not kept.has(job)), key=lambda job: -job.cost)
    if workers == 1:
        for job in waiting:
            kept.add(job, *done(job.call, job.arguments))
            yield job
        return
    os.environ.update(dict.fromkeys(ALONE, "1"))  # for the children, which read it when they start
    with pool(workers) as processes:
        running: dict[Future[Any], Job] = {processes.submit(done, job.call, job.arguments): job for job in waiting}
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                job = running.pop(future)
                kept.add(job, *future.result())
                yield job
