"""The theorems for learners: each learns the stream, and says what was proved about it.

All of them take an estimator of this library, which is not changed: a copy starts where ``fit`` would (from nothing,
or with ``warm_start`` from what was learned) and learns the rows once, in order. What a theorem does not cover is
refused.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from aggro.learners.base.inside import check_params
from aggro.learners.base.learner import Learner
from aggro.learners.linear.estimators import PAClassifier, PARegressor
from aggro.learners.multiplicative.estimators import Multiplicative
from aggro.learners.uniclass.estimator import PAUniclass
from aggro.theory.comparators import BETTER, as_vector, without_loss
from aggro.theory.entropy import STATEMENT
from aggro.theory.find_comparator import least_relative
from aggro.theory.result import Bound
from aggro.theory.theorems import compared, lemma_2, theorem_1, theorem_3
from aggro.theory.trial import Trial, learn

ADDITIVE = (PAClassifier, PARegressor, PAUniclass)
OTHER_STEP = " For step='pa2' see unrealizable_bound."


def realizable_bound(estimator: Any, X: Any, y: Any = None, comparator: Any = "best") -> Bound:
    """Theorem 1: Σℓ² + 2(ε − ε*)Σℓ ≤ B‖u − w₁‖², for ``step="pa"`` and any u without loss.

    ε is the learner's edge (−margin for a classifier, else epsilon), ε* the least that u would need.

    Parameters
    ----------
    estimator : learner
        ``PAClassifier``, ``PARegressor`` or ``PAUniclass`` with ``step="pa"``; a copy learns.
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The rows, in the order of the stream.
    y : array of shape (n_samples,)
        Their targets. Of two classes, the last in sorted order is the positive one.
    comparator : array, (array, float), fitted model or "best", default="best"
        u: weights, (weights, intercept), or a model with ``coef_`` and ``intercept_`` (or ``center_``), with loss 0
        on every row.
        "best" is the one nearest to w₁, found by cutting planes; the theorem holds for any.

    Returns
    -------
    bound : Bound
        Both sides after each row.

    Examples
    --------
    >>> from aggro import theory
    >>> from aggro.published import PAClassifier
    >>> X, y = [[2.0, 1.0], [-1.0, -2.0], [1.0, 0.0], [0.0, -1.0]], [1, -1, 1, -1]
    >>> bound = theory.realizable_bound(PAClassifier(step="pa", fit_intercept=False), X, y)
    >>> bound.holds, bound.comparator.weights.round(3).tolist(), round(bound.limit, 3)
    (True, [1.0, 1.0], 10.0)
    """
    trial, u = realized("Theorem 1", estimator, X, y, comparator)
    setting = trial.setting
    return theorem_1(setting.problem, trial.losses, u, setting.geometry(u))


def norm_bound(estimator: Any, X: Any, y: Any = None, comparator: Any = "best") -> Bound:
    """Lemma 2: ‖w − w₁‖ ≤ 2‖u − w₁‖ after every row, for ``step="pa"`` and any u without loss.

    Parameters
    ----------
    estimator, X, y, comparator
        As in :func:`realizable_bound`.

    Returns
    -------
    bound : Bound
        Both sides after each row. The left one is measured on the weights themselves, which costs
        O(n_features) a row.
    """
    trial, u = realized("Lemma 2", estimator, X, y, comparator, moves=True)
    return lemma_2(trial.setting.problem, trial.losses, trial.moves, u, trial.setting.start)


def unrealizable_bound(
    estimator: Any, X: Any, y: Any = None, comparator: Any = "best", *, sample_weight: Any = None
) -> Bound:
    """Theorem 3: Σℓ² ≤ (γ + B)‖u − w₁‖² + (1 + B/γ)Σℓ(u)², for ``step="pa2"``, γ = 1/(2C), and any u at all.

    With weights s, where a row learns with C s and so has a γ of its own, it reads
    Σℓ²/(‖v‖² + γ) ≤ ‖u − w₁‖² + Σℓ(u)²/γ.

    Parameters
    ----------
    estimator : learner
        ``PAClassifier``, ``PARegressor`` or ``PAUniclass`` with ``step="pa2"``; a copy learns.
    X, y
        As in :func:`realizable_bound`.
    comparator : array, (array, float), fitted model or "best", default="best"
        u. "best" minimises the right side; the theorem holds for any.
    sample_weight : array of shape (n_samples,), default=None
        Weights of the rows; those of the estimator's ``class_weight`` are multiplied with them.

    Returns
    -------
    bound : Bound
        Both sides after each row.

    Examples
    --------
    >>> from aggro import theory
    >>> from aggro.published import PARegressor
    >>> learner = PARegressor(C=0.5, step="pa2", epsilon=0.0, fit_intercept=False)
    >>> bound = theory.unrealizable_bound(learner, [[1.0], [1.0]], [1.0, -1.0], comparator=[0.0])
    >>> bound.holds, bound.sums.tolist(), bound.limits.tolist()
    (True, [1.0, 3.25], [2.0, 4.0])
    """
    check(estimator, "Theorem 3", ADDITIVE, ("pa2",), " For step='pa' see realizable_bound.")
    if not isinstance(estimator.C, Real):
        raise ValueError(f"Theorem 3 is about one C, got C={estimator.C!r}. Give a number.")
    trial = learn(estimator, X, y, sample_weight)
    setting, C = trial.setting, float(estimator.C)
    if isinstance(comparator, str) and comparator == "best":
        # A row of weight s learns with C s, so that each has a γ of its own.
        weights = np.ones(setting.problem.n_rows) if trial.weights is None else trial.weights
        u = least_relative(setting.problem, setting.start, C * weights)
    else:
        u = as_vector(comparator, setting)
    return theorem_3(setting.problem, trial.losses, u, setting.geometry(u), C, trial.weights)


def multiplicative_bound(estimator: Any, X: Any, y: Any = None, *, comparator: Any) -> Bound:
    """Theorem 4: Σℓ² + 2(ε − ε*)Σℓ ≤ 2U²D(u‖w₁)B, for multiplicative learners with ``step="pa"``, any u without loss.

    D is the relative entropy on the learner's simplex of size U, and B the largest q of its steps: ‖x‖∞² with signs and
    ‖x‖∞²/4 without, for uniclass 1 and ½. On the simplex itself, U = 1 without signs, that is the printed
    ½ max‖x‖∞² D(u‖w₁); for uniclass it is D(u‖w₁), since what is printed there does not hold.

    Parameters
    ----------
    estimator : learner
        A multiplicative learner of this library with ``step="pa"`` and ``n_features``; a copy learns.
    X, y
        As in :func:`realizable_bound`.
    comparator : array, (array, float) or fitted model
        u, with loss 0 on every row and on the learner's simplex: ‖u‖₁ ≤ U with signs (where its place is the
        one nearest to w₁), and not negative with the sum U without; the intercept is one of the weights.

    Returns
    -------
    bound : Bound
        Both sides after each row.

    Examples
    --------
    >>> from aggro import MultiplicativePARegressor, theory
    >>> X, y = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0]], [2.0, 0.0, 2.0]
    >>> learner = MultiplicativePARegressor(radius=2.0, epsilon=0.0, fit_intercept=False, n_features=3)
    >>> bound = theory.multiplicative_bound(learner, X, y, comparator=[2.0, 0.0, 0.0])
    >>> bound.holds, round(bound.limit, 3)
    (True, 14.334)
    """
    asker = "Theorem 4"
    check(estimator, asker, (Multiplicative,), ("pa",))
    if isinstance(comparator, str):
        raise TypeError(f"{asker} needs a comparator that is given: weights, a pair (weights, intercept), or a model.")
    trial = learn(estimator, X, y)
    u = without_loss(comparator, trial.setting, asker)
    return theorem_1(trial.setting.problem, trial.losses, u, trial.setting.geometry(u), asker, STATEMENT)


def squared_hinge_bound(estimator: Any, X: Any, y: Any, comparator: Any = "best") -> Bound:
    """Corollary for two classes: Σℓ² ≤ m²B/γ̂², for ``step="pa"`` from w₁ = 0.

    γ̂ = min y(u·x + b)/‖(u, b)‖ is the margin of a separator, m the learner's own.

    Parameters
    ----------
    estimator, X, y
        As in :func:`realizable_bound`.
    comparator : array, (array, float), fitted model or "best", default="best"
        Any separator, of any length. "best" is the one with the largest γ̂.

    Returns
    -------
    bound : Bound
        Both sides after each row.
    """
    trial, u, m, reach = separated("squared_hinge_bound", estimator, X, y, comparator)
    return corollary(trial, u, "Σℓ² ≤ m²B/γ̂²", np.cumsum(trial.losses**2), m**2 * reach)


def hinge_bound(estimator: Any, X: Any, y: Any, comparator: Any = "best") -> Bound:
    """Corollary for two classes: Σℓ ≤ 2mB/γ̂², for ``step="pa"`` from w₁ = 0.

    Parameters
    ----------
    estimator, X, y, comparator
        As in :func:`squared_hinge_bound`.

    Returns
    -------
    bound : Bound
        Both sides after each row.
    """
    trial, u, m, reach = separated("hinge_bound", estimator, X, y, comparator)
    return corollary(trial, u, "Σℓ ≤ 2mB/γ̂²", np.cumsum(trial.losses), 2.0 * m * reach)


def mistake_bound(estimator: Any, X: Any, y: Any, comparator: Any = "best") -> Bound:
    """Corollary for two classes: there are at most B/γ̂² mistakes, for ``step="pa"`` from w₁ = 0.

    Parameters
    ----------
    estimator, X, y, comparator
        As in :func:`squared_hinge_bound`.

    Returns
    -------
    bound : Bound
        Both sides after each row; a mistake is y f ≤ 0, so the first row is one.
    """
    trial, u, _, reach = separated("mistake_bound", estimator, X, y, comparator)
    return corollary(trial, u, "mistakes ≤ B/γ̂²", np.cumsum(trial.mistakes).astype(np.float64), reach)


# What the theorems cover -------------------------------------------------------------------------


def check(estimator: Any, asker: str, kinds: tuple[type[Learner], ...], steps: tuple[str, ...], hint: str = "") -> None:
    """Refuse what the theorem is not about."""
    owner = type(estimator).__name__
    if not isinstance(estimator, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"{asker} is about learners of the kind {names}, got {owner}.")
    # Invalid parameters first, so that the messages below speak of valid ones.
    check_params(estimator)
    settings = estimator.__dict__
    if settings["step"] not in steps:
        raise ValueError(
            f"{asker} holds for step={' or '.join(map(repr, steps))}, and this {owner} has {settings['step']!r}.{hint}"
        )
    # The inequalities are about w_t, the vector that each step moves.
    if settings.get("average"):
        raise ValueError(
            f"{asker} is about the iterates, and with average=True their mean predicts. Set average=False."
        )
    class_weight = settings.get("class_weight")
    # Only Theorem 3 has a form with weights.
    if class_weight is not None and "pa2" not in steps:
        raise ValueError(f"{asker} counts every row once: class_weight must be None, got {class_weight!r}.")
    if class_weight == "balanced":
        raise ValueError(f"{asker} needs weights that are known: give class_weight as a dict, not 'balanced'.")


def realized(
    asker: str, estimator: Any, X: Any, y: Any, comparator: Any, moves: bool = False
) -> tuple[Trial, np.ndarray]:
    """The stream learned with ``pa``, and a comparator without loss."""
    check(estimator, asker, ADDITIVE, ("pa",), OTHER_STEP)
    trial = learn(estimator, X, y, moves=moves)
    return trial, without_loss(comparator, trial.setting, asker)


def separated(
    asker: str, estimator: Any, X: Any, y: Any, comparator: Any
) -> tuple[Trial, np.ndarray, float, np.ndarray]:
    """The stream learned with ``pa`` from 0, a separator scaled to margin m, m, and B/γ̂² after each row."""
    check(estimator, asker, (PAClassifier,), ("pa",), OTHER_STEP)
    trial = learn(estimator, X, y)
    problem, m = trial.setting.problem, -trial.setting.problem.edge
    if trial.setting.start.any():
        raise ValueError(f"{asker} is about learning from w₁ = 0. Set warm_start=False, or see realizable_bound.")
    best = isinstance(comparator, str) and comparator == "best"
    u = without_loss(comparator, trial.setting, asker) if best else as_vector(comparator, trial.setting)
    margins = -problem.discrepancies(u)
    row = int(margins.argmin())
    # "not >", so that NaN is refused too.
    if not margins[row] > 0.0:
        raise ValueError(
            f"{asker} needs a comparator that separates the classes, and this one has margin {margins[row]:.6g} on row "
            f"{row}. {BETTER}"
        )
    # γ̂, the margin of the unit vector: any length of u separates equally well.
    separation = margins[row] / np.linalg.norm(u)
    # u scaled to the margin m has loss 0, which Theorem 1 asks for.
    return trial, u * (m / margins[row]), m, np.maximum.accumulate(problem.norms()) / separation**2


def corollary(trial: Trial, u: np.ndarray, statement: str, sums: np.ndarray, limits: np.ndarray) -> Bound:
    problem = trial.setting.problem
    B, distance = float(problem.norms().max()), float((u**2).sum())
    return Bound("Corollary", statement, sums, limits, trial.losses, compared(problem, u), B, distance)
