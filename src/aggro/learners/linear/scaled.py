"""The rules of linear learners, of scaled rows."""

from __future__ import annotations

from typing import Any

from aggro.engine.rule import Rule
from aggro.learners.linear.bank import BANK, GRID, Bank, Grid
from aggro.learners.linear.vector import LINE, Line
from aggro.learners.shared.scaled import scaled

SCALED_LINE, SCALED_GRID, SCALED_BANK = (scaled(rule, __name__) for rule in (LINE, GRID, BANK))
ScaledLine, ScaledGrid, ScaledBank = SCALED_LINE.state, SCALED_GRID.state, SCALED_BANK.state

LINES: tuple[Any, ...] = (Line, ScaledLine)
GRIDS: tuple[Any, ...] = (Grid, ScaledGrid)
BANKS: tuple[Any, ...] = (Bank, ScaledBank)


def scaled_rule(rule: Rule) -> Rule:
    """The same rule, of scaled rows."""
    known = {id(LINE): SCALED_LINE, id(GRID): SCALED_GRID, id(BANK): SCALED_BANK}
    if id(rule) in known:
        return known[id(rule)]
    from aggro.learners.linear.scaled_minibatch import SCALED_GROUPS  # with the solver of mini-batches

    return SCALED_GROUPS


def plain_rule(rule: Rule) -> Rule:
    """The same rule, of rows as they come."""
    for plain, of_scaled in ((LINE, SCALED_LINE), (GRID, SCALED_GRID), (BANK, SCALED_BANK)):
        if rule is of_scaled:
            return plain
    return rule
