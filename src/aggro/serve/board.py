"""How well a model does: every prediction that was given, held against the label that came.

An example counts once, when its label is learned, with the prediction that was given for it: the one that a client got
when it sent the record, or, where record and label came together, the one that the model would have given just before.
The board is a function of the journal alone, so that it is the same after a crash.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

from aggro.serve.answers import BACK, Answer, gain_of_halves, mistakes_in
from aggro.serve.learners import spelled

RECENT_EXAMPLES = 1_000  # examples
POINTS = 256  # of a curve; with twice as many, every other one goes
MISTAKES_KEPT = 30  # that are kept
ALARMS = 100
ANSWERS_KEPT = 2_000
ROWS_LISTED = 200  # characters of a text in a mistake


class Board:
    """Counts of examples, errors, classes; a curve; the last mistakes; alarms."""

    def __init__(self, task: str) -> None:
        self.task = task
        self.rows = 0
        self.judged = 0  # examples for which there was a prediction
        self.errors = 0.0  # mistakes; of numbers, the sum of absolute errors
        self.recent: deque[float] = deque(maxlen=RECENT_EXAMPLES)
        # Running sums beside the windows: a prediction must not cost a pass over a thousand errors.
        self.recent_sum = 0.0
        self.plain: deque[float] = deque(
            maxlen=RECENT_EXAMPLES
        )  # the same, of who answers without looking at the record
        self.plain_sum = 0.0
        self.commonest = ""  # class so far, or
        self.numbers = [0, 0.0]  # so far: how many, and their sum
        self.classes: dict[str, list[int]] = {}  # of each class: examples, and mistakes among them
        self.curve: list[list[float]] = []  # examples judged, error so far, recent error
        self.stride = 1
        self.mistakes: deque[dict[str, Any]] = deque(maxlen=MISTAKES_KEPT)
        self.alarms: deque[dict[str, Any]] = deque(maxlen=ALARMS)
        self.drifts = 0
        self.answered = 0  # labels of examples that the model had asked about
        self.answers: deque[list[Any]] = deque(maxlen=ANSWERS_KEPT)  # the last of them: label, guess, probability
        self.gain: list[list[float]] = []  # labels, estimated error

    # Counting -----------------------------------------------------------------------------------------

    def add(self, record: Any, label: Any, given: Any, id: str, p: float | None = None, guess: Any = None) -> None:
        """One example with its label, and the prediction that was given for it (None if there was none).

        Of an example that the model asked about with probability ``p``, its ``guess`` just before the answer counts:
        the prediction may be older than all labels.
        """
        # Both errors are taken before the example counts, so that the simple answer is progressive too.
        error = self._error(label, given)
        plain = self._error(label, self._plain_answer())
        self.rows += 1
        if self.task == "classification":
            name = spelled(label)
            counts = self.classes.setdefault(name, [0, 0])
            counts[0] += 1
            counts[1] += bool(error)
            # The lead can only pass to the class that has just grown, so no search over all classes is needed.
            if counts[0] > self.classes.get(self.commonest, (0,))[0]:
                self.commonest = name
        elif self.task == "regression":
            self.numbers = [self.numbers[0] + 1, self.numbers[1] + float(label)]
        if p is not None and guess is not None:
            self._add_answer(label, guess, p)
        # Without a prediction there is nothing to judge; the example itself has been counted above.
        if error is None:
            return
        self.judged += 1
        self.errors += error
        self.recent_sum = moved_on(self.recent, self.recent_sum, error)
        if plain is not None:
            self.plain_sum = moved_on(self.plain, self.plain_sum, plain)
        if error and self.task == "classification":
            self.mistakes.append({"id": id, "record": shortened(record), "label": label, "prediction": given})
        # The stride keeps the curve short, whatever the length of the stream.
        if self.judged % self.stride == 0:
            self._add_point()

    def _error(self, label: Any, given: Any) -> float | None:
        # There is no label: a row called an outlier (-1) counts as an error, so the share is that of alarms.
        if self.task == "outlier":
            return None if given is None else float(given == -1)
        if given is None:
            return None
        if self.task == "regression":
            return abs(float(label) - float(given))
        # Compared as text, since labels may come back from JSON in another type than the learner gives.
        return float(spelled(label) != spelled(given))

    def _plain_answer(self) -> Any:
        """The answer that needs no record: the commonest class so far, or the mean number."""
        if self.task == "regression":
            count, total = self.numbers  # not of the rows: an uploaded model has learned some before
            return total / count if count else None
        return self.commonest or None

    def _add_answer(self, label: Any, guess: Any, p: float) -> None:
        self.answered += 1
        self.answers.append([spelled(label), spelled(guess), p])
        found = self.estimated_error
        # A point at each power of two and at each 25th answer: dense at first, where the error moves fast.
        if found is not None and (self.answered & (self.answered - 1) == 0 or self.answered % 25 == 0):
            self.gain.append([self.answered, found])
            if len(self.gain) > POINTS:
                # Every other point goes, so that the list stays short however many answers come. Their number is odd
                # here, so the first and the newest stay.
                self.gain = self.gain[::2]

    def _add_point(self) -> None:
        self.curve.append([self.judged, self.error or 0.0, self.recent_error or 0.0])
        if len(self.curve) >= 2 * POINTS:
            # Every other point goes and the stride doubles, so that the points stay evenly spaced.
            self.curve = self.curve[1::2]
            self.stride *= 2

    def saw_drifts(self, drifts: int, time: float) -> None:
        """How often the learner has seen its error rise; ``time`` is when the last examples were learned."""
        # The learner counts drifts in all; several within one entry make one alarm.
        if drifts > self.drifts:
            self.alarms.append({"row": self.rows, "time": time, "recent_error": self.recent_error})
        self.drifts = drifts

    # What it says -------------------------------------------------------------------------------------

    @property
    def error(self) -> float | None:
        """The share of mistakes, or the mean absolute error, of all predictions so far."""
        return self.errors / self.judged if self.judged else None

    @property
    def recent_error(self) -> float | None:
        """The share of mistakes, or the mean absolute error, of the last thousand predictions."""
        # Adding and subtracting leaves rounding errors, which can push a sum of zeros below 0.
        return max(0.0, self.recent_sum) / len(self.recent) if self.recent else None

    @property
    def plain_error(self) -> float | None:
        """The recent error of who always says the commonest class, or the mean: a model that is no use has it too."""
        return max(0.0, self.plain_sum) / len(self.plain) if self.plain else None

    @property
    def estimated_error(self) -> float | None:
        """The error on all records, estimated from those that the model asked about."""
        share = mistakes_in(self._answered()).share
        return None if math.isnan(share) else share

    def verdict(self) -> str:
        """Whether more labels would help, from how much the later half of the answers brought."""
        gain = gain_of_halves(self._answered())
        if gain is None:
            count = len(self.answers)
            takes = f"it takes {2 * BACK} answers to examples that the model asked about"
            return f"too early to say: {takes}; {count} are there"
        halves = f"{gain.before:.1%} of the guesses were wrong in the first half of the answers"
        return gain.sentence(f"{halves}, {gain.after:.1%} in the later one")

    def _answered(self) -> list[Answer]:
        return [Answer(*one) for one in self.answers]

    # On disk ------------------------------------------------------------------------------------------

    def as_json(self) -> dict[str, Any]:
        """Everything, for a snapshot."""
        state = dict(self.__dict__)
        for name in ("recent", "plain", "mistakes", "alarms", "answers"):
            state[name] = list(state[name])
        return {name: copied(value) for name, value in state.items()}

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> Board:
        """The board of a snapshot."""
        board = cls(state["task"])
        # Fields of a later version are passed over; fields that a snapshot lacks keep their defaults.
        for name, value in state.items():
            if isinstance(board.__dict__.get(name), deque):
                board.__dict__[name].extend(value)
            elif name in board.__dict__:
                board.__dict__[name] = copied(value)
        return board

    def copy(self) -> Board:
        """Another board of the same state."""
        return Board.from_json(self.as_json())


def moved_on(window: deque[float], total: float, value: float) -> float:
    """The sum over a window when a value comes in, and the oldest goes out if it was full."""
    if len(window) == window.maxlen:
        total -= window[0]
    window.append(value)
    return total + value


def copied(value: Any) -> Any:
    """Lists and dicts anew, as far as a board nests them."""
    if isinstance(value, list):
        return [copied(one) for one in value]
    return {name: copied(one) for name, one in value.items()} if isinstance(value, dict) else value


def shortened(record: Any) -> Any:
    """A record for people: long texts and many fields cut."""
    if isinstance(record, str):
        return record if len(record) <= ROWS_LISTED else record[:ROWS_LISTED] + "…"
    if isinstance(record, list):
        return [shortened(value) for value in record[:20]]
    if isinstance(record, dict):
        return {name: shortened(value) for name, value in [*record.items()][:20]}
    return record
