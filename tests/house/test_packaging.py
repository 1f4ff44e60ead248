"""What a package index shows, and the Pythons that aggro says it is for."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from types import SimpleNamespace

import pytest
from house.source import PACKAGE

ROOT = PACKAGE.parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SOURCE = PROJECT["urls"]["Source"]


@pytest.fixture
def tool(monkeypatch):
    """A module of the folder tools, by name; hatchling, which calls the hooks, need not be there."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    interface = SimpleNamespace(MetadataHookInterface=object)
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", interface)
    return importlib.import_module


def test_every_link_and_picture_of_the_readme_works_on_an_index_page(tool):
    hook = tool("readme_hook").Readme()
    hook.root, told = ROOT, {"urls": {"Source": SOURCE}}
    hook.update(told)
    text = told["readme"]["text"]
    targets = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|srcset|href)="([^"]+)"', text)
    pages = [target.removeprefix(f"{SOURCE}/blob/main/") for target in targets if target.endswith(".md")]
    pictures = [target.removeprefix(f"{SOURCE}/raw/main/") for target in targets if target.endswith(("svg", "png"))]
    assert len(pages) > 15
    assert len(pictures) == 3
    for file in pages + pictures:
        assert (ROOT / file).is_file(), file
    assert all(target.startswith("https://") for target in targets)
    assert len(targets) == len(pages) + len(pictures)


def test_the_pythons_it_is_for_are_named_alike(tool):
    """By the classifiers, the lowest version that pip accepts, and what runs the tests."""
    versions = tool("pythons").VERSIONS
    assert PROJECT["requires-python"] == f">={versions[0]}"
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    assert re.findall(r'"(3\.\d+)"', re.search(r"python: \[.*\]", workflow)[0]) == versions


def stand_in(path, version):
    """A program that answers as this version of Python does, or as one that does not run."""
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho {version}\n" if version else "#!/bin/sh\nexit 127\n")
    path.chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-ins are programs for a shell")
def test_pythons_that_run_are_found_and_the_newest_patch_is_taken(tool, tmp_path, monkeypatch):
    pythons = tool("pythons")
    kept = tmp_path / "versions"
    for patch, version in (("3.97.9", "3.97"), ("3.97.10", "3.97"), ("3.98.0", ""), ("3.96.0", "3.96")):
        stand_in(kept / patch / "bin" / "python", version)
    stand_in(tmp_path / "path" / "python3.97", "")
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setattr(pythons, "VERSIONS", [pythons.HERE, "3.97", "3.98", "3.99"])
    found = {pythons.HERE: sys.executable, "3.97": str(kept / "3.97.10" / "bin" / "python")}
    assert pythons.installed() == found
