"""Learners that began as one and learned apart, as one again: by the names of their classes and features.

First it is found out what all of them know together (``union``). Then each is taken apart, at the places that its
classes and features have there (``taken``), these sums are added in any order (``added_up``), and a learner is made of
what they come to (``finished``).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from aggro.engine.rule import RULES, SEEN, UPDATES, new_tally
from aggro.learners.base.combined import assembled, blank, settle, with_room
from aggro.learners.base.inside import give_model, innermost, model_of, rule_and_params, settings_of
from aggro.learners.model.features import Features
from aggro.learners.model.labels import Labels
from aggro.learners.registry import VOTES
from aggro.mixing.parts import Mix, Sight, Sums, summed, together, value_of
from aggro.mixing.tally import put_tally, take_tally

if TYPE_CHECKING:
    from aggro.mixing.records import Structure

MIXES_BY = ("uniform", "rows", "updates")
FREE = {"budget", "max_iter", "batch_size", "shuffle", "warm_start", "verbose"}  # may differ among what is combined


class Known(NamedTuple):
    """What a learner, or several, know: classes in the order of appearance, and features.

    All that began as one know its features first, in its order; only those after them are listed by name.
    """

    classes: tuple[Any, ...]
    reserved: tuple[Any, ...]
    named: bool  # whether features have names
    start: int  # features of the common start
    more: tuple[Any, ...]  # names of those after them
    n_features: int
    width: int
    records: Structure | None = None  # of learners of records


class Mixture(NamedTuple):
    """The sums of some learners."""

    sums: Sums
    n: int  # of them


def mix_of(kind: type) -> Mix:
    """How states of this type combine."""
    # A registered rule may bring its own mix; ours are found by the name of their family.
    own = RULES[kind].mix
    found = own if own is not None else _mixes(_family(kind)).get(kind)
    if found is None:
        raise ValueError(
            f"Models of {kind.__name__} cannot be combined: their rule does not say how to combine its arrays. "
            "Pass Rule(mix=…)."
        )
    return found


def says_how(learner: Any) -> bool:
    """Whether models of this learner can be combined."""
    try:
        # Of the rule's type alone: a model would compile code.
        mix_of(rule_and_params(learner, 0)[0].state)
    except ValueError:
        return False
    return True


def _family(state: type) -> str:
    parts = state.__module__.split(".")
    return parts[2] if parts[:2] == ["aggro", "learners"] else ""


@cache
def _mixes(family: str) -> dict[type, Mix]:
    try:
        # Imported when asked for: most programs never combine models.
        return dict(import_module(f"aggro.mixing.{family}").MIXES) if family else {}
    except ModuleNotFoundError as error:
        # A family without a module cannot be combined; any other missing module is an error.
        if error.name != f"aggro.mixing.{family}":
            raise
        return {}


# What is known ---------------------------------------------------------------------------------------------------


def known_of(learner: Any, base: Any) -> Known:
    """What a learner that began as the base knows."""
    model, began = model_of(learner), model_of(base)
    start = 0 if began is None else began.features.n
    if hasattr(learner, "encoder_"):
        return _known_of_records(learner, base)
    if model is None:
        return Known((), (), False, start, (), start, 0)
    features, labels = model.features, model.labels
    # The common start comes first in every copy, in the same order, so only what follows needs names.
    more = () if features.names is None else tuple(features.names[start:])
    named = features.names is not None
    return Known(tuple(labels.codes), labels.reserved, named, start, more, features.n, model.width)


def _known_of_records(learner: Any, base: Any) -> Known:
    from aggro.mixing.records import keys_from, structure_of

    model, encoder = model_of(learner), learner.encoder_
    start = base.encoder_.width if hasattr(base, "encoder_") else 0
    labels = Labels() if model is None else model.labels
    more = keys_from(encoder, start)
    width = 0 if model is None else model.width
    return Known(
        tuple(labels.codes), labels.reserved, True, start, more, encoder.width, width, structure_of(encoder, start)
    )


def union(base: Known, others: Iterable[Known]) -> Known:
    """What all know together: first what the start knew, then in the order of the others what each has more."""
    parts = [base, *others]
    classes = dict.fromkeys(name for part in parts for name in part.classes)
    reserved = dict.fromkeys(name for part in parts for name in part.reserved if name not in classes)
    width = max(part.width for part in parts)
    # A partition that has seen no feature does not say whether features have names.
    told = [part for part in parts if part.n_features]
    if len({part.named for part in told}) > 1:
        raise ValueError(
            "Some partitions have names for their features, and others only numbers. Give all of them names, or none."
        )
    named = bool(told) and told[0].named
    # Numbers are the same everywhere, so the widest partition knows all features.
    if not named:
        n = max(part.n_features for part in parts)
        return Known(tuple(classes), tuple(reserved), False, base.start, (), n, max(width, n))
    # In the order in which the partitions list them: new features get their numbers by it.
    more = tuple(dict.fromkeys(name for part in parts for name in part.more))
    structures = [part.records for part in parts if part.records is not None]
    records = None
    if structures:
        from aggro.mixing.records import joined

        records = joined(structures, more)
    n = base.start + len(more)
    return Known(tuple(classes), tuple(reserved), True, base.start, more, n, max(width, n), records)


def _sight(own: Known, known: Known, base: Any) -> Sight:
    place = {name: k for k, name in enumerate(known.classes)}
    classes = np.array([place[name] for name in own.classes], np.int64)
    # The usual case, in which the places are the same, needs no table of names.
    if not own.named or own.more == known.more[: len(own.more)]:
        features = np.arange(own.n_features)
    else:
        where = {name: known.start + k for k, name in enumerate(known.more)}
        more = np.array([where[name] for name in own.more], np.int64)
        features = np.concatenate([np.arange(own.start), more])
    return Sight(features, classes, known.n_features, len(known.classes), base)


# Taken apart, added up, put together -----------------------------------------------------------------------------


def weight_of(learner: Any, base: Any, mix: str) -> float:
    """What a learner weighs in means: one, its rows, or its updates since the start."""
    if mix == "uniform":
        return 1.0
    # Since the start: its rows are in all partitions alike.
    which = SEEN if mix == "rows" else UPDATES
    model, began = model_of(learner), model_of(base)
    assert model is not None
    before = 0 if began is None else int(began.state.tally.rows[which])
    # At least 1, so that a partition that only learned without updates still counts.
    return float(max(1, int(model.state.tally.rows[which]) - before))


def taken(learner: Any, base: Any, known: Known, mix: str) -> Mixture:
    """A learner that began as the base, as a mixture of one; what waits in it is learned."""
    # Rows of an incomplete mini-batch would be in no part of the state.
    settle(innermost(learner))
    return Mixture(_sums(learner, known_of(learner, base), known, base, weight_of(learner, base, mix)), 1)


def _sums(learner: Any, own: Known, known: Known, base: Any, weight: float) -> Sums:
    inner, classes = innermost(learner), max(len(known.classes), 1)
    model, began = model_of(inner), model_of(base)
    assert model is not None
    wide = max(model.width, own.n_features)  # an encoder that was told its columns is ahead of a model that knows none
    # Every partition gets the classes of all, since a third class changes the type of the state.
    state, params, rule = with_room(inner, model, classes, wide)
    start, rows = None, 0
    if began is not None:
        start, rows = began.state, int(began.state.tally.rows[SEEN])
        # The start is converted likewise, or its parts could not be subtracted.
        if type(start) is not rule.state:
            start = with_room(innermost(base), began, classes, began.width)[0]
    sight = _sight(own, known, start)
    parts = take_tally(state.tally, sight, rows) | mix_of(type(state)).take(state, params, sight)
    if known.records is not None:
        from aggro.mixing.records import take_encoder

        parts |= take_encoder(learner.encoder_, known.records)
    # Placed among all classes and features here, so that later sums need no names.
    return {name: summed(part, sight, weight) for name, part in parts.items()}


def added_up(mixtures: Sequence[Mixture]) -> Mixture:
    """Mixtures as one; their order does not matter, to the bit."""
    # All mixtures have the same parts: they are of one rule, with the same settings.
    names = mixtures[0].sums
    sums = {name: together([one.sums[name] for one in mixtures]) for name in names}
    return Mixture(sums, sum(one.n for one in mixtures))


def finished(mixture: Mixture, base: Any, known: Known) -> Any:
    """The learner that a mixture comes to: a copy of the base that knows all."""
    # The base itself must not change.
    learner = copy.deepcopy(base)
    zero = copy.deepcopy(base)  # as the start was, with a model also if it had learned nothing
    inner = innermost(zero)
    fresh = model_of(inner) is None
    like = model_of(inner) or blank(inner)
    # A base that has learned nothing stands for a model with no rows.
    if fresh:
        give_model(inner, like)
    own = known_of(zero, base)._replace(named=known.named, n_features=known.start)
    # The start as a partition of its own: SUM and POOLED take it off n − 1 times.
    sums = _sums(zero, own, known, zero, 1.0)
    # The only division and rounding of all, once everything is added up.
    values = {name: value_of(found, sums[name], mixture.n) for name, found in mixture.sums.items()}
    labels = Labels({label: k for k, label in enumerate(known.classes)}, known.reserved)
    features = Features(like.features.reserved)
    if known.named and known.records is None:
        features.name([*(like.features.names or ()), *known.more])
    features.n = max(known.n_features, features.reserved or 0)
    model, params = assembled(innermost(learner), like, labels, features, max(known.width, known.n_features, 1))
    tally = new_tally(model.state.tally.classes.shape[0])
    # The tally first: rules read the rows seen when they are filled.
    put_tally(tally, values, like.state.tally, len(known.classes))
    state = model.state._replace(tally=tally)
    n, classes = known.n_features, len(known.classes)
    start = with_room(inner, like, max(classes, 1), like.width)[0]
    every = Sight(np.arange(n), np.arange(classes), n, classes, start, mixture.n, known.start)
    model.state = mix_of(type(state)).put(state, params, values, every)
    give_model(innermost(learner), model)
    if known.records is not None:
        from aggro.mixing.records import put_encoder

        put_encoder(learner, values, known.records)
    return learner


def merge(base: Any, learners: Sequence[Any], weights: str = "rows") -> Any:
    """Combine learners that were trained in parallel from copies of the same base model.

    Parameters
    ----------
    base : learner
        The common starting point: a learner that has learned something, or nothing yet.
    learners : list of learners
        The trained copies. They are not changed. Copies that have learned nothing since do not count.
    weights : {"rows", "uniform", "updates"}, default="rows"
        Weight of each learner in means: its number of rows, the same for all, or its number of updates.

    Returns
    -------
    learner : learner
        A learner that combines what all have learned. Counters are added up; those of the base count once. The order of
        the learners only decides the order of new classes and features.

    Raises
    ------
    TypeError, ValueError
        If a learner cannot have started as a copy of the base: it has another class, other parameters, fewer rows, or
        other first classes or features.

    Examples
    --------
    >>> from aggro import PAClassifier
    >>> from aggro.mixing import merge
    >>> first = PAClassifier().learn_one({"good": 1}, "+").learn_one({"bad": 1}, "-")
    >>> second = PAClassifier().learn_one({"poor": 1}, "-").learn_one({"great": 1}, "+")
    >>> both = merge(PAClassifier(), [first, second])
    >>> both.n_seen_, both.predict_one({"great": 1}), both.predict_one({"bad": 1})
    (4, '+', '-')
    """
    check_is_one(base)
    if weights not in MIXES_BY:
        raise ValueError(f"weights={weights!r} is not known. Expected one of {', '.join(MIXES_BY)}.")
    if hasattr(base, "new_encoder") and not hasattr(base, "encoder_"):
        base = copy.deepcopy(base).settle({})  # the learner inside is made
    if not isinstance(learners, Iterable):
        raise TypeError(f"learners must be a list of learners, got {type(learners).__name__}.")
    learned = []
    # All are checked before anything is copied or learned.
    for number, one in enumerate(learners, 1):
        check_began(one, base, number)
        if has_learned(one, base):
            learned.append(one)
    # With one copy, or none, there is nothing to combine, and not a bit should change.
    if len(learned) < 2:
        return copy.deepcopy(learned[0] if learned else base)
    # Copies, since settling changes a learner.
    copies = [copy.deepcopy(one) for one in learned]  # what waits in them is learned
    known = union(known_of(base, base), (known_of(one, base) for one in copies))
    return finished(added_up([taken(one, base, known, weights) for one in copies]), base, known)


def check_is_one(learner: Any) -> None:
    """Refuse a learner that lets several vote: their states are not one that could be added up."""
    name = type(innermost(learner)).__name__
    if name in {entry.name for entry in VOTES}:
        raise ValueError(
            f"{name} lets several learners vote, which cannot be merged. Merge models of one of them, such as "
            "PAClassifier."
        )


COPIES = "All learners passed to merge() must be copies of the same base model."


def check_began(learner: Any, base: Any, number: int) -> None:
    """Refuse a learner, of this number among all, that cannot have begun as a copy of the base."""
    if type(learner).__name__ != type(base).__name__:  # one may be of ``aggro.published``, and one out of a file
        raise TypeError(f"{COPIES} Learner {number} is {str(learner)[:100]}, but the base is a {type(base).__name__}.")
    model, began = model_of(learner), model_of(base)
    if model is None:
        return
    mine, its = type(innermost(learner)).__name__, type(innermost(base)).__name__
    if mine != its:
        raise TypeError(f"{COPIES} Learner {number} contains a {mine}, but the base contains a {its}.")
    own, first = settings_of(learner), settings_of(base)
    for name in own:
        numbers = isinstance(own[name], float) and isinstance(first[name], float)  # as of steps of other lengths
        # Floats such as C may differ: copies may have learned with steps of other lengths.
        if name not in FREE and own[name] != first[name] and not numbers:
            raise ValueError(
                f"{COPIES} Learner {number} has {name}={own[name]!r}, but the base has {name}={first[name]!r}."
            )
    # Anything goes on from nothing.
    if began is None:
        return
    classes, names = [*began.labels.codes], list(began.features.names or ())
    # Classes and features of the base come first in every copy: they are matched by position.
    for what, goes_on in (
        ("rows", model.state.tally.rows[SEEN] >= began.state.tally.rows[SEEN]),
        ("classes", [*model.labels.codes][: len(classes)] == classes),
        ("features", list(model.features.names or ())[: len(names)] == names and model.features.n >= began.features.n),
    ):
        if not goes_on:
            raise ValueError(
                f"{COPIES} Learner {number} lacks {what} of the base. Make copies with copy.deepcopy(base)."
            )


def has_learned(learner: Any, base: Any) -> bool:
    """Whether it has learned a row since."""
    model, began = model_of(learner), model_of(base)
    if model is None:
        return False
    return began is None or int(model.state.tally.rows[SEEN]) > int(began.state.tally.rows[SEEN])
