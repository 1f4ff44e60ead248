"""The rules of linear learners, of mapped rows."""

from __future__ import annotations

from aggro.learners.base.mapped import mapped
from aggro.learners.linear.bank import BANK, GRID
from aggro.learners.linear.vector import LINE

MAPPED_LINE, MAPPED_GRID, MAPPED_BANK = (mapped(rule, __name__) for rule in (LINE, GRID, BANK))
MappedLine, MappedGrid, MappedBank = MAPPED_LINE.state, MAPPED_GRID.state, MAPPED_BANK.state
