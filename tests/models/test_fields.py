"""Every field of every state says what it may hold, and a file that does not hold to it is refused by name."""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Annotated, NamedTuple

import numpy as np
import pytest
from attack.forged_models import probe, use
from attack.forgeries import bounds_in
from helpers import forge
from models.old import recipes

from aggro import models
from aggro.engine.fields import Each, Numbers, Whole, described, exactly, faults
from aggro.engine.rule import HISTORY_MARKS, RULES, SEEN, Rule, Tally, new_tally
from aggro.learners.registry import LEARNERS
from aggro.models import ModelFileError
from aggro.models.errors import Flaw
from aggro.models.state_check import check_state

OLD = recipes.Path(__file__).parent / "old" / "0.1.0"
PACKAGE = "aggro."


# Kinds of states that version 0.1.0 did not have.
NEWER = {
    "scaled line": ("PARegressor", {"C": 1.0, "average": False}),
    "scaled grid": ("PARegressor", {}),
    "scaled bank": ("PAClassifier", {}),
    "scaled groups": ("PAClassifier", {"batch_size": 4}),
    "scaled support set": ("KernelPAClassifier", {}),
    "belief": ("AROWClassifier", {"scale": None, "covariance": "full"}),
    "scaled belief": ("AROWRegressor", {"average": True}),
    "mapped belief": ("SCWClassifier", {"features": "nystroem", "n_components": 6}),
    "plane": ("ROMMAClassifier", {"scale": None}),
    "scaled plane": ("ALMAClassifier", {}),
    "mapped plane": ("Perceptron", {"features": "fourier", "n_components": 6}),
    "hidden layer": ("OSELMClassifier", {"n_hidden": 12}),
    "local": ("LOLClassifier", {"n_prototypes": 4}),
    "support set that forgets": ("Forgetron", {"budget": 9}),
    "mapped line": ("PARegressor", {"C": 1.0, "average": False, "features": "fourier", "n_components": 24}),
    "mapped grid": ("PARegressor", {"features": "nystroem", "n_components": 9}),
    "mapped bank": ("PAClassifier", {"features": "fourier", "n_components": 16}),
}


def made(title):
    """A model with a state of this kind."""
    if title in NEWER:
        name, settings = NEWER[title]
        return forge.fitted(name, False, **settings)
    return models.load(OLD / f"{title}.aggro", shell=False)


TITLES = [*(title for title in recipes.TITLES if title != recipes.ACTIVE), *NEWER]


@cache
def state_of(title):
    """The state of such a model; not before it is asked for, since some have to be compiled."""
    return made(title)._model.state


def content_of(title, folder):
    """The file of such a model, as this version writes it."""
    made(title).save(folder / "m.aggro")
    return (folder / "m.aggro").read_bytes()


def test_every_kind_of_state_is_tried():
    for entry in LEARNERS:
        entry.load()
    tried = {type(state_of(title)) for title in TITLES}
    votes = f"{PACKAGE}learners.auto"  # a vote has no state of its own in a file: its candidates have
    kinds = {kind for kind in RULES if kind.__module__.startswith(PACKAGE)}
    assert tried == {kind for kind in kinds if not kind.__module__.startswith(votes)}


@pytest.mark.parametrize("title", TITLES)
def test_every_field_says_what_it_may_hold(title):
    silent = [name for name, _, said in described(state_of(title)) if not said]
    assert not silent, f"{silent} of {type(state_of(title)).__name__} say nothing: see aggro.engine.fields"


def beyond(numbers, state, array):
    """Values just outside the bounds, as far as the array can hold them."""
    low, high = numbers.limits(state)
    if array.dtype.kind != "f":
        limits = np.iinfo(array.dtype)
        return [n for n in (low - 1, high + 1) if limits.min <= n <= limits.max]
    found = [math.nan] if numbers.endless else [math.nan, math.inf, -math.inf]
    if low > -math.inf:
        found.append(low if numbers.above else np.nextafter(low, -np.inf))
    if high < math.inf:
        found.append(np.nextafter(high, np.inf))
    if numbers.whole:
        found.append(0.5)
    return found


def within(numbers, state):
    """The bounds themselves, where they are numbers."""
    low, high = numbers.limits(state)
    return [n for n in (np.nextafter(low, np.inf) if numbers.above else low, high) if math.isfinite(n)]


def every_bound(title):
    state = state_of(title)
    for name, array, said in described(state):
        for _, places, numbers in bounds_in(name, array, said):
            where = tuple(np.argwhere(np.ones(array[places].shape))[-1]) if array[places].size else None
            if where is not None:
                yield name, array, places, where, numbers


