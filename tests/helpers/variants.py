"""Every learner of the registry with its settings, and tests that go over them."""

from __future__ import annotations

from typing import Any

import pytest

from aggro.learners.registry import LEARNERS
from aggro.testing.variants import Variant, tried, variants

__all__ = ["ALL", "FEW", "PLAIN", "each", "marks", "reading"]

PLAIN = [Variant(entry) for entry in LEARNERS]


def is_in_the_suite(variant: Variant) -> bool:
    """Steps differ by numbers alone, so switches are tried with the step that is the default, and with the last."""
    words = [name for name, value in variant.params.items() if not isinstance(value, bool)]
    if words == list(variant.params) or "step" not in variant.params:
        return True
    further = tried(variant.entry)
    steps = [v.params["step"] for v in variants(variant.entry) if "step" in v.params and v.params not in further]
    return variant.params["step"] in (variant.entry.load()().__dict__["step"], steps[-1])


ALL = [variant for entry in LEARNERS for variant in variants(entry) if is_in_the_suite(variant)]
# For what no step can change.
FEW = [v for v in ALL if v.new().get_params().get("step") == v.entry.load()().__dict__.get("step")]


def each(table: list[Variant] = ALL, claim: str = "", where: Any = None) -> Any:
    """Run a test for every variant (that ``where`` accepts), skipping those for which the claim does not hold."""
    rows = []
    for variant in table:
        if where is None or where(variant):
            why = variant.why_not(claim)
            rows.append(pytest.param(variant, marks=marks(variant, why), id=str(variant)))
    return pytest.mark.parametrize("variant", rows)


def marks(variant: Variant, why: str | None) -> list[Any]:
    """One process tests a family, so that no other waits for what it compiles; and why it is skipped."""
    group = pytest.mark.xdist_group(variant.entry.module)
    return [group] if why is None else [group, pytest.mark.skip(reason=why)]


def reading(model: Any) -> Any:
    """As a prediction in another thread holds the state while it reads."""
    return model._model.reading()
