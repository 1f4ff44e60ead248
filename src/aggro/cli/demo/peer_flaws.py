"""What others get wrong or cannot do, each tried here and now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from aggro import streams
from aggro.cli.demo.races import cut, shuffled, sklearn_classifier
from aggro.published import PAClassifier
from aggro.streams import Chunk

HUGE_C = 1e9  # in effect no limit on a step


@dataclass(frozen=True)
class Claim:
    """What was tried, what came out here, and what came out elsewhere."""

    title: str
    aggro: str
    others: dict[str, str]


def exact_step() -> Claim:
    """The step is the smallest one after which the row has margin 1; a constant 1 for the intercept counts."""
    x, both = np.array([[0.5]]), [False, True]
    ours = PAClassifier(HUGE_C).partial_fit(x, [True], classes=both).decision_function(x)[0]
    theirs = sklearn_classifier("pa1", HUGE_C).partial_fit(x, [True], classes=both).decision_function(x)[0]
    others = {"scikit-learn": f"{theirs:.1f}"}
    if find_spec("river"):
        from river import linear_model

        peer: Any = linear_model.PAClassifier(C=HUGE_C)  # type: ignore[no-untyped-call]
        peer.learn_one({"x": 0.5}, True)
        others["River"] = f"{0.5 * peer.weights['x'] + peer.intercept:.1f}"
    return Claim("Margin of x = 0.5 after one update that asks for margin 1", f"{ours:.1f}", others)


def same_model_however_cut() -> Claim:
    """The same rows, learned in chunks of several sizes."""
    learn, _ = shuffled("digits", 500)
    sizes = (10, 100, len(learn.y))
    others = {
        f"scikit-learn, shuffle={shuffle}": different_models(
            partial(sklearn_classifier, "pa1", 1.0, shuffle=shuffle), learn, sizes
        )
        for shuffle in (True, False)  # True is its default, and shuffles inside each call
    }
    return Claim(
        f"Different models from one stream in chunks of {', '.join(map(str, sizes[:-1]))} and {sizes[-1]:,} rows",
        different_models(PAClassifier, learn, sizes),
        others,
    )


def different_models(make: Callable[[], Any], data: Chunk, sizes: tuple[int, ...]) -> str:
    models = set()
    for size in sizes:
        model = make()
        for part in cut(data, size):
            model.partial_fit(part.X, part.y, classes=range(10))
        models.add(model.coef_.tobytes() + model.intercept_.tobytes())
    return "1, to the last bit" if len(models) == 1 else str(len(models))


def new_classes() -> Claim:
    """Eight digits first; then the other two turn up among them."""
    learn, test = shuffled("digits", 500)
    early = np.flatnonzero(learn.y < 8)[:600]
    late = np.setdiff1d(np.arange(len(learn.y)), early)
    new = test.y >= 8
    model = PAClassifier(average=True)
    model.partial_fit(learn.X[early], learn.y[early])
    model.partial_fit(learn.X[late], learn.y[late])
    right = np.mean(model.predict(test.X[new]) == test.y[new])

    peer = sklearn_classifier("pa1", 1.0)
    peer.partial_fit(learn.X[early], learn.y[early], classes=range(8))
    return Claim(
        "Digits 8 and 9 first appear mid-stream",
        f"learned: {right:.0%} of them right",
        {"scikit-learn": refusal(lambda: peer.partial_fit(learn.X[late], learn.y[late]))},
    )


def new_features() -> Claim:
    """Half of the columns first; then the others turn up."""
    names = [f"x{j}" for j in range(20)]
    (chunk,) = streams.twonorm(4000, chunk=4000)
    (test,) = streams.twonorm(1000, chunk=1000, seed=1)
    model = PAClassifier(0.01)
    model.learn_chunk(Chunk(chunk.X[:2000, :10], chunk.y[:2000], names=names[:10]))
    before = dict_error(model, test, names)
    model.learn_chunk(Chunk(chunk.X[2000:], chunk.y[2000:], names=names))
    after = dict_error(model, test, names)

    peer = sklearn_classifier("pa1", 0.01)
    peer.partial_fit(chunk.X[:2000, :10], chunk.y[:2000], classes=(-1, 1))
    return Claim(
        "10 new features appear mid-stream",
        f"learned: test error {before:.1%} → {after:.1%}",
        {"scikit-learn": refusal(lambda: peer.partial_fit(chunk.X[2000:], chunk.y[2000:]))},
    )


def dict_error(model: Any, test: Chunk, names: list[str]) -> float:
    rows = (dict(zip(names, row, strict=True)) for row in test.X.tolist())
    return float(np.mean([model.predict_one(row) != y for row, y in zip(rows, test.y.tolist(), strict=True)]))


def refusal(attempt: Callable[[], Any]) -> str:
    """What an attempt says when it fails."""
    try:
        attempt()
    except ValueError as error:
        return f"ValueError: {str(error).splitlines()[0]}"
    return "learned"


CLAIMS = (exact_step, same_model_however_cut, new_classes, new_features)
