"""Weights of learners whose rows may be scaled, or scaled and mapped, before the rule reads them.

What a family says is ``_learned``: its weights as they are in the state. Users see them in units of the features as
they came; of a map, those of its features.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from aggro.engine.prepare.feature_maps.parts import NO_MAP, MapParams, real_columns
from aggro.engine.prepare.scaling import SCALE_MODE
from aggro.learners.base.contract import Contract
from aggro.learners.base.formula import Formula, Linear, behind_scaling
from aggro.learners.base.map_formula import map_formula
from aggro.learners.base.map_parts import parts_of_features
from aggro.learners.base.mapped import map_params, params_of, sow
from aggro.learners.base.scaled import divisors, is_of, mode_of, scaled_row, unit_of
from aggro.learners.base.weights import Weights
from aggro.learners.model.model import Model, View

MAPPED_AT_ONCE = 2**13  # rows times frequencies, or landmarks
MAP_SETTLED = 64  # rows after which γ and the frequencies of the features that most rows have stay


class PreparedWeights(Weights):
    """A learner with weights, whose rows may be scaled or mapped before the rule reads them."""

    # Of learners without these parameters, and of files and pickles that are older than they are:
    scale: Any = None
    features: str | None = None
    n_components: int = 400
    gamma: float | str = "auto"
    fit_intercept: bool
    contract: ClassVar[Contract] = Contract(
        exempt={
            "the order of features does not matter": {
                ("features", "fourier"): "a feature's frequencies depend on those met before it"
            },
            "a row of zeros teaches nothing": {"features": "a row of zeros is a place like any other"},
        }
    )

    def _learned(self, view: View, which: Any) -> tuple[np.ndarray, np.ndarray]:
        """The weights of these features (features, scores) and the intercepts, in the units of the state."""
        raise NotImplementedError

    def _map(self) -> MapParams:
        """The parameters of the map, in the form that compiled code reads."""
        return map_params(self.features, self.n_components, self.gamma)

    def _new_model(self, width: int = 0, seed: int | None = None) -> Model:
        model = super()._new_model(width, seed)
        # With a seed, the map's random numbers follow from it; otherwise all maps draw from the same seed.
        if self.features is not None and self.__dict__["random_state"] is not None:
            sow(model.state.map, model.seed)
        return model

    def _common_start(self) -> int:
        """The number of rows that copies must share: until γ is settled, and a Nyström map has its landmarks.

        Landmarks are rows that differ from those before, so more rows than landmarks are needed.
        """
        if self.features is None:
            return 0
        return MAP_SETTLED if self.features == "fourier" else MAP_SETTLED + 2 * int(self.n_components)

    def _mode(self) -> int:
        """The number of the mode in which rows are scaled."""
        return mode_of(self.scale, bool(self.fit_intercept))

    def _check_preparation(self, state: Any) -> None:
        """Refuse a scale or a map other than the one that the state has learned with."""
        mode = int(state.scaling.facts[SCALE_MODE]) if hasattr(state, "scaling") else 0
        given = mode == 0 and hasattr(state, "scaling") and self._mode() != 0  # weights were set, and had no scale
        if not given and not is_of(mode, self.scale):
            raise ValueError(
                f"scale={self.scale!r} is not the setting that this model learned with. Set it back, or call fit to "
                "start over."
            )
        # The map's random features are those that the weights belong to: another map would need other weights.
        if self._map() != (params_of(state.map) if hasattr(state, "map") else NO_MAP):
            raise ValueError(
                f"features={self.features!r} with n_components={self.n_components!r} and gamma={self.gamma!r} is not "
                "what has learned so far. Set them back, or call fit to start over."
            )

    def _learns_at_once(self, state: Any, n: int) -> bool:
        """Whether to learn n rows in place: not if mapping them takes longer than copying the state."""
        return not hasattr(state, "map") or n * state.map.table.shape[1] < MAPPED_AT_ONCE

    def _predicting(self, view: View, which: Any) -> tuple[np.ndarray, np.ndarray]:
        """The weights in units of the unscaled features, by the moments so far; with a map, of the map's features."""
        # Mapped features have no units of their own: only targets are converted back.
        if hasattr(view.state, "map"):
            return self._in_units(view, *self._learned(view, real_columns(view.state.map)))
        if not hasattr(view.state, "scaling"):
            return self._learned(view, which)
        # The intercept takes in the centres of all features, whichever of them are asked for.
        weights, intercepts = self._learned(view, slice(None))
        centre, divided = divisors(view.state.scaling, slice(None))
        weights = weights / divided[:, None]
        # w·(x − m)/σ + b = (w/σ)·x + b − (w/σ)·m
        weights, intercepts = self._in_units(view, weights, intercepts - centre @ weights)
        return weights[which], intercepts

    def _in_units(self, view: View, weights: np.ndarray, intercepts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Convert weights, or parts of scores, and intercepts to the units of the targets."""
        scaling = view.state.scaling
        if not scaling.target.shape[0]:
            return weights, intercepts
        unit = unit_of(scaling.target)
        return weights * unit, intercepts * unit + scaling.target[1]

    def _contributions(self, view: View, indices: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The parts of the given features in the scores of the transformed row, and the intercepts.

        The parts of features that the row lacks are added to the intercepts.
        """
        if not hasattr(view.state, "scaling"):
            return super()._contributions(view, indices, values)
        # Centring gives a value to features that the row lacks; their parts go into the intercept below.
        every, scaled_values = scaled_row(view.state, indices, values)
        if hasattr(view.state, "map"):
            weights, intercepts = self._learned(view, slice(None))
            parts, start = parts_of_features(view.state.map, every, scaled_values, weights)
            # f(0) is the score of a row of zeros, from which the parts of the map's features are counted.
            intercepts = intercepts + start
        else:
            weights, intercepts = self._learned(view, every)
            parts = scaled_values[:, None] * weights
        n = indices.shape[0]
        return self._in_units(view, parts[:n], intercepts + parts[n:].sum(axis=0))

    def _formula(self, view: View) -> Formula:
        n = view.n_features
        if hasattr(view.state, "map"):
            scores = map_formula(view.state.map, n, *self._learned(view, slice(None)))
        else:
            scores = (Linear(*self._learned(view, slice(0, n))),)
        return behind_scaling(view.state, n, scores)
