"""Print PEERS.md: how many of scikit-learn's and River's checks the suite runs, and which are meant to fail, and why.

python tests/interop/peers_table.py > tests/interop/PEERS.md
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.peers import meant_to_fail
from interop.test_river import all_checks
from interop.test_scikit_learn import AROUND
from sklearn.utils.estimator_checks import estimator_checks_generator

import aggro
from aggro.learners.registry import LEARNERS
from aggro.testing.variants import Variant

HEAD = """\
# The learners in other projects' suites

`python tests/interop/peers_table.py > tests/interop/PEERS.md` makes this page. The suite runs all of these checks
(`tests/contract/test_sklearn.py`, `test_scikit_learn.py`, `test_auto.py`, `test_river.py`): it fails if one of them
fails that is not meant to. Which are, and why, stands in `tests/helpers/peers.py` and in the learners' contracts. The
others pass, or the other project skips them itself, as scikit-learn does with what needs array libraries."""


def scikit_learn() -> Iterator[tuple[str, str, str]]:
    """Each check: of which learner, its name, and why it is meant to fail, or nothing."""
    alone = [(entry.name, Variant(entry).new()) for entry in LEARNERS]
    auto = [aggro.AutoClassifier([aggro.PAClassifier()]), aggro.AutoRegressor([aggro.PARegressor()])]
    around = [(f"`{' '.join(str(estimator).split())}`", estimator) for estimator in (*AROUND, *auto)]
    for name, estimator in [*alone, *around]:
        expected = meant_to_fail(estimator)
        for _, check in estimator_checks_generator(estimator, legacy=True):
            yield name, check.func.__name__, expected.get(check.func.__name__, "")


def river() -> Iterator[tuple[str, str, str]]:
    """As of scikit-learn's."""
    for row in all_checks():
        yield row.id.partition("-")[0], row.values[1].__name__, row.marks[0].kwargs["reason"] if row.marks else ""


def table(title: str, checks: list[tuple[str, str, str]]) -> str:
    """A line for each learner, one for all, and the reasons."""
    of = Counter(learner for learner, _, _ in checks)
    failing = Counter(learner for learner, _, why in checks if why)
    lines = [f"## {title}", "", "| learner | checks | meant to fail |", "| --- | ---: | ---: |"]
    lines += [f"| {learner} | {n} | {failing[learner]} |" for learner, n in of.items()]
    lines += [f"| **all** | {of.total()} | {failing.total()} |", ""]
    reasons: dict[str, Counter[str]] = {}
    for learner, check, why in checks:
        if why:
            reasons.setdefault(f"`{check}`: {why}", Counter())[learner] += 1
    for why, learners in sorted(reasons.items()):
        whose = "every learner" if {*learners} == {*of} else ", ".join(learners)
        lines.append(f"- {why}. {learners.total()} checks: {whose}")
    return "\n".join(lines)


def page() -> str:
    return "\n\n".join(
        [
            HEAD,
            table(f"`check_estimator` of scikit-learn {version('scikit-learn')}", list(scikit_learn())),
            table(f"The checks of River {version('river')}", list(river())),
        ]
    )


if __name__ == "__main__":
    print(page())
