"""Hostile records and tables: a short run of the standing attack."""

import pytest
from attack.records import attack

QUICK = ("classes", "few features", "roles", "raw numbers", "marks", "numbers", "asks")


@pytest.mark.parametrize("title", QUICK)
def test_nothing_is_left_behind_by_what_was_refused(title):
    counts = attack(15, seed=1, only=title)
    assert counts["refused"] > 10
    assert counts["taken"] > 30
