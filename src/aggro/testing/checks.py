"""All the checks."""

from aggro.testing import lessons, streams
from aggro.testing.claims import CHECKS, Check

__all__ = ["CHECKS", "Check", "lessons", "streams"]
