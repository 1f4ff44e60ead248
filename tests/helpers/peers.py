"""The suites of other projects, run on our learners: what is meant to fail in them, and why. This is the one place.

What a single learner does otherwise is with the learner, in its ``contract``. ``tests/interop/PEERS.md`` counts all of
them, learner by learner; ``python tests/interop/peers_table.py`` makes it.
"""

from __future__ import annotations

from typing import Any

from aggro.learners.registry import find
from aggro.testing.check import ANY_ORDER
from aggro.testing.variants import Variant, contracts

WEIGHTS = "a weight scales C: to learn a row with weight 2 is not to learn it twice"
NUMBERS = "without an estimator inside, labels with fractions make it a regressor, and it says so by its tags"
# scikit-learn: the checks that fail for every learner, and for those around another one.
SCIKIT_LEARN = {f"check_sample_weight_equivalence_on_{kind}_data": WEIGHTS for kind in ("dense", "sparse")}
NO_SIGNS = {
    "check_class_weight_classifiers": "the check's rows have negative values",
    "check_decision_proba_consistency": "the check's rows have negative values",
    "check_classifiers_train": "weights of one sign tie on all rows of the check; ties are of the second class",
}
UNDECIDED = {**SCIKIT_LEARN, "check_classifiers_regression_target": NUMBERS}


def meant_to_fail(estimator: Any) -> dict[str, str]:
    """The checks of scikit-learn that this estimator fails, each with the reason."""
    if "estimator" in estimator.get_params(deep=False):
        without = type(estimator).__name__ == "RecordLearner" and estimator.estimator is None
        return UNDECIDED if without else SCIKIT_LEARN
    signs = NO_SIGNS if estimator.get_params().get("signed") is False else {}
    variant = Variant(find(type(estimator).__name__), estimator.get_params())
    own = {claim for contract in contracts(variant.entry) for claim in contract.exempt if claim.startswith("check_")}
    return {**SCIKIT_LEARN, **signs, **{name: why for name in own if (why := variant.why_not(name)) is not None}}


# River: the checks that fail for the learner that asks for labels.
RIVER_ASKING = {
    "check_learn_many_matches_learn_one": "learn_many asks for some labels, learn_one learns what it is given",
    "check_shuffle_features_no_impact": "the default inside, PAMOClassifier, starts at random, feature by feature",
}


def why_not_in_river(model: type[Any], check: str) -> str | None:
    """Why a check of River's is not for this model; None if it is."""
    name = model.__name__
    if name == "ActiveLearner":
        return RIVER_ASKING.get(check)
    around_records = name in ("RecordLearner", "RecordRegressor")
    return Variant(find(name)).why_not(ANY_ORDER) if "shuffle_features" in check and not around_records else None
