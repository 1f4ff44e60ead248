"""The stages of a formula (``learners.base.formula``) as operations of a graph: a function for each.

Rows are float32 unless asked otherwise. What would lose digits then is computed in float64 inside the graph: how rows
are scaled, norms, and distances.

A product of matrices has no factor beside it, but in the matrix: onnxruntime puts such a factor into the product as a
float32, whatever the type of the matrices is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aggro.engine.prepare.scaling import LARGEST_SCALED
from aggro.export.graph import BOOL, FLOAT32, FLOAT64, INT, Graph, Value
from aggro.learners.base.formula import (
    Cosines,
    Distance,
    KernelDistance,
    KernelValues,
    LargestPieces,
    Linear,
    Places,
    Scaled,
    Sigmoids,
    UnitRows,
)

DISTANCE_ROUNDING = 2.0**-22  # of a squared distance in float32, relative to the squared norms it is the difference of
LARGEST_KERNEL_ERROR = 1e-6  # an error of γ‖x − z‖² up to this is let be


def gaps(g: Graph, x: Value, centre: np.ndarray) -> Value:
    """x − c in float64. Where x is c rounded to float32 it was meant to be c: a column that never varies stays so."""
    wide = g.op("Sub", g.cast(x, FLOAT64), centre)
    if x.dtype != FLOAT32:
        return wide
    return g.op("Where", g.op("Equal", x, centre), np.zeros(1), wide)


def scaled(g: Graph, x: Value, stage: Scaled) -> Value:
    # Missing cells become the centre, which scales to 0, and are flagged in columns of their own.
    given, gone = x, g.op("IsNaN", x) if stage.missing else None
    if gone is not None:
        x = g.op("Where", gone, stage.centres, x)  # which is 0 when scaled
    if stage.centres.any() or (stage.factors != 1.0).any():
        # Scaled in float64, and rounded once at the end.
        x = g.cast(in_units(g, x, stage), given.dtype)
    return x if gone is None else g.op("Concat", x, g.cast(gone, x.dtype), axis=1)


def in_units(g: Graph, x: Value, stage: Scaled) -> Value:
    """The rows in deviations or root mean squares, in float64."""
    if x.dtype == FLOAT64:
        # Values beyond count as this, as in the learner; float32 holds none that large.
        x = g.op("Clip", x, np.array(-LARGEST_SCALED), np.array(LARGEST_SCALED))
    z = g.op("Mul", gaps(g, x, stage.centres), stage.factors)
    if stage.unseen is None or not stage.unseen.any():
        return z
    # A column that no row had takes the value ±1 the first time it comes, as the learner would scale it.
    return g.op("Where", g.constant(stage.unseen, BOOL), g.op("Sign", g.cast(x, FLOAT64)), z)


def linear(g: Graph, x: Value, stage: Linear) -> Value:
    if stage.weights.shape[0] == stage.weights.shape[1] and (stage.weights == np.eye(stage.weights.shape[0])).all():
        # The identity, as of learners whose scores are final already.
        product = x
    else:
        product = g.op("MatMul", x, stage.weights)
    return g.op("Add", product, stage.intercepts) if stage.intercepts.any() else product


def square_norm(g: Graph, x: Value) -> Value:
    """‖x‖² of each row, as a column."""
    return g.op("ReduceSumSquare", x, axes=[1], keepdims=1)


def kernel_values(g: Graph, x: Value, stage: KernelValues) -> Value:
    if stage.kernel == "rbf":
        return g.cast(radial(g, x, stage), x.dtype)
    if stage.kernel == "cosine":
        # A support vector of zeros has the cosine 0 with everything.
        norms = np.sqrt((stage.rows**2).sum(axis=1, keepdims=True))
        return g.op("MatMul", unit_rows(g, x, UnitRows()), (stage.rows / np.where(norms > 0.0, norms, 1.0)).T)
    return of_product(g, g.op("MatMul", x, factor(stage) * stage.rows.T), stage)


def factor(stage: KernelValues) -> float:
    """What x·z is multiplied by."""
    return 1.0 if stage.kernel == "linear" else stage.gamma


def of_product(g: Graph, product: Value, stage: KernelValues) -> Value:
    """The kernel, from γx·z; the linear one from x·z."""
    if stage.kernel == "linear":
        return product
    base = g.op("Add", product, np.array(stage.coef0))
    return g.op("Pow", base, np.array(stage.degree)) if stage.kernel == "poly" else g.op("Tanh", base)


def radial(g: Graph, x: Value, stage: KernelValues) -> Value:
    """exp(−γ‖x − z‖²), by the norms of what is left when the mean of the rows z is taken off."""
    # ‖x − z‖² = ‖x′‖² − 2x′·z′ + ‖z′‖² about the mean of the z: the terms that cancel are smaller there.
    centre = stage.rows.mean(axis=0) if stage.rows.shape[0] else np.zeros(stage.rows.shape[1])
    held = stage.rows - centre
    norms = (held**2).sum(axis=1)
    moved = g.op("Sub", g.cast(x, FLOAT64), centre)
    # float32 suffices if its rounding changes γ‖x − z‖² by less than the allowed error.
    if x.dtype == FLOAT32 and DISTANCE_ROUNDING * stage.gamma * norms.max(initial=0.0) <= LARGEST_KERNEL_ERROR:
        moved = g.cast(moved, FLOAT32)
    crossed = g.op("Add", g.op("MatMul", moved, -2.0 * held.T), norms)
    # Rounding may leave a negative squared distance.
    apart = g.op("Max", g.op("Add", crossed, square_norm(g, moved)), np.zeros(1))
    return g.op("Exp", g.op("Mul", apart, np.array(-stage.gamma)))


def kernel_distance(g: Graph, x: Value, stage: KernelDistance) -> Value:
    wide = g.cast(x, FLOAT64)  # all of it: near the centre what is left of large terms is small
    doubled = g.op("MatMul", kernel_values(g, wide, stage.values), -2.0 * stage.coefficients)
    if stage.values.kernel == "rbf":
        # ‖φ(x) − c‖² = k(x, x) − 2Σα k(x, z) + ‖c‖², and k(x, x) = 1 for rbf.
        square = g.op("Add", doubled, np.array(1.0 + stage.square))
    else:
        norm = square_norm(g, wide)
        if stage.values.kernel == "cosine":  # 1, and 0 for a row of zeros
            own = g.cast(g.op("Greater", norm, np.zeros(1)), FLOAT64)
        else:
            own = of_product(g, g.op("Mul", norm, np.array(factor(stage.values))), stage.values)
        square = g.op("Add", g.op("Add", doubled, own), np.array(stage.square))
    return g.cast(g.op("Sqrt", g.op("Max", square, np.zeros(1))), x.dtype)


def distance(g: Graph, x: Value, stage: Distance) -> Value:
    gap = gaps(g, x, stage.centre)
    if stage.scales is None:
        return g.cast(g.op("Sqrt", square_norm(g, gap)), x.dtype)
    turned = g.op("Mul", gap, stage.scales)
    if stage.whitener is not None:
        turned = g.op("MatMul", turned, stage.whitener)
    square = square_norm(g, turned)
    if (still := stage.scales == 0.0).any():
        # A column that never varied has no scale: a row that differs in it adds a fixed amount.
        moved = g.cast(g.op("Not", g.op("Equal", gap, np.zeros(1))), FLOAT64)
        square = g.op("Add", square, g.op("MatMul", moved, stage.unknown * still[:, None]))
    return g.cast(g.op("Sqrt", square), x.dtype)


def unit_rows(g: Graph, x: Value, stage: UnitRows) -> Value:
    wide = g.cast(x, FLOAT64)
    if stage.constant:
        # The constant is part of the row whose norm becomes 1.
        wide = g.op("Pad", wide, g.shape(0, 1, 0, 0), np.array(stage.constant))
    norm = g.op("Sqrt", square_norm(g, wide))
    some = g.op("Greater", norm, np.zeros(1))
    # A row of zeros stays as it is.
    return g.cast(g.op("Div", wide, g.op("Where", some, norm, np.ones(1))), x.dtype)


def largest_pieces(g: Graph, x: Value, stage: LargestPieces) -> Value:
    by_piece = g.op("Reshape", x, g.shape(0, stage.pieces, stage.units))
    return g.op("ReduceMax", by_piece, axes=[1], keepdims=0)


def cosines(g: Graph, x: Value, stage: Cosines) -> Value:
    ahead = stage.phases + 0.5 * np.pi  # a sine is there in float64 for longer than a cosine
    turned = g.op("Sin", g.op("Add", g.op("MatMul", x, stage.frequencies), ahead))
    return g.op("Mul", turned, np.full(stage.phases.shape, stage.factor))


def sigmoids(g: Graph, x: Value, stage: Sigmoids) -> Value:
    entries = g.cast(g.op("Not", g.op("Equal", x, np.zeros(1))), x.dtype)
    # Non-zero entries of the row, at least 1, as the learner counts them.
    count = g.op("Max", g.op("ReduceSum", entries, g.shape(1), keepdims=1), np.ones(1))
    risen = g.op("Div", g.op("MatMul", x, stage.weights), g.op("Sqrt", count))
    return g.op("Sigmoid", g.op("Add", risen, stage.intercepts))


def places(g: Graph, x: Value, stage: Places) -> Value:
    """The scores of all places, of which those of the nearest are kept."""
    n, columns, scores = stage.weights.shape
    z = x if stage.scaled is None else scaled(g, x, stage.scaled)
    if stage.normal:
        z = unit_rows(g, z, UnitRows(stage.constant))
    elif stage.constant:
        z = g.op("Pad", z, g.shape(0, 1, 0, 0), np.array(stage.constant))
    # All places in one product; the mask keeps those of the nearest.
    every = g.op("MatMul", z, stage.weights.transpose(1, 0, 2).reshape(columns, n * scores))
    here = g.op("Equal", g.op("ArgMax", nearness(g, x, stage), dtype=INT, axis=1, keepdims=1), np.arange(n))
    mask = g.op("Unsqueeze", g.cast(here, x.dtype), g.shape(2))
    kept = g.op("Mul", g.op("Reshape", every, g.shape(0, n, scores)), mask)
    return g.op("ReduceSum", kept, g.shape(1), keepdims=0)


def nearness(g: Graph, x: Value, stage: Places) -> Value:
    """−‖(x − p)/σ‖² for each prototype p, without what is the same for all of them."""
    if stage.scaled is None:
        product = g.op("MatMul", g.cast(x, FLOAT64), 2.0 * stage.prototypes.T)
        # −‖x − p‖² + ‖x‖² = 2x·p − ‖p‖²: the left-out ‖x‖² changes no order.
        return g.op("Sub", product, (stage.prototypes**2).sum(axis=1))
    moved = (stage.prototypes - stage.scaled.centres) * stage.scaled.factors
    gap = g.op("Mul", gaps(g, x, stage.scaled.centres), stage.scaled.factors)
    return g.op("Sub", g.op("MatMul", gap, 2.0 * moved.T), (moved**2).sum(axis=1))


WRITERS: dict[type, Callable[[Graph, Value, Any], Value]] = {
    Scaled: scaled,
    Linear: linear,
    KernelValues: kernel_values,
    KernelDistance: kernel_distance,
    Distance: distance,
    UnitRows: unit_rows,
    LargestPieces: largest_pieces,
    Cosines: cosines,
    Sigmoids: sigmoids,
    Places: places,
}


def write(g: Graph, x: Value, formula: tuple[Any, ...]) -> Value:
    """What comes of the rows when they have gone through all stages, each a part of the names."""
    for number, stage in enumerate(formula, 1):
        g.part = f"{number}_{type(stage).__name__}"
        x = WRITERS[type(stage)](g, x, stage)
    return x
