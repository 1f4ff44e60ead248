"""A call answers from one moment, whatever another thread learns between any two of its lines."""

from __future__ import annotations

import copy
import os
import sys
import threading
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from aggro.learners.base.one_row import Explanation
from aggro.testing.check import check
from aggro.testing.variants import Variant, as_dicts, expect, known, learn_rows, stream

PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # of the package
ONE_ROW = ("predict_one", "decision_one", "predict_proba_one", "decision_std_one", "explain_one", "score_one")
MANY_ROWS = ("predict", "decision_function", "predict_proba", "decision_std", "score_samples")


@check(needs=lambda variant: not variant.params)
def answers_are_of_one_moment(variant: Variant) -> None:
    """A call beside a thread that learns answers as the model does before that, or as it does after."""
    X, y = stream(variant, n=20, classes=4)
    new = ["one more"] if variant.classifies else y[:1]
    for names, rows, asked in ((ONE_ROW, as_dicts(X), as_dicts(X[:1] + 0.1)[0]), (MANY_ROWS, [*X], X + 0.1)):
        learned = learn_rows(variant.new(), rows, y)
        # Of a new class, where there are classes; and of those that are known.
        for taught, labels in ((rows[:1], new), (rows[:5], y[5:10])):
            after = learn_rows(copy.deepcopy(learned), taught, labels)
            for name in names:
                if hasattr(learned, name):
                    # The only two answers allowed; everything else mixes state from before and after.
                    right = [answer(getattr(model, name)(asked)) for model in (learned, after)]
                    # A fresh copy for each line: learning at one place must not show at the next.
                    for place in places(copy.deepcopy(learned), name, asked):
                        given = interrupted(copy.deepcopy(learned), name, asked, place, taught, labels)
                        expect(given in right, f"{name} mixes two moments if a thread learns at line {place}: {given}")


def places(model: Any, name: str, asked: Any) -> list[int]:
    """Which of the lines that a call comes by, the first time that it does, other threads may learn at."""
    found: list[int] = []
    seen: set[tuple[str, int]] = set()

    def at(number: int, frame: Any) -> None:
        line = frame.f_code.co_filename, frame.f_lineno
        # Where the call holds the guard, no other thread can learn; a line is tried once.
        if line not in seen and is_free(known(model).guard):
            found.append(number)
        seen.add(line)

    watched(lambda: getattr(model, name)(asked), at)
    return found


def is_free(lock: Any) -> bool:
    """Whether another thread would get a lock at once."""
    told: list[bool] = []

    def attempt() -> None:
        told.append(lock.acquire(blocking=False))
        if told[0]:
            lock.release()

    # In another thread, since the lock may be reentrant for this one.
    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return told[0]


def interrupted(model: Any, name: str, asked: Any, place: int, rows: Any, labels: Any) -> Any:
    """The answer to a call at one line of which another thread learns some rows."""

    def at(number: int, frame: Any) -> None:
        if number == place and is_free(known(model).guard):
            thread = threading.Thread(target=learn_rows, args=(model, rows, labels))
            thread.start()
            # Joined at once: the learning happens exactly at this line.
            thread.join()

    return answer(watched(lambda: getattr(model, name)(asked), at))


def watched(call: Callable[[], Any], at: Callable[[int, Any], None]) -> Any:
    """What a call gives; ``at`` is called before each line of this package that it comes by, with its number."""
    numbers = count()

    def trace(frame: Any, event: str, _: Any) -> Any:
        # Lines of other packages are not ours to protect; those of this file are the check itself.
        if not frame.f_code.co_filename.startswith(PACKAGE_FOLDER) or frame.f_code.co_filename == __file__:
            return None
        if event == "line":
            at(next(numbers), frame)
        return trace

    # Coverage and debuggers trace as well, and get their function back.
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return call()
    finally:
        sys.settrace(before)


def answer(given: Any) -> Any:
    """What a call gave, for comparison to the bit."""
    if isinstance(given, Explanation):
        return (*given.items(), given.intercept, given.score, given.label)
    return given.tolist() if isinstance(given, np.ndarray) else given
