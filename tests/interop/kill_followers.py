"""``aggro follow`` in a process of its own, killed again and again: the model has the bits of one that was not."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from interop.brokers import without_repeats

from aggro.models import load_checkpoint, save

PATIENCE = 600.0  # seconds; code may have to be compiled first


def command(source: str, model: Path, *options: str) -> list[str]:
    """The command line."""
    return [sys.executable, "-m", "aggro", "follow", source, "--model", str(model), *options]


def followed(source: str, model: Path, *options: str) -> str:
    """Follow to the end of the stream, in a process of its own; what it prints."""
    line = [*command(source, model, *options), "--idle", "1"]
    ran = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def bits(model: Path) -> tuple[bytes, Any]:
    """The model of a file without its place, and the counts."""
    learner, position = load_checkpoint(model, shell=False)
    again = model.with_name(f"{model.stem}-bits.aggro")
    save(learner, again)
    return again.read_bytes(), position["follow"]["counts"]


def killed_and_whole(
    broker: Any, folder: Path, kills: int, options: list[str], rows: int, say: Callable[[str], None] = lambda text: None
) -> dict[str, int]:
    """Kill a follower that often on its way through the stream "visits"; what was found wrong is raised."""
    rng = random.Random(kills)
    source, model, whole = broker.url("visits"), folder / "killed.aggro", folder / "whole.aggro"
    hurry = [*options, "--batch", "10", "--every", "0"]
    options = [*options, "--batch", "10"] if "--labels" in options else options  # see docs: two streams are interleaved
    done = 0
    for _ in range(kills):
        process = subprocess.Popen(
            command(source, model, *hurry, "--predictions", "killed-out"), stderr=subprocess.DEVNULL
        )
        before = place_of(model)
        end = time.monotonic() + PATIENCE
        while place_of(model) == before and process.poll() is None and time.monotonic() < end:
            time.sleep(0.002)
        time.sleep(rng.uniform(0.0, 0.12))
        process.send_signal(signal.SIGKILL)
        process.wait()
        done += 1
        say(f"kill {done}: {place_of(model)[1]:,} of {rows:,} records")
    if place_of(model)[1] >= rows:
        say("the stream was too short: the last kills met a follower with nothing to do")
    followed(source, model, *options, "--predictions", "killed-out")
    followed(source, whole, *options, "--predictions", "whole-out", "--group", "whole")
    found, wanted = bits(model), bits(whole)
    assert found == wanted, "the model of the killed processes is another"
    assert wanted[1]["records"] == rows
    written = broker.entries("killed-out")
    once = without_repeats(written)
    assert once == without_repeats(broker.entries("whole-out")), "other predictions were written"
    return {"kills": done, "records": rows, "written": len(written), "repeats": len(written) - len(once)}


def place_of(model: Path) -> tuple[float, int]:
    """When the file was written, and how many records the model has been given; zeros if there is none yet."""
    try:
        when = os.stat(model).st_mtime_ns
        return when, int(load_checkpoint(model, shell=False)[1]["follow"]["counts"]["records"])
    except FileNotFoundError:
        return 0.0, 0
