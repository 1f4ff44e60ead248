"""How a figure is measured: jobs take turns, each round gives a ratio, and a cell is their median with its spread.

An absolute time on a shared machine means little, so what counts is the ratio of two times taken a moment apart.
"""

from __future__ import annotations

import gc
import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

PACKAGES = (
    *("numpy", "scipy", "scikit-learn", "numba", "pyarrow", "pandas", "river", "vowpalwabbit", "torch"),
    *("liblinear-official", "matplotlib"),
)
BUSY = 0.2  # cores used by others, from which on a figure is marked
FALL = 0.8  # of what is stored: what is below fell by more than a fifth

# What a ratio says of two times, ours and the peer's.
FASTER = "times as fast"
SHARE = "of the rate"
LONGER = "times as long"
NUMBER = "a number"  # no ratio: a rate or a time by itself


@dataclass(frozen=True)
class Cell:
    """A job beside a peer. ``target`` is what it has to reach, ``goal`` what it would like to."""

    group: str
    job: str
    peer: str
    means: str
    ratio: float
    low: float  # the 10th and the 90th percentile of the rounds
    high: float
    target: float | None = None
    goal: float | None = None
    at_most: bool = False
    unit: str = "×"
    error: float | None = None  # in per cent, ours and theirs, where both do not compute the same
    peer_error: float | None = None
    good_enough: bool = True  # whether the error is what the target asks for; without, no speed meets it
    note: str = ""
    short: bool = True  # whether the short version has it
    seconds: float | None = None  # ours, the median
    rounds: int = 0
    others: float = 0.0  # cores that other processes used meanwhile

    @property
    def key(self) -> tuple[str, str, str]:
        return self.group, self.job, self.peer

    @property
    def met(self) -> bool | None:
        if self.target is None:
            return None
        return self.good_enough and (self.ratio <= self.target if self.at_most else self.ratio >= self.target)


@dataclass(frozen=True)
class Skip:
    """A job that could not be done, and why: all whose names begin so; without a peer, beside all of them."""

    group: str
    job: str
    peer: str
    why: str

    def covers(self, one: Cell) -> bool:
        return self.group == one.group and one.job.startswith(self.job) and self.peer in ("", one.peer)


@dataclass(frozen=True)
class Plan:
    """How much is to be done, and where files may be."""

    folder: Path
    short: bool = False

    def rounds(self, full: int, short: int) -> int:
        return short if self.short else full


# Times -----------------------------------------------------------------------------------------------------------


def in_turns(jobs: Mapping[str, Callable[[], Any]], repeat: int, least: float = 0.0) -> dict[str, np.ndarray]:
    """Seconds of each job in each round. A first round, which loads and compiles, is not counted.

    A job that is over in less than ``least`` seconds is done again and again in its turn until they are over, and its
    time is the mean: otherwise much of it would be that of fetching what the jobs before it drove out of the caches.
    """
    for job in jobs.values():
        job()
    times = {name: np.empty(repeat) for name in jobs}
    gc.collect()
    was_on = gc.isenabled()
    gc.disable()
    try:
        for i in range(repeat):
            for name, job in jobs.items():
                start, done, passed = time.perf_counter(), 0, 0.0
                while not done or passed < least:
                    job()
                    done, passed = done + 1, time.perf_counter() - start
                times[name][i] = passed / done
            gc.collect()  # between rounds, not in one
    finally:
        if was_on:
            gc.enable()
    return times


def best(*jobs: Callable[[], Any], repeat: int = 40) -> list[float]:
    """The best time of each job, the jobs taking turns so that they share the machine's moods."""
    times = in_turns({str(k): job for k, job in enumerate(jobs)}, repeat)
    return [float(rounds.min()) for rounds in times.values()]


def cell(group: str, job: str, peer: str, means: str, ours: np.ndarray, theirs: np.ndarray, **more: Any) -> Cell:
    """A cell from the times of the same rounds."""
    rounds = ours / theirs if means == LONGER else theirs / ours
    more.setdefault("at_most", means == LONGER)
    return spread(group, job, peer, means, rounds, seconds=float(np.median(ours)), **more)


def spread(group: str, job: str, peer: str, means: str, rounds: np.ndarray, **more: Any) -> Cell:
    """A cell from what each round gave."""
    low, middle, high = (float(value) for value in np.percentile(rounds, (10, 50, 90)))
    return Cell(group, job, peer, means, middle, low, high, rounds=len(rounds), **more)


# What was stored -------------------------------------------------------------------------------------------------


def fell(stored: Cell, now: Cell) -> bool:
    """By more than a fifth, and out of the spread that was stored."""
    if stored.at_most:
        return now.ratio > stored.ratio / FALL and now.ratio > stored.high
    return now.ratio < stored.ratio * FALL and now.ratio < stored.low


def compare(stored: list[Cell], now: list[Cell], skipped: list[Skip]) -> list[str]:
    """What is worse than it was: a line for each job that fell, or is gone. What was skipped is neither."""
    found = {one.key: one for one in now}
    lines = []
    for before in stored:
        name = f"{before.group}: {before.job}, beside {before.peer}"
        after = found.get(before.key)
        if after is None:
            if not any(skip.covers(before) for skip in skipped):
                lines.append(f"{name}: missing")
        elif fell(before, after):
            held = f"{before.ratio:.3g}, {before.low:.3g} to {before.high:.3g}"
            busy = f" (other processes used {after.others:.1f} cores)" if after.others > BUSY else ""
            lines.append(f"{name}: {after.ratio:.3g} {after.unit}, was {held}{busy}")
    return lines


def as_dict(one: Cell) -> dict[str, Any]:
    """What differs from the defaults, with four digits."""
    plain = {name: value for name, value in asdict(one).items() if value != getattr(Cell, name, None)}
    return {name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in plain.items()}


class Others:
    """How many cores other processes used. A neighbour slows some code twofold and other code not at all."""

    def __init__(self) -> None:
        self.before, self.found = self.now(), 0.0

    @staticmethod
    def now() -> tuple[float, float, float]:
        """The clock, the seconds that all processes used, and those of this one and its children."""
        try:
            user, nice, system = Path("/proc/stat").read_text(encoding="ascii").split()[1:4]
            everybody = (int(user) + int(nice) + int(system)) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError):
            everybody = 0.0  # not Linux: unknown
        return time.perf_counter(), everybody, sum(os.times()[:4])

    def used(self) -> float:
        """Since the last call; what was said then, if that was a moment ago."""
        now = self.now()
        seconds, everybody, own = (after - before for after, before in zip(now, self.before, strict=True))
        if seconds > 0.3:
            self.before, self.found = now, max(0.0, everybody - own) / seconds
        return self.found


# Where -----------------------------------------------------------------------------------------------------------


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def machine() -> dict[str, Any]:
    return {"processor": processor(), "cores": os.cpu_count(), "system": platform.system()}
