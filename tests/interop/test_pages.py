"""The pages about Redis and MLflow do what they say, with a server of the test's own in place of the usual one."""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import subprocess
import sys

import pytest
from cli.test_docs import examples, output
from helpers.pages import ROOT, save_files
from helpers.pages import examples as code_of
from interop.brokers import RedisServer

pytestmark = pytest.mark.xdist_group("brokers")


@pytest.mark.skipif(
    RedisServer.there is None or shutil.which("redis-cli") is None, reason="there is no redis-server on this machine"
)
def test_the_page_about_redis(tmp_path):
    pytest.importorskip("redis", reason="aggro[redis] is not installed")
    page = ROOT / "docs" / "tutorials" / "follow.md"
    save_files(page, tmp_path)
    server = RedisServer(tmp_path)
    try:
        (tmp_path / "learn_visits.py").write_text(
            (tmp_path / "learn_visits.py").read_text().replace(":6379", f":{server.port}")
        )
        commands = examples(page.read_text(encoding="utf-8"))
        assert len(commands) > 10
        for command, expected in commands:
            line = command.replace(":6379", f":{server.port}").replace("redis-cli", f"redis-cli -p {server.port}")
            found = [one for one in output(line, tmp_path) if not one.startswith("Compiling for this computer")]
            assert len(found) == len(expected), (command, found)
            for one, pattern in zip(found, expected, strict=True):
                glob = re.sub(r"([\[\]*?])", r"[\1]", pattern.rstrip()).replace("…", "*")
                assert fnmatch.fnmatchcase(one, glob), (command, one, pattern)
    finally:
        server.stop()


def test_the_page_about_integrations(tmp_path):
    pytest.importorskip("mlflow", reason="aggro[mlflow] is not installed")
    pytest.importorskip("sqlalchemy", reason="mlflow-skinny is installed, which keeps no runs; aggro[mlflow] does")
    page = ROOT / "docs" / "integrations.md"
    (name,) = save_files(page, tmp_path)
    (example,) = code_of(page)
    line = [sys.executable, f"{name}.py"]
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    ran = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, env=plain)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == example.output
