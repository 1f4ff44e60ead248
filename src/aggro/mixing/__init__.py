"""Combine models that were trained in parallel from a common start. Open ``mixture`` first, then ``parts``."""

from aggro.mixing.mixture import merge
from aggro.mixing.parts import Mix, Part, Sight, Value, least, mean, most, pooled, total

__all__ = ["Mix", "Part", "Sight", "Value", "least", "mean", "merge", "most", "pooled", "total"]
