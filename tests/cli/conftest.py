"""Small files of every kind that the commands read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

ROWS = 600


def _examples():
    """Two features, one of them the class, and some noise: (label, first, second)."""
    import numpy as np

    rng = np.random.default_rng(0)
    for _ in range(ROWS):
        x, z = rng.standard_normal(2).round(3).tolist()
        yield 1 if x + 0.1 * z > 0 else -1, x, z


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="session")
def svm(folder):
    """Feature 3 is only in the second half."""
    lines = [f"{y} 1:{x} 2:{z}" + (" 3:1" if i > ROWS / 2 else "") for i, (y, x, z) in enumerate(_examples())]
    path = folder / "rows.svm"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def csv(folder):
    lines = ["x,z,colour,kind"]
    lines += [
        f"{x},{z},{'red' if i % 3 else 'blue'},{'up' if y > 0 else 'down'}" for i, (y, x, z) in enumerate(_examples())
    ]
    path = folder / "rows.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def numbers(folder):
    """A number to predict, 3x − z + 1."""
    lines = ["x,z,target", *(f"{x},{z},{3 * x - z + 1:.6f}" for _, x, z in _examples())]
    path = folder / "numbers.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def vw(folder):
    path = folder / "rows.vw"
    path.write_text("".join(f"{y} |n x:{x} z:{z} |c word{i % 5}\n" for i, (y, x, z) in enumerate(_examples())))
    return path


@pytest.fixture(scope="session")
def model(folder, svm):
    from helpers.runner import good

    path = folder / "rows.aggro"
    good("train", svm, "--model", path)
    return path


@pytest.fixture
def quick_demo(monkeypatch):
    """A demo that runs nothing, and has a page all the same."""
    from aggro.cli.demo import race, show, tickets
    from aggro.evaluate.page import render

    for module, name in ((race, "run"), (tickets, "learn"), (show, "screen")):
        monkeypatch.setattr(module, name, lambda *_: None)
    monkeypatch.setattr(show, "html", lambda *_: render("A demo", "", [], "aggro 1.2.3"))
