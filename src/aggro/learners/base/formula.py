"""A learned model as a formula: stages through which rows pass, each from a matrix to a matrix.

A learner says what its scores are by ``_formula``, in numbers alone, so that what writes models for other programs
(``aggro.export``) knows stages, and no family. Most families need no stage of their own: a linear one is ``Linear``,
behind ``Scaled`` where rows are scaled; a feature map is a stage and ``Linear`` behind it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from aggro.engine.prepare.scaling import (
    AUTO_MODE,
    LARGEST_SCALED,
    NO_SCALING,
    RMS_MODE,
    SCALE_MODE,
    SCALED_ROWS,
    N,
    Scaling,
    of_features,
)
from aggro.learners.base.scaled import divisors, unit_of
from aggro.learners.maths.dense_row import inverse_deviations


class NoFormula(ValueError):
    """The model cannot be expressed in numbers alone."""


class Scaled(NamedTuple):
    """(x − centre)·factor, by column; factor 0 for what has not varied."""

    centres: np.ndarray
    factors: np.ndarray
    unseen: np.ndarray | None = None  # columns that no row learned has had, and whose values are ±1 then
    missing: bool = False  # NaN is a value that is missing: 0 when scaled, and behind all columns one for each says so


class Linear(NamedTuple):
    """x·W + b."""

    weights: np.ndarray  # (columns in, columns out)
    intercepts: np.ndarray  # (columns out,)


class KernelValues(NamedTuple):
    """k(x, z) for each row z that is kept."""

    kernel: str
    gamma: float
    coef0: float
    degree: int
    rows: np.ndarray  # (rows z, columns)


class KernelDistance(NamedTuple):
    """√(k(x, x) − 2f + c), f = Σ α_i k(x, z_i): how far a row is from a centre of norm √c in the kernel's space."""

    values: KernelValues
    coefficients: np.ndarray  # (rows z, 1)
    square: float


class Distance(NamedTuple):
    """‖(x − w)·σ·L‖: how far a row is from a centre. A column with σ = 0 adds ``unknown`` to the square if x ≠ w."""

    centre: np.ndarray
    scales: np.ndarray | None = None  # (columns,), where columns have units
    whitener: np.ndarray | None = None  # (columns, columns), where they are measured together
    unknown: float = 0.0


class UnitRows(NamedTuple):
    """x/‖x‖, behind a constant column where there is one; a row of zeros stays."""

    constant: float = 0.0


class LargestPieces(NamedTuple):
    """The largest of each unit's pieces: columns are piece by piece, and of each piece unit by unit."""

    pieces: int
    units: int


class Cosines(NamedTuple):
    """cos(x·Ω + φ) times a factor: Fourier features; a sine is the cosine a quarter of a turn behind."""

    frequencies: np.ndarray  # (columns in, columns out)
    phases: np.ndarray  # (columns out,)
    factor: float


class Sigmoids(NamedTuple):
    """1/(1 + exp(−(x·A/√m + b))), m the entries of x that are not 0."""

    weights: np.ndarray  # (columns in, units)
    intercepts: np.ndarray  # (units,)


class Places(NamedTuple):
    """z·W_k, where k is the prototype nearest to the row, and z the row standardised, perhaps of norm 1.

    Distances are in the deviations of the features.
    """

    scaled: Scaled | None  # how rows are standardised, if they are
    constant: float  # in front of z, if it is not 0
    normal: bool  # whether z is divided by its norm
    prototypes: np.ndarray  # (places, columns)
    weights: np.ndarray  # (places, columns of z, scores)


Stage = (
    Scaled | Linear | KernelValues | KernelDistance | Distance | UnitRows | LargestPieces | Cosines | Sigmoids | Places
)
Formula = tuple[Stage, ...]


def scaled_by(scaling: Scaling, n: int) -> Scaled:
    """The stage that scales the first n features as ``scaling`` does."""
    centres, divided = divisors(scaling, slice(0, n))
    mode, counts = of_features(int(scaling.facts[SCALE_MODE])), scaling.moments[N, :n]
    # Of features scaled by their root mean square, those never seen have factor 0, and are ±1 in the row (``unseen``).
    by_root = np.full(n, mode == RMS_MODE) if mode != AUTO_MODE else 4.0 * counts < scaling.facts[SCALED_ROWS]
    return Scaled(centres, 1.0 / divided, by_root & (counts == 0.0))


def scales_rows(scaling: Scaling) -> bool:
    """Whether features are scaled. Mapped rows, and rows whose targets alone are scaled, may be unscaled."""
    return bool(of_features(int(scaling.facts[SCALE_MODE])) != NO_SCALING)


def behind_scaling(state: Any, n: int, scores: Formula) -> Formula:
    """Put the stages of scores between those that scale the rows of this state and its targets, where it has any."""
    scaling = getattr(state, "scaling", None)
    if scaling is None:
        return scores
    # Scores in units of the target's deviation become numbers to predict in units of y.
    target = as_target(unit_of(scaling.target), scaling.target[1]) if scaling.target.shape[0] else ()
    before = (scaled_by(scaling, n),) if scales_rows(scaling) else ()
    return (*before, *scores, *target)


def as_target(unit: float, mean: float) -> Formula:
    """The stage that converts scores to the units of the targets."""
    return (Linear(np.array([[float(unit)]]), np.array([float(mean)])),)


def standardised_by(moments: np.ndarray, measured: int, n: int) -> Scaled:
    """The stage that standardises the first n features by means and squared deviations over ``measured`` rows."""
    return Scaled(moments[0, :n].copy(), inverse_deviations(moments[:, :n], measured))


def columns_kept(kept: np.ndarray) -> Formula:
    """The stage that selects columns; no stage if it keeps all of them."""
    return () if kept.all() else (Linear(np.eye(kept.shape[0])[:, kept], np.zeros(int(kept.sum()))),)


def scaled_rows(stage: Scaled, X: np.ndarray) -> np.ndarray:
    """Apply a scaling stage to rows without missing values."""
    # Cut as the compiled scaling does.
    Z: np.ndarray = (np.clip(X, -LARGEST_SCALED, LARGEST_SCALED) - stage.centres) * stage.factors
    return Z if stage.unseen is None else np.where(stage.unseen, np.sign(X), Z)


def joined(formula: Formula) -> Formula:
    """Simplify a formula: merge neighbouring linear stages into one."""
    stages: list[Stage] = []
    for stage in formula:
        before = stages[-1] if stages else None
        if isinstance(stage, Linear) and isinstance(before, Linear):
            # (x·A + a)·B + b = x·AB + (a·B + b)
            weights = before.weights @ stage.weights
            stages[-1] = Linear(weights, before.intercepts @ stage.weights + stage.intercepts)
        else:
            stages.append(stage)
    return tuple(stages)
