"""Boundaries that bend: kernels beside LIBSVM, and PAMO beside PyTorch. Both need the data sets in $AGGRO_DATA.

A kernel learner has done its job when its error on the test part is within 0.3 points of SVC's. SVC has the settings
that were published for the set: C = 32 and γ = 2 for ijcnn1, C = 5 and γ = 0.05 for w8a (Platt 1998). Ours for ijcnn1
are those of ``kernels.py``; for w8a they had the least error on a fifth of the training part, of twelve that were tried
(γ of 0.05, 0.1, 0.2, C of 1, 5, with and without an average). The time of that choice is in neither side's. PAMO is
PAMO-II, in which every row moves every unit.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from measure import FASTER, LONGER, SHARE, Cell, Plan, Skip, cell, in_turns

sys.path.append(str(Path(__file__).parents[2]))  # the papers

KERNEL, PAMO = "kernel", "PAMO"
NOT_THERE = "the set is not in the folder AGGRO_DATA"
NEAR = 0.3  # points of error
TESTED = 20_000  # rows at most: SVC takes a minute to predict all of ijcnn1's
SUBSET = 10_000  # rows of the short version
SVC = {"ijcnn1": {"C": 32.0, "gamma": 2.0}, "w8a": {"C": 5.0, "gamma": 0.05}}
OURS: dict[str, dict[str, dict[str, Any]]] = {
    "ijcnn1": {"C = 1, γ = 8, one pass": {"C": 1.0, "gamma": 8.0}},
    "w8a": {"C = 5, γ = 0.1, one pass": {"C": 5.0, "gamma": 0.1, "average": "auto"}},
}
UNITS, PIECES, C, ALPHA = 256, 2, 0.125, 0.9
LOOPED = 1_000  # rows of PyTorch and NumPy, whose times are for as many
FIRST = 100  # rows that are learned before PyTorch goes on, so that both classes are known
CHECKED = 500  # rows after which both must have made the same mistakes


def cells(plan: Plan) -> Iterator[Cell | Skip]:
    from papers.sets import absent

    for name in SVC:
        if absent(name):
            yield Skip(KERNEL, f"fit, {name}", "", NOT_THERE)
        else:
            yield from kernel(plan, name, SUBSET)
            if not plan.short:
                yield from kernel(plan, name, None)
    for name in ("ijcnn1", "cbcl"):
        if absent(name):
            yield Skip(PAMO, f"partial_fit, {name}", "", NOT_THERE)
        else:
            yield from pamo(plan, name)


def chosen(name: str, part: str, most: int | None) -> tuple[Any, np.ndarray]:
    """So many rows of a part, in a random order: files are sorted, or series."""
    from papers.sets import rows_of

    X, y = rows_of(name, part)
    order = np.random.default_rng(0).permutation(len(y))[:most]
    return X[order], y[order]


# Kernels ---------------------------------------------------------------------------------------------------------


def kernel(plan: Plan, name: str, most: int | None) -> Iterator[Cell]:
    from sklearn import svm

    from aggro import KernelPAClassifier, published

    X, y = chosen(name, "train", most)
    T, t = chosen(name, "test", TESTED)
    models = {said: published.KernelPAClassifier(random_state=0, **given) for said, given in OURS[name].items()}
    models["nothing set"] = KernelPAClassifier(random_state=0)
    models["SVC"] = svm.SVC(**SVC[name])
    jobs = {said: lambda model=model: model.fit(X, y) for said, model in models.items()}
    times = in_turns(jobs, plan.rounds(5, 2) if most else 2)
    errors = {said: 100.0 * float((model.predict(T) != t).mean()) for said, model in models.items()}
    of = f"fit, {name}, {X.shape[0]:,} × {X.shape[1]}"
    for said in (*OURS[name], "nothing set"):
        reached = errors[said] <= errors["SVC"] + NEAR
        yield cell(
            KERNEL,
            f"{of}, {said}",
            "SVC",
            FASTER,
            times[said],
            times["SVC"],
            target=None if most else 10.0,
            good_enough=reached,
            error=errors[said],
            peer_error=errors["SVC"],
            note=f"{len(models[said].support_):,} and {len(models['SVC'].support_):,} support vectors"
            + ("" if reached else f"; not within {NEAR} points"),
            short=most is not None,
        )
    if isinstance(X, np.ndarray):
        said = next(iter(OURS[name]))
        yield product_share(plan, f"{of}, {said}", models[said], X, y, short=most is not None)


def product_share(plan: Plan, job: str, model: Any, X: np.ndarray, y: np.ndarray, short: bool) -> Cell:
    """The kernel values of a pass, as many multiplications as they are, beside NumPy's product of matrices."""
    from threadpoolctl import threadpool_limits

    model.fit(X, y)
    values = float((len(y) - model.support_).sum())  # each row with the support vectors that there were
    A = np.random.default_rng(0).standard_normal((2_000, X.shape[1]))
    B = np.ascontiguousarray(A.T)
    with threadpool_limits(1):
        times = in_turns({"ours": lambda: model.fit(X, y), "product": lambda: A @ B}, plan.rounds(5, 3))
    product = times["product"] * (values / (len(A) * B.shape[1]))
    return cell(KERNEL, job, "A @ B", SHARE, times["ours"], product, short=short)


