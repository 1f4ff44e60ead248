"""Every example of the README and the docs runs, and prints what the page says it prints.

The files of a page are saved, and its other ``python`` blocks executed in order, in one namespace. A ``text`` block
right after one holds what it prints. One page adds a learner to the package, so it is executed on a copy.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.pages import ROOT, examples, save_files

# What a page needs that is not always there.
EXTRAS = {"export-to-onnx.md": "onnxruntime", "from-one-file-to-a-cluster.md": "distributed", "deploy.md": "starlette"}
ADD = ROOT / "docs" / "develop" / "add-a-learner.md"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(set((ROOT / "docs").rglob("*.md")) - {ADD})]


# In the same process as that page's example: what a learner needs no further line for.
THE_REST = """
import aggro
from aggro.interop import river
assert aggro.ClassPerceptron is aggro.estimators.ClassPerceptron is aggro.published.ClassPerceptron
assert "ClassPerceptron" in {*aggro.estimators.__all__} & {*aggro.published.__all__}
assert river.ClassPerceptron.__name__ == "ClassPerceptron"
"""


def named(pages: list[Path]) -> list[pytest.param]:
    return [pytest.param(page, id=str(page.relative_to(ROOT))) for page in pages if examples(page)]


@pytest.mark.parametrize("page", named(PAGES))
def test_a_page_runs_and_prints_what_it_says(page, tmp_path, monkeypatch):
    if page.name in EXTRAS:
        pytest.importorskip(EXTRAS[page.name])
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for module in save_files(page, tmp_path):
        monkeypatch.delitem(sys.modules, module, raising=False)
    namespace: dict = {"__name__": "page"}
    for example in examples(page):
        if example.file:
            continue
        printed = io.StringIO()
        # Blank lines before the code, so that an error names the line of the page.
        code = compile("\n" * (example.line - 1) + example.code, str(page), "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        if example.output is not None:
            assert printed.getvalue() == example.output, f"{page.name}, the example at line {example.line}"


def test_a_learner_is_added_by_one_file_and_one_line(tmp_path):
    """The file and the registry's line of the page, in a copy of the package, and what then runs."""
    new_file, registry_line, *rest = examples(ADD)
    package = tmp_path / "src" / "aggro"
    shutil.copytree(ROOT / "src" / "aggro", package, ignore=shutil.ignore_patterns("__pycache__"))
    assert new_file.code.startswith("# src/aggro/learners/class_perceptron.py\n")
    (package / "learners" / "class_perceptron.py").write_text(new_file.code, encoding="utf-8")
    registry = package / "learners" / "registry.py"
    before = registry.read_text(encoding="utf-8")
    after = re.sub(
        r"(LEARNERS = \(\n(?:    Entry.*\n)+)", rf"\g<1>    {registry_line.code.splitlines()[-1]},\n", before
    )
    assert after.count("Entry(") == before.count("Entry(") + 1
    registry.write_text(after, encoding="utf-8")

    script = tmp_path / "rest.py"
    script.write_text("\n".join([*(example.code for example in rest), THE_REST]), encoding="utf-8")
    # The script is compiled, in a cache of its own: kernels for a state that exists in this copy alone must not be
    # found elsewhere. The contract's many settings run as Python, which takes seconds instead of a minute.
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src"), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "".join(example.output or "" for example in rest)

    checks = [
        ROOT / "tests" / "contract" / "test_contract.py",
        "-k",
        "ClassPerceptron and (to_the_bit or goes_on or by_name)",
    ]
    options = ["-p", "no:cacheprovider", "-p", "no:xdist"]
    command = [sys.executable, "-m", "pytest", *options, *checks]
    plain = {**environment, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=plain, cwd=ROOT)
    assert done.returncode == 0, done.stdout
    assert re.search(r"[1-9]\d* passed", done.stdout)
