"""Every learner of the registry, with all its settings, keeps to the contract that ``aggro.testing`` gives to all."""

from __future__ import annotations

import pytest
from helpers.variants import ALL, marks

from aggro.learners.registry import LEARNERS
from aggro.testing.contract import CONTRACT_CHECKS, unknown_claims
from aggro.testing.variants import contracts


def pairs():
    for variant in ALL:
        for check in CONTRACT_CHECKS:
            if check.needs(variant):
                yield pytest.param(
                    variant, check, marks=marks(variant, check.why_not(variant)), id=f"{variant}-{check}"
                )


@pytest.mark.parametrize(("variant", "check"), list(pairs()))
def test_contract(variant, check):
    check.run(variant)


@pytest.mark.parametrize("entry", LEARNERS, ids=lambda entry: entry.name)
def test_what_a_learner_says_of_itself_is_about_something(entry):
    assert not unknown_claims(entry)
    listed = [settings for contract in contracts(entry) for settings in contract.tried]
    unheard = {name for contract in contracts(entry) for name in contract.apart} - {n for s in listed for n in s}
    assert not unheard, f"the words of {unheard} are neither crossed nor tried"


def test_every_registered_learner_is_here():
    assert {variant.entry.name for variant in ALL} == {entry.name for entry in LEARNERS}
