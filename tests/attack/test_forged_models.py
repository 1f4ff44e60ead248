"""The short form of the attack with forged model files: a few of each learner, in this process.

Under ``make test-checked`` compiled code that reads outside an array raises, and this test fails.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter

import numpy as np
import pytest
from attack import forged_models, forgeries
from helpers import forge

CASES = 150


@pytest.mark.parametrize("name", forged_models.NAMES)
def test_forged_files_are_refused_or_harmless(name):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # numbers that no stream would bring overflow, and may
        found = Counter(forged_models.try_case(name, 0, number) for number in range(CASES))
    assert found["refused"] > CASES / 3
    assert found["loaded"] + found["used"] > CASES / 10


@pytest.mark.parametrize("name", forged_models.NAMES)
def test_the_forger_can_forge(name):
    """A file that is put together anew from its parts loads: others are refused for what was changed."""
    for good in forgeries.goods(name):
        model = forgeries.revived(forge.forge(good.header, good.table, good.data))
        assert type(model).__name__ == name
        forged_models.use(model)


@pytest.mark.parametrize("way", forgeries.WAYS, ids=lambda way: way.__name__)
def test_every_way_to_forge_changes_the_file(way):
    rng = random.Random(0)
    good = forgeries.goods("PAClassifier")[0]
    assert len({way(good, rng) for _ in range(20)}) > 5
