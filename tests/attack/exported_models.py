"""Random models exported to ONNX and run by onnxruntime, beside the learners they were made of.

    python tests/attack/exported_models.py --count 2000 [--learner NAME ...] [--dtype float64]

prints what differs beyond rounding, sorted by learner. Ties between classes and rows on the edge of an outlier detector
are told apart from real differences. So are rows for which a rounding decides: where the learner itself answers as
differently for the row with each entry a few roundings away, as for far rows before a sine. Such are counted.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from aggro.export import onnx as export
from aggro.learners.base.formula import NoFormula
from aggro.learners.registry import LEARNERS
from aggro.testing.variants import Variant, variants

CLOSE = {"float64": 1e-9, "float32": 1e-4}  # of the largest term that a score is the sum of
HALF_LIVES = (None, 5.0, 50.0)
KERNELS = ("rbf", "linear", "poly", "sigmoid", "cosine")


class Case(NamedTuple):
    """A fitted learner and rows to score."""

    model: Any
    rows: np.ndarray
    title: str


class Difference(NamedTuple):
    """One row whose answer differs."""

    learner: str
    output: str
    title: str
    ours: Any
    theirs: Any
    row: np.ndarray


def columns(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Rows with columns of different sizes, offsets and densities."""
    X = rng.standard_normal((n, d))
    if rng.random() < 0.5:
        X *= 10.0 ** rng.integers(-3, 4, d)
    if rng.random() < 0.4:
        X += rng.choice([0.0, 1.0, 100.0], d)
    if rng.random() < 0.4:
        X *= rng.random((n, d)) < rng.choice([0.1, 0.3, 0.7, 1.0], d)
    if rng.random() < 0.2:
        X[:, rng.integers(d)] = rng.choice([0.0, 0.1, 3.0])
    return X


def asked(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """Rows to score: usual ones, far ones, zeros and rows that were learned."""
    fresh = X[rng.permutation(X.shape[0])[:20]] + 0.1 * rng.standard_normal((min(20, X.shape[0]), X.shape[1]))
    return np.concatenate([fresh, X[:5], np.zeros((1, X.shape[1])), 100.0 * fresh[:3], 1e6 * fresh[:2]])


def settings(rng: np.random.Generator, variant: Variant) -> dict[str, Any]:
    """Further parameters, drawn from those that the learner takes."""
    more: dict[str, Any] = {}
    if variant.classifies and variant.has("class_weight") and rng.random() < 0.3:
        more["class_weight"] = "balanced"
    if variant.classifies and variant.has("calibration") and rng.random() < 0.3:
        more["calibration"] = "isotonic"
    for name, words in (("scale", (None, "standard", "rms", "auto")), ("half_life", HALF_LIVES)):
        if variant.has(name) and name not in variant.params and rng.random() < 0.4:
            more[name] = words[rng.integers(len(words))]
    if variant.has("features") and "features" not in variant.params and rng.random() < 0.2:
        more |= {"features": str(rng.choice(["fourier", "nystroem"])), "n_components": 20}
    return more


def case(seed: int, names: list[str]) -> Case | None:
    """The model of a seed; None where the learner refuses the settings together."""
    rng = np.random.default_rng(seed)
    entries = [entry for entry in LEARNERS if not names or entry.name in names]
    every = variants(entries[rng.integers(len(entries))])
    variant = every[rng.integers(len(every))]
    if any(callable(value) or value == "precomputed" for value in variant.params.values()):
        return None
    more = settings(rng, variant)
    n, d = int(rng.integers(1, 150)), int(rng.integers(1, 9))
    X = columns(rng, n, d)
    if variant.entry.name.startswith("Multiplicative"):
        X = np.abs(X)
    classes = int(rng.integers(1, 5))
    felt = (X / (np.abs(X).max(axis=0) + 1e-300)) @ rng.standard_normal((d, classes)) + 0.3 * rng.standard_normal(
        (n, classes)
    )
    y: Any = felt.argmax(axis=1) if variant.classifies else 10.0 ** rng.integers(-2, 3) * felt[:, 0]
    try:
        model = variant.new(**more)
        model.partial_fit(X, None if variant.detects else y)
        for _ in range(int(rng.integers(0, 2))):
            model.partial_fit(X, None if variant.detects else y)
        Z = asked(rng, X)
        model.predict(Z)
    except ValueError:
        return None
    return Case(
        model,
        np.abs(Z) if variant.entry.name.startswith("Multiplicative") else Z,
        f"{seed}: {variant} {more} n={n} d={d}",
    )


def run(made: Any, X: np.ndarray) -> dict[str, np.ndarray]:
    import onnxruntime

    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip([out.name for out in session.get_outputs()], session.run(None, {"X": X}), strict=True))


