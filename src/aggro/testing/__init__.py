"""Check that a learner, ours or yours, keeps the contract of the library: see :func:`check_learner`."""

from aggro.testing.contract import ContractError, Report, check_learner, check_step

__all__ = ["ContractError", "Report", "check_learner", "check_step"]
