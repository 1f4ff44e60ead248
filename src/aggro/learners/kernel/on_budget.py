"""What kernel learners with a method and a budget of their own share: see ``learners.kernel.methods``.

They are classifiers whose support set has at most ``budget`` rows. Their steps, and what they do when the set is full,
are those of their papers; kernels, γ, scaled rows, averages, several classes and the rest are those of the family.
"""

from __future__ import annotations

from typing import ClassVar

from aggro.learners.base.contract import Contract
from aggro.learners.base.params import POSITIVE, Choice, Constraint, Either, Number
from aggro.learners.base.tasks import CALIBRATION, CLASS_WEIGHT
from aggro.learners.kernel.estimators import KernelClassifier
from aggro.learners.kernel.rule import KernelParams
from aggro.learners.kernel.settings import KERNEL_NAMES, MOST_PROJECTED, PREDICTION_PARAMETERS
from aggro.learners.kernel.support_set import Support, enlarged

NOT_PARAMETERS = ("C", "step", "batch_size", "window", "budget_policy")
ON_BUDGET: dict[str, Constraint] = {
    **{name: constraint for name, constraint in PREDICTION_PARAMETERS.items() if name not in NOT_PARAMETERS},
    "budget": Number(1, 2**31 - 1, integer=True),
    "class_weight": CLASS_WEIGHT,
    "calibration": CALIBRATION,
}
FEW_VECTORS = (
    "nine support vectors that give way, whatever they are worth, are too few to be 83 % right about three classes"
)
ONE_GAMMA: Constraint = Either((Choice(("auto",)), POSITIVE))


class BudgetedLearner(KernelClassifier):
    """A kernel classifier with a budget, and a method of its own."""

    _own_kernel: ClassVar[bool] = True  # whether kernel values may come from outside compiled code
    _constraints: ClassVar[dict[str, Constraint]] = ON_BUDGET
    contract = Contract(plain={"budget": 9})
    margin = 1.0
    C: float = 1.0
    step = "pa1"
    batch_size = 1
    window = "disjoint"
    budget_policy = "smallest"

    def _with_room_for(self, state: Support, params: KernelParams, n: int, entries: int) -> Support:
        """The new row may itself be one of two that are merged."""
        return enlarged(state, params, n, 2 * (entries + int(state.spans[:, 1].max(initial=0))) if n else 0)

    def _check_budget(self, owner: str, budget: int) -> None:
        """Refuse settings that do not go with what is done in a full set."""
        # Compiled code computes kernel values between support vectors here, which no given matrix has.
        if self._is_given() and (self.budget_policy == "merge" or not self._own_kernel):
            raise ValueError(
                f"{owner} needs the kernel of its support vectors in compiled code: one of "
                f"{', '.join(map(repr, KERNEL_NAMES))}. Got {self.kernel!r}."
            )
        # A projection minimises a norm, and only an inner product has one.
        if self.budget_policy == "project" and self.kernel == "sigmoid":
            raise ValueError(
                f"{owner} projects rows onto its support vectors, which needs a kernel that is an inner product, and "
                "'sigmoid' is none. Choose another kernel."
            )
        # Memory and time of the inverse grow with the square of the budget.
        if self.budget_policy == "project" and budget > MOST_PROJECTED:
            raise ValueError(
                f"{owner} projects rows onto its support vectors and keeps a matrix of budget × budget numbers for it: "
                f"it takes at most budget={MOST_PROJECTED}. Got {budget}."
            )
