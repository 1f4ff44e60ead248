"""What every learner knows after fixed streams, to the bit.

    NUMBA_CPU_NAME=x86-64-v3 NUMBA_CPU_FEATURES= python tests/bits/streams.py

records it in ``expected.json``, for a change that is meant to change bits: as the code of a level of processors, which
is what ``make test`` compiles and a wheel brings, gives it on every machine of that level.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numpy as np
from numba import config
from scipy.sparse import csr_matrix

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.variants import ALL

import aggro
from aggro.engine.jit.prebuilt import level
from aggro.engine.jit.private.disk_cache import came
from aggro.engine.rule import ADDED_FIELDS
from aggro.testing.variants import Variant, arrays, as_dicts, decisions, learn_rows, stream

EXPECTED = Path(__file__).with_name("expected.json")
ROWS = 90


def machine() -> str:
    """What compiled code depends on: only machines of the same name round alike.

    Code for a level of processors, compiled for it or come with the package, is the same on all of them.
    """
    features = json.dumps(dict(llvmlite.binding.get_host_cpu_features()), sort_keys=True)
    cpu = (llvmlite.binding.get_host_cpu_name(), features)
    if came().files:
        cpu = (level(), "")
    elif config.CPU_NAME:
        cpu = (config.CPU_NAME, config.CPU_FEATURES)
    settings = (config.BOUNDSCHECK, config.DISABLE_JIT, str(config.OPT), platform.libc_ver())
    about = (*cpu, *settings, numba.__version__, np.__version__)
    return hashlib.sha256(repr(about).encode()).hexdigest()[:16]


def streams(variant: Variant) -> Iterator[tuple[str, Any, np.ndarray, np.ndarray | None]]:
    """Forms of rows, weights, two classes and three, and rows that are large or short."""
    X, y = stream(variant, n=ROWS)
    weights = np.where(np.arange(ROWS) % 7 == 3, 0.0, 0.5 + np.arange(ROWS) % 3)
    yield "dense", X, y, None
    yield "sparse-weighted", csr_matrix(X), y, weights
    yield "single", X.astype(np.float32), y, None
    if variant.classifies:
        yield "two-classes", *stream(variant, n=ROWS, classes=2), None
    if variant.new()._least() < 0.0:  # others take only rows of moderate size
        far = X * 10.0 ** (45.0 * (np.arange(ROWS) % 9 == 4) - 170.0 * (np.arange(ROWS) % 11 == 5))[:, None]
        yield "far", far, y, None


def known(variant: Variant) -> Iterator[tuple[str, Any]]:
    """A model for each stream: chunks first, then rows one by one."""
    for title, X, y, weights in streams(variant):
        model, half = variant.new(), ROWS // 2
        for rows in (slice(half), slice(half, ROWS - 10)):
            model.partial_fit(X[rows], y[rows], sample_weight=None if weights is None else weights[rows])
        last = X[ROWS - 10 :]
        learn_rows(model, last.toarray() if hasattr(last, "toarray") else last, y[ROWS - 10 :])
        yield title, model
    X, y = stream(variant, n=ROWS)
    yield "dicts", learn_rows(variant.new(), as_dicts(X), y)
    if variant.classifies and variant == next(one for one in ALL if one.entry is variant.entry):
        yield (
            "active",
            aggro.ActiveLearner(variant.new(), delta=1.0, strategy="margin", replay=0, random_state=0)
            .partial_fit(X, y)
            .estimator_,
        )


def found(variant: Variant) -> dict[str, list[Any]]:
    """For each stream, a digest of the state, and some scores for machines that round otherwise.

    What is counted for probabilities and drift is not in it: that has tests of its own.
    """
    X, _ = stream(variant, n=ROWS)
    told = {}
    for title, model in known(variant):
        digest = hashlib.sha256()
        state = model._model.state
        counted = [getattr(state.tally, name) for name in state.tally._fields if name not in ADDED_FIELDS]
        for array in [*counted, *arrays(state[1:])]:
            digest.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
        asked = as_dicts(X[:2]) if title == "dicts" else X[:2]
        scores = [model.decision_one(row) for row in asked] if title == "dicts" else decisions(model, asked)
        told[title] = [digest.hexdigest()[:16], *np.ravel(scores).tolist()[:3]]
    return told


if __name__ == "__main__":
    told = {str(variant): found(variant) for variant in ALL}
    lines = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(value)}" for name, value in {"machine": machine(), **told}.items()
    )
    EXPECTED.write_text("{\n" + lines + "\n}\n")
