"""Every learner of the registry, with all its settings, keeps to the contract that ``aggro.testing`` gives to all."""

from __future__ import annotations

import pytest
from helpers.variants import ALL, marks

from aggro.learners.registry import LEARNERS
from aggro.testing.checks import CHECKS


def pairs():
    for variant in ALL:
        for check in CHECKS:
            if check.needs(variant):
                yield pytest.param(
                    variant, check, marks=marks(variant, check.why_not(variant)), id=f"{variant}-{check}"
                )


@pytest.mark.parametrize(("variant", "check"), list(pairs()))
def test_contract(variant, check):
    check.run(variant)


def test_every_registered_learner_is_here():
    assert {variant.entry.name for variant in ALL} == {entry.name for entry in LEARNERS}
