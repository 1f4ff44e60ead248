"""Is the label a class or a number? Decided in this one place, by a stated rule, and said with its reason.

The rule, for the cells of a label that are not missing:

1. words, truth values and dates are **classes**;
2. numbers with fractions, if there are more than two different ones, are **numbers**;
3. at most twenty different whole numbers are **classes**;
4. more whole numbers are **classes** if they count from 0 or 1 without gaps, come about equally often, and ten times
   each on average, as codes of classes do; else they are **numbers**, as prices, counts and years are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from aggro.streams.tables.written_numbers import as_number

CLASSIFICATION, REGRESSION = "classification", "regression"
TASKS = (CLASSIFICATION, REGRESSION)
DEFAULT_LABELS = ("label", "target", "y", "class")  # names of columns
FEW_NUMBERS = 20  # different whole numbers that are classes in any case
ROWS_A_CLASS = 10  # of codes, on average
LEVEL_RATIO = 4.0  # so many times as often as the rarest tenth comes the commonest code, at most
MOST_CLASSES = 100  # of a column of numbers that nobody called a label
ENOUGH_LABELS = 20  # cells, to say anything by how many are different
FILLED_CODES = 0.8  # of the numbers up to the highest code there are at least so many
MOST_LABELS = 0.95  # of the cells


class Task(NamedTuple):
    """What there is to predict, and why."""

    name: str  # "classification" or "regression"
    why: str
    doubtful: bool = False  # whether a person may see it otherwise

    @property
    def labels(self) -> str:
        """What the labels are: "classes" or "numbers"."""
        return "classes" if self.name == CLASSIFICATION else "numbers"

    @property
    def other(self) -> str:
        """The task that it is not."""
        return REGRESSION if self.name == CLASSIFICATION else CLASSIFICATION

    def __str__(self) -> str:
        more = f"; --task {self.other} if that is wrong" if self.doubtful else ""
        return f"{self.name} ({self.why}{more})"


def task_of_labels(labels: Sequence[Any], pattern: str = "", codes: bool = False) -> Task:
    """The task that these labels make.

    None of them is missing, and ``pattern`` is how they write numbers. ``codes`` says that classes have numbers in this
    format, as in svmlight files: then whole numbers without many gaps are classes, however often each comes.
    """
    if not len(labels):
        return Task(CLASSIFICATION, "no label was seen")
    # True and false are integers to Python, but they are names of classes.
    numbers = [
        number for label in labels if not isinstance(label, bool) and (number := as_number(label, pattern)) is not None
    ]
    distinct = len({str(label).strip() for label in labels})
    # Words, or too many of them among the numbers.
    if len(numbers) < MOST_LABELS * len(labels):
        return Task(CLASSIFICATION, f"{distinct:,} different words" if distinct > 1 else "words")
    counts = Counter(numbers)
    n, low, high = len(counts), min(numbers), max(numbers)
    span = f"from {low:g} to {high:g}"
    whole = all(number.is_integer() for number in counts)
    # Fractions: a measurement, unless there are just two values, which code two classes.
    if not whole:
        if n <= 2 and len(numbers) >= ENOUGH_LABELS:
            return Task(CLASSIFICATION, "two different numbers")
        return Task(REGRESSION, f"{n:,} different numbers {span}", n <= FEW_NUMBERS)
    if n <= FEW_NUMBERS:
        # Hardly any number comes twice: a quantity, even if there are few rows.
        if len(numbers) >= ENOUGH_LABELS and n > len(numbers) / 2:
            return Task(REGRESSION, f"{n:,} different numbers in {len(numbers):,} rows", True)
        return Task(CLASSIFICATION, f"{n:,} different whole number{'s' * (n != 1)} {span}", n > 2)
    # The format writes classes as numbers, so whole numbers without many gaps are classes.
    if codes and low in (0, 1) and n > FILLED_CODES * high:
        return Task(CLASSIFICATION, f"{n:,} different whole numbers {span}", True)
    # Classes that come about equally often have no long tail; prices and counts do.
    common = sorted(counts.values())
    level = common[-1] <= LEVEL_RATIO * common[len(common) // 10]
    if low in (0, 1) and high == low + n - 1 and level and len(numbers) >= ROWS_A_CLASS * n:
        return Task(CLASSIFICATION, f"whole numbers {span} without gaps, about equally often", True)
    return Task(REGRESSION, f"{n:,} different whole numbers {span}", True)


def can_be_label(role: str, present: Sequence[Any], labels: str, pattern: str = "") -> bool:
    """Whether a column of this role, whose cells that are not missing are ``present``, can be a label.

    ``labels`` is what it must be: "classes", "numbers", or "either".
    """
    distinct = len({str(cell) for cell in present})
    # With few cells, repeats prove nothing.
    again = len(present) < ENOUGH_LABELS or distinct <= len(present) / 2  # values come more than once
    if role != "number":
        return role == "category" and labels != "numbers" and again
    if labels != "classes":
        return True
    # Classes are whole numbers that come again, and not too many of them.
    whole = all((number := as_number(cell, pattern)) is None or number.is_integer() for cell in present)
    return whole and again and distinct <= MOST_CLASSES
