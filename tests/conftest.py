"""Settings for the whole suite: the same examples on every run, and no clock in any verdict."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "aggro",
    max_examples=30,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("aggro")
