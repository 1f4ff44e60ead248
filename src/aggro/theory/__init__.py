"""Compare the loss bounds proved for a learner with its losses on a stream."""

from aggro.theory.bounds import (
    hinge_bound,
    mistake_bound,
    multiplicative_bound,
    norm_bound,
    realizable_bound,
    squared_hinge_bound,
    unrealizable_bound,
)
from aggro.theory.result import Bound, Comparator

__all__ = [
    "Bound",
    "Comparator",
    "hinge_bound",
    "mistake_bound",
    "multiplicative_bound",
    "norm_bound",
    "realizable_bound",
    "squared_hinge_bound",
    "unrealizable_bound",
]
