"""The requests of the tutorial, sent to a server as curl would, are answered as the page says."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from helpers.pages import ROOT
from serve.server import started

pytestmark = pytest.mark.xdist_group("serve")
PAGE = ROOT / "docs" / "tutorials" / "serve.md"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}  # what curl says without -H


def requests() -> list[tuple[str, str, str]]:
    """Path, body and answer of each request."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        for part in re.split(r"^\$ ", block.replace("\\\n", ""), flags=re.MULTILINE)[1:]:
            command, _, answer = part.partition("\n")
            curl, url, option, body = shlex.split(command)
            assert (curl, option) == ("curl", "-d")
            found.append((url.removeprefix("http://127.0.0.1:8765"), body, answer.strip()))
    return found


def test_the_requests_of_the_tutorial(tmp_path):
    server = started(tmp_path)
    done = 0
    try:
        with server.client() as http:
            for path, body, wanted in requests():
                answer = http.post(path, content=body, headers=FORM)
                if wanted:
                    assert answer.json() == json.loads(wanted), path
                    done += 1
    finally:
        assert server.stop() == 0
    assert done > 5
