"""Features in another order, and many ways to spell a row. The rest of the contract is in ``aggro.testing``."""

from __future__ import annotations

import tracemalloc

import numpy as np
from helpers.variants import PLAIN, each

from aggro.testing.check import ANY_ORDER, BOUNDED
from aggro.testing.variants import as_dicts, assert_close, learn_rows, one_by_one, stream


@each(claim=ANY_ORDER)
def test_features_that_begin_in_another_order_give_the_same_scores(variant):
    """To rounding: their numbers differ, and so does the order of the sums."""
    X, y = stream(variant)
    rows = as_dicts(X)
    backwards = [dict(reversed(row.items())) for row in rows]
    plain, other = learn_rows(variant.new(), rows, y), learn_rows(variant.new(), backwards, y)
    assert_close(one_by_one(plain, rows), one_by_one(other, rows))


@each(PLAIN, claim=BOUNDED)
def test_memory_does_not_grow_with_ways_to_spell_a_row(variant):
    _, y = stream(variant, n=1500)
    rng = np.random.default_rng(0)
    names = [f"f{j}" for j in range(12)]
    rows = [dict.fromkeys(rng.permutation(names)[: rng.integers(1, 12)], 1.0) for _ in range(1500)]
    learn_rows(variant.new(), rows, y)  # loads all code that is needed on the way, which is kept in memory too
    model = learn_rows(variant.new(), rows[:750], y[:750])
    tracemalloc.start()
    learn_rows(model, rows[750:], y[750:])
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept < 150_000
