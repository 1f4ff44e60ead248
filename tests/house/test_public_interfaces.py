"""What is read of Python's objects is what CPython and NumPy document: no offsets into them, no owner of a lock."""

from __future__ import annotations

import pytest
from house.source import PACKAGE

SOURCES = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
# Names by which code finds its way into objects, and into locks.
INSIDE = ("basicsize", "string_at", "_is_owned", "_release_save", "c_int64.from_address(id")
READS_MEMORY = {"engine/jit/intrinsics.py", "learners/model/text_labels.py"}  # of arrays


@pytest.mark.parametrize("name", INSIDE)
def test_nobody_looks_inside_of_objects(name):
    assert not [module for module, text in SOURCES.items() if name in text]


def test_memory_is_read_by_address_in_few_places():
    assert {module for module, text in SOURCES.items() if "word_at" in text} == READS_MEMORY
