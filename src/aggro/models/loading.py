"""A learner out of a file.

Kernels do not check bounds, so nothing reaches them that saving could not have written. First everything the
header says is looked at, then what kinds of arrays there are, and only then are they read.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from aggro.engine.rule import ADDED_FIELDS, RULES, new_tally
from aggro.learners.base.inside import check_params, constraints_of, give_model
from aggro.learners.base.params import StepChoice
from aggro.learners.model.features import Features
from aggro.learners.model.labels import Labels
from aggro.learners.model.model import Model
from aggro.learners.registry import Entry, find
from aggro.models.container import Container, Path, Spec, opened
from aggro.models.errors import PLUGIN, UPGRADE, Flaw
from aggro.models.header import Header
from aggro.models.names import NAMES_ENTRY, read_names
from aggro.models.state_check import check_state, mould, specs_of, unflatten

RECORDS_ARRAYS = tuple(  # of a RecordLearner's encoder
    f"records.{name}" for name in ("keys", "kinds", "columns", "ends", "letters", "counts", "means", "squares")
)
SPARE_CLASSES = 64  # classes that a state may have room for, beyond twice those that have names
REPLAY_ARRAYS = tuple(  # of the rows that an ActiveLearner keeps
    f"replay.{name}" for name in ("dense", "ends", "indices", "data", "codes", "weights")
)
MAX_LABELS = 2**30  # bytes for the array of labels, in which one long label makes all of them long


def load(path: Path, *, shell: bool = True) -> Any:
    """Load a learner from a file.

    Parameters
    ----------
    path : path
        A file written by ``save``.
    shell : bool, default=True
        Whether to return a scikit-learn estimator. With False, scikit-learn is not imported.

    Returns
    -------
    learner : learner
        The learner. It predicts and learns exactly as the saved one would. The file says which class it is, so name the
        class for type checkers: ``model: PAClassifier = load("m.aggro")``.

    Raises
    ------
    ModelFileError
        If the file is not a complete model. The message says what is wrong and what to do. If the model uses a learner
        or a step of your own, import the module that defines it first.
    """
    return load_checkpoint(path, shell=shell)[0]


def load_checkpoint(path: Path, *, shell: bool = True) -> tuple[Any, Any]:
    """Load a learner, and the position that was saved with it.

    A checkpoint is a model file that also contains a position in the stream. Both are written in one step, so they
    always match: the model has learned every row before the position once, and none after it.

    Parameters
    ----------
    path : path
        A file written by ``save``.
    shell : bool, default=True
        Whether to return a scikit-learn estimator. With False, scikit-learn is not imported.

    Returns
    -------
    learner : learner
        The learner. It predicts and learns exactly as the saved one would.
    position : JSON
        The position given to ``save``, as JSON returns it (a tuple becomes a list), or None.
    """
    with opened(path) as container:
        header = Header.parse(container.text)
        return build(container, header, shell), header.position


def build(container: Container, header: Header, shell: bool, bare: bool = False) -> Any:
    """The learner in an open file; ``bare`` without those that are around it."""
    try:
        entry = find(header.entry)
    except ValueError as error:
        raise Flaw(str(error).rstrip("."), PLUGIN) from error
    # Arrays of the parts around the learner are checked by these parts; all others must be the state's.
    apart = () if header.records is None else RECORDS_ARRAYS
    if header.keeps_rows:
        apart += REPLAY_ARRAYS
    specs = {name: spec for name, spec in container.specs.items() if name != NAMES_ENTRY and name not in apart}
    parameters = header.parameters
    if header.candidates is not None:
        from aggro.models.candidates_header import (  # which others do not need
            CANDIDATES_PREFIX,
            estimators_in,
            model_with,
        )

        made = estimators_in(header.candidates, lambda entry, values: _learner(entry, values, shell))
        parameters = {**parameters, "estimators": made}
        specs = {name: spec for name, spec in specs.items() if not name.startswith(CANDIDATES_PREFIX)}
    # The learner first, with checked parameters: its rule decides which arrays there may be.
    learner = _learner(entry, parameters, shell, published=header.learner != header.entry)
    labels = _labels(entry, header)
    features = _features(container, header)
    # Arrays that later versions added begin as the rule says, so old files go on to load.
    begins = added_since(header.state, specs)
    begun = {name: empty_of(header.state, name) if begin is None else begin for name, begin in begins.items()}
    counted = counted_since(specs, len(labels.codes))
    wanted = {**specs, **{name: spec_of_added(begin, specs) for name, begin in begun.items()}}
    wanted |= specs_of(counted)
    # Types and shapes are checked before a single array is read.
    small = mould(learner, header.state, wanted, header.width, len(labels.codes))
    arrays = {name: container.read(name) for name in specs}
    more = {name: as_added(begin, arrays) for name, begin in begun.items()}
    state = unflatten(small, {**arrays, **more, **counted})
    # Then the values, since kernels check neither.
    check_state(state, len(labels.codes))
    if header.candidates is not None:
        model = model_with(learner, state, header, features, labels, container, build)
    else:
        model = Model(state, header.width, features, labels, header.seed)
    model.n_iter = header.n_iter
    try:
        give_model(learner, model)
    except ValueError as error:
        raise Flaw(f"its parameters do not fit what was learned ({str(error).rstrip('.')})") from error
    # From the inside out: the learner, then what is around it.
    if header.active is not None and not bare:
        from aggro.models.active_header import revived  # with the active learner, which others do not need

        learner = revived(learner, header.active, container, shell)
    if header.records is not None and not bare:
        from aggro.models.record_header import with_records  # with the encoder, which others do not need

        learner = with_records(learner, header.records, container, shell)
    if header.later is not None and not bare:
        from aggro.models.later_header import with_later

        learner = with_later(learner, header.later)
    return learner


def spec_of_added(begin: Any, specs: Mapping[str, Spec]) -> Spec:
    """What kind of array a file lacks that begins so."""
    return specs[begin] if isinstance(begin, str) else Spec(begin.dtype, begin.shape)


def as_added(begin: Any, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """An array that a file lacks, as it begins."""
    return arrays[begin].copy() if isinstance(begin, str) else np.array(begin)


def added_since(kind: str, specs: Mapping[str, Spec]) -> dict[str, Any]:
    """The arrays that a file of an earlier version lacks, and what each begins as: see ``Rule.added``."""
    added = next((rule.added for rule in RULES.values() if rule.state.__name__ == kind), {})
    try:
        # A source may look at other arrays of the file, which a damaged one may lack.
        begins = {name: source(specs) for name, source in added.items() if name not in specs}
    except (KeyError, IndexError):  # other arrays are missing too: what checks them says so
        return {}
    return {name: begin for name, begin in begins.items() if not isinstance(begin, str) or begin in specs}


def empty_of(kind: str, name: str) -> np.ndarray:
    """An array without numbers, of as many sides as the state's own."""
    state = next(rule.state for rule in RULES.values() if rule.state.__name__ == kind)
    return np.array(state._field_defaults.get(name, np.zeros(0)))


