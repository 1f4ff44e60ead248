"""A learner into a file."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np

from aggro.learners.base.inside import model_of, parameters_of, prepare
from aggro.learners.base.later import waiting_in
from aggro.learners.registry import ACTIVE, RECORD_ENTRY, learners
from aggro.models.atomic import replacing
from aggro.models.container import Path, write
from aggro.models.errors import Flaw
from aggro.models.header import PUBLISHED, Header
from aggro.models.names import NAMES_ENTRY, packed_names
from aggro.models.state_check import check_state, flatten, mould, specs_of


def save(learner: Any, path: Path, position: Any = None) -> None:
    """Save a learner in a file. An existing file is replaced completely or not at all.

    The file has the safetensors format: the arrays of the model and a JSON header. It contains no pickle and can never
    run code. The same model always gives the same bytes. If ``random_state`` is a generator, the file stores the seed
    drawn from it.

    Parameters
    ----------
    learner : learner
        A learner that has learned something.
    path : path
        File to write, usually named ``….aggro``.
    position : JSON, default=None
        Position in the stream, for a checkpoint: see :func:`load_checkpoint`.

    Raises
    ------
    ValueError
        If the learner has learned nothing, or contains something that a file cannot. Nothing is written.
    OSError
        If the file cannot be written. An existing file is unchanged.

    Examples
    --------
    >>> import os, tempfile
    >>> from aggro import PAClassifier, load
    >>> path = os.path.join(tempfile.mkdtemp(), "m.aggro")
    >>> PAClassifier().learn_one({"good": 1}, "+").learn_one({"bad": 1}, "-").save(path)
    >>> load(path).predict_one({"bad": 1})
    '-'
    """
    file = os.fsdecode(path)
    if (model := model_of(learner)) is not None:
        # From within a pass of this thread, the model would be caught halfway.
        model.check_idle()
    try:
        header, arrays = _snapshot(learner, position)
        if waiting_in(learner) is not None:
            from aggro.models.later_header import later_of  # rows that wait for labels, which others do not have

            header = replace(header, later=later_of(learner))
        # The whole text before the file is opened: what cannot be written must not leave half a file.
        text = header.text()
    except Flaw as flaw:
        what = f"This {type(learner).__name__} cannot be saved: {flaw.fault}. Nothing was written to {file!r}."
        raise ValueError(what) from flaw.__cause__
    with replacing(file) as new:
        write(new, text, arrays)


def _snapshot(learner: Any, position: Any) -> tuple[Header, dict[str, np.ndarray]]:
    """A learner at this moment, looked over as if it came from a file: what is saved can be loaded."""
    model = model_of(learner)
    if model is not None and "estimator" in learner.__dict__ and isinstance(learner, RECORD_ENTRY.load()):
        from aggro.models.record_header import records_of  # with the encoder, which others do not need

        # Within the learner's turn no other thread changes encoder or model, so both are of one moment.
        with learner.turn() as inner:
            header, arrays = _snapshot(inner, position)
            try:
                part, more = records_of(learner)
            except TypeError as error:
                raise Flaw(f"a column of it cannot be stored ({error})") from error
            return replace(header, records=part), {**arrays, **more}
    if model is not None and "estimator" in learner.__dict__ and isinstance(learner, ACTIVE.load()):
        from aggro.models.active_header import activity_of, rows_of  # with the active learner, which others do not need

        # Gate, questions and inner model change together, so they are read in one turn.
        def of_both(inner: Any) -> tuple[Header, dict[str, np.ndarray]]:
            header, arrays = _described(inner, *_taken(inner, model), position)
            return replace(header, active=activity_of(learner)), {**arrays, **rows_of(learner)}

        with learner.turn() as inner:
            together: tuple[Header, dict[str, np.ndarray]] = model.in_turn(model.undisturbed, of_both, inner)
            return together
    if model is not None and hasattr(model, "candidates"):
        from aggro.models.candidates_header import candidates_of, without_estimators  # which others do not need

        def of_all() -> tuple[Header, dict[str, np.ndarray]]:
            parts, parameters = _taken(learner, model)
            header, arrays = _described(learner, parts, without_estimators(parameters), position)
            part, more = candidates_of(parameters["estimators"], parts["candidates"], _described)
            return replace(header, candidates=part), {**arrays, **more}

        found: tuple[Header, dict[str, np.ndarray]] = model.in_turn(model.undisturbed, of_all)
        return found
    kind = type(learner).__name__
    # Only registered learners can be found again by their name.
    known = (*learners(), ACTIVE, RECORD_ENTRY)
    if not any(entry.name == kind and isinstance(learner, entry.load()) for entry in known):
        raise Flaw("it is not one of the learners that aggro has. Enter your own with aggro.register")
    if model is None:
        raise Flaw("it has learned nothing yet. Call fit, partial_fit or learn_one first")
    parts, parameters = model.in_turn(model.undisturbed, _taken, learner, model)
    return _described(learner, parts, parameters, position)


def _taken(learner: Any, model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Copies of what was learned, and the parameters. Needs the model's locks."""
    prepare(learner, model)
    return model.parts(), parameters_of(learner)


def _described(
    learner: Any, parts: dict[str, Any], parameters: dict[str, Any], position: Any = None
) -> tuple[Header, dict[str, np.ndarray]]:
    """The header and the arrays of a file, looked over."""
    import aggro  # not above: aggro itself offers ``load``

    state, features, labels = parts["state"], parts["features"], parts["labels"]
    arrays = flatten(state)
    # The same checks as when loading: what is saved can be loaded.
    mould(learner, type(state).__name__, specs_of(arrays), parts["width"], len(labels.codes))
    check_state(state, len(labels.codes))
    # The seed stands for a generator, which no file can hold.
    if isinstance(parameters["random_state"], np.random.RandomState | np.random.Generator):
        parameters["random_state"] = parts["seed"]
    # An array of their own: the header has a limit, and there may be millions of names.
    if features.names is not None:
        arrays[NAMES_ENTRY] = packed_names(features.names)
    header = Header(
        aggro=aggro.__version__,
        learner=PUBLISHED * type(learner).__module__.startswith("aggro.published") + type(learner).__name__,
        parameters=parameters,
        classes=list(labels.codes),
        reserved_classes=list(labels.reserved),
        n_features=features.n,
        reserved_features=features.reserved,
        named=features.names is not None,
        width=parts["width"],
        seed=parts["seed"],
        n_iter=parts["n_iter"],
        state=type(state).__name__,
        position=position,
    )
    return header, arrays
