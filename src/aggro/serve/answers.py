"""What answers to a model's questions say: how good it is by now, and whether more labels still help.

The page and ``aggro label`` share it. Each answer counts 1/p times, p being the probability with which the example was
asked about: so answers speak for all examples, and not only for those that were hard enough to be asked about. The
error is that of the guesses made before each answer was learned.

A model that guesses the commonest class everywhere may not move for a long time, and learn then. So nothing is called
settled with few answers, nor while the model misses most of some class.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

FEW_ANSWERS, SETTLED_ANSWERS = (
    10,
    100,
)  # answers, below which nothing is said of the error; and nothing is called settled
BACK = 20  # answers to look back, at least
WORTH = 0.1  # of the error, that twice the answers should take away to be worth it
LITTLE = 0.02  # of the error of who always says the commonest class: little enough
MISSED_AFTER = 3  # answers of a class, before it is called missed


class Answered(Protocol):
    """An example that a person has labelled."""

    @property
    def label(self) -> Any:
        """The person's answer."""

    @property
    def guess(self) -> Any:
        """The model's, before."""

    @property
    def p(self) -> float:
        """The probability with which it was asked about."""


class Answer(NamedTuple):
    """One answer, and nothing else."""

    label: Any
    guess: Any
    p: float


class Mistakes(NamedTuple):
    """The estimated share of wrong guesses among all examples, its standard error, and the share in each class."""

    share: float = math.nan
    error: float = math.nan
    missed: dict[Any, float] = {}  # noqa: RUF012


def mistakes_in(answered: Sequence[Answered]) -> Mistakes:
    """What the answers say of the guesses before them; nothing if there are few."""
    if len(answered) < FEW_ANSWERS:
        # The standard error is 0 where all guesses were right; no sample says more than 1/n.
        return Mistakes()
    share, error = error_in(answered)
    return Mistakes(share, max(error, 1.0 / len(answered)), missed_in(answered))


def error_in(answered: Sequence[Answered]) -> tuple[float, float]:
    """The share of wrong guesses, and its standard error."""
    # Weights 1/p make this the Hájek estimate for all examples: Horvitz-Thompson, divided by the sum of weights.
    return weighted([float(one.guess != one.label) for one in answered], [1.0 / one.p for one in answered])


def missed_in(answered: Sequence[Answered]) -> dict[Any, float]:
    """The share of each class that is guessed wrongly, among the later half of the answers."""
    total: dict[Any, float] = defaultdict(float)
    wrong: dict[Any, float] = defaultdict(float)
    count: dict[Any, int] = defaultdict(int)
    # The later half alone: guesses made before the class was learned say nothing about the model now.
    for one in answered[len(answered) // 2 :]:
        count[one.label] += 1
        total[one.label] += 1.0 / one.p
        wrong[one.label] += (one.guess != one.label) / one.p
    return {label: wrong[label] / total[label] for label in total if count[label] >= MISSED_AFTER}


def mostly_missed(missed: dict[Any, float]) -> Any:
    """The class that is guessed wrongly most often, if it mostly is; else None."""
    worst = max(missed, key=lambda label: missed[label], default=None)
    return worst if worst is not None and missed[worst] >= 0.5 else None


def trivial_error(answered: Sequence[Answered]) -> float:
    """The error of who always says the commonest class."""
    shares: dict[Any, float] = defaultdict(float)
    for one in answered:
        shares[one.label] += 1.0 / one.p
    return 1.0 - max(shares.values()) / sum(shares.values())


def weighted(values: Sequence[float], weights: Sequence[float]) -> tuple[float, float]:
    """A weighted mean and its standard error."""
    n, total = len(values), sum(weights)
    mean = sum(w * v for w, v in zip(weights, values, strict=True)) / total
    # The linearised variance of a ratio of weighted sums, with n/(n − 1) for the mean that was fitted.
    squares = sum((w * (v - mean)) ** 2 for w, v in zip(weights, values, strict=True))
    return mean, math.sqrt(squares * n / max(n - 1, 1)) / total


class Gain(NamedTuple):
    """The error before the last ``answers``, and with them."""

    answers: int
    before: float
    after: float
    error: float  # standard error of the difference
    trivial: float  # the error of who always says the commonest class
    settled: bool  # there are answers enough to say that no more are needed
    missed: Any = None  # a class most of which is guessed wrongly

    @property
    def verdict(self) -> str:
        """Whether more labels help."""
        worth, gained = WORTH * self.before, self.before - self.after
        # A low overall error can hide a rare class that is never guessed, so this comes first.
        if self.missed is not None:
            return "yes"
        # "hardly" if even an optimistic gain, one standard error above, is not worth it.
        if self.settled and (gained + self.error <= worth or self.after <= LITTLE * self.trivial):
            return "hardly"
        # "yes" only if the gain is worth it one standard error below as well; in between it may be chance.
        return "yes" if gained - self.error > worth else "perhaps"

    def sentence(self, told: str = "") -> str:
        """The verdict in words: whether more labels help, with the errors that it follows from."""
        if self.missed is not None:
            return f"yes: most of {self.missed} is still missed"
        told = told or (
            f"the error is {self.after:.1%}; without the last {self.answers:,} answers it would be {self.before:.1%}"
        )
        return f"{self.verdict}: {told}" + (" (may be chance)" if self.verdict == "perhaps" else "")


def gain_of_halves(answered: Sequence[Answered]) -> Gain | None:
    """What the later half of the answers has done, as far as guesses tell; None if nothing can be said."""
    half = len(answered) // 2
    if half < BACK:
        return None
    before, error_before = error_in(answered[:half])
    after, error_after = error_in(answered[half:])
    # The halves share no answers, so the variances of the two errors add.
    return Gain(
        len(answered) - half,
        before,
        after,
        math.hypot(error_before, error_after),
        trivial_error(answered[half:]),
        len(answered) >= SETTLED_ANSWERS,
        mostly_missed(missed_in(answered)),
    )
