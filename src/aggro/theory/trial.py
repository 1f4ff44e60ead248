"""A learner on a stream, measured: it really learns the rows, and the loss of each is written down before."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggro.engine.rule import SEEN
from aggro.engine.watched_passes import trace
from aggro.learners.base.entered import entered, learn_along
from aggro.learners.base.learner import Learner
from aggro.learners.base.routes import EveryRow
from aggro.theory.problems import Uniclass
from aggro.theory.setting import Multiplicative, Setting, as_matrix, setting_of, vector


@dataclass(frozen=True, eq=False)
class Trial:
    """What a copy of the learner did. Rows of weight 0 are not there."""

    setting: Setting
    losses: np.ndarray
    mistakes: np.ndarray
    weights: np.ndarray | None  # of the rows; None if all are 1
    moves: np.ndarray  # ‖w − w₁‖ after each row; empty if nobody asked


def learn(estimator: Any, X: Any, y: Any, sample_weight: Any = None, moves: bool = False) -> Trial:
    """One pass over the rows in order, by a copy that starts where ``fit`` would start.

    ``moves`` looks at the whole vector after each row, which a single compiled pass does not.
    """
    learner: Learner = copy.deepcopy(estimator)
    given = entered(learner, X, y, sample_weight)
    model, labels, s, n = given.model, given.labels, given.s, given.targets.shape[0]
    begun = model.state.tally.rows[SEEN] > 0
    # Rows of weight 0 are not learned, and no theorem counts them.
    live = np.flatnonzero(s) if s.shape[0] else np.arange(n)
    if live.shape[0] == 0:
        raise ValueError("Every row has weight 0: there is nothing to learn from.")
    setting = setting_of(learner, model.state, model.features.n, as_matrix(given.rows)[live], labels, given.codes[live])
    losses, mistakes, moved = np.zeros(n), np.zeros(n, bool), np.zeros(n if moves else 0)

    # The trace writes losses and mistakes before each row is learned.
    def run(*arguments: Any) -> Any:
        return trace(*arguments, losses, mistakes)

    # Row by row, since the weights must be read after each of them.
    def run_and_look(*arguments: Any) -> Any:
        *before, start, stop, costs, averaged, observer = arguments
        for t in range(start, stop):
            bad = run(*before, t, t + 1, costs, averaged, observer)
            if bad >= 0:
                return bad
            moved[t] = np.linalg.norm(vector(before[0], setting.problem, setting.sign) - setting.start)
        return -1

    learn_along(learner, given, EveryRow(run_and_look if moves else run))
    if isinstance(setting, Multiplicative) and isinstance(setting.problem, Uniclass) and not begun:
        losses[live[0]] = setting.problem.losses(setting.weights())[0]  # a detector itself calls no first row outside
    counted = s[live] if s.shape[0] else None
    return Trial(setting, losses[live], mistakes[live], counted, moved[live] if moves else moved)
