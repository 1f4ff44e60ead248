"""The common start beside a state that has learned since, and means of iterates since then.

A state that scales rows has read its start in units that changed on the way, and so what it has learned since is what
it has now less the start, both in its own units of now. Were the start taken in the units that it had, and subtracted
as often as there are partitions, little changes of units would become large ones.

So with R rows in all, R₀ at the start, and the mean of the iterates w̄, the mean since the start is

    (R w̄ − R₀ w̄₀)/(R − R₀),

which is pooled with the weight R − R₀, and into which w̄₀ goes again in the units of the mixture.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.engine.rule import RULES, SEEN


def start_of(state: Any, params: Any, base: Any, width: int) -> Any:
    """The common start with room for what the state has; nothing learned, where there is none."""
    rule, models = RULES[type(state)], state.tally.classes.shape[0]
    return rule.init(params, width, models) if base is None else rule.grow(base, params, width, models)


def rows_of(state: Any) -> float:
    """Rows seen."""
    return float(state.tally.rows[SEEN])


def since(now: np.ndarray, rows: float, before: np.ndarray, start: float) -> np.ndarray:
    """The mean of the iterates since the start, from that of all."""
    # (R w̄ − R₀ w̄₀)/(R − R₀); without new rows the numerator is 0, and the divisor 1 avoids 0/0.
    found: np.ndarray = (rows * now - start * before) / max(rows - start, 1.0)
    return found


def joined(later: np.ndarray, rows: float, before: np.ndarray, start: float) -> np.ndarray:
    """And back."""
    # (R − R₀)·w̄_later + R₀ w̄₀, over R: the same identity solved for w̄.
    found: np.ndarray = ((rows - start) * later + start * before) / max(rows, 1.0)
    return found
