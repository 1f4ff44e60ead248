"""Everything that the service asks of the library: making learners, learning, predicting, files.

No other file of the service knows how a learner is called.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from aggro.interop.brokers.learning import Row
from aggro.interop.brokers.learning import learn as learn_rows
from aggro.learners.active.learner import ActiveLearner
from aggro.learners.base.inside import check_params
from aggro.learners.records import RecordLearner
from aggro.learners.registry import find, learners
from aggro.models import ModelFileError, describe, load_checkpoint, save
from aggro.serve.problems import Problem, one_line, short

TASK_OF_LEARNER = {entry.name: entry.task for entry in learners()}
REFUSALS = (ValueError, TypeError, OverflowError)  # what a learner raises for rows that it cannot learn
COLD_ROWS = 4  # of each class, to have code compiled


# Making -----------------------------------------------------------------------------------------------


def make(spec: dict[str, Any]) -> Any:
    """A learner that knows nothing: ``{"learner": name, "settings": {...}, "records": {...}}``.

    ``records`` are settings of the ``RecordLearner`` around it, which takes raw records.
    """
    name = spec.get("learner") or "PAClassifier"
    try:
        inner = find(name).load()
    except ValueError as error:
        raise Problem(422, "unknown_learner", str(error)) from None
    settings, of_records = dict(spec.get("settings") or {}), spec.get("records") or {}
    if "random_state" in signature(inner).parameters and settings.get("random_state") is None:
        settings["random_state"] = 0  # a model that is made again must be the same
    # Parameters are checked now, by the sender's request, and not with the first example.
    with refusing(422, "bad_setting"):
        inside = inner(**settings)
        check_params(inside)
        learner = RecordLearner(inside, **of_records)
        check_params(learner)
    return learner


def check_spec(spec: Any) -> dict[str, Any]:
    """A description of a learner that was sent, or a problem."""
    if not isinstance(spec, dict):
        raise Problem(422, "not_an_object", 'Expected an object such as {"learner": "PAClassifier"}.')
    unknown = sorted(spec.keys() - {"learner", "settings", "records"})
    if unknown:
        known = "'learner', 'settings', 'records'"
        raise Problem(422, "unknown_field", f"There is no field {short(unknown[0])} here. There are: {known}.")
    for field, kind in (("learner", str), ("settings", dict), ("records", dict)):
        if spec.get(field) is not None and not isinstance(spec[field], kind):
            raise Problem(422, "bad_field", f"{field!r} must be {'a text' if kind is str else 'an object'}.")
    # Defaults are filled in, so that the same description sent twice compares equal.
    return {
        "learner": spec.get("learner") or "PAClassifier",
        "settings": spec.get("settings") or {},
        "records": spec.get("records") or {},
    }


@contextmanager
def refusing(status: int, code: str) -> Iterator[None]:
    """Inside, what a learner refuses is the sender's problem."""
    try:
        yield
    except REFUSALS as error:
        raise Problem(status, code, one_line(error)) from None


# What a learner is ------------------------------------------------------------------------------------


def takes_records(learner: Any) -> bool:
    """Whether a learner encodes raw records itself."""
    return isinstance(learner, RecordLearner)


def innermost(learner: Any) -> Any:
    """The learner that learns, inside those around it."""
    while isinstance(learner, RecordLearner | ActiveLearner):
        # estimator_ is the fitted copy; estimator is the template that it was made from.
        inner = getattr(learner, "estimator_", None)
        if inner is None:
            inner = learner.estimator
        if inner is None:
            return None
        learner = inner
    return learner


def task_of(learner: Any) -> str:
    """ "classification", "regression" or "outlier"."""
    inner = innermost(learner)
    if inner is None:
        return "classification"
    return TASK_OF_LEARNER.get(type(inner).__name__) or find(type(inner).__name__).task


def name_of(learner: Any) -> str:
    """The name of the learner that learns."""
    inner = innermost(learner)
    return "PAClassifier" if inner is None else type(inner).__name__


def rows_learned(learner: Any) -> int:
    """How many rows a learner has learned; 0 for a new one."""
    return int(getattr(learner, "n_seen_", 0) or 0)


def facts_of(learner: Any) -> dict[str, Any]:
    """Counters of the learner itself."""
    facts: dict[str, Any] = {"updates": int(getattr(learner, "n_updates_", 0) or 0), "drifts": 0, "drift_rows": []}
    # History and drift counters appear with the first row.
    if rows_learned(learner):
        facts["drifts"] = int(getattr(learner, "n_drifts_", 0))
        facts["drift_rows"] = [int(row) for row in getattr(learner, "drift_rows_", ())]
        recent = getattr(learner, "recent_error_", None)
        facts["recent_loss"] = None if recent is None else float(recent)
        facts["curve"] = curve_of(learner)
    if takes_records(learner) and hasattr(learner, "encoder_"):
        facts["columns"] = {name: column.role.value for name, column in learner.columns_.items()}
    return facts


