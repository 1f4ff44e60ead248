"""What a learner has learned as a formula: stages through which rows go, each a matrix in and a matrix out.

A learner says what its scores are by ``_formula``, in numbers alone, so that what writes models for other programs
(``aggro.export``) knows stages, and no family. Most families need no stage of their own: a linear one is ``Linear``,
behind ``Scaled`` where rows are scaled; a feature map is a stage and ``Linear`` behind it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from aggro.engine.scaling import AUTO, STANDARD, STILL, Scaling
from aggro.learners.shared.scaled import unit_of


class NoFormula(ValueError):
    """What a model answers with cannot be said in numbers alone."""


class Scaled(NamedTuple):
    """Rows scaled with themselves counted, as ``engine.scaling`` says; of features, each an entry of the arrays.

    With t rows counted, n of them not 0, their mean m over all t and their squared deviations from it S::

        g = x − m,   v = (S + g²·t/(t + 1))/(t + 1),   standard: g·t/(t + 1)/√v
        s = (S + m²t + x²)/(n + 1[x ≠ 0]),             rms: x/√s
    """

    mode: int  # of ``engine.scaling.Scale``
    rows: np.ndarray  # t
    counts: np.ndarray  # n
    means: np.ndarray
    squares: np.ndarray  # S
    missing: bool = False  # NaN is a value that is missing: 0 when scaled, and behind all columns one for each says so

    def by_deviation(self) -> np.ndarray:
        """Features that are standardised whatever the row is."""
        if self.mode == AUTO:
            return np.asarray(4.0 * self.counts >= self.rows + 1.0)
        return np.full(self.counts.shape, self.mode == STANDARD)

    def by_root(self) -> np.ndarray:
        """Features that are divided by their root mean square whatever the row is."""
        if self.mode == AUTO:
            return np.asarray(4.0 * (self.counts + 1.0) < self.rows + 1.0)
        return ~self.by_deviation()


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

    Distances are in the deviations of the row's features, itself counted.
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
    """How the first n features are scaled."""
    counts, means, squares = scaling.moments[:, :n]
    rows = np.full(n, float(scaling.facts[1]))
    share = counts / np.maximum(rows, 1.0)  # 1 to the bit where no row has lacked the feature
    apart = squares + means * means * counts * (1.0 - share)
    return Scaled(int(scaling.facts[0]), rows, counts.copy(), means * share, apart)


def behind_scaling(state: Any, n: int, scores: Formula) -> Formula:
    """The stages of scores, between what scales the rows of this state and what scales its targets, if anything."""
    scaling = getattr(state, "scaling", None)
    if scaling is None:
        return scores
    target = as_target(unit_of(scaling), scaling.target[1]) if scaling.target.shape[0] else ()
    before = (scaled_by(scaling, n),) if scaling.facts[0] else ()  # rows that are mapped may be as they come
    return (*before, *scores, *target)


def as_target(unit: float, mean: float) -> Formula:
    """From scores to numbers in units of the targets."""
    return (Linear(np.array([[float(unit)]]), np.array([float(mean)])),)


def standardised_by(moments: np.ndarray, measured: int, n: int) -> Scaled:
    """How the first n features are standardised by means and squared deviations over so many rows."""
    rows = np.full(n, float(measured))
    return Scaled(STANDARD, rows, rows, moments[0, :n].copy(), moments[1, :n].copy())


def columns_kept(kept: np.ndarray) -> Formula:
    """These columns alone; nothing to do where that is all of them."""
    return () if kept.all() else (Linear(np.eye(kept.shape[0])[:, kept], np.zeros(int(kept.sum()))),)


def scaled_rows(stage: Scaled, X: np.ndarray) -> np.ndarray:
    """Rows as the stage has them; none of their values is missing."""
    gaps, rest = X - stage.means, stage.rows / (stage.rows + 1.0)
    variance = (stage.squares + gaps * gaps * rest) / (stage.rows + 1.0)
    power = (stage.squares + stage.means**2 * stage.rows + X * X) / np.maximum(stage.counts + (X != 0.0), 1.0)
    centred = np.where(X != 0.0, ~stage.by_root(), stage.by_deviation())
    above, square = np.where(centred, gaps * rest, X), np.where(centred, variance, power)
    return np.where(square > STILL, above / np.sqrt(np.maximum(square, STILL)), 0.0)


def joined(formula: Formula) -> Formula:
    """The same with neighbours that are linear made one."""
    stages: list[Stage] = []
    for stage in formula:
        before = stages[-1] if stages else None
        if isinstance(stage, Linear) and isinstance(before, Linear):
            weights = before.weights @ stage.weights
            stages[-1] = Linear(weights, before.intercepts @ stage.weights + stage.intercepts)
        else:
            stages.append(stage)
    return tuple(stages)
