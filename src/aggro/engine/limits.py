"""How large the numbers of a row may be, and how small: the one policy of all learners, and why.

A row with a number beyond these limits is refused where it comes in, like a NaN (``learners.base.inputs`` and
``learners.base.one_row`` for targets and weights; the pass itself for features, while it reads them). So no learner
needs a second way for rows whose squares, products or sums are not floats: with features up to 1e50, a squared norm is
below 1e100 for each feature, a step divided by one is at most 1e100 times a target, and a sum of as many rows as ever
come (1e18) stays below the largest float, 1.8e308.

All of single precision is inside (up to 3.4e38). What is outside is nearly always a mark for a missing value (1e300,
the largest float) or a mistake of units.
"""

from __future__ import annotations

import numpy as np

# At the doors -----------------------------------------------------------------------------------------------------

LARGEST_VALUE = 1e50
"""The largest absolute value of a feature, and of a number to predict; what is larger is refused."""

HEAVIEST = 1e9
"""The largest weight of a row, and of a class. Beyond, all other rows would be lost in rounding."""

LIGHTEST = 1e-50
"""The smallest weight of a row that is learned. A lighter row counts as one of weight 0: it could not move a weight."""

# Inside -----------------------------------------------------------------------------------------------------------

LARGEST_SQUARE = LARGEST_VALUE * LARGEST_VALUE
"""A squared norm below this is of a row whose values are all within the limit: the quick look."""

TINY_SCALE = 1e-100
"""The smallest squared norm of a row that is learned: values below 1e-50 count as zeros, where all of them are. A step
is a loss divided by the squared norm, so that it is a float."""

HUGE = 1e300
"""Scores and sums of losses are cut here, and a score beyond means that the model's own numbers are damaged."""

LONGEST_ROW_NORM = 1e250
"""A step from here on is not made: the weights that it would leave have no finite scores. Rows within the limits ask
for such a step only where C is as large, or where weights fade within a few rows."""

FAR_VALUE = 1e140
"""Weights that clip, and what files may hold as means: squares of such numbers can be summed over all rows."""

MOST_FLOAT = float(np.finfo(np.float64).max)
"""The largest float."""