def curve_of(learner: Any) -> list[dict[str, Any]]:
    """The learner's own record of loss and mistakes, at each power of two of rows."""
    history = getattr(learner, "history_", None)
    if history is None:
        return []
    return [
        {name: float(line[name]) if name != "rows" else int(line[name]) for name in history.dtype.names}
        for line in history
    ]


def n_drifts(learner: Any) -> int:
    """How often the learner saw its error rise."""
    return int(getattr(learner, "n_drifts_", 0) or 0)


def known_columns(learner: Any) -> set[str]:
    """The columns of records that a learner knows."""
    if takes_records(learner) and hasattr(learner, "encoder_"):
        return set(learner.columns_)
    return set()


def classes_of(learner: Any) -> list[Any]:
    """The classes that a classifier knows."""
    classes = getattr(learner, "classes_", None) if rows_learned(learner) else None
    return [] if classes is None else [plain(label) for label in classes]


# Learning and predicting ------------------------------------------------------------------------------


def as_row(learner: Any, record: Any) -> Any:
    """A record as the learner's calls for one row take it."""
    if isinstance(record, list):
        # To a RecordLearner a list and an object of x0, x1, … are the same record.
        if takes_records(learner):
            return {f"x{j}": value for j, value in enumerate(record)}
        return np.array(record, np.float64)
    if isinstance(record, str) and not takes_records(learner):
        raise Problem(422, "not_a_record", "This model takes objects or lists of numbers, not texts.")
    return record


def as_rows(learner: Any, records: list[Any]) -> list[Any]:
    """Records of a batch in one shape: lists of numbers become objects where the others are objects."""
    if takes_records(learner) and len({type(record) for record in records}) > 1:
        return [{"": record} if isinstance(record, str) else as_row(learner, record) for record in records]
    return [as_row(learner, record) for record in records]


def learn(learner: Any, records: list[Any], labels: list[Any], weights: list[float], one: bool) -> None:
    """Learn one example, or a batch in one pass. The same call gives the same model, bit for bit."""
    detects = task_of(learner) == "outlier"
    if one or not takes_records(learner):
        for i, record in enumerate(records):
            row = as_row(learner, record)
            weight = weights[i] if weights else 1.0
            if detects:
                learner.learn_one(row, weight=weight)
            else:
                learner.learn_one(row, labels[i], weight)
        return
    given = () if detects else (as_targets(labels),)
    # partial_fit refuses a batch whose weights are all zero; here it is allowed, and changes nothing.
    if weights and not any(weights):
        return
    learner.partial_fit(as_rows(learner, records), *given, sample_weight=weights or None)


def learn_stream(learner: Any, records: list[Any], labels: list[Any]) -> dict[int, str]:
    """Learn records of a stream, each as if it came alone; for those that were refused, by number, the reason."""
    return learn_rows(learner, [Row(record, label) for record, label in zip(records, labels, strict=True)])


def as_targets(labels: list[Any]) -> Any:
    """Labels as an array that keeps each of them as it is."""
    kinds = {type(label) for label in labels}
    # NumPy would turn a mixture such as 1 and "a" into texts; only kinds that it keeps make a plain array.
    if kinds == {str} or kinds <= {int, float} or kinds == {bool}:
        return np.array(labels)
    targets = np.empty(len(labels), object)
    targets[:] = labels
    return targets


def predict(learner: Any, records: list[Any], one: bool) -> list[Any]:
    """The predictions as plain values; None for each as long as nothing was learned."""
    if not rows_learned(learner):
        return [None] * len(records)
    if one:
        return [plain(learner.predict_one(as_row(learner, records[0])))]
    # Whole batches go through the encoder at once; tolist gives Python numbers, as JSON needs them.
    if takes_records(learner):
        found = learner.predict(as_rows(learner, records))
        return list(map(plain, found)) if found.dtype.kind in "OS" else found.tolist()
    return [plain(learner.predict_one(as_row(learner, record))) for record in records]


def probabilities(learner: Any, records: list[Any]) -> list[dict[str, float] | None]:
    """The probability of each class, for each record."""
    if task_of(learner) != "classification" or not hasattr(learner, "predict_proba_one"):
        raise Problem(422, "no_probabilities", f"A {name_of(learner)} has no probabilities.")
    # None for each record, as predict does: an empty model is no error.
    if not rows_learned(learner):
        return [None] * len(records)
    found = [learner.predict_proba_one(as_row(learner, record)) for record in records]
    return [{spelled(label): float(p) for label, p in shares.items()} for shares in found]


