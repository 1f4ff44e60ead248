"""A change of the code changes no bit of what is learned from a stream, unless it is meant to."""

from __future__ import annotations

import json

import numpy as np
import pytest
from bits.streams import EXPECTED, found, machine
from helpers.variants import ALL, each

RECORDED = json.loads(EXPECTED.read_text())


@each(ALL)
def test_what_is_learned_is_as_recorded(variant):
    if str(variant) not in RECORDED:
        pytest.skip("not recorded yet: python tests/bits/streams.py does it")
    told, expected = found(variant), RECORDED[str(variant)]
    assert list(told) == list(expected)
    for title, (digest, *scores) in told.items():
        if machine() == RECORDED["machine"]:
            assert digest == expected[title][0], title
        np.testing.assert_allclose(scores, expected[title][1:], rtol=1e-9, atol=1e-12, err_msg=title)


def test_what_is_recorded_is_tested():
    assert set(RECORDED) <= {"machine", *(str(variant) for variant in ALL)}
    assert all(len(titles) >= 4 for name, titles in RECORDED.items() if name != "machine")
    if machine() != RECORDED["machine"]:
        pytest.skip("this machine rounds otherwise than the one that recorded: scores were compared, not bits")
