"""The passive-aggressive outlier detector as scikit-learn estimators."""

from __future__ import annotations

from aggro.estimators.shell import DetectorShell
from aggro.learners import uniclass


class PAUniclass(uniclass.PAUniclass, DetectorShell): ...
