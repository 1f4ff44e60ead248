"""Attributes that users set on learners: known ones, those of tools and of subclasses; a misspelt one is refused."""

from __future__ import annotations

import copy
import pickle

import pytest
from sklearn.base import clone

from aggro import ActiveLearner, PAClassifier, RecordLearner, estimators
from aggro.learners.registry import ACTIVE, LEARNERS, RECORD_ENTRY, VOTES

EVERY = [entry.name for entry in (*LEARNERS, *VOTES, ACTIVE, RECORD_ENTRY)]


@pytest.mark.parametrize("name", EVERY)
def test_a_misspelt_attribute_is_refused_with_what_was_meant(name):
    learner = getattr(estimators, name)()
    before = dict(learner.__dict__)
    with pytest.raises(AttributeError, match=r"no attribute 'on_drfit' to set. Did you mean 'on_drift'\?"):
        learner.on_drfit = print
    with pytest.raises(AttributeError, match="no attribute 'colour' to set"):
        learner.colour = 1
    assert learner.__dict__ == before


@pytest.mark.parametrize("name", EVERY)
def test_what_is_known_may_be_set(name):
    learner = getattr(estimators, name)()
    for parameter, value in learner.get_params(deep=False).items():
        setattr(learner, parameter, value)
    learner.on_drift = None
    learner.on_drift = test_what_is_known_may_be_set
    learner._sklearn_output_config = {}  # as scikit-learn does
    for twin in (copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))):
        assert twin.on_drift is test_what_is_known_may_be_set
    assert clone(learner).get_params(deep=False).keys() == learner.get_params(deep=False).keys()
    learner.set_params(**learner.get_params(deep=False))


@pytest.mark.parametrize("kind", [PAClassifier, ActiveLearner, RecordLearner])
def test_a_subclass_may_set_what_it_likes(kind):
    class Mine(kind):
        colour = "red"

        def __init__(self):
            super().__init__()
            self.shape = "round"

    mine = Mine()
    mine.colour = "blue"
    mine.other = 1
    assert (mine.shape, mine.colour, mine.other) == ("round", "blue", 1)


def test_what_is_only_read_stays_so():
    model = PAClassifier().partial_fit([[1.0], [-1.0]], [0, 1])
    with pytest.raises(AttributeError):
        model.C_ = 3.0
