"""The learner of raw records as a scikit-learn estimator."""

from __future__ import annotations

from aggro.estimators.shell import RecordShell
from aggro.learners import records


class RecordLearner(records.RecordLearner, RecordShell): ...
