"""The rule of mini-batches, of scaled rows."""

from __future__ import annotations

from aggro.learners.linear.minibatch import GROUPS
from aggro.learners.shared.scaled import scaled

SCALED_GROUPS = scaled(GROUPS, __name__)
ScaledGroups = SCALED_GROUPS.state
