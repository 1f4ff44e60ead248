"""Active learning with the defaults of its paper."""

from __future__ import annotations

from typing import Any

from aggro.estimators import active
from aggro.estimators.shell import store
from aggro.published.linear import PAClassifier


class ActiveLearner(active.ActiveLearner):
    """Active passive-aggressive learning as published: a label is asked for with the probability δ/(δ + |f|).

    Each answer is learned once. With ``estimator=None`` the learner inside is ``aggro.published.PAClassifier()``.

    The parameters are those of ``aggro.ActiveLearner``, whose documentation explains them.

    References
    ----------
    K. I. Ezukwoke, S. J. Zareian. Online learning and active learning: a comparative study of passive-aggressive
    algorithm with support vector machine. 2020 (algorithm 2).
    """

    def __init__(
        self,
        estimator: Any = None,
        delta: float | None = 1.0,
        *,
        strategy: str = "margin",
        budget: int | None = None,
        target_rate: float | None = None,
        replay: int = 0,
        waiting: int = 1000,
        random_state: Any = None,
    ) -> None:
        store(self, locals())

    def _default_estimator(self, seed: int | None) -> Any:
        return PAClassifier(random_state=seed)
