"""Random sequences of public calls: a short run of the standing attack."""

import tempfile
import warnings
from collections import Counter
from pathlib import Path

import pytest
from attack.calls import makers, sequence

from aggro.learners.registry import LEARNERS

EACH = 4  # sequences for each setting of a learner


@pytest.mark.parametrize(
    "name", [pytest.param(entry.name, marks=pytest.mark.xdist_group(entry.name)) for entry in LEARNERS]
)
def test_nothing_is_left_behind_by_what_was_refused(name):
    counts = Counter()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k, (variant, make) in enumerate(makers()):
            if variant.entry.name == name:
                for seed in range(EACH):
                    sequence(make, variant, 1000 * k + seed, str(Path(folder) / "m.aggro"), counts)
    assert counts["refused"] > 10
    assert counts["taken"] > 10
