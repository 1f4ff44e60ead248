"""Learn models from raw records: any learner of this library behind an encoder that learns in the same pass.

``learner`` is the class users type and the file to open first; how cells become numbers is in ``aggro.encoding``.
"""

from aggro.learners.records.learner import RecordLearner, of_scaled_numbers

__all__ = ["RecordLearner", "of_scaled_numbers"]
