"""Data frames of every library are read by the names of their columns."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from aggro.streams import Chunk
from aggro.testing.check import check
from aggro.testing.variants import Variant, assert_same_model, decisions, expect, snapshot, stream

Frame = Callable[[np.ndarray, list[str]], Any]


def frames() -> dict[str, Frame]:
    """A frame of rows and names, of each library that is installed."""
    found: dict[str, Frame] = {}
    if find_spec("pandas"):
        import pandas as pd

        found["pandas"] = lambda X, names: pd.DataFrame(X, columns=names)
    if find_spec("polars"):
        import polars as pl

        found["polars"] = lambda X, names: pl.DataFrame(X, schema=names)
    if find_spec("pyarrow"):
        import pyarrow as pa

        found["a table of pyarrow"] = lambda X, names: pa.table([*X.T], names=names)
        found["a batch of pyarrow"] = lambda X, names: pa.record_batch([*X.T], names=names)
    return found


@check(needs=lambda variant: not variant.params)
def columns_of_frames_are_known_by_name(variant: Variant) -> None:
    """Swapped columns, and two of one name, are refused: by whatever frame they come, to be learned or to be scored."""
    X, y = stream(variant)
    names = [f"f{j}" for j in range(X.shape[1])]
    for library, frame in frames().items():
        model = variant.new().fit(frame(X, names), y)
        expect(model.feature_names_in_.tolist() == names, f"of {library} it knows {model.feature_names_in_}")
        assert_same_model(model, variant.new().fit(frame(X, names), y))
        expect(np.array_equal(decisions(model, frame(X, names)), decisions(variant.new().fit(X, y), X)), library)
        # Everything below is refused, and must leave no trace.
        before = snapshot(model)
        swapped, doubled = frame(X[:, ::-1], names[::-1]), [*names[:-1], names[0]]
        # A new learner has no order of columns yet, so only the fitted one can refuse a swap.
        calls = uses_of(model, y)
        for call in calls:
            expect("same order" in refusal(call, swapped), f"swapped columns of {library} are taken")
        if library != "polars":  # it refuses them itself
            for call in [*calls, lambda given: variant.new().fit(given, y)]:
                expect("two columns named 'f0'" in refusal(call, frame(X, doubled)), f"doubled names of {library}")
        given = Chunk(frame(X, names), y, names=names[::-1])
        expect("the columns of its frame" in refusal(model.learn_chunk, given), f"other names beside {library}")
        expect(snapshot(model) == before, "what was refused changed the model")


def uses_of(model: Any, y: np.ndarray) -> list[Callable[[Any], Any]]:
    """What can be done with rows."""
    return [
        model.predict,
        lambda rows: decisions(model, rows),
        lambda rows: model.partial_fit(rows, y),
        lambda rows: model.learn_chunk(Chunk(rows, y)),
        lambda rows: model.predict_chunk(Chunk(rows)),
    ]


def refusal(call: Callable[[Any], Any], given: Any) -> str:
    """What is said against this; nothing if it is taken."""
    try:
        call(given)
    except ValueError as error:
        return str(error)
    return ""
