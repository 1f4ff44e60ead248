"""Processes end with the one that began them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from aggro.engine.processes import pool

PROGRAM = """
import os, time
from aggro.engine.processes import pool
if __name__ == "__main__":
    with pool(1) as processes:
        print(processes.submit(os.getpid).result(), flush=True)
        processes.submit(time.sleep, 600).result()
"""


def test_what_is_asked_is_done():
    with pool(2) as processes:
        assert list(processes.map(abs, [-1, -2])) == [1, 2]


def stopped_by(error):
    """The child that was at work when this was raised."""
    children = []
    try:
        with pool(1) as processes:
            children.append(processes.submit(os.getpid).result())
            processes.submit(time.sleep, 600)
            processes.submit(time.sleep, 600)
            raise error
    except error:
        return children[0]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_does_not_wait_for_what_is_being_done(error):
    gone(stopped_by(error))


@pytest.mark.skipif(os.name != "posix", reason="of POSIX")
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])
def test_a_child_ends_when_its_parent_is_killed(tmp_path, sign):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    with subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        parent.send_signal(sign)
        parent.wait()
    gone(child)


def gone(process: int) -> None:
    while is_there(process):  # a suite that hangs here is the verdict
        time.sleep(0.05)


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    try:  # one that has ended and that nobody has asked for yet
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return os.path.isdir("/proc/self") is False
