"""Run scikit-learn's and River's checks on every learner, and print PEERS.md: how they ended, and what may fail.

python tests/interop/peers_table.py > tests/interop/PEERS.md
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.peers import meant_to_fail
from interop.test_river import all_checks, new
from interop.test_scikit_learn import AROUND
from sklearn.utils.estimator_checks import check_estimator

from aggro.learners.registry import LEARNERS
from aggro.testing.variants import Variant

HOWS = {"passed": "pass", "xfail": "meant to fail", "failed": "fail", "skipped": "skipped"}
HEAD = """\
# How the learners do in other projects' suites

`python tests/interop/peers_table.py > tests/interop/PEERS.md` makes this page. The suite runs the same checks
(`tests/contract`, `test_scikit_learn.py`, `test_river.py`), and fails if one of them does. What is meant to fail, and
why, stands in `tests/helpers/peers.py` and in the learners' contracts; the lists below are made from these."""


class Suite:
    """How each check of a suite ended, by learner, and for which learners those fail that are meant to, by reason."""

    def __init__(self, name: str, package: str):
        self.title = f"{name}, {package} {version(package)}"
        self.ended: dict[str, Counter[str]] = {}
        self.reasons: dict[str, list[str]] = {}

    def add(self, learner: str, how: str, why: str = "") -> None:
        self.ended.setdefault(learner, Counter())[how] += 1
        if why:
            self.reasons.setdefault(why, []).append(learner)

    def __str__(self) -> str:
        total = sum(self.ended.values(), Counter())
        hows = {how: name for how, name in HOWS.items() if total[how]}
        rows = [["learner", "checks", *hows.values()], ["---"] + ["---:"] * (1 + len(hows))]
        for learner, ended in [*self.ended.items(), ("**all**", total)]:
            rows.append([learner, str(ended.total()), *(str(ended[how]) for how in hows)])
        table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        listed = [
            f"- {why} ({len(learners)}: {', '.join(dict.fromkeys(learners))})"
            for why, learners in sorted(self.reasons.items())
        ]
        return "\n\n".join([f"## {self.title}", table, "\n".join(listed)])


def scikit_learn() -> Suite:
    suite = Suite("`check_estimator`", "scikit-learn")
    alone = [(entry.name, Variant(entry).new()) for entry in LEARNERS]
    for name, estimator in [*alone, *((" ".join(f"`{estimator}`".split()), estimator) for estimator in AROUND)]:
        expected = meant_to_fail(estimator)
        for one in check_estimator(estimator, expected_failed_checks=expected, on_fail=None, on_skip=None):
            check, how = one["check_name"], one["status"]
            said = " ".join(str(one["exception"]).split())
            why = {"xfail": expected.get(check), "failed": f"**fails**: {said}", "skipped": f"skipped: {said}"}.get(how)
            suite.add(name, how, f"`{check}`: {why}" if why else "")
    return suite


def river() -> Suite:
    """River's checks raise, and those that are meant to fail are not run."""
    suite = Suite("River's checks", "river")
    for row in all_checks():
        model, check = row.values
        name = row.id.partition("-")[0]
        if row.marks:
            suite.add(name, "xfail", f"`{check.__name__}`: {row.marks[0].kwargs['reason']}")
            continue
        try:
            check(new(model))
            suite.add(name, "passed")
        except Exception as error:
            suite.add(name, "failed", f"`{check.__name__}`: **fails**: {error!r}")
    return suite


def main() -> None:
    warnings.simplefilter("ignore")
    print("\n\n".join([HEAD, str(scikit_learn()), str(river())]))


if __name__ == "__main__":
    main()
