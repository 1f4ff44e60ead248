"""The facts about a learner that the contract of ``aggro.testing`` needs, beyond the constraints on its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

Setting = str | tuple[str, Any]  # a parameter with any value but its default, or with this value


class Contract(NamedTuple):
    """Claims that do not hold for a learner, each with its reason, and settings to try.

    A class has what is special about itself as its ``contract``; what its bases say holds too. Claims are those of
    ``aggro.testing.check``, the names of its checks and those of scikit-learn's. A reason in place of settings is for
    all of them.
    """

    exempt: Mapping[str, str | Mapping[Setting, str]] = {}
    plain: Mapping[
        str, Any
    ] = {}  # the algorithm itself: settings that those below are tried with; the rest as it comes
    tried: tuple[Mapping[str, Any], ...] = ()  # beside all words, crossed, and each flag, flipped
    apart: frozenset[str] = frozenset()  # parameters whose words are in ``tried`` alone, and not crossed


# Of the steps that several families have.
NO_C: dict[Setting, str] = {("step", "pa"): "pa has no C for a weight to scale"}
LEARNS_FROM_ALL: dict[Setting, str] = {("step", "ls"): "least squares learns from every row, there is no hinge"}
