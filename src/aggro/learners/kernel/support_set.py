"""The support set of a kernel learner: the rows that it keeps, and a coefficient of each for every score.

    f_c(x) = Σ_i α_ic k̃(x_i, x),   k̃ = k + 1 with an intercept (a constant feature 1), else k

Rows stand in packs of 32, as compiled code reads them (``learners.kernel.scores``). Up to ``SPARSE_FROM`` features
the rows are dense: feature j of the 32 rows of a pack is one run of memory, so that a product with a row x, dense or
sparse, goes along the support vectors, and costs only what x has entries. Wider rows are sparse: a heap of indices
and values. With a given kernel matrix there are no rows, only the numbers of its columns.

The set has room for some more rows than it holds, and for some more entries of sparse ones. Python makes that room, by
doubling, before compiled code runs (``enlarged``); with a budget there is never room for more than that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from aggro.engine.fields import LARGEST_COUNT, Each, Numbers, Whole
from aggro.engine.jit.compile import exact, exact_part, python_too
from aggro.engine.prepare.scaling import LARGEST_SCALED, Scale, Scaling, fits_list, most_rows
from aggro.engine.prepare.transformed import Alone
from aggro.engine.rule import LIVE, Tally, grown, grown_tally, new_tally, seen
from aggro.learners.maths.radius import Radius
from aggro.learners.model.features import MAX_FEATURES

PACK = 32
SPARSE_FROM = 4096  # features; wider rows are kept sparse
CLASSES_TASK, NUMBER_TASK, OUTLIER_TASK = range(3)  # tasks
PROJECT_POLICY = 3  # the policy that needs an inverse: see ``learners.kernel.budget``
WEIGHTED = 2  # the average of ``learners.kernel.mean``
# Support vectors, entries on the heap, rows of a given matrix so far, the width, rows of the mini-batch, whether that
# is a window.
COUNT, HEAP, LAST_HELD, ROW_WIDTH, VECTORS_HELD, SLIDING_HELD = range(6)
ROW_NORM, SELF_KERNEL = range(2)  # ‖x_i‖² and k̃(x_i, x_i)


@python_too
def pack_and_lane(slot: Any) -> tuple[Any, Any]:
    """Where a support vector stands: in which pack, and where in it."""
    return slot // np.uint64(PACK), slot % np.uint64(PACK)


@exact
def entries_of(state, i):
    """Where the entries of a sparse support vector begin and end on the heap."""
    return np.uint64(state.spans[i, 0]), np.uint64(state.spans[i, 0] + state.spans[i, 1])


@exact_part
def sparse_product(state, m, n):
    """x_m·x_n of two support vectors on the heap."""
    at_m, end_m = entries_of(state, m)
    at_n, end_n = entries_of(state, n)
    dot = 0.0
    while at_m < end_m and at_n < end_n:
        # Both rows ascend: the one that is behind moves on, and both do where they have the same feature.
        of_m, of_n = state.indices[at_m], state.indices[at_n]
        if of_m == of_n:
            dot += state.values[at_m] * state.values[at_n]
        at_m += np.uint64(1) if of_m <= of_n else np.uint64(0)
        at_n += np.uint64(1) if of_n <= of_m else np.uint64(0)
    return dot


# What the arrays may hold.


def most_waiting(state: Support) -> int:
    """A window stays full; a group that is full is learned at once. All of its rows are support vectors."""
    size = int(state.gram.shape[0])
    return min(size if state.marks[SLIDING_HELD] or not size else size - 1, int(state.marks[COUNT]))


def last_feature(state: Support) -> int:
    return max(int(state.marks[ROW_WIDTH]) - 1, 0)


def on_the_heap(spans: np.ndarray, state: Support) -> str:
    """Each row is within the entries there are, and no two that are held have one in common."""
    ends, used = spans.sum(axis=1), int(state.marks[HEAP])
    if not (ends <= used).all():
        return f"holds rows that end at {ends.max()}, and there are {used} entries"
    rows = spans[: int(state.marks[COUNT])]
    rows = rows[rows[:, 1] > 0]
    # Sorted by their start, so that only neighbours can overlap.
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    return "" if (rows[1:, 0] >= rows[:-1].sum(axis=1)).all() else "holds two rows that share an entry"


def ascending(indices: np.ndarray, state: Support) -> str:
    """The entries of each row that is held."""
    starts, lengths = state.spans[: int(state.marks[COUNT])].T
    inside = np.zeros(indices.shape[0] + 1, np.int64)  # from the second entry of a row on
    # +1 where the second entry of a row stands and −1 behind its last: the running sum marks what is inside a row.
    np.add.at(inside, starts[lengths > 1] + 1, 1)
    np.add.at(inside, (starts + lengths)[lengths > 1], -1)
    falls = (np.cumsum(inside)[1:-1] > 0) & (indices[1:] <= indices[:-1])
    if not falls.any():
        return ""
    place = int(np.argmax(falls))
    return f"holds {indices[place : place + 2].tolist()} as features of a row one after the other, which should ascend"


def are_answers(asked: np.ndarray, state: Support) -> str:
    """Of the rows that wait, numbers of classes that were seen, and weights."""
    targets, weights = asked[: int(state.marks[VECTORS_HELD])].T
    fault = Numbers(0.0, above=True)(weights, state)
    if not fault and state.tally.classes.shape[0] > 1:
        fault = Whole(0, int(state.tally.rows[LIVE]) - 1)(targets, state)
    return fault


def stands(places: np.ndarray, state: Support) -> str:
    """What is wrong with where the features of a list stand, or nothing."""
    return fits_list(places, Alone(scaling_of(state))) if places.size else ""


def rows_scaled(state: Support) -> float:
    return most_rows(Alone(scaling_of(state))) if state.facts.size else 0.0


class Support(NamedTuple):
    """Rows and coefficients; ``late`` is the lag of the average (``learners.maths.average``), or has size 0."""

    tally: Tally
    coef: Annotated[np.ndarray, Numbers()]  # (packs, columns, 32)
    # (6,) int64, as above
    marks: Annotated[
        np.ndarray,
        Each(
            Whole(0, lambda state: state.born.shape[0]),
            Whole(0, lambda state: state.values.shape[0]),
            Whole(0, last_feature),
            Whole(0, MAX_FEATURES),
            Whole(0, most_waiting),
            Whole(0, 1),
        ),
    ]
    # (2,): γ where nobody set it, else 0; and the number of features if it was made for that, else 0
    gamma: Annotated[np.ndarray, Numbers(0.0)]
    dense: Annotated[np.ndarray, Numbers()]  # (packs, width, 32), or (0, 0, 32)
    # (room, 2) int64, or (0, 2): where a sparse row begins on the heap, and its length
    spans: Annotated[np.ndarray, Whole(0, lambda state: state.values.shape[0]), on_the_heap]
    indices: Annotated[np.ndarray, Whole(0, last_feature), ascending]  # (heap,) int64
    values: Annotated[np.ndarray, Numbers()]  # (heap,)
    column: Annotated[np.ndarray, Whole(0, last_feature)]  # (room,) int64: a row's column in a given kernel matrix
    late: Annotated[np.ndarray, Numbers()]  # (packs, columns, 32), or (0, columns, 32)
    norms: Annotated[np.ndarray, Each(Numbers(0.0), Numbers(), axis=1)]  # (packs, 2, 32)
    born: Annotated[np.ndarray, Whole(0, seen)]  # (room,) int64: how many rows had been seen before this one
    # (room, room), or (0, 0): of the kernel matrix, for budget_policy="project"
    inverse: Annotated[np.ndarray, Numbers()]
    gram: Annotated[np.ndarray, Numbers()]  # (batch, batch), or (0, 0): see ``learners.kernel.minibatch``
    told: Annotated[np.ndarray, Numbers()]  # (batch, columns), or (0, columns)
    asked: Annotated[np.ndarray, Numbers(), are_answers]  # (batch, 2), or (0, 2): targets and weights
    # (4,), or (0,): see ``learners.kernel.centre``
    centre: Annotated[np.ndarray, Each(Numbers(0.0), Numbers(), Numbers(), Numbers(0.0))]
    radius: Radius  # (4,), or (0,): see ``learners.maths.radius``
    mean_radius: Radius = np.zeros(0)  # (4,), or (0,): that of the mean of the centres
    # (members,) each, and (1,), or (0,): of several γ losses, mistakes, how far from the best, and which one predicts
    losses: Annotated[np.ndarray, Numbers(0.0)] = np.zeros(0)
    mistakes: Annotated[np.ndarray, Numbers(0.0)] = np.zeros(0)
    apart: Annotated[np.ndarray, Numbers(0.0)] = np.zeros(0)
    choice: Annotated[np.ndarray, Whole(0, lambda state: max(state.losses.shape[0] - 1, 0))] = np.zeros(0)
    # (2,), or (0,): see ``learners.kernel.mean``
    recent: Annotated[np.ndarray, Each(Numbers(), Numbers(0.0))] = np.zeros(0)
    # (3,), or (0,): see ``learners.kernel.target``
    answers: Annotated[np.ndarray, Each(Numbers(0.0), Numbers(), Numbers(0.0))] = np.zeros(0)
    # Of scaled rows, or empty: see ``engine.prepare.scaling``, and ``scaling_of``
    facts: Annotated[
        np.ndarray,
        Each(Whole(1, max(Scale)), Whole(0, LARGEST_COUNT), Whole(0, lambda state: state.listed.shape[0]), Whole(0, 1)),
    ] = np.zeros(0, np.int64)  # (4,)
    moments: Annotated[
        np.ndarray,
        Each(
            Numbers(0.0, rows_scaled, whole=True),
            Numbers(-LARGEST_SCALED, LARGEST_SCALED),
            Numbers(0.0, lambda state: 4.0 * LARGEST_SCALED * LARGEST_SCALED * (rows_scaled(state) + 1.0)),
        ),
    ] = np.zeros((0, 0))  # (3, width)
    listed: Annotated[np.ndarray, Whole(0, last_feature)] = np.zeros(0, np.int64)  # (width,)
    places: Annotated[np.ndarray, Whole(0, lambda state: state.listed.shape[0]), stands] = np.zeros(0, np.int64)
    # (2,), or (0,): of learners with a method of their own, see ``learners.kernel.methods``
    ledger: Annotated[np.ndarray, Each(Numbers(), Numbers(0.0))] = np.zeros(0)
    inner: Radius = np.zeros(0)  # (4,), or (0,): the radius beyond which rows move a robust centre


@python_too
def scaling_of(state: Support) -> Scaling:
    """What scales rows, as ``engine.prepare.scaling`` reads it."""
    return Scaling(state.facts, state.moments, state.listed, state.places, state.answers)


class Parts(NamedTuple):
    """Which parts a state has beside rows and coefficients."""

    late: bool  # the lag of an average
    inverse: bool
    members: int  # 0 for a single one
    recent: bool
    answers: bool
    scaled: bool
    ledger: bool
    robust: bool


def parts_for(params: Any) -> Parts:
    """Those that these settings ask for."""
    members = params.members.shape[1]
    return Parts(
        bool(params.average),
        bool(params.budget) and params.policy == PROJECT_POLICY,
        members if members > 1 else 0,
        params.average == WEIGHTED,
        bool(params.scale) and params.task == NUMBER_TASK,
        bool(params.scale),
        bool(params.method),
        bool(params.robust),
    )


def parts_of(state: Support) -> Parts:
    """Those that it has."""
    has = [state.late, state.inverse, state.losses, state.recent, state.answers, state.facts, state.ledger, state.inner]
    late, inverse, members, *others = (part.shape[0] for part in has)
    return Parts(late > 0, inverse > 0, members, *(size > 0 for size in others))


def sizes(
    params: Any, width: int, models: int, packs: int, heap: int, parts: Parts
) -> dict[str, tuple[type, tuple[int, ...]]]:
    """The kind and shape of each array of a state, but for the tally."""
    # Wide rows are kept sparse, so that memory goes with their entries.
    room = packs * PACK
    keeps_dense = params.keeps and width <= SPARSE_FROM
    keeps_sparse = params.keeps and width > SPARSE_FROM
    # Two classes share one problem; each member has columns of its own for every problem.
    columns = (1 if models <= 2 else models) * max(parts.members, 1)
    batch = int(params.batch) if params.batch > 1 else 0
    return {
        "coef": (np.float64, (packs, columns, PACK)),
        "marks": (np.int64, (6,)),
        "gamma": (np.float64, (2,)),
        "dense": (np.float64, (packs, width, PACK) if keeps_dense else (0, 0, PACK)),
        "spans": (np.int64, (room if keeps_sparse else 0, 2)),
        "indices": (np.int64, (heap if keeps_sparse else 0,)),
        "values": (np.float64, (heap if keeps_sparse else 0,)),
        "column": (np.int64, (room,)),
        "late": (np.float64, (packs if parts.late else 0, columns, PACK)),
        "norms": (np.float64, (packs, 2, PACK)),
        "born": (np.int64, (room,)),
        "inverse": (np.float64, (room, room) if parts.inverse else (0, 0)),
        "gram": (np.float64, (batch, batch)),
        "told": (np.float64, (batch, columns)),
        "asked": (np.float64, (batch, 2)),
        "centre": (np.float64, (4 if params.task == OUTLIER_TASK else 0,)),
        "radius": (np.float64, (4 if params.task == OUTLIER_TASK else 0,)),
        "mean_radius": (np.float64, (4 if params.task == OUTLIER_TASK and parts.late else 0,)),
        "losses": (np.float64, (parts.members,)),
        "mistakes": (np.float64, (parts.members,)),
        "apart": (np.float64, (parts.members,)),
        "choice": (np.float64, (1 if parts.members else 0,)),
        "recent": (np.float64, (2 if parts.recent else 0,)),
        "answers": (np.float64, (3 if parts.answers else 0,)),
        "facts": (np.int64, (4 if parts.scaled else 0,)),
        "moments": (np.float64, (3, width) if parts.scaled else (0, 0)),
        "listed": (np.int64, (width if parts.scaled else 0,)),
        "places": (np.int64, (width if parts.scaled else 0,)),
        "ledger": (np.float64, (2 if parts.ledger else 0,)),
        "inner": (np.float64, (4 if parts.robust else 0,)),
    }


def new_support(params: Any, width: int, models: int) -> Support:
    """Nothing held, and room for one pack."""
    wanted = sizes(params, width, models, 1, PACK, parts_for(params))
    state = Support(new_tally(models), *(np.zeros(shape, kind) for kind, shape in wanted.values()))
    state.marks[ROW_WIDTH], state.marks[SLIDING_HELD] = width, params.sliding
    state.facts[:1] = params.scale  # the mode
    return state


def shapes(params: Any, width: int, models: int, specs: Mapping[str, Any]) -> dict[str, tuple[type, tuple[int, ...]]]:
    """What a state's arrays must be, beside the tally, if it has the room that the arrays of ``specs`` have."""

    def side(name: str, default: int) -> int:
        spec = specs.get(name)
        return int(spec.shape[0]) if spec is not None and spec.shape else default

    # The capacities follow from the arrays in the file; all else follows from the settings.
    packs, heap, parts = max(side("coef", 1), 1), side("values", 0), parts_for(params)
    if not side("losses", 0):  # of a version that had one γ
        parts = parts._replace(members=0)
    return sizes(params, width, models, packs, heap, parts)


