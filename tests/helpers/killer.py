"""Runs a command line again and again, and stops it with signals at random moments, until runs get through.

The runs are forks of this process, which has loaded everything already: starting Python for each would take
most of the time. Every model that comes out must be the one of a run that was not stopped, and so must any that
lies there in between, unless it is the one that the run began with. Prints as JSON how often it was stopped, how
many runs went on from a checkpoint, and how many got through.

A plan has ``arguments`` and ``checkpointing`` (options of the command), ``whole`` and ``pieces`` (the models),
``log``, ``seed``, ``kills`` and ``resumed`` (at least so many), and, if they are not as usual, ``signals`` and
``start``: a model that runs go on from, in the file where the new one will be.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from aggro import cli

SHARE = 0.6  # of an uninterrupted run's time: the longest that a run is let live
LONG = 4.0  # the same, once it was stopped often enough: then it is to get through
ENDING = ".checkpoint"
DONE = "\nmodel      "  # the last line of a run's result


def spawn(body: Callable[[], Any], log: str) -> int:
    """A fork that does this, whose stdout and stderr are the log; its process.

    Signals wait until it is ready for them, and it never comes back here.
    """
    caught = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, caught)
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, caught)
        return pid
    status = 70
    try:
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        with open(1, "w", closefd=False) as out, open(2, "w", buffering=1, closefd=False) as err:
            sys.stdout, sys.stderr = out, err
            signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it may be ignored
            signal.pthread_sigmask(signal.SIG_UNBLOCK, caught)
            try:
                body()
            except SystemExit as end:
                status = end.code or 0
    except KeyboardInterrupt:  # before it began, or after it ended
        status = 128 + signal.SIGINT
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(status)


def fork(arguments: list[str], log: str) -> int:
    """Start a run; its process."""
    return spawn(lambda: cli.main(arguments), log)


def whole_run(arguments: list[str], log: str) -> float:
    """Run it without a signal; how long it took."""
    start = time.perf_counter()
    _, status = os.waitpid(fork(arguments, log), 0)
    assert os.waitstatus_to_exitcode(status) == 0, read(log)
    return time.perf_counter() - start


def quiet() -> None:
    """Wait until there is one thread: others are not there in a fork, and what they hold is held for ever."""
    while threading.active_count() > 1:
        time.sleep(0.01)


class Plan:
    """The runs of one command."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.log, self.whole, self.pieces, self.start = plan["log"], plan["whole"], plan["pieces"], plan.get("start")
        self.signals = [getattr(signal, name) for name in plan.get("signals", ["SIGKILL"])]
        self.arguments, self.plan = plan["arguments"], plan
        self.result = {"kills": 0, "resumed": 0, "finished": 0}

    def command(self, model: str) -> list[str]:
        return [*self.arguments, *(["--from", model] if self.start else []), "--model", model]

    def begin(self, model: str) -> None:
        if self.start:
            shutil.copyfile(self.start, model)
        else:
            with suppress(FileNotFoundError):
                os.unlink(model)

    def run(self) -> dict[str, int]:
        self.begin(self.whole)
        with suppress(SystemExit):
            cli.main(self.command(self.whole))  # loads what is loaded once
        quiet()
        command = [*self.command(self.pieces), *self.plan["checkpointing"]]
        self.begin(self.pieces)
        usual = whole_run(command, self.log)
        assert self.is_whole()
        self.begin(self.pieces)
        moments, result, plan = random.Random(self.plan["seed"]), self.result, self.plan
        while result["kills"] < plan["kills"] or result["resumed"] < plan["resumed"] or not result["finished"]:
            again = ["--resume"] if os.path.exists(self.pieces + ENDING) else []
            child = fork([*command, *again], self.log)
            number = moments.choice(self.signals)
            enough = result["kills"] >= plan["kills"] and result["resumed"] >= plan["resumed"]
            longest = (LONG if enough else SHARE) * usual
            status = killed_after(child, moments.uniform(0.0, longest), number)
            self.look(status, number)
        # The last signal may have come after the model was saved and before its checkpoint was deleted.
        if not self.is_whole() or os.path.exists(self.pieces + ENDING):
            whole_run([*command, "--resume"], self.log)
        return result

    def look(self, status: int, number: int) -> None:
        """See what a run has left."""
        said = read(self.log)
        self.result["resumed"] += "Continuing after" in said
        assert "Traceback" not in said, said
        begun = same(self.start, self.pieces) if self.start else not os.path.exists(self.pieces)
        assert begun or self.is_whole(), (self.result, said)
        # Without its checkpoint, and all said, it is done, however it ended.
        done = DONE in said and not os.path.exists(self.pieces + ENDING)
        if status == 0 or done:
            assert self.is_whole(), self.result
            self.result["finished"] += 1
            self.begin(self.pieces)
        if status:
            # A signal may come when nothing catches it yet, or no longer.
            assert status in (-number, 128 + number), (status, said)
            if status > 0:
                assert done or not said or said.splitlines()[-1].startswith("aggro: Stopped."), said
            self.result["kills"] += 1

    def is_whole(self) -> bool:
        return os.path.exists(self.pieces) and same(self.whole, self.pieces)


def same(one: str, other: str) -> bool:
    with open(one, "rb") as a, open(other, "rb") as b:
        return a.read() == b.read()


def killed_after(child: int, seconds: float, number: int = signal.SIGKILL) -> int:
    """The exit status of a child that gets a signal after so long, unless it is done before."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.0005)
    os.kill(child, number)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def read(log: str) -> str:
    try:
        with open(log) as file:
            return file.read()
    except FileNotFoundError:
        return ""


if __name__ == "__main__":
    print(json.dumps(Plan(json.loads(sys.argv[1])).run()))
