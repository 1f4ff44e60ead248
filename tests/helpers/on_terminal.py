"""Runs command lines on pseudo-terminals, and prints as JSON how each ended and what came to the screen.

The commands are forks of this process, which has loaded everything already. A question is answered with ``q``.
"""

from __future__ import annotations

import json
import os
import pty
import sys
import threading
import time
from contextlib import redirect_stderr, redirect_stdout, suppress

from aggro import cli

PROMPT = "› ".encode()


def run(arguments: list[str]) -> tuple[int, str]:
    pid, fd = pty.fork()
    if pid == 0:
        status = 70
        try:
            cli.main(arguments)
        except SystemExit as end:
            status = end.code or 0
        finally:
            with suppress(BaseException):
                sys.stdout.flush()
            os._exit(status)
    screen = b""
    with suppress(OSError):  # the end of it
        while more := os.read(fd, 65536):
            screen += more
            if PROMPT in more:
                os.write(fd, b"q")
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), screen.decode("utf-8", "surrogateescape")


if __name__ == "__main__":
    os.environ["COLUMNS"] = "400"
    lines = json.loads(sys.argv[1])
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere), suppress(SystemExit):
        cli.main(lines[0])
    while threading.active_count() > 1:
        time.sleep(0.01)
    print(json.dumps([run(arguments) for arguments in lines]))
