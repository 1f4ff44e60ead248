"""The protocol of a learner: a Rule is a few compiled functions over a State of arrays.

A state is a ``NamedTuple``. Its first field is a :class:`Tally`, and its other fields are NumPy arrays, annotated with
the values that they may hold (``engine.fields``). The settings are a ``NamedTuple`` of numbers. A part that is switched
off, like the accumulator of an average, is an array of size 0. Saving, copying, undoing, resuming, serving and merging
a model all work on those arrays, so a new learner gets them for free.

A rule has these functions, for row ``i`` of ``X`` (dense or CSR):

``score(state, params, X, i, out) -> q``
    score: write the scores of the last iterate into ``out``; return the squared norm of the row, NaN
    if it holds a value that is NaN or beyond the limits (``engine.rows.is_allowed``)
``score_averaged(state, params, X, i, out) -> q``
    score with the model that predicts, the average if there is one: it writes and returns what ``score`` does
``loss_of(state, params, y, out) -> (loss, mistake)``
    loss: of the scores in ``out``, before the label is learned
``update(state, params, X, i, y, s, out, q) -> updated``
    update: move the state in place, with weight s > 0; return whether it moved

Three optional functions make a fast path. Nearly all rows are ordinary: they are neither refused nor too short for a
step. The pass handles those in a loop that contains no code for other rows:

``can_use_fast_path(state, params) -> bool``
    whether the fast path may be used: what learns is what predicts, and nothing but ``fast_update`` changes it
``fast_score(state, params, X, i, out) -> q``
    score as ``score`` does; return NaN for every row that is not ordinary
``fast_update(state, params, X, i, y, s, out, q) -> 1, 0 or -1``
    update as ``update`` does; return -1, and change nothing, if the step is not ordinary

``workspace_size(state) -> int``, also optional, is the size of the workspace ``out``, for rules that need more than
two numbers per class.

The pass selects these functions by the type of the state at compile time. So a rule runs as fast as a hand-written
loop, and the compiled pass can still be cached on disk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np

from aggro.engine.fields import LARGEST_COUNT, Each, Numbers, Whole, exactly
from aggro.engine.jit.choice import chosen_by_type
from aggro.engine.jit.compile import inline
from aggro.engine.jit.lanes import LANES
from aggro.engine.monitor.calibration import BINS
from aggro.engine.monitor.drift import BLOCKS, BUCKET_SIZES, BUCKETS_OF_A_SIZE, CHANGES_KEPT, N_MARKS, N_SUMS

SEEN, UPDATES, MISTAKES, LIVE, HISTORY_MARKS = range(5)
S = TypeVar("S")


EXACT_COUNTS = 2**53  # floats count one by one up to here


def seen(state: Any) -> int:
    """The number of rows seen."""
    return int(state.tally.rows[SEEN])


def is_history(history: np.ndarray, state: Any) -> str:
    """Check the history of a state from a file: an error message, or an empty string."""
    # One line for each power of two so far, and nothing behind the last one.
    marks = int(state.tally.rows[HISTORY_MARKS])
    if not (history[:marks, 0] == 2.0 ** np.arange(marks)).all() or history[marks:, 0].any():
        return f"does not have a line for each power of two up to the {seen(state)} rows seen"
    return "" if (history[:, 2] <= history[:, 0]).all() else "has more mistakes than rows"


def sum_to_seen(classes: np.ndarray, state: Any) -> str:
    """Check the class counts of a state from a file: an error message, or an empty string."""
    total = seen(state) if classes.shape[0] > 1 else 0
    if classes[int(state.tally.rows[LIVE]) :].any() or (total < EXACT_COUNTS and classes.sum() != total):
        return f"counts {classes.tolist()} rows of each class, which do not sum to the {total} rows seen"
    return ""


def most_filled(state: Any) -> int:
    """The most rows that an incomplete block may hold, given the rows counted in all.

    Blocks grow with the stream, so this depends on how many came before.
    """
    counted = int(state.tally.marks[0])
    return min(counted, 7 if counted < 72 else 31 if counted < 2080 else 127)


class Tally(NamedTuple):
    """The counters of a learner: rows, losses and mistakes, and what calibration and drift detection count."""

    # int64: seen, updates, mistakes, live classes, marks in the history
    rows: Annotated[
        np.ndarray,
        Each(
            Whole(0, LARGEST_COUNT),
            Whole(0, seen),
            Whole(0, seen),
            Whole(0, lambda state: state.tally.classes.shape[0]),
            exactly(lambda state: seen(state).bit_length()),
        ),
    ]
    loss: Annotated[np.ndarray, Numbers(0.0, endless=True)]  # (1,) the sum of the losses suffered
    # (64, 3) seen, sum of losses, mistakes at powers of two
    history: Annotated[np.ndarray, Numbers(0.0, endless=True), is_history]
    # rows seen of each class; size 1 for learners without classes
    classes: Annotated[np.ndarray, Numbers(0.0), sum_to_seen]
    # What follows begins as ``new_tally`` has it also in states of earlier versions, which lack it.
    # (classes or 0, 128, 2): the weights of the pairs in each bin, not of the class and of it
    # (``engine.monitor.calibration``)
    pairs: Annotated[np.ndarray, Numbers(0.0)] = np.zeros((0, 0, 0))
    # (classes or 0, 3): slope, height, how much it is raised
    curve: Annotated[np.ndarray, Numbers()] = np.zeros((0, 0))
    # (14,) int64: rows that were counted, those of the block that is not full, a place in the ring, changes, the rows
    # of the last eight of them (``engine.monitor.drift``), the member that predicts, and for how many rows
    marks: Annotated[
        np.ndarray,
        Each(
            Whole(0, seen),
            Whole(0, most_filled),
            Whole(0, BLOCKS - 1),
            Whole(0, seen),
            *[Whole(0, seen)] * CHANGES_KEPT,
            Whole(0, LARGEST_COUNT),
            Whole(0, LARGEST_COUNT),
        ),
    ] = np.zeros(0, np.int64)
    # (8,): of that block, of the window, of leads; the last is of the block where there are no classes
    sums: Annotated[np.ndarray, Numbers(0.0, endless=True)] = np.zeros(0)
    recent: Annotated[np.ndarray, Numbers(0.0, endless=True)] = np.zeros((0, 0))  # (32, 3): the ring of blocks
    counts: Annotated[np.ndarray, Whole(0, BUCKETS_OF_A_SIZE - 1)] = np.zeros(0, np.int64)  # (44,) buckets of each size
    window: Annotated[np.ndarray, Numbers(0.0, endless=True)] = np.zeros((0, 0, 0))  # (44, 3, 3): rows, errors, squares


def new_tally(models: int) -> Tally:
    """A tally with nothing counted yet, for this many models."""
    scored = models if models > 1 else 0
    return Tally(
        rows=np.zeros(5, np.int64),
        loss=np.zeros(1),
        history=np.zeros((64, 3)),
        classes=np.zeros(models),
        pairs=np.zeros((scored, BINS, 2)),
        curve=np.zeros((scored, 3)),
        marks=np.zeros(N_MARKS, np.int64),
        sums=np.zeros(N_SUMS),
        recent=np.zeros((BLOCKS, 3)),
        counts=np.zeros(BUCKET_SIZES, np.int64),
        window=np.zeros((BUCKET_SIZES, BUCKETS_OF_A_SIZE - 1, 3)),
    )


ADDED_FIELDS = tuple(Tally._field_defaults)  # what tallies of earlier versions lack


ALIGNED_FROM, CACHE_LINE = 512, 64  # bytes: arrays from here on begin where a line of the cache does


def room_for(shape: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
    """Allocate an array without filling it; a large one starts at a cache line.

    A vector of eight that lies across two cache lines costs twice as much (measured: a fifth of a pass), and NumPy's
    arrays may start anywhere.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < ALIGNED_FROM:
        return np.empty(shape, dtype)
    # A large array gets a cache line more than it needs, so that the view can begin at the next one.
    memory = np.empty(size + CACHE_LINE, np.uint8)
    start = -int(memory.__array_interface__["data"][0]) % CACHE_LINE
    array: np.ndarray = memory[start : start + size].view(dtype).reshape(shape)
    return array


