"""Run scikit-learn's and River's checks on every learner, and print a table of how they ended."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.peers import meant_to_fail
from interop.test_river import all_checks, new
from interop.test_scikit_learn import AROUND
from sklearn.utils.estimator_checks import check_estimator

from aggro.learners.registry import LEARNERS
from aggro.testing.variants import Variant


def scikit_learn() -> tuple[Counter[str], dict[str, Counter[str]]]:
    """How each check ended, and for which learners those fail that are meant to, by reason."""
    ended, reasons = Counter[str](), dict[str, Counter[str]]()
    for estimator in [*(Variant(entry).new() for entry in LEARNERS), *AROUND]:
        expected = meant_to_fail(estimator)
        for one in check_estimator(estimator, expected_failed_checks=expected, on_fail=None, on_skip=None):
            ended[one["status"]] += 1
            if one["status"] == "xfail":
                name = one["check_name"]
                reasons.setdefault(f"{name}: {expected[name]}", Counter())[type(estimator).__name__] += 1
    return ended, reasons


def river() -> tuple[Counter[str], dict[str, Counter[str]]]:
    """The same of River, whose checks raise."""
    ended, reasons = Counter[str](), dict[str, Counter[str]]()
    for row in all_checks():
        model, check = row.values
        if row.marks:
            ended["xfail"] += 1
            why = f"{check.__name__}: {row.marks[0].kwargs['reason']}"
            reasons.setdefault(why, Counter())[model.__name__] += 1
            continue
        try:
            check(new(model))
            ended["passed"] += 1
        except Exception as error:
            ended["failed"] += 1
            reasons.setdefault(f"{check.__name__}: {error!r}", Counter())[model.__name__] += 1
    return ended, reasons


def main() -> None:
    warnings.simplefilter("ignore")
    for name, suite in (("scikit-learn's check_estimator", scikit_learn), ("River's checks", river)):
        ended, reasons = suite()
        print(f"{name}: {sum(ended.values())} checks; {', '.join(f'{n} {how}' for how, n in ended.items())}")
        for why, learners in sorted(reasons.items()):
            print(f"  {sum(learners.values()):3d}  {why} ({', '.join(sorted(learners))})")


if __name__ == "__main__":
    main()