def counted_since(specs: Mapping[str, Spec], names: int) -> dict[str, np.ndarray]:
    """What the tally in a file of an earlier version lacks, as it begins; there are ``names`` classes."""
    classes = specs.get("tally.classes")
    # All or none: a file with some of the added fields is of a newer version, and is checked as it stands.
    if classes is None or len(classes.shape) != 1 or any(f"tally.{name}" in specs for name in ADDED_FIELDS):
        return {}
    # Bounded by the names, so that a forged shape cannot ask for gigabytes.
    if classes.shape[0] > SPARE_CLASSES + 2 * names:
        raise Flaw(f"it has room for {classes.shape[0]} classes, and names {names}")
    fresh = new_tally(classes.shape[0])._asdict()
    return {f"tally.{name}": fresh[name] for name in ADDED_FIELDS}


def _learner(entry: Entry, parameters: dict[str, Any], shell: bool, published: bool = False) -> Any:
    if published:
        kind = getattr(import_module("aggro.published"), entry.name, None)
        if kind is None:
            raise Flaw(f"aggro.published has no {entry.name}", UPGRADE)
    else:
        kind = getattr(import_module("aggro.estimators"), entry.name) if shell else entry.load()
    # Only known parameters reach the constructor.
    constraints = constraints_of(kind)
    unknown = sorted(set(parameters) - set(constraints))
    if unknown:
        raise Flaw(f"{entry.name} has no parameter {unknown[0]!r}", UPGRADE)
    for name, value in parameters.items():
        if isinstance(constraints[name], StepChoice) and not constraints[name].accepts(value):
            raise Flaw(f"there is no step {str(value)[:60]!r}", PLUGIN)
    # A parameter that the file does not know is newer than it: it has the value that says what was there before, which
    # the class has, or its default.
    older = {name: getattr(kind, name) for name in constraints if name not in parameters and hasattr(kind, name)}
    learner = kind(**older, **parameters)
    try:
        check_params(learner)
    except ValueError as error:
        raise Flaw(str(error).rstrip(".")) from error
    return learner


def _labels(entry: Entry, header: Header) -> Labels:
    every = [*header.classes, *header.reserved_classes]
    if every and entry.task != "classification":
        raise Flaw(f"a {entry.name} has no classes, and the header names some")
    for label in every:
        if not isinstance(label, str | bytes | int | float):
            raise Flaw(f"{str(label)[:60]!r} cannot be a class")
    # NumPy makes every text as long as the longest: the product is bounded before the array is made.
    longest = max((len(label) for label in every if isinstance(label, str | bytes)), default=0)
    if 4 * longest * len(every) > MAX_LABELS:
        raise Flaw(f"{len(every)} classes with names of up to {longest} letters do not fit in memory")
    try:
        labels = Labels({label: code for code, label in enumerate(header.classes)}, tuple(header.reserved_classes))
    except (TypeError, ValueError, OverflowError) as error:
        raise Flaw(f"its classes do not go together ({str(error).rstrip('.')})") from error
    if len(labels.codes) + len(labels.reserved) != len(every):
        raise Flaw("a class comes twice in the header")
    return labels


def _features(container: Container, header: Header) -> Features:
    features = Features(header.reserved_features)
    least = header.reserved_features or 0
    if header.named:
        features.name(read_names(container))
        # Names and count are stored apart, and must agree.
        if header.n_features != features.n:
            known = f"{len(features.index)} feature names and {least} reserved"
            raise Flaw(f"the header counts {header.n_features} features, and there are {known}")
    elif NAMES_ENTRY in container.specs:
        raise Flaw("there are feature names, and the header says that there are none")
    features.n = header.n_features
    # The width is the room of the arrays: a feature beyond it would be written past their end.
    if not least <= features.n <= header.width or (least and features.n > least):
        raise Flaw(f"{features.n} features do not fit a width of {header.width} with {least} reserved")
    return features
