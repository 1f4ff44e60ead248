"""What a file keeps of the candidates of an :class:`AutoClassifier` or :class:`AutoRegressor`.

A file of such a learner has the header of each candidate inside its own, and the arrays of candidate k under names that
begin with ``candidates.k.``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aggro.learners.auto.candidates import Candidate
from aggro.learners.auto.files import fresh_candidates, vote_model
from aggro.learners.auto.hinges import QUINTILE_ROWS, WIDEST_ROW, Hinges
from aggro.learners.auto.slopes import Slopes
from aggro.learners.base.inside import model_of, parameters_of
from aggro.learners.registry import Entry, find
from aggro.models.codec import decode, dumps, encode, loads
from aggro.models.container import Container, Spec
from aggro.models.errors import Flaw
from aggro.models.header import Header

CANDIDATES_PREFIX = "candidates."
CANDIDATE_KEYS = {"estimators", "learners", "hinges", "slopes", "held_out"}
Described = Callable[[Any, Any, dict[str, Any]], tuple[Header, dict[str, np.ndarray]]]
OF_SLOPES = ("centres", "factors")
ARRAYS = {"first": (np.dtype(np.float64), 2), "columns": (np.dtype(np.int64), 1), "knots": (np.dtype(np.float64), 1)}


class Inside:
    """The part of a file that is one candidate's."""

    def __init__(self, container: Container, prefix: str) -> None:
        self._container, self._prefix = container, prefix
        named = container.specs.items()
        self.specs = {name.removeprefix(prefix): spec for name, spec in named if name.startswith(prefix)}

    def read(self, name: str) -> np.ndarray:
        """One array of the candidate."""
        return self._container.read(self._prefix + name)


