"""The commands of the docs, run one after another as the page says."""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from helpers.pages import ROOT, save_files

PAGE = ROOT / "docs" / "cli.md"
TUTORIALS = ROOT / "docs" / "tutorials"
FROM = [TUTORIALS / f"from-{name}.md" for name in ("unlabelled-to-a-model", "one-file-to-a-cluster")]
PAGES = [PAGE, *sorted(TUTORIALS.glob("a*-of-your-own.md")), *FROM]


def examples(text: str) -> list[tuple[str, list[str]]]:
    """Each command of the page, and the lines that should come of it."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        inside = ""  # of a here-document
        for line in block.splitlines():
            if inside:
                command, _ = found[-1]
                found[-1] = (f"{command}\n{line}", [])
                inside = "" if line == inside else inside
            elif line.startswith("$ "):
                found.append((line[2:], []))
                inside = next(iter(re.findall(r"<<'(\w+)'", line)), "")
            else:
                found[-1][1].append(line)
    return found


def output(command: str, folder: Path) -> list[str]:
    """What a command prints, as a terminal of 80 columns would show it."""
    program = f'aggro() {{ "{sys.executable}" -m aggro.cli "$@"; }}\npython() {{ "{sys.executable}" "$@"; }}\n'
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    ran = subprocess.run(
        ["bash", "-c", program + command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "80", "PYTHONUNBUFFERED": "1"},
    )
    assert "Traceback" not in ran.stdout
    return [line.rstrip() for line in ran.stdout.splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_do_what_the_page_says(page, tmp_path):
    save_files(page, tmp_path)
    commands = examples(page.read_text(encoding="utf-8"))
    assert len(commands) >= 3
    for command, expected in commands:
        if command.startswith("aggro export") and find_spec("onnx") is None:
            continue  # it is an extra
        if "--dask" in command and find_spec("distributed") is None:
            continue
        found = [line for line in output(command, tmp_path) if not line.startswith("Compiling for this computer")]
        assert len(found) == len(expected), (command, found)
        for line, pattern in zip(found, expected, strict=True):
            # «…» stands for what differs from run to run; brackets are meant as they are.
            glob = re.sub(r"([\[\]*?])", r"[\1]", pattern).replace("…", "*")
            assert fnmatch.fnmatchcase(line, glob), (command, line, pattern)


def test_every_command_is_described():
    from aggro.cli import app

    text = PAGE.read_text(encoding="utf-8")
    names = [command.name or command.callback.__name__ for command in app.registered_commands]
    names += [group.name for group in app.registered_groups]
    for name in names:
        assert f"## aggro {name}" in text
