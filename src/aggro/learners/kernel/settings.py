"""What the parameters of kernel learners may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aggro.learners.kernel.budget import Policy
from aggro.learners.shared.learner import COMMON, NONE
from aggro.learners.shared.params import Choice, Constraint, Either, Flag, Number

__all__ = ["KERNEL", "POSITIVE", "KernelChoice", "check_batch", "check_budget"]

MOST_PROJECTED = 2**14
MAX_BATCH = 1024  # a group of B rows costs B³
WORDS = ("linear", "poly", "rbf", "sigmoid", "cosine", "precomputed")


@dataclass(frozen=True)
class KernelChoice:
    """A kernel by its name, or a function."""

    words: tuple[str, ...] = WORDS

    def accepts(self, value: Any) -> bool:
        return value in self.words if isinstance(value, str) else callable(value)

    def __str__(self) -> str:
        return f"{Choice(self.words)} or a function of two matrices"


POSITIVE = Number(0.0, open_low=True)
KERNEL: dict[str, Constraint] = {
    "C": POSITIVE,
    "kernel": KernelChoice(),
    "gamma": Either((Choice(("auto",)), POSITIVE)),
    "degree": Number(1, 100, integer=True),
    "coef0": Number(),
    "step": Choice(("pa", "pa1", "pa2", "ls")),
    "batch_size": Number(1, MAX_BATCH, integer=True),
    "window": Choice(("disjoint", "sliding")),
    "budget": Either((Number(1, 2**31 - 1, integer=True), NONE)),
    "budget_policy": Choice(tuple(policy.name.lower() for policy in Policy)),
    **COMMON,
    "fit_intercept": Either((Flag(), Choice(("auto",)))),
}


def check_budget(owner: str, kernel: Any, budget: int, policy: str, average: bool) -> None:
    """Refuse settings that do not go with a budget."""
    if average:
        raise ValueError(
            f"{owner} cannot have both average=True and a budget: the mean of all iterates needs the support vectors "
            "that the budget has let go. Set one of them only."
        )
    if policy == "merge" and (kernel == "precomputed" or callable(kernel)):
        raise ValueError(
            f"budget_policy='merge' of {owner} makes new rows between two, of which compiled code needs the kernel: it "
            f"must be one of {', '.join(map(repr, WORDS[:-1]))}. Got {kernel!r}. Choose another policy."
        )
    if policy == "project" and kernel == "sigmoid":
        raise ValueError(
            f"budget_policy='project' of {owner} needs a kernel that is an inner product, and 'sigmoid' is none. "
            "Choose another policy."
        )
    if policy == "project" and budget > MOST_PROJECTED:
        raise ValueError(
            f"budget_policy='project' of {owner} keeps a matrix of budget × budget numbers, and takes at most "
            f"budget={MOST_PROJECTED}. Got {budget}. Choose another policy, such as 'merge'."
        )


def check_batch(owner: str, kernel: Any, step: str, size: int, budget: int | None) -> None:
    """Refuse settings that do not go with groups of rows."""
    if step == "pa":
        raise ValueError(
            f"step='pa' of {owner} cannot learn batch_size={size} rows at once: rows may contradict each other, and "
            "then nothing is right about all of them. Use step='pa1' or 'pa2', with a large C if need be."
        )
    if budget is not None:
        raise ValueError(
            f"{owner} cannot have both batch_size={size} and a budget: the rows of a group are kept until it is "
            "learned. Set one of them only."
        )
    if kernel == "sigmoid":
        raise ValueError(
            f"batch_size={size} of {owner} needs a kernel that is an inner product, and 'sigmoid' is none. Choose "
            "another kernel."
        )