def without_estimators(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters that are plain values."""
    return {name: value for name, value in parameters.items() if name != "estimators"}


def candidates_of(
    given: Any, candidates: list[Candidate], described: Described
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The part of the header for the candidates, and their arrays; ``given`` is the parameter ``estimators``."""
    part: dict[str, Any] = {"estimators": None, "learners": [], "hinges": [], "slopes": [], "held_out": []}
    if given is not None:
        part["estimators"] = [
            [type(one).__name__, {name: encoded(value, name) for name, value in parameters_of(one).items()}]
            for one in given
        ]
    arrays: dict[str, np.ndarray] = {}
    for k, candidate in enumerate(candidates):
        model, hinges, header = model_of(candidate.learner), candidate.hinges, None
        # A candidate that has learned nothing has no header; its parameters follow from the learner.
        if model is not None:
            described_header, found = described(candidate.learner, model.parts(), parameters_of(candidate.learner))
            # The candidate's own header, as JSON inside the header of the whole.
            header = loads(described_header.text(), "the header of a candidate")
            arrays |= {f"{CANDIDATES_PREFIX}{k}.{name}": array for name, array in found.items()}
        part["learners"].append(header)
        # None stays None.
        part["held_out"].append(candidate.held_out and list(candidate.held_out))
        part["hinges"].append(None if hinges is None else {"settled": hinges.settled, "width": hinges.width})
        if hinges is not None:
            arrays |= {f"{CANDIDATES_PREFIX}{k}.hinges.{name}": getattr(hinges, name) for name in ARRAYS}
        part["slopes"].append(candidate.slopes is not None)
        if candidate.slopes is not None:
            arrays |= {f"{CANDIDATES_PREFIX}{k}.slopes.{name}": getattr(candidate.slopes, name) for name in OF_SLOPES}
    return part, arrays


def encoded(value: Any, name: str) -> Any:
    """A parameter of a candidate as JSON."""
    try:
        return encode(value)
    except TypeError as error:
        raise Flaw(f"the parameter {name!r} of a candidate cannot be stored ({error})") from error


def estimators_in(part: Any, make: Callable[[Entry, dict[str, Any]], Any]) -> list[Any] | None:
    """The parameter ``estimators`` in a file; ``make`` makes a learner of an entry and parameters."""
    if not isinstance(part, dict) or set(part) != CANDIDATE_KEYS:
        raise Flaw("what it says of its candidates is not whole")
    if part["estimators"] is None:
        return None
    if not isinstance(part["estimators"], list):
        raise Flaw("what it says of its candidates is not whole")
    made = []
    for entry in part["estimators"]:
        if not isinstance(entry, list) or len(entry) != 2 or not isinstance(entry[1], dict):
            raise Flaw("what it says of its candidates is not whole")
        try:
            # find() knows only registered learners: a file cannot name any other class.
            made.append(make(find(entry[0]), {name: decode(value) for name, value in entry[1].items()}))
        except (TypeError, ValueError) as error:
            raise Flaw(f"a candidate of it cannot be ({str(error).rstrip('.')})") from error
    return made


def model_with(
    learner: Any, state: Any, header: Header, features: Any, labels: Any, container: Any, build: Callable[..., Any]
) -> Any:
    """The model of a learner from a file, with its candidates; ``build`` makes a learner of a part of the file."""
    part, candidates = header.candidates, fresh_candidates(learner, header.seed)
    # As many candidates as the learner itself would make, in the same order.
    lists = part["learners"], part["hinges"], part["slopes"], part["held_out"]
    if not all(isinstance(found, list) and len(found) == len(candidates) for found in lists):
        raise Flaw(f"it has {len(candidates)} candidates, and describes others")
    for k, (candidate, inner, hinges, slopes, held_out) in enumerate(zip(candidates, *lists, strict=True)):
        candidate.held_out = held_out_in(held_out)
        inside = Inside(container, f"{CANDIDATES_PREFIX}{k}.")
        # Whether a candidate has hinges follows from its settings, and not from the file.
        if (hinges is None) != (candidate.hinges is None):
            raise Flaw("the hinges of a candidate are not whole")
        if candidate.hinges is not None:
            fill(candidate.hinges, hinges, inside)
            # What is left must be exactly the arrays of the learner inside, which build() checks.
            inside.specs = {name: spec for name, spec in inside.specs.items() if not name.startswith("hinges.")}
        if slopes is not False:
            candidate.slopes = slopes_in(candidate, slopes, inside)
            inside.specs = {name: spec for name, spec in inside.specs.items() if not name.startswith("slopes.")}
        if inner is not None:
            candidate.learner = whole(build(inside, Header.parse(dumps(inner)), False, bare=True), candidate, labels)
    return vote_model(state, header.width, features, labels, header.seed, candidates)


def held_out_in(part: Any) -> tuple[int, float, int] | None:
    """What ``fit`` held out: rows, those of them that were wrong, and the rows learned by then."""
    if part is None:
        return None
    counts = isinstance(part, list) and len(part) == 3 and all(type(part[k]) is int and part[k] >= 0 for k in (0, 2))
    if not counts or not isinstance(part[1], int | float) or not 0.0 <= part[1] <= part[0]:
        raise Flaw("what it says of held-out rows is not whole")
    return part[0], float(part[1]), part[2]


def whole(found: Any, candidate: Candidate, labels: Any) -> Any:
    """A candidate's learner from a file, which knows classes by the numbers that there are."""
    if type(found).__name__ != type(candidate.learner).__name__:
        raise Flaw(f"a candidate is a {type(found).__name__} instead of a {type(candidate.learner).__name__}")
    # Candidates know classes by number; each number must be one of the classes of the whole.
    codes = getattr(found, "classes_", np.zeros(0, np.int64))
    if codes.shape[0] and (codes.dtype.kind != "i" or codes.min() < 0 or codes.max() >= len(labels.codes)):
        raise Flaw(f"a candidate knows the classes {codes[:5].tolist()}, and there are {len(labels.codes)}")
    return found


def fill(hinges: Hinges, part: Any, inside: Inside) -> None:
    """Give the hinges of a candidate what a file says of them."""
    good = isinstance(part, dict) and set(part) == {"settled", "width"} and type(part["settled"]) is bool
    if not good or type(part["width"]) is not int or not 0 <= part["width"] <= WIDEST_ROW:
        raise Flaw("the hinges of a candidate are not whole")
    # Types and sides before reading, so that nothing large is allocated for a wrong array.
    for name, (kind, sides) in ARRAYS.items():
        spec = inside.specs.get(f"hinges.{name}")
        if not isinstance(spec, Spec) or spec.dtype != kind or len(spec.shape) != sides:
            raise Flaw(f"the array 'hinges.{name}' of a candidate is {spec or 'absent'}")
        setattr(hinges, name, inside.read(f"hinges.{name}"))
    hinges.settled, hinges.width = part["settled"], part["width"]
    columns, first = hinges.columns, hinges.first
    # Settled hinges have used up their first rows; unsettled ones still collect them, and never as many as settle them.
    fits = columns.shape == hinges.knots.shape and np.isfinite(hinges.knots).all() and np.isfinite(first).all()
    # Compiled code takes columns by these numbers without a check.
    in_range = not columns.shape[0] or (columns.min() >= 0 and columns.max() < hinges.width)
    if (
        not fits
        or not in_range
        or first.shape[0] >= QUINTILE_ROWS
        or first.shape[1] > WIDEST_ROW
        or (hinges.settled and first.size)
    ):
        raise Flaw("the hinges of a candidate are not whole")


def slopes_in(candidate: Candidate, part: Any, inside: Inside) -> Slopes:
    """The slope weights of a candidate in a file."""
    wrong = Flaw("the slope weights of a candidate are not whole")
    if part is not True or not candidate.steep:
        raise wrong
    for name in OF_SLOPES:
        spec = inside.specs.get(f"slopes.{name}")
        if not isinstance(spec, Spec) or spec.dtype != np.dtype(np.float64) or len(spec.shape) != 1:
            raise wrong
    centres, factors = (inside.read(f"slopes.{name}") for name in OF_SLOPES)
    # Factors are weights of slopes, never negative.
    good = 1 < centres.shape[0] <= WIDEST_ROW and centres.shape == factors.shape
    if not good or not np.isfinite(centres).all() or not np.isfinite(factors).all() or (factors < 0.0).any():
        raise wrong
    return Slopes(centres, factors)
