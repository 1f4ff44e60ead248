"""All the checks."""

from aggro.testing import checks_rows, checks_streams
from aggro.testing.check import CHECKS, Check

__all__ = ["CHECKS", "Check", "checks_rows", "checks_streams"]
