"""Learners as users write them: ``pa2``, ``PAClassifier``, ``PAClassifier(C=0.1, average=true)``."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from aggro.cli.console import Mistake
from aggro.cli.options import meanings, short_names
from aggro.learners.base.elsewhere import advice
from aggro.learners.base.inside import check_params, constraints_of
from aggro.learners.registry import Entry, find

CALL = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*", re.DOTALL)
OF_RECORDS = ("scale", "words", "ngrams", "max_features")  # how tables are encoded: parameters of RecordLearner
# Of fit, which has all rows at once. A stream has its own ways.
PARAMETERS_ELSEWHERE = {
    "estimators": "Give them in Python.",
    "max_iter": "Use --passes.",
    "shuffle": "Files are read in order; shuffle them first.",
    "tol": "Use --passes.",
    "warm_start": "Use --from to continue from a model.",
    "verbose": "The command line always shows progress, on stderr.",
}
IN_PYTHON = {"verbose"}  # a parameter that changes nothing of what is learned


def entry_of(written: str) -> tuple[Entry, list[str]]:
    """The learner of the registry, and settings that the name brings along."""
    match = CALL.fullmatch(written)
    if match is None:
        raise Mistake(f"{written!r} is not a learner. Write a name, or name(parameter=value, …).")
    name, inside = match[1], split_outside(match[2] or "")
    short = meanings()
    # A short name may stand for a learner with settings, which come before the user's own, so that these win.
    if (meaning := short.get(name, short.get(name.lower()))) is not None:
        entry, brought = entry_of(meaning)
        return entry, brought + inside
    try:
        return find(name), inside
    except ValueError as error:
        # The whole list is long; one near name is a better hint.
        near = difflib.get_close_matches(name, short_names(), 1)
        if near:
            raise Mistake(f"There is no learner {name!r}. Did you mean {near[0]!r}?") from error
        raise Mistake(f"There is no learner {name!r}. There are: {', '.join(short_names())}.") from error


def split_learners(written: str) -> list[str]:
    """Learners between commas; those inside parentheses do not count."""
    return split_outside(written)


def split_outside(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for k, letter in enumerate(text):
        # Commas inside brackets belong to the learner or the list there.
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append(text[start:k])
            start = k + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def make_learner(written: str, settings: list[str]) -> Any:
    """A learner that has learned nothing, with these settings (``name=value``), checked."""
    entry, brought = entry_of(written)
    kind = entry.load()
    values: dict[str, Any] = {}
    # Later settings replace earlier ones, and --set comes last.
    for setting in [*brought, *settings]:
        name, given, text = setting.partition("=")
        name = name.strip()
        if not given or not name:
            raise Mistake(f"{setting!r} is not a setting. Write name=value, such as C=0.1.")
        check_name(entry, kind, name, text.strip())
        values[name] = parsed(constraints_of(kind)[name], text.strip())
    if "random_state" in constraints_of(kind):
        values.setdefault("random_state", 0)  # the same command gives the same model
    learner = kind(**values)
    try:
        check_params(learner)
    except ValueError as error:
        raise Mistake(str(error)) from error
    return learner


def split_settings(written: str, settings: list[str]) -> tuple[list[str], list[str]]:
    """Settings of the learner, and those of the encoder that reads tables for it."""
    own = constraints_of(entry_of(written)[0].load())
    # A name that the learner has itself is meant for the learner.
    of_records = [s for s in settings if (name := s.partition("=")[0].strip()) in OF_RECORDS and name not in own]
    return [s for s in settings if s not in of_records], of_records


def records_around(learner: Any, settings: list[str], parameters: Mapping[str, Any] | None = None) -> Any:
    """A learner that takes raw tables and records, around this one."""
    from aggro.learners.records import RecordLearner

    constraints = constraints_of(RecordLearner)
    values = dict(parameters or {})
    for setting in settings:
        name, given, text = setting.partition("=")
        if not given:
            raise Mistake(f"{setting!r} is not a setting. Write name=value, such as ngrams=2.")
        values[name.strip()] = parsed(constraints[name.strip()], text.strip())
    around = RecordLearner(learner, **values)
    try:
        check_params(around)
    except ValueError as error:
        raise Mistake(str(error)) from error
    return around


def check_name(entry: Entry, kind: Any, name: str, text: str) -> None:
    known = constraints_of(kind)
    # Parameters of fit are known to Python users; each has another way here.
    if name in PARAMETERS_ELSEWHERE and (name in known or name in IN_PYTHON):
        raise Mistake(f"{entry.name}'s {name!r} is for fit(). {PARAMETERS_ELSEWHERE[name]}")
    if name not in known:
        listed = {one: constraint for one, constraint in known.items() if one not in PARAMETERS_ELSEWHERE}
        # A wrong case is the likeliest mistake.
        alike = [one for one in listed if one.lower() == name.lower()]
        hint = f"Did you mean {alike[0]!r}?" if alike else advice(name, text, listed)
        raise Mistake(f"{entry.name} has no parameter {name!r}. {hint}")


def parsed(constraint: Any, text: str) -> Any:
    """The text as the first kind of value that the constraint accepts; else as the first there is, to be refused."""
    # The constraint decides between the readings: «1» may be a number, a word or a truth value.
    return next((value for value in readings(text) if constraint.accepts(value)), next(readings(text)))


def readings(text: str) -> Iterator[Any]:
    """What a text may stand for."""
    # Numbers first, the whole ones before the others: most settings are numbers.
    for kind in (int, float):
        with suppress(ValueError):
            yield kind(text)
    words = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False, "none": None}
    if text.lower() in words:
        yield words[text.lower()]
    # The text as it is comes before lists: a word may hold a comma.
    yield text
    if "," in text or text.startswith("["):  # C=0.01,0.1,1
        with suppress(ValueError):
            yield [float(part) for part in text.strip("[]").split(",")]
    # From the right: a class may have a colon in its name.
    pairs = [part.rpartition(":") for part in text.strip("{}").split(",")]
    if all(colon for _, colon, _ in pairs):  # class_weight=spam:2,ham:1
        with suppress(ValueError):
            yield {label_of(name.strip()): float(weight) for name, _, weight in pairs}


def label_of(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        return text.strip("'\"")


def parameters_of(kind: Any) -> dict[str, tuple[Any, str]]:
    """What can be set: each parameter's default, and what it may be."""
    defaults = defaults_of(kind)
    return {name: (defaults[name], expected(c)) for name, c in constraints_of(kind).items() if name in defaults}


