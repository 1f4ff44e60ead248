"""Runs a command line on a terminal of a given width, and gives what came to the screen."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import suppress
from typing import Any

DRAWN = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")  # colours and movements of the cursor


def on_screen(columns: int, *arguments: Any) -> tuple[int, str]:
    """The status, and the text without colours."""
    import pty
    import termios

    keyboard, screen = pty.openpty()
    termios.tcsetwinsize(screen, (50, columns))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm"}
    environment.pop("COLUMNS", None)
    line = [sys.executable, "-m", "aggro.cli", *map(str, arguments)]
    with subprocess.Popen(line, stdin=screen, stdout=screen, stderr=screen, env=environment) as running:
        os.close(screen)
        seen = b""
        with suppress(OSError):  # the end of it
            while more := os.read(keyboard, 65536):
                seen += more
    os.close(keyboard)
    return running.returncode, DRAWN.sub("", seen.decode()).replace("\r\n", "\n")