def explain(learner: Any, record: Any, label: Any = None, most: int = 20) -> dict[str, Any]:
    """What each part of a record has to do with its score, the largest first."""
    if not rows_learned(learner):
        raise Problem(409, "nothing_learned", "The model has learned nothing yet.")
    if not hasattr(learner, "explain_one"):
        raise Problem(422, "no_reasons", f"A {name_of(learner)} cannot explain its scores.")
    # Passed on only if there is one: detectors and regressors take no label here.
    found = learner.explain_one(as_row(learner, record), *(() if label is None else (label,)))
    reasons = [{"feature": spelled(name), "part": float(part)} for name, part in [*found.items()][:most]]
    intercept = np.asarray(found.intercept, np.float64)
    return {
        "label": plain(found.label),
        "score": float(found.score),
        "intercept": float(intercept) if intercept.ndim == 0 else float(intercept.sum()),
        "reasons": reasons,
        "more": max(0, len(found) - most),
    }


def doubt(shares: dict[str, float] | None) -> float:
    """How unsure a prediction is: 1 where the two likeliest classes are equally likely, 0 where one is certain."""
    if not shares:
        return 1.0
    # The gap between the two largest shares, as margin sampling has it.
    best = sorted(shares.values(), reverse=True)[:2]
    return 1.0 if len(best) < 2 else max(0.0, 1.0 - (best[0] - best[1]))


def plain(value: Any) -> Any:
    """A label or number as JSON has it."""
    if isinstance(value, np.generic):
        value = value.item()
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def spelled(value: Any) -> str:
    """A label or a feature as text, for the names of a JSON object."""
    value = plain(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


# Files ------------------------------------------------------------------------------------------------


def write(learner: Any, path: Path, position: Any) -> None:
    """Save a learner, whole or not at all."""
    save(learner, path, position)


def read(path: Path) -> tuple[Any, Any]:
    """A learner from a file, and the position saved with it."""
    learner, position = load_checkpoint(path, shell=False)
    return learner, position


def from_upload(data: bytes) -> Any:
    """A learner from the bytes of a model file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "upload.aggro")
        # The loader reads files, so the bytes need one; its checks refuse a file that is cut or forged.
        path.write_bytes(data)
        try:
            return read(path)[0]
        except ModelFileError as error:
            # The path of the server's temporary folder is none of the client's business.
            raise Problem(422, "not_a_model", one_line(error).replace(os.fspath(path), "The file")) from None


def as_file(learner: Any) -> bytes:
    """A learner as the bytes of a model file."""
    if not rows_learned(learner):
        raise Problem(409, "nothing_learned", "The model has learned nothing yet, so there is no file of it.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "download.aggro")
        save(learner, path)
        return path.read_bytes()


def largest_weights(learner: Any, most: int = 20) -> list[dict[str, Any]]:
    """The largest weights, with the names of their features."""
    if not rows_learned(learner):
        return []
    # describe reads a file, so the weights here are those that a downloaded file would show.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "weights.aggro")
        save(learner, path)
        found = describe(path, weights=most).weights
    return [
        {
            "feature": spelled(w.feature),
            "class": None if w.label is None else spelled(w.label),
            "weight": float(w.value),
        }
        for w in found
    ]


# Compiling --------------------------------------------------------------------------------------------


def warm_up(spec: dict[str, Any]) -> None:
    """Have the code compiled that a new model of this kind needs: a throw-away model learns a few rows."""
    learner = make(spec)
    task = task_of(learner)
    rows = [{"number": float(i), "word": "ab"[i % 2]} for i in range(COLD_ROWS)]
    # Two and three classes run different code. The second pass grows the model from two classes to three.
    for kinds in (2, 3):
        labels: list[Any] = [float(i) for i in range(COLD_ROWS)]
        if task == "classification":
            labels = ["abc"[i % kinds] for i in range(COLD_ROWS)]
        # Both ways in are compiled: one example at a time, and a batch.
        for row, label in zip(rows, labels, strict=True):
            learn(learner, [row], [label], [], one=True)
        exercise(learner, rows)
        learn(learner, rows, labels, [], one=False)


def sample(learner: Any) -> Any:
    """A record that a learner can be asked about."""
    if takes_records(learner):
        known = [name for name, column in learner.columns_.items() if column.role.value not in ("id", "ignore")]
        # A missing cell is valid in every column, whatever its role.
        return dict.fromkeys(known[:1] or [""])
    if hasattr(learner, "feature_names_in_"):
        return {}
    return [0.0] * int(getattr(learner, "n_features_in_", 1))


def exercise(learner: Any, records: list[Any]) -> None:
    """Ask a learner everything that it may be asked about records, so that later nobody waits for a compiler."""
    predict(learner, records[:1], one=True)
    predict(learner, records, one=False)
    if task_of(learner) == "classification" and hasattr(learner, "predict_proba_one"):
        probabilities(learner, records[:1])
    if hasattr(learner, "explain_one"):
        explain(learner, records[0])
