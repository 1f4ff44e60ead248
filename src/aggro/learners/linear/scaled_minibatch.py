"""The rule of mini-batches, of scaled rows."""

from __future__ import annotations

from aggro.learners.base.scaled import scaled
from aggro.learners.linear.minibatch import GROUPS

SCALED_GROUPS = scaled(GROUPS, __name__)
ScaledGroups = SCALED_GROUPS.state