@pytest.mark.parametrize("title", TITLES)
def test_what_is_outside_is_refused_by_name(title, tmp_path):
    content, state, tried = content_of(title, tmp_path), state_of(title), 0
    for name, array, places, where, numbers in every_bound(title):
        for value in beyond(numbers, state, array):

            def change(found, places=places, where=where, value=value):
                found[places][where] = value

            path = forge.write(tmp_path / "m.aggro", forge.with_array(content, name, change))
            with pytest.raises(ModelFileError) as caught:
                models.load(path, shell=False)
            assert str(caught.value).startswith(f"{path}: the array {name!r} "), f"{value} in {name}: {caught.value}"
            tried += 1
    assert tried > 20


@pytest.mark.parametrize("title", TITLES)
def test_what_is_inside_can_be_used(title, tmp_path):
    """A number at a bound loads, and can be used; or it does not go together with the others, and is refused."""
    content, state, loaded = content_of(title, tmp_path), state_of(title), 0
    for name, _array, places, where, numbers in every_bound(title):
        for value in within(numbers, state):

            def change(found, places=places, where=where, value=value):
                found[places][where] = value

            path = forge.write(tmp_path / "m.aggro", forge.with_array(content, name, change))
            try:
                model = models.load(path, shell=False)
            except ModelFileError:
                continue
            (use if loaded % 8 == 0 else probe)(model)
            loaded += 1
    assert loaded > 3


# What learners from outside say, or do not say --------------------------------------------------------------------


class Described(NamedTuple):
    tally: Tally
    W: Annotated[np.ndarray, Numbers(-1.0, 1.0)]
    places: Annotated[np.ndarray, Whole(0, lambda state: state.W.shape[0] - 1)]
    facts: Annotated[np.ndarray, Each(Numbers(0.0, above=True), Whole(0, 3))]
    last: Annotated[np.ndarray, exactly(lambda state: int(state.tally.rows[SEEN]))]


class Silent(NamedTuple):
    tally: Tally
    W: np.ndarray
    places: np.ndarray


def rule_of(kind, **more):
    names = ("init", "grow", "score", "loss_of", "update", "score_averaged", "columns")
    return Rule(state=kind, **dict.fromkeys(names, lambda *_: None), **more)


@pytest.fixture
def own_rules():
    before = dict(RULES)
    yield
    RULES.clear()
    RULES.update(before)


def good():
    whole = np.int64([0])
    return Described(new_tally(1), np.zeros(2), np.int64([0, 1]), np.array([0.5, 3.0]), whole)


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("W", [0.0, 1.5], r"holds 1.5 at \[1\], and should hold finite numbers from -1.0 on and up to 1.0"),
        ("W", [np.nan, 0.0], r"holds nan at \[0\]"),
        ("places", [0, 2], r"holds 2 at \[1\], and should hold whole numbers from 0 on and up to 1"),
        ("places", [-1, 0], "holds -1"),
        ("facts", [0.0, 1.0], "holds 0.0, and should hold finite numbers above 0.0, in entry 0"),
        ("facts", [1.0, 0.5], "holds 0.5, and should hold whole numbers from 0 on and up to 3, in entry 1"),
        ("last", [1], "holds 1, and should hold 0"),
    ],
)
def test_what_a_field_says_is_what_it_holds(field, value, fault):
    assert not list(faults(good()))
    array = np.array(value, getattr(good(), field).dtype)
    [(name, found)] = faults(good()._replace(**{field: array}))
    assert name == field
    assert re.match(fault, found), found


def test_whole_numbers_of_which_nothing_is_said_are_refused(own_rules):
    rule_of(Silent)
    state = Silent(new_tally(1), np.zeros(2), np.zeros(2, np.int64))
    with pytest.raises(Flaw, match="'places' holds whole numbers, and its learner does not say which"):
        check_state(state, 0)


def test_a_rule_that_looks_at_the_state_itself_is_believed(own_rules):
    rule_of(Silent, flaw=lambda state: "" if state.places[0] < 2 else "it is at a wrong place")
    state = Silent(new_tally(1), np.zeros(2), np.zeros(2, np.int64))
    check_state(state, 0)
    with pytest.raises(Flaw, match="it is at a wrong place"):
        check_state(state._replace(places=np.int64([2, 0])), 0)
    with pytest.raises(Flaw, match="'W' holds inf"):  # floats must be finite, whoever looks
        check_state(state._replace(W=np.array([np.inf, 0.0])), 0)


def test_a_state_inside_a_function_has_the_checks_of_its_tally(own_rules):
    class Local(NamedTuple):
        tally: Tally
        W: np.ndarray

    rule_of(Local)
    state = Local(new_tally(1), np.zeros(2))
    check_state(state, 0)
    state.tally.rows[HISTORY_MARKS] = 1
    with pytest.raises(Flaw, match=r"'tally.rows' holds 1, and should hold 0, in entry 4"):
        check_state(state, 0)
