"""Probabilities after several passes of ``fit``: from the scores of rows that were held out.

The model that predicts has then learned every row, so its scores of these rows are too sure; and the scores that rows
had in the first pass are those of another model, whose scores are smaller. So the rows are split in two halves, each
with its share of every class, and a model learns one half as the model that predicts has learned them all: with its
settings, seed, features and passes. It scores the other half, and is calibrated by these pairs of scores and labels
instead of those of the first pass. With fewer than 4,096 rows the halves change places, so that every row is held out
once; with more, one half is enough.

Where several candidates learn side by side, the one that predicts is the same as in the model that predicts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aggro.engine.monitor.calibration import FOURTH_BLOCKS_FROM
from aggro.engine.monitor.drift import LEAD_SIZE
from aggro.engine.monitor.observer import calibrate
from aggro.engine.random import permutation
from aggro.engine.rule import RULES
from aggro.learners.model.features import frozen
from aggro.learners.model.row_blocks import blocks, taken

if TYPE_CHECKING:
    from aggro.learners.model.model import Model

FEWEST = 16  # rows, for halves from which something can be learned


def calibrate_held_out(learner: Any, model: Model, rows: Any, targets: np.ndarray, weights: np.ndarray) -> None:
    """Calibrate a model that has learned these rows, and no others, in ``model.n_iter`` passes."""
    # Rows of weight 0, and of classes with weight 0, were not learned and cannot be held out.
    _, codes, given, _ = learner._encode(model.labels, targets, weights)
    codes = codes.astype(np.int64)
    learned = np.flatnonzero(given) if given.shape[0] else np.arange(targets.shape[0])
    # Both halves need a row of each of two classes at least.
    enough = np.bincount(codes[learned], minlength=1) > 1
    if learned.shape[0] < FEWEST or enough.sum() < 2:
        return  # the pairs of the first pass are all there is
    # Without a ``random_state`` the halves are always the same, as the order of rows is: a fit can be repeated.
    seed = 0 if learner.random_state is None else model.seed
    # Mixed first and then sorted by class, stably: every second row of it has its share of every class.
    mixed = learned[permutation(learned.shape[0], np.uint64(seed))]
    mixed = mixed[np.argsort(codes[mixed], kind="stable")]
    halves = mixed[::2], mixed[1::2]
    # From 4,096 rows on one half has pairs enough, and the second round would cost as much as the first.
    turns = (halves, halves[::-1]) if learned.shape[0] < FOURTH_BLOCKS_FROM else (halves,)
    held_out = np.concatenate([scored for _, scored in turns])
    leads = np.concatenate(
        [
            leads_of(learner, taught(learner, model, rows, targets, weights, half), model, rows, scored)
            for half, scored in turns
        ]
    )
    tally = model.state.tally
    if tally.sums[LEAD_SIZE] > 0.0:  # the unit of leads where several candidates learn
        # Classes that the half did not know have no lead, and do not count for the size.
        sizes = np.abs(leads).max(axis=1, initial=0.0, where=~np.isnan(leads))
        tally.sums[LEAD_SIZE] = sizes.mean() or 1.0
        leads /= tally.sums[LEAD_SIZE]
    # In place of the pairs of the first pass.
    calibrate(tally, leads, codes[held_out], model.costs(model.labels))


def taught(learner: Any, model: Model, rows: Any, targets: np.ndarray, weights: np.ndarray, which: np.ndarray) -> Model:
    """A model that has learned some of the rows as ``model`` has learned all of them."""
    # The same seed and width, so that the half learns with the same random parts as the model.
    fresh: Model = learner._new_model(model.width, model.seed)
    fresh.features = model.features
    shuffles, seed = learner._shuffles(fresh, None)
    # Rows in their order of time: only ``shuffle`` may change it.
    which = np.sort(which)
    for epoch in range(model.n_iter):
        # The order of each pass is drawn as in ``fit``, from the seed and the pass number.
        order = which[permutation(which.shape[0], seed + np.uint64(epoch))] if shuffles else which
        fresh.begin_pass(epoch)
        learner._begin_pass(fresh, epoch)
        learner._learn(fresh, rows, targets, weights, frozen(order), fresh.state, fresh.labels)
    learner._settle(fresh)
    # Candidates that compete: the one that predicts must be that of the model, or the scores would be of another scale.
    choice: Any = getattr(fresh.state, "choice", None)
    chosen: Any = getattr(model.state, "choice", None)
    if choice is not None and type(fresh.state) is type(model.state) and choice.shape == chosen.shape:
        choice[:] = chosen
    return fresh


def leads_of(learner: Any, fresh: Model, model: Model, rows: Any, which: np.ndarray) -> np.ndarray:
    """How far the score of each class is above those of all others, for some of the rows; NaN for unknown classes.

    The classes are numbered as ``model`` numbers them.
    """
    view = fresh.view()
    scores = np.empty((which.shape[0], RULES[type(view.state)].columns(view.state)))
    # Block by block, so that the copies of held-out rows stay in the cache.
    for first, last in blocks(rows, 0, which.shape[0]):
        learner._score_rows(view, taken(rows, which, first, last), scores[first:last])
    # A single score f stands for −f and f.
    if scores.shape[1] == 1:
        scores = np.hstack([-scores, scores])
    leads = np.full((which.shape[0], len(model.labels.codes)), np.nan)
    # A class may be missing in the half, and numbers follow the order of appearance: match classes by label.
    known = list(fresh.labels.codes.items())
    for label, code in known:
        others = [scores[:, other] for _, other in known if other != code]
        if others:
            leads[:, model.labels.codes[label]] = scores[:, code] - np.max(others, axis=0)
    return leads