def differences(one: Case, dtype: str) -> list[Difference]:
    """The rows whose answers differ."""
    model, close = one.model, CLOSE[dtype]
    made = export(model, dtype=dtype)
    given = one.rows.astype(dtype)
    rows = given.astype(np.float64)
    theirs = run(made, given)
    name, found = type(model).__name__, []
    if "prediction" in theirs:
        ours = {"prediction": model.predict(rows)}
    else:
        ours = {"label": model.predict(rows), "scores": model.decision_function(rows)}
        if "probabilities" in theirs:
            ours["probabilities"] = model.predict_proba(rows)
    scores = ours.get("scores", ours.get("prediction"))
    size = np.abs(scores).reshape(rows.shape[0], -1).max(axis=1, initial=1.0)
    lead = np.abs(scores) if scores.ndim == 1 else np.diff(np.sort(scores, axis=1)[:, -2:], axis=1)[:, 0]
    for output, wanted in ours.items():
        got = theirs[output]
        for i in range(rows.shape[0]):
            if output == "label":
                differs = got[i] != wanted[i] and lead[i] > close * size[i]
            elif output == "probabilities":
                differs = (
                    not np.allclose(got[i], wanted[i], rtol=0.0, atol=max(close * 10.0, 1e-7))
                    and lead[i] > close * size[i]
                )
            else:
                differs = not np.all(np.abs(got[i] - wanted[i]) <= close * size[i])
            if differs:
                found.append(Difference(name, output, f"{one.title} row {i}", wanted[i], got[i], rows[i]))
    return found


def by_rounding(model: Any, difference: Difference) -> bool:
    """Whether the learner answers as differently for rows that are a few roundings away."""
    if difference.output == "label":
        return False
    answer = {
        "prediction": model.predict,
        "scores": getattr(model, "decision_function", None),
        "probabilities": getattr(model, "predict_proba", None),
    }[difference.output]
    steps = np.random.default_rng(0).uniform(-4.0, 4.0, (32, difference.row.shape[0]))
    near = answer(difference.row * (1.0 + steps * np.finfo(np.float64).eps))
    apart = np.abs(near - difference.ours).max(axis=0)
    return bool(np.all(np.abs(difference.theirs - difference.ours) <= 4.0 * apart + CLOSE["float64"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--learner", nargs="*", default=[])
    parser.add_argument("--dtype", choices=tuple(CLOSE), default="float64")
    parser.add_argument("--show", type=int, default=3, help="how many differences to print for each learner and output")
    arguments = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    models = rows = refused = rounding = 0
    for seed in range(arguments.first, arguments.first + arguments.count):
        one = case(seed, arguments.learner)
        if one is None:
            continue
        try:
            found = differences(one, arguments.dtype)
        except NoFormula:
            refused += 1
            continue
        except Exception as error:
            counts[type(one.model).__name__, "error"] += 1
            print("ERROR", one.title, type(error).__name__, str(error)[:200], flush=True)
            continue
        models, rows = models + 1, rows + one.rows.shape[0]
        for difference in found:
            if arguments.dtype == "float64" and by_rounding(one.model, difference):
                rounding += 1
                continue
            key = difference.learner, difference.output
            counts[key] += 1
            if counts[key] <= arguments.show:
                print(*difference[:-1], flush=True)
    print(f"{models:,} models, {rows:,} rows; {refused:,} models are refused; {rounding:,} answers differ by rounding")
    print(f"differences: {sum(counts.values()):,}")
    for key, count in sorted(counts.items()):
        print(f"{key[0]:32s} {key[1]:15s} {count:6,}")
    sys.exit(bool(counts))


if __name__ == "__main__":
    main()
