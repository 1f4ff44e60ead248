"""The library's contract, for its own learners and for anybody's: see :func:`check_learner`."""

from aggro.testing.contract import ContractError, Report, check_learner, check_step

__all__ = ["ContractError", "Report", "check_learner", "check_step"]
