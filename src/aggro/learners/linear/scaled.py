"""The rules of linear learners, of scaled rows, and which rules are of the same kind."""

from __future__ import annotations

from typing import Any

from aggro.engine.rule import Rule
from aggro.learners.base.scaled import scaled
from aggro.learners.linear.bank import BANK, GRID, Bank, Grid
from aggro.learners.linear.mapped import MAPPED_BANK, MAPPED_GRID, MAPPED_LINE, MappedBank, MappedGrid, MappedLine
from aggro.learners.linear.vector import LINE, Line

SCALED_LINE, SCALED_GRID, SCALED_BANK = (scaled(rule, __name__) for rule in (LINE, GRID, BANK))
ScaledLine, ScaledGrid, ScaledBank = SCALED_LINE.state, SCALED_GRID.state, SCALED_BANK.state

LINE_STATES: tuple[Any, ...] = (Line, ScaledLine, MappedLine)
GRIDS: tuple[Any, ...] = (Grid, ScaledGrid, MappedGrid)
BANKS: tuple[Any, ...] = (Bank, ScaledBank, MappedBank)
SCALED_KINDS = (
    (LINE, SCALED_LINE, MAPPED_LINE),
    (GRID, SCALED_GRID, MAPPED_GRID),
    (BANK, SCALED_BANK, MAPPED_BANK),
)


def scaled_rule(rule: Rule) -> Rule:
    """The version of a plain rule that learns from scaled rows."""
    for plain, of_scaled, _ in SCALED_KINDS:
        if rule is plain:
            return of_scaled
    from aggro.learners.linear.scaled_minibatch import SCALED_GROUPS  # with the solver of mini-batches

    return SCALED_GROUPS


def mapped_rule(rule: Rule) -> Rule:
    """The version of a plain rule that learns from mapped rows."""
    return next(of_mapped for plain, _, of_mapped in SCALED_KINDS if rule is plain)


def plain_rule(rule: Rule) -> Rule:
    """The plain rule behind a scaled or mapped version; any other rule is returned unchanged."""
    return next((plain for plain, *others in SCALED_KINDS if any(rule is other for other in others)), rule)
