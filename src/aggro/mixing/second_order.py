"""Beliefs about weights: what each partition has found out since the common start, added up.

A belief N(μ, Σ) has learned the rows (x, y) in the form of P = Σ⁻¹ and η = Pμ. A row adds κxx' to P, and of AROW for
numbers yx/r to η, whatever was there before. So with the start P₀, η₀ (nothing learned: I and 0),

    P = P₀ + Σ_i (P_i − P₀),   η = η₀ + Σ_i (η_i − η₀),   μ = P⁻¹η

is for full covariances the belief after all rows in one pass: ridge regression over them. For classes, and for
diagonals, it is the product of the beliefs: the mean of the μ_i in which each weighs what it is sure of.

Rows that are scaled have been learned in units of their own. A partition with the centre m and the divisors d has seen
x̃ = (1, (x − m)/d), and its P and η are sums of x̃x̃' and x̃y. In units of raw rows those are T⁻¹PT⁻ᵀ and T⁻¹η, with

    T⁻¹ = [1 0; m diag(d)],

and likewise back into the units of the mixture. The sums are kept in pairs of floats, since what a centre that is far
larger than the divisor brings in cancels. A diagonal has no room for what P says of two weights together: there P_j
becomes P_j d_j². An intercept is the score at the partition's own centre. That of the mixture, at its centre M, is the
one with which the mixture's weights w say the same there: Σ_i P_i (b_i − Σ_j w_j (m_ij − M_j)/d_j) / Σ_i P_i, with the
P of the intercepts. The start is read in the units of each partition (``mixing.start``).

Numbers to predict that are scaled are y = level + unit·ỹ. A row says the same of the weights whatever its unit is, so P
stays, and η becomes unit·η + level·P's column of the intercept.

Averages of iterates are pooled, and what members of a grid have suffered adds up, as for linear learners.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from aggro.learners.second_order.rule import Belief, MappedBelief, ScaledBelief
from aggro.mixing.exact_sums import LARGEST_DOUBLE, ExactSum, added, two_product
from aggro.mixing.maps import common_landmarks, put_map, take_map
from aggro.mixing.matrices import LEAST_VARIANCE, inverse
from aggro.mixing.parts import Mix, Parts, Sight, Value, pooled, total
from aggro.mixing.scaling import Units, put_scaling, take_scaling
from aggro.mixing.start import joined, rows_of, since, start_of


class Known(NamedTuple):
    """What a belief knows of the intercept, entry 0, and the features."""

    P: np.ndarray  # (problems, span, n), or (problems, span, n, n) of full covariances
    eta: np.ndarray  # (problems, span, n): P μ
    W: np.ndarray  # (problems, span, n): μ
    mean: np.ndarray  # (problems, span, n): the mean of the iterates, or μ
    rows: float


def known_of(state: Any, features: int, problems: slice, sign: float) -> Known:
    n = 1 + features
    W, rows = sign * state.W[problems, :, :n], rows_of(state)
    # The lag is rows·(w − w̄).
    mean = W - sign * state.U[problems, :, :n] / max(rows, 1.0) if state.U.shape[2] else W
    if state.S.shape[2] > 1:
        P = inverse(state.S[problems, :, :n, :n])
        return Known(P, np.einsum("kgij,kgj->kgi", P, W), W, mean, rows)
    # A diagonal of variances; the floor keeps its inverse finite.
    P = 1.0 / np.maximum(state.S[problems, :, 0, :n], LEAST_VARIANCE)
    return Known(P, P * W, W, mean, rows)


def width_of(state: Any) -> int:
    return int(state.scaling.moments.shape[1] if hasattr(state, "map") else state.W.shape[2] - 1)


def problems_of(state: Any, sight: Sight) -> slice:
    """All of them; where two classes share one and there is room for more, the one that they share."""
    return slice(1, 2) if sight.n_classes <= 2 and state.W.shape[0] > 1 else slice(None)


class Affine:
    """Units of scaled rows: x̃ = (x − m)/d and y = level + unit·ỹ."""

    def __init__(self, units: Units, features: int, bias: float) -> None:
        # Without an intercept nothing could take up a centre, so rows are not centred.
        self.m, self.d = np.zeros(features), np.ones(features)
        self.centred = units.divided is not None and bias > 0.0
        if units.divided is not None:
            self.m, self.d = units.centre if bias else self.m, units.divided
        self.known = np.where(np.isfinite(self.d), self.d, 0.0)  # what never varied has taught nothing
        self.unit, self.level = units.unit, units.level if bias else 0.0


# Taken apart -----------------------------------------------------------------------------------------------------


def take(state: Any, params: Any, sight: Sight) -> Parts:
    mapped = hasattr(state, "map")
    features = state.W.shape[2] - 1 if mapped else sight.features.shape[0]
    problems, start = problems_of(state, sight), start_of(state, params, sight.base, width_of(state))
    one = state.W[problems].shape[0] == 1
    # One problem for two classes: the vector turns round where the classes have changed places.
    sign = -1.0 if sight.flipped and one and not params.to_number else 1.0
    own = known_of(state, features, problems, sign)
    # The start in this partition's own units: the difference is what its rows added.
    before = known_of(start, features, problems_of(start, sight), sign)
    units = Units(state, features, params.bias)
    lead, axis = ".." if one else "c.", "." if mapped else "f"
    taken = _take_full if own.P.ndim == 4 else _take_diagonal
    parts = taken(own, before, Affine(units, features, params.bias), lead, axis)
    landmarks = common_landmarks(state, sight) if mapped else None
    if params.average:
        parts |= _take_mean(own, before, units, lead, axis)
    # What is known of other landmarks means nothing in other partitions.
    if landmarks is not None:  # the last axes are those of landmarks
        parts = {
            name: part._replace(values=_first(part.values, len(part.axes) - 2, landmarks))
            for name, part in parts.items()
        }
    parts["belief.suffered"] = total(state.suffered, "..")
    parts["belief.weight"] = total(state.weight, ".")
    if hasattr(state, "scaling"):
        parts |= take_scaling(state.scaling, sight)
    if mapped:
        parts |= take_map(state.map, sight, landmarks)
    return parts


def _take_diagonal(own: Known, before: Known, units: Affine, lead: str, axis: str) -> Parts:
    more, eta = own.P - before.P, own.eta - before.eta
    parts = {
        # P_j d_j²: what the rows say of a weight of raw features. η_j goes with one d_j.
        "belief.P": total(_finite(more[..., 1:] * units.known**2), lead + axis),
        "belief.P0": total(_finite(more[..., 0]), lead),
        "belief.eta": total(_finite(eta[..., 1:] * (units.unit * units.known)), lead + axis),
        # η of targets level + unit·ỹ: the level counts as often as P of the intercept.
        "belief.eta0": total(_finite(units.unit * eta[..., 0] + units.level * more[..., 0]), lead),
    }
    if units.centred:  # where the intercepts are
        # Σ P_i m_ij places the intercepts; as a pair, since M_j is subtracted from the mean of the m_ij later.
        P0, m = (own.P[..., :1] - before.P[..., :1]) + 0.0 * units.m, units.m + 0.0 * own.P[..., :1]
        parts["belief.places"] = total(tuple(map(_finite, two_product(P0, m))), lead + axis)
    return parts


def _take_full(own: Known, before: Known, units: Affine, lead: str, axis: str) -> Parts:
    more, eta = own.P - before.P, own.eta - before.eta
    # First from scaled targets to raw ones, then from scaled rows to raw ones.
    eta = units.unit * eta + units.level * more[..., 0]
    d = units.known
    corner, side, rest = more[..., 0, 0], more[..., 0, 1:] * d, more[..., 1:, 1:] * (d[:, None] * d)
    # T⁻¹PT⁻ᵀ in terms: a far centre makes them large, and exact sums let them cancel.
    side_terms, rest_terms = moved((corner,), (side,), (rest,), units.m)
    eta_terms, _ = moved((eta[..., 0],), (eta[..., 1:] * d,), (), units.m)
    return {
        "belief.P0": total(_finite(corner), lead),
        "belief.side": total(tuple(map(_finite, side_terms)), lead + axis),
        "belief.P": total(tuple(map(_finite, rest_terms)), lead + axis + axis),
        "belief.eta0": total(_finite(eta[..., 0]), lead),
        "belief.eta": total(tuple(map(_finite, eta_terms)), lead + axis),
    }


Terms = tuple[np.ndarray, ...]


def moved(corner: Terms, side: Terms, rest: Terms, m: np.ndarray) -> tuple[Terms, Terms]:
    """[1 0; m I] times a matrix, times its transpose: terms of its first row and of what is below. Without ``rest``,
    times a vector.
    """
    # Nothing to move, and no terms of zeros to add up.
    if not m.any():
        return side, rest
    sides, rests = list(side), list(rest)
    # side + corner·m.
    for c in corner:
        sides += two_product(c[..., None] + 0.0 * m, m + 0.0 * c[..., None])
    if rest:
        # rest + m·sideᵀ + side·mᵀ: the broadcast covers both.
        for b in side:
            for across in (b[..., None, :], b[..., :, None]):
                along = m[:, None] if across.shape[-2] == 1 else m
                sheet = np.zeros(rest[0].shape)
                rests += two_product(across + sheet, along + sheet)
        # … + corner·m·mᵀ.
        for product in two_product(m[:, None] + 0.0 * m, m + 0.0 * m[:, None]):
            for c in corner:
                sheet = np.zeros(rest[0].shape)
                rests += two_product(c[..., None, None] + sheet, product + sheet)
    return tuple(sides), tuple(rests)


def _take_mean(own: Known, before: Known, units: Units, lead: str, axis: str) -> Parts:
    """The mean of the iterates since the start, of raw rows."""
    means, weight = since(own.mean, own.rows, before.mean, before.rows), own.rows - before.rows
    # Units take features first.
    W, b = units.raw(np.moveaxis(means[..., 1:], -1, 0), means[..., 0])
    return {
        "belief.mean": pooled(np.moveaxis(W, 0, -1), lead + axis, weight),
        "belief.mean0": pooled(b, lead, weight),
    }


def _first(values: Any, axes: int, n: int) -> Any:
    """Values whose last axes end at n: what is behind is 0."""
    if isinstance(values, tuple):
        return tuple(_first(one, axes, n) for one in values)
    # Set to 0, and not cut off: all states of a rule have the same shape.
    for axis in range(values.ndim - axes, values.ndim):
        keep = np.arange(values.shape[axis]) < n
        values = values * keep.reshape([-1 if k == axis else 1 for k in range(values.ndim)])
    return values


def _finite(values: np.ndarray) -> np.ndarray:
    # Exact sums take finite numbers only.
    found: np.ndarray = np.nan_to_num(values, nan=0.0, posinf=LARGEST_DOUBLE, neginf=-LARGEST_DOUBLE)
    return found


# Put together ----------------------------------------------------------------------------------------------------


def put(state: Any, params: Any, values: Mapping[str, Value], sight: Sight) -> Any:
    if hasattr(state, "scaling"):
        put_scaling(state.scaling, values)
    if hasattr(state, "map"):
        put_map(state.map, values)
    features = values["belief.eta"].high.shape[2]
    problems, n = values["belief.eta"].high.shape[0], 1 + features
    start = start_of(state, params, sight.base, width_of(state))
    # The start may have had one problem where the mixture has several.
    chosen = problems_of(start, sight)
    before = known_of(start, features, chosen if chosen.start else slice(0, problems), 1.0)
    units = Units(state, features, params.bias)
    found = _put_full if before.P.ndim == 4 else _put_diagonal
    W, S = found(before, values, Affine(units, features, params.bias))
    state.W[:problems, :, :n] = W
    state.S[:problems, :, : S.shape[2], :n] = S
    if params.average:
        rows = rows_of(state)
        later, later0 = units.scaled(np.moveaxis(values["belief.mean"].high, -1, 0), values["belief.mean0"].high)
        means = np.concatenate([later0[..., None], np.moveaxis(later, 0, -1)], axis=-1)
        # The lag again: rows·(w − w̄).
        state.U[:problems, :, :n] = rows * (W - joined(means, rows, before.mean, before.rows))
    state.suffered[...] = np.maximum(values["belief.suffered"].high, 0.0)
    state.weight[...] = np.maximum(values["belief.weight"].high, 0.0)
    if state.W.shape[1] > 1:
        # Fewest mistakes first, then the smallest loss.
        loss, mistakes = state.suffered
        state.choice[0] = np.lexsort((loss, mistakes))[0]
    return state


def _put_diagonal(before: Known, values: Mapping[str, Value], units: Affine) -> tuple[np.ndarray, np.ndarray]:
    P, eta = before.P.copy(), before.eta.copy()
    # Rows only add to precision; a negative difference is rounding.
    more = np.maximum(values["belief.P0"].high, 0.0)
    # Back into the mixture's units: P_j/d_j², η_j/d_j.
    P[..., 1:] += np.maximum(values["belief.P"].high, 0.0) / units.d**2
    P[..., 0] += more
    eta[..., 1:] += values["belief.eta"].high / (units.unit * units.d)
    eta[..., 0] += (values["belief.eta0"].high - units.level * more) / units.unit
    # μ = P⁻¹η of a diagonal.
    W = eta / P
    if units.centred:  # what is far from 0 cancels feature by feature
        # Σ_i P_i (m_ij − M_j) for each feature, from pairs: the two terms nearly cancel.
        high, low = two_product(more[..., None] + 0.0 * units.m, units.m + 0.0 * more[..., None])
        places = values["belief.places"]
        apart = (places.high - high) + (places.low - low)
        # The intercept with which the mixture's weights give the same scores at the partitions' centres.
        W[..., 0] -= (W[..., 1:] * (apart / units.d)).sum(axis=-1) / P[..., 0]
    return W, (1.0 / P)[:, :, None]


def _put_full(before: Known, values: Mapping[str, Value], units: Affine) -> tuple[np.ndarray, np.ndarray]:
    corner, side, rest, eta0, eta = (_terms(values[f"belief.{name}"]) for name in ("P0", "side", "P", "eta0", "eta"))
    # T with −m undoes the centre, after everything has been added up.
    side, rest = moved(corner, side, rest, -units.m)
    eta, _ = moved(eta0, eta, (), -units.m)
    more = np.zeros(before.P.shape)
    more[..., 0, 0] = corner[0]
    # Symmetric by construction.
    more[..., 0, 1:] = more[..., 1:, 0] = _summed(side) / units.d
    more[..., 1:, 1:] = _summed(rest) / (units.d[:, None] * units.d)
    pulls = np.concatenate([eta0[0][..., None], _summed(eta) / units.d], axis=-1)
    S = inverse(before.P + more)
    # No variance is above 1, that of the beginning, but for rounding
    # Scaled back by rows and columns alike, so S stays symmetric.
    less = 1.0 / np.sqrt(np.maximum(np.diagonal(S, axis1=-2, axis2=-1), 1.0))
    S = S * (less[..., :, None] * less[..., None, :])
    return np.einsum("kgij,kgj->kgi", S, before.eta + (pulls - units.level * more[..., 0]) / units.unit), S


def _terms(value: Value) -> Terms:
    return value.high, value.low


def _summed(terms: Terms) -> np.ndarray:
    found: np.ndarray = added(*(ExactSum.of(_finite(term)) for term in terms)).value()[0]
    return found


MERGE_BELIEFS = Mix(take, put)
MIXES = dict.fromkeys((Belief, ScaledBelief, MappedBelief), MERGE_BELIEFS)