def resized(state: Support, params: Any, width: int, models: int, packs: int, heap: int) -> Support:
    """A copy with this room, which is not less than it has."""
    # Which parts there are is a fact of the state, also where the settings have changed since.
    wanted = sizes(params, width, models, packs, heap, parts_of(state))
    parts = {name: grown(getattr(state, name), shape) for name, (_, shape) in wanted.items()}
    return Support(tally=grown_tally(state.tally, models), **parts)


def grow_support(state: Support, params: Any, width: int, models: int) -> Support:
    """A copy with room for more features and classes.

    Two classes share a column of coefficients; a third splits it into −α and α.
    """
    models = max(models, state.tally.classes.shape[0])
    if models > 2 and problems_of(state) == 1:
        # 0 − 0 is 0, and −0 would be another bit
        coef, late, told = (np.concatenate([0.0 - part, part], axis=1) for part in (state.coef, state.late, state.told))
        state = state._replace(coef=coef, late=late, told=told, ledger=2.0 * state.ledger)
    # Dense packs of so many features would be mostly zeros.
    if params.keeps and width > SPARSE_FROM and state.dense.shape[1]:
        state = as_sparse(state)
    state = resized(state, params, width, models, state.coef.shape[0], state.values.shape[0])
    state.marks[ROW_WIDTH] = width
    return state


