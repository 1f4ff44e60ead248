"""Batch conversion: an online learner that is shown the rows of a fixed set until every loss is small.

Present any row with ℓ² > δ to the learner, and do so until none is left (Crammer et al. 2003, section 4). Each such row
brings w nearer to every u that has no loss, by more than a fixed amount, so if there is such a u it ends: after at most
B‖u − w₁‖²/δ updates with ``step="pa"``, and ``theory.theorems.most_updates`` has the same argument for ``pa1`` and
``pa2``. Where there is none it may go on for ever, even if some w has every ℓ² ≤ δ.

Rows are presented in one of two orders. ``cyclic`` goes round the rows; a round costs O(non-zeros of X).
``largest`` presents the row whose loss is largest; where δ is small that takes fewer updates, and each of them costs a
scoring of all rows, again O(non-zeros of X). Both are compiled, and serve every rule.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggro.engine.monitor.observer import observer
from aggro.engine.passes import run
from aggro.engine.rule import LIVE, SEEN, UPDATES
from aggro.engine.steps import Step
from aggro.engine.watched_passes import cycle, largest_first, worst
from aggro.learners.base.entered import check_rows, entered, state_with_room
from aggro.learners.base.inside import check_params, give_model
from aggro.learners.base.learner import Learner
from aggro.learners.base.params import Number
from aggro.learners.model.features import frozen
from aggro.learners.model.model import NO_ORDER, NO_WEIGHTS, size_of
from aggro.learners.registry import OWN
from aggro.learners.uniclass.rule import Ball
from aggro.theory.comparators import as_vector
from aggro.theory.find_comparator import nearest_without_loss
from aggro.theory.problems import Classification
from aggro.theory.setting import Additive, NotCovered, Setting, as_matrix, setting_of, vector
from aggro.theory.theorems import most_updates

GUARANTEED = ("pa", "pa1", "pa2")
BYTES_A_CALL = 2**26  # read in one compiled call, so that it can be interrupted


@dataclass(frozen=True, eq=False)
class Conversion:
    """How a batch conversion went.

    Attributes
    ----------
    estimator : learner
        The one that was given, fitted.
    converged : bool
        Whether every row has ℓ² ≤ δ now.
    n_updates : int
        Rows that were presented and moved the weights.
    limit : float or None
        More updates than this there cannot be, as long as there is the u that it was computed for; None if no
        limit is known.
    note : str
        Where the limit comes from, or why there is none.
    largest : float
        The largest ℓ² that is left.
    message : str
        The outcome in words; what was warned of if it did not converge.
    """

    estimator: Any
    converged: bool
    n_updates: int
    limit: float | None
    note: str
    largest: float
    message: str


def fit_until(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    loss: float,
    order: str = "cyclic",
    max_updates: int = 1_000_000,
    comparator: Any = None,
) -> Conversion:
    """Fit by batch conversion: show the learner rows with ℓ² > δ until none is left.

    The estimator is fitted in place, from where ``fit`` would start (nothing, or with ``warm_start`` what was
    learned); ``max_iter``, ``tol`` and ``shuffle`` play no part. Its ``n_seen_`` counts the rows that were presented.
    What else there is to say is in the report that is returned, and not in attributes of the estimator, since it is
    about this call and would be wrong after the next ``partial_fit``.

    Parameters
    ----------
    estimator : learner
        A learner of this library with ``step`` "pa", "pa1" or "pa2" and ``average=False``; of detectors with a given
        ``epsilon``.
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The rows.
    y : array of shape (n_samples,)
        Their targets.
    loss : float
        δ > 0, the largest **squared** loss that a row may keep.
    order : {"cyclic", "largest"}, default="cyclic"
        Go round the rows, or always present the one with the largest loss. "largest" needs fewer updates
        where δ is small, each of which costs as much as a round.
    max_updates : int, default=1_000_000
        Stop after this many. Where no vector has loss 0 on all rows, this may be the only end.
    comparator : array, (array, float), fitted model or "best", default=None
        The u of the limit. "best" is the one without loss that is nearest to the start (not for multiplicative
        learners). None takes, for two classes, the separator that was found, which costs nothing but gives a
        larger limit.

    Returns
    -------
    report : Conversion
        The estimator, whether it converged, the number of updates and the theorem's limit.

    Warns
    -----
    ConvergenceWarning
        If rows with ℓ² > δ are left.

    Examples
    --------
    >>> from aggro import fit_until
    >>> from aggro.published import PAClassifier
    >>> X, y = [[2.0, 1.0], [-1.0, -2.0], [1.0, 0.0], [0.0, -1.0]], [1, -1, 1, -1]
    >>> report = fit_until(PAClassifier(step="pa", fit_intercept=False), X, y, loss=0.01, comparator="best")
    >>> report.converged, report.n_updates, round(report.limit)
    (True, 4, 1000)
    >>> report.estimator.coef_.round(1).tolist()
    [[1.0, 1.0]]
    """
    check(estimator, loss, order, max_updates)
    delta, most = float(loss), int(max_updates)
    given = entered(estimator, X, y)
    check_rows(estimator, given)
    model, rows, labels = given.model, given.rows, given.labels
    # Learners without a theorem are fitted all the same; only the limit is missing.
    setting, note = None, ""
    try:
        setting = setting_of(estimator, model.state, model.features.n, as_matrix(rows), labels, given.codes)
    except NotCovered as refusal:
        # Who gives a comparator wants the limit, so the refusal goes to the user.
        if comparator is not None:
            raise
        note = str(refusal)
    u = None
    if setting is not None:
        u, note = chosen(comparator, setting)

    # The state needs room for all classes at once: each of them may be the first to be presented.
    state, params = state_with_room(estimator, given)
    state.tally.rows[LIVE] = len(labels.codes)  # all the classes are there from the start
    codes = frozen(given.codes)
    if isinstance(state, Ball) and state.tally.rows[SEEN] == 0:
        # The first row is the first centre.
        run(state, params, rows, codes, NO_WEIGHTS, NO_ORDER, 0, 1, NO_WEIGHTS, False, observer(False))
    before = int(state.tally.rows[UPDATES])
    model.n_iter = present(state, params, rows, codes, delta, order, most)
    # Looked at afresh after the last update, and not taken from what the passes saw on the way.
    row, left, _ = worst(state, params, rows, codes)
    converged = bool(left * left <= delta)
    model.swap(state, params, labels, model.width)
    give_model(estimator, model)

    # A learner that has converged separates the rows, so its own vector can serve as u.
    if comparator is None and setting is not None and converged:
        u, note = separator(state, setting)
    limit = None
    if u is not None and setting is not None:
        limit, note = limit_of(estimator, setting, u, delta, note)
    n_updates = int(state.tally.rows[UPDATES]) - before
    message = outcome(converged, n_updates, most, limit, delta, int(row), float(left))
    if not converged:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(message, ConvergenceWarning, stacklevel=2)
    return Conversion(estimator, converged, n_updates, limit, note, float(left * left), message)


def check(estimator: Any, loss: Any, order: Any, max_updates: Any) -> None:
    """Refuse what the conversion cannot do, before anything is learned."""
    if not isinstance(estimator, Learner):
        raise TypeError(f"fit_until takes a learner of this library, got {type(estimator).__name__}.")
    check_params(estimator)
    if not Number(0.0, open_low=True).accepts(loss):
        raise ValueError(f"loss is δ, the squared loss that a row may keep: a number above 0, got {loss!r}.")
    if order not in ("cyclic", "largest"):
        raise ValueError(f"order must be 'cyclic' or 'largest', got {order!r}.")
    if not Number(1, integer=True).accepts(max_updates):
        raise ValueError(f"max_updates must be an int of at least 1, got {max_updates!r}.")
    if type(estimator).__name__ in OWN:
        raise ValueError(
            f"fit_until presents rows to the library's own learners, and {type(estimator).__name__} is from outside. "
            "Use fit with max_iter."
        )
    settings = estimator.__dict__
    # Each refusal below is a setting under which steps do not bring w nearer to every u without loss.
    if settings.get("batch_size", 1) > 1:
        size = settings["batch_size"]
        raise ValueError(f"fit_until presents one row at a time, so batch_size must be 1, got {size}.")
    if settings.get("epsilon") == "auto":
        raise ValueError("fit_until needs a radius that stays as it is: give epsilon as a number, not 'auto'.")
    if "prototype" in settings:
        raise ValueError(
            "fit_until needs steps that only bring rows nearer to their targets, and those of PAMeansClassifier also "
            "go towards the prototype. Use fit with max_iter."
        )
    if "kernel" in settings or "n_units" in settings:
        raise ValueError(
            "fit_until is about linear learners, whose losses a step makes smaller for good: "
            f"{type(estimator).__name__} is none. Use fit with max_iter."
        )
    # A row that is scaled otherwise each time has no fixed loss.
    if settings.get("scale"):
        raise ValueError(
            f"fit_until needs rows that stay as they are, and scale={settings['scale']!r} changes them as more come. "
            "Set scale=None, or take the learner from aggro.published."
        )
    if (features := getattr(estimator, "features", None)) is not None:
        raise ValueError(f"fit_until is about rows as they come: leave features out, got {features!r}.")
    step = settings.get("step", "pa")
    if step == "ogd":
        raise ValueError("fit_until needs a step that grows with the loss, and 'ogd' is one of fixed size.")
    if step not in GUARANTEED:
        raise ValueError(
            f"fit_until needs a step that brings every row nearer to its target, and step={step!r} also moves where "
            "there is no loss. Set step to 'pa', 'pa1' or 'pa2'."
        )
    # The argument bounds the updates of the iterate; its mean may still have losses.
    if settings.get("average"):
        raise ValueError("fit_until makes the losses of the last iterate small, not of their mean. Set average=False.")
    if settings.get("class_weight") is not None:
        raise ValueError("fit_until brings every row to ℓ² ≤ δ, whatever its weight. Set class_weight=None.")


def present(state: Any, params: Any, rows: Any, codes: np.ndarray, delta: float, order: str, max_updates: int) -> int:
    """Learn rows with ℓ² > δ until there is none, nothing moves, or there were ``max_updates``.

    Returns how often all rows were looked at.
    """
    looks, left = 0, max_updates
    # Compiled code does not see an interrupt, so each call reads a bounded amount.
    a_call = max(1, BYTES_A_CALL // max(1, size_of(rows)))
    while left:
        if order == "cyclic":
            learned, moved, _ = cycle(state, params, rows, codes, NO_WEIGHTS, NO_ORDER, delta, left, observer(False))
            looks, done = looks + 1, learned == 0
        else:
            room = min(left, a_call)
            learned, moved, _ = largest_first(
                state, params, rows, codes, NO_WEIGHTS, NO_ORDER, delta, room, observer(False)
            )
            # One look at all rows for each update, and one more to find that none is left.
            looks, done = looks + int(learned) + (learned < room), learned < room
        left -= int(learned)
        # A row with a loss that no step moves, such as zeros, would be presented for ever.
        if done or not moved:
            break
    return looks


def chosen(comparator: Any, setting: Setting) -> tuple[np.ndarray | None, str]:
    """The u that was asked for, and where it comes from."""
    if comparator is None:
        return None, "no comparator was given"
    if not isinstance(comparator, str):
        return as_vector(comparator, setting), "for the comparator that was given"
    if comparator != "best" or not isinstance(setting, Additive):
        raise ValueError(f"The comparator {comparator!r} is unknown here: give the weights, or leave it out.")
    u = nearest_without_loss(setting.problem, setting.start)
    return u, "for the nearest vector without loss" if u is not None else "no vector without loss was found"


def separator(state: Any, setting: Setting) -> tuple[np.ndarray | None, str]:
    """For two classes, what was learned, made long enough to have no loss."""
    problem = setting.problem
    if not isinstance(problem, Classification) or not isinstance(setting, Additive):
        return None, "no comparator was given; give one" + ", or 'best'" * isinstance(setting, Additive)
    w = vector(state, problem, setting.sign)
    # The smallest margin of the learned w; any multiple of w separates as well.
    margin = -float(problem.discrepancies(w).max())
    if margin <= 0.0:
        return None, "δ is so large that the classes need not be separated, and no comparator was given"
    # Scaled up until even that row has the margin m; never scaled down.
    return w * max(1.0, -problem.edge / margin), "for the separator that was learned"


def limit_of(estimator: Any, setting: Setting, u: np.ndarray, delta: float, note: str) -> tuple[float | None, str]:
    """The most updates that there can be, for this u."""
    problem = setting.problem
    # ε − ε*: how far u stays below the edge; negative if it has a loss.
    gain = problem.edge - float(problem.discrepancies(u).max())
    limit = most_updates(Step[estimator.step.upper()], float(estimator.C), delta, gain, setting.geometry(u))
    if limit == np.inf:
        return None, f"the comparator has the loss {-gain:.6g}, and only one below √δ/2 = {delta**0.5 / 2:.6g} serves"
    return limit, note


def outcome(
    converged: bool, n_updates: int, most: int, limit: float | None, delta: float, row: int, left: float
) -> str:
    """What happened, in words."""
    times = f"{n_updates:,} update{'s' * (n_updates != 1)}" + ("" if limit is None else f" (at most {limit:,.0f})")
    if converged:
        return f"Every row has ℓ² ≤ {delta:g} after {times}."
    stopped = f"Stopped after {times}: row {row} still has ℓ² = {left * left:.6g} > {delta:g}"
    # It ended before the bound on updates: no step moved anything.
    if n_updates < most:
        return f"{stopped}, and it cannot be learned: no step moves it. Is it all zeros?"
    return (
        f"{stopped}. Perhaps no vector has loss 0 on all rows, and then this may never end. "
        "Allow more updates or a larger loss, or use fit."
    )
