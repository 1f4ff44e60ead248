"""All the checks, run on a learner or a step of one's own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

from aggro.engine.jit.errors import NumbaError, reason
from aggro.engine.user_steps import OwnStep, StepError
from aggro.learners.base.inside import check_third_class, parameters_of
from aggro.learners.registry import Entry, learners
from aggro.testing import (  # they enter their checks
    checks_frames,  # noqa: F401
    checks_mixing,  # noqa: F401
    checks_moments,  # noqa: F401
    checks_predictions,  # noqa: F401
    checks_rows,  # noqa: F401
    checks_streams,  # noqa: F401
)
from aggro.testing.check import CLAIMS, CONTRACT_CHECKS
from aggro.testing.variants import contracts, expect, variants

LOSS_LEVELS = (1e-6, 0.1, 1.0, 30.0, 1e6)
NORMS = (1e-6, 0.5, 1.0, 40.0, 1e6)
AGGRESSIVENESS = (1e-6, 0.01, 1.0, 100.0, 1e6)


class ContractError(AssertionError):
    """A learner breaks the contract. The message lists the checks that failed, and their settings."""


class Report(NamedTuple):
    """The checks that passed, and those that were skipped with the reason."""

    passed: list[str]  # settings and check
    skipped: dict[str, str]  # and why

    def __str__(self) -> str:
        return f"{len(self.passed)} checks passed, {len(self.skipped)} skipped"


def check_learner(learner: Any, skip: Mapping[str, str] | None = None) -> Report:
    """Run the library's contract on a learner: the checks that its own learners pass.

    Among them: dense, CSR, one row at a time and chunks give the same model; a row without loss, a bad row and a
    row of weight 0 change nothing; a saved model goes on as it would have; input is neither changed nor kept.

    Parameters
    ----------
    learner : learner or class
        A class goes through all its words and switches; of a learner, what differs from the defaults stays as it is.
    skip : dict, default=None
        Names of checks that do not apply to it, and why. A class may say so itself, with its ``contract``.

    Returns
    -------
    report : Report
        What passed, and what was skipped for which reason.

    Raises
    ------
    ContractError
        Some checks fail; the message lists them.
    """
    kind = learner if isinstance(learner, type) else type(learner)
    entry = entry_of(kind)
    skip = dict(skip or {})
    unknown = sorted(set(skip) - {str(check) for check in CONTRACT_CHECKS})
    if unknown:
        raise ValueError(f"There is no check {unknown[0]!r}. There are: {', '.join(map(str, CONTRACT_CHECKS))}.")
    for claim in unknown_claims(entry):
        raise ValueError(f"The contract of {entry.name} is about {claim!r}, which nothing claims.")
    # Of an instance, only what differs from the defaults is held fixed; the rest is varied.
    given = {} if kind is learner else changed(learner)
    if entry.task == "classification":
        try:
            # Before all other checks, most of which use three classes.
            check_third_class(kind(**given))
        except ValueError as error:
            raise ContractError(f"A classifier must take new classes at any row. {error}") from error
    passed: list[str] = []
    skipped: dict[str, str] = {}
    failed: list[str] = []
    for variant, check in product(variants(entry, given), CONTRACT_CHECKS):
        name = f"{variant}: {check}"
        if not check.needs(variant):
            continue
        # The caller's reasons first, then those of the learner's own contract.
        why = skip.get(str(check)) or check.why_not(variant)
        if why is not None:
            skipped[name] = why
            continue
        try:
            check.run(variant)
            passed.append(name)
        # Code that does not compile would fail every check in the same words, so it ends here.
        except NumbaError as error:
            raise ContractError(f"{variant} cannot be compiled: {reason(error)}") from error
        except Exception as error:
            # All failures are collected: one run tells everything.
            said = " ".join(str(error).split())
            failed.append(f"{name}: {said[:200] if isinstance(error, AssertionError) else repr(error)}")
    if failed:
        raise ContractError("\n".join([f"{entry.name} fails {len(failed)} checks:", *failed]))
    return Report(passed, skipped)


def unknown_claims(entry: Entry) -> list[str]:
    """What a learner says of itself under a name that no check has, none of the claims, and none of scikit-learn's."""
    exempt = [claim for contract in contracts(entry) for claim in contract.exempt]
    known = {*CLAIMS, *map(str, CONTRACT_CHECKS)}
    return [claim for claim in exempt if claim not in known and not claim.startswith("check_")]


def entry_of(kind: type[Any]) -> Entry:
    for entry in learners():
        if entry.name == kind.__name__ and issubclass(kind, entry.load()):
            return entry
    raise TypeError(f"{kind.__name__} is not in the registry: enter it with aggro.register first.")


def changed(learner: Any) -> dict[str, Any]:
    """What is not as it comes."""
    defaults = type(learner)().__dict__
    return {name: value for name, value in parameters_of(learner).items() if value != defaults[name]}


def check_step(step: OwnStep) -> None:
    """Check a step of your own over the whole range of losses, norms and C.

    Parameters
    ----------
    step : OwnStep
        Made with :func:`aggro.step`.

    Raises
    ------
    ContractError
        A step is not finite, or goes backwards from a positive loss, or is not the same when compiled.
    """
    if not isinstance(step, OwnStep):
        raise StepError(f"check_step takes a step that was made with aggro.step, got {step!r}.")
    # Extremes of each: steps mostly fail where losses, norms or C are tiny or huge.
    for loss, q, C in product(LOSS_LEVELS, NORMS, AGGRESSIVENESS):
        asked = f"{step}(loss={loss:g}, q={q:g}, C={C:g})"
        try:
            tau = float(step(loss, q, C))
            expect(math.isfinite(tau), f"is {tau}")
            expect(tau >= 0.0, f"is {tau:g}: it goes away from a row that it should come nearer to")
            # The interpreter and the compiler may treat types differently; both must give the same step.
            native = step.size(loss, q, C, 1.0)
            expect(math.isclose(tau, native, rel_tol=1e-9), f"is {tau!r}, and {native!r} when it is compiled")
        except Exception as error:  # whatever the user's function raises
            raise ContractError(f"{asked} {error}") from error
