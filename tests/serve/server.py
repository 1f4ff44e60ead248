"""``aggro serve`` in a process of its own, on a free port of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import httpx

PATIENCE = 600.0  # seconds; code may have to be compiled first


@dataclass
class Running:
    """A server."""

    process: subprocess.Popen[str]
    url: str
    folder: Path

    def client(self, **options) -> httpx.Client:
        """A client for it."""
        return httpx.Client(base_url=self.url, timeout=PATIENCE, trust_env=False, **options)

    def stop(self, how: int = signal.SIGTERM) -> int:
        """End it, by a signal; the status it ends with."""
        self.process.send_signal(how)
        status = self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return status


def started(folder: Path, *arguments: str, ready: bool = True) -> Running:
    """Start a server, and wait until it is ready."""
    command = [sys.executable, "-m", "aggro", "serve", "--dir", str(folder), "--port", "0", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"The server ended with status {process.wait()}.")
    running = Running(process, line.split()[2].rstrip("/"), folder)
    while ready:
        if httpx.get(f"{running.url}/ready", timeout=PATIENCE, trust_env=False).status_code == 200:
            break
        time.sleep(0.05)
    return running