# PAMO ------------------------------------------------------------------------------------------------------------


def pamo(plan: Plan, name: str) -> Iterator[Cell]:
    import torch
    from threadpoolctl import threadpool_limits

    X, y = chosen(name, "train", 5_000)
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    signs = np.where(y == y.max(), 1.0, -1.0)
    rows = np.hstack([X, np.ones((len(X), 1))])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    model, pieces, weights = started(X, signs)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        same_mistakes(X, signs, rows)
        given = torch.from_numpy(rows[:LOOPED])
        few = signs[:LOOPED].tolist()
        jobs = {
            "ours": lambda: model.partial_fit(X, signs),
            "PyTorch": lambda: torch_pass(pieces.clone(), weights.clone(), given, few),
            "product": lambda: products(pieces.numpy().reshape(-1, rows.shape[1]), rows[:LOOPED]),
        }
        with threadpool_limits(1):
            times = in_turns(jobs, plan.rounds(9, 3))
    finally:
        torch.set_num_threads(threads)
    share = len(X) / LOOPED
    job = f"partial_fit, {name}, {UNITS} × {PIECES} pieces, {X.shape[1]} columns"
    yield cell(PAMO, job, "PyTorch", FASTER, times["ours"], times["PyTorch"] * share, target=20.0)
    yield cell(PAMO, job, "U @ x", LONGER, times["ours"], times["product"] * share, target=1.5)


def started(X: np.ndarray, signs: np.ndarray) -> tuple[Any, Any, Any]:
    """A learner that knows both classes, and its pieces (h, k, d) and weights, for PyTorch to go on with."""
    import torch

    from aggro.published import PAMOClassifier

    model = PAMOClassifier(UNITS, n_pieces=PIECES, C=C, C_r=C, alpha=ALPHA, always=True, scale=None, random_state=0)
    model.partial_fit(X[:FIRST], signs[:FIRST])
    return model, torch.from_numpy(model.pieces_.copy()), torch.from_numpy(model.weights_[0].copy())


def same_mistakes(X: np.ndarray, signs: np.ndarray, rows: np.ndarray) -> None:
    """Both must compute the same, or the comparison says nothing."""
    import torch

    model, pieces, weights = started(X, signs)
    before = model.n_mistakes_
    model.partial_fit(X[FIRST:CHECKED], signs[FIRST:CHECKED])
    theirs = torch_pass(pieces, weights, torch.from_numpy(rows[FIRST:CHECKED]), signs[FIRST:CHECKED].tolist())
    if model.n_mistakes_ - before != theirs:
        raise AssertionError(f"{model.n_mistakes_ - before} mistakes here and {theirs} with PyTorch")


def torch_pass(pieces: Any, weights: Any, rows: Any, signs: list[float]) -> int:
    """PAMO-II with PyTorch's calls, row by row; the mistakes. Pieces and weights are changed in place."""
    import torch

    h, k, d = pieces.shape
    flat = pieces.view(h * k, d)
    first = torch.arange(0, h * k, k)
    mistakes = 0
    with torch.no_grad():
        for x, y in zip(rows, signs, strict=True):
            out, winner = torch.mv(flat, x).view(h, k).max(dim=1)
            z = out / out.norm()
            margin = y * float(weights @ z)
            mistakes += margin <= 0.0
            target = z
            if margin < 1.0:
                weights.add_(z, alpha=y * min(C, (1.0 - ALPHA) * (1.0 - margin)))
                left = max(0.0, 1.0 - y * float(weights @ z))
                target = z + weights * (y * left / float(weights @ weights))
            move = (target - out).clamp_(-C, C)
            flat.index_add_(0, first + winner, torch.outer(move, x))
    return mistakes


def products(flat: np.ndarray, rows: np.ndarray) -> None:
    for x in rows:
        flat @ x