def defaults_of(kind: Any) -> dict[str, Any]:
    """Each parameter that can be set, as it comes."""
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]  # without self
    return {
        p.name: 0 if p.name == "random_state" else p.default for p in parameters if p.name not in PARAMETERS_ELSEWHERE
    }


def expected(constraint: Any) -> str:
    """A constraint in few words."""
    options = getattr(constraint, "options", None)
    if options is not None:
        # Objects cannot be written on a command line, so those alternatives are left out.
        typed = [option for option in options if getattr(option, "type", None) in (None, dict)]
        return " or ".join("label:weight,…" if getattr(o, "type", None) is dict else expected(o) for o in typed)
    if hasattr(constraint, "words"):
        flags = ("true", "false") if constraint.accepts(True) else ()
        return ", ".join((*flags, *constraint.words))
    if hasattr(constraint, "open_low"):
        kind = "whole number" if constraint.integer else "number"
        if constraint.low == float("-inf"):
            return kind
        return f"{kind} {'>' if constraint.open_low else '≥'} {constraint.low:g}"
    return {"a bool": "true, false"}.get(str(constraint), str(constraint).lower())


def spelled(name: str, parameters: Mapping[str, Any]) -> str:
    """A learner as users write it: its name, and what is not as it comes."""
    defaults = defaults_of(find(name).load())
    changed = ", ".join(f"{k}={v}" for k, v in parameters.items() if k in defaults and defaults[k] != v)
    return f"{name}({changed})" if changed else name
