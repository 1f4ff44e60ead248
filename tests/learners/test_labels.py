"""Labels of any kind get the numbers that a plain dict would give them, however they come."""

from __future__ import annotations

import numpy as np
import pytest

from aggro.learners.model.labels import LONGEST_LABEL, SEARCHED, Labels

rng = np.random.default_rng(0)
WORDS = ["", "a", "ab", "b", "é", "\N{GRINNING FACE}", "a" * LONGEST_LABEL, "a" * (LONGEST_LABEL - 1) + "b"]


def numbered(known: dict, labels: list, weights: np.ndarray) -> tuple[dict, list[float], list[int]]:
    """The literal slow twin."""
    codes, numbers, firsts = dict(known), [], [-1] * len(known)
    for i, label in enumerate(labels):
        if len(weights) and weights[i] == 0.0:
            numbers.append(0.0)
            continue
        if label not in codes:
            codes[label] = len(codes)
            firsts.append(i)
        numbers.append(float(codes[label]))
    return codes, numbers, firsts


def kinds(names: list) -> list[np.ndarray]:
    if isinstance(names[0], str):
        return [np.array(names), np.array(names, object), np.array(names, ">U200")]
    return [np.array(names), np.array(names, object), np.array(names, float)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "names",
    [
        WORDS,
        ["a" * (LONGEST_LABEL + 1), "b"],
        [f"class {k}" for k in range(SEARCHED + 9)],
        [3, -1, 7],
        list(range(100)),
    ],
)
def test_numbers_by_appearance(names, weighted):
    for labels in kinds(names):
        after, twin = Labels(), {}
        for n in (0, 1, 2, 5, 300, 40):  # a stream in pieces: some classes are known by then
            few = rng.integers(len(names), size=1 + n // 10)
            y = labels[few[rng.integers(few.size, size=n)]]
            weights = rng.integers(0, 2, n).astype(float) if weighted else np.empty(0)
            after, codes, firsts = after.encode(y, weights)
            twin, numbers, begun = numbered(twin, y.tolist(), weights)
            assert (after.codes, codes.tolist(), firsts.tolist()) == (twin, numbers, begun)


def test_a_narrow_array_after_long_labels():
    after, _, _ = Labels().encode(np.array(["versicolor", "no"]), np.empty(0))
    after, codes, firsts = after.encode(np.array(["a", "no", "no"]), np.empty(0))
    assert (list(after.codes), codes.tolist(), firsts.tolist()) == (["versicolor", "no", "a"], [2, 1, 1], [-1, -1, 0])


def test_a_nul_at_the_end_is_part_of_a_label():
    after, codes, _ = Labels({"a\0": 0}).encode(np.array(["a", "a"]), np.empty(0))
    assert (list(after.codes), codes.tolist()) == (["a\0", "a"], [1, 1])


@pytest.mark.parametrize("odd", [None, (1, 2), b"bytes", 1j])
def test_what_is_no_label_is_refused(odd):
    labels = np.empty(2, object)
    labels[:] = ["a", odd]
    with pytest.raises(ValueError, match=f"Unknown label type: {type(odd).__name__}"):
        Labels().encode(labels, np.empty(0))
