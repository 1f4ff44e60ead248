"""What a classifier says of a row, from its scores: decisions, the label, probabilities."""

from __future__ import annotations

import numpy as np

from aggro.export.graph import INT, Graph, Value
from aggro.export.stages import linear
from aggro.learners.base.answers import Classes, Curves
from aggro.learners.base.formula import Linear

HAIR = 1e-8  # as in ``learners.base.probabilities``; runtimes leave a factor out that is 1 in float32


def write_classes(g: Graph, rows: Value, scores: Value, classes: Classes) -> None:
    """The outputs of a classifier."""
    decision = linear(g, scores, classes.decision)
    columns = classes.decision.weights.shape[1]
    g.output("label", label(g, rows, decision, classes, columns))
    if columns == 1 and classes.names.shape[0] <= 2:
        g.output("scores", column(g, decision))
    else:
        g.output("scores", decision, columns)
    g.part = "probabilities"
    g.output("probabilities", probabilities(g, scores, classes), classes.names.shape[0])


def column(g: Graph, value: Value) -> Value:
    """The only column."""
    return g.op("Squeeze", value, g.shape(1))


def label(g: Graph, rows: Value, decision: Value, classes: Classes, columns: int) -> Value:
    """The name of the class that wins."""
    # With one class seen there is no decision yet: it wins everywhere.
    if classes.seen.sum() == 1:
        winner = zeros(g, rows)
        names = classes.names[classes.seen]
    elif columns == 1:
        winner = g.cast(g.op("GreaterOrEqual", column(g, decision), np.zeros(1)), INT)
        names = classes.names
    else:
        if not classes.seen.all():
            # Reserved classes that no row had cannot win.
            decision = g.op("Add", decision, np.where(classes.seen, 0.0, -np.inf))
        winner = g.op("ArgMax", decision, dtype=INT, axis=1, keepdims=0)
        names = classes.names
    held = g.constant(names, kind_of(names))
    return g.op("Gather", held, winner, dtype=held.dtype, axis=0)


def zeros(g: Graph, rows: Value) -> Value:
    """A 0 for each row."""
    n = g.op("Slice", g.op("Shape", rows, dtype=INT), g.shape(0), g.shape(1))
    return g.op("Expand", g.shape(0), n)


def kind_of(names: np.ndarray) -> np.dtype:
    """The type of labels in a graph: texts, whole numbers, truth values or numbers as they are."""
    if names.dtype.kind == "U":
        return np.dtype(object)
    if names.dtype.kind == "O":
        raise ValueError("The classes are whole numbers beyond 2^63, which ONNX does not have. Use texts instead.")
    return INT if names.dtype.kind == "i" else names.dtype


def probabilities(g: Graph, scores: Value, classes: Classes) -> Value:
    """The probability of each class, by its name."""
    curves, order = classes.curves, Linear(classes.order, np.zeros(classes.order.shape[1]))
    if curves is None:  # the only class has all
        # 0·score + 1 gives a 1 for each row, in the right shape.
        one = g.op("Add", g.op("Mul", g.op("ReduceMin", scores, axes=[1], keepdims=1), np.zeros(1)), np.ones(1))
        return linear(g, one, order)
    if curves.leads is not None:
        # Two classes have one lead; the share of the first is what the second leaves.
        lead = linear(g, scores, Linear(curves.leads / curves.spread, np.zeros(1)))
        own = heights(g, lead, curves)
        shares = g.op("Concat", g.op("Sub", np.ones(1), own), own, axis=1)
        best = g.op("Concat", g.op("Not", positive(g, lead)), positive(g, lead), axis=1)
    else:
        shares, best = of_several(g, scores, curves)
    return linear(g, agreed(g, shares, best) if curves.agree else shares, order)


def positive(g: Graph, value: Value) -> Value:
    return g.op("Greater", value, np.zeros(1))


def of_several(g: Graph, scores: Value, curves: Curves) -> tuple[Value, Value]:
    """The shares of three classes or more, and which one has the best score."""
    live = curves.lines.shape[0]
    best = g.op("Equal", g.op("ArgMax", scores, dtype=INT, axis=1, keepdims=1), np.arange(live))
    divided = scores if curves.spread == 1.0 else g.op("Div", scores, np.full(live, curves.spread))
    first = g.op("ReduceMax", divided, axes=[1], keepdims=1)
    second = g.op("ReduceMax", g.op("Where", best, np.full(1, -np.inf), divided), axes=[1], keepdims=1)
    # A class's lead is over the best of the others: the second for the winner, the first for all others.
    lead = g.op("Sub", divided, g.op("Where", best, second, first))
    shares = heights(g, lead, curves)
    total = g.op("ReduceSum", shares, g.shape(1), keepdims=1)
    # If all shares are 0, each class gets the same.
    return g.op("Where", positive(g, total), g.op("Div", shares, total), np.full(1, 1.0 / live)), best


def heights(g: Graph, lead: Value, curves: Curves) -> Value:
    """The curve of each lead at its place."""
    # A sigmoid for each class, or broken lines.
    if not curves.knots:
        bent = g.op("Add", g.op("Mul", lead, curves.lines[:, 0]), curves.lines[:, 1])
        return g.op("Sigmoid", bent)
    pieces = max(knots.shape[0] for knots, _ in curves.knots) - 1
    starts, ends, slopes = np.zeros((3, len(curves.knots), max(pieces, 1)))
    for k, (knots, values) in enumerate(curves.knots):  # each piece of a line adds what the lead has of it
        n = knots.shape[0] - 1
        starts[k, :n], ends[k, :n], slopes[k, :n] = knots[:-1], knots[1:], np.diff(values) / np.diff(knots)
    # The lead clipped to each piece, less its start: how far it has come within it.
    inside = g.op("Min", g.op("Max", g.op("Unsqueeze", lead, g.shape(2)), starts), ends)
    risen = g.op("ReduceSum", g.op("Mul", g.op("Sub", inside, starts), slopes), g.shape(2), keepdims=0)
    return g.op("Add", risen, np.array([values[0] for _, values in curves.knots]))


def agreed(g: Graph, shares: Value, best: Value) -> Value:
    """The class with the best score has the highest probability, by a hair where it had not."""
    most = g.op("ReduceMax", shares, axes=[1], keepdims=1)
    own = g.op("ReduceSum", g.op("Where", best, shares, np.zeros(1)), g.shape(1), keepdims=1)
    # Only rows in which the best score lacks the highest share are changed, and normalised again.
    lower = g.op("Less", own, most)
    more = g.op("Add", most, g.op("Mul", most, np.array(HAIR)))
    changed = g.op("Where", best, more, shares)
    total = g.op("ReduceSum", changed, g.shape(1), keepdims=1)
    return g.op("Where", lower, g.op("Div", changed, total), shares)