def as_sparse(state: Support) -> Support:
    """Convert a support set to sparse storage: the same rows, moved from dense packs to the heap."""
    rows = csr_matrix(support_rows(state))
    room = state.born.shape[0]
    spans = np.zeros((room, 2), np.int64)
    count = rows.shape[0]
    # The rows lie on the heap one behind the other, in the order of their places.
    spans[:count, 0], spans[:count, 1] = rows.indptr[:-1], np.diff(rows.indptr)
    # The heap is as long as the rows; there is room for more when rows come (``enlarged``).
    marks = state.marks.copy()
    marks[HEAP] = rows.nnz
    return state._replace(
        marks=marks,
        dense=np.zeros((0, 0, PACK)),
        spans=spans,
        indices=rows.indices.astype(np.int64),
        values=rows.data.astype(np.float64),
    )


def enlarged(state: Support, params: Any, rows: int, entries: int) -> Support:
    """The state with room for so many more rows, which have so many entries; itself if it has it."""
    count, used = int(state.marks[COUNT]), int(state.marks[HEAP])
    # A budget bounds the room: never more than the budget and the spare row, unless there is more already.
    needed = count + rows
    most = int(params.budget) + int(params.spare)
    if params.budget:
        needed = min(needed, max(most, count))
    packs, heap = state.coef.shape[0], state.values.shape[0]
    if needed > packs * PACK:
        # Doubling, so that a row costs constant time on average however long the stream is.
        packs = max(-(-needed // PACK), 2 * packs)
        if params.budget:
            packs = min(packs, -(-max(most, needed) // PACK))
    # First collect what rows that have gone left on the heap, and grow only then.
    if state.spans.shape[0] and used + entries > heap:
        state = compacted(state)
        used = int(state.marks[HEAP])
        heap = max(used + entries, 2 * used)
    # The same arrays, so that addresses that were packed stay valid.
    if packs == state.coef.shape[0] and heap == state.values.shape[0]:
        return state
    return resized(state, params, int(state.marks[ROW_WIDTH]), state.tally.classes.shape[0], packs, heap)


def compacted(state: Support) -> Support:
    """The heap without the rows that are no longer held."""
    count = int(state.marks[COUNT])
    lengths = state.spans[:count, 1]
    # The entries of the rows held, in their order; the empty array is for a set without rows.
    places = np.concatenate([np.arange(a, a + n) for a, n in state.spans[:count]] or [np.zeros(0, np.int64)])
    spans, marks = state.spans.copy(), state.marks.copy()
    spans[:count, 0] = np.cumsum(lengths) - lengths
    marks[HEAP] = places.shape[0]
    return state._replace(spans=spans, marks=marks, indices=state.indices[places], values=state.values[places])


@python_too
def members_of(state: Support) -> int:
    """How many γ learn side by side."""
    return max(int(state.losses.shape[0]), 1)


@python_too
def problems_of(state: Support) -> int:
    """How many scores each of them has: one for each class, but one for two classes, and for a number."""
    members: int = members_of(state)
    return int(state.coef.shape[1]) // members


@python_too
def sums_of(state: Support) -> int:
    """How many sums a row has: 32 a score, and as many for what the average needs."""
    return int(state.coef.shape[1]) * PACK * (2 if state.late.shape[0] else 1)


@python_too
def scores_of(state: Support) -> int:
    """How many scores predict: one for each problem; of a centre the distance and the radius."""
    return 2 if state.radius.shape[0] else problems_of(state)


# As NumPy reads it --------------------------------------------------------------------------------------------


def support_rows(state: Support, width: int | None = None) -> Any:
    """The rows held: an array, or a sparse matrix where they are kept sparse."""
    count = int(state.marks[COUNT])
    if state.dense.shape[1]:
        wide = state.dense.shape[1]
        # From packs of 32 side by side to one row after the other; the last pack may have empty places.
        flat = np.ascontiguousarray(state.dense.transpose(0, 2, 1)).reshape(-1, wide)
        return flat[:count, :width].copy()
    tidy = compacted(state)
    used = int(tidy.marks[HEAP])
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(tidy.spans[:count, 1])])
    width = width if width is not None else int(tidy.indices[:used].max(initial=0)) + 1
    return csr_matrix((tidy.values[:used].copy(), tidy.indices[:used].copy(), indptr), shape=(count, width))


def coefficients(state: Support, lag_weight: float) -> np.ndarray:
    """α of the predicting model, a row for each support vector and a column for each score.

    ``lag_weight`` is what the lag of the average is divided by, or 0 if the last iterate predicts.
    """
    coef = state.coef - state.late / lag_weight if lag_weight else state.coef
    member, members = int(state.choice[0]) if state.choice.shape[0] else 0, members_of(state)
    # Column c·M + m is problem c of member m: every M-th column belongs to the member that predicts.
    coef = coef[:, member::members]
    columns = coef.shape[1]
    flat: np.ndarray = np.ascontiguousarray(coef.transpose(0, 2, 1)).reshape(-1, columns)
    return flat[: int(state.marks[COUNT])].copy()


# What states of earlier versions lack: of 0.2.0 all that has a default, of 0.1.0 also the radius of the mean.
ADDED: dict[str, Any] = {
    **{name: lambda parts, empty=empty: empty for name, empty in Support._field_defaults.items()},
    "mean_radius": lambda parts: "radius" if parts["late"].shape[0] else None,
}
