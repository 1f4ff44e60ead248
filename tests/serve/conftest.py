"""A service in this process, without sockets, and a server in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("starlette", reason="aggro[serve] is not installed")
pytest.importorskip("uvicorn", reason="aggro[serve] is not installed")
pytest.importorskip("httpx", reason="the tests of the service call it with httpx")

from serve.server import Running, started

from aggro.serve import Limits, Models

SMALL = Limits(snapshot_rows=50, journal_rows=150, snapshots=3, waiting=20, keys=100)


@pytest.fixture
def models(tmp_path) -> Iterator[Models]:
    """Models in a new folder, with small limits."""
    with Models(tmp_path / "data", SMALL) as found:
        yield found


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[Running]:
    """A server that tests share; each uses models of its own names."""
    running = started(tmp_path_factory.mktemp("served"))
    yield running
    running.stop()
