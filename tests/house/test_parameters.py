"""What several learners say about a parameter is written once, in ``tools/parameters.toml``."""

from __future__ import annotations

import importlib
import sys
from collections import defaultdict
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture(scope="module")
def parameters():
    sys.path.insert(0, str(TOOLS))
    try:
        yield importlib.import_module("parameters")
    finally:
        sys.path.remove(str(TOOLS))


@pytest.fixture(scope="module")
def listed(parameters):
    """The text of each parameter and attribute, by learner and name."""
    return {
        (learner, name): text
        for path in parameters.LEARNERS.rglob("*.py")
        for learner, docstring in parameters.docstrings(path)
        for name, _, text in parameters.entries(docstring)
    }


def test_docstrings_have_the_shared_texts(parameters, listed):
    wrong = [key for key, text in parameters.shared().items() if listed.get(key) != text]
    assert not wrong, f"Run python tools/parameters.py, or mend tools/parameters.toml: {wrong}"


def test_a_text_of_two_learners_is_shared(parameters, listed):
    texts = defaultdict(list)
    for (learner, name), text in listed.items():
        texts[name, text].append(learner)
    known = parameters.shared()
    copies = [
        (name, learners)
        for (name, _), learners in texts.items()
        if len(learners) > 1 and not all((learner, name) in known for learner in learners)
    ]
    assert not copies, f"Write these once, in tools/parameters.toml: {copies}"


def test_writing_changes_what_was_changed_by_hand(parameters):
    docstring = '''"""A learner.

    Parameters
    ----------
    tol : float, default=None
        Something else,
        over two lines.
    eta : float
        Its own.
    """'''
    after = parameters.written("It", docstring, {("It", "tol"): "Stop early."})
    assert after == docstring.replace("Something else,\n        over two lines.", "Stop early.")