def copied(array: np.ndarray) -> np.ndarray:
    """A copy of an array, writable and in C order, as compiled code needs it."""
    copy = room_for(array.shape, array.dtype)
    copy[...] = array
    return copy


def zeros(shape: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
    """Allocate an array of zeros; a large one starts at a cache line."""
    array = room_for(shape, dtype)
    array.fill(0)
    return array


def copy_state(state: Any) -> Any:
    """A deep copy of a state, whose arrays are writable and in C order, as compiled code needs them."""
    return type(state)(*(copy_state(part) if isinstance(part, tuple) else copied(part) for part in state))


def completed(state: Any) -> Any:
    """Upgrade a state of an earlier version: arrays that it lacks, which are empty, get their initial values."""
    fresh = new_tally(state.tally.classes.shape[0])
    # All of these fields came in one version, so ``marks`` stands for all of them.
    lacks = {name: getattr(fresh, name) for name in ADDED_FIELDS if not state.tally.marks.size}
    parts: dict[str, Any] = {"tally": state.tally._replace(**lacks)} if lacks else {}
    for name, source in RULES[type(state)].added.items():
        begin = source(state._asdict())
        if isinstance(begin, str) and not getattr(state, name).size:
            parts[name] = getattr(state, begin).copy()
    return state._replace(**parts)


def grown(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Copy an array into the first corner of a larger array of zeros."""
    larger = np.zeros(shape, array.dtype)
    larger[tuple(slice(0, n) for n in array.shape)] = array
    return larger


def grown_into(state: S, fresh: S) -> S:
    """Enlarge a state to the shape of a fresh one; entries that are new take their values from the fresh one."""

    def larger(old: Any, new: Any) -> Any:
        if isinstance(old, tuple):
            return type(old)(*map(larger, old, new))
        if old.shape == new.shape:
            return copied(old)
        # As large as the larger of the two on each side: the state never shrinks. The old values go over the new ones.
        both = zeros(tuple(map(max, old.shape, new.shape)), old.dtype)
        for part in (new, old):
            both[tuple(map(slice, part.shape))] = part
        return both

    return larger(state, fresh)  # type: ignore[no-any-return]


def eights(n: int) -> int:
    """Round n up to whole vectors of eight (``engine.jit.lanes``)."""
    return -(-n // LANES) * LANES


def grown_tally(tally: Tally, models: int) -> Tally:
    """A copy of the tally with room for this many models, and never fewer than it has."""
    return grown_into(tally, new_tally(models))


@dataclass(frozen=True)
class Rule:
    """The functions of one learner. Creating a Rule registers it for the type of its state."""

    state: type[Any]
    init: Callable[..., Any]  # (params, width, models) -> State
    grow: Callable[..., Any]  # (state, params, width, models) -> State, not smaller
    score: Callable[..., Any]
    loss_of: Callable[..., Any]
    update: Callable[..., Any]
    score_averaged: Callable[..., Any]
    columns: Callable[[Any], int]  # how many scores score and score_averaged write
    # What compiled code could not bear in a state from a file, or "", if the state's fields do not say it. The whole
    # numbers of fields that say nothing are then believed to be looked at here.
    flaw: Callable[[Any], str] | None = None
    # Whether ``score`` writes the scores that ``loss_of`` needs in front: those of the average, if there is one.
    judges_mean: bool = False
    # What the arrays beside the tally must be in a file, for states with capacities beside width and models:
    # (params, width, models, specs) -> {name: (dtype, shape)}
    shapes: Callable[..., Any] | None = None
    workspace_size: Callable[..., Any] | None = None
    can_use_fast_path: Callable[..., Any] | None = None
    fast_score: Callable[..., Any] | None = None
    fast_update: Callable[..., Any] | None = None
    hold: Callable[[Any, Any], Any] | None = None  # (state, X) -> State that has room to keep any row of X
    # Arrays that states of earlier versions lack, each with how it begins: parts (what has a shape, by name) -> the
    # name of the array that it begins as, or an array that it begins as, or None if it is empty.
    added: Mapping[str, Callable[[Mapping[str, Any]], Any]] = field(default_factory=dict)
    # Whether rows in single precision are read as they are, by code of their own: half the bytes, where reading them is
    # most of the work. Of other rules they are made double on the way, a block at a time.
    single: bool = False
    loose: tuple[str, ...] = ()  # arrays of the state whose last side is as long as the rows made it
    # How states combine that learned apart (``aggro.mixing.Mix``), of rules from outside; the library's own are there.
    mix: Any = None

    def __post_init__(self) -> None:
        # Compiled code finds a rule by the type of its state, so two rules cannot share one.
        if self.state in RULES:
            raise ValueError(f"{self.state.__name__} has a rule already. A rule needs a state of its own: subclass it.")
        RULES[self.state] = self


RULES: dict[Any, Rule] = {}  # by the type of the state


@inline
def two_a_class(state):
    return 2 * state.tally.classes.shape[0]


@inline
def never(state, params):
    return False


@inline
def no_fast_score(state, params, X, i, out):
    return np.nan


@inline
def no_fast_update(state, params, X, i, y, s, out, q):
    return -1


OPTIONAL_FUNCTIONS = {
    "workspace_size": two_a_class,
    "can_use_fast_path": never,
    "fast_score": no_fast_score,
    "fast_update": no_fast_update,
}


def of_rule(name: str) -> Callable[..., Any]:
    """A function that calls the one of this name of the state's rule; it is selected at compile time."""
    return chosen_by_type(name, lambda kind: getattr(RULES[kind], name) or OPTIONAL_FUNCTIONS[name])


score, score_averaged, loss_of, update = map(of_rule, ("score", "score_averaged", "loss_of", "update"))
workspace_size, can_use_fast_path, fast_score, fast_update = map(of_rule, OPTIONAL_FUNCTIONS)


@cache
def compiled_columns(kind: Any) -> Any:
    """The ``columns`` function of a rule, how many scores it writes, for compiled code to inline."""
    return inline(RULES[kind].columns)


columns = chosen_by_type("columns", compiled_columns)
