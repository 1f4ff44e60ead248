"""Runs a command line again and again, and kills it with -9 at random moments, until runs get through.

The runs are forks of this process, which has loaded everything already: starting Python for each would take
most of the time. Every model that comes out must be the one of a run without kills. Prints as JSON how
often it killed, how many runs went on from a checkpoint, and how many got through.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from contextlib import suppress

from aggro import cli

SHARE = 0.6  # of an uninterrupted run's time: the longest that a run is let live


def fork(arguments: list[str], log: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 70
    try:
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        cli.main(arguments)
    except SystemExit as end:
        status = end.code
    finally:
        os._exit(status)


def whole_run(arguments: list[str], log: str) -> float:
    start = time.perf_counter()
    _, status = os.waitpid(fork(arguments, log), 0)
    assert os.waitstatus_to_exitcode(status) == 0, read(log)
    return time.perf_counter() - start


def main(plan: dict) -> dict:
    log, arguments, options = plan["log"], plan["arguments"], plan["checkpointing"]
    with suppress(SystemExit):
        cli.main([*arguments, "--model", plan["whole"]])  # loads what is loaded once
    while threading.active_count() > 1:
        time.sleep(0.01)
    usual = whole_run([*arguments, "--model", plan["pieces"], *options], log)
    os.unlink(plan["pieces"])
    moments = random.Random(plan["seed"])
    result = {"kills": 0, "resumed": 0, "finished": 0}
    while result["kills"] < plan["kills"] or result["resumed"] < plan["resumed"] or not result["finished"]:
        again = ["--resume"] if os.path.exists(plan["pieces"] + ".checkpoint") else []
        child = fork([*arguments, "--model", plan["pieces"], *options, *again], log)
        status = killed_after(child, moments.uniform(0.0, SHARE * usual))
        result["resumed"] += "Going on after" in read(log)
        if status == 0:
            result["finished"] += 1
            assert same(plan["whole"], plan["pieces"]), result
            os.unlink(plan["pieces"])
        else:
            assert status == -signal.SIGKILL, read(log)
            result["kills"] += 1
    # The last kill may have come after the model was saved and before its checkpoint was deleted.
    if not os.path.exists(plan["pieces"]) or os.path.exists(plan["pieces"] + ".checkpoint"):
        whole_run([*arguments, "--model", plan["pieces"], *options, "--resume"], log)
    return result


def same(one: str, other: str) -> bool:
    with open(one, "rb") as a, open(other, "rb") as b:
        return a.read() == b.read()


def killed_after(child: int, seconds: float) -> int:
    """The exit status of a child that is killed after so long, unless it is done before."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.0005)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def read(log: str) -> str:
    with open(log) as file:
        return file.read()


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
