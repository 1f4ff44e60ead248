"""Where rows of CSV end."""

from __future__ import annotations

import random

import numpy as np

from aggro.streams.parse.csv_rows import NO_GAPS, find_ends, last_end, last_row_end


def test_the_last_row_is_found_by_its_quotes_alone():
    rng = random.Random(1)
    for _ in range(5000):
        letters = "".join(rng.choice('ab,\n""' if rng.random() < 0.5 else 'a,\n"') for _ in range(rng.randint(0, 60)))
        text = np.frombuffer(letters.encode(), np.uint8)
        stop = rng.randint(0, len(letters))
        wanted = int(find_ends(text, stop, ord(","), True, NO_GAPS, NO_GAPS)[1])
        assert last_row_end(text, stop, ",") == wanted, letters
        assert int(last_end(text, stop, ord(","), np.empty((2, 2), np.int64))) in (wanted, -1), letters
