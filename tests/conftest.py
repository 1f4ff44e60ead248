"""Settings for the whole suite: the same examples on every run, and no clock in any verdict."""

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

from aggro.engine.user_steps import OWN_STEPS
from aggro.learners.registry import OWN

settings.register_profile(
    "aggro",
    max_examples=30,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("aggro")
os.environ.setdefault("AGGRO_QUIET", "1")  # what is on stderr must not depend on what was compiled before


def pytest_collection_finish():
    """What was collected stays: the garbage collector need not look through it again and again.

    Numba allocates millions of objects while it compiles, and keeps most of them: rarer collections save minutes.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(25_000, 20, 40)


@pytest.fixture(autouse=True)
def names_of_ones_own_end_with_the_test():
    """Steps and learners that a test registers are gone after it: two pages may each have a ``huber``."""
    steps, learners = dict(OWN_STEPS), dict(OWN)
    yield
    for names, before in ((OWN_STEPS, steps), (OWN, learners)):
        names.clear()
        names.update(before)
