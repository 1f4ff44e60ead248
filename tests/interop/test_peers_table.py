"""The page about other projects' suites is that of the checks that the suite runs."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("river")

from interop.peers_table import page

STORED = Path(__file__).with_name("PEERS.md").read_text(encoding="utf-8")


def test_the_page_counts_the_checks_of_today():
    found = page().rstrip().split("\n")
    stored = STORED.rstrip().split("\n")
    titles, before = ([line for line in lines if line.startswith("## ")] for lines in (found, stored))
    if titles != before:
        pytest.skip("the page was made with other versions of scikit-learn and River, which have other checks")
    assert found == stored, "run python tests/interop/peers_table.py > tests/interop/PEERS.md"
