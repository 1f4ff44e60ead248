"""What files ask of a vote: its candidates before they have learned anything, and a model made of candidates."""

from __future__ import annotations

from typing import Any

from aggro.learners.auto.candidates import Candidate
from aggro.learners.auto.state import VoteModel, VoteState
from aggro.learners.model.features import Features
from aggro.learners.model.labels import Labels


def fresh_candidates(learner: Any, seed: int) -> list[Candidate]:
    """The candidates of a learner, before they have learned anything."""
    found: list[Candidate] = learner._candidates(seed)
    return found


def vote_model(
    state: VoteState, width: int, features: Features, labels: Labels, seed: int, candidates: list[Candidate]
) -> VoteModel:
    """A model of these parts."""
    model = VoteModel(state, width, features, labels, seed)
    model.candidates = candidates
    return model
